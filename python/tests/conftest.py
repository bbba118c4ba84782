import pathlib

import numpy as np
import pytest

import polyad

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
