"""The first ten iterates of each method are those of pyttb from the same first factors, on twelve
stored cases (tests/data/pyttb), to 1e-10 of the model's largest value."""

import json
import pathlib

import numpy as np
import pytest

import polyad

STORED = pathlib.Path(__file__).resolve().parents[2] / "tests/data/pyttb/iterates.json"
CASES, ITERATES, BOUND = 12, 10, 1e-10


def model_after(iterations, case):
    """The values of polyad's model at the case's cells."""
    x = polyad.SparseTensor(np.array(case["coords"]), np.array(case["values"], dtype=float),
                            shape=tuple(case["shape"]))
    options = {"init": [np.array(f) for f in case["factors"]], "tol": 0, "max_iters": iterations}
    if case["method"] == "als":
        model = polyad.cp_als(x, case["ranks"], **options)
    elif case["method"] == "hooi":
        model = polyad.tucker(x, tuple(case["ranks"]), **options)
    else:
        options |= {"kappa": 0} if case["method"] == "mu" else {}
        model = polyad.cp_apr(x, case["ranks"], algorithm=case["method"], **options)
    return model.reconstruct()[tuple(np.array(case["at"]).T)]


@pytest.mark.parametrize("number", range(CASES))
def test_iterates_are_those_of_pyttb(number):
    cases = json.loads(STORED.read_text())
    assert len(cases) == CASES and len(cases[number]["iterates"]) == ITERATES
    found = [model_after(k + 1, cases[number]) for k in range(ITERATES)]
    wanted, largest = cases[number]["iterates"], cases[number]["largest"]
    for k in range(ITERATES):
        assert abs(found[k] - wanted[k]).max() <= BOUND * largest[k], k
    # The next iterate would be noticed.
    assert all(abs(found[k + 1] - wanted[k]).max() > BOUND * largest[k] for k in range(ITERATES - 1))
