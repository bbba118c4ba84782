#!/usr/bin/env bash
# Installed programs and libraries carry the protection that their source was compiled with: a
# position-independent program, relocations that are read-only once it starts, no executable stack,
# stack canaries and checked copies.
# usage: hardened.sh CC FILE…
set -euo pipefail
cc=$1
shift
command -v readelf >/dev/null || { echo "readelf is missing: hardening is not checked"; exit 0; }

# missing FILE: what it lacks, a line each
missing() {
  local file=$1 segments dynamic symbols
  segments=$(readelf -lW "$file") dynamic=$(readelf -dW "$file") symbols=$(readelf -sW --dyn-syms "$file")
  readelf -hW "$file" | grep -q 'Type: *DYN' || echo "position independence"
  grep -q GNU_RELRO <<<"$segments" || echo "read-only relocations"
  grep -q 'BIND_NOW\|Flags:.*NOW' <<<"$dynamic" || echo "binding at start"
  grep 'GNU_STACK' <<<"$segments" | grep -q 'RWE' && echo "a stack that is not executable"
  ! grep -q TEXTREL <<<"$dynamic" || echo "code that is never written"
  grep -q __stack_chk_fail <<<"$symbols" || echo "stack canaries"
  grep -q '__[a-z]*_chk@' <<<"$symbols" || echo "checked copies"
  return 0
}

# A program without any of it: the check must see that.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int main(void) { return 0; }' >"$scratch/bare.c"
"$cc" -O2 -no-pie -fno-pie -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,norelro,-z,lazy \
  -Wl,-z,execstack -o "$scratch/bare" "$scratch/bare.c" 2>/dev/null
found=$(missing "$scratch/bare" | wc -l)
[ "$found" -eq 6 ] || { echo "FAILED: a bare program lacks 6 things, $found were seen"; exit 1; }

failed=0
for file in "$@"; do
  lacks=$(missing "$file")
  [ -z "$lacks" ] || { echo "FAILED: $file lacks: ${lacks//$'\n'/, }"; failed=1; }
done
exit $failed
