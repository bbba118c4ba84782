#!/usr/bin/env bash
# The command given each hostile text: exit status, one bounded line on standard error that names
# file and line, nothing on standard output, no file left behind.
# usage: bad_text.sh POLYAD CASE_FILES
set -u
polyad=$1 make_files=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$make_files" "$folder" >"$folder/list" || exit 1
cd "$folder" || exit 1
failures=0
complain() {
  echo "$id $file: $1"
  failures=$((failures + 1))
}
while read -r id file verdict line; do
  "$polyad" info --json out.json "$file" >out 2>err </dev/null
  status=$?
  if [ "$verdict" = accept ]; then
    [ "$status" = 0 ] || complain "status $status, not 0: $(head -c 300 err)"
    [ -s out.json ] || complain "no JSON"
  else
    place="polyad: $file:"
    [ "$line" = 0 ] || place="$place$line:"
    [ "$status" = 1 ] || complain "status $status, not 1"
    [ ! -s out ] || complain "standard output is not empty"
    [ ! -e out.json ] || complain "a failed run made its JSON file"
    [ "$(wc -l <err)" = 1 ] || complain "not one line of error"
    [ "$(wc -c <err)" -le 300 ] || complain "an error of $(wc -c <err) bytes"
    [[ "$(head -c 400 err)" == "$place"* ]] || complain "not '$place': $(head -c 300 err)"
    ! LC_ALL=C grep -q '[[:cntrl:]]' err || complain "control bytes in the error"
  fi
  rm -f out.json
done <list
[ "$(find . -name '*.tmp' | wc -l)" = 0 ] || { echo "temporary files are left"; failures=1; }
echo "$(wc -l <list) inputs, $failures failures"
[ "$failures" = 0 ]
