#!/usr/bin/env bash
# Runs the tests labelled long one after the other and keeps in BUILD/long.txt which passed, were
# skipped or failed, for this state of the tree, and in how many seconds. A later run goes on with
# those that have not passed; a change of any file begins anew. The last lines are a summary. With
# POLYAD_FIGURES set, long.json in that folder says what each came to.
# usage: tools/run_long.sh [--seconds N] BUILD [NAME…]
#   --seconds N  begin no test after so long
#   NAME…        only these tests
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
most=
if [ "${1:-}" = --seconds ]; then
  most=$2
  shift 2
fi
build=$1 record=$1/long.txt
shift

tree_state() {
  git rev-parse HEAD
  git diff HEAD
  git ls-files -oz --exclude-standard | sort -z | xargs -0 -r sha1sum
}
state=$(tree_state | sha1sum | cut -c1-12)
if [ $# -gt 0 ]; then
  names=("$@")
else
  mapfile -t names < <(ctest --test-dir "$build" -N -L long | sed -n 's/^ *Test *#[0-9]*: //p')
fi
[ ${#names[@]} -gt 0 ] || { echo "no long tests in $build" >&2; exit 1; }

result_of() { # result_of NAME: its last result for this state, or "not run"
  local found
  found=$(grep "^$state $1 " "$record" 2>/dev/null | tail -n 1 | cut -d ' ' -f 3-)
  echo "${found:-not run}"
}

run() { # run NAME
  local begin=$SECONDS result=passed
  if ! tools/run_tests.sh "$build" -L long -R "^$1\$" | tee "$build/long.log"; then
    result=failed
  elif grep -q 'did not run' "$build/long.log"; then
    result=skipped
  fi
  echo "$state $1 $result $((SECONDS - begin)) s" >>"$record"
}

for name in "${names[@]}"; do
  case $(result_of "$name") in
    passed* | skipped*) continue ;;
  esac
  [ -z "$most" ] || [ "$SECONDS" -lt "$most" ] || break
  run "$name"
done
left=0 rows=
for name in "${names[@]}"; do
  printf '%-28s %s\n' "$name" "$(result_of "$name")"
  rows+="${rows:+, }[\"$name\", \"$(result_of "$name")\"]"
  case $(result_of "$name") in
    passed* | skipped*) ;;
    *) left=$((left + 1)) ;;
  esac
done
[ -z "${POLYAD_FIGURES:-}" ] || echo "{\"rows\": [$rows]}" >"$POLYAD_FIGURES/long.json"
echo "$((${#names[@]} - left)) of ${#names[@]} long tests passed or were skipped"
exit $((left > 0))
