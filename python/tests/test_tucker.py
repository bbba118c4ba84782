"""Tucker decomposition: same iterates as pyttb, the model, the kernel."""

import json

import numpy as np
import pytest

import polyad


@pytest.fixture
def golden(data):
    folder = data.parent / "tests/data/tucker"
    return folder, json.loads((folder / "golden.json").read_text())


def random_factors(shape, ranks, seed=5):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, r)) for n, r in zip(shape, ranks)]


def dense_chain(dense, factors, mode):
    letters = "abcdefgh"[:dense.ndim]
    others = [n for n in range(dense.ndim) if n != mode]
    subscripts = ",".join([letters, *[letters[n] + letters[n].upper() for n in others]])
    out = letters[mode] + "".join(letters[n].upper() for n in others)
    return np.einsum(f"{subscripts}->{out}", dense, *[factors[n] for n in others], optimize=True)


@pytest.mark.parametrize("shape, ranks", [((20, 15, 10), (4, 1, 3)), ((9, 8, 7, 6), (2, 3, 4, 5)),
                                          ((30, 20), (7, 2)), ((12,), (3,))])
@pytest.mark.parametrize("format", ["coo", "csf", "modecopy"])
def test_ttmc(random_tensor, shape, ranks, format):
    x = random_tensor(shape)
    factors = random_factors(shape, ranks)
    for mode in range(len(shape)):
        out = polyad.ttmc(x, factors, mode, format=format)
        np.testing.assert_allclose(out, dense_chain(x.to_numpy(), factors, mode), atol=1e-11)
        single = polyad.ttmc(x, factors, mode, format=format, precision="f32")
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, out, atol=1e-3, rtol=1e-4)
    np.testing.assert_array_equal(polyad.ttmc(x, factors, -1, format=format), out)


def test_ttmc_refuses(random_tensor):
    x = random_tensor()
    factors = random_factors(x.shape, (2, 2, 2))
    for bad in (factors[:2], [factors[0], factors[0], factors[2]], [1, 2, 3]):
        with pytest.raises(ValueError):
            polyad.ttmc(x, bad, 0)
    with pytest.raises(ValueError):
        polyad.ttmc(x, factors, 3)
    with pytest.raises(ValueError):
        polyad.Plan(x, kernel="nosuch")
    with pytest.raises(polyad.UnsupportedError):
        polyad.ttmc(x, factors, 0, format="flycoo")


@pytest.mark.parametrize("name", ["three", "four"])
def test_golden(golden, name):
    folder, values = golden
    start = polyad.TuckerTensor.load(folder / f"{name}.ttensor")
    x = polyad.read(folder / f"{name}.tns")
    model = polyad.tucker(x, values[name]["ranks"], init=start, tol=0, max_iters=12)
    np.testing.assert_allclose([row["fit"] for row in model.info["trace"]], values[name]["fits"],
                               atol=1e-8, rtol=0)
    assert model.norm() == pytest.approx(values[name]["norm"], abs=1e-7)


@pytest.mark.peer
@pytest.mark.parametrize("shape, ranks", [((20, 15, 10), (4, 2, 3)), ((9, 8, 7, 6), (2, 3, 4, 5)),
                                          ((6, 5, 4, 5, 6), (2, 2, 3, 2, 1))])
def test_same_iterates_as_pyttb(random_tensor, shape, ranks):
    pyttb = pytest.importorskip("pyttb")
    x, start = random_tensor(shape), random_factors(shape, ranks)
    ours = polyad.tucker(x, ranks, init=start, max_iters=8, tol=0)
    for iterations in (1, 2, 5, 8):
        theirs, _, output = pyttb.tucker_als(x.to_pyttb(), list(ranks), maxiters=iterations,
                                             stoptol=0, init=[f.copy() for f in start], printitn=0)
        assert abs(ours.info["trace"][iterations - 1]["fit"] - float(output["fit"])) < 1e-8
    np.testing.assert_allclose(np.abs(ours.core), np.abs(theirs.core.data), atol=1e-6)


def test_model(random_tensor, tmp_path):
    x = random_tensor()
    model = polyad.tucker(x, (4, 3, 2), tol=1e-7)
    core, factors = model
    assert core.shape == model.ranks == (4, 3, 2) and model.shape == x.shape and model.ndim == 3
    dense = np.einsum("abc,ia,jb,kc->ijk", core, *factors)
    np.testing.assert_allclose(model.reconstruct(), dense, atol=1e-13)
    coords = np.array([[0, 0, 0], [19, 14, 9]])
    np.testing.assert_allclose(model.reconstruct(coords), dense[tuple(coords.T)], atol=1e-13)
    assert model.norm() == pytest.approx(np.linalg.norm(dense), rel=1e-13)
    fit = 1 - np.linalg.norm(x.to_numpy() - dense) / x.norm()
    assert model.fit(x) == pytest.approx(fit, abs=1e-12)
    assert model.info["fit"] == pytest.approx(fit, abs=1e-12)
    for factor in factors:
        np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-13)
    path = tmp_path / "m.ttensor"
    model.save(path)
    again = polyad.TuckerTensor.load(path)
    np.testing.assert_array_equal(again.core, core)
    assert all(np.array_equal(a, b) for a, b in zip(again.factors, factors))
    assert "core 4×3×2" in repr(model) and model.dtype == np.float64
    for bad, error in (([[0, 0]], ValueError), ([[0, 0, 10]], ValueError),
                       ([[0, 0, -1]], ValueError), ([[0.5, 0, 0]], TypeError)):
        with pytest.raises(error):
            model.reconstruct(bad)


def test_other_packages(random_tensor):
    model = polyad.tucker(random_tensor(), (3, 2, 2))
    pyttb = pytest.importorskip("pyttb")
    assert isinstance(model.to_pyttb(), pyttb.ttensor)
    np.testing.assert_allclose(model.to_pyttb().full().double(), model.reconstruct(), atol=1e-12)
    tensorly = pytest.importorskip("tensorly")
    np.testing.assert_allclose(tensorly.tucker_to_tensor(model.to_tensorly()), model.reconstruct(),
                               atol=1e-12)


def test_options(random_tensor):
    x = random_tensor()
    assert polyad.tucker(x, 2).ranks == (2, 2, 2)
    exact = polyad.tucker(x, 3, tol=1e-6)
    loose = polyad.tucker(x, 3, tol=1e-6, svd="randomized")
    assert abs(exact.info["fit"] - loose.info["fit"]) < 5e-3
    assert polyad.tucker(x, 3, precision="f32").dtype == np.float32
    ranks = polyad.tucker_ranks(x, 0.5)
    model = polyad.tucker(x, "auto:0.5", max_iters=1)
    assert model.ranks == ranks and (1 - model.info["fit"]) ** 2 <= 0.5 + 1e-12
    seen = []
    stopped = polyad.tucker(x, 3, tol=0, callback=lambda s: seen.append(s["fit"]) or len(seen) == 2)
    assert len(seen) == 2 and stopped.info["reason"] == "cancelled"
    plan = polyad.Plan(x, kernel="ttmc")
    np.testing.assert_array_equal(polyad.tucker(plan, 3, tol=1e-6).core, exact.core)
    for bad in ((3, 3), (0, 1, 1), (3, 3, 11), "many", "auto:2"):
        with pytest.raises((ValueError, polyad.Error)):
            polyad.tucker(x, bad)
    with pytest.raises(ValueError):
        polyad.tucker(x, 2, svd="fast")
    with pytest.raises(ValueError):
        polyad.tucker(x, 2, init="nosuch")
    with pytest.raises(ValueError):
        polyad.tucker(x, 2, init=[np.ones((20, 2))])


def test_model_from_arrays():
    core, factors = np.ones((2, 1)), [np.ones((3, 2)), np.ones((4, 1))]
    model = polyad.TuckerTensor(core, factors)
    np.testing.assert_array_equal(model.reconstruct(), np.full((3, 4), 2.0))
    with pytest.raises(ValueError):
        polyad.TuckerTensor(core, factors[:1])
    with pytest.raises(ValueError):
        polyad.TuckerTensor(core, [np.ones((3, 2)), np.ones((4, 2))])
    with pytest.raises(TypeError):
        polyad.TuckerTensor(np.ones((2, 1), complex), factors)
