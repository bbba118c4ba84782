"""Ctrl-C, exceptions of callbacks, and the line of progress, for every algorithm."""

import os
import signal
import subprocess
import sys
import types

import numpy as np
import pytest

import polyad
from polyad import _progress

RUNS = {
    "als": lambda x, **run: polyad.cp_als(x, 3, **run),
    "mu": lambda x, **run: polyad.cp_apr(x, 3, **run),
    "pdnr": lambda x, **run: polyad.cp_apr(x, 3, algorithm="pdnr", **run),
    "pqnr": lambda x, **run: polyad.cp_apr(x, 3, algorithm="pqnr", **run),
    "tucker": lambda x, **run: polyad.tucker(x, 3, **run),
}


@pytest.mark.parametrize("algorithm", RUNS)
def test_interrupt_keeps_the_model(random_tensor, algorithm):
    def callback(progress):
        if progress["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    model = RUNS[algorithm](random_tensor(), tol=0, max_iters=100000, callback=callback)
    assert model.info["reason"] == "cancelled"
    assert 2 <= model.info["iterations"] < 100
    assert all(np.isfinite(factor).all() for factor in model.factors)


def test_interrupt_from_outside_is_silent():
    # The signal comes while C computes: Python sees it in its own first line, outside any try.
    program = """
import os, signal, threading, time
import numpy as np, polyad
rng = np.random.default_rng(0)
x = polyad.SparseTensor(rng.integers(0, 40, (4000, 3)), rng.random(4000))
started = threading.Event()
def later():
    started.wait()
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=later).start()
polyad.cp_als(x, 3, max_iters=1)
started.set()
model = polyad.cp_als(x, 3, tol=0, max_iters=10**8)
print(model.info["reason"])
"""
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True,
                          timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("cancelled\n", "", 0)


@pytest.mark.parametrize("algorithm", RUNS)
def test_exception_in_callback_arrives(random_tensor, algorithm):
    def callback(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        RUNS[algorithm](random_tensor(), callback=callback)
    assert RUNS[algorithm](random_tensor(), max_iters=2).info["iterations"] > 0


@pytest.mark.parametrize("algorithm", RUNS)
def test_progress_in_a_terminal(random_tensor, algorithm, capsys):
    RUNS[algorithm](random_tensor(), tol=0, max_iters=3, verbose=True)
    line = capsys.readouterr().err.split("\r")[-1]
    assert line.startswith("iteration ") and line.endswith("left\n") and "nan" not in line
    assert ("log-likelihood" if algorithm in ("mu", "pdnr", "pqnr") else "fit") in line
    RUNS[algorithm](random_tensor(), max_iters=2)
    assert capsys.readouterr().err == ""


def test_progress_with_restarts(random_tensor, capsys):
    polyad.cp_als(random_tensor(), 3, tol=0, max_iters=4, restarts=2, verbose=True)
    assert "start 2, iteration 4/4" in capsys.readouterr().err


def test_progress_in_a_notebook(random_tensor, monkeypatch, capsys):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    def display(data, raw, display_id):
        assert raw and display_id
        shown.append(data["text/plain"])
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr(_progress, "PAUSE", 0)
    polyad.cp_als(random_tensor(), 3, tol=0, max_iters=3, verbose=True)
    assert [line.split(" |")[0] for line in shown] == [f"iteration {i}/3" for i in (1, 2, 3)]
    assert capsys.readouterr().err == ""
