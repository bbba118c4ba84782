#!/usr/bin/env bash
# The tests that continuous integration runs without sanitizers only (label plain), under
# AddressSanitizer and UndefinedBehaviorSanitizer.
# usage: sanitizers.sh SOURCE
set -euo pipefail
cd "$1"
tools/configure.sh build-asan --preset asan >/dev/null
cmake --build build-asan | tail -n 1
exec ctest --test-dir build-asan -L plain --output-on-failure --no-label-summary
