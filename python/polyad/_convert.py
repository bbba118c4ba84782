"""Conversions between SparseTensor and what other packages hold.

Other packages are imported only by the functions that make their objects; reading needs none
of them, only the attributes their objects have. What a sparse tensor cannot hold (a fill value, a
mask) is an error."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ._memory import TYPES

Parts = tuple[Any, Any, Any]
Cells = npt.NDArray[Any]


# DLPack's numbers of kinds of memory that the host reads: its own, and what GPUs share with it.
_HOST = (1, 3, 11, 13)
_KINDS = {2: "a GPU (CUDA)", 4: "an OpenCL device", 7: "a Vulkan device", 8: "a GPU (Metal)",
          10: "a GPU (ROCm)", 14: "a oneAPI device"}


def elsewhere(x: Any) -> str | None:
    """Where an array lies that the host cannot read, by DLPack or __cuda_array_interface__."""
    if hasattr(x, "__dlpack_device__"):
        kind, number = x.__dlpack_device__()
        return None if kind in _HOST else f"{_KINDS.get(int(kind), 'another device')}, number {number}"
    return "a GPU (CUDA)" if hasattr(x, "__cuda_array_interface__") else None


def array(x: Any) -> npt.NDArray[Any]:
    """An array over `x`, through DLPack where that is all it offers; no copy where possible.

    An array on a GPU is refused: polyad reads host memory, and a copy should be the caller's."""
    place = elsewhere(x)
    if place is not None:
        raise TypeError(f"the {type(x).__name__} lies on {place}; expected an array in host memory: "
                        "x.cpu() of PyTorch and cupy.asnumpy(x) make one; polyad.DeviceTensor takes "
                        "coordinates and values on a GPU as they are")
    masks = sys.modules.get("numpy.ma")  # which NumPy loads where it is used; slowly
    if masks is not None and isinstance(x, masks.MaskedArray):
        masked = int(np.sum(x.mask))
        if masked:
            raise TypeError(f"{masked} entries of the array are masked, and a "
                            "sparse tensor has no missing entries; x.filled(0) makes zeros of them")
        return np.asarray(x.data)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        over: npt.NDArray[Any] = np.from_dlpack(x)
        return over
    return np.asarray(x)


def reals(x: Any, what: str) -> npt.NDArray[Any]:
    """:func:`array` of real numbers: NumPy would cut off imaginary parts, and read text."""
    found = array(x)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{what} has type {found.dtype}; expected real numbers")
    return found


def cells(dense: npt.ArrayLike) -> Cells:
    """A dense array as one of float32 or float64, without a copy where possible."""
    dense = reals(dense, "the array")
    if dense.ndim == 0:
        raise ValueError("the array has no dimensions; expected at least one")
    return dense if dense.dtype in TYPES else dense.astype(np.float64)


def to_numpy(tensor: Any) -> Cells:
    dense = np.zeros(tensor.shape, tensor.dtype)
    dense[tuple(tensor.indices(mode) for mode in range(tensor.ndim))] = tensor.values
    return dense


def to_sparse(tensor: Any) -> Any:
    import sparse

    return sparse.COO(tensor.coords.T, tensor.values, shape=tensor.shape, has_duplicates=False,
                      sorted=True)


def from_sparse(x: Any) -> Parts:
    """From COO, GCXS or DOK of the package sparse."""
    fill = getattr(x, "fill_value", 0)
    if fill != 0:
        raise ValueError(f"the array's fill_value is {fill}; expected 0: entries that a sparse tensor "
                         "does not store are zero (subtract the fill value, or use to_numpy)")
    for method in ("tocoo", "to_coo"):
        if not hasattr(x, "coords") and hasattr(x, method):
            x = getattr(x, method)()
    return np.asarray(x.coords).T, x.data, x.shape


def from_scipy(matrix: Any) -> Parts:
    coo = matrix.tocoo()
    places = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    return np.stack(places, axis=1), coo.data, coo.shape


def to_scipy(tensor: Any) -> Any:
    import scipy.sparse

    places = tuple(tensor.indices(mode).astype(np.int64) for mode in range(tensor.ndim))
    try:
        return scipy.sparse.coo_array((tensor.values, places), shape=tensor.shape)
    except (TypeError, ValueError, AttributeError):
        if tensor.ndim == 2:
            raise
        raise ValueError(f"scipy.sparse {scipy.__version__} holds 2 modes; the tensor has "
                         f"{tensor.ndim} (from version 1.15 on it holds any number)") from None


def from_pyttb(tensor: Any) -> Parts:
    values = np.asarray(tensor.vals).reshape(-1)
    subs = np.asarray(tensor.subs).reshape(len(values), len(tensor.shape))
    return subs.astype(np.int64, copy=False), values, tuple(int(i) for i in tensor.shape)


def to_pyttb(tensor: Any) -> Any:
    import pyttb

    return pyttb.sptensor(tensor.coords, np.array(tensor.values).reshape(-1, 1), tensor.shape)


def from_torch(tensor: Any) -> Parts | Cells:
    if not tensor.is_sparse:
        return cells(tensor.detach().cpu().numpy())
    sparse = tensor.detach().coalesce().cpu()
    return (sparse.indices().numpy().T, sparse.values().numpy(),
            tuple(int(i) for i in sparse.shape))


def to_torch(tensor: Any) -> Any:
    import torch

    return torch.sparse_coo_tensor(torch.from_numpy(np.ascontiguousarray(tensor.coords.T)),
                                   torch.from_numpy(np.array(tensor.values)),
                                   size=tensor.shape).coalesce()


def anything(x: Any) -> Parts | Cells:
    """Coordinates, values and shape of an object of any supported package but data frames, or a
    dense array's cells."""
    module = type(x).__module__.split(".")[0]
    if isinstance(x, (str, bytes)) or hasattr(x, "__fspath__"):
        raise TypeError(f"{x!r} is no tensor; read a file with polyad.read()")
    if module == "pyttb" and hasattr(x, "subs"):
        return from_pyttb(x)
    if module == "torch":
        return from_torch(x)
    if module == "sparse":
        return from_sparse(x)
    if hasattr(x, "tocoo"):
        return from_scipy(x)
    if hasattr(x, "coords") and hasattr(x, "data") and hasattr(x, "shape"):
        return from_sparse(x)
    if (isinstance(x, (np.ndarray, list, tuple)) or hasattr(x, "__dlpack__") or
            hasattr(x, "__array__") or elsewhere(x)):
        return cells(x)
    raise TypeError(f"cannot make a sparse tensor of {type(x).__name__}; give a "
                    "polyad.SparseTensor, a NumPy array, or a sparse tensor of another package")
