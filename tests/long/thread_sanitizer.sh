#!/usr/bin/env bash
# The threaded tests under ThreadSanitizer: Clang, libomp and Archer, which tells the sanitizer what
# OpenMP synchronises.
# usage: thread_sanitizer.sh SOURCE
set -euo pipefail
source=$1
build=$source/build-tsan
command -v clang >/dev/null || { echo "clang is missing: run make setup"; exit 77; }
archer=$(find /usr/lib/llvm-*/lib -name libarcher.so 2>/dev/null | sort -V | tail -n 1)
[ -n "$archer" ] || { echo "libarcher.so (libomp-dev) is missing: run make setup"; exit 77; }

CC=clang "$source/tools/configure.sh" "$build" -DPOLYAD_SANITIZE=thread \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" \
  -DPOLYAD_BUILD_CLI=OFF >/dev/null
cmake --build "$build" | tail -n 1
# Libraries without the sanitizer's marks, and libomp itself, would be reported wrongly.
cat >"$build/suppressions" <<TEXT
race:libopenblas
called_from_lib:libomp
race:libomp.so
TEXT
export OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$build/suppressions"
# The address space is the sanitizer's: tests that limit it cannot run.
export POLYAD_EMULATED=1
exec ctest --test-dir "$build" -LE 'gpu|long|lint' --output-on-failure --no-label-summary
