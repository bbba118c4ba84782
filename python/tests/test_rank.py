"""Choosing the rank: core consistency against a dense computation, scans, their picture."""

import numpy as np
import pytest

import polyad
import polyad.plot
from conftest import ROOT

AMINO = ROOT / "data/aminoacids.tns.gz"


def dense_consistency(model, dense):
    """As tlviz's ``core_consistency(model, dense)``: the core by singular value decompositions."""
    factors = [np.array(factor, float) for factor in model.factors]
    factors[0] = factors[0] * model.weights
    svds = [np.linalg.svd(factor, full_matrices=False) for factor in factors]
    core = dense
    for u, _, _ in svds[::-1]:
        core = np.tensordot(u.T, core, (1, core.ndim - 1))
    for _, s, _ in svds[::-1]:
        core = np.tensordot(np.diag(1 / s), core, (1, core.ndim - 1))
    for _, _, vh in svds[::-1]:
        core = np.tensordot(vh.T, core, (1, core.ndim - 1))
    target = np.zeros_like(core)
    target[tuple([np.arange(model.rank)] * core.ndim)] = 1
    return 100 * (1 - np.sum((core - target) ** 2) / model.rank)


@pytest.fixture(scope="module")
def amino():
    return polyad.read(AMINO)


def dense_of(x):
    dense = np.zeros(x.shape)
    dense[tuple(x.coords.T)] = x.values
    return dense


@pytest.mark.parametrize("rank", range(1, 6))
def test_core_consistency_is_that_of_the_dense_tensor(amino, rank):
    model = polyad.cp_als(amino, rank, restarts=3, threads=1)
    found, expected = polyad.core_consistency(model, amino), dense_consistency(model, dense_of(amino))
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert (found > 90) == (rank <= 3)


@pytest.mark.parametrize("shape", [(8, 7), (9, 6, 7), (5, 6, 4, 7)])
def test_core_consistency_of_any_order(random_tensor, shape):
    x = random_tensor(shape, 120)
    for nonnegative in (False, True):
        model = polyad.cp_als(x, 3, nonnegative=nonnegative, threads=1)
        expected = dense_consistency(model, dense_of(x))
        assert polyad.core_consistency(model, x) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_core_consistency_refuses(random_tensor, golden):
    x, _ = golden
    model = polyad.cp_als(x, 2, threads=1)
    with pytest.raises(ValueError, match="mode 0 has length 3 in the model and 20 in the tensor"):
        polyad.core_consistency(model, random_tensor())
    with pytest.raises(TypeError, match="KruskalTensor"):
        polyad.core_consistency("model", x)


def planted(rank, noise, seed, nonnegative=False):
    random = np.random.default_rng(seed)
    draw = random.random if nonnegative else random.standard_normal
    exact = np.einsum("ir,jr,kr->ijk", *(draw((length, rank)) for length in (20, 16, 14)))
    error = random.standard_normal(exact.shape)
    dense = exact + error * (noise * np.linalg.norm(exact) / np.linalg.norm(error))
    return polyad.SparseTensor(np.argwhere(dense), dense.ravel(), dense.shape)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_scan_finds_the_rank(precision):
    scan = polyad.rank_scan(planted(3, 0.3, 1), 5, starts=5, threads=1, precision=precision)
    assert scan.recommended == 3 and scan.complete and scan.info["seed"] == 0
    assert [row["rank"] for row in scan.ranks] == [1, 2, 3, 4, 5]
    assert scan.folds == 4 and scan.modes == (0, 1)
    assert "<-" in repr(scan) and "recommended: 3" in repr(scan)
    assert scan.ranks[2]["log_likelihood"] is None


def test_scan_of_a_plan_and_chosen_ranks():
    x = planted(2, 0.2, 2, nonnegative=True)
    plan = polyad.Plan(x, 4, threads=1)
    scan = polyad.rank_scan(plan, [1, 2, 4], algorithm="nonnegative", starts=3, folds=0)
    assert [row["rank"] for row in scan.ranks] == [1, 2, 4] and scan.folds == 0 and scan.modes == ()
    single = polyad.cp_als(plan, 2, nonnegative=True, restarts=3)
    assert scan.ranks[1]["fit_best"] >= single.info["fit"] - 1e-12


def test_scan_with_some_nonnegative_modes():
    """Its starts are those of cp_als with the same set, and so are the optima that they come to."""
    x, fits = planted(2, 0.2, 2), {}
    for modes in (False, [0, 2], True):
        scan = polyad.rank_scan(x, [2], nonnegative=modes, starts=3, folds=2, threads=1)
        single = polyad.cp_als(x, 2, nonnegative=modes, restarts=3, threads=1)
        best = polyad.cp_als(x, 2, nonnegative=modes, restarts=10, threads=1, tol=1e-9, max_iters=3000)
        fits[str(modes)] = scan.ranks[0]["fit_best"]
        assert single.info["fit"] - 1e-12 <= fits[str(modes)] <= best.info["fit"] + 1e-8
    assert fits["False"] > fits["[0, 2]"] > fits["True"]
    with pytest.raises(ValueError, match="nonnegative"):
        polyad.rank_scan(x, [2], nonnegative=[0], algorithm="apr-mu")
    with pytest.raises(ValueError, match="mode"):
        polyad.rank_scan(x, [2], nonnegative=[3])


def test_scan_refuses(random_tensor):
    x = random_tensor()
    for ranks in ([], [2, 1], [1, 1], 0):
        with pytest.raises(ValueError):
            polyad.rank_scan(x, ranks)
    for wrong in ({"algorithm": "svd"}, {"folds": 1}, {"starts": 0}, {"on_interrupt": "no"}):
        with pytest.raises(ValueError):
            polyad.rank_scan(x, 2, **wrong)
    with pytest.raises(TypeError):
        polyad.rank_scan(x, [1.5])


def test_callback_ends_the_scan(random_tensor):
    seen = []

    def stop(progress):
        seen.append(progress["stage"])
        return "rank 2" in progress["stage"]

    x = random_tensor((60, 50, 40), 20000)
    scan = polyad.rank_scan(x, 8, tol=0, max_iters=200, threads=1, callback=stop)
    assert not scan.complete and any("rank 2, start" in stage for stage in seen)
    assert not scan.ranks and scan.recommended is None  # starts of all these ranks ran together


def test_callback_that_raises(random_tensor):
    def fail(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        polyad.rank_scan(random_tensor((60, 50, 40), 20000), 4, tol=0, max_iters=400, callback=fail)


def test_to_dataframe():
    pandas = pytest.importorskip("pandas")
    frame = polyad.rank_scan(planted(2, 0.2, 3), 3, starts=2, threads=1).to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and list(frame.index) == [1, 2, 3]
    assert frame.loc[2, "core_consistency"] > 90


def test_plot():
    pytest.importorskip("matplotlib")
    scan = polyad.rank_scan(planted(2, 0.2, 3), 3, starts=2, threads=1)
    figure = scan.plot(title="ranks")
    fit, consistency, agreement = figure.axes
    assert [len(axis.lines) for axis in (fit, consistency, agreement)] == [4, 3, 3]
    np.testing.assert_allclose(fit.lines[0].get_ydata(), [row["fit_best"] for row in scan.ranks])
    assert figure._repr_png_()[:4] == b"\x89PNG"
    without = polyad.rank_scan(planted(2, 0.2, 3), 2, starts=1, folds=0, threads=1)
    assert len(polyad.plot.rank_scan(without).axes) == 3
    with pytest.raises(TypeError, match="RankScan"):
        polyad.plot.rank_scan([1, 2])


def test_scan_goes_on_from_a_checkpoint(tmp_path, random_tensor):
    x, state = random_tensor(), tmp_path / "state"
    options = {"starts": 2, "folds": 2, "max_iters": 5, "device": "cpu"}
    numbers = lambda scan: [{k: v for k, v in row.items() if k != "seconds"} for row in scan.ranks]
    whole = polyad.rank_scan(x, 3, **options)

    def stop(progress):
        return progress["stage"].startswith("fold 2")

    part = polyad.rank_scan(x, 3, checkpoint=state, callback=stop, **options)
    assert not part.complete and part.folds == 0 and len(part.ranks) == 3
    again = polyad.rank_scan(x, 3, checkpoint=state, resume=str(state), **options)
    assert numbers(again) == numbers(whole) and again.reason == whole.reason
    with pytest.raises(polyad.Error, match="starts 2; expected 3"):
        polyad.rank_scan(x, 3, resume=state, **(options | {"starts": 3}))
    with pytest.raises(TypeError):
        polyad.rank_scan(x, 3, resume=7, **options)


def test_what_has_lists_says_by_its_own_name_that_it_has_no_hash():
    x = polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0])
    scan = polyad.rank_scan(x, 1, starts=1, folds=0)
    found = polyad.anomalies(polyad.cp_als(x, 1), x)
    assert scan == scan and found == found
    for each in (scan, found):
        with pytest.raises(TypeError, match=f"unhashable type: '{type(each).__name__}'"):
            hash(each)
