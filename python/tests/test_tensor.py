"""SparseTensor: construction, labels, files, errors."""

import errno
import io
import os
import pickle

import numpy as np
import pytest

import polyad


def dense_of(coords, values, shape):
    dense = np.zeros(shape)
    np.add.at(dense, tuple(np.asarray(coords).T), values)
    return dense


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64",
                                   ">i4"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
def test_any_integer_type_and_stride(dtype, layout):
    rng = np.random.default_rng(3)
    coords = rng.integers(0, 7, (40, 3)).astype(dtype)
    values = rng.random(40)
    want = dense_of(coords.astype(int), values, (7, 7, 7))
    if layout == "F":
        coords = np.asfortranarray(coords)
    elif layout == "strided":
        wide = np.zeros((80, 6), coords.dtype)
        wide[::2, ::2] = coords
        coords = wide[::2, ::2]
    elif layout == "reversed":
        coords, values = coords[::-1], values[::-1]
    x = polyad.SparseTensor(coords, values, (7, 7, 7))
    np.testing.assert_allclose(x.to_numpy(), want, rtol=1e-15)
    assert x.repeats_merged == 40 - x.nnz


def test_sorted_merged_and_without_zeros():
    x = polyad.SparseTensor([[1, 1], [0, 0], [1, 1], [0, 1]], [1.0, 5.0, 2.0, 0.0])
    assert x.coords.tolist() == [[0, 0], [1, 1]]
    assert x.values.tolist() == [5.0, 3.0]
    assert (x.repeats_merged, x.zeros_dropped, x.shape, x.nnz) == (1, 1, (2, 2), 2)
    assert x.norm() == pytest.approx(np.hypot(5, 3), rel=1e-15)


@pytest.mark.parametrize("policy, want", [("sum", 6), ("max", 3), ("min", 1), ("first", 2)])
def test_duplicates(policy, want):
    x = polyad.SparseTensor([[0, 0]] * 3, [2.0, 3.0, 1.0], duplicates=policy)
    assert x.values.tolist() == [want]


def test_duplicates_as_error():
    with pytest.raises(ValueError):
        polyad.SparseTensor([[0, 0]] * 2, [2.0, 3.0], duplicates="error")


@pytest.mark.parametrize("arguments, error", [
    (([[0.5, 1]], [1.0]), TypeError),
    (([["a", "b"]], [1.0]), TypeError),
    (([0, 1], [1.0]), ValueError),
    (([[0, 1]], [1.0, 2.0]), ValueError),
    (([[0, -1]], [1.0]), ValueError),
    (([[0, 1]], [np.nan]), ValueError),
    (([[0, 1]], [np.inf]), ValueError),
    (([[0, 1]], ["x"]), TypeError),
    (([[0, 1]], [1j]), TypeError),
    (([[0, 5]], [1.0], (2, 2)), ValueError),
    (([[0, 1]], [1.0], (2,)), ValueError),
    (([[0, 1]], [1.0], (2, 0)), ValueError),
    (([[0] * 17], [1.0]), ValueError),
    (([[0, 1]], [1.0], (2, 2), [["a"], None]), ValueError),
    (([[0, 1]], [1.0], (2, 2), [["a", "b"]]), ValueError),
])
def test_bad_input(arguments, error):
    with pytest.raises(error):
        polyad.SparseTensor(*arguments)


def test_message_of_the_library_arrives():
    with pytest.raises(polyad.Error) as caught:
        polyad.SparseTensor([[0, 5]], [1.0], (2, 2))
    assert caught.value.status == "INVALID_ARGUMENT"
    assert "5" in str(caught.value)


def test_float32_stays_float32():
    x = polyad.SparseTensor([[0, 1]], np.float32([1.5]))
    assert x.dtype == np.float32
    assert x.astype(np.float64).dtype == np.float64
    with pytest.raises(TypeError):
        x.astype(np.int32)


def test_views_outlive_the_tensor():
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0])
    values, indices = x.values, x.indices(-1)
    del x
    assert values.tolist() == [1.0, 2.0] and indices.tolist() == [1, 0]
    with pytest.raises(ValueError):
        values[0] = 7


@pytest.mark.parametrize("name, kept", [("x.tns", False), ("x.sptensor", False), ("x.ptn", True),
                                        ("x.npz", True), ("x.csv", True)])
def test_names_of_modes_without_labels(tmp_path, name, kept):
    """Text of numbers has no place for them: its label files have one, in their own names."""
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], labels={"day": ["mon", "tue"], "hour": None})
    assert x.mode_names == ["day", "hour"]
    x.save(tmp_path / name)
    assert polyad.read(tmp_path / name).mode_names == ["day", "hour" if kept else None]


def test_labels_and_names():
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1, 2], labels={"day": ["mo", "tü"], "hour": None})
    assert x.labels == [["mo", "tü"], None]
    assert x.mode_names == ["day", "hour"]
    assert x.to_dataframe()["day"].tolist() == ["mo", "tü"]


@pytest.mark.parametrize("name", ["t.tns", "t.tns.gz", "t.tns.zst", "t.txt", "t.ptn", "t.csv"])
def test_file_round_trip(tmp_path, random_tensor, name):
    x = random_tensor(shape=(5, 4, 6), nnz=400)  # dense enough for every index to occur
    x.save(tmp_path / name)
    back = polyad.read(tmp_path / name, shape=None if name.endswith(("csv", "txt", "ptn")) else
                       x.shape)
    assert back == x


def test_read_error_names_the_line(tmp_path):
    path = tmp_path / "bad.tns"
    path.write_text("1 1 1.0\n1 x 2.0\n")
    with pytest.raises(polyad.ParseError) as caught:
        polyad.read(path)
    assert caught.value.line == 2 and str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("call, kind, number", [
    (lambda folder: polyad.read(folder / "none.tns"), FileNotFoundError, errno.ENOENT),
    (lambda folder: polyad.SparseTensor([[0]]).save(folder / "none/x.tns"), FileNotFoundError,
     errno.ENOENT),
    (lambda folder: polyad.KruskalTensor.load(folder / "none.ktensor"), FileNotFoundError,
     errno.ENOENT),
    (lambda folder: polyad.read(folder), OSError, errno.EISDIR)])
def test_files_that_cannot_be_opened(tmp_path, call, kind, number):
    with pytest.raises(polyad.FileError) as caught:
        call(tmp_path)
    error = caught.value
    assert isinstance(error, kind) and error.errno == number
    assert error.strerror == os.strerror(number) and str(tmp_path) in error.filename
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.errno, str(again)) == (type(error), error.errno, str(error))


def test_read_file_objects(tmp_path, random_tensor):
    x = random_tensor((5, 4, 6), 400)
    for name in ("t.tns", "t.tns.gz", "t.ptn", "t.csv", "t.txt"):
        x.save(tmp_path / name)
        with open(tmp_path / name, "rb") as file:
            assert polyad.read(file) == x, name
    table = "day,who,n\nmo,a,1\ntu,b,2\n"
    for file in (io.StringIO(table), io.BytesIO(table.encode())):
        y = polyad.read(file, columns=["day", "who"], value="n")
        assert y.labels == [["mo", "tu"], ["a", "b"]] and y.values.tolist() == [1, 2]
    bad = io.BytesIO(b"1 1 1\n1 x 1\n")
    bad.name = "mine.tns"
    with pytest.raises(polyad.ParseError, match=r"^mine.tns:2") as caught:
        polyad.read(bad)
    assert caught.value.file == "mine.tns"


def test_columns_as_a_list(tmp_path):
    (tmp_path / "t.csv").write_text("day,lat,km\nmo,40.123,1\ntu,40.119,2\n")
    x = polyad.read(tmp_path / "t.csv", columns=["day", "lat:round=1"], value="km")
    assert x == polyad.read(tmp_path / "t.csv", columns="day,lat:round=1", value="km")
    assert x.shape == (2, 1)
    for columns, error in ((["a,b"], ValueError), ([1], TypeError)):
        with pytest.raises(error):
            polyad.read(tmp_path / "t.csv", columns=columns)


def test_pickle(random_tensor):
    x = random_tensor()
    back = pickle.loads(pickle.dumps(x))
    assert back == x and back.norm() == x.norm()
    error = polyad.ParseError("f:1: error: x", "PARSE", "f", 1, 2)
    assert pickle.loads(pickle.dumps(error)).line == 1


def test_statistics(random_tensor):
    x = random_tensor()
    found = x.statistics()
    assert found["value_sum"] == pytest.approx(x.values.sum(), rel=1e-12)
    assert found["slices"] == [len(np.unique(x.indices(m))) for m in range(3)]


def test_repr(random_tensor):
    assert "20×15×10" in repr(random_tensor())


def test_times_and_conditions_of_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when,x,value\n2024-03-09 17:05,a,1\n2024-03-10 8:00,a,4\n2024-03-10,NA,2\n"
                    "2024-03-10 8:30,a,9\n")
    x = polyad.read(path, columns=["when:hour", "when:date", "x"], missing="skip",
                    where="value>1", duplicates="mean")
    assert x.mode_names == ["when:hour", "when:date", "x"]
    assert x.labels == [["08"], ["2024-03-10"], ["a"]] and list(x.values) == [6.5]
    with pytest.raises(ValueError, match="missing 'x' is unknown"):
        polyad.read(path, missing="x")
    with pytest.raises(ValueError, match="expected COLUMN=TEXT"):
        polyad.read(path, where="value")


def test_zeros_are_kept_when_asked(tmp_path):
    coords, values = [[0, 0], [1, 2], [1, 1], [1, 1]], [0.0, 1.5, 2.0, -2.0]
    dropped = polyad.SparseTensor(coords, values)
    kept = polyad.SparseTensor(coords, values, zeros="keep")
    assert (dropped.nnz, dropped.zeros_kept, dropped.zeros_dropped) == (1, 0, 2)
    assert (kept.nnz, kept.zeros_kept, kept.zeros_dropped) == (3, 2, 0)
    assert list(kept.values) == [0, 0, 1.5]
    kept.save(tmp_path / "x.ptn")
    again = polyad.SparseTensor.read(tmp_path / "x.ptn", zeros="keep")
    assert again.zeros_kept == 2 and again.coords.tolist() == kept.coords.tolist()
    assert polyad.SparseTensor.read(tmp_path / "x.ptn").nnz == 1
    assert pickle.loads(pickle.dumps(kept)).zeros_kept == 2
    assert kept.permute([1, 0]).zeros_kept == 2 and kept[:, 1:].zeros_kept == 1
    factors = [np.ones((2, 2)), np.ones((3, 2))]
    assert np.array_equal(polyad.mttkrp(kept, factors, 0), polyad.mttkrp(dropped, factors, 0))
    assert polyad.Plan(kept).nnz == 1
    with pytest.raises(ValueError, match="'hold' is unknown"):
        polyad.SparseTensor(coords, values, zeros="hold")


def test_amounts_and_time_zones_are_read(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text('when,shop,amount\n2024-07-01 12:30,west,"$1,234.50"\n2024-12-01 12:30,east,$80\n')
    x = polyad.read(path, columns="when:hour,shop", value="amount", numbers="grouped",
                    time_zone="UTC:America/New_York")
    assert x.labels == [["07", "08"], ["east", "west"]]
    assert sorted(x.values) == [80, 1234.5]
    with pytest.raises(polyad.ParseError, match="is 1.239 or 1239") as caught:
        path.write_text("shop,amount\nwest,1\neast,1.239\n")
        polyad.read(path, value="amount", numbers="grouped")
    assert caught.value.line == 3
    with pytest.raises(ValueError, match="numbers 'many' is unknown"):
        polyad.read(path, numbers="many")
    with pytest.raises(ValueError, match="Mars"):
        polyad.read(path, time_zone="Mars")
