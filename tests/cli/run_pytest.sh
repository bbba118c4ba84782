#!/usr/bin/env bash
# Runs pytest with the first Python that has it; none: the test is visibly skipped.
for python in /usr/bin/python3 python3; do
  "$python" -c 'import pytest, jsonschema' 2>/dev/null || continue
  # A case that hangs names itself and where it stands, before ctest's limit ends it.
  # shellcheck disable=SC2093 # the first that has it takes over
  exec "$python" -B -m pytest -q -rs -p no:cacheprovider --tb=short \
    -o faulthandler_timeout=100 "$@"
done
echo "python3-pytest or python3-jsonschema is missing: run make setup"
exit 77
