"""New data in a fitted model, against dense computations with NumPy and SciPy."""

import copy
import decimal
import math
import pickle

import numpy as np
import polyad
import pytest
import scipy.optimize
import scipy.special

SHAPE = (7, 6, 5)


def plant(seed=0, rank=3, shape=SHAPE, nonnegative=False):
    """A model with weights."""
    random = np.random.default_rng(seed)
    draw = random.random if nonnegative else random.standard_normal
    factors = [draw((length, rank)) for length in shape]
    return polyad.KruskalTensor(random.uniform(1, 3, rank), factors)


def khatri_rao(model, mode):
    """The products of the other modes' rows and the weights: cells x R."""
    others = [f for m, f in enumerate(model.factors) if m != mode]
    product = model.weights.astype(float)[None, :]
    for factor in others:
        product = (product[:, None, :] * factor[None, :, :]).reshape(-1, model.rank)
    return product


def unfold(dense, mode):
    return np.moveaxis(dense, mode, 0).reshape(dense.shape[mode], -1)


def sparse(dense):
    return polyad.SparseTensor(np.argwhere(dense), dense[dense != 0], dense.shape)


def some(random, shape, share=0.4):
    return np.where(random.random(shape) < share, random.standard_normal(shape), 0)


# ---- projection ----------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_signed_rows_are_those_of_least_squares(mode, dtype):
    model = plant()
    model = polyad.KruskalTensor(model.weights.astype(dtype),
                                 [f.astype(dtype) for f in model.factors])
    shape = tuple(9 if m == mode else length for m, length in enumerate(SHAPE))
    dense = some(np.random.default_rng(1), shape)
    found = model.project(sparse(dense), mode)
    expected = np.linalg.lstsq(khatri_rao(model, mode), unfold(dense, mode).T, rcond=None)[0].T
    assert found.dtype == dtype and found.shape == shape and found.info["kind"] == "signed"
    bound = 1e-10 if dtype == np.float64 else 1e-5
    assert np.allclose(found.factors[mode], expected, rtol=bound, atol=bound)
    for m in set(range(3)) - {mode}:
        assert np.array_equal(found.factors[m], model.factors[m])
    assert found.info["fit"] == pytest.approx(found.fit(sparse(dense)), abs=1e-12)


def test_rows_of_the_model_itself_come_back():
    model = plant()
    found = model.project(sparse(model.reconstruct()), 1)
    assert np.allclose(found.factors[1], model.factors[1], rtol=1e-10)
    assert found.info["fit"] > 1 - 1e-10


@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_rows(seed):
    """scipy's Lawson-Hanson on the dense system, with components that are nearly alike."""
    model = plant(seed, rank=5, nonnegative=True)
    model.factors[1][:, 1] = model.factors[1][:, 0] + 0.01 * model.factors[1][:, 1]
    dense = some(np.random.default_rng(seed), (20, 6, 5))
    found = model.project(sparse(dense), 0)
    product = khatri_rao(model, 0)
    expected = np.array([scipy.optimize.nnls(product, row)[0] for row in unfold(dense, 0)])
    assert found.info["kind"] == "nonnegative" and (expected == 0).any()
    assert found.factors[0].min() >= 0
    assert np.allclose(found.factors[0], expected, rtol=1e-8, atol=1e-9)


def test_nonnegative_rows_beside_factors_of_any_sign():
    model, dense = plant(1, rank=3), np.random.default_rng(1).standard_normal((20, 6, 5))
    found = model.project(sparse(dense), 0, kind="nonnegative")
    product = khatri_rao(model, 0)
    expected = np.array([scipy.optimize.nnls(product, row)[0] for row in unfold(dense, 0)])
    assert min(f.min() for f in model.factors) < 0 and (expected == 0).any()
    assert np.allclose(found.factors[0], expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_poisson_rows_meet_the_optimality_conditions(seed):
    """The likelihood is concave: where the conditions of Karush, Kuhn and Tucker hold, the row is
    the best one."""
    model = plant(seed, rank=4, nonnegative=True)
    dense = np.random.default_rng(seed).poisson(0.7, (30, 6, 5)).astype(float)
    dense[3] = 0
    found = model.project(sparse(dense), 0, kind="poisson")
    product, counts = khatri_rao(model, 0), unfold(dense, 0)
    rows = found.factors[0]
    assert found.info["converged"] and not rows[3].any() and rows.min() >= 0
    slope = 1 - ((counts / np.maximum(rows @ product.T, 1e-300)) @ product) / product.sum(0)
    scaled = rows * product.sum(0) / np.maximum(counts.sum(1), 1)[:, None]
    assert np.abs(np.minimum(scaled, slope)).max() < 1e-8
    assert np.allclose((rows @ product.T).sum(1), counts.sum(1))


def test_components_that_cannot_be_told_apart():
    """Two equal components and one of weight zero: any best row will do."""
    model = plant(rank=4)
    for factor in model.factors:
        factor[:, 1] = factor[:, 0]
    model.weights[3] = 0
    dense = some(np.random.default_rng(0), (8, 6, 5))
    found = model.project(sparse(dense), 0)
    product = khatri_rao(model, 0)
    best = np.linalg.lstsq(product, unfold(dense, 0).T, rcond=None)[0].T
    assert np.isfinite(found.factors[0]).all() and not found.factors[0][:, 3].any()
    assert np.allclose(found.factors[0] @ product.T, best @ product.T, atol=1e-10)


def test_a_model_with_negative_numbers_in_the_projected_mode_alone_is_signed():
    rng = np.random.default_rng(7)
    model = polyad.KruskalTensor(None, [rng.standard_normal((9, 3)), rng.random((6, 3)), rng.random((5, 3))])
    found = model.project(sparse(model.reconstruct()), 0)
    assert found.info["kind"] == "signed" and found.info["fit"] > 1 - 1e-9
    np.testing.assert_allclose(found.factors[0], model.factors[0], rtol=1e-9, atol=1e-9)
    assert model.project(sparse(model.reconstruct()), 0, kind="nonnegative").info["fit"] < 0.9


@pytest.mark.parametrize("kind", ["signed", "nonnegative", "poisson"])
def test_fixed_entries(kind):
    model = plant(2, rank=3, nonnegative=True)
    random = np.random.default_rng(3)
    dense = random.poisson(2.0, (6, 6, 5)).astype(float)
    found = model.project(sparse(dense), 0, kind=kind, fixed={(0, 1): 0.5, (0, 2, 4): 0.25})
    rows, product = found.factors[0], khatri_rao(model, 0)
    assert np.all(rows[:, 1] == 0.5) and rows[4, 2] == 0.25 and np.all(rows[:4, 2] != 0.25)
    for i, row in enumerate(unfold(dense, 0)):
        free = [0] if i == 4 else [0, 2]
        held = [r for r in range(3) if r not in free]
        rest = row - product[:, held] @ rows[i, held]
        if kind == "signed":
            best = np.linalg.lstsq(product[:, free], rest, rcond=None)[0]
        elif kind == "nonnegative":
            best = scipy.optimize.nnls(product[:, free], rest)[0]
        else:
            slope = (product * (1 - row / (product @ rows[i]))[:, None]).sum(0)[free]
            violation = np.minimum(rows[i, free] * product.sum(0)[free] / row.sum(),
                                   slope / product.sum(0)[free])
            assert np.abs(violation).max() < 1e-8
            continue
        assert np.allclose(rows[i, free], best, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", ["signed", "nonnegative", "poisson"])
def test_two_modes_at_once(kind):
    """Exact data of new rows in two modes are described exactly, at the model's scale."""
    model = plant(4, rank=2, nonnegative=kind != "signed")
    random = np.random.default_rng(5)
    new = [random.random((9, 2)) + 0.1, model.factors[1], random.random((4, 2)) + 0.1]
    truth = polyad.KruskalTensor(model.weights, new)
    found = model.project(sparse(truth.reconstruct()), [0, 2], kind=kind, max_iters=20000)
    assert found.info["converged"] and found.info["iterations"] > 1
    assert np.allclose(found.reconstruct(), truth.reconstruct(), rtol=1e-6)
    assert np.allclose(np.sqrt((found.factors[2]**2).mean(0)),
                       np.sqrt((model.factors[2]**2).mean(0)))
    again = model.project(sparse(truth.reconstruct()), [0, 2], kind=kind, max_iters=20000)
    assert all(np.array_equal(a, b) for a, b in zip(found.factors, again.factors))


def test_two_modes_take_turns_as_least_squares_does():
    """A stationary point: each mode's rows are the best for the other's."""
    model = plant(6, rank=3)
    dense = some(np.random.default_rng(7), (8, 6, 9))
    found = model.project(sparse(dense), [0, 2], max_iters=20000)
    assert found.info["converged"]
    for mode in (0, 2):
        best = np.linalg.lstsq(khatri_rao(found, mode), unfold(dense, mode).T, rcond=None)[0].T
        assert np.allclose(found.factors[mode], best, rtol=1e-5, atol=1e-6)


def labelled(coords, values, shape, labels, names=("day", "place")):
    x = polyad.SparseTensor(coords, values, shape)
    x._set_labels(labels, names)
    return x


def test_labels_are_matched_by_name():
    model = polyad.KruskalTensor(None, [np.eye(2), np.array([[1.0, 0], [0, 2], [3, 3]])],
                                 labels=[["mon", "tue"], ["a", "b", "c"]],
                                 mode_names=["day", "place"])
    x = labelled([[0, 0], [1, 1], [1, 2]], [2.0, 4.0, 6.0], (2, 3),
                 [["wed", "tue"], ["b", "c", "a"]])
    found = model.project(x, "day")
    dense = np.array([[0, 2, 0], [6, 0, 4.0]])  # places in the model's order
    expected = np.linalg.lstsq(model.factors[1], dense.T, rcond=None)[0].T.clip(0)
    assert found.labels == [["wed", "tue"], ["a", "b", "c"]] and found.mode_names[0] == "day"
    assert np.allclose(found.factors[0][0], [0, scipy.optimize.nnls(
        model.factors[1][:, 1:], dense[0])[0][0]])
    assert np.allclose(found.factors[0][1], scipy.optimize.nnls(model.factors[1], dense[1])[0])
    assert expected.shape == found.factors[0].shape
    only = model.project(x, "day", rows="unseen")
    assert only.labels[0] == ["wed"] and only.info["skipped"] == 2
    assert np.array_equal(only.factors[0], found.factors[0][:1])


def test_unseen_labels():
    model = polyad.KruskalTensor(None, [np.eye(2), np.ones((2, 2))],
                                 labels=[None, ["a", "b"]])
    x = labelled([[0, 0], [0, 1]], [2.0, 4.0], (1, 2), [None, ["b", "z"]])
    with pytest.raises(ValueError, match=r"mode 1 \(place\) has indices that the model lacks: 'z'"):
        model.project(x, 0)
    found = model.project(x, 0, unseen="skip")
    assert found.info["skipped"] == 1 and found.labels[1] == ["a", "b"]
    with pytest.raises(ValueError, match="labels in the model only"):
        model.project(polyad.SparseTensor([[0, 1]], [1.0], (1, 2)), 0)
    by_number = model.project(polyad.SparseTensor([[0, 1]], [1.0], (1, 2)), 0, match="number")
    assert by_number.shape == (1, 2)


@pytest.mark.parametrize("arguments, words", [
    (dict(mode=[0, 1, 2]), "expected 1 to 2"), (dict(mode=[0, 0]), "different ones"),
    (dict(mode=3), "does not exist"), (dict(mode=0, kind="x"), "kind 'x' is unknown"),
    (dict(mode=0, rows="x"), "rows 'x'"), (dict(mode=0, match="x"), "match 'x'"),
    (dict(mode=0, kind="poisson"), "negative number"),
    (dict(mode=0, fixed={(1, 0): 1}), "expected one of the projected modes"),
    (dict(mode=0, fixed={(0, 9): 1}), "component 9"), (dict(mode=0, fixed={0: 1}), "has the key 0"),
    (dict(mode=0, fixed={(0, 0): float("nan")}), "finite"),
    (dict(mode=0, fixed={(0, 0, 99): 1}), "no such row"), (dict(mode=0, tol=-1), "tolerance"),
])
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        plant().project(sparse(np.ones(SHAPE)), **arguments)


def test_shapes_and_counts_are_checked():
    with pytest.raises(ValueError, match="mode 1 has indices that the model lacks: 6"):
        plant().project(sparse(np.ones((7, 7, 5))), 0)
    with pytest.raises(ValueError, match="the model has 3 modes and the tensor 2"):
        plant().project(sparse(np.ones((7, 6))), 0)
    with pytest.raises(polyad.Error, match="no negative number"):
        plant(nonnegative=True).project(sparse(-np.ones(SHAPE)), 0, kind="poisson")


def test_nothing_new():
    """A tensor without nonzeros has rows of zeros."""
    empty = polyad.SparseTensor(np.empty((0, 3), int), shape=(2, 6, 5))
    for kind in ("signed", "poisson"):
        found = plant(nonnegative=True).project(empty, 0, kind=kind)
        assert found.shape == (2, 6, 5) and not found.factors[0].any()


# ---- updates -------------------------------------------------------------------------------------

def exact(seed, rank=3, shape=(30, 6, 5), nonnegative=False):
    """Noise-free data of a planted model."""
    return plant(seed, rank, shape, nonnegative).reconstruct()


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_noise_free_stream_equals_batch(mode, nonnegative):
    """After a start from a converged model of ten slices, one slice at a time."""
    shape = tuple(30 if m == mode else length for m, length in enumerate((6, 7, 5)))
    dense = exact(mode, shape=shape, nonnegative=nonnegative)
    slices = np.moveaxis(dense, mode, 0)
    first = sparse(np.moveaxis(slices[:10], 0, mode))
    model = polyad.cp_als(first, 3, tol=0, max_iters=3000, seed=2, nonnegative=nonnegative, restarts=3)
    assert model.info["fit"] > 1 - 1e-9
    updater = polyad.Updater(model, mode)
    for t in range(10, 30):
        info = updater.add(sparse(np.moveaxis(slices[t:t + 1], 0, mode)))
        assert info["appended"] == 1 and info["changed"] == 0 and info["fit"] > 1 - 1e-8
    streamed = updater.model
    assert updater.rows == 30 and streamed.shape == shape
    batch = polyad.cp_als(sparse(dense), 3, tol=0, max_iters=3000, seed=2, nonnegative=nonnegative,
                          restarts=3)
    error = np.linalg.norm(streamed.reconstruct() - batch.reconstruct()) / np.linalg.norm(dense)
    assert error < 1e-8 and polyad.score(streamed, batch) > 1 - 1e-8


@pytest.mark.parametrize("forget", [1.0, 0.9])
def test_updates_are_online_cp(forget):
    """OnlineCP in dense NumPy, with forgetting, on data with noise."""
    random = np.random.default_rng(3)
    dense = exact(1) + 0.3 * random.standard_normal((30, 6, 5))
    model = polyad.cp_als(sparse(dense[:10]), 3, tol=1e-12, max_iters=500, seed=1)
    a, b, c = (np.array(f) for f in model.factors)
    weights = np.diag(model.weights)
    a = a @ weights  # rows with the weights in them
    gram = {"a": a.T @ a, "b": b.T @ b, "c": c.T @ c}
    q_b, q_c = gram["a"] * gram["c"], gram["a"] * gram["b"]
    p_b, p_c = b @ q_b, c @ q_c
    updater = polyad.Updater(model, 0, forget=forget)
    for t in range(10, 30, 4):
        new = dense[t:t + 4]
        rows = np.einsum("ijk,jr,kr->ir", new, b, c) @ np.linalg.inv((b.T @ b) * (c.T @ c))
        square = rows.T @ rows
        p_b = forget * p_b + np.einsum("ijk,ir,kr->jr", new, rows, c)
        q_b = forget * q_b + square * (c.T @ c)
        b = p_b @ np.linalg.inv(q_b)
        p_c = forget * p_c + np.einsum("ijk,ir,jr->kr", new, rows, b)
        q_c = forget * q_c + square * (b.T @ b)
        c = p_c @ np.linalg.inv(q_c)
        a = np.vstack([a, rows])
        updater.add(sparse(new))
    found = updater.model
    assert np.allclose(found.factors[0] * found.weights, a, rtol=1e-7, atol=1e-9)
    assert np.allclose(found.factors[1], b, rtol=1e-7, atol=1e-9)
    assert np.allclose(found.factors[2], c, rtol=1e-7, atol=1e-9)


def kkt_holds(a, p, q):
    """Whether a is the minimum of tr(a q a') - 2 tr(p a') over nonnegative matrices: the gradient is
    zero where a is above 0, and not negative where it is 0."""
    gradient, scale = a @ q - p, np.abs(p).max()
    return (a >= 0).all() and (np.abs(gradient[a > 0]) <= 1e-9 * scale).all() and (gradient >= -1e-9 * scale).all()


@pytest.mark.parametrize("modes", [[0], [1], [0, 2]])
def test_updates_keep_some_modes_nonnegative(modes):
    """Rows and factors fulfil the conditions of Karush, Kuhn and Tucker where they stay nonnegative,
    and are those of OnlineCP where they are free."""
    random = np.random.default_rng(9)
    truth = plant(6, 3, (20, 6, 5))
    for mode in modes:
        truth.factors[mode] = np.abs(truth.factors[mode])
    dense = truth.reconstruct() + 3 * random.standard_normal((20, 6, 5))
    model = polyad.cp_als(sparse(dense[:10]), 3, tol=1e-9, max_iters=300, seed=1, nonnegative=modes)
    a, b, c = (np.array(f) for f in model.factors)
    whole = a * model.weights
    p_b, q_b = b @ ((whole.T @ whole) * (c.T @ c)), (whole.T @ whole) * (c.T @ c)
    p_c, q_c = c @ ((whole.T @ whole) * (b.T @ b)), (whole.T @ whole) * (b.T @ b)
    updater = polyad.Updater(model, 0, nonnegative=modes)
    assert updater.add(sparse(dense[10:]))["kind"] == "signed"
    found = updater.model
    rows, later_b, later_c = found.factors[0][10:] * model.weights, found.factors[1], found.factors[2]
    systems = [(rows, np.einsum("ijk,jr,kr->ir", dense[10:], b, c), (b.T @ b) * (c.T @ c)),
               (later_b, p_b + np.einsum("ijk,ir,kr->jr", dense[10:], rows, c),
                q_b + (rows.T @ rows) * (c.T @ c)),
               (later_c, p_c + np.einsum("ijk,ir,jr->kr", dense[10:], rows, later_b),
                q_c + (rows.T @ rows) * (later_b.T @ later_b))]
    for mode, (factor, p, q) in enumerate(systems):
        if mode in modes:
            assert kkt_holds(factor, p, q)
        else:
            assert np.allclose(factor @ q, p, rtol=1e-8, atol=1e-8 * np.abs(p).max())
            assert (factor < 0).any()
    assert any((systems[mode][0] == 0).any() for mode in modes)
    copied = pickle.loads(pickle.dumps(updater))
    copied.add(sparse(dense[:3]))
    assert (copied.model.factors[modes[0]] >= 0).all()
    turned = polyad.KruskalTensor(model.weights, [-f if m == modes[0] else f for m, f in enumerate(model.factors)])
    with pytest.raises(polyad.Error, match=f"negative number in mode {modes[0]}"):
        polyad.Updater(turned, 0, nonnegative=modes)


@pytest.mark.parametrize("forget", [1.0, 0.8])
def test_updates_of_counts_are_online_expectation_maximisation(forget):
    """In dense NumPy, its new rows by many multiplicative updates. Counts of a part of the slices
    come twice: their earlier ones stay with the components that the model dealt them out to."""
    random = np.random.default_rng(5)
    truth = plant(3, 3, (14, 6, 5), nonnegative=True)
    truth.weights *= 4 / truth.reconstruct().mean()
    counts = random.poisson(truth.reconstruct()).astype(float)
    model = polyad.cp_apr(sparse(counts[:8]), 3, tol=1e-8, max_iters=2000, seed=1)
    a, b, c = (np.array(f) for f in model.factors)
    a = a * model.weights
    whole = [a.sum(0), b.sum(0), c.sum(0)]
    q_b, q_c = whole[0] * whole[2], whole[0] * whole[1]
    p_b, p_c, weight = b * q_b, c * q_c, np.ones(14)
    days = [f"d{i}" for i in range(14)]
    model = polyad.KruskalTensor(model.weights, model.factors, labels=[days[:8], None, None])
    updater = polyad.Updater(model, 0, forget=forget, kind="poisson")
    for first in (8, 10, 12):
        # Two new slices, and more of slice 3.
        new = np.concatenate([counts[first:first + 2], counts[3:4]])
        weight[:first] *= forget
        scale, before = b.sum(0) * c.sum(0), a[3] * b.sum(0) * c.sum(0)
        rows = np.vstack([np.full((2, 3), counts.mean()), a[3:4]])
        for _ in range(8000):
            m = np.einsum("ir,jr,kr->ijk", rows, b, c)
            rows *= np.einsum("ijk,jr,kr->ir", new / m, b, c)
            rows[2] += before
            rows /= scale
        for n in (1, 2):
            m = np.einsum("ir,jr,kr->ijk", rows, b, c)
            old = (1 - weight[3]) * a[3]
            change = rows.sum(0) - weight[3] * a[3]
            if n == 1:
                expected = b * np.einsum("ijk,ir,kr->jr", new / m, rows, c)
                p_b = forget * p_b + expected + b * c.sum(0) * old
                q_b = forget * q_b + c.sum(0) * change
                b = p_b / q_b
            else:
                expected = c * np.einsum("ijk,ir,jr->kr", new / m, rows, b)
                p_c = forget * p_c + expected + c * b.sum(0) * old
                q_c = forget * q_c + b.sum(0) * change
                c = p_c / q_c
        a, weight[3] = np.vstack([a, rows[:2]]), 1
        a[3] = rows[2]
        x = sparse(new)
        x._set_labels([[days[first], days[first + 1], days[3]], None, None])
        info = updater.add(x)
        assert (info["kind"], info["appended"], info["changed"]) == ("poisson", 2, 1)
    found = updater.model
    assert np.allclose(found.factors[0] * found.weights, a, rtol=1e-7, atol=1e-9)
    assert np.allclose(found.factors[1], b, rtol=1e-7, atol=1e-9)
    assert np.allclose(found.factors[2], c, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("mode", [0, 2])
def test_noise_free_counts_stay_what_they_are(mode):
    """Rates instead of counts: each slice is the model's, so no factor moves."""
    shape = tuple(20 if m == mode else length for m, length in enumerate((6, 7, 5)))
    truth = plant(4, 3, shape, nonnegative=True)
    slices = np.moveaxis(truth.reconstruct(), mode, 0)
    factors = [f[:8] if m == mode else f for m, f in enumerate(truth.factors)]
    updater = polyad.Updater(polyad.KruskalTensor(truth.weights, factors), mode, kind="poisson")
    for t in range(8, 20):
        updater.add(sparse(np.moveaxis(slices[t:t + 1], 0, mode)))
    error = updater.model.reconstruct() - truth.reconstruct()
    assert np.linalg.norm(error) < 1e-8 * np.linalg.norm(slices)


def test_sums_of_counts_are_not_those_of_squares(tmp_path):
    """An updater that goes on from a file is the one that was left; sums of another kind of model
    are refused."""
    truth = plant(4, 3, (10, 6, 5), nonnegative=True)
    new = sparse(np.random.default_rng(0).poisson(3, (2, 6, 5)).astype(float))
    updater = polyad.Updater(truth, 0, kind="poisson")
    updater.add(new)
    model, state = updater.save(tmp_path / "m.ptm"), tmp_path / "m.ptm.state.ptm"
    again = polyad.Updater(model, 0, kind="poisson", state=state)
    updater.add(new)
    again.add(new)
    assert again.model == updater.model
    with pytest.raises(polyad.Error, match="kind of model"):
        polyad.Updater(model, 0, state=state)


def test_slices_that_are_there_get_more():
    """Exact data that arrive in two parts, by label, end in the model of all of them."""
    planted = plant(5, 2, (8, 6, 5))
    dense = planted.reconstruct()
    days = [f"d{i}" for i in range(8)]
    start = polyad.KruskalTensor(planted.weights, [planted.factors[0][:5].copy(),
                                                   *planted.factors[1:]],
                                 labels=[days[:5], None, None])
    start.factors[0][3] *= 0.25  # a quarter of day 3 is known, and nothing of day 4
    start.factors[0][4] = 0
    more = np.zeros_like(dense)
    more[3], more[4], more[5:] = 0.75 * dense[3], dense[4], dense[5:]
    order = [7, 3, 5, 4, 6]
    x = sparse(more[order])
    x._set_labels([[days[i] for i in order], None, None])
    updater = polyad.Updater(start, 0)
    info = updater.add(x)
    found = updater.model
    assert info["appended"] == 3 and info["changed"] == 2 and np.isnan(info["fit"])
    assert found.labels[0] == [*days[:5], "d7", "d5", "d6"]
    place = [found.labels[0].index(day) for day in days]
    assert np.allclose(found.reconstruct()[place], dense, atol=1e-10)


def test_forgetting_follows_a_change():
    """After the components change, an updater that forgets comes to describe the new ones better."""
    old, new = exact(1, shape=(60, 6, 5)), exact(2, shape=(60, 6, 5))
    model = polyad.cp_als(sparse(old[:20]), 3, tol=1e-10, max_iters=500, seed=1)
    fits = {}
    for forget in (1.0, 0.8):
        updater = polyad.Updater(model, 0, forget=forget, rounds=3)
        for t in range(60):
            fits[forget] = updater.add(sparse(new[t:t + 1]))["fit"]
    assert fits[0.8] > fits[1.0] + 0.1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_kept_in_a_file(tmp_path, dtype):
    """Saved and read again, an updater goes on as if it had not been; from the model alone it does
    not."""
    random = np.random.default_rng(3)
    dense = (exact(1) + 0.3 * random.standard_normal((30, 6, 5))).astype(dtype)
    precision = "f32" if dtype == np.float32 else "f64"
    model = polyad.cp_als(sparse(dense[:10]), 3, max_iters=50, seed=1, precision=precision)
    assert model.dtype == dtype
    through, path = polyad.Updater(model, 0, forget=0.9), tmp_path / "model.ptm"
    through.add(sparse(dense[10:20]))
    saved = through.save(path)
    through.add(sparse(dense[20:]))
    loaded = polyad.KruskalTensor.load(path, precision)
    assert loaded == saved
    state = tmp_path / "model.ptm.state.ptm"
    again = polyad.Updater(loaded, 0, forget=0.9, state=state)
    again.add(sparse(dense[20:]))
    bound = 1e-12 if dtype == np.float64 else 1e-5
    size = np.linalg.norm(dense)
    assert np.linalg.norm(through.model.reconstruct() - again.model.reconstruct()) < bound * size
    alone = polyad.update(loaded, sparse(dense[20:]), 0, forget=0.9)
    assert np.linalg.norm(through.model.reconstruct() - alone.reconstruct()) > 1e-4 * size
    older = polyad.KruskalTensor.load(state)
    assert older.factors[0].flat[0] == 3
    older.factors[0].flat[0] = 1
    older.save(tmp_path / "older.ptm")
    with pytest.raises(ValueError, match="sums that an earlier version of polyad wrote"):
        polyad.Updater(loaded, 0, state=tmp_path / "older.ptm")
    loaded.factors[0][0, 0] += 1
    with pytest.raises(ValueError, match="sums of another model"):
        polyad.Updater(loaded, 0, state=state)
    with pytest.raises(ValueError, match="expected the sums that belong"):
        polyad.Updater(loaded, 1, state=state)


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_an_updater_is_copied_with_its_sums(copied):
    """The copy goes on as the updater does, by itself, with the forgetting that was set last."""
    dense = exact(1)
    model = polyad.cp_als(sparse(dense[:10]), 3, max_iters=50, seed=1)
    one = polyad.Updater(model, 0, forget=0.9, rounds=2)
    one.add(sparse(dense[10:15]), forget=0.5)
    other = copied(one)
    before = other.model.reconstruct()
    assert other.rows == one.rows == 15 and other.mode == 0
    one.add(sparse(dense[15:20]))
    assert other.rows == 15 and np.array_equal(other.model.reconstruct(), before)
    other.add(sparse(dense[15:20]))
    size = np.linalg.norm(before)
    assert np.linalg.norm(one.model.reconstruct() - other.model.reconstruct()) < 1e-12 * size


def test_updates_check_their_arguments():
    model = plant()
    for wrong in (0.0, 1.5, float("nan"), -1.0):
        with pytest.raises(ValueError, match="forgetting factor"):
            polyad.Updater(model, 0, forget=wrong)
    with pytest.raises(ValueError, match="rounds"):
        polyad.Updater(model, 0, rounds=0)
    with pytest.raises(polyad.Error, match="negative number of a poisson model"):
        polyad.Updater(plant(nonnegative=True), 0, kind="poisson").add(sparse(-np.ones((1, 6, 5))))
    updater = polyad.Updater(model, 0)
    before = updater.model
    with pytest.raises(ValueError, match="mode 2 has indices that the model lacks"):
        updater.add(sparse(np.ones((2, 6, 9))))
    with pytest.raises(polyad.Error, match="overflow"):
        updater.add(sparse(np.full((1, 6, 5), 1e200)))
    assert updater.model == before and updater.rows == 7


def test_one_update():
    dense = exact(4)
    model = polyad.cp_als(sparse(dense[:20]), 3, tol=0, max_iters=1000, seed=1)
    found = polyad.update(model, sparse(dense[20:]), 0)
    assert found.shape == (30, 6, 5) and found.info["appended"] == 10
    assert np.allclose(found.reconstruct(), dense, atol=1e-7)


# ---- anomalies -----------------------------------------------------------------------------------

def rates(seed=0, shape=(20, 15, 12), rank=3, mean=2.0):
    """A nonnegative model, scaled to a mean."""
    model = plant(seed, rank, shape, nonnegative=True)
    model.weights *= mean / model.reconstruct().mean()
    return model


def benjamini_hochberg(p, tests):
    order = np.argsort(p, kind="stable")
    q = np.minimum.accumulate((p[order] * tests / np.arange(1, len(p) + 1))[::-1])[::-1]
    out = np.empty_like(q)
    out[order] = np.minimum(q, 1)
    return out


def test_tails_of_counts_are_those_of_scipy():
    """From rates of 1e-8 to 1e6, far into both tails. scipy 1.10 is off by up to 2e-8 at large counts
    (the next test knows)."""
    random = np.random.default_rng(0)
    rate = np.concatenate([10.0**random.uniform(-8, 6, 3000), random.uniform(0.5, 40, 3000)])
    count = np.maximum(np.concatenate([
        random.poisson(rate), np.rint(rate + 12 * np.sqrt(rate) * random.standard_normal(6000)),
        np.rint(3 * rate), np.rint(0.5 * rate)]), 1)
    rate = np.tile(rate, 4)
    model = polyad.KruskalTensor(None, [np.ones((1, 1)), rate[:, None]])
    x = polyad.SparseTensor(np.stack([np.zeros(len(rate), int), np.arange(len(rate))], axis=1), count)
    found = polyad.anomalies(model, x, top=len(rate))
    got = {row["index"][1]: row for row in found}
    upper = np.array([got[k]["p_upper"] for k in range(len(rate))])
    lower = np.array([got[k]["p_lower"] for k in range(len(rate))])
    for mine, theirs in ((upper, scipy.special.gammainc(count, rate)),
                         (lower, scipy.special.gammaincc(count + 1, rate))):
        good = theirs > 1e-290
        assert good.sum() > 10000 and np.all(mine[~good] < 1e-289)
        assert np.abs(mine[good] / theirs[good] - 1).max() < 1e-7
    assert found.kind == "poisson" and found.tested == len(rate)


def exact_tail(count, rate, lower):
    """A tail by its sum in 60 decimal digits; log(count!) of large counts by Stirling's series, whose
    first term left out is below 1e-20 from 200 on."""
    decimal.getcontext().prec = 60
    x, m = decimal.Decimal(count), decimal.Decimal(rate)
    if count < 200:
        log_factorial = decimal.Decimal(math.factorial(count)).ln()
    else:
        pi = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        log_factorial = (x * x.ln() - x + (2 * pi * x).ln() / 2 + 1 / (12 * x) - 1 / (360 * x**3) +
                         1 / (1260 * x**5) - 1 / (1680 * x**7) + 1 / (1188 * x**9))
    total, term, k = decimal.Decimal(0), (x * m.ln() - m - log_factorial).exp(), 0
    while term > total * decimal.Decimal("1e-30"):
        total += term
        k += 1
        term *= (x - k + 1) / m if lower else m / (x + k)
    return float(total)


def test_tails_to_twelve_digits():
    random = np.random.default_rng(1)
    rate = 10.0**random.uniform(-8, 6, 200)
    for lower in (False, True):
        size = np.maximum(rate, 1) + (-1 if lower else 1) * random.uniform(0, 20, 200) * np.sqrt(rate)
        count = np.maximum(np.rint(np.where(lower, np.minimum(size, rate), size + 1)), 1)
        model = polyad.KruskalTensor(None, [np.ones((1, 1)), rate[:, None]])
        found = {row["index"][1]: row for row in polyad.anomalies(model, count[None, :], top=200)}
        compared = 0
        for k in range(200):
            if (count[k] > rate[k]) == lower:
                continue
            exact = exact_tail(int(count[k]), rate[k], lower)
            if exact > 1e-290:
                assert found[k]["p_lower" if lower else "p_upper"] == pytest.approx(exact, rel=1e-12)
                compared += 1
        assert compared > 50


@pytest.mark.parametrize("tail", ["both", "upper", "lower"])
@pytest.mark.parametrize("cells", ["all", "stored"])
def test_cells_of_counts(tail, cells):
    """p and q in dense NumPy and SciPy."""
    from scipy.stats import poisson

    model = rates()
    dense = np.random.default_rng(1).poisson(model.reconstruct()).astype(float)
    dense[3, 4, 5], dense[7, 8, 9] = 40, 1
    found = polyad.anomalies(model, sparse(dense), tail=tail, cells=cells, top=10**6)
    place = np.nonzero(dense)
    x, m = dense[place], model.reconstruct()[place]
    upper, lower, tests = poisson.sf(x - 1, m), poisson.cdf(x, m), dense.size
    if cells == "stored":
        some = -np.expm1(-m)
        upper, lower, tests = upper / some, (lower - np.exp(-m)) / some, len(x)
    p = {"upper": upper, "lower": lower, "both": np.minimum(1, 2 * np.minimum(upper, lower))}[tail]
    q = benjamini_hochberg(p, tests)
    assert len(found) == len(x) and found.tested == tests
    assert found.found == (q <= 0.05).sum()
    got = {row["index"]: row for row in found}
    for k, index in enumerate(zip(*place)):
        row = got[tuple(map(int, index))]
        assert row["value"] == x[k] and row["expected"] == pytest.approx(m[k], rel=1e-10)
        assert row["p"] == pytest.approx(p[k], rel=1e-9, abs=1e-14)
        assert row["q"] == pytest.approx(q[k], rel=1e-9, abs=1e-13)
        deviance = 2 * (x[k] * np.log(x[k] / m[k]) - x[k] + m[k])
        assert row["score"] == pytest.approx(np.sign(x[k] - m[k]) * np.sqrt(deviance), abs=1e-6)
    assert all(a["p"] <= b["p"] for a, b in zip(found.rows, found.rows[1:]))
    if tail != "lower":
        assert found[0]["index"] == (3, 4, 5)


def test_slices_of_counts():
    """Sums are Poisson; a slice that is missing is found in the lower tail."""
    from scipy.stats import poisson

    model = rates()
    dense = np.random.default_rng(2).poisson(model.reconstruct()).astype(float)
    dense[6] = 0
    found = polyad.anomalies(model, sparse(dense), by="slice", top=100)
    assert len(found) == 47 and found.tested == 47
    assert found[0]["mode"] == 0 and found[0]["index"] == 6 and found[0]["value"] == 0
    for row in found:
        others = tuple(m for m in range(3) if m != row["mode"])
        x = dense.sum(others)[row["index"]]
        m = model.reconstruct().sum(others)[row["index"]]
        assert row["value"] == x and row["expected"] == pytest.approx(m, rel=1e-10)
        assert row["p_upper"] == pytest.approx(poisson.sf(x - 1, m), rel=1e-9)
        assert row["p_lower"] == pytest.approx(poisson.cdf(x, m), rel=1e-9)
    one = polyad.anomalies(model, sparse(dense), by="slice", modes=0)
    assert one.tested == 20 and one.found >= 1


@pytest.mark.parametrize("cells", ["all", "stored"])
def test_indices_of_counts_have_the_p_value_of_simes(cells):
    model = rates()
    dense = np.random.default_rng(3).poisson(model.reconstruct()).astype(float)
    dense[2, 3, 4] = 50
    each = {row["index"]: row["p"] for row in
            polyad.anomalies(model, sparse(dense), cells=cells, top=10**6)}
    found = polyad.anomalies(model, sparse(dense), by="index", modes=[0, 2], cells=cells, top=100)
    assert {(found[k]["mode"], found[k]["index"]) for k in range(2)} == {(0, 2), (2, 4)}
    for row in found:
        p = np.sort([value for index, value in each.items() if index[row["mode"]] == row["index"]])
        count = dense.size / dense.shape[row["mode"]] if cells == "all" else len(p)
        assert row["p"] == pytest.approx(min(1, (p * count / np.arange(1, len(p) + 1)).min()),
                                         rel=1e-9)


def gaussian(seed, shape=(20, 15, 12)):
    random = np.random.default_rng(seed)
    model = plant(seed, 3, shape)
    return model, model.reconstruct() + 0.1 * random.standard_normal(shape)


def test_cells_of_residuals():
    model, dense = gaussian(4)
    dense[1, 2, 3] += 3
    found = polyad.anomalies(model, sparse(dense), top=10**6)
    residual = (dense - model.reconstruct()).ravel()
    center = np.median(residual)
    scale = 1.4826 * np.median(np.abs(residual - center))
    assert found.kind == "gaussian" and found[0]["index"] == (1, 2, 3) and found.found >= 1
    assert found.center == pytest.approx(center) and found.scale == pytest.approx(scale)
    for row in found:
        z = (row["value"] - row["expected"] - center) / scale
        assert row["score"] == pytest.approx(z, abs=1e-9)
        assert row["p"] == pytest.approx(min(1, 2 * scipy.special.ndtr(-abs(z))), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("by", ["slice", "index"])
def test_slices_and_indices_of_residuals(by):
    """Dense sums of residuals, and of their squares, each mode in its own robust scale; half of the
    cells are absent, which counts."""
    model, dense = gaussian(5)
    dense[np.random.default_rng(0).random(dense.shape) < 0.5] = 0
    dense[4] += 5
    found = polyad.anomalies(model, sparse(dense), by=by, top=100)
    residual = dense - model.reconstruct()
    assert len(found) == 47 and (found[0]["mode"], found[0]["index"]) == (0, 4)
    for row in found:
        others = tuple(m for m in range(3) if m != row["mode"])
        if by == "slice":
            numbers = residual.sum(others)
            assert row["value"] == pytest.approx(dense.sum(others)[row["index"]], abs=1e-9)
        else:
            numbers = np.cbrt((residual**2).mean(others))
            assert row["value"]**2 == pytest.approx((residual**2).mean(others)[row["index"]])
        center = np.median(numbers)
        scale = 1.4826 * np.median(np.abs(numbers - center))
        z = (numbers[row["index"]] - center) / scale
        assert row["score"] == pytest.approx(z, rel=1e-7, abs=1e-7)
        p = scipy.special.ndtr(-z) if by == "index" else min(1, 2 * scipy.special.ndtr(-abs(z)))
        assert row["p"] == pytest.approx(p, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("kind, cells", [("poisson", "all"), ("poisson", "stored"),
                                         ("gaussian", None)])
def test_planted_anomalies_at_the_nominal_rate(kind, cells):
    """Over 40 tensors with 30 planted cells each: the share of false ones among those found is at
    most the rate, to 3 standard errors of its mean, and nearly all planted ones are found. Shares of
    one tensor lie between 0 and 1 and average at most `fdr`, so their variance is below fdr (1 -
    fdr)."""
    fdr, shares, power = 0.1, [], []
    for seed in range(40):
        random = np.random.default_rng(seed)
        if kind == "poisson":
            model = rates(seed)
            dense = random.poisson(model.reconstruct()).astype(float)
            size = np.ceil(8 * np.sqrt(model.reconstruct()) + 12)
        else:
            model, dense = gaussian(seed)
            size = np.full(dense.shape, 0.8)
        planted = np.zeros(dense.size, bool)
        planted[random.choice(dense.size, 30, replace=False)] = True
        planted = planted.reshape(dense.shape)
        dense[planted] += size[planted]
        found = polyad.anomalies(model, sparse(dense), kind=kind, fdr=fdr, cells=cells or "all")
        right = sum(bool(planted[row["index"]]) for row in found)
        shares.append(1 - right / max(found.found, 1))
        power.append(right / 30)
    assert len(shares) == 40 and np.mean(power) > 0.95
    assert np.mean(shares) <= fdr + 3 * np.sqrt(fdr * (1 - fdr) / 40)


def test_nothing_is_found_where_nothing_is():
    """Without anomalies something is found in at most the share `fdr` of tensors (binomial)."""
    some_found = 0
    for seed in range(60):
        model = rates(seed, mean=0.5)
        dense = np.random.default_rng(seed).poisson(model.reconstruct()).astype(float)
        some_found += polyad.anomalies(model, sparse(dense), fdr=0.05).found > 0
    assert some_found <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)


def test_table_of_anomalies():
    pandas = pytest.importorskip("pandas")
    model = polyad.KruskalTensor(None, [np.ones((2, 1)), np.ones((3, 1))],
                                 labels=[["mon", "tue"], None], mode_names=["day", None])
    x = labelled([[0, 0], [1, 2]], [1.0, 30.0], (2, 3), [["tue", "mon"], None], ("day", None))
    found = polyad.anomalies(model, x)
    frame = found.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns[:3]) == ["day", "mode2", "value"]
    assert len(found) == found.found == 1 and found[0]["label"] == ("mon", 2)
    assert "1 of 6 found" in repr(found) and frame["day"][0] == "mon"
    slices = polyad.anomalies(model, x, by="slice", top=2).to_dataframe()
    assert list(slices.columns[:2]) == ["mode", "index"] and "mon" in list(slices["index"])


@pytest.mark.parametrize("by", ["cell", "slice", "index"])
def test_rounding_is_no_anomaly(by):
    """Of a model that leaves nothing else; a cell that is off by a hundred millionth is found."""
    rng = np.random.default_rng(0)
    model = polyad.KruskalTensor([2.0, 1.0], [rng.random((size, 2)) for size in (12, 10, 8)])
    dense = model.reconstruct()
    fitted = polyad.cp_als(sparse(dense), 2, tol=0, max_iters=3000, seed=1)
    for each in (model, fitted):
        assert polyad.anomalies(each, sparse(dense), by=by, kind="gaussian").found == 0
    dense[3, 4, 5] += 1e-8
    found = polyad.anomalies(model, sparse(dense), by=by, kind="gaussian")
    assert found.found == (1 if by == "cell" else 3)
    assert all(row["index"] == ((3, 4, 5) if by == "cell" else (3, 4, 5)[row["mode"]]) for row in found)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("by", ["cell", "slice", "index"])
def test_rounding_to_float32_is_no_anomaly(by, seed):
    """Of the data, of the model, or of both; a cell that is off by a hundredth is found."""
    rng = np.random.default_rng(seed)
    model = polyad.KruskalTensor([2.0, 1.0], [rng.random((size, 2)) for size in (12, 10, 8)])
    dense = model.reconstruct()
    narrow = sparse(dense.astype(np.float32))
    assert narrow.dtype == np.float32
    rounded = polyad.KruskalTensor(model.weights.astype(np.float32),
                                   [factor.astype(np.float32) for factor in model.factors])
    assert rounded.dtype == np.float32
    for x in (narrow, sparse(dense)):
        assert polyad.anomalies(rounded, x, by=by, kind="gaussian").found == 0
    for precision in ("f32", "f64"):
        fitted = polyad.cp_als(narrow, 2, tol=0, max_iters=1000, seed=1, precision=precision)
        assert polyad.anomalies(fitted, narrow, by=by, kind="gaussian").found == 0
    assert polyad.anomalies(model, narrow, by=by, kind="gaussian").found == 0
    dense[3, 4, 5] += 1e-2
    found = polyad.anomalies(model, sparse(dense.astype(np.float32)), by=by, kind="gaussian")
    assert found.found == (1 if by == "cell" else 3)
    assert all(row["index"] == ((3, 4, 5) if by == "cell" else (3, 4, 5)[row["mode"]]) for row in found)


@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_anomalies_of_models_that_overflow(kind):
    """Where a value or a slice's sum is none in double precision, there is no probability."""
    x = sparse(np.ones((3, 4, 2)))
    for weight, by in ((1e308, "cell"), (1e308, "index"), (2e307, "slice")):
        model = polyad.KruskalTensor([weight, weight], [np.ones((size, 2)) for size in x.shape])
        with pytest.raises(polyad.Error, match="overflow a double"):
            polyad.anomalies(model, x, by=by, kind=kind)


def test_arguments_of_anomalies():
    model = rates()
    x = sparse(np.ones((20, 15, 12)))
    for wrong in (dict(fdr=0), dict(fdr=1), dict(by="x"), dict(tail="x"), dict(cells="x"),
                  dict(kind="x"), dict(by="slice", modes=[0, 0]), dict(by="slice", modes=[3]),
                  dict(modes=[0]), dict(kind="gaussian", cells="stored"),
                  dict(kind="gaussian", by="index", tail="upper")):
        with pytest.raises(ValueError):
            polyad.anomalies(model, x, **wrong)
    with pytest.raises(TypeError):
        polyad.anomalies(x, x)
    with pytest.raises(polyad.Error, match="expected a count"):
        polyad.anomalies(model, sparse(np.full((20, 15, 12), 0.5)), kind="poisson")
    with pytest.raises(polyad.Error, match="negative number"):
        polyad.anomalies(plant(), sparse(np.ones(SHAPE)), kind="poisson")
    halves = sparse(np.full((20, 15, 12), 0.5))
    assert polyad.anomalies(model, halves).kind == "gaussian"
    with pytest.warns(UserWarning, match="tail does not count"):
        polyad.anomalies(model, halves, by="index", tail="lower")
