"""Arithmetic of sparse tensors: sums and products cell by cell, and products with vectors and matrices
along modes. What a cell that is not stored holds is zero, before and after."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._algebra import Parts, check_alike, permute
from ._arguments import known
from ._context import context
from ._convert import reals
from ._native import ffi, lib
from ._types import Mode, Transform


def scaled(x: Any, factor: float) -> Any:
    """Every value times a number."""
    parts = Parts(x)
    parts.values = (parts.values * np.float64(factor)).astype(x.dtype)
    return parts.tensor(type(x))


def divided(x: Any, divisor: float) -> Any:
    """Every value over a number: its inverse is rounded, or too large where the quotient is not."""
    if divisor == 0:
        raise ZeroDivisionError("a tensor cannot be divided by zero")
    parts = Parts(x)
    parts.values = (parts.values / np.float64(divisor)).astype(x.dtype)
    return parts.tensor(type(x))


def mapped(x: Any, function: Callable[[npt.NDArray[Any]], npt.ArrayLike]) -> Any:
    """Every stored value through a function of arrays."""
    if not callable(function):
        raise TypeError(f"function must be a function of arrays, not {type(function).__name__}")
    parts = Parts(x)
    values = np.asarray(function(np.array(x.values)))
    if values.shape != x.values.shape:
        raise ValueError(f"the function made shape {values.shape} of {x.values.shape} values; expected "
                         "one value for each")
    parts.values = reals(values, "what the function made").astype(x.dtype)
    return parts.tensor(type(x))


_SCALES = {"norm": lib.POLYAD_TRANSFORM_SCALE_NORM, "sum": lib.POLYAD_TRANSFORM_SCALE_SUM,
           "max": lib.POLYAD_TRANSFORM_SCALE_MAX}


def transformed(x: Any, kind: str, mode: Mode | None = None, documents: Mode | None = None,
                by: str = "norm") -> Any:
    """A copy with changed values, which remembers how (``x.transforms``)."""
    step, record = ffi.new("polyad_transform *"), Transform(kind=kind)
    if kind == "scale":
        if not known(by, _SCALES):
            raise ValueError(f"by {by!r} is unknown; expected 'norm', 'sum' or 'max'")
        step.kind, record["kind"] = _SCALES[by], f"scale by {by}"
    else:
        step.kind = lib.POLYAD_TRANSFORM_LOG1P if kind == "log1p" else lib.POLYAD_TRANSFORM_TF_IDF
    if mode is not None:
        step.mode = record["mode"] = x._mode(mode)
    if documents is not None:
        step.documents = record["documents"] = x._mode(documents)
    ctx, made = context(), ffi.new("polyad_tensor **")
    ctx.check(lib.polyad_tensor_transform(ctx.pointer, x._handle, step, 1, made))
    changed = type(x)._wrap(ctx, made[0])
    changed._keys = dict(x._keys)
    changed._keeps_zeros = x._keeps_zeros
    changed.transforms = [*x.transforms, record]
    return changed


def added(x: Any, y: Any, sign: int) -> Any:
    """x + sign y."""
    check_alike(x, y)
    parts, other = Parts(x, y), Parts(y)
    # The nonzeros of both in ascending order: merging two sorted lists is faster than sorting anew.
    order = np.argsort(np.concatenate([_cells(x), _cells(y)]), kind="stable")
    parts.coords = [np.concatenate([ours, theirs])[order]
                    for ours, theirs in zip(parts.coords, other.coords)]
    kind = np.result_type(x.dtype, y.dtype)
    parts.values = np.concatenate([parts.values, sign * other.values]).astype(kind)[order]
    return parts.tensor(type(x))


def multiplied(x: Any, y: Any) -> Any:
    """The product cell by cell: cells that both have."""
    check_alike(x, y)
    ours, theirs = _both(x, y)
    parts = Parts(x, y)
    parts.keep(ours)
    parts.values = (parts.values * y.values[theirs]).astype(np.result_type(x.dtype, y.dtype))
    return parts.tensor(type(x))


def innerprod(x: Any, y: Any) -> float:
    """The sum of products of cells that both have."""
    ours, theirs = _both(x, y)
    return float(x.values[ours].astype(np.float64) @ y.values[theirs].astype(np.float64))


def _both(x: Any, y: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where in `x` and where in `y` the cells stand that both have, in their order."""
    _, ours, theirs = np.intersect1d(_cells(x), _cells(y), assume_unique=True, return_indices=True)
    return ours, theirs


def _cells(x: Any) -> npt.NDArray[Any]:
    """A number for each stored cell, ascending; of tensors with 2^63 cells or more, bytes that are."""
    if math.prod(x.shape) >= 2**63:
        coords = np.ascontiguousarray(x.coords, ">i8")
        return coords.view(np.dtype((np.void, coords.itemsize * x.ndim))).reshape(-1)
    cells: npt.NDArray[Any] = x.indices(0).astype(np.int64)
    for mode in range(1, x.ndim):
        cells *= x.shape[mode]
        cells += x.indices(mode).astype(np.int64, copy=False)
    return cells


def ttv(x: Any, vectors: Mapping[Mode, npt.ArrayLike]) -> Any:
    """Modes summed with the weights of vectors."""
    if not isinstance(vectors, Mapping):
        raise TypeError(f"vectors is a {type(vectors).__name__}; expected a mapping from modes to "
                        "vectors, such as {0: v}")
    parts, gone = Parts(x), set()
    values = x.values.astype(np.float64)
    for name, given in vectors.items():
        mode = x._mode(name)
        vector = reals(given, f"the vector of mode {mode}").astype(np.float64, copy=False)
        if vector.shape != (x.shape[mode],):
            raise ValueError(f"the vector of mode {mode} has shape {vector.shape}; expected "
                             f"({x.shape[mode]},)")
        values = values * vector[parts.coords[mode]]
        gone.add(mode)
    if len(gone) == x.ndim:
        return float(values.sum())
    parts.values = values.astype(x.dtype)
    parts.reorder([mode for mode in range(x.ndim) if mode not in gone])
    return parts.tensor(type(x))


def ttm(x: Any, matrix: npt.ArrayLike, mode: Mode) -> Any:
    """A mode multiplied by a matrix."""
    along = x._mode(mode)
    given = reals(matrix, f"the matrix of mode {along}").astype(np.float64, copy=False)
    if given.ndim != 2 or given.shape[1] != x.shape[along] or given.shape[0] == 0:
        raise ValueError(f"the matrix of mode {along} has shape {given.shape}; expected "
                         f"(rows, {x.shape[along]})")
    # With this mode last, the nonzeros of a fiber stand together: each makes one sum for each row.
    rows, parts, others = given.shape[0], Parts(x), [m for m in range(x.ndim) if m != along]
    fibers = Parts(x if along == x.ndim - 1 else permute(x, [*others, along]))
    first = np.ones(x.nnz, bool)
    first[1:] = False
    for column in fibers.coords[:-1]:
        first[1:] |= column[1:] != column[:-1]
    starts, values = np.flatnonzero(first), np.empty((int(first.sum()), rows), x.dtype)
    for row in range(rows if x.nnz else 0):
        values[:, row] = np.add.reduceat(given[row][fibers.coords[-1]] * fibers.values, starts)
    for m, column in zip(others, fibers.coords):
        parts.coords[m] = np.repeat(column[starts], rows)
    parts.coords[along] = np.tile(np.arange(rows), len(starts))
    parts.values = values.reshape(-1)
    parts.keep(parts.values != 0)
    parts.shape[along] = rows
    parts.labels[along] = parts.keys[along] = None
    return parts.tensor(type(x))


def unfolded(x: Any, mode: Mode) -> Any:
    """The mode-n matricisation as scipy.sparse.csr_array."""
    sparse: Any = importlib.import_module("scipy.sparse")
    along = x._mode(mode)
    columns, stride = np.zeros(x.nnz, np.int64), 1
    for m in range(x.ndim):
        if m == along:
            continue
        columns += x.indices(m).astype(np.int64) * stride
        stride *= x.shape[m]
        if stride >= 2**63:
            raise ValueError("the unfolded tensor has 2^63 columns or more; sum or group modes before")
    rows = x.indices(along).astype(np.int64)
    return sparse.csr_array((np.array(x.values), (rows, columns)), shape=(x.shape[along], stride))
