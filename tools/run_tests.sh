#!/usr/bin/env bash
# Runs ctest and shows each of its lines when it is written. What was skipped, whole tests and cases
# inside a test, is named at the end, with its reason where the test tells it; ctest's counts are
# the last line.
# usage: tools/run_tests.sh BUILD [options of ctest…]
set -uo pipefail
build=$1
shift
counts=""
# The shell reads a pipe line by line; awk and grep would wait for a full block.
show_lines() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      *" tests passed, "*" tests failed out of "*) counts=$line ;;
      *) printf '%s\n' "$line" ;;
    esac
  done
}
exec 3< <(ctest --test-dir "$build" --output-on-failure --no-label-summary "$@" 2>&1
  echo "$?" >"$build/ctest.status")
show_lines <&3
exec 3<&-
status=$(cat "$build/ctest.status")
log=$build/Testing/Temporary/LastTest.log
if [ -r "$log" ]; then
  # pytest: "SKIPPED [1] file:line: reason"; cmocka: "[  SKIPPED ] name".
  skipped=$(grep -aE '^SKIPPED \[|^\[  SKIPPED \] [^0-9]' "$log" | sort -u)
  [ -z "$skipped" ] || printf 'Skipped inside tests:\n%s\n' "$skipped"
fi
printf '%s\n' "${counts:-ctest gave no counts}"
exit "$status"
