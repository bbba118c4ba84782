"""New data in a fitted model, against dense computations with NumPy and SciPy."""

import numpy as np
import polyad
import pytest
import scipy.optimize

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
    with pytest.raises(ValueError, match="mode 1 has indices that the model lacks: 'z'"):
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
    (dict(mode=0, kind="nonnegative"), "negative number"),
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
    loaded.factors[0][0, 0] += 1
    with pytest.raises(ValueError, match="sums of another model"):
        polyad.Updater(loaded, 0, state=state)
    with pytest.raises(ValueError, match="expected the sums that belong"):
        polyad.Updater(loaded, 1, state=state)


def test_updates_check_their_arguments():
    model = plant()
    for wrong in (0.0, 1.5, float("nan"), -1.0):
        with pytest.raises(ValueError, match="forgetting factor"):
            polyad.Updater(model, 0, forget=wrong)
    with pytest.raises(ValueError, match="rounds"):
        polyad.Updater(model, 0, rounds=0)
    with pytest.raises(polyad.Error, match="counts cannot be updated"):
        polyad.Updater(plant(nonnegative=True), 0, kind="poisson")
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
