#!/usr/bin/env bash
# The threaded tests under ThreadSanitizer, with LLVM's OpenMP library in the place of GCC's and
# Archer, which tells the sanitizer what OpenMP synchronises. A planted race must be reported, and a
# loop that is right must not. With POLYAD_FIGURES set, thread_sanitizer.json in that folder says
# how many tests ran.
# usage: thread_sanitizer.sh SOURCE
set -euo pipefail
source=$1
build=$source/build-tsan
libraries=$(find /usr/lib/llvm-*/lib -name libarcher.so -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
[ -n "$libraries" ] || { echo "libarcher.so (libomp-dev) is missing: run make setup"; exit 77; }

"$source/tools/configure.sh" "$build" -DPOLYAD_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" -DPOLYAD_CUDA=off -DPOLYAD_BUILD_CLI=OFF \
  -DPOLYAD_BUILD_PYTHON=OFF >/dev/null
cmake --build "$build" | tail -n 1
# Tests look for libraries in the build's lib folder first.
ln -sf "$libraries/libomp.so.5" "$build/lib/libgomp.so.1"
# Libraries without the sanitizer's marks, and libomp itself, would be reported wrongly.
cat >"$build/suppressions" <<TEXT
race_top:libopenblas
race_top:libomp.so
race_top:libgomp.so
TEXT
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMP_TOOL_LIBRARIES=$libraries/libarcher.so
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$build/suppressions"
# The address space is the sanitizer's: tests that limit it cannot run.
export POLYAD_EMULATED=1

cc -O1 -g -fopenmp -fsanitize=thread -o "$build/race" "$source/tests/long/race.c"
"$build/race" || { echo "a loop without a race is reported"; exit 1; }
if "$build/race" planted 2>"$build/race.txt" || ! grep -q 'data race' "$build/race.txt"; then
  echo "the planted race is not reported"
  exit 1
fi
result=0
env -u POLYAD_FIGURES ctest --test-dir "$build" -LE 'gpu|long|lint' --output-on-failure --no-label-summary \
  --output-junit "$build/tests.xml" || result=$?
if [ $result -eq 0 ] && [ -n "${POLYAD_FIGURES:-}" ]; then
  python3 - "$build/tests.xml" >"$POLYAD_FIGURES/thread_sanitizer.json" <<'PYTHON'
import json, sys
from xml.etree import ElementTree
suite = ElementTree.parse(sys.argv[1]).getroot()
print(json.dumps({"tests": int(suite.get("tests")) - int(suite.get("skipped", 0)), "races": 0}))
PYTHON
fi
exit $result
