"""A call costs microseconds: small problems in loops are common in Python."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import polyad


def fastest(call, rounds=3000):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)  # what the call itself costs; the rest is the machine's other work


def slowness():
    """How much slower this machine interprets Python than a usual one; at least 1."""
    return max(1.0, fastest(lambda: sum(range(1000))) / 15e-6)


def test_a_call_takes_less_than_50_microseconds():
    x = polyad.SparseTensor(np.array([[0, 1, 1], [1, 0, 0]], np.int32), np.ones(2))
    factors = [np.ones((2, 2))] * 3
    plan = polyad.Plan(x, 2)
    for call in (lambda: polyad.mttkrp(plan, factors, 0), lambda: polyad.mttkrp(x, factors, 0),
                 lambda: polyad.SparseTensor(np.zeros((1, 3), np.int32), [1.0])):
        assert fastest(call) / slowness() < 50e-6


def test_making_a_tensor_holds_one_copy():
    rng = np.random.default_rng(0)
    coords = rng.integers(0, 1000, (200_000, 3), np.uint32)
    x = polyad.SparseTensor(coords, rng.random(200_000))
    # 4 bytes an index, 8 a value, and what the object itself takes.
    assert x.nbytes <= x.nnz * (3 * 4 + 8) * 1.05 + 65536


@pytest.mark.parametrize(("given", "turns"), [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_threads_do_not_spin_for_long(given, turns):
    """libgomp tells what it was told when it was loaded; the environment is as before."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", "import polyad, os; print(os.environ.get('GOMP_SPINCOUNT'))"],
        env={**environment, **given, "OMP_DISPLAY_ENV": "verbose"}, capture_output=True, text=True,
        check=True)
    assert f"GOMP_SPINCOUNT = '{turns}'" in done.stderr
    assert done.stdout.strip() == str(given.get("GOMP_SPINCOUNT"))
