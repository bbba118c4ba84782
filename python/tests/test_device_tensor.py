"""Tensors whose arrays lie on a GPU. What has to be said in words needs none; the rest is skipped
without one. No package of GPU arrays is needed: a small class has the driver allocate them."""

import ctypes
import gc

import numpy as np
import polyad
import pytest


class Interface:
    """An array that claims to lie on a GPU."""

    def __init__(self, shape, typestr, strides=None, address=4096):
        self.__cuda_array_interface__ = {"version": 3, "shape": shape, "typestr": typestr,
                                         "strides": strides, "data": (address, False)}


class Driver:
    """The first GPU's memory by CUDA's driver, in the context that polyad uses."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.must("cuInit", 0)
        context = ctypes.c_void_p()
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.must("cuCtxSetCurrent", context)

    def must(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: {code}")

    def copied(self, array):
        address = ctypes.c_uint64()
        self.must("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 16)))
        self.must("cuMemcpyHtoD_v2", address, ctypes.c_void_p(array.ctypes.data),
                  ctypes.c_size_t(array.nbytes))
        return address


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Dlpack:
    """An array that DLPack describes; `address` None: in the host's memory, for what reads none."""

    def __init__(self, array, address=None, device=2):
        whole = array if array.base is None else array.base
        self.kept = (array, whole)
        self.device = device
        item = array.itemsize
        offset = array.ctypes.data - whole.ctypes.data
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*[step // item for step in array.strides])
        self.tensor = _Tensor(whole.ctypes.data if address is None else address.value, device, 0,
                              array.ndim, {"i": 0, "u": 1, "f": 2}[array.dtype.kind], 8 * item, 1,
                              self.shape, self.strides, offset)

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


# ---- without a GPU ------------------------------------------------------------------------------


def test_shapes_and_repr():
    x = polyad.DeviceTensor(Interface((7, 3), "<i8"), Interface((7,), "<f4"), (2, 3, 4))
    assert (x.ndim, x.size, x.shape) == (3, 7, (2, 3, 4))
    assert repr(x) == "<polyad.DeviceTensor 2×3×4, 7 entries on cuda>"
    assert polyad.DeviceTensor([Interface((7,), "<u4")] * 2).shape is None


def test_strides_reach_the_library():
    x = polyad.DeviceTensor(Interface((7, 3), "<i4", (12, 4)), Interface((7,), "<f8", (16,)))
    given, _ = x._input()
    assert [int(polyad._native.ffi.cast("uintptr_t", given.index[m])) for m in range(3)] == [
        4096, 4100, 4104]
    assert (given.index_stride[2], given.value_stride, given.nnz, given.order) == (12, 16, 7, 3)
    by_columns = polyad.DeviceTensor(Interface((7, 2), "<i8", (8, 56)))._input()[0]
    assert int(polyad._native.ffi.cast("uintptr_t", by_columns.index[1])) == 4096 + 56
    assert by_columns.index_stride[1] == 8 and by_columns.values == polyad._native.ffi.NULL


def test_dlpack_says_where_the_array_lies():
    coords = np.arange(24, dtype=np.int32).reshape(12, 2)
    given, _ = polyad.DeviceTensor(Dlpack(coords[::3]))._input()
    assert int(polyad._native.ffi.cast("uintptr_t", given.index[1])) == coords.ctypes.data + 4
    assert given.index_stride[0] == 24 and given.nnz == 4


@pytest.mark.parametrize("coords, values, kind, says", [
    (np.zeros((3, 2), int), None, TypeError, "coords .ndarray. lies on the host; expected an array on"),
    (Interface((3,), "<i8"), None, ValueError, r"coords has shape \(3,\); expected \(n, N\)"),
    (Interface((3, 2), "<i2"), None, TypeError, "mode 0 have type int16; expected int32"),
    (Interface((3, 17), "<i8"), None, ValueError, "17 modes; expected 1 to 16"),
    ([Interface((3,), "<i8"), Interface((4,), "<i8")], None, ValueError, "expected 3 of type int64"),
    ([Interface((3,), "<i8"), Interface((3,), "<i4")], None, ValueError, "3 of type int32; expected 3"),
    (Interface((3, 2), "<i8"), Interface((4,), "<f8"), ValueError, r"values has shape \(4,\)"),
    (Interface((3, 2), "<i8"), Interface((3,), "<f2"), TypeError, "values has type float16; expected"),
    (Interface((3, 2), "<i8"), np.zeros(3), TypeError, "values .ndarray. lies on the host"),
    (Dlpack(np.zeros((3, 2), np.int64), device=10), None, TypeError, "lies on a GPU .ROCm."),
])
def test_what_cannot_be_taken_is_said(coords, values, kind, says):
    with pytest.raises(kind, match=says):
        polyad.DeviceTensor(coords, values)


def test_wrong_options():
    coords = Interface((3, 2), "<i8")
    with pytest.raises(ValueError, match="shape has 3 numbers; expected 2"):
        polyad.DeviceTensor(coords, shape=(1, 2, 3))
    with pytest.raises(ValueError, match="duplicates 'all' is unknown"):
        polyad.DeviceTensor(coords, duplicates="all")
    with pytest.raises(polyad.UnsupportedError, match="device cpu cannot make a tensor of arrays"):
        polyad.Plan(polyad.DeviceTensor(coords), 2, device="cpu")
    with pytest.raises(TypeError, match="arrays lie on a GPU; expected a tensor in memory"):
        polyad.norm(polyad.DeviceTensor(coords))


# ---- on a GPU -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver(cuda_gpu):
    return Driver()


def on_gpu(driver, array, by):
    """The same array there: strides and all."""
    whole = array if array.base is None else array.base
    address = driver.copied(whole)
    if by == "dlpack":
        return Dlpack(array, address)
    offset = array.ctypes.data - whole.ctypes.data
    return Interface(array.shape, array.dtype.str, array.strides, address.value + offset)


def entries(seed=1, nnz=20000):
    rng = np.random.default_rng(seed)
    return rng.integers(0, [50, 40, 30], (nnz, 3)), rng.random(nnz)


def both(driver, coords, values, by, shape=None):
    """The tensor of arrays on the GPU, and that of the same arrays on the host."""
    columns = [on_gpu(driver, coords[:, m], by) for m in range(3)]
    found = polyad.DeviceTensor(columns if by == "dlpack" else on_gpu(driver, coords, by),
                                on_gpu(driver, values, by), shape)
    # In float64, as a plan of that precision has the sums of repeats on the GPU.
    wanted = polyad.SparseTensor(coords, values.astype(np.float64), shape)
    found.coords, found.values = wanted.coords, wanted.values  # what models are checked with
    return found, wanted


@pytest.mark.parametrize("by", ["interface", "dlpack"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_the_model_is_that_of_the_hosts_arrays(driver, by, dtype):
    coords, values = entries()
    coords, values = np.ascontiguousarray(coords, dtype), values.astype(np.float32)
    x, host = both(driver, coords[::2], values[::2], by, (50, 40, 30))
    options = {"seed": 3, "max_iters": 5, "tol": 0, "device": "cuda", "format": "modecopy"}
    found, wanted = polyad.cp_als(x, 4, **options), polyad.cp_als(host, 4, **options)
    assert found.shape == wanted.shape and found.info["device"] == "cuda:0"
    for mode in range(3):  # the same kernels on the same nonzeros
        assert np.array_equal(found.factors[mode], wanted.factors[mode])
    # The norm is summed in another order: n terms of eps each.
    assert abs(found.info["fit"] - wanted.info["fit"]) <= 20000 * 2**-52


def test_plans_and_other_methods(driver):
    coords, values = entries()
    x, host = both(driver, coords, values, "interface")
    plan = polyad.Plan(x, 4)
    assert (plan.shape, plan.nnz, plan.device) == (host.shape, host.nnz, "cuda:0")
    rng = np.random.default_rng(2)
    factors = [rng.random((length, 4)) for length in host.shape]
    there_kernel = polyad.Plan(host, 4, device="cuda", format=plan.format).mttkrp(factors, 1)
    assert np.array_equal(plan.mttkrp(factors, 1), there_kernel)
    counts, _ = both(driver, coords, np.ceil(9 * values), "dlpack")
    model = polyad.cp_apr(counts, 3, seed=1, max_iters=3)
    assert model.shape == host.shape


def test_what_the_gpu_finds_wrong(driver):
    coords, values = entries(nnz=100)
    values[17] = np.nan
    x = polyad.DeviceTensor(on_gpu(driver, coords, "dlpack"), on_gpu(driver, values, "dlpack"))
    with pytest.raises(ValueError, match="nonzero 17 .* has value nan; expected a finite number"):
        polyad.Plan(x)
    small = polyad.DeviceTensor(on_gpu(driver, coords, "dlpack"), shape=(50, 3, 30))
    with pytest.raises(ValueError, match="in mode 1; expected 0 to 2"):
        polyad.Plan(small)
    host = Dlpack(np.zeros((4, 2), np.int64))
    with pytest.raises(ValueError, match="mode 0 lies in memory of the host"):
        polyad.Plan(polyad.DeviceTensor(host))


def test_the_host_never_has_the_arrays(driver):
    coords, values = entries(nnz=2_000_000)
    x, _ = both(driver, coords.astype(np.int32), values, "dlpack", (50, 40, 30))
    gc.collect()
    pointer = polyad._context.context().pointer
    before = polyad._native.lib.polyad_memory_peak(pointer)
    plan = polyad.Plan(x, 4, device="cuda")
    polyad.cp_als(plan, 4, max_iters=2)
    # Indices and values are 40 MB; 60,000 cells merge most of them.
    assert polyad._native.lib.polyad_memory_peak(pointer) - before < 4 << 20
