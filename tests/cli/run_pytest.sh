#!/usr/bin/env bash
# Runs pytest with the first Python that has it; none: the test is visibly skipped.
for python in /usr/bin/python3 python3; do
  "$python" -c 'import pytest, jsonschema' 2>/dev/null || continue
  # shellcheck disable=SC2093 # the first that has it takes over
  exec "$python" -B -m pytest -q -p no:cacheprovider --tb=short "$@"
done
echo "python3-pytest or python3-jsonschema is missing: run make setup"
exit 77
