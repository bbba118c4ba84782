#!/usr/bin/env bash
# Static analysis: clang-tidy, cppcheck, shellcheck. The rules that are tests run with `make check`.
# usage: tools/lint.sh BUILD   (a configured build folder: its compile_commands.json is read)
cd "$(dirname "$0")/.." || exit 1
build=$1
failed=0

for tool in clang-tidy cppcheck shellcheck; do
  command -v $tool >/dev/null || { echo "lint: $tool is missing: run make setup" >&2; exit 1; }
done

git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck || failed=1

# The kernels written once are one macro per rank and backend: clang-tidy reads them, cppcheck would
# take half an hour.
written_once=(-i src/portable/portable_cpu_plain.c -i src/portable/portable_cpu_avx2.c
  -i src/portable/portable_cpu_avx512.c)
cppcheck --quiet -j 2 --std=c11 --enable=warning,performance,portability --inline-suppr \
  --suppressions-list=.cppcheck-suppressions --error-exitcode=1 --project="$build/compile_commands.json" \
  -i tests -i bench -i python -i "$build" "${written_once[@]}" || failed=1

# All sources, also those that this build leaves out, but not what needs a header that is not installed;
# the longest first, so that both processors end together.
readable() {
  find src cli -name '*.c' -printf '%s %p\n' | LC_ALL=C sort -k 1,1nr -k 2 | cut -d ' ' -f 2- |
    if grep -q inflater_isal.c "$build/compile_commands.json"; then cat; else grep -v inflater_isal.c; fi
}

# Two at a time; -quiet leaves only findings. The build's own options are gcc's.
readable | xargs -P 2 -n 2 clang-tidy -quiet -p "$build" \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument \
  2>/dev/null || failed=1
exit $failed
