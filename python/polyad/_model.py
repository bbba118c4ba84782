"""The Kruskal tensor: the result of a CP decomposition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._context import Context, context, encode, index
from ._memory import DTYPES, TYPES, pointer, precision_type, view
from ._native import ffi, lib
from ._tensor import SparseTensor, as_tensor

_NORMS = {2: lib.POLYAD_NORM_2, 1: lib.POLYAD_NORM_1}


class KruskalTensor:
    """A sum of R rank-one tensors: weights (R,) and one factor matrix (I_n, R) per mode.

    It unpacks as ``weights, factors = model``.

    Parameters
    ----------
    weights : array_like, shape (R,), or None
        Weight of each component; None: ones.
    factors : sequence of array_like, shape (I_n, R)
        One matrix per mode.
    labels : sequence of (sequence of str or None), optional
        Names of the rows of each factor.
    mode_names : sequence of (str or None), optional
        Names of the modes.
    info : dict, optional
        How the model was found: ``fit``, ``iterations``, ``converged``, ``reason``, ``seconds``,
        ``trace``, …
    """

    def __init__(self, weights: npt.ArrayLike | None, factors: Sequence[npt.ArrayLike], *,
                 labels: Sequence[Sequence[str] | None] | None = None,
                 mode_names: Sequence[str | None] | None = None,
                 info: dict[str, Any] | None = None) -> None:
        matrices = [np.asarray(factor) for factor in factors]
        if not matrices:
            raise ValueError("a Kruskal tensor needs at least one factor")
        for mode, matrix in enumerate(matrices):
            if matrix.ndim != 2 or matrix.shape[1] != matrices[0].shape[1]:
                raise ValueError(f"factor {mode} has shape {matrix.shape}; expected "
                                 f"(I_{mode}, {matrices[0].shape[-1]})")
            if matrix.dtype.kind not in "biuf":
                raise TypeError(f"factor {mode} has type {matrix.dtype}; expected real numbers")
        single = all(matrix.dtype == np.float32 for matrix in matrices)
        dtype = np.dtype(np.float32 if single else np.float64)
        self.factors = [np.ascontiguousarray(matrix, dtype) for matrix in matrices]
        rank = self.factors[0].shape[1]
        self.weights = np.ones(rank, dtype) if weights is None else np.array(weights, dtype)
        if self.weights.shape != (rank,):
            raise ValueError(f"weights has shape {self.weights.shape}; expected ({rank},)")
        order = len(self.factors)
        self.labels: list[Sequence[str] | None] = (
            [None] * order if labels is None else list(labels))
        self.mode_names: list[str | None] = (
            [None] * order if mode_names is None else list(mode_names))
        self.info: dict[str, Any] = {} if info is None else info

    # ---- what it is -----------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of components."""
        return len(self.weights)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each mode."""
        return tuple(len(factor) for factor in self.factors)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.factors)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of weights and factors."""
        return self.weights.dtype

    def __iter__(self) -> Iterator[Any]:
        return iter((self.weights, self.factors))

    def __repr__(self) -> str:
        dims = "×".join(str(length) for length in self.shape)
        fit = f", fit {self.info['fit']:.4f}" if "fit" in self.info else ""
        return f"<polyad.KruskalTensor {dims}, rank {self.rank}{fit}>"

    def top(self, component: int, mode: int, k: int = 5) -> list[tuple[Any, float]]:
        """The k strongest rows of a component in a mode, as (label or index, entry)."""
        component, mode = index(component, "component"), index(mode, "mode")
        if not -self.rank <= component < self.rank:
            raise ValueError(f"component {component} does not exist; the rank is {self.rank}")
        if not -self.ndim <= mode < self.ndim:
            raise ValueError(f"mode {mode} does not exist; the model has {self.ndim} modes")
        column = self.factors[mode][:, component]
        order = np.argsort(-np.abs(column), kind="stable")[:max(k, 0)]
        names = self.labels[mode]
        return [(int(i) if names is None else names[i], float(column[i])) for i in order]

    # ---- computations ---------------------------------------------------------------------

    def fit(self, x: Any) -> float:
        """1 - ||X - M|| / ||X|| for a sparse tensor X."""
        tensor, result = as_tensor(x), ffi.new("double *")
        ctx, handle = self._c()
        ctx.check(lib.polyad_ktensor_fit(ctx.pointer, handle, tensor._handle, result))
        return float(result[0])

    def innerprod(self, x: Any) -> float:
        """Inner product with a sparse tensor."""
        tensor, result = as_tensor(x), ffi.new("double *")
        ctx, handle = self._c()
        ctx.check(lib.polyad_ktensor_innerprod(ctx.pointer, handle, tensor._handle, result))
        return float(result[0])

    def norm(self) -> float:
        """Frobenius norm of the full tensor."""
        ctx, handle = self._c()
        result = ffi.new("double *")
        ctx.check(lib.polyad_ktensor_norm(ctx.pointer, handle, result))
        return float(result[0])

    def reconstruct(self, coords: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """Values of the model at coordinates (count, N), 0-based; without coordinates the whole
        dense array."""
        if coords is None:
            letters = "abcdefghijklmnop"[:self.ndim]
            matrices: list[Any] = list(self.factors)
            dense: npt.NDArray[np.float64] = np.einsum(
                ",".join(["z", *[f"{c}z" for c in letters]]) + "->" + letters,
                self.weights.astype(np.float64), *matrices, optimize=True)
            return dense
        places = np.asarray(coords)
        if places.dtype.kind not in "iu" and places.size:
            raise TypeError(f"coords has type {places.dtype}; expected integers")
        if places.ndim != 2 or places.shape[1] != self.ndim:
            raise ValueError(f"coords has shape {places.shape}; expected (count, {self.ndim})")
        if places.size and places.min() < 0:
            raise ValueError(f"coords has the negative index {places.min()}")
        places = np.ascontiguousarray(places, np.uint64)
        values = np.empty(len(places))
        ctx, handle = self._c()
        ctx.check(lib.polyad_ktensor_values(ctx.pointer, handle, len(places),
                                            ffi.cast("uint64_t *", places.ctypes.data),
                                            ffi.cast("double *", values.ctypes.data)))
        return values

    def normalize(self, norm: int = 2) -> KruskalTensor:
        """A copy with columns of norm one (2-norm or 1-norm) and nonnegative weights."""
        if norm not in _NORMS:
            raise ValueError(f"norm {norm!r} is unknown; expected 1 or 2")
        ctx, handle = self._c()
        lib.polyad_ktensor_normalize(handle, _NORMS[norm])
        return self._like(ctx, handle)

    def arrange(self) -> KruskalTensor:
        """A copy with components sorted by descending weight."""
        ctx, handle = self._c()
        ctx.check(lib.polyad_ktensor_arrange(ctx.pointer, handle))
        return self._like(ctx, handle)

    def fix_signs(self) -> KruskalTensor:
        """A copy in which the largest entry of (almost) every column is positive."""
        ctx, handle = self._c()
        lib.polyad_ktensor_fix_signs(handle)
        return self._like(ctx, handle)

    def permute(self, modes: Sequence[int]) -> KruskalTensor:
        """A copy with its modes in another order."""
        order = [index(mode, "modes") for mode in modes]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"{order} is no permutation of the modes 0 to {self.ndim - 1}")
        return KruskalTensor(self.weights, [self.factors[m].copy() for m in order],
                             labels=[self.labels[m] for m in order],
                             mode_names=[self.mode_names[m] for m in order], info=self.info)

    # ---- files and other packages -----------------------------------------------------------

    def save(self, path: Any) -> None:
        """Writes the model as Tensor Toolbox text ("ktensor")."""
        ctx, handle = self._c()
        ctx.check(lib.polyad_ktensor_write(ctx.pointer, handle, encode(path, "path")))

    @staticmethod
    def load(path: Any, precision: str = "f64") -> KruskalTensor:
        """Reads a model from Tensor Toolbox text ("ktensor")."""
        ctx, made = context(), ffi.new("polyad_ktensor **")
        ctx.configure()
        ctx.check(lib.polyad_ktensor_read(ctx.pointer, encode(path, "path"),
                                          precision_type(precision), made))
        return KruskalTensor._wrap(ctx, made[0])

    def to_pyttb(self) -> Any:
        """To ``pyttb.ktensor``."""
        import pyttb

        return pyttb.ktensor([np.asarray(f, np.float64, order="F") for f in self.factors],
                             np.array(self.weights, np.float64))

    def to_tensorly(self) -> Any:
        """To ``tensorly.cp_tensor.CPTensor``."""
        import tensorly.cp_tensor

        return tensorly.cp_tensor.CPTensor((self.weights.copy(), [f.copy() for f in self.factors]))

    def to_dataframe(self) -> Any:
        """To a tidy pandas data frame: mode, label, component, weight, entry."""
        import pandas

        frames = []
        for mode, factor in enumerate(self.factors):
            names = self.labels[mode]
            rows = np.arange(len(factor)) if names is None else np.asarray(names, dtype=object)
            frames.append(pandas.DataFrame({
                "mode": self.mode_names[mode] or f"mode{mode + 1}",
                "label": np.repeat(rows, self.rank),
                "component": np.tile(np.arange(self.rank), len(factor)),
                "weight": np.tile(self.weights, len(factor)),
                "entry": factor.reshape(-1)}))
        return pandas.concat(frames, ignore_index=True)

    # ---- C ------------------------------------------------------------------------------------

    def _c(self) -> tuple[Context, Any]:
        """A C copy of this model, owned by the calling thread's context."""
        ctx, made = context(), ffi.new("polyad_ktensor **")
        ctx.configure()
        dims = ffi.new("uint64_t[]", self.shape)
        ctx.check(lib.polyad_ktensor_create(ctx.pointer, self.ndim, dims, self.rank,
                                            TYPES[self.dtype], made))
        handle = ffi.gc(made[0], lib.polyad_ktensor_destroy)
        ffi.memmove(lib.polyad_ktensor_weights(handle), pointer(self.weights),
                    self.weights.nbytes)
        for mode in range(self.ndim):
            factor = np.ascontiguousarray(self.factors[mode], self.dtype)
            if factor.shape != (dims[mode], self.rank):
                raise ValueError(f"factor {mode} has shape {factor.shape}; expected "
                                 f"({dims[mode]}, {self.rank})")
            ffi.memmove(lib.polyad_ktensor_factor(handle, mode), pointer(factor), factor.nbytes)
        return ctx, handle

    def _like(self, ctx: Context, handle: Any) -> KruskalTensor:
        model = KruskalTensor._over(ctx, handle)
        model.labels, model.mode_names, model.info = self.labels, self.mode_names, self.info
        return model

    @staticmethod
    def _wrap(ctx: Context, handle: Any) -> KruskalTensor:
        """A model that takes over what the library made."""
        return KruskalTensor._over(ctx, ffi.gc(handle, lib.polyad_ktensor_destroy))

    @staticmethod
    def _over(ctx: Context, handle: Any) -> KruskalTensor:
        """Arrays over a C model, without a copy; they keep it (and its context) alive."""
        owner = (ctx, handle)
        order, rank = lib.polyad_ktensor_order(handle), int(lib.polyad_ktensor_rank(handle))
        dims = lib.polyad_ktensor_dims(handle)
        dtype = DTYPES[lib.polyad_ktensor_type(handle)]
        model = KruskalTensor.__new__(KruskalTensor)
        model.weights = view(lib.polyad_ktensor_weights(handle), (rank,), dtype, owner, True)
        model.factors = [view(lib.polyad_ktensor_factor(handle, mode), (int(dims[mode]), rank),
                              dtype, owner, True) for mode in range(order)]
        model.labels, model.mode_names, model.info = [None] * order, [None] * order, {}
        return model


def score(a: KruskalTensor, b: KruskalTensor, *, weights: bool = True) -> float:
    """Factor match score of two models of the same shape, in 0 .. 1 (1: equal up to order,
    scale and sign of components).

    Parameters
    ----------
    a, b : KruskalTensor
    weights : bool
        Whether different weights lower the score.
    """
    ctx, first = a._c()
    _, second = b._c()
    result = ffi.new("double *")
    ctx.check(lib.polyad_ktensor_score(ctx.pointer, first, second, int(weights), result,
                                       ffi.NULL))
    return float(result[0])


def take_labels(model: KruskalTensor, tensor: SparseTensor) -> None:
    """Gives a model the labels and mode names of its tensor."""
    model.labels, model.mode_names = list(tensor.labels), tensor.mode_names
