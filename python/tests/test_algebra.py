"""Parts, sums and joins of tensors, compared with NumPy's of the dense array."""

import datetime
import pickle
import warnings

import numpy as np
import pytest

import polyad


@pytest.fixture
def x(random_tensor):
    return random_tensor(shape=(7, 5, 6), nnz=60)


@pytest.fixture
def flights():
    rng = np.random.default_rng(2)
    labels = {"date": ["2013-01-30", "2013-01-31", "2013-02-01", "2013-03-31", "2013-04-01"],
              "hour": ["0", "2", "10"], "who": ["UA", "AA", "DL", "B6"]}
    return polyad.SparseTensor(rng.integers(0, [5, 3, 4], (40, 3)), rng.random(40), (5, 3, 4), labels)


@pytest.mark.parametrize("key", [
    np.s_[:3], np.s_[::-1], np.s_[1:6:2], np.s_[2], np.s_[-1], np.s_[..., 3], np.s_[2, :, 1:4],
    np.s_[:, [4, 0]], np.s_[[True, False] * 3 + [True]], np.s_[[1, 1, 3, 1]], np.s_[1, ...],
    np.s_[np.uint8([2, 0]), ...]])
def test_slices_are_those_of_numpy(x, key):
    part = x[key]
    np.testing.assert_array_equal(part.to_numpy(), x.to_numpy()[key])
    assert part.dtype == x.dtype


def test_indices_of_every_mode(x):
    np.testing.assert_array_equal(x[[3, 1], [0, 2, 4], [5]].to_numpy(),
                                  x.to_numpy()[np.ix_([3, 1], [0, 2, 4], [5])])
    place = tuple(x.coords[0])
    assert x[place] == x.values[0] and isinstance(x[place], float)
    assert x.astype(np.float32)[:2].dtype == np.float32


def test_a_mode_too_long_for_a_table():
    x = polyad.SparseTensor([[5, 0], [2**40, 1]], [1.0, 2.0], (2**41, 2))
    assert x[[2**40, 5, 7]].to_numpy().tolist() == [[0, 2], [1, 0], [0, 0]]


@pytest.mark.parametrize("key, error", [
    (7, IndexError), (-8, IndexError), ((0, 0, 0, 0), IndexError), ((..., ...), IndexError),
    ([True, False], IndexError), ("a", TypeError), (1.5, TypeError), (np.s_[5:2], ValueError),
    ([[0, 1]], IndexError), ([9], IndexError)])
def test_bad_indices(x, key, error):
    with pytest.raises(error):
        x[key]


def test_labels_go_along(flights):
    part = flights[1:3, 0]
    assert part.labels == [["2013-01-31", "2013-02-01"], ["UA", "AA", "DL", "B6"]]
    assert part.mode_names == ["date", "who"]
    assert flights.permute(["who", "date", "hour"]).labels[0] == flights.labels[2]
    assert pickle.loads(pickle.dumps(part)).labels == part.labels


def test_sel(flights):
    dense = flights.to_numpy()
    for part, want in (
            (flights.sel(date="2013-02-01"), dense[2]),
            (flights.sel(date=slice("2013-01", "2013-03")), dense[:4]),
            (flights.sel(date=slice(None, "2013-01-31")), dense[:2]),
            (flights.sel(date=slice("2013-02", None)), dense[2:]),
            (flights.sel(hour=2), dense[:, 1]),
            (flights.sel(hour=slice(1, 10)), dense[:, 1:]),
            (flights.sel({"who": ["B6", "UA"]}), dense[:, :, [3, 0]]),
            (flights.sel({2: slice("AA", "DL")}, hour=0), dense[:, 0, 1:3])):
        np.testing.assert_array_equal(part.to_numpy(), want)
    with pytest.raises(KeyError, match="XX"):
        flights.sel(who="XX")
    with pytest.raises(ValueError, match="no mode 'nobody'"):
        flights.sel(nobody=1)
    with pytest.raises(ValueError, match="no labels"):
        polyad.SparseTensor([[0, 1]]).sel({0: "a"})


@pytest.mark.parametrize("modes, axis", [(0, 0), ([0, 2], (0, 2)), (-1, -1), ([], ())])
def test_sum(x, modes, axis):
    np.testing.assert_allclose(x.sum(modes).to_numpy(), x.to_numpy().sum(axis), rtol=1e-14)
    assert x.sum() == pytest.approx(x.values.sum(), rel=1e-14) and isinstance(x.sum(), float)


@pytest.mark.parametrize("how, wanted", [("sum", np.nansum), ("mean", np.nanmean), ("min", np.nanmin),
                                         ("max", np.nanmax)])
def test_collapse(x, how, wanted):
    dense = np.where(x.to_numpy() == 0, np.nan, x.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of cells where nothing is stored
        expected = np.nan_to_num(wanted(dense, axis=(0, 2)))
    np.testing.assert_allclose(x.collapse([0, 2], how).to_numpy(), expected, rtol=1e-14)
    assert x.collapse(how=how) == pytest.approx(wanted(dense), rel=1e-14)


def test_collapse_counts(x, flights):
    counts = x.collapse(0, "count")
    np.testing.assert_array_equal(counts.to_numpy(), (x.to_numpy() != 0).sum(0))
    assert x.collapse(how="count") == x.nnz
    assert flights.collapse("date", "max").mode_names == ["hour", "who"]
    with pytest.raises(ValueError, match="'first' found; expected one of sum, count"):
        x.collapse(0, "first")


def test_permute(x, flights):
    np.testing.assert_array_equal(x.permute([2, 0, 1]).to_numpy(), x.to_numpy().transpose(2, 0, 1))
    assert flights.permute([2, 0, 1]).mode_names == ["who", "date", "hour"]
    for modes in ([0, 1], [0, 1, 1]):
        with pytest.raises(ValueError):
            x.permute(modes)


def test_concatenate(x, flights):
    np.testing.assert_array_equal(x.concatenate(x[:3], x[[2]]).to_numpy(),
                                  np.concatenate([x.to_numpy(), x.to_numpy()[:3], x.to_numpy()[[2]]]))
    np.testing.assert_array_equal(x.concatenate(x, mode=-1).shape, (7, 5, 12))
    joined = flights.sel(date=slice(None, "2013-01")).concatenate(
        flights.sel(date=slice("2013-02", None)), mode="date")
    assert joined == flights and joined.labels == flights.labels
    with pytest.raises(ValueError, match="shapes"):
        x.concatenate(x[:, :2])
    with pytest.raises(ValueError, match="labels"):
        flights.concatenate(flights[:, ::-1])
    with pytest.raises(TypeError, match="mode= for the mode"):
        x.concatenate(x, 1)


def test_groupby(x, flights):
    months = flights.groupby("date", lambda date: date[:7])
    assert months.labels[0] == ["2013-01", "2013-02", "2013-03", "2013-04"]
    np.testing.assert_allclose(months.to_numpy()[0], flights.to_numpy()[:2].sum(0), rtol=1e-14)
    hours = flights.groupby("hour", {"0": "night", "2": "night", "10": "day"})
    assert hours.labels[1] == ["day", "night"]
    np.testing.assert_allclose(hours.to_numpy()[:, 1], flights.to_numpy()[:, :2].sum(1), rtol=1e-14)
    odd = x.groupby(0, np.arange(7) % 2)
    np.testing.assert_allclose(odd.to_numpy()[1], x.to_numpy()[1::2].sum(0), rtol=1e-14)
    with pytest.raises(KeyError, match="'0' of mode hour has no group"):
        flights.groupby("hour", {"2": "night"})
    with pytest.raises(ValueError, match="6 groups"):
        x.groupby(0, range(6))


def test_types_go_along():
    pandas = pytest.importorskip("pandas")
    days = ["Mon", "Tue", "Sun"]
    frame = pandas.DataFrame({"day": pandas.Categorical(["Sun", "Mon"], days, ordered=True),
                              "zip": ["10001", "10002"], "value": [1.0, 2]})
    x = pickle.loads(pickle.dumps(polyad.SparseTensor.from_dataframe(frame)))
    assert list(x[1:].to_dataframe()["day"].cat.categories) == ["Tue", "Sun"]
    assert x.permute([1, 0]).to_dataframe()["zip"].tolist() == ["10001", "10002"]


@pytest.mark.parametrize("kind", ["datetime", "numpy", "pandas"])
def test_sel_by_times(kind):
    labels = ["2024-01-01", "2024-01-01T10:00:00", "2024-01-02", "2024-01-03"]
    x = polyad.SparseTensor([[0], [1], [2], [3]], [1, 2, 3, 4], labels=[labels])
    if kind == "pandas":
        time = pytest.importorskip("pandas").Timestamp
    else:
        time = datetime.datetime.fromisoformat if kind == "datetime" else (
            lambda text: np.datetime64(text).astype("datetime64[ns]"))
    assert x.sel({0: slice(time("2024-01-01"), time("2024-01-02"))}).values.tolist() == [1, 2, 3]
    assert x.sel({0: slice(time("2024-01-01T00:01"), None)}).values.tolist() == [2, 3, 4]
    assert x.sel({0: slice(None, "2024-01-01 10:00")}).values.tolist() == [1, 2]
    assert x.sel({0: time("2024-01-01T10:00")}) == 2
    assert x.sel({0: [time("2024-01-02"), "2024-01-01"]}).values.tolist() == [3, 1]
    with pytest.raises(KeyError, match="no label"):
        x.sel({0: time("2024-01-01T11:00")})


def test_sel_by_numbers():
    x = polyad.SparseTensor([[0], [1], [2]], [1, 2, 3], labels=[["1.0", "2.0", "10.0"]])
    assert x.sel({0: 10}) == 3 and x.sel({0: np.float32(2)}) == 2 and x.sel({0: "10.0"}) == 3
    assert x.sel({0: [10, 1]}).values.tolist() == [3, 1]
    with pytest.raises(KeyError, match="no label"):
        x.sel({0: True})
    with pytest.raises(ValueError, match="mode 0 are numbers.*not 'a'"):
        x.sel({0: slice("a", None)})


def test_what_has_no_answer():
    empty = polyad.SparseTensor(np.empty((0, 2)), shape=(2, 3))
    for how in ("mean", "min", "max"):
        with pytest.raises(ValueError, match=f"no {how}"):
            empty.collapse(None, how)
    assert empty.sum() == empty.collapse(None, "count") == 0
    with pytest.raises(TypeError, match="groups are of types int, str"):
        empty.groupby(0, [1, "a"])


def test_factors_that_are_not_real():
    """Imaginary parts are not cut off, and text is not read."""
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0])
    plan = polyad.Plan(x, 2)
    for wrong in (np.ones((2, 2)) * 1j, np.full((2, 2), "1")):
        factors = [np.ones((2, 2)), wrong]
        for call in (lambda: plan.mttkrp(factors, 0), lambda: plan.ttmc(factors, 0),
                     lambda: polyad.gcp_objective(x, factors)):
            with pytest.raises(TypeError, match="factor 1 has type .*expected real numbers"):
                call()
        with pytest.raises(TypeError, match="weights has type .*expected real numbers"):
            polyad.KruskalTensor(wrong[0], [np.ones((2, 2))])
    assert plan.mttkrp([np.ones((2, 2)), None], 1).tolist() == [[2, 2], [1, 1]]


def test_skew_of_numpy():
    assert polyad.generate((9, 9), 20, skew=np.float32(1))[0] == polyad.generate((9, 9), 20, skew=1.0)[0]


def test_what_generating_would_not_use():
    for words, call in {
            "skew found with like": lambda: polyad.generate(like="uber", skew=1.0),
            "nnz or skew found with like": lambda: polyad.generate(nnz=9, like="uber"),
            "scale needs like": lambda: polyad.generate((9, 9), 9, scale=2.0),
            "skew or cluster found with a rank": lambda: polyad.generate((9, 9), 9, rank=2, skew=1.0),
            "skew or cluster found with like": lambda: polyad.generate(like="uber", cluster=0.5)}.items():
        with pytest.raises((ValueError, polyad.Error), match=words):
            call()


def test_integers_out_of_range():
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0])
    for name, call in {
            "nnz is -1; expected 0": lambda: polyad.generate((3, 4), -1),
            "shape is -4; expected 1": lambda: polyad.generate((3, -4), 5),
            "rank is -1; expected 0": lambda: polyad.generate((3, 4), 5, rank=-1),
            "rank is 18446744073709551616": lambda: polyad.cp_als(x, 2**64),
            "shape is 18446744073709551616": lambda: polyad.SparseTensor([[0, 1]], [1], (2**64, 2)),
            "seed -1 is outside": lambda: polyad.cp_als(x, 1, seed=-1),
            "seed 18446744073709551616 is outside": lambda: polyad.cp_als(x, 1, seed=2**64)}.items():
        with pytest.raises(ValueError, match=name):
            call()


def test_numbers_and_switches_of_other_types():
    """Errors name the argument: that a run "could not convert string to float" helps nobody."""
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0])
    for says, call in {
            "tol must be a number, not str": lambda: polyad.cp_als(x, 1, tol="1e-4"),
            "max_seconds must be a number, not NoneType": lambda: polyad.cp_als(x, 1, max_seconds=None),
            "ridge must be a number, not list": lambda: polyad.cp_als(x, 1, ridge=[0.1, 0.2]),
            "epsilon must be a number, not str": lambda: polyad.cp_apr(x, 1, epsilon="0"),
            "kappa_tol must be a number, not str": lambda: polyad.cp_apr(x, 1, kappa_tol="0"),
            "learn_rate must be a number, not str": lambda: polyad.cp_complete(x, 1, learn_rate="0"),
            "noise must be a number, not str": lambda: polyad.generate((3, 3), 2, rank=1, noise="a"),
            r"half_rows must be True or False, not \[0, 1\]": lambda: polyad.cp_als(x, 1, half_rows=[0, 1]),
            "keep_starts must be True or False, not 'no'": lambda: polyad.cp_als(x, 1, keep_starts="no"),
            "callback must be a function or None, not int": lambda: polyad.cp_als(x, 1, callback=3),
            "callback must be a function or None, not str": lambda: polyad.rank_scan(x, [1], callback="f"),
            "forget must be a number, not str": lambda: polyad.update(polyad.cp_als(x, 1), x, forget="1"),
            "forget must be a number, not list":
                lambda: polyad.Updater(polyad.cp_als(x, 1)).add(x, forget=[1]),
            "energy must be a number, not str": lambda: polyad.tucker_ranks(x, "most"),
            "skew must be a number, not str": lambda: polyad.generate((3, 3), 2, skew="1"),
            "skew must be a number, not NoneType": lambda: polyad.generate((3, 3), 2, skew=[1, None]),
            "shares must be a number, not str": lambda: polyad.split(x, [0.5, "a"]),
            "fixed must be a number, not str":
                lambda: polyad.cp_als(x, 1).project(x, 0, fixed={(0, 0): "1"}),
            "tune must be True or False, not 2": lambda: polyad.Plan(x, 1, tune=2)}.items():
        with pytest.raises(TypeError, match=f"^{says}$"):
            call()
    assert polyad.cp_als(x, 1, tol=np.float32(0.5), nonnegative=np.True_, half_rows=0).rank == 1


def test_permute_of_models_by_name(flights):
    """A model takes the names of modes as a tensor does; a string is no sequence of them."""
    order = ["who", "date", "hour"]
    model, core = polyad.cp_als(flights, 1).permute(order), polyad.tucker(flights, 1).permute(order)
    assert model.mode_names == core.mode_names == order and core.shape == flights.permute(order).shape
    for owner in (flights, model, core):
        with pytest.raises(TypeError, match="modes must be a sequence .* not the string 'who'"):
            owner.permute("who")
