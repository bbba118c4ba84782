#!/usr/bin/env bash
# Runs the Python tests against the package in a build folder.
# usage: run.sh BUILD/python PYTHON
# Where BUILD/python/venv exists (install_peers.sh makes it) its packages are there too, and the
# comparisons with them run instead of being skipped.
set -euo pipefail
package=$1 python=$2
[ ! -x "$package/venv/bin/python" ] || python=$package/venv/bin/python
cd "$(dirname "$0")/../.."
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg
exec "$python" -m pytest -q -rs -p no:cacheprovider --rootdir=. python/tests
