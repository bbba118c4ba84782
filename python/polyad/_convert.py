"""Conversions between SparseTensor and what other packages hold.

Other packages are imported only by the functions that make their objects; reading needs none
of them, only the attributes their objects have. What a sparse tensor cannot hold (a fill value, a
mask) is an error."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import single
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


def array(x: Any, what: str = "the array") -> npt.NDArray[Any]:
    """An array over `x`, through DLPack where that is all it offers; no copy where possible. Errors
    call it `what`.

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
    try:
        return np.asarray(x)
    except ValueError as error:
        if not isinstance(x, (list, tuple)):
            raise
        raise ValueError(f"{what} has rows of unequal length; expected a rectangular array") from error


def reals(x: Any, what: str) -> npt.NDArray[Any]:
    """:func:`array` of real numbers: NumPy would cut off imaginary parts, and read text."""
    found = array(x, what)
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


def expect(x: Any, what: str, *attributes: str) -> None:
    """Refuses an object that lacks what those of another package have."""
    if not all(hasattr(x, name) for name in attributes):
        raise TypeError(f"{what} is expected, not {type(x).__name__}")


def from_sparse(x: Any) -> Parts:
    """From COO, GCXS or DOK of the package sparse."""
    if not hasattr(x, "tocoo") and not hasattr(x, "to_coo"):
        expect(x, "a sparse.COO, GCXS or DOK", "coords", "data", "shape")
    fill = getattr(x, "fill_value", 0)
    if fill != 0:
        raise ValueError(f"the array's fill_value is {fill}; expected 0: entries that a sparse tensor "
                         "does not store are zero (subtract the fill value, or use to_numpy)")
    for method in ("tocoo", "to_coo"):
        if not hasattr(x, "coords") and hasattr(x, method):
            x = getattr(x, method)()
    return np.asarray(x.coords).T, x.data, x.shape


def from_scipy(matrix: Any) -> Parts:
    expect(matrix, "a matrix or array of scipy.sparse", "tocoo")
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


def from_pyttb(tensor: Any) -> Parts | Cells:
    """From sptensor, or from the dense tensor of pyttb."""
    if not hasattr(tensor, "subs"):
        expect(tensor, "a pyttb.sptensor or pyttb.tensor", "mttkrp", "shape", "data")
        return cells(tensor.data)
    values = np.asarray(tensor.vals).reshape(-1)
    subs = np.asarray(tensor.subs).reshape(len(values), len(tensor.shape))
    return subs.astype(np.int64, copy=False), values, tuple(int(i) for i in tensor.shape)


def to_pyttb(tensor: Any) -> Any:
    import pyttb

    return pyttb.sptensor(tensor.coords, np.array(tensor.values).reshape(-1, 1), tensor.shape)


def from_torch(tensor: Any) -> Parts | Cells:
    expect(tensor, "a tensor of PyTorch", "is_sparse", "detach")
    tensor = tensor.detach()
    if "sparse_" in str(getattr(tensor, "layout", "")) and not tensor.is_sparse:
        tensor = tensor.to_sparse()  # of a layout by rows, columns or blocks: coordinates
    if not tensor.is_sparse:
        return cells(_host(tensor))
    sparse = tensor.coalesce()
    values = _host(sparse.values())
    if values.ndim != 1:
        raise ValueError(f"the tensor of PyTorch has {values.ndim - 1} dense dimensions in its values; expected a "
                         "sparse tensor in all modes, as x.to_dense().to_sparse() makes it")
    return sparse.indices().cpu().numpy().T, values, tuple(int(i) for i in sparse.shape)


def _host(tensor: Any) -> npt.NDArray[Any]:
    """A dense tensor of PyTorch in host memory; bfloat16, which NumPy does not have, as float32."""
    made: npt.NDArray[Any] = (
        tensor.float() if str(getattr(tensor, "dtype", "")) == "torch.bfloat16" else tensor).cpu().numpy()
    return made


def to_torch(tensor: Any) -> Any:
    import torch

    return torch.sparse_coo_tensor(torch.from_numpy(np.ascontiguousarray(tensor.coords.T)),
                                   torch.from_numpy(np.array(tensor.values)),
                                   size=tensor.shape).coalesce()


def pair(model: Any, what: str) -> list[Any]:
    """The two parts that a model of TensorLy unpacks into."""
    parts = [] if single(model) else list(model)
    if len(parts) != 2:
        raise TypeError(f"model must be a {what}, or a pair of its parts, not {type(model).__name__}")
    return parts


def anything(x: Any) -> Parts | Cells:
    """Coordinates, values and shape of an object of any supported package but data frames, or a
    dense array's cells."""
    module = type(x).__module__.split(".")[0]
    if isinstance(x, (str, bytes)) or hasattr(x, "__fspath__"):
        raise TypeError(f"{x!r} is no tensor; read a file with polyad.read()")
    if module == "pyttb" and (hasattr(x, "subs") or hasattr(x, "mttkrp") and hasattr(x, "data")):
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
