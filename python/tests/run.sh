#!/usr/bin/env bash
# Runs the Python tests against the package in a build folder.
# usage: run.sh BUILD/python PYTHON [FILE…]    (files of tests from the root; default: all)
# Where BUILD/python/venv exists (install_peers.sh makes it) its packages are there too, and the
# comparisons with them run instead of being skipped.
set -euo pipefail
package=$1 python=$2
shift 2
[ $# -gt 0 ] || set -- python/tests
[ ! -x "$package/venv/bin/python" ] || python=$package/venv/bin/python
cd "$(dirname "$0")/../.."
# Threads that wait must not spin: other tests run beside these.
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg OMP_WAIT_POLICY=passive
# A case that hangs names itself and where it stands, before the limit of its file ends it.
exec "$python" -m pytest -q -rs -p no:cacheprovider -o faulthandler_timeout=100 --rootdir=. "$@"
