"""SparseTensor: construction, labels, files, errors."""

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


def test_missing_file():
    with pytest.raises(OSError):
        polyad.read("no-such-file.tns")


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
