#!/usr/bin/env python3
"""What an installed package must do on a machine that has nothing else for Python: read, decompose by
every method, write and read a model; as a wheel with the OpenBLAS that it brings.

usage: python_smoke.py DATA_FOLDER [--wheel] [--cuda]    (--cuda: polyad-cuda13 is installed beside it)
"""

import pathlib
import sys
import tempfile

import numpy as np
import polyad


def main():
    data = pathlib.Path(sys.argv[1]).resolve()
    x = polyad.read(data / "aminoacids.tns.gz")
    als = polyad.cp_als(x, rank=3, seed=1)
    assert als.info["fit"] > 0.9, als.info["fit"]
    counts = polyad.read(data / "nycflights13.tns.gz")
    for method in ("mu", "pdnr", "pqnr"):
        model = polyad.cp_apr(counts, rank=2, algorithm=method, seed=1, max_iters=3)
        assert np.isfinite(model.info["log_likelihood"])
    core = polyad.tucker(x, ranks=(3, 3, 3), seed=1)  # eigenvalues: LAPACK
    assert core.info["fit"] > 0.9, core.info["fit"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.ptm")
        als.save(path)
        assert np.array_equal(polyad.KruskalTensor.load(path).factors[0], als.factors[0])
        x.save(pathlib.Path(folder, "x.tns.zst"))
        assert polyad.read(pathlib.Path(folder, "x.tns.zst")).nnz == x.nnz
    if "--wheel" in sys.argv:
        check_openblas()
    if "--cuda" in sys.argv:
        check_cuda(x)
    print(f"polyad {polyad.version()} on Python {sys.version.split()[0]}: fit {als.info['fit']:.4f}")


def check_openblas():
    """The OpenBLAS of this process is the one that lies in the wheel."""
    brought = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
               if "libopenblas" in line and "/polyad.libs/" in line}
    assert brought, "OpenBLAS is not the wheel's"


def check_cuda(x):
    """The CUDA module is found and of this version: what is missing without a driver is a GPU."""
    if pathlib.Path("/dev/nvidiactl").exists():
        assert polyad.cp_als(x, rank=3, seed=1, device="cuda").info["fit"] > 0.9
        return
    try:
        polyad.cp_als(x, rank=3, device="cuda")
    except polyad.DeviceError as error:
        assert "no usable NVIDIA GPU" in str(error), error
    else:
        raise AssertionError("a GPU was used where there is none")
    assert polyad.cp_als(x, rank=3, device="auto").info["device"] == "cpu"


if __name__ == "__main__":
    main()
