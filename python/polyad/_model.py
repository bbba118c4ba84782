"""The Kruskal tensor: the result of a CP decomposition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ._arguments import items, known
from ._context import Context, context, switch
from ._convert import expect, pair, reals
from ._factors import LETTERS, FactorModel, common_type, real_matrices
from ._keys import infer
from ._labels import Columns, Names
from ._match import in_terms_of, order_rows
from ._memory import DTYPES, TYPES, pointer, view
from ._native import ffi, lib
from ._tensor import as_tensor
from ._types import Floats, MatchBy, Mode, ModelKind, RunInfo, Seed, Unseen

if TYPE_CHECKING:
    import pandas
    import tensorly.cp_tensor
    import xarray
    from pyttb.ktensor import ktensor

_NORMS = {2: lib.POLYAD_NORM_2, 1: lib.POLYAD_NORM_1}


class KruskalTensor(FactorModel):
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

    _kind = "ktensor"
    weights: Floats

    def __init__(self, weights: npt.ArrayLike | None, factors: Sequence[npt.ArrayLike], *,
                 labels: Sequence[Sequence[str] | None] | None = None,
                 mode_names: Sequence[str | None] | None = None,
                 info: Mapping[str, Any] | None = None) -> None:
        matrices = real_matrices(factors)
        if not matrices:
            raise ValueError("a Kruskal tensor needs at least one factor")
        rank = matrices[0].shape[1]
        for mode, matrix in enumerate(matrices):
            if matrix.shape[1] != rank:
                raise ValueError(f"factor {mode} has shape {matrix.shape}; expected "
                                 f"(I_{mode}, {rank})")
        dtype = common_type(matrices)
        self.factors = [np.ascontiguousarray(matrix, dtype) for matrix in matrices]
        self.weights = np.array(np.ones(rank) if weights is None else reals(weights, "weights"), dtype)
        if self.weights.shape != (rank,):
            raise ValueError(f"weights has shape {self.weights.shape}; expected ({rank},)")
        self._name(labels, mode_names, info)

    # ---- what it is -----------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of components."""
        return len(self.weights)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.weights, self.factors))

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [self.weights, *self.factors]

    def _repr_html_(self) -> str:
        from ._html import kruskal

        return kruskal(self)

    def __repr__(self) -> str:
        dims = "×".join(str(length) for length in self.shape)
        fit = f", fit {self.info['fit']:.4f}" if "fit" in self.info else ""
        return f"<polyad.KruskalTensor {dims}, rank {self.rank}{fit}>"

    # ---- computations ---------------------------------------------------------------------

    def innerprod(self, x: Any) -> float:
        """Inner product with a sparse tensor (or a Kruskal tensor) of the same shape; where both
        have labels, they are matched by name."""
        if not isinstance(x, KruskalTensor):
            return self._number("innerprod", in_terms_of(self, as_tensor(x))[0]._handle)
        ctx, handle = x._c()
        if order_rows(self, x, ctx, handle):
            x = x._like(ctx, handle)
        if x.shape != self.shape:
            raise ValueError(f"the models have shapes {self.shape} and {x.shape}; expected equal "
                             "ones")
        product = np.outer(self.weights, x.weights).astype(np.float64)
        for ours, theirs in zip(self.factors, x.factors):
            product *= ours.T.astype(np.float64) @ theirs
        return float(product.sum())

    def _dense(self) -> npt.NDArray[np.float64]:
        letters = LETTERS[:self.ndim]
        matrices: list[Any] = list(self.factors)
        dense: npt.NDArray[np.float64] = np.einsum(
            ",".join(["z", *[f"{c}z" for c in letters]]) + "->" + letters,
            self.weights.astype(np.float64), *matrices, optimize=True)
        return dense

    def normalize(self, norm: int = 2) -> KruskalTensor:
        """A copy with columns of norm one (2-norm or 1-norm) and nonnegative weights."""
        if not known(norm, _NORMS):
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

    def permute(self, modes: Sequence[Mode]) -> KruskalTensor:
        """A copy with its modes (numbers or names) in another order."""
        order = self._permutation(modes)
        return KruskalTensor(self.weights, [self.factors[m].copy() for m in order],
                             labels=[self.labels[m] for m in order],
                             mode_names=[self.mode_names[m] for m in order], info=self.info)

    def project(self, x: Any, mode: Mode | Sequence[Mode] = 0, *, kind: ModelKind = "auto",
                rows: Literal["all", "unseen"] = "all",
                fixed: Mapping[tuple[Any, ...], float] | None = None, match: MatchBy = "auto",
                unseen: Unseen = "error", max_iters: int = 1000, tol: float = 1e-10,
                seed: Seed = 0, threads: int | None = None,
                device: str = "auto") -> KruskalTensor:
        """Rows for the slices of a new tensor in one or several modes, the other modes' factors held
        fast (fold-in).

        Parameters
        ----------
        x : SparseTensor, NumPy array, or a sparse tensor of another package
            Its labels in the other modes are matched with the model's by name. What is not in it
            counts as zero.
        mode : int or str, or a sequence of them
            The modes that get new rows; several take turns until nothing changes.
        kind : {"auto", "signed", "nonnegative", "poisson"}
            Least squares, with rows of at least 0 for "nonnegative"; rows of the largest Poisson
            likelihood for models of counts (:func:`cp_apr`). "auto": "nonnegative" where no number
            of the model is negative, else "signed".
        rows : {"all", "unseen"}
            Whether labels that the model has in ``mode`` already are left out.
        fixed : dict, optional
            Entries that are known: ``{(mode, component): value}`` for all rows,
            ``{(mode, component, row): value}`` for one, by its label or number in ``x``.
        match : {"auto", "number"}
            "auto": by label, or by number where neither has labels (labels on one side only are an
            error); "number": labels do not count.
        unseen : {"error", "skip"}
            Indices of the other modes that the model lacks: an error, or their nonzeros are left
            out (``info["skipped"]`` counts them).
        max_iters, tol : int, float
            Of several modes: most rounds, and the largest change of an entry that ends them.
        seed
            Of several modes: their first rows, as in :func:`cp_als`.
        threads, device
            As in :class:`Plan`.

        Returns
        -------
        KruskalTensor
            With the new rows and labels in ``mode``; ``info`` has ``fit`` (of the new data),
            ``kind``, ``iterations``, ``converged``, ``skipped``, ``seconds``.

        Raises
        ------
        ValueError, TypeError, polyad.Error
        """
        from ._newdata import project

        return project(self, x, mode, kind=kind, rows=rows, fixed=fixed, match=match,
                       unseen=unseen, max_iters=max_iters, tol=tol, seed=seed, threads=threads,
                       device=device)

    # ---- other packages ---------------------------------------------------------------------

    @classmethod
    def from_pyttb(cls, model: Any) -> KruskalTensor:
        """From ``pyttb.ktensor``; a copy."""
        expect(model, "a pyttb.ktensor", "weights", "factor_matrices")
        return cls(model.weights, [np.array(f, order="C") for f in model.factor_matrices])

    @classmethod
    def from_tensorly(cls, model: Any) -> KruskalTensor:
        """From ``tensorly.cp_tensor.CPTensor`` (of NumPy arrays), or a pair of weights and factors;
        a copy. Weights of None are ones."""
        weights, factors = pair(model, "tensorly.cp_tensor.CPTensor")
        return cls(weights, [np.array(f) for f in items(factors, "the factors of model", "matrices")])

    def to_xarray(self) -> xarray.Dataset:
        """To ``xarray.Dataset``: ``weights`` and one variable per factor, named after its mode, with
        the labels as coordinates (numbers and dates where they look so)."""
        import xarray

        names = [name or f"mode{mode + 1}" for mode, name in enumerate(self.mode_names)]
        variables: dict[str, Any] = {"weights": ("component", self.weights)}
        coordinates: dict[str, Any] = {"component": np.arange(self.rank)}
        for mode, name in enumerate(names):
            variables[f"{name}_factor"] = ((name, "component"), self.factors[mode])
            labels = self.labels[mode]
            if labels is not None:
                coordinates[name] = infer(labels)
        return xarray.Dataset(variables, coordinates)

    def to_pyttb(self) -> ktensor:
        """To ``pyttb.ktensor``."""
        import pyttb

        return pyttb.ktensor([np.asarray(f, np.float64, order="F") for f in self.factors],
                             np.array(self.weights, np.float64))

    def to_tensorly(self) -> tensorly.cp_tensor.CPTensor:
        """To ``tensorly.cp_tensor.CPTensor``."""
        import tensorly.cp_tensor

        return tensorly.cp_tensor.CPTensor((self.weights.copy(), [f.copy() for f in self.factors]))

    def to_dataframe(self) -> pandas.DataFrame:
        """To a tidy pandas data frame: mode, label, component, weight, entry."""
        frame = super().to_dataframe()
        frame.insert(3, "weight", self.weights[frame["component"].to_numpy()])
        return frame

    # ---- C ------------------------------------------------------------------------------------

    def _c(self) -> tuple[Context, Any]:
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

    @classmethod
    def _wrap(cls, ctx: Context, handle: Any) -> KruskalTensor:
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
        model.labels, model.mode_names = [None] * order, [None] * order
        model.info = cast(RunInfo, {})
        return model


def as_kruskal(x: Any) -> KruskalTensor:
    """A Kruskal tensor of one, of another package's, or of a list of matrices."""
    if isinstance(x, KruskalTensor):
        return x
    if hasattr(x, "weights") and hasattr(x, "factor_matrices"):
        return KruskalTensor.from_pyttb(x)
    if hasattr(x, "weights") and hasattr(x, "factors"):
        return KruskalTensor.from_tensorly(x)
    return KruskalTensor(None, x)


def rows_in_order_of(labelled: Any, model: FactorModel) -> list[npt.NDArray[np.int64]]:
    """Of each mode the rows of `model` in the order that a tensor or plan has their labels in."""
    numbers = KruskalTensor(None, [np.arange(size, dtype=np.float64)[:, None] for size in model.shape],
                            labels=model.labels, mode_names=model.mode_names)
    ctx, handle = numbers._c()
    if order_rows(labelled, numbers, ctx, handle):
        numbers = numbers._like(ctx, handle)
    return [factor[:, 0].astype(np.int64) for factor in numbers.factors]


def score(a: KruskalTensor, b: KruskalTensor, *, weights: bool = True) -> float:
    """Factor match score of two models of the same shape, in 0 .. 1 (1: equal up to order,
    scale and sign of components). Where both have labels, rows are matched by name.

    Parameters
    ----------
    a, b : KruskalTensor
    weights : bool
        Whether different weights lower the score.

    Raises
    ------
    TypeError
        When one of them is no KruskalTensor.
    ValueError
        When the shapes differ.
    """
    for model in (a, b):
        if not isinstance(model, KruskalTensor):
            raise TypeError(f"score compares Kruskal tensors, not {type(model).__name__}")
    ctx, first = a._c()
    ctx_b, second = b._c()
    order_rows(a, b, ctx_b, second)
    result = ffi.new("double *")
    ctx.check(lib.polyad_ktensor_score(ctx.pointer, first, second, switch(weights, "weights"), result,
                                       ffi.NULL))
    return float(result[0])
