"""Estimators, alone and inside scikit-learn."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.optimize

import polyad


@pytest.fixture
def flights(data):
    return polyad.read(data / "nycflights13.tns.gz")


@pytest.fixture
def exact():
    """A nonnegative tensor of rank 2 (12 x 5 x 6) and its factors."""
    rng = np.random.default_rng(3)
    factors = [rng.random((n, 2)) for n in (12, 5, 6)]
    return polyad.SparseTensor.from_numpy(np.einsum("ir,jr,kr->ijk", *factors)), factors


ESTIMATORS = [
    polyad.CPDecomposition(2, tol=0, max_iters=500),
    polyad.CPDecomposition(2, nonnegative=True, tol=0, max_iters=2000),
    polyad.CPDecomposition(2, algorithm="mu", tol=1e-9, max_iters=3000),
    polyad.TuckerDecomposition((2, 2, 2), tol=0, max_iters=20)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_new_slices_are_described(exact, estimator):
    x, _ = exact
    estimator.fit(x[:8])
    rows = estimator.transform(x[8:])
    assert rows.shape == (4, 2)
    # The model is exact up to where the iterations stopped; multiplicative ones go slowly.
    left = max(1 - estimator.fit_, 1e-5 if estimator.get_params().get("algorithm") == "mu" else 1e-7)
    dense = estimator.inverse_transform(rows).reconstruct()
    assert np.linalg.norm(dense - x.to_numpy()[8:]) < 20 * left * x[8:].norm()
    assert estimator.score(x[8:]) > 1 - 20 * left
    assert estimator.transform(x[8:].permute([2, 1, 0])[:, :, :4].permute([2, 1, 0])).shape == (4, 2)
    if estimator.get_params().get("nonnegative"):
        assert rows.min() >= 0


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_rows_of_what_was_fitted(exact, estimator):
    x, _ = exact
    rows = estimator.fit_transform(x)
    model = estimator.model_
    want = model.factors[0] if isinstance(model, polyad.TuckerTensor) else (
        model.factors[0] * model.weights)
    np.testing.assert_allclose(rows, want, atol=1e-3 * np.abs(want).max())
    assert estimator.transform(x, mode=2).shape == (6, 2)


def test_nonnegative_rows_are_optimal(exact):
    # Optimality of nonnegative least squares: rows >= 0, gradient >= 0, and one of the two zero.
    _, factors = exact
    estimator = polyad.CPDecomposition(2, nonnegative=True).fit(exact[0])
    rng = np.random.default_rng(1)
    x = polyad.SparseTensor.from_numpy(rng.random((9, 5, 6)) * (rng.random((9, 5, 6)) < 0.3))
    rows = estimator.transform(x)
    b, c = estimator.factors_[1:]
    gradient = rows @ ((b.T @ b) * (c.T @ c)) - np.einsum("ijk,jr,kr->ir", x.to_numpy(), b, c)
    scale = np.abs(gradient).max() + 1
    assert rows.min() >= 0 and gradient.min() > -1e-6 * scale
    assert np.abs(rows * gradient).max() < 1e-6 * scale


def test_rows_of_some_modes_are_nonnegative():
    """As the factor of their mode is, whatever the signs of the others."""
    random = np.random.default_rng(5)
    truth = [np.maximum(random.standard_normal((12, 2)), 0), random.standard_normal((6, 2)),
             random.standard_normal((5, 2))]
    x = np.einsum("ir,jr,kr->ijk", *truth) + 0.3 * random.standard_normal((12, 6, 5))
    estimator = polyad.CPDecomposition(2, nonnegative=[0]).fit(x)
    product = np.einsum("jr,kr->jkr", *estimator.factors_[1:]).reshape(-1, 2)
    new = random.standard_normal((9, 6, 5))
    expected = np.array([scipy.optimize.nnls(product, row)[0] for row in new.reshape(9, -1)])
    assert (expected == 0).any()
    np.testing.assert_allclose(estimator.transform(new), expected, atol=1e-9)
    assert estimator.transform(random.standard_normal((12, 4, 5)), mode=1).min() < 0
    before = estimator.model_
    estimator.partial_fit(new)
    first, *others = estimator.factors_
    assert len(first) == 21 and (first == 0).any() and first.min() >= 0
    assert all(other.min() < 0 for other in others)
    updater = polyad.Updater(before, 0, kind="signed", nonnegative=[0])
    updater.add(polyad.SparseTensor.from_numpy(new))
    np.testing.assert_allclose(first, updater.model.factors[0], atol=1e-12)


def test_rows_of_counts_are_optimal():
    rng = np.random.default_rng(0)
    counts = polyad.SparseTensor.from_numpy(rng.poisson(2.0, (10, 5, 6)).astype(float))
    estimator = polyad.CPDecomposition(2, algorithm="mu", max_iters=50).fit(counts)
    new = polyad.SparseTensor.from_numpy(rng.poisson(1.0, (3, 5, 6)).astype(float))
    rows = estimator.transform(new)
    # The likelihood's maximum keeps the total of every slice.
    total = estimator.inverse_transform(rows).reconstruct().sum(axis=(1, 2))
    np.testing.assert_allclose(total, new.to_numpy().sum(axis=(1, 2)), rtol=1e-6)


def test_before_fit_and_wrong_arguments(exact):
    x, _ = exact
    for estimator in (polyad.CPDecomposition(2), polyad.TuckerDecomposition(2)):
        for call in (lambda: estimator.transform(x), lambda: estimator.score(x),
                     lambda: estimator.reconstruct([[0, 0, 0]]),
                     lambda: estimator.inverse_transform(np.ones((1, 2)))):
            with pytest.raises(polyad.NotFittedError, match="fit"):
                call()
        estimator.fit(x)
        with pytest.raises(ValueError, match="shape"):
            estimator.transform(x[:, :3])
        with pytest.raises(ValueError, match="rows"):
            estimator.inverse_transform(np.ones((3, 3)))
        with pytest.raises(TypeError, match="Plan"):
            estimator.transform(polyad.Plan(x))
    assert repr(polyad.CPDecomposition(2, tol=0)) == "CPDecomposition(rank=2, tol=0)"
    with pytest.raises(ValueError, match="no parameter"):
        polyad.CPDecomposition().set_params(seed=3)


def test_seeds(exact):
    x, _ = exact
    fits = {seed: polyad.cp_als(x, 2, seed=make(), max_iters=2, tol=0).info for seed, make in {
        "generator": lambda: np.random.default_rng(5), "again": lambda: np.random.default_rng(5),
        "state": lambda: np.random.RandomState(5), "none": lambda: None, "zero": lambda: 0}.items()}
    assert fits["generator"]["fit"] == fits["again"]["fit"] != fits["zero"]["fit"]
    assert polyad.cp_als(x, 2, seed=fits["none"]["seed"], max_iters=2,
                         tol=0).info["fit"] == fits["none"]["fit"]
    for seed, error in ((-1, ValueError), (2**64, ValueError), (1.5, TypeError), ("a", TypeError)):
        with pytest.raises(error):
            polyad.cp_als(x, 2, seed=seed)


@pytest.mark.peer
def test_inside_scikit_learn(exact):
    base = pytest.importorskip("sklearn.base")
    from sklearn.cluster import KMeans
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted

    x, _ = exact
    estimator = polyad.CPDecomposition(2)
    with pytest.raises(ValueError):
        check_is_fitted(estimator)
    check_is_fitted(base.clone(estimator).fit(x))
    for each in (x, x.to_numpy()):
        pipeline = make_pipeline(polyad.CPDecomposition(2), KMeans(3, n_init=1, random_state=0))
        assert pipeline.fit(each).predict(each).shape == (12,)
        assert pipeline.score(each) <= 0
        assert make_pipeline(polyad.CPDecomposition(2, max_iters=200)).fit(each).score(each) > 0.9
        search = GridSearchCV(polyad.CPDecomposition(tol=0, max_iters=300), {"rank": [1, 2]}, cv=3)
        assert search.fit(each).best_params_ == {"rank": 2}
        assert search.best_score_ > 0.99
    cores = GridSearchCV(polyad.TuckerDecomposition(), {"ranks": [1, 2]}, cv=2).fit(x)
    assert cores.best_params_ == {"ranks": 2}


@pytest.mark.peer
@pytest.mark.parametrize("estimator", [
    polyad.CPDecomposition(2), polyad.CPDecomposition(1, nonnegative=True),
    polyad.TuckerDecomposition((1, 1))], ids=str)
def test_scikit_learn_checks_the_estimators(estimator):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if "on_fail" not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip("check_estimator of this scikit-learn ends at the first failure")
    # It skips what SCIPY_ARRAY_API would switch on.
    results = checks.check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 40
    assert [(each["check_name"], each["exception"]) for each in results
            if each["status"] == "failed"] == []


def test_partial_fit_goes_on_as_an_updater(flights):
    before, after = flights.sel(date=slice(None, "2013-06-30")), flights.sel(
        date=slice("2013-07-01", None))
    first, second = after[:90], after[90:]
    found = polyad.CPDecomposition(3, nonnegative=True, random_state=2).partial_fit(before)
    updater = polyad.Updater(found.model_)
    for part in (first, second):
        updater.add(part, forget=0.9)
        assert found.partial_fit(part, forget=0.9) is found
    for ours, theirs in zip(found.factors_, updater.model.factors):
        np.testing.assert_array_equal(ours, theirs)
    assert found.model_.labels[0] == flights.labels[0] and found.transform(flights).shape == (365, 3)
    again = pickle.loads(pickle.dumps(found)).partial_fit(second)  # from the model, without the sums
    assert again.model_.shape == found.model_.shape


def test_folds_of_entries():
    x = polyad.SparseTensor(np.argwhere(np.ones((4, 5, 6))), np.arange(120.0), (4, 5, 6), zeros="keep")
    folds = polyad.EntryKFold(4, random_state=1)
    pairs = list(folds.split(x))
    assert folds.get_n_splits() == len(pairs) == 4
    tested = np.concatenate([test.values for _, test in pairs])
    assert sorted(tested) == list(range(120))
    for train, test in pairs:
        assert sorted([*train.values, *test.values]) == list(range(120))
    errors = []
    for train, test in pairs:
        model = polyad.cp_complete(train, 2, ridge=1e-3, seed=1)
        errors.append(np.abs(model.reconstruct(test.coords) - test.values).mean())
    assert np.mean(errors) < 5  # i + j + k is of rank 2 in every mode
    with pytest.raises(ValueError, match="at least 2"):
        polyad.EntryKFold(1)
