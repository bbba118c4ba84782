"""Conversions between SparseTensor and what other packages hold.

Other packages are imported only by the functions that make their objects; reading needs none
of them, only the attributes their objects have."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Parts = tuple[Any, Any, Any]


def array(x: Any) -> npt.NDArray[Any]:
    """An array over `x`, through DLPack where that is all it offers; no copy where possible."""
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        over: npt.NDArray[Any] = np.from_dlpack(x)
        return over
    return np.asarray(x)


def from_numpy(dense: npt.ArrayLike) -> Parts:
    """Coordinates, values and shape of a dense array's nonzeros."""
    dense = array(dense)
    if dense.dtype.kind not in "biuf":
        raise TypeError(f"the array has type {dense.dtype}; expected real numbers")
    if dense.ndim == 0:
        raise ValueError("the array has no dimensions; expected at least one")
    places = np.nonzero(dense)
    return np.stack(places, axis=1), dense[places], dense.shape


def to_numpy(tensor: Any) -> npt.NDArray[Any]:
    dense = np.zeros(tensor.shape, tensor.dtype)
    dense[tuple(tensor.indices(mode) for mode in range(tensor.ndim))] = tensor.values
    return dense


def to_sparse(tensor: Any) -> Any:
    import sparse

    return sparse.COO(tensor.coords.T, tensor.values, shape=tensor.shape, has_duplicates=False,
                      sorted=True)


def from_scipy(matrix: Any) -> Parts:
    coo = matrix.tocoo()
    return np.stack([coo.row, coo.col], axis=1), coo.data, coo.shape


def to_scipy(tensor: Any) -> Any:
    if tensor.ndim != 2:
        raise ValueError(f"scipy.sparse holds 2 modes; the tensor has {tensor.ndim}")
    import scipy.sparse

    places = (tensor.indices(0).astype(np.int64), tensor.indices(1).astype(np.int64))
    return scipy.sparse.coo_array((tensor.values, places), shape=tensor.shape)


def from_pyttb(tensor: Any) -> Parts:
    values = np.asarray(tensor.vals).reshape(-1)
    subs = np.asarray(tensor.subs).reshape(len(values), len(tensor.shape))
    return subs.astype(np.int64, copy=False), values, tuple(int(i) for i in tensor.shape)


def to_pyttb(tensor: Any) -> Any:
    import pyttb

    return pyttb.sptensor(tensor.coords, np.array(tensor.values).reshape(-1, 1), tensor.shape)


def from_torch(tensor: Any) -> Parts:
    if not tensor.is_sparse:
        return from_numpy(tensor.detach().cpu().numpy())
    sparse = tensor.detach().coalesce().cpu()
    return (sparse.indices().numpy().T, sparse.values().numpy(),
            tuple(int(i) for i in sparse.shape))


def to_torch(tensor: Any) -> Any:
    import torch

    return torch.sparse_coo_tensor(torch.from_numpy(np.ascontiguousarray(tensor.coords.T)),
                                   torch.from_numpy(np.array(tensor.values)),
                                   size=tensor.shape).coalesce()


def from_dataframe(frame: Any, columns: Sequence[str] | None,
                   value: str | None) -> tuple[Any, Any, Any, dict[str, list[str]]]:
    """Coordinates, values, shape and labels of a data frame; works with any frame that has
    ``columns`` and ``frame[name].to_numpy()``."""
    names = [str(name) for name in frame.columns]
    if value is None and "value" in names and (columns is None or "value" not in columns):
        value = "value"
    if columns is None:
        columns = [name for name in names if name != value]
    for name in [*columns, *([value] if value is not None else [])]:
        if name not in names:
            raise ValueError(f"the data frame has no column {name!r}; it has {', '.join(names)}")
    if not columns:
        raise ValueError("the data frame has no column for a mode")
    rows = len(frame)
    coords = np.empty((rows, len(columns)), np.int64)
    labels: dict[str, list[str]] = {}
    for mode, name in enumerate(columns):
        column = np.asarray(frame[name].to_numpy())
        # What is missing is None, NaN, NaT or pandas.NA, which is not even comparable.
        missing: list[int] = np.flatnonzero(column != column).tolist() if (
            column.dtype != object) else [i for i, item in enumerate(column) if item is None or
                                          str(item) == "<NA>" or item != item]
        if missing:
            raise ValueError(f"column {name!r} has a missing value in row {missing[0]}")
        if column.dtype == object:
            if not all(isinstance(item, str) for item in column):
                column = np.asarray([str(item) for item in column])
        found, coords[:, mode] = np.unique(column, return_inverse=True)
        labels[name] = [_label(item) for item in found]
    values = None if value is None else np.asarray(frame[value].to_numpy())
    return coords, values, tuple(len(labels[name]) for name in columns), labels


def _label(item: Any) -> str:
    """A label as a person writes it: dates without a time of midnight."""
    if isinstance(item, np.datetime64):
        written = str(item.astype("datetime64[s]"))
        return written.removesuffix("T00:00:00")
    return str(item)


def to_dataframe(tensor: Any, package: str) -> Any:
    if package not in ("pandas", "polars"):
        raise ValueError(f"package {package!r} is unknown; expected 'pandas' or 'polars'")
    columns: dict[str, Any] = {}
    for mode, (name, labels) in enumerate(zip(tensor.mode_names, tensor.labels)):
        index = tensor.indices(mode)
        column = index.astype(np.int64) if labels is None else np.asarray(labels)[index]
        columns[name or f"mode{mode + 1}"] = column
    columns["value"] = np.array(tensor.values)
    return importlib.import_module(package).DataFrame(columns)


def anything(x: Any) -> tuple[Any, ...]:
    """Arguments of SparseTensor for an object of any supported package."""
    module = type(x).__module__.split(".")[0]
    if isinstance(x, (str, bytes)) or hasattr(x, "__fspath__"):
        raise TypeError(f"{x!r} is no tensor; read a file with polyad.read()")
    if module == "pyttb" and hasattr(x, "subs"):
        return from_pyttb(x)
    if module == "torch":
        return from_torch(x)
    if module in ("pandas", "polars"):
        return from_dataframe(x, None, None)
    if hasattr(x, "tocoo"):
        return from_scipy(x)
    if hasattr(x, "coords") and hasattr(x, "data") and hasattr(x, "shape"):
        return np.asarray(x.coords).T, x.data, x.shape
    if isinstance(x, (np.ndarray, list, tuple)) or hasattr(x, "__dlpack__"):
        return from_numpy(x)
    raise TypeError(f"cannot make a sparse tensor of {type(x).__name__}; give a "
                    "polyad.SparseTensor, a NumPy array, or a sparse tensor of another package")
