"""polyad.cp_apr and the estimator for counts."""

import numpy as np
import pytest

import polyad

COORDS = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 2], [2, 1, 0], [2, 2, 2], [1, 2, 1]])
VALUES = np.array([1.0, 2, 3, 4, 5, 6])
FACTORS = [np.array([[1, .5], [.25, 1], [.75, .3]]), np.array([[.2, .9], [1, .4], [.6, .7]]),
           np.array([[.3, .8], [.9, .1], [.5, 1]])]


@pytest.fixture
def small():
    return polyad.SparseTensor(COORDS, VALUES, shape=(3, 3, 3))


@pytest.fixture(scope="module")
def counts():
    return polyad.generate((20, 15, 12), 900, rank=3, poisson=True, seed=4)


def test_golden_values(small):
    model = polyad.cp_apr(small, 2, init=FACTORS)
    assert model.info["converged"] and model.info["iterations"] == 4
    assert abs(model.info["log_likelihood"] + 3.8803510592566) < 1e-9
    np.testing.assert_allclose(model.weights, [13, 8], atol=1e-3)
    newton = polyad.cp_apr(small, 2, init=FACTORS, algorithm="pdnr", max_iters=4)
    assert abs(newton.info["log_likelihood"] + 3.8805294733892) < 1e-9


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("algorithm", ["mu", "pdnr", "pqnr"])
def test_a_run_that_converged_has_a_violation_below_its_tolerance(algorithm, tol):
    """Rows that PDNR solves loosely at first, to a hundredth of the violation before, are none that
    need no change."""
    random = np.random.default_rng(0)
    converged = 0
    for case in range(60):
        counts = random.poisson(3 * random.random([(15,), (5, 4), (4, 3, 2), (6, 1, 5)][case % 4]))
        counts[1] *= case % 2
        model = polyad.cp_apr(counts.astype(float), 2, algorithm=algorithm, tol=tol, max_iters=3000, seed=1)
        converged += model.info["converged"]
        assert not model.info["converged"] or model.info["kkt_violation"] <= tol, (case, model.info)
    assert converged > 30


@pytest.mark.parametrize("algorithm", ["mu", "pdnr", "pqnr"])
def test_normal_form_and_likelihood(counts, algorithm):
    x = counts[0] if isinstance(counts, tuple) else counts
    seen = []
    model = polyad.cp_apr(x, 3, algorithm=algorithm, max_iters=25,
                          callback=lambda step: seen.append(step["log_likelihood"]))
    assert seen == [row["log_likelihood"] for row in model.info["trace"]]
    assert np.all(np.diff(model.weights) <= 0) and np.all(model.weights >= 0)
    for factor in model.factors:
        assert np.all(factor >= 0)
        np.testing.assert_allclose(factor.sum(axis=0), 1, rtol=1e-12)
    m = model.reconstruct(x.coords)
    likelihood = np.sum(x.values * np.log(m)) - model.weights.sum()
    np.testing.assert_allclose(likelihood, model.info["log_likelihood"], rtol=1e-10)
    assert len(model.info["seconds_phi"]) == 3


@pytest.mark.parametrize("algorithm", ["pdnr", "pqnr"])
def test_a_gpu_solves_rows_as_the_cpu_does(counts, algorithm, cuda_gpu):
    x = counts[0] if isinstance(counts, tuple) else counts
    options = {"algorithm": algorithm, "max_iters": 5, "seed": 2}
    there = polyad.cp_apr(x, 3, device="cuda", **options)
    here = polyad.cp_apr(x, 3, device="cpu", **options)
    assert there.info["device"] == "cuda:0" and here.info["device"] == "cpu"
    # Sums in another order move the steps of a row; a wrong row moves the likelihood by far more.
    np.testing.assert_allclose([row["log_likelihood"] for row in there.info["trace"]],
                               [row["log_likelihood"] for row in here.info["trace"]], rtol=1e-6)


def test_goes_on_from_a_model(counts):
    x = counts[0] if isinstance(counts, tuple) else counts
    first = polyad.cp_apr(x, 3, max_iters=5)
    again = polyad.cp_apr(x, 3, max_iters=5, init=first)
    assert again.info["log_likelihood"] >= first.info["log_likelihood"]


def test_errors(small):
    with pytest.raises(ValueError, match="algorithm 'newton' is unknown"):
        polyad.cp_apr(small, 2, algorithm="newton")
    negative = polyad.SparseTensor(COORDS, [1, 2, -3, 4, -5, 6], shape=(3, 3, 3))
    with pytest.raises(polyad.Error, match=r"\(0, 1, 2\) is -3"):
        polyad.cp_apr(negative, 2)
    with pytest.raises(polyad.Error, match="random factors or from a model"):
        polyad.cp_apr(small, 2, init="hosvd")


def test_estimator(small):
    estimator = polyad.CPDecomposition(2, algorithm="mu", init=FACTORS).fit(small)
    assert abs(estimator.model_.info["log_likelihood"] + 3.8803510592566) < 1e-9
    assert estimator.n_iter_ == 4
    with pytest.raises(ValueError, match="ridge are for"):
        polyad.CPDecomposition(2, algorithm="mu", ridge=1.0).fit(small)


def test_against_pyttb(small):
    """After as many iterations as pyttb takes, which ends as soon as no row needs a loose change."""
    pyttb = pytest.importorskip("pyttb")
    start = pyttb.ktensor([np.asfortranarray(f) for f in FACTORS], np.ones(2))
    theirs, _, info = pyttb.cp_apr(small.to_pyttb(), 2, algorithm="pdnr", init=start, printitn=0)
    ours = polyad.cp_apr(small, 2, algorithm="pdnr", init=FACTORS,
                         max_iters=len(info["kktViolations"]))
    np.testing.assert_allclose(ours.reconstruct(COORDS), theirs.full()[COORDS], rtol=1e-6)
