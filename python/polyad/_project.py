"""Rows of one mode's factor for new slices, with the other factors held fast.

Least squares (with or without nonnegative rows) needs the new tensor only through one MTTKRP or
chain of products with matrices; counts are fitted by multiplicative updates as in CP-APR."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._model import KruskalTensor
from ._plan import Plan
from ._tensor import SparseTensor
from ._tucker_model import TuckerTensor

Rows = npt.NDArray[np.float64]
MOST, ENOUGH = 1000, 1e-8  # sweeps; change of the rows, relative to the largest entry
TINY = 1e-10  # least divisor, as in CP-APR


def check_shape(x: SparseTensor, shape: tuple[int, ...], mode: int) -> None:
    """Only the length of `mode` may differ."""
    others = [m for m in range(len(shape)) if m != mode]
    if x.ndim != len(shape) or any(x.shape[m] != shape[m] for m in others):
        raise ValueError(f"the tensor has shape {x.shape}; expected {shape} with any length of mode "
                         f"{mode}")


def kruskal_rows(x: SparseTensor, model: KruskalTensor, mode: int, kind: str,
                 threads: int | None) -> Rows:
    """Rows C with which C and the other factors, without weights, fit `x` best: `kind` is
    "least squares", "nonnegative" or "counts"."""
    if kind == "counts":
        return _counts(x, model, mode)
    others = [m for m in range(x.ndim) if m != mode]
    factors: list[Any] = [np.asarray(f, np.float64) for f in model.factors]
    gram = np.ones((model.rank, model.rank))
    for m in others:
        gram *= factors[m].T @ factors[m]
    factors[mode] = np.zeros((x.shape[mode], model.rank))
    right = Plan(x, model.rank, threads=threads).mttkrp(factors, mode)
    rows: Rows = right @ np.linalg.pinv(gram, hermitian=True)
    return _nonnegative(right, gram, np.maximum(rows, 0)) if kind == "nonnegative" else rows


def _nonnegative(right: Rows, gram: Rows, rows: Rows) -> Rows:
    """Least squares with nonnegative rows, one column after the other (HALS)."""
    for _ in range(MOST):
        before = rows.copy()
        for r in np.flatnonzero(np.diag(gram) > 0):
            rows[:, r] = np.maximum(
                rows[:, r] + (right[:, r] - rows @ gram[:, r]) / gram[r, r], 0)
        if np.abs(rows - before).max(initial=0) <= ENOUGH * rows.max(initial=0):
            break
    return rows


def _counts(x: SparseTensor, model: KruskalTensor, mode: int) -> Rows:
    """The rows of largest Poisson likelihood."""
    place = x.indices(mode).astype(np.int64)
    values = x.values.astype(np.float64)
    products = np.ones((x.nnz, model.rank))
    sums = np.ones(model.rank)
    for m in range(x.ndim):
        if m != mode:
            products *= model.factors[m][x.indices(m)]
            sums *= model.factors[m].sum(axis=0, dtype=np.float64)
    sums = np.maximum(sums, TINY)
    total = np.bincount(place, values, minlength=x.shape[mode])
    rows: Rows = total[:, None] / (model.rank * sums)
    for _ in range(MOST):
        before = rows
        weight = values / np.maximum((rows[place] * products).sum(axis=1), TINY)
        phi = np.stack([np.bincount(place, weight * products[:, r], minlength=x.shape[mode])
                        for r in range(model.rank)], axis=1)
        rows = rows * phi / sums
        if np.abs(rows - before).max(initial=0) <= ENOUGH * rows.max(initial=0):
            break
    return rows


def tucker_rows(x: SparseTensor, model: TuckerTensor, mode: int, threads: int | None) -> Rows:
    """Rows C with which C, the core and the other (orthonormal) factors fit `x` best."""
    factors: list[Any] = [np.asarray(f, np.float64) for f in model.factors]
    factors[mode] = np.zeros((x.shape[mode], model.ranks[mode]))
    chain = Plan(x, kernel="ttmc", threads=threads).ttmc(factors, mode).reshape(x.shape[mode], -1)
    core = np.moveaxis(model.core, mode, 0).reshape(model.ranks[mode], -1).astype(np.float64)
    rows: Rows = chain @ np.linalg.pinv(core)
    return rows
