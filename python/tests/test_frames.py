"""Data frames into tensors and back: pandas, polars."""

import datetime
import time
import warnings

import numpy as np
import pytest

import polyad
from polyad import _frames

from_dataframe = polyad.SparseTensor.from_dataframe


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_dataframe(package):
    frames = pytest.importorskip(package)
    frame = frames.DataFrame({"user": ["b", "a", "b"], "item": [3, 10, 3], "value": [1.0, 2, 4]})
    x = polyad.SparseTensor.from_dataframe(frame)
    assert x.mode_names == ["user", "item"]
    assert x.labels == [["a", "b"], ["3", "10"]]
    assert x.to_numpy().tolist() == [[0, 2], [5, 0]]
    counted = polyad.SparseTensor.from_dataframe(frame, ["user", "item"])
    assert counted.to_numpy().tolist() == [[0, 2], [5, 0]]
    with pytest.warns(UserWarning, match="column 'item' has only numbers"):
        rows = polyad.SparseTensor.from_dataframe(frame.drop(columns=["value"])
                                                  if package == "pandas" else frame.drop("value"))
    assert rows.to_numpy().tolist() == [[0, 1], [2, 0]]


def test_dataframe_dates_and_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"day": pandas.to_datetime(["2024-01-02", "2024-01-01"]),
                              "who": ["x", "y"]})
    assert polyad.SparseTensor.from_dataframe(frame).labels[0] == ["2024-01-01", "2024-01-02"]
    with pytest.raises(ValueError, match="missing"):
        polyad.SparseTensor.from_dataframe(pandas.DataFrame({"a": ["x", None]}))
    for missing in (pandas.Series([1.0, np.nan]), pandas.to_datetime(pandas.Series(["2024", None])),
                    pandas.Series([1, None], dtype="Int64"), pandas.Categorical(["x", None])):
        with pytest.raises(ValueError, match="column 'a' has a missing value in row 1"):
            polyad.SparseTensor.from_dataframe(pandas.DataFrame({"a": missing}))
    with pytest.raises(ValueError, match="no column"):
        polyad.SparseTensor.from_dataframe(frame, ["day", "nobody"])


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_dataframe_round_trip(package):
    pytest.importorskip(package)
    x = polyad.SparseTensor([[0, 1], [1, 0], [1, 1]], [1.0, 2.0, 3.0],
                            labels={"who": ["ann", "bob"], "what": ["read", "wrote"]})
    back = polyad.SparseTensor.from_dataframe(x.to_dataframe(package))
    assert back == x and back.labels == x.labels and back.mode_names == x.mode_names


def test_polars_types():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"kind": polars.Series(["y", "x"], dtype=polars.Categorical),
                              "day": polars.Series(["2024-01-02", "2024-01-01"]).str.to_date()})
    x = polyad.SparseTensor.from_dataframe(frame)
    assert x.labels == [["x", "y"], ["2024-01-01", "2024-01-02"]]
    for missing in ([1, None], ["a", None], [1.5, None]):
        with pytest.raises(ValueError, match="missing value in row 1"):
            polyad.SparseTensor.from_dataframe(polars.DataFrame({"a": missing}))


def test_index_levels_are_modes():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"day": ["b", "a", "b"], "who": ["x", "y", "x"], "n": [1.0, 2, 4]})
    want = from_dataframe(frame, ["day", "who"], "n")
    series = frame.groupby(["day", "who"])["n"].sum()
    for given, value in ((series, None), (series.to_frame("n"), None), (series.to_frame("n"), "n"),
                         (series.to_frame("value"), None),
                         (frame.set_index("day")[["who", "n"]], "n")):
        x = from_dataframe(given, value=value)
        assert x == want and x.mode_names == ["day", "who"] and x.labels == want.labels
    assert polyad.norm(series) == want.norm()
    assert from_dataframe(series.to_frame("n"), ["who"], "n").shape == (2,)
    with pytest.raises(ValueError, match="holds 'n'"):
        from_dataframe(series, value="m")
    # Strings beside an index are a mode, not values.
    assert from_dataframe(frame.set_index("day")[["who"]]).mode_names == ["day", "who"]
    back = want.to_dataframe(index=True)["value"]
    assert back.loc[("b", "x")] == 5 and from_dataframe(back) == want


def test_categories_keep_their_order():
    pandas = pytest.importorskip("pandas")
    days = ["Mon", "Tue", "Wed", "Sun"]
    frame = pandas.DataFrame({"day": pandas.Categorical(["Sun", "Mon", "Tue"], days, ordered=True),
                              "value": [1.0, 2, 3]})
    x = from_dataframe(frame)
    assert x.labels == [days] and x.shape == (4,)
    back = x.to_dataframe()["day"]
    assert back.cat.ordered and list(back.cat.categories) == days
    assert back.tolist() == ["Mon", "Tue", "Sun"]
    assert from_dataframe(frame, observed=True).labels == [["Mon", "Tue", "Sun"]]
    with pytest.raises(ValueError, match="missing value in row 1"):
        from_dataframe(pandas.DataFrame({"a": pandas.Categorical(["x", None])}))


def test_enums_of_polars():
    polars = pytest.importorskip("polars")
    kind = polars.Enum(["Mon", "Tue", "Wed", "Sun"])
    frame = polars.DataFrame({"day": polars.Series(["Sun", "Mon"], dtype=kind), "value": [1.0, 2]})
    x = from_dataframe(frame)
    assert x.labels == [["Mon", "Tue", "Wed", "Sun"]]
    assert x.to_dataframe("polars")["day"].dtype == kind
    assert from_dataframe(frame.lazy()) == x
    with pytest.raises(ValueError, match="row 1"):
        from_dataframe(polars.DataFrame({"a": polars.Series(["Sun", None], dtype=kind)}))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_columns_keep_their_types(package):
    frames = pytest.importorskip(package)
    frame = frames.DataFrame({
        "hour": [10, 2, 0], "zip": ["02134", "10001", "90210"], "share": [0.5, 0.25, 1.5],
        "open": [True, False, True], "value": [1.0, 2.0, 3.0],
        "day": np.array(["2014-04-02", "2014-04-01", "2014-04-03"], "datetime64[ms]")})
    back = from_dataframe(frame).to_dataframe(package)
    assert sorted(back["hour"]) == [0, 2, 10] and list(back["hour"])[-1] == 10
    for name in frame.columns:
        if name != "day":
            assert sorted(back[name]) == sorted(frame[name]), name
    assert np.array_equal(np.sort(back["day"].to_numpy()).astype("datetime64[D]"),
                          np.sort(frame["day"].to_numpy()).astype("datetime64[D]"))
    assert from_dataframe(back[[str(name) for name in frame.columns]]) == from_dataframe(frame)


def test_types_without_a_frame(tmp_path):
    pytest.importorskip("pandas")
    labels = {"hour": ["0", "10", "2"], "zip": ["02134", "10001", "5"],
              "day": ["2014-04-01", "2014-04-02", "2014-04-03"], "km": ["0.5", "1", "2.25"]}
    x = polyad.SparseTensor([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2]], labels=labels)
    x.save(tmp_path / "x.ptn")
    for each in (x, polyad.read(tmp_path / "x.ptn")):
        frame = each.to_dataframe()
        assert frame["hour"].tolist() == [0, 10, 2] and frame["km"].tolist() == [0.5, 1, 2.25]
        assert frame["zip"].tolist() == labels["zip"] and frame["day"].dtype.kind == "M"


def test_ranges_have_names_of_their_own():
    """Numbers that differ in their tenth digit only, and a number alone."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1e9, 1e9 + 1, 1e9 + 4, 1e9 + 10], "value": [1.0, 2, 3, 4]})
    x = from_dataframe(frame, ["n"], bins={"n": 5})
    assert x.labels == [["[1000000000, 1000000002)", "[1000000002, 1000000004)", "[1000000004, 1000000006)",
                         "[1000000006, 1000000008)", "[1000000008, 1000000010]"]]
    assert x.to_numpy().tolist() == [3, 0, 3, 0, 4]
    alone = from_dataframe(pandas.DataFrame({"n": [5.0, 5.0], "value": [1.0, 2]}), ["n"], bins={"n": 2})
    assert alone.labels == [["[4.5, 5)", "[5, 5.5]"]] and alone.to_numpy().tolist() == [0, 3]


@pytest.mark.parametrize("bins, error, says", [
    ({"n": 0.1}, TypeError, "bins of column 'n' must be an integer"),
    ({"n": [0, 1]}, TypeError, "bins of column 'n' must be an integer"),
    ({"value": 2}, ValueError, "bins of column 'value', which is no mode")])
def test_wrong_bins_are_named(bins, error, says):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(error, match=says):
        from_dataframe(pandas.DataFrame({"n": [1.0, 2.0], "value": [1.0, 2.0]}), bins=bins)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_bins(package):
    frames = pytest.importorskip(package)
    times = np.array(["2014-04-01T10:30", "2014-04-06T23:59", "2014-04-07T00:00",
                      "2014-06-30T12:00"], "datetime64[ms]")
    frame = frames.DataFrame({"at": times, "km": [0.0, 4.9, 5.0, 10.0]})
    weeks = from_dataframe(frame, bins={"at": "W", "km": 2})
    assert weeks.labels[0][:2] == ["2014-03-31", "2014-04-07"] and weeks.shape == (14, 2)
    assert weeks.labels[1] == ["[0, 5)", "[5, 10]"]
    assert weeks.to_numpy()[0].tolist() == [2, 0] and weeks.to_numpy()[1].tolist() == [0, 1]
    assert from_dataframe(frame, ["at"], bins={"at": "M"}).labels == [
        ["2014-04", "2014-05", "2014-06"]]
    assert from_dataframe(frame, ["at"], bins={"at": "M"}, observed=True).values.tolist() == [3, 1]
    assert from_dataframe(frame, ["at"], bins={"at": "Q"}).labels == [["2014-04"]]
    assert from_dataframe(frame, ["at"], bins={"at": "h"}, observed=True).labels[0][0] == (
        "2014-04-01T10")
    for bins, error in (({"at": "x"}, ValueError), ({"km": "W"}, TypeError), ({"at": 3}, TypeError),
                        ({"km": 0}, ValueError), ({"no": 3}, ValueError)):
        with pytest.raises(error):
            from_dataframe(frame, bins=bins)


def test_unusual_frames():
    pandas = pytest.importorskip("pandas")
    x = from_dataframe(pandas.DataFrame({0: ["b", "a"], 1: [datetime.date(2024, 1, 2), 3]}))
    assert x.mode_names == ["0", "1"] and x.labels == [["a", "b"], ["2024-01-02", "3"]]
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    for frame, columns, error in ((twice, None, ValueError), (pandas.DataFrame({"a": [1]}), "a",
                                                              TypeError), ([1, 2], None, TypeError)):
        with pytest.raises(error):
            from_dataframe(frame, columns)


def test_text_is_not_sorted_row_by_row():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = np.array([f"user {i}" for i in range(2000)], object)
    frame = pandas.DataFrame({"a": names[rng.integers(0, 2000, 200_000)],
                              "b": names[rng.integers(0, 2000, 200_000)]})

    def fastest(call):
        times = []
        for _ in range(5):
            begin = time.process_time()
            call()
            times.append(time.process_time() - begin)
        return min(times)

    sorting = fastest(lambda: [np.unique(frame[name].to_numpy(object), return_inverse=True)
                               for name in "ab"])
    assert fastest(lambda: _frames.from_dataframe(frame, None, None, None, False)) < sorting


def test_zeros_of_a_frame_are_kept_when_asked():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"user": ["a", "b"], "film": ["x", "y"], "rating": [0.0, 4.0]})
    dropped = polyad.SparseTensor.from_dataframe(frame, value="rating")
    assert (dropped.nnz, dropped.zeros_dropped) == (1, 1)
    kept = polyad.SparseTensor.from_dataframe(frame, value="rating", zeros="keep")
    assert (kept.nnz, kept.zeros_kept) == (2, 1)


@pytest.mark.peer
def test_tables_of_arrow():
    arrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "date": pandas.date_range("2024-01-01", periods=6), "hour": [0, 1, 2, 10, 11, 1],
        "day": pandas.Categorical(["Mon", "Sun"] * 3, ["Mon", "Tue", "Sun"], ordered=True),
        "value": [1.0, 2, 3, 4, 5, 6]})
    table = arrow.Table.from_pandas(frame)
    x = polyad.SparseTensor.from_dataframe(table)
    assert x == polyad.SparseTensor.from_dataframe(frame)
    assert x.labels[2] == ["Mon", "Tue", "Sun"] and x.labels[1] == ["0", "1", "2", "10", "11"]
    assert polyad.cp_als(table, 1).labels == x.labels
    again = x.to_dataframe("pyarrow")
    assert polyad.SparseTensor.from_dataframe(again) == x
    assert again.schema.field("day").type.ordered and arrow.types.is_timestamp(again["date"].type)
    with pytest.raises(ValueError, match="no index"):
        x.to_dataframe("pyarrow", index=True)


@pytest.mark.peer
def test_arrays_of_xarray():
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-01", periods=3)
    array = xarray.DataArray([[1.0, 0], [0, 2], [3, 4]], dims=["day", "place"], coords={"day": days})
    x = polyad.SparseTensor.from_xarray(array)
    assert x.shape == (3, 2) and x.nnz == 4 and x.mode_names == ["day", "place"]
    assert x.labels == [["2024-01-01", "2024-01-02", "2024-01-03"], None]
    assert polyad.cp_als(array, 1).labels == x.labels
    with pytest.raises(ValueError, match="finite"):
        polyad.SparseTensor.from_xarray(array.where(array > 1))
    pytest.importorskip("sparse")
    assert x.to_xarray().as_numpy().equals(array)
    assert polyad.SparseTensor.from_xarray(x.to_xarray()) == x


def test_columns_that_look_like_values_are_told(tmp_path, caplog):
    """A column of numbers that became a mode is named, with the argument that makes it the values, by
    from_dataframe as by read()."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"km": [1.5, 2.0], "hour": [7, 8], "city": ["a", "b"], "n": [3, 4]})
    with pytest.warns(UserWarning) as told:
        assert polyad.SparseTensor.from_dataframe(frame).shape == (2, 2, 2, 2)
    assert [str(each.message).split("'")[1] for each in told] == ["km", "n"]
    assert "value='n'" in str(told[1].message) and told[1].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"value": "n"}, {"columns": ["km", "n"]}, {"value": "n", "bins": {"km": 2}}):
            polyad.SparseTensor.from_dataframe(frame, **options)
        polyad.SparseTensor.from_dataframe(frame[["hour", "city"]])
        polyad.SparseTensor.from_dataframe(frame["n"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    with caplog.at_level("WARNING", "polyad"):
        polyad.read(tmp_path / "t.csv")
    assert "(value='km'), else name the modes (columns)" in caplog.text and "--" not in caplog.text
    with pytest.raises(TypeError, match="Series 'city' holds .*; expected numbers"):
        polyad.SparseTensor.from_dataframe(frame["city"])


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "Float64", "int32[pyarrow]", "double[pyarrow]"])
def test_numbers_that_may_be_missing(kind):
    pandas = pytest.importorskip("pandas", "2")
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": ["x", "y", "x", "z"], "n": pandas.array([3, 10, 3, 1], dtype=kind)})
    x = from_dataframe(frame, ["a", "n"])
    assert [float(each) for each in x.labels[1]] == [1, 3, 10]
    assert x.to_dataframe()["n"].dtype.kind == ("f" if "loat" in kind or "double" in kind else
                                                "u" if kind[0] == "U" else "i")
    assert from_dataframe(frame, ["a"], "n").values.tolist() == [6, 10, 1]
    assert len(from_dataframe(frame, ["n"], bins={"n": 3}).labels[0]) == 3
    with pytest.raises(TypeError, match="'n'.*need times"):
        from_dataframe(frame, ["n"], bins={"n": "D"})
    frame.loc[2, "n"] = None
    for modes, value in ((["a"], "n"), (["n"], None)):
        with pytest.raises(ValueError, match="column 'n' has a missing value in row 2"):
            from_dataframe(frame, modes, value)


def test_other_numbers_as_values():
    pandas = pytest.importorskip("pandas")
    from decimal import Decimal

    frame = pandas.DataFrame({"a": ["x", "y"], "d": [Decimal("10.5"), Decimal(2)], "t": ["1", "2"],
                              "n": [1.0, np.nan]})
    assert from_dataframe(frame, ["a"], "d").values.tolist() == [10.5, 2]
    assert from_dataframe(frame, ["d"]).labels == [["2", "10.5"]]
    with pytest.raises(TypeError, match="column 't' has type .*expected numbers"):
        from_dataframe(frame, ["a"], "t")
    with pytest.raises(ValueError, match="column 'n' has a missing value in row 1"):
        from_dataframe(frame, ["a"], "n")
    with pytest.raises(ValueError, match="column 'n' has the value inf"):
        from_dataframe(frame.assign(n=[1.0, np.inf]), ["n"], bins={"n": 2})


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_times_with_zones(package):
    """Bins are those of the zone's clocks; unbinned, the hour that clocks show twice is sorted by time."""
    frames = pytest.importorskip(package)
    utc = [datetime.datetime(2024, 10, 26, 22, 30), datetime.datetime(2024, 10, 27, 0, 30),
           datetime.datetime(2024, 10, 27, 1, 30), datetime.datetime(2024, 10, 27, 1, 10)]
    if package == "pandas":
        column = frames.Series(frames.to_datetime(utc)).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    else:
        column = frames.Series(utc).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    frame = frames.DataFrame({"at": column})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        days = from_dataframe(frame, ["at"], bins={"at": "D"})
        hours = from_dataframe(frame, ["at"], bins={"at": "h"})
        times = from_dataframe(frame, ["at"])
    assert days.labels == [["2024-10-27"]]
    assert hours.labels[0][0] == "2024-10-27T00" and hours.values.tolist() == [1, 3]
    assert times.labels == [["2024-10-27 00:30:00+02:00", "2024-10-27 02:30:00+02:00",
                             "2024-10-27 02:10:00+01:00", "2024-10-27 02:30:00+01:00"]]


def test_times_are_told_apart():
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["2024-01-01 10:00:00.250", "2024-01-01 10:00:00.500"])
    frame = pandas.DataFrame({"at": times, "for": times - times[0]})
    x = from_dataframe(frame, ["at", "for"])
    assert len(set(x.labels[0])) == 2 and all(map(str.startswith, x.labels[0], ["2024-01-01T10"] * 2))
    assert x.labels[1] == ["0:00:00", "0:00:00.250000"]
    assert x.sel(at=times[1]).values.tolist() == [1] and x.sel(at=times[1]).coords.tolist() == [[1]]


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, 1, 2.5], [1, 1, 3.0]])
    x = from_dataframe(frame, [0, 1], value=2)
    assert x.shape == (2, 1) and x.values.tolist() == [2.5, 3] and x.mode_names == ["0", "1"]
    assert from_dataframe(frame, [0], bins={0: 2}).shape == (2,)
    with pytest.raises(ValueError, match="a name twice"):
        from_dataframe(frame, [0, 0])
    with pytest.raises(ValueError, match="'a' has no rows"):
        from_dataframe(pandas.DataFrame({"a": []}))
    back = from_dataframe(pandas.DataFrame({"value": ["x", "y"], "b": [3, 4]}), ["value", "b"]).to_dataframe()
    assert back["value"].tolist() == ["x", "y"] and back["value_"].tolist() == [1, 1]


def test_types_of_labels_go_along():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"c": pandas.Categorical(["b", "a", "b", "a"], ["b", "a", "z"], ordered=True),
                              "n": [1, 2, 3, 4]})
    x = from_dataframe(frame, ["c", "n"]).log1p()
    for made in (x.astype(np.float32), *polyad.split(x, [0.5]), *polyad.split(x, 0.5, negatives=1)):
        assert made.to_dataframe()["c"].dtype == frame["c"].dtype
        assert [step["kind"] for step in made.transforms] == ["log1p"]
