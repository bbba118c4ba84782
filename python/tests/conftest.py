"""What the tests share. Every decomposition that one of them runs, by whatever function, method or
estimator, is checked: its info is compared with its model (tests/cli/model_check.py)."""

import pathlib
import sys

import numpy as np
import pytest

import polyad

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/cli"))

from model_check import Kruskal, Tucker, check  # noqa: E402


@pytest.fixture(scope="session")
def cuda_gpu():
    """Skips the test where no CUDA GPU can be used."""
    if not any(about["name"].startswith("cuda") for about in polyad.devices()):
        pytest.skip("there is no CUDA GPU")


def stored(tensor, plan):
    """Coordinates and values as the plan has them."""
    return np.asarray(tensor.coords), np.asarray(tensor.values).astype(plan.dtype)


def check_model(model, plan, options):
    """Raises AssertionError unless the model's info is true of it."""
    coords, values = plan.stored_for_tests
    first = model.core if isinstance(model, polyad.TuckerTensor) else model.weights
    kind = Tucker if isinstance(model, polyad.TuckerTensor) else Kruskal
    plain = not getattr(options, "weights", None) and not getattr(options, "validation_share", 0)
    if model.info.get("fit_from") == "observed":
        return check(coords, values, Kruskal(first, model.factors), model.info, None, plain)
    exact = getattr(options, "ridge", 0) == 0 and getattr(options, "svd", 0) == 0
    precision = "f32" if plan.dtype == np.float32 else "f64"
    check(coords, values, kind(first, model.factors), model.info, precision, monotone=exact)


def check_starts(model, plan, options):
    """The models of all starts, where they are kept: of the others' bounds is known that each is at
    most a tenth of the tolerance, or the residual's."""
    if model.info.get("log_likelihood") is not None or model.info.get("fit_from") == "observed":
        return
    bound = max(model.info["fit_bound"], 0.1 * max(options.run.tolerance, 1e-5))
    for start in model.info["starts"]:
        if "model" in start:
            told = {**model.info, "fit": start["objective"], "fit_bound": bound}
            one = start["model"]
            check(*plan.stored_for_tests, Kruskal(one.weights, one.factors), told, None, monotone=False)


def checked(execute):
    """`execute` of polyad._run, whose models are compared with their info."""
    def run(kind, function, plan, tensor, options, *rest):
        try:
            model = execute(kind, function, plan, tensor, options, *rest)
        except polyad.Interrupted as interrupted:
            if getattr(interrupted, "model", None) is not None:
                check_model(interrupted.model, plan, options)
            raise
        check_model(model, plan, options)
        check_starts(model, plan, options)
        return model
    return run


def remembering(make):
    """`Plan._make`, after which the plan knows the nonzeros that it holds."""
    def run(plan, tensor, *rest):
        make(plan, tensor, *rest)
        plan.stored_for_tests = stored(tensor, plan)
    return run


def pytest_configure():
    polyad.Plan._make = remembering(polyad.Plan._make)
    for module in (polyad._run, polyad._tucker):
        module.execute = checked(module.execute)


@pytest.fixture
def golden():
    """The small tensor and factors whose iterates are published by other packages."""
    coords = np.array([[1, 1, 1], [2, 1, 2], [1, 2, 3], [3, 2, 1], [3, 3, 3], [2, 3, 2]]) - 1
    x = polyad.SparseTensor(coords, [1.0, 2, 3, 4, 5, 6], shape=(3, 3, 3))
    factors = [np.array([[1, .5], [.25, 1], [.75, .3]]), np.array([[.2, .9], [1, .4], [.6, .7]]),
               np.array([[.3, .8], [.9, .1], [.5, 1]])]
    return x, factors


@pytest.fixture
def random_tensor():
    def make(shape=(20, 15, 10), nnz=300, seed=1):
        rng = np.random.default_rng(seed)
        coords = np.stack([rng.integers(0, n, nnz) for n in shape], axis=1)
        return polyad.SparseTensor(coords, rng.random(nnz) + 0.1, shape)
    return make


@pytest.fixture(scope="session")
def data():
    return ROOT / "data"
