#!/usr/bin/env bash
# Lists the C, C++ and CUDA files that are formatted and checked.
cd "$(dirname "$0")/.." || exit 1
find include src cli tests examples bench \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' \
  -o -name '*.cuh' \) -not -path '*/build*' | LC_ALL=C sort
