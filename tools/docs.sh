#!/usr/bin/env bash
# Makes the reference of the public headers. usage: tools/docs.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
tests/lint/documentation.sh "$1/doxygen"
echo "$1/doxygen/html/index.html"
