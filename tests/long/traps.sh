#!/usr/bin/env bash
# Hostile numbers where an invalid floating-point operation ends the program, in every thread: a build
# of its own (POLYAD_TRAPS), whose compiler computes what is written and no more. glibc sets traps;
# elsewhere the test is visibly skipped.
# usage: traps.sh SOURCE [options of cmake…]
set -euo pipefail
source=$1
shift
build=$source/build-traps
printf '#include <fenv.h>\nint main(void) { return feenableexcept(FE_INVALID) == -1; }\n' |
  "${CC:-cc}" -D_GNU_SOURCE -x c - -o /dev/null -lm 2>/dev/null ||
  { echo "feenableexcept is glibc's, and is missing: skipped"; exit 77; }
"$source/tools/configure.sh" "$build" -DPOLYAD_TRAPS=ON -DPOLYAD_BUILD_PYTHON=OFF \
  -DPOLYAD_CUDA=off -DPOLYAD_OPENCL=off "$@" >/dev/null
cmake --build "$build" --target fp_traps_programs | tail -n 1
ctest --test-dir "$build" -R '_fp_traps$|^numbers_hostile$' --output-on-failure
