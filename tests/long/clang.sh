#!/usr/bin/env bash
# Builds the library, the command and the tests by the preset for clang, whose warnings are errors, and runs
# the tests of units, properties, limits and numbers: another compiler's code, and another runtime of
# OpenMP. That runtime ends the process where its own memory cannot be had, so that tests in which
# every allocation of libraries fails are left out.
# usage: clang.sh SOURCE
set -euo pipefail
cd "$1"
command -v clang >/dev/null || { echo "skipped: there is no clang"; exit 77; }
cmake --preset clang -DPOLYAD_BUILD_PYTHON=OFF >/dev/null
cmake --build --preset clang | tail -n 1
ctest --test-dir build-clang -j "$(nproc)" --output-on-failure -LE 'gpu|long|lint|peer' \
  -E '^(command|python|examples|install|documented|manual|fuzz)|^fault_libraries$'
