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


@pytest.fixture
def labelled():
    rng = np.random.default_rng(6)
    return polyad.TuckerTensor(rng.standard_normal((2, 3, 2)),
                               [rng.standard_normal((n, r)) for n, r in ((4, 2), (5, 3), (6, 2))],
                               labels=[None, list("vwxyz"), None], mode_names=[None, "end", None])


def test_model_normalize_arrange_permute(labelled):
    dense = labelled.reconstruct()
    for norm in (1, 2):
        normal = labelled.normalize(norm)
        for factor in normal.factors:
            np.testing.assert_allclose(np.linalg.norm(factor, norm, axis=0), 1, rtol=1e-14)
        np.testing.assert_allclose(normal.reconstruct(), dense, atol=1e-12)
    arranged = labelled.arrange()
    np.testing.assert_allclose(arranged.reconstruct(), dense, atol=1e-12)
    for mode in range(3):
        slices = np.linalg.norm(np.moveaxis(arranged.core, mode, 0).reshape(
            arranged.ranks[mode], -1), axis=1)
        assert np.all(np.diff(slices) <= 0)
    turned = labelled.permute([2, 0, 1])
    np.testing.assert_allclose(turned.reconstruct(), dense.transpose(2, 0, 1), atol=1e-12)
    assert turned.labels[2] == list("vwxyz") and turned.mode_names[2] == "end"
    with pytest.raises(ValueError):
        labelled.normalize(3)
    with pytest.raises(ValueError):
        labelled.permute([0, 1])


def test_model_top_files_and_frames(labelled, tmp_path):
    column = labelled.factors[1][:, 2]
    strongest = int(np.argmax(np.abs(column)))
    assert labelled.top(2, 1, 1) == [("vwxyz"[strongest], column[strongest])]
    with pytest.raises(ValueError):
        labelled.top(2, 0)
    labelled.save(tmp_path / "m.ptm")
    assert polyad.TuckerTensor.load(tmp_path / "m.ptm") == labelled
    labelled.save(tmp_path / "m.ttensor")
    back = polyad.TuckerTensor.load(tmp_path / "m.ttensor")
    assert back.labels == labelled.labels and back.mode_names == labelled.mode_names
    pytest.importorskip("pandas")
    frame = labelled.to_dataframe()
    assert len(frame) == 4 * 2 + 5 * 3 + 6 * 2 and "weight" not in frame


def test_model_norm_and_inner_product(labelled):
    dense = labelled.reconstruct()
    x = polyad.SparseTensor.from_numpy(np.where(dense > 0, dense, 0))
    assert polyad.norm(labelled) == pytest.approx(np.linalg.norm(dense), rel=1e-12)
    assert polyad.innerprod(x, labelled) == pytest.approx(np.vdot(x.to_numpy(), dense), rel=1e-12)
    with pytest.raises(ValueError):
        labelled.innerprod(polyad.SparseTensor([[0, 0, 0]]))
    with pytest.raises(TypeError):
        polyad.innerprod(labelled, labelled)


def test_estimator(random_tensor):
    x = random_tensor()
    estimator = polyad.TuckerDecomposition((3, 2, 2), max_iters=5).fit(x)
    assert estimator.core_.shape == (3, 2, 2) and estimator.factors_[0].shape == (20, 3)
    assert estimator.fit_ - 1e-12 <= estimator.score(x) < estimator.fit_ + 1e-2
    assert estimator.reconstruct(x.coords[:4]).shape == (4,)
    assert estimator.set_params(ranks=2).fit_transform(x).shape == (x.shape[0], 2)
