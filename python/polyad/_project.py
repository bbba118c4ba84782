"""Rows of one mode's factor for new slices, with the other factors held fast: for the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._model import KruskalTensor
from ._newdata import project
from ._plan import Plan
from ._tensor import SparseTensor
from ._tucker_model import TuckerTensor
from ._types import ModelKind

Rows = npt.NDArray[np.float64]


def check_shape(x: SparseTensor, shape: tuple[int, ...], mode: int) -> None:
    """Only the length of `mode` may differ."""
    others = [m for m in range(len(shape)) if m != mode]
    if x.ndim != len(shape) or any(x.shape[m] != shape[m] for m in others):
        raise ValueError(f"the tensor has shape {x.shape}; expected {shape} with any length of mode "
                         f"{mode}")


def kruskal_rows(x: SparseTensor, model: KruskalTensor, mode: int, kind: ModelKind,
                 threads: int | None) -> Rows:
    """Rows C with which C and the other factors, without weights, fit `x` best."""
    plain = KruskalTensor(None, [np.asarray(f, np.float64) for f in model.factors])
    made = project(plain, x, mode, kind=kind, match="number", threads=threads)
    return np.asarray(made.factors[mode], np.float64)


def tucker_rows(x: SparseTensor, model: TuckerTensor, mode: int, threads: int | None) -> Rows:
    """Rows C with which C, the core and the other (orthonormal) factors fit `x` best."""
    factors: list[Any] = [np.asarray(f, np.float64) for f in model.factors]
    factors[mode] = np.zeros((x.shape[mode], model.ranks[mode]))
    chain = Plan(x, kernel="ttmc", threads=threads).ttmc(factors, mode).reshape(x.shape[mode], -1)
    core = np.moveaxis(model.core, mode, 0).reshape(model.ranks[mode], -1).astype(np.float64)
    rows: Rows = chain @ np.linalg.pinv(core)
    return rows
