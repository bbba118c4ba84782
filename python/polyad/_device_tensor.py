"""A tensor whose arrays lie on a GPU: CuPy's, PyTorch's or anybody's, by DLPack or
``__cuda_array_interface__``. No element of them goes through the host."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._context import index
from ._convert import elsewhere
from ._memory import INDEX_TYPES, TYPES
from ._native import ffi, lib
from ._policies import duplicates_policy, zeros_policy
from ._types import Duplicates, Zeros

_CUDA = (2, 13)  # DLPack's numbers of a GPU's memory, and of memory that CUDA manages
_KINDS = {0: "i", 1: "u", 2: "f"}  # DLPack's codes of types, as NumPy has them


class _Array(NamedTuple):
    """An array on a GPU; what keeps it alive is `owner`."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    dtype: np.dtype[Any]
    device: int | None  # None: not said
    owner: Any


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h, with which a DLManagedTensor begins."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _contiguous(shape: Sequence[int], item: int) -> tuple[int, ...]:
    strides = [item] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _by_interface(x: Any, what: str) -> _Array:
    about = x.__cuda_array_interface__
    if about.get("mask") is not None:
        raise TypeError(f"{what} is masked, and a sparse tensor has no missing entries")
    dtype, shape = np.dtype(about["typestr"]), tuple(about["shape"])
    strides = about.get("strides")
    return _Array(int(about["data"][0] or 0), shape,
                  _contiguous(shape, dtype.itemsize) if strides is None else tuple(strides), dtype,
                  None, x)


def _by_dlpack(x: Any, what: str) -> _Array:
    # -1: nobody has to wait, since the C library waits for all work of the GPU.
    capsule = x.__dlpack__(stream=-1)
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(address(capsule, b"dltensor"))
    if tensor.code not in _KINDS or tensor.lanes != 1 or tensor.bits not in (8, 16, 32, 64):
        raise TypeError(f"{what} has a type that NumPy has not (DLPack's code {tensor.code}, "
                        f"{tensor.bits} bits, {tensor.lanes} lanes); expected integers or reals")
    dtype = np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = (tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
               if tensor.strides else _contiguous(shape, dtype.itemsize))
    return _Array((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, tensor.device_id,
                  (x, capsule))


def _on_gpu(x: Any, what: str) -> _Array:
    """The array as an address on a GPU."""
    if hasattr(x, "__cuda_array_interface__"):
        return _by_interface(x, what)
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in _CUDA:
        return _by_dlpack(x, what)
    place = elsewhere(x) or "the host"
    raise TypeError(f"{what} ({type(x).__name__}) lies on {place}; expected an array on a GPU (CUDA) "
                    "that has DLPack or __cuda_array_interface__. SparseTensor takes arrays of the "
                    "host")


def _modes(coords: Any) -> list[_Array]:
    """The indices of every mode, 1-dimensional and all of the same type and length."""
    if isinstance(coords, (list, tuple)):
        modes = [_on_gpu(each, f"coords[{mode}]") for mode, each in enumerate(coords)]
        for mode, each in enumerate(modes):
            if len(each.shape) != 1:
                raise ValueError(f"coords[{mode}] has shape {each.shape}; expected (n,)")
    else:
        all_modes = _on_gpu(coords, "coords")
        if len(all_modes.shape) != 2:
            raise ValueError(f"coords has shape {all_modes.shape}; expected (n, N), or a sequence of "
                             "N arrays of shape (n,)")
        modes = [all_modes._replace(address=all_modes.address + mode * all_modes.strides[1],
                                    shape=all_modes.shape[:1], strides=all_modes.strides[:1])
                 for mode in range(all_modes.shape[1])]
    if not 1 <= len(modes) <= lib.POLYAD_MAX_ORDER:
        raise ValueError(f"coords has {len(modes)} modes; expected 1 to {lib.POLYAD_MAX_ORDER}")
    for mode, each in enumerate(modes):
        if each.dtype not in INDEX_TYPES:
            raise TypeError(f"the indices of mode {mode} have type {each.dtype}; expected int32, "
                            "uint32, int64 or uint64 (astype() makes them on the GPU)")
        if (each.dtype, each.shape) != (modes[0].dtype, modes[0].shape):
            raise ValueError(f"the indices of mode {mode} are {each.shape[0]} of type {each.dtype}; "
                             f"expected {modes[0].shape[0]} of type {modes[0].dtype} as in mode 0")
    return modes


def _values(values: Any, nnz: int) -> _Array | None:
    if values is None:
        return None
    found = _on_gpu(values, "values")
    if found.dtype not in TYPES:
        raise TypeError(f"values has type {found.dtype}; expected float32 or float64 (astype() makes "
                        "them on the GPU)")
    if found.shape != (nnz,):
        raise ValueError(f"values has shape {found.shape}; expected ({nnz},)")
    return found


class DeviceTensor:
    """Coordinates and values on a GPU, for :class:`Plan` and decompositions there.

    Arrays of CuPy, PyTorch, Numba or JAX are taken by DLPack or ``__cuda_array_interface__``,
    strided ones too, without a copy: they are kept alive, and are to stay as they are until a plan
    has been made. Making a plan waits for all work of the process on that GPU, whatever stream
    writes the arrays; checks, sorts and merges them there; and builds the storage there. Errors of
    single indices and values are found then.

    Parameters
    ----------
    coords : array of integers, shape (n, N), or sequence of N arrays of shape (n,)
        0-based indices, of type int32, uint32, int64 or uint64.
    values : array of float32 or float64, shape (n,), optional
        Default: all ones.
    shape : sequence of int, optional
        Default: the largest index of each mode + 1.
    duplicates : {"sum", "max", "min", "first", "error", "mean", "last", "count"}
        What becomes of repeated coordinates.
    zeros : {"drop", "keep"}
        Whether zeros are left out, or kept as cells that were observed.

    Raises
    ------
    TypeError
        For arrays that do not lie on a GPU, and types that do not serve.
    ValueError
        For shapes that do not fit.
    """

    def __init__(self, coords: Any, values: Any = None, shape: Sequence[int] | None = None, *,
                 duplicates: Duplicates = "sum", zeros: Zeros = "drop") -> None:
        self._modes = _modes(coords)
        self.ndim = len(self._modes)
        self.size = self._modes[0].shape[0]
        self._values = _values(values, self.size)
        self.shape = None if shape is None else tuple(index(i, "shape") for i in shape)
        if self.shape is not None and len(self.shape) != self.ndim:
            raise ValueError(f"shape has {len(self.shape)} numbers; expected {self.ndim}")
        self._policies = duplicates_policy(duplicates), zeros_policy(zeros)
        devices = {each.device for each in (*self._modes, self._values)
                   if each is not None and each.device is not None}
        if len(devices) > 1:
            raise ValueError(f"the arrays lie on GPUs {sorted(devices)}; expected one GPU")
        self._device = f"cuda:{devices.pop()}" if devices else "cuda"
        self._plans: dict[Any, Any] = {}

    def _input(self) -> tuple[Any, Any]:
        """The arrays as C has them, and what has to live as long."""
        made = ffi.new("polyad_tensor_input *")
        lib.polyad_tensor_input_init(made)
        made.order, made.nnz = self.ndim, self.size
        made.duplicates, made.zeros = self._policies
        made.index_type = INDEX_TYPES[self._modes[0].dtype]
        for mode, each in enumerate(self._modes):
            made.index[mode] = ffi.cast("void *", each.address)
            made.index_stride[mode] = each.strides[0]
        if self._values is not None:
            made.values = ffi.cast("void *", self._values.address)
            made.value_stride = self._values.strides[0]
            made.value_type = TYPES[self._values.dtype]
        dims = ffi.NULL if self.shape is None else ffi.new("uint64_t[]", self.shape)
        made.dims = dims
        return made, dims

    def __repr__(self) -> str:
        dims = "×".join(map(str, self.shape)) if self.shape else f"{self.ndim} modes"
        return f"<polyad.DeviceTensor {dims}, {self.size} entries on {self._device}>"
