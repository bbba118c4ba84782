#!/usr/bin/env bash
# Installs the packages that the Python tests compare with, in an environment of the build folder.
# usage: install_peers.sh BUILD/python PYTHON
set -euo pipefail
[ -x "$1/venv/bin/python" ] || "$2" -m venv --system-site-packages "$1/venv"
"$1/venv/bin/python" -m pip install --quiet pyttb tensorly sparse polars scikit-learn xarray pyarrow 'mypy>=1.13'
