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
    y = random_tensor()
    try:
        scipy_sparse.coo_array(np.ones((2, 2, 2)))
    except (TypeError, ValueError):
        with pytest.raises(ValueError, match="holds 2 modes"):
            y.to_scipy()
    else:
        array = y.to_scipy()
        assert array.shape == y.shape
        assert polyad.SparseTensor.from_scipy(array) == y
        assert polyad.cp_als(array, 2).info["fit"] == polyad.cp_als(y, 2).info["fit"]


@pytest.mark.peer
def test_sparse_round_trip(random_tensor):
    sparse = pytest.importorskip("sparse")
    x = random_tensor()
    assert polyad.SparseTensor.from_sparse(x.to_sparse()) == x
    for array in (sparse.GCXS(x.to_sparse()), sparse.DOK.from_coo(x.to_sparse())):
        assert polyad.SparseTensor.from_sparse(array) == x
        assert polyad.norm(array) == x.norm()
    coo = sparse.COO(np.array([[5.0, 1], [1, 1]]), fill_value=1)
    for filled in (coo, sparse.GCXS(coo), sparse.DOK.from_coo(coo)):
        for call in (polyad.SparseTensor.from_sparse, polyad.norm):
            with pytest.raises(ValueError, match="fill_value"):
                call(filled)


def test_masked_arrays():
    masked = np.ma.masked_equal([[1.0, 4], [0, 3]], 4)
    for call in (lambda: polyad.SparseTensor.from_numpy(masked), lambda: polyad.norm(masked),
                 lambda: polyad.SparseTensor([[0, 1], [1, 0]], masked[:, 1])):
        with pytest.raises(TypeError, match="1 entries of the array are masked"):
            call()
    assert polyad.SparseTensor.from_numpy(masked.filled(0)).to_numpy().tolist() == [[1, 0], [0, 3]]
    assert polyad.SparseTensor.from_numpy(np.ma.array([[1.0, 4]])).nnz == 2


def test_numpy_does_not_wrap_a_tensor(random_tensor):
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(random_tensor())


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


class OnGPU:
    """An array of a package for GPUs, of which only its place may be asked for."""

    shape, dtype = (2, 2), np.dtype(float)

    def __init__(self, dlpack):
        if dlpack:
            self.__dlpack_device__ = lambda: (2, 1)
        else:
            self.__cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f8", "data": (1, False),
                                             "version": 3}


@pytest.mark.parametrize("dlpack", [True, False])
def test_arrays_on_a_gpu_are_refused_in_words(dlpack, random_tensor):
    x, there = random_tensor(), OnGPU(dlpack)
    rest = [np.ones((length, 2)) for length in x.shape[1:]]
    where = r"lies on a GPU \(CUDA\)" + (", number 1" if dlpack else "")
    for call in (lambda: polyad.norm(there), lambda: polyad.SparseTensor.from_numpy(there),
                 lambda: polyad.SparseTensor(there), lambda: polyad.SparseTensor(x.coords, there),
                 lambda: polyad.KruskalTensor(None, [there, *rest]),
                 lambda: polyad.KruskalTensor(there, [np.ones((x.shape[0], 2)), *rest]),
                 lambda: polyad.cp_als(x, 2, init=[there, *rest]),
                 lambda: polyad.mttkrp(x, [there, *rest], 1)):
        with pytest.raises(TypeError, match=where):
            call()


def test_factors_come_and_go_by_dlpack(random_tensor):
    x = random_tensor()
    model = polyad.cp_als(x, 2, max_iters=2)
    over = polyad.KruskalTensor(DLPack(model.weights), [DLPack(f) for f in model.factors])
    assert over.factors[0].ctypes.data == model.factors[0].ctypes.data  # no copy
    assert polyad.cp_als(x, 2, init=over, max_iters=1).info["fit"] == polyad.cp_als(
        x, 2, init=model, max_iters=1).info["fit"]
    np.testing.assert_array_equal(polyad.mttkrp(x, [DLPack(f) for f in model.factors], 1),
                                  polyad.mttkrp(x, model.factors, 1))
    assert np.from_dlpack(model.factors[0]).ctypes.data == model.factors[0].ctypes.data


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


def test_layouts_of_torch(random_tensor):
    """Sparse tensors by rows or blocks, values of bfloat16, and values that are rows of dense numbers."""
    x = random_tensor()
    sparse = torch_like(x.to_numpy(), np.ascontiguousarray(x.coords.T), np.array(x.values))
    rows = torch_like(x.to_numpy())
    type(rows).layout, type(rows).to_sparse = "torch.sparse_csr", lambda self: sparse
    assert polyad.SparseTensor.from_torch(rows) == x
    assert polyad.cp_als(rows, 2, max_iters=2) == polyad.cp_als(x, 2, max_iters=2)
    half = torch_like(np.eye(3))
    type(half).dtype, type(half).float = "torch.bfloat16", lambda self: torch_like(np.eye(3, dtype=np.float32))
    assert polyad.SparseTensor.from_torch(half).dtype == np.float32
    hybrid = torch_like(x.to_numpy(), np.ascontiguousarray(x.coords.T), np.ones((x.nnz, 2)))
    with pytest.raises(ValueError, match="1 dense dimensions in its values"):
        polyad.SparseTensor.from_torch(hybrid)


@pytest.mark.peer
def test_dense_tensors_of_pyttb(random_tensor):
    pyttb = pytest.importorskip("pyttb")
    x = random_tensor()
    dense = pyttb.tensor(x.to_numpy())
    assert polyad.SparseTensor.from_pyttb(dense) == x
    assert polyad.norm(dense) == x.norm()


@pytest.mark.peer
def test_torch_round_trip(random_tensor):
    torch = pytest.importorskip("torch")
    x = random_tensor()
    assert polyad.SparseTensor.from_torch(x.to_torch()) == x
    assert polyad.norm(x.to_torch().to_dense()) == x.norm()
    model = polyad.cp_als(x, 2, max_iters=2)
    factors = [torch.from_dlpack(factor) for factor in model.factors]
    assert factors[0].data_ptr() == model.factors[0].ctypes.data  # no copy, there and back
    assert polyad.KruskalTensor(None, factors).factors[0].ctypes.data == factors[0].data_ptr()


def test_unknown_things():
    with pytest.raises(TypeError, match="polyad.read"):
        polyad.cp_als("flights.csv", 2)
    with pytest.raises(ValueError, match="package"):
        polyad.SparseTensor([[0]]).to_dataframe("numpy")
