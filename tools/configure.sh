#!/usr/bin/env bash
# Configures a build folder, after installing what is missing where that is possible.
# usage: tools/configure.sh BUILD [options of cmake…]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
tools/setup.sh build || echo "polyad: trying with what is here" >&2
if command -v ccache >/dev/null; then set -- -DCMAKE_C_COMPILER_LAUNCHER=ccache "$@"; fi
exec cmake -S . -B "$build" -G Ninja "$@"
