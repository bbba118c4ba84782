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


class DLPack:
    """What a package has that offers its arrays through DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(random_tensor):
    x = random_tensor()
    coords, values = x.coords, np.array(x.values)
    assert polyad.SparseTensor(DLPack(coords), DLPack(values), x.shape) == x
    assert polyad.SparseTensor.from_numpy(DLPack(x.to_numpy())) == x
    assert polyad.cp_als(DLPack(x.to_numpy()), 2).shape == x.shape


def torch_like(array, coords=None, values=None):
    """Stands in for a torch.Tensor: has the attributes that are read, under their names."""
    def itself(self):
        return self

    names = {"is_sparse": coords is not None, "shape": array.shape, "detach": itself,
             "coalesce": itself, "cpu": itself, "numpy": lambda self: array,
             "indices": lambda self: torch_like(coords), "values": lambda self: torch_like(values)}
    return type("Tensor", (), {**names, "__module__": "torch"})()


def test_tensors_of_torch(random_tensor):
    x = random_tensor()
    sparse = torch_like(x.to_numpy(), np.ascontiguousarray(x.coords.T), np.array(x.values))
    dense = torch_like(x.to_numpy())
    assert polyad.SparseTensor.from_torch(sparse) == x
    assert polyad.SparseTensor.from_torch(dense) == x
    assert polyad.cp_als(sparse, 2).info["fit"] == polyad.cp_als(x, 2).info["fit"]


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


def test_unknown_things():
    with pytest.raises(TypeError, match="polyad.read"):
        polyad.cp_als("flights.csv", 2)
    with pytest.raises(ValueError, match="package"):
        polyad.SparseTensor([[0]]).to_dataframe("numpy")
