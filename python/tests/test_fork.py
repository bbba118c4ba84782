"""After fork() the child computes, although the threads of its parent are not there."""

import subprocess
import sys

import pytest

START = """
import os, sys, warnings, multiprocessing
import numpy as np, polyad
rng = np.random.default_rng(0)
x = polyad.SparseTensor(rng.integers(0, 40, (60000, 3)), rng.random(60000), (40, 40, 40))
plan = polyad.Plan(x, 3, threads=4)
fit = polyad.cp_als(x, 3, threads=4, seed=1, max_iters=5, tol=0).info["fit"]

def work(seed):
    return polyad.cp_als(x, 3, seed=1, max_iters=5, tol=0, threads=threads).info["fit"]
"""

POOL = START + """
threads = {threads}
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map(work, range(4))
assert np.allclose(found, fit, rtol=1e-12), (found, fit)
assert work(0) == polyad.cp_als(x, 3, seed=1, max_iters=5, tol=0, threads=threads).info["fit"]
"""

# What the parent made is used in the child: norms and hashes compute with the parent's context.
FORK = START + """
child = os.fork()
if child == 0:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = polyad.SparseTensor(x.coords, np.array(x.values), x.shape)
        assert y == x and hash(y) == hash(x) and y.norm() == x.norm()
        assert not caught
        assert abs(polyad.cp_als(plan, 3, seed=1, max_iters=5, tol=0).info["fit"] - fit) < 1e-12
        polyad.cp_als(y, 3, max_iters=2, threads=4)
        polyad.mttkrp(y, [rng.random((40, 3))] * 3, 0)
        polyad.tucker(y, 3, max_iters=2)
        polyad.cp_apr(y, 3, max_iters=2)
        assert [each.category for each in caught] == [RuntimeWarning], caught
        assert "forked" in str(caught[0].message)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert polyad.cp_als(x, 3, threads=4, seed=1, max_iters=5, tol=0).info["fit"] == fit
"""

# What a callback computes has a context of its own: it, too, is of the thread that forks.
CALLBACK = START + """
def fork(progress):
    child = os.fork()
    if child == 0:
        right = False
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = polyad.cp_als(x, 3, seed=1, max_iters=5, tol=0).info["fit"]
                right = abs(found - fit) < 1e-12 and "forked" in str(caught[0].message)
            finally:
                os._exit(not right)
    assert os.waitpid(child, 0)[1] == 0

assert polyad.cp_als(x, 3, threads=4, max_iters=1, callback=fork).info["iterations"] == 1
"""

# A thread that the child starts has OpenMP threads of its own; a grandchild is as a child is.
THREAD = START + """
import threading
child = os.fork()
if child == 0:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = []
        thread = threading.Thread(target=lambda: found.append(
            polyad.cp_als(x, 3, threads=2, seed=1, max_iters=5, tol=0).info["fit"]))
        thread.start()
        thread.join()
        assert abs(found[0] - fit) < 1e-12
    grandchild = os.fork()
    if grandchild == 0:
        polyad.cp_als(x, 3, threads=4, max_iters=2)
        os._exit(0)
    os._exit(os.waitpid(grandchild, 0)[1] and 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("program", [POOL.format(threads=None), POOL.format(threads=2), FORK, CALLBACK,
                                     THREAD])
def test_fork_after_use(program):
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True,
                          timeout=200)
    assert done.returncode == 0, done.stderr


def test_child_of_a_parent_with_one_thread_has_all():
    program = """
import os, warnings
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np, polyad
x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0])
polyad.cp_als(x, 1)
child = os.fork()
if child == 0:
    warnings.simplefilter("error")
    polyad.cp_als(x, 1, threads=2)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)


def test_gpus_are_lost(monkeypatch):
    import polyad
    from polyad import _context

    monkeypatch.setattr(_context, "_gpus_lost", True)
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0])
    assert polyad.Plan(x, 1).device == "cpu"
    with pytest.raises(polyad.UnsupportedError, match="spawn"):
        polyad.Plan(x, 1, device="cuda")
