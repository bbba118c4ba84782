"""Completion of tensors of which only some cells are known."""

import itertools
import warnings

import numpy as np
import polyad
import pytest


def problem(rank=2, share=0.4, shape=(15, 14, 13), seed=2):
    random = np.random.default_rng(seed)
    whole = np.einsum("ir,jr,kr->ijk", *[random.normal(size=(length, rank)) for length in shape])
    return whole, np.where(random.uniform(size=shape) < share, whole, np.nan)


@pytest.mark.parametrize("algorithm", ["als", "ccd"])
def test_array_with_nan(algorithm):
    whole, known = problem()
    model = polyad.cp_complete(known, 2, algorithm=algorithm, ridge=1e-9, tol=1e-8, max_iters=5000,
                               restarts=5, seed=1)
    assert np.linalg.norm(model.reconstruct() - whole) < 1e-4 * np.linalg.norm(whole)
    assert model.info["fit_from"] == "observed" and model.info["validation_rmse"] is None


def test_degenerate_models_are_told():
    """From a tenth of the cells of a small tensor some runs end in values without bound."""
    told = []
    for seed in range(5):
        whole, known = problem(rank=5, share=0.1, shape=(30, 25, 20), seed=seed)
        model = polyad.cp_complete(known, 5, ridge=1e-9, tol=0, max_iters=200, seed=seed, device="cpu")
        growth = np.linalg.norm(model.reconstruct()) * np.sqrt(np.mean(~np.isnan(known))) \
            / np.linalg.norm(known[~np.isnan(known)])
        words = model.info["diagnosis"] or ""
        assert ("degenerate: its values over all cells" in words) == (growth > 10)
        told.append(growth > 10)
    assert any(told) and not all(told)


def test_sgd_lowers_the_error():
    _, known = problem()
    model = polyad.cp_complete(known, 2, algorithm="sgd", max_iters=50)
    assert model.info["fit"] > 0.3
    fits = [row["fit"] for row in model.info["trace"]]
    assert fits[-1] > fits[0]


def test_validation_and_split():
    whole, known = problem()
    x = polyad.SparseTensor(np.argwhere(~np.isnan(known)), known[~np.isnan(known)], whole.shape,
                            zeros="keep")
    test, validation, train = polyad.split(x, [0.2, 0.1], seed=4)
    assert test.nnz + validation.nnz + train.nnz == x.nnz and test.nnz == round(0.2 * x.nnz)
    model = polyad.cp_complete(train, 2, validation=validation, ridge=0.01, patience=3, biases=True)
    errors = [row["validation_rmse"] for row in model.info["trace"]]
    assert model.info["validation_rmse"] == pytest.approx(min(errors), rel=1e-9)
    assert errors[model.info["best_iteration"] - 1] == min(errors)
    assert model.rank == 2 + 3
    found = model.reconstruct(np.asarray(test.coords))
    assert np.sqrt(np.mean((found - np.asarray(test.values)) ** 2)) < 0.1


def named(values, *names):
    """The cells that are not NaN, in modes of these names."""
    coords = np.argwhere(~np.isnan(values))
    labels = {name: [str(i) for i in range(length)] for name, length in zip(names, values.shape)}
    return polyad.SparseTensor(coords, values[tuple(coords.T)], values.shape, labels, zeros="keep")


def test_split_with_negatives():
    _, known = problem(shape=(6, 30, 5))
    x = named(known, "user", "film", "week")
    test, train = polyad.split(x, 0.2, negatives=4, mode="film", seed=3)
    alone, rest = polyad.split(x, 0.2, seed=3)
    cells = {tuple(c) for c in x.coords.tolist()}
    mine = {tuple(c): v for c, v in zip(test.coords.tolist(), test.values)}
    negative = [c for c, v in mine.items() if v == 0]
    assert rest.nnz == train.nnz and alone.nnz == test.nnz - len(negative)
    assert alone.nnz < len(negative) <= 4 * alone.nnz and not cells & set(negative)
    entries = alone.coords.tolist()
    for user, film, week in negative:
        assert any(u == user and w == week and f != film for u, f, w in entries)
    assert test.mode_names == ["user", "film", "week"]
    with pytest.raises(ValueError, match="no mode 'actor'"):
        polyad.split(x, 0.2, negatives=1, mode="actor")


def ratings(users, films):
    """Of rank one: user u gives film f the rating (u + 1)(f + 1)."""
    coords = [(u, f) for u in range(len(users)) for f in range(len(films))]
    return polyad.SparseTensor(coords, [(users[u] + 1.0) * (films[f] + 1) for u, f in coords],
                               (len(users), len(films)),
                               {"user": [f"u{u}" for u in users], "film": [f"f{f}" for f in films]})


def test_labels_say_which_cells_are_meant():
    """A table of its own numbers its labels anew."""
    x, new, more = ratings(range(6), range(5)), ratings(range(1, 6), range(1, 5)), ratings(range(4, 8), range(5))
    model = polyad.cp_als(x, 1)
    assert polyad.prediction_score(model, new)["rmse"] < 1e-10
    assert polyad.prediction_score(model, new, match="number")["rmse"] > 1
    with pytest.raises(ValueError, match="'u6', 'u7'"):
        polyad.prediction_score(model, more)
    assert polyad.prediction_score(model, more, unseen="skip")["count"] == 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = polyad.cp_complete(x, 1, ridge=1e-6, validation=new)
    assert fitted.info["validation_rmse"] < 1e-3
    with pytest.warns(UserWarning, match="10 cells of validation are left out"):
        polyad.cp_complete(x, 1, validation=more)


def test_prediction_score():
    """Every number against its definition."""
    random = np.random.default_rng(5)
    values = np.where(random.random((8, 12)) < 0.5, random.integers(1, 4, (8, 12)), 0.0)
    x = named(values, "user", "film")
    model = polyad.KruskalTensor(np.ones(3), [random.random((8, 3)), random.random((12, 3))])
    score = polyad.prediction_score(model, x, mode="film", k=3, match="number", device="cpu")
    found = model.reconstruct(np.asarray(x.coords)).reshape(8, 12)
    assert score["rmse"] == pytest.approx(np.sqrt(np.mean((values - found) ** 2)), rel=1e-12)
    assert score["mae"] == pytest.approx(np.mean(abs(values - found)), rel=1e-12)
    above = found[values > 0][:, None] > found[values == 0][None, :]
    assert score["auc"] == pytest.approx(above.mean(), rel=1e-12)
    hits, gains = [], []
    for value, prediction in zip(values, found):
        for p in prediction[value > 0]:
            hits.append((prediction[value == 0] > p).sum() < 3)
        weights = 1 / np.log2(np.arange(3) + 2)
        gains.append(np.sum(value[np.argsort(-prediction)][:3] * weights)
                     / np.sum(np.sort(value)[::-1][:3] * weights))
    assert score["hit_rate"] == pytest.approx(np.mean(hits), rel=1e-12)
    assert score["ndcg"] == pytest.approx(np.mean(gains), rel=1e-12)
    assert (score["count"], score["groups"], score["k"], score["device"]) == (96, 8, 3, "cpu")
    assert score["positives"] == (values > 0).sum() and score["negatives"] == (values == 0).sum()
    only = polyad.prediction_score(model, named(np.where(values > 0, values, np.nan), "user", "film"), match="number")
    assert only["auc"] is None and only["ndcg"] is None and only["groups"] == 0


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_equal_predictions_have_no_order(k):
    """NDCG is its mean over the orders of those that tie, wherever they stand in the tensor."""
    predictions, values = np.array([2.0, 1, 1, 1, 0, 1]), np.array([0.0, 3, 0, 1, 0, 2])
    discounts = 1 / np.log2(np.arange(len(values)) + 2) * (np.arange(len(values)) < k)
    gains = [values[list(order)] @ discounts for order in itertools.permutations(range(len(values)))
             if all(np.diff(predictions[list(order)]) <= 0)]
    for turn in range(len(values)):
        turned = np.roll(values, turn)
        model = polyad.KruskalTensor([1.0], [np.ones((1, 1)), np.roll(predictions, turn)[:, None]])
        x = polyad.SparseTensor([[0, j] for j in range(len(values))], turned, zeros="keep")
        score = polyad.prediction_score(model, x, k=k)
        assert score["ndcg"] == pytest.approx(np.mean(gains) / (np.sort(values)[::-1] @ discounts), rel=1e-12)
    with pytest.raises(TypeError, match="KruskalTensor"):
        polyad.prediction_score(values, x)
    with pytest.raises(polyad.Error, match="order|modes"):
        polyad.prediction_score(model, np.ones((8, 12, 2)))


def test_weights():
    whole, known = problem()
    cells = np.argwhere(~np.isnan(known))
    values = known[~np.isnan(known)]
    weights = (np.arange(len(values)) % 3 > 0).astype(float)
    spoilt = np.where(weights > 0, values, 100.0)
    x = polyad.SparseTensor(cells, spoilt, whole.shape, zeros="keep")
    model = polyad.cp_complete(x, 2, weights=weights, ridge=1e-2, tol=1e-6, restarts=8, seed=1)
    assert np.linalg.norm(model.reconstruct() - whole) < 0.05 * np.linalg.norm(whole)
    with pytest.raises(ValueError, match="weights of shape"):
        polyad.cp_complete(x, 2, weights=weights[1:])


def test_plan_with_zeros():
    x = polyad.SparseTensor([[0, 0], [1, 1], [0, 1]], [1.0, 2.0, 0.0], (2, 2), zeros="keep")
    assert polyad.Plan(x, zeros="keep").nnz == 3 and polyad.Plan(x).nnz == 2
    model = polyad.cp_complete(polyad.Plan(x, 1, zeros="keep"), 1, ridge=0.01)
    assert abs(model.reconstruct([[0, 1]])[0]) < 0.5


def test_device():
    _, known = problem()
    cpu = polyad.cp_complete(known, 2, device="cpu", max_iters=5)
    named = polyad.cp_complete(polyad.Plan(polyad.SparseTensor(
        np.argwhere(~np.isnan(known)), known[~np.isnan(known)], known.shape, zeros="keep"), 2,
        zeros="keep", device="cpu"), 2, max_iters=5)
    assert np.array_equal(cpu.factors[0], named.factors[0])
    with pytest.raises(polyad.Error, match="nonsense"):
        polyad.cp_complete(known, 2, device="nonsense")


def test_refusals():
    _, known = problem()
    with pytest.raises(ValueError, match="'als', 'ccd' or 'sgd'"):
        polyad.cp_complete(known, 2, algorithm="lbfgs")
    with pytest.raises(polyad.Error, match="validation share"):
        polyad.cp_complete(known, 2, validation=1.5)


def test_tensorly_masked_parafac():
    """On a dense array with a mask both minimise the same error."""
    parafac = pytest.importorskip("tensorly.decomposition").parafac
    whole, known = problem(share=0.8)
    whole = whole + 0.1 * np.random.default_rng(1).normal(size=whole.shape)
    mask = ~np.isnan(known)
    model = polyad.cp_complete(np.where(mask, whole, np.nan), 2, ridge=0, tol=1e-10,
                               max_iters=5000, restarts=3)
    theirs = parafac(np.where(mask, whole, 0.0), 2, mask=mask, init="random", random_state=1,
                     n_iter_max=3000, tol=1e-12)
    found = np.einsum("r,ir,jr,kr->ijk", theirs[0], *theirs[1])
    error = np.sqrt(np.mean((found - whole)[mask] ** 2))
    assert model.info["rmse"] == pytest.approx(error, rel=1e-4)


def test_shares_of_numpy():
    x = polyad.generate((10, 10), 60, rank=1)[0]
    assert [part.nnz for part in polyad.split(x, np.array([0.1, 0.2]))] == [6, 12, 42]
    assert polyad.split(x, np.float32(0.5))[0].nnz == 30
    known = polyad.cp_complete(x, 1, validation=np.float32(0.25), max_iters=3)
    assert known == polyad.cp_complete(x, 1, validation=0.25, max_iters=3)
