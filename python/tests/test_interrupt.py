"""Ctrl-C, exceptions of callbacks, and the line of progress, for every algorithm."""

import os
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import polyad
from polyad import _progress
from polyad._context import Context
from polyad._native import lib

RUNS = {
    "als": lambda x, **run: polyad.cp_als(x, 3, **run),
    "mu": lambda x, **run: polyad.cp_apr(x, 3, **run),
    "pdnr": lambda x, **run: polyad.cp_apr(x, 3, algorithm="pdnr", **run),
    "pqnr": lambda x, **run: polyad.cp_apr(x, 3, algorithm="pqnr", **run),
    "tucker": lambda x, **run: polyad.tucker(x, 3, **run),
}


@pytest.fixture(autouse=True)
def listening():
    """Programs that a shell starts in the background ignore Ctrl-C: these tests need not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("algorithm", RUNS)
def test_interrupt_keeps_the_model(random_tensor, algorithm):
    def callback(progress):
        if progress["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    model = RUNS[algorithm](random_tensor(), tol=0, max_iters=100000, callback=callback,
                            on_interrupt="return")
    assert model.info["reason"] == "cancelled"
    assert 2 <= model.info["iterations"] < 100
    assert all(np.isfinite(factor).all() for factor in model.factors)


@pytest.mark.parametrize("algorithm", RUNS)
def test_interrupt_ends_a_loop(random_tensor, algorithm):
    def callback(progress):
        if progress["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    runs = 0
    with pytest.raises(KeyboardInterrupt) as caught:
        for _ in range(3):
            runs += 1
            RUNS[algorithm](random_tensor(), tol=0, max_iters=100000, callback=callback)
    assert runs == 1 and isinstance(caught.value, polyad.Interrupted)
    model = caught.value.model
    assert model.info["reason"] == "cancelled" and model.shape == (20, 15, 10)
    with pytest.raises(ValueError, match="on_interrupt"):
        RUNS[algorithm](random_tensor(), on_interrupt="ignore")


def test_interrupt_ends_a_callback_that_waits(random_tensor):
    def callback(progress):
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        time.sleep(100)

    begin = time.monotonic()
    with pytest.raises(polyad.Interrupted):
        polyad.cp_als(random_tensor(), 3, callback=callback)
    assert time.monotonic() - begin < 50


def test_interrupt_while_planning(random_tensor, monkeypatch):
    run = Context.run

    def interrupted(self, function, *arguments):
        def call(*given):
            os.kill(os.getpid(), signal.SIGINT)
            return function(*given)
        return run(self, call if function is lib.polyad_plan_create else function, *arguments)

    x, handler = random_tensor(), signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Context, "run", interrupted)
        with pytest.raises(polyad.Interrupted, match="no model") as caught:
            polyad.cp_als(x, 3, on_interrupt="return")
    assert caught.value.model is None and x._plans == {}
    assert signal.getsignal(signal.SIGINT) is handler
    assert polyad.cp_als(x, 3, max_iters=1).info["iterations"] == 1


def test_interrupt_while_all_cells_are_visited():
    shape = (4000, 4000, 4000)
    plan = polyad.Plan(polyad.SparseTensor(np.zeros((1, 3), dtype=int), [1.0], shape=shape), 3,
                       kernel="phi")
    factors = [np.zeros((size, 3)) for size in shape]
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(polyad.Interrupted, match="cells"):
        plan.gcp_objective(factors, "bernoulli-logit")


def test_beside_a_handler_of_another_package(random_tensor):
    # polars puts one before Python's as soon as it computes.
    polars = pytest.importorskip("polars")
    polars.DataFrame({"a": [1, 2]}).lazy().select(polars.col("a").sum()).collect()
    test_interrupt_ends_a_loop(random_tensor, "als")
    test_interrupt_ends_a_callback_that_waits(random_tensor)


def test_handlers_of_others_stay(random_tensor):
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        polyad.cp_als(random_tensor(), 3, tol=0, max_iters=5, callback=lambda progress: os.kill(
            os.getpid(), signal.SIGINT) if progress["iteration"] == 2 else None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


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
model = polyad.cp_als(x, 3, tol=0, max_iters=10**8, on_interrupt="return")
print(model.info["reason"])
"""
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True,
                          timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("cancelled\n", "", 0)


@pytest.mark.parametrize("algorithm", RUNS)
def test_callback_may_compute(random_tensor, algorithm):
    x, seen = random_tensor(), []
    other = polyad.cp_als(x, 2, max_iters=1)

    def callback(progress):
        polyad.score(other, other)
        with pytest.raises(ValueError, match="format 'none'"):
            polyad.cp_als(x, 2, format="none")
        polyad.cp_als(x, 2, max_iters=2, seed=progress["iteration"], callback=lambda inner: False)
        seen.append(progress["iteration"])
        return len(seen) == 3

    plain = RUNS[algorithm](x, tol=0, max_iters=3, seed=1)
    model = RUNS[algorithm](x, tol=0, max_iters=100, seed=1, callback=callback)
    assert seen == [1, 2, 3]
    assert model.info["reason"] == "cancelled" and model.info["iterations"] == 3
    if algorithm != "tucker":  # whose core is made after the last iteration
        assert model == plain

    def raising(progress):
        polyad.score(other, other)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        RUNS[algorithm](x, tol=0, max_iters=100, callback=raising)


def test_interrupt_after_a_callback_computed(random_tensor):
    x = random_tensor()

    def callback(progress):
        polyad.cp_als(x, 2, max_iters=2)
        if progress["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    model = polyad.cp_als(x, 3, tol=0, max_iters=100000, callback=callback, on_interrupt="return")
    assert model.info["reason"] == "cancelled" and 2 <= model.info["iterations"] < 100


@pytest.mark.parametrize("algorithm", RUNS)
def test_exception_in_callback_arrives(random_tensor, algorithm):
    def callback(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        RUNS[algorithm](random_tensor(), callback=callback)
    assert RUNS[algorithm](random_tensor(), max_iters=2).info["iterations"] > 0


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.std", None)  # its import fails


@pytest.mark.parametrize("algorithm", RUNS)
def test_progress_in_a_terminal(random_tensor, algorithm, capsys, no_tqdm):
    RUNS[algorithm](random_tensor(), tol=0, max_iters=3, verbose=True)
    line = capsys.readouterr().err.split("\r")[-1]
    assert line.startswith("iteration ") and line.endswith("left\n") and "nan" not in line
    assert ("log-likelihood" if algorithm in ("mu", "pdnr", "pqnr") else "fit") in line
    RUNS[algorithm](random_tensor(), max_iters=2)
    assert capsys.readouterr().err == ""


def test_progress_with_restarts(random_tensor, capsys, no_tqdm):
    polyad.cp_als(random_tensor(), 3, tol=0, max_iters=4, restarts=2, verbose=True)
    assert "start 2, iteration 4/4" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", RUNS)
def test_progress_by_tqdm(random_tensor, algorithm, capsys):
    pytest.importorskip("tqdm")
    threads = threading.active_count()
    RUNS[algorithm](random_tensor(), tol=0, max_iters=3, verbose=True)
    told = capsys.readouterr().err
    line = told.split("\r")[-1].rstrip()
    assert line.endswith("]") and told.endswith("\n") and "nan" not in line
    assert ("log-likelihood" if algorithm in ("mu", "pdnr", "pqnr") else "fit") in line
    assert threading.active_count() == threads
    RUNS[algorithm](random_tensor(), max_iters=2)
    assert capsys.readouterr().err == ""


def test_progress_by_tqdm_with_restarts(random_tensor, capsys):
    pytest.importorskip("tqdm")
    polyad.cp_als(random_tensor(), 3, tol=0, max_iters=4, restarts=2, verbose=True)
    line = capsys.readouterr().err.split("\r")[-1]
    assert line.startswith("start 2: 100%") and " 4/4 [" in line
    polyad.rank_scan(random_tensor(), [1, 2], starts=2, max_iters=5, folds=0, verbose=True)
    told = capsys.readouterr().err  # of what is being fitted, without a bar
    assert "rank 2, " in told and "it/s" not in told and told.endswith("\n")


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
