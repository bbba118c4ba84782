#!/usr/bin/env bash
# Line coverage of the C code by `make check`'s tests, by folder, against the shares that are asked
# for: 95% of src/core and src/io, 85% of all.
# usage: tools/coverage.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
command -v gcovr >/dev/null || { echo "gcovr is missing: run make setup" >&2; exit 1; }
tools/configure.sh "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=--coverage >/dev/null
cmake --build "$build" >/dev/null
find "$build" -name '*.gcda' -delete
failed=0
# Without the Python tests, which ask for an optimised library's speed.
ctest --test-dir "$build" -LE 'gpu|long|lint' -E '^(install|python_.*)$' --no-label-summary | tail -n 4 ||
  failed=1

report() { # report NAME SHARE FILTER…: lines covered in the files that match
  local name=$1 share=$2 percent
  shift 2
  percent=$(gcovr --root . --object-directory "$build" "$@" --exclude 'src/.*cuda.*' \
    --gcov-ignore-parse-errors --json-summary --output /dev/stdout 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["line_percent"])')
  echo "coverage: $name $percent% of lines (at least $share%)"
  python3 -c "import sys; sys.exit($percent < $share)" || failed=1
}
report "src/core" 95 --filter src/core/
report "src/io" 95 --filter src/io/
report "all of src and cli" 85 --filter src/ --filter cli/
exit $failed
