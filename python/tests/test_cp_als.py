"""CP-ALS: golden values, options, interruption, threads."""

import os
import re
import signal
import threading

import numpy as np
import pytest
import scipy.optimize

import polyad
from raised_fit import raise_fit


def test_golden_values(golden):
    x, factors = golden
    model = polyad.cp_als(x, 2, init=factors, tol=1e-4)
    assert model.info["iterations"] == 12 and model.info["converged"]
    assert model.info["fit"] == pytest.approx(0.46505940261823375, abs=1e-12)
    np.testing.assert_allclose(model.weights, [6.32370398, 4.99915371], atol=1e-8)
    fits = [row["fit"] for row in model.info["trace"][:4]]
    np.testing.assert_allclose(fits, [0.4117725, 0.4513502, 0.4581730, 0.4611789], atol=1e-7)
    longer = polyad.cp_als(x, 2, init=factors, tol=0, max_iters=50)
    assert longer.info["fit"] == pytest.approx(0.46545222998293734, abs=1e-12)


@pytest.mark.peer
@pytest.mark.parametrize("shape", [(20, 15, 10), (9, 8, 7, 6), (6, 5, 4, 5, 6)])
def test_same_iterates_as_pyttb(random_tensor, shape):
    pyttb = pytest.importorskip("pyttb")
    x = random_tensor(shape)
    rng = np.random.default_rng(5)
    start = [rng.random((n, 4)) for n in shape]
    theirs, _, output = pyttb.cp_als(x.to_pyttb(), 4, init=pyttb.ktensor(
        [np.asfortranarray(f) for f in start], np.ones(4)), maxiters=20, stoptol=0, printitn=0)
    ours = polyad.cp_als(x, 4, init=start, max_iters=20, tol=0)
    assert ours.info["fit"] == pytest.approx(float(output["fit"]), abs=1e-9)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-6)


@pytest.mark.peer
def test_same_fit_as_tensorly(golden):
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import parafac

    x, factors = golden
    theirs = parafac(tensorly.tensor(x.to_numpy()), 2, n_iter_max=50, tol=0, init=(
        np.ones(2), [f.copy() for f in factors]))
    rebuilt = tensorly.cp_to_tensor(theirs)
    fit = 1 - np.linalg.norm(x.to_numpy() - rebuilt) / x.norm()
    ours = polyad.cp_als(x, 2, init=factors, tol=0, max_iters=50)
    assert ours.info["fit"] == pytest.approx(fit, abs=1e-10)


def test_accepts_what_people_have(golden):
    x, factors = golden
    want = polyad.cp_als(x, 2, init=factors).info["fit"]
    assert polyad.cp_als(x.to_numpy(), 2, init=factors).info["fit"] == want
    assert polyad.cp_als(polyad.Plan(x, 2), 2, init=factors).info["fit"] == want
    with pytest.raises(TypeError):
        polyad.cp_als("text", 2)


def test_same_seed_same_bits(random_tensor):
    x = random_tensor()
    a, b = (polyad.cp_als(x, 3, seed=7) for _ in range(2))
    assert all(np.array_equal(p, q) for p, q in zip(a.factors, b.factors))
    c = polyad.cp_als(x, 3, seed=8)
    assert not np.array_equal(a.factors[0], c.factors[0])


def least_rows(dense, factors, mode, nonnegative):
    """SciPy's answer to a mode's problem, with the other modes' factors as they are."""
    others = [f for n, f in enumerate(factors) if n != mode]
    product = np.einsum("ir,jr->ijr", *others).reshape(-1, factors[0].shape[1])
    unfolded = np.moveaxis(dense, mode, 0).reshape(dense.shape[mode], -1)
    if nonnegative:
        return np.array([scipy.optimize.nnls(product, row)[0] for row in unfolded])
    return np.linalg.lstsq(product, unfolded.T, rcond=None)[0].T


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("modes", [(0,), (1, 2), (0, 2), (2,), (0, 1, 2), ()])
def test_some_modes_nonnegative(modes, complete):
    """At the end every factor is the answer to its own least-squares problem, with a bound or not."""
    random = np.random.default_rng(3)
    truth = [random.standard_normal((length, 2)) for length in (8, 7, 6)]
    for mode in modes:
        truth[mode] = np.maximum(truth[mode], 0)
    dense = np.einsum("ir,jr,kr->ijk", *truth) + 0.1 * random.standard_normal((8, 7, 6))
    run = {"nonnegative": modes, "tol": 0, "max_iters": 3000}
    if complete:  # with all cells known and no ridge it is the same problem
        model = polyad.cp_complete(dense, 2, ridge=0, **(run | {"tol": 1e-15}))
    else:
        model = polyad.cp_als(dense, 2, **run)
    assert model.info["nonnegative"] == list(modes)
    for mode, factor in enumerate(model.factors):
        rows = least_rows(dense, model.factors, mode, mode in modes)
        assert np.allclose(factor * model.weights, rows, atol=1e-6 * np.abs(rows).max())
        assert (factor.min() >= 0) == (mode in modes)
        assert mode not in modes or (factor == 0).any()


def test_how_modes_are_named(tmp_path):
    dense = np.random.default_rng(1).standard_normal((5, 4, 3))
    rows = [f"{i},{j},{k},{value:.17g}" for (i, j, k), value in np.ndenumerate(dense)]
    (tmp_path / "x.csv").write_text("\n".join(["user,item,day,value", *rows]))
    x = polyad.SparseTensor.read(tmp_path / "x.csv")
    for modes, found in ((True, [0, 1, 2]), (False, []), (["item"], [1]), ({"user", 2}, [0, 2]),
                         (np.array([0, 1]), [0, 1]), ([-1], [2]), ([], []), (("item", 0), [0, 1])):
        assert polyad.cp_als(x, 2, nonnegative=modes, max_iters=3).info["nonnegative"] == found
    wrong = {"nonnegative must be True, False or a sequence of modes, not 'item'": "item",
             "nonnegative must be True, False or a sequence of modes, not {0: True}": {0: True},
             "nonnegative must be True, False or a sequence of modes, not 2": 2,
             "nonnegative must be True, False or a sequence of modes, not None": None,
             "nonnegative has True; expected numbers or names of modes": [True, False, True],
             "nonnegative has 0.5; expected numbers or names of modes": [0.5]}
    for says, modes in wrong.items():
        for function in (polyad.cp_als, polyad.cp_complete):
            with pytest.raises(TypeError, match=f"^{re.escape(says)}$"):
                function(x, 2, nonnegative=modes)
    for says, modes in (("nonnegative has mode 0 twice", ["user", 0]), ("has no mode 'week'", ["week"]),
                        ("mode 3 does not exist", [3])):
        with pytest.raises(ValueError, match=says):
            polyad.cp_als(x, 2, nonnegative=modes)


def test_a_resumed_run_has_the_same_modes_nonnegative(tmp_path, random_tensor):
    x, state = random_tensor(), tmp_path / "state"
    first = polyad.cp_als(x, 2, nonnegative=[0, 2], checkpoint=state, max_iters=4)
    again = polyad.cp_als(x, 2, nonnegative=[2, 0], resume=state, max_iters=4)
    assert again == first
    with pytest.raises(ValueError, match="nonnegative in modes 0,2; expected in modes 1"):
        polyad.cp_als(x, 2, nonnegative=[1], resume=state, max_iters=4)


def test_options(random_tensor):
    x = random_tensor()
    assert min(f.min() for f in polyad.cp_als(x, 3, nonnegative=True).factors) >= 0
    assert polyad.cp_als(x, 3, precision="f32").factors[0].dtype == np.float32
    best = polyad.cp_als(x, 3, restarts=3, max_iters=5, tol=0)
    single = polyad.cp_als(x, 3, max_iters=5, tol=0)
    assert best.info["fit"] >= single.info["fit"]
    assert polyad.cp_als(x, 3, init="hosvd").info["fit"] > 0
    assert polyad.cp_als(x, 3, format="coo").info["format"] == "coo"


def test_models_of_all_starts(random_tensor):
    """Each start's model, with labels; the best of them is what is returned."""
    x = random_tensor()
    counts = polyad.SparseTensor(x.coords, np.ceil(np.abs(x.values)), x.shape)
    for fit, tensor, more in ((polyad.cp_als, x, {}), (polyad.cp_als, x, {"nonnegative": True}),
                              (polyad.cp_apr, counts, {}), (polyad.cp_complete, x, {"ridge": 1e-3})):
        best = fit(tensor, 3, restarts=4, keep_starts=True, max_iters=4, tol=0, **more)
        starts = best.info["starts"]
        models = [start["model"] for start in starts]
        assert len(models) == 4 and models[best.info["best_restart"]] == best
        assert max(start["objective"] for start in starts) == starts[best.info["best_restart"]]["objective"]
        assert len({model.factors[0].tobytes() for model in models}) == 4
        if fit is polyad.cp_als:
            distance = [np.linalg.norm(x.to_numpy() - np.einsum("r,ir,jr,kr", model.weights,
                                                                *model.factors)) / x.norm()
                        for model in models]
            assert np.allclose([1 - each for each in distance],
                               [start["objective"] for start in starts], atol=1e-10)
        plain = fit(tensor, 3, restarts=4, max_iters=4, tol=0, **more)
        assert "model" not in plain.info["starts"][0]
        assert np.allclose(plain.factors[0], best.factors[0], atol=1e-9)
    frame = polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2), {"day": ["a", "b"], "hour": None})
    kept = polyad.cp_als(frame, 1, keep_starts=True).info["starts"]
    assert len(kept) == 1 and kept[0]["model"].labels[0] == ["a", "b"]


@pytest.mark.parametrize("options, error", [
    ({"rank": 0}, ValueError), ({"rank": 1.5}, TypeError), ({"tol": float("nan")}, ValueError),
    ({"max_iters": -1}, ValueError), ({"init": "nothing"}, ValueError),
    ({"format": "nosuch"}, ValueError), ({"precision": "f16"}, ValueError),
    ({"seed": -1}, ValueError), ({"threads": -2}, ValueError), ({"device": "toaster"}, ValueError),
    ({"init": [np.ones((2, 2))]}, ValueError), ({"restarts": 0}, ValueError),
])
def test_bad_options(random_tensor, options, error):
    with pytest.raises(error):
        polyad.cp_als(random_tensor(), **options)


def test_callback_sees_and_ends(random_tensor):
    seen = []

    def callback(progress):
        seen.append(progress["iteration"])
        return len(seen) == 3

    model = polyad.cp_als(random_tensor(), 3, tol=0, callback=callback)
    assert seen == [1, 2, 3]
    assert model.info["reason"] == "cancelled" and model.info["iterations"] == 3


def test_exception_in_callback_arrives(random_tensor):
    def callback(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        polyad.cp_als(random_tensor(), 3, callback=callback)
    assert polyad.cp_als(random_tensor(), 3).info["fit"] > 0


def test_two_threads_at_once(random_tensor):
    x = random_tensor((60, 50, 40), 5000)
    want = polyad.cp_als(x, 5, tol=0, max_iters=30, threads=1)
    found = [None] * 4

    def work(i):
        found[i] = polyad.cp_als(x, 5, tol=0, max_iters=30, threads=1)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for model in found:
        assert np.array_equal(model.factors[0], want.factors[0])


def test_no_leak():
    import resource

    rng = np.random.default_rng(0)
    coords, values = rng.integers(0, 50, (2000, 3)), rng.random(2000)

    def round_trip(count):
        for _ in range(count):
            polyad.cp_als(polyad.SparseTensor(coords, values), 4, max_iters=1)

    round_trip(100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    round_trip(1000)
    # A leak of one tensor (2000 nonzeros of 20 bytes) a round would add 40 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000


def test_checkpoint_and_resume(tmp_path, random_tensor):
    x, path = random_tensor(), tmp_path / "run.ckpt"
    whole = polyad.cp_als(x, 3, tol=0, max_iters=20)
    polyad.cp_als(x, 3, tol=0, max_iters=10, checkpoint=path, checkpoint_every=5)
    resumed = polyad.cp_als(x, 3, tol=0, max_iters=20, resume=path)
    assert np.array_equal(whole.factors[0], resumed.factors[0])


def test_a_breakdown_warns(tmp_path, random_tensor):
    x, path = random_tensor(), tmp_path / "run.ckpt"
    first = polyad.cp_als(x, 3, tol=0, max_iters=5, checkpoint=path)
    if not raise_fit(path, first.info["fit"], 0.25):
        pytest.skip("no libxxhash")
    # What checks every model notices that the fit in the raised state is not the model's.
    with pytest.warns(RuntimeWarning, match="The fit fell to .* in iteration 6"), \
            pytest.raises(AssertionError, match="fit"):
        polyad.cp_als(x, 3, tol=0, max_iters=9, resume=path)


def test_estimator(random_tensor):
    x = random_tensor()
    estimator = polyad.CPDecomposition(rank=3, random_state=2).fit(x)
    # Its rows are the best ones for the other factors, which the last iteration changed.
    assert estimator.fit_ - 1e-12 <= estimator.score(x) < estimator.fit_ + 1e-2
    assert estimator.get_params()["rank"] == 3
    assert estimator.set_params(rank=2).fit_transform(x).shape == (x.shape[0], 2)
    assert len(estimator.reconstruct(x.coords)) == x.nnz
    with pytest.raises(ValueError):
        estimator.set_params(nonsense=1)


def test_mttkrp(random_tensor):
    x = random_tensor((7, 6, 5), 100)
    rng = np.random.default_rng(1)
    a, b, c = (rng.random((n, 3)) for n in x.shape)
    dense = x.to_numpy()
    for mode, letters in ((0, "ijk,jr,kr->ir"), (1, "ijk,ir,kr->jr"), (2, "ijk,ir,jr->kr")):
        others = [m for n, m in enumerate((a, b, c)) if n != mode]
        np.testing.assert_allclose(polyad.mttkrp(x, [a, b, c], mode),
                                   np.einsum(letters, dense, *others), rtol=1e-12)
    with pytest.raises(ValueError):
        polyad.mttkrp(x, [a, b, c], 3)
    with pytest.raises(ValueError):
        polyad.mttkrp(x, [a, b], 0)
    with pytest.raises(ValueError):
        polyad.mttkrp(x, [a, b[:3], c], 0)


def test_lists_of_what_there_is():
    assert {"coo", "csf"} <= {entry["name"] for entry in polyad.formats()}
    for entry in polyad.formats():
        assert "cpu" in entry["deterministic"].split()
        assert ("cpu" in entry["tuned"].split()) == (entry["name"] not in {
            "blco", "mmcsf", "bcsf", "hbcsf", "hicoo", "fcoo", "fwc", "portable"})
    assert polyad.devices()[0]["name"] == "cpu"


def test_planted_components_are_found_from_most_starts():
    """Of rank 3 with a tenth of noise: from 95 of 100 starts, each component's congruence is 0.99."""
    rng = np.random.default_rng(11)
    planted = [rng.standard_normal((n, 3)) for n in (20, 18, 16)]
    dense = np.einsum("ir,jr,kr->ijk", *planted)
    noise = rng.standard_normal(dense.shape)
    x = polyad.SparseTensor.from_numpy(dense + 0.1 * np.linalg.norm(dense) / np.linalg.norm(noise) * noise)
    truth = polyad.KruskalTensor(np.ones(3), planted)
    plan = polyad.Plan(x, 3)
    scores = [polyad.score(truth, polyad.cp_als(plan, 3, seed=seed, tol=1e-8, max_iters=500))
              for seed in range(100)]
    assert np.count_nonzero(np.array(scores) >= 0.99) >= 95


@pytest.mark.parametrize("nonnegative", [False, True, [0, 2]])
def test_the_weights_of_a_first_model_count(nonnegative):
    random = np.random.default_rng(8)
    model = polyad.KruskalTensor([9.0, 1.0, 0.01], [random.random((n, 3)) for n in (6, 5, 4)])
    x = polyad.SparseTensor.from_numpy(model.reconstruct() + random.random(model.shape) / 100)
    for iterations in (0, 1):
        found = polyad.cp_als(x, 3, init=model, max_iters=iterations, nonnegative=nonnegative)
        assert found.info["fit"] >= model.fit(x) - 1e-12
    other = polyad.KruskalTensor([1.0, -1.0, 2.0], model.factors)
    found = polyad.cp_als(x, 3, init=other, max_iters=0, nonnegative=[0, 2])
    assert found.info["fit"] == pytest.approx(other.fit(x), abs=1e-12)
    assert np.all(found.weights >= 0) and polyad.score(found, other) == pytest.approx(1)
