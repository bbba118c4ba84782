"""Round trips with other packages."""

import numpy as np
import pytest

import polyad


def test_numpy_round_trip():
    dense = np.random.default_rng(0).integers(0, 3, (4, 5, 6)).astype(float)
    np.testing.assert_array_equal(polyad.SparseTensor.from_numpy(dense).to_numpy(), dense)
    with pytest.raises(TypeError):
        polyad.SparseTensor.from_numpy(np.array(["a"]))


def test_scipy_round_trip(random_tensor):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.random(20, 30, 0.1, random_state=1, format="csr")
    x = polyad.SparseTensor.from_scipy(matrix)
    assert (x.to_scipy() != matrix.tocoo()).nnz == 0
    with pytest.raises(ValueError):
        random_tensor().to_scipy()


@pytest.mark.peer
def test_sparse_round_trip(random_tensor):
    pytest.importorskip("sparse")
    x = random_tensor()
    assert polyad.SparseTensor.from_sparse(x.to_sparse()) == x


@pytest.mark.peer
def test_pyttb_round_trip(random_tensor):
    pytest.importorskip("pyttb")
    x = random_tensor()
    assert polyad.SparseTensor.from_pyttb(x.to_pyttb()) == x


@pytest.mark.peer
def test_torch_round_trip(random_tensor):
    pytest.importorskip("torch")
    x = random_tensor()
    assert polyad.SparseTensor.from_torch(x.to_torch()) == x


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
    with pytest.raises(ValueError, match="no column"):
        polyad.SparseTensor.from_dataframe(frame, ["day", "nobody"])
