#!/usr/bin/env bash
# Coverage of the C code by `make check`'s tests: lines by folder, against the shares that are asked
# for (95% of src/core and src/io, 85% of all), and branches. As many tests run side by side as there
# are processors. With POLYAD_FIGURES set, the shares are kept in coverage.json in that folder; they
# are printed, but not kept, when a test fails; --again keeps what was counted and runs those that failed.
# usage: tools/coverage.sh [--again] BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
again=()
if [ "${1:-}" = --again ]; then
  again=(--rerun-failed)
  shift
fi
build=$1
command -v gcovr >/dev/null || { echo "gcovr is missing: run make setup" >&2; exit 1; }
tools/configure.sh "$build" -DPOLYAD_CUDA=off -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS=--coverage -O1" >/dev/null
cmake --build "$build" -j "$(nproc)" >/dev/null
[ ${#again[@]} -gt 0 ] || find "$build" -name '*.gcda' -delete
failed=0
# Without the Python tests and those of guides, which ask for an optimised library's speed, those that
# kill processes, which would tear files of counters that are being written, and those that let
# allocations of all libraries fail, those of the counters too.
env -u POLYAD_FIGURES POLYAD_COVERAGE=1 tools/run_tests.sh "$build" ${again[@]+"${again[@]}"} -j "$(nproc)" \
  -LE 'gpu|long|lint' \
  -E '^(install|python_.*|command_guides_.*|kill_.*|fault_libraries)$' >&2 || failed=1
counts=$build/coverage.json
gcovr --root . --object-directory "$build" -j "$(nproc)" --filter src/ --filter cli/ \
  --exclude 'src/.*cuda.*' --gcov-ignore-parse-errors --json "$counts" 2>"$build/gcovr.log" ||
  { tail -n 5 "$build/gcovr.log" >&2; exit 1; }

share() { # share WHAT FILTER…: percent of lines or branches covered in the files that match
  local what=$1
  shift
  gcovr --root . --add-tracefile "$counts" "$@" --json-summary --output "$build/summary.json" 2>>"$build/gcovr.log"
  python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['${what}_percent'])" "$build/summary.json"
}

row() { # row NAME LEAST FILTER…: a row of the table; whether enough lines are covered
  local name=$1 least=$2 lines branches
  shift 2
  lines=$(share line "$@")
  branches=$(share branch "$@")
  echo "coverage: $name $lines% of lines (at least $least%), $branches% of branches" >&2
  echo "[\"$name\", \"$lines%\", \"$branches%\"]"
  python3 -c "import sys; sys.exit($lines < $least)"
}
rows=$(row "src/core" 95 --filter src/core/) || failed=1
rows+=", $(row "src/io" 95 --filter src/io/)" || failed=1
rows+=", $(row "src/tensor" 85 --filter src/tensor/)" || failed=1
rows+=", $(row "all of src and cli" 85 --filter src/ --filter cli/)" || failed=1
[ $failed -ne 0 ] || [ -z "${POLYAD_FIGURES:-}" ] || echo "{\"rows\": [$rows]}" >"$POLYAD_FIGURES/coverage.json"
exit $failed
