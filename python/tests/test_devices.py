"""Devices: a driver that is out of order ends no program that asks what there is."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import polyad
import pytest

FAKE_OPENCL = os.environ.get("POLYAD_FAKE_OPENCL")
needs_module = pytest.mark.skipif(not FAKE_OPENCL, reason="built without the OpenCL module")
PROGRAM = """
import warnings
import numpy as np
import polyad
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    names = [about["name"] for about in polyad.devices()]
print(names[0], "opencl:0" in names, *[str(w.message) for w in found], sep="|")
"""


def ask(environment):
    path = str(pathlib.Path(polyad.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          timeout=110, env={**os.environ, "PYTHONPATH": path, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("|")


def test_the_cpu_comes_first():
    about = polyad.devices()[0]
    assert about["name"] == "cpu" and about["processors"] >= 1 and about["memory_bytes"] > 0


@needs_module
@pytest.mark.parametrize("how, says", [("load", "signal 6"), ("platforms", "signal 6"),
                                       ("exit", "exit status 3")])
def test_a_broken_driver_is_named(how, says):
    cpu, opencl, warning = ask({"LD_LIBRARY_PATH": FAKE_OPENCL, "FAKE_OPENCL": how})
    assert (cpu, opencl) == ("cpu", "False")
    assert warning.startswith("no device opencl is listed: its driver ended") and says in warning


def test_several_devices_share_the_tensor():
    """What device="cuda:all" does, with processors in place of GPUs."""
    rng = np.random.default_rng(1)
    x = polyad.SparseTensor(rng.integers(0, [20, 15, 25], (3000, 3)), rng.random(3000), (20, 15, 25))
    options = {"seed": 3, "max_iters": 5, "tol": 0, "threads": 2}
    alone = polyad.cp_als(x, 3, device="cpu", **options)
    found = polyad.cp_als(x, 3, device="cpu,cpu,cpu", **options)
    assert found.info["device"] == "cpu,cpu,cpu"
    assert found.info["fit"] == pytest.approx(alone.info["fit"], rel=1e-12)
    assert np.allclose(found.factors[1], alone.factors[1], rtol=0, atol=1e-9)
    again = polyad.cp_als(x, 3, device="cpu,cpu,cpu", **options)
    assert np.array_equal(found.factors[1], again.factors[1])
    with pytest.raises(polyad.UnsupportedError):
        polyad.tucker(x, (2, 2, 2), device="cpu,cpu,cpu")
