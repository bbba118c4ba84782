#!/usr/bin/env bash
# Doxygen over the public headers: an undocumented symbol or a wrong reference is an error.
# usage: documentation.sh OUTPUT_FOLDER
set -euo pipefail
command -v doxygen >/dev/null || { echo "doxygen is missing"; exit 77; }
mkdir -p "$1"
(cat Doxyfile && echo "OUTPUT_DIRECTORY = $1") | doxygen -
