#!/usr/bin/env bash
# Makes the site of docs/ and the reference of the public headers. usage: tools/docs.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
if tests/lint/site.sh "$PWD/$1/site"; then
  echo "$1/site/index.html"
fi
tests/lint/documentation.sh "$1/doxygen"
echo "$1/doxygen/html/index.html"
