"""The Tucker tensor: the result of a Tucker decomposition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from . import _convert
from ._arguments import items, known
from ._context import Context, context
from ._factors import LETTERS, FactorModel, common_type, real_matrices
from ._labels import Columns, Names
from ._match import in_terms_of
from ._memory import DTYPES, TYPES, pointer, view
from ._native import ffi, lib
from ._tensor import as_tensor
from ._types import Floats, Mode, RunInfo

if TYPE_CHECKING:
    import tensorly.tucker_tensor
    from pyttb.ttensor import ttensor


class TuckerTensor(FactorModel):
    """A core (R_1, …, R_N) multiplied in every mode by a factor matrix (I_n, R_n).

    It unpacks as ``core, factors = model``.

    Parameters
    ----------
    core : array_like, shape (R_1, …, R_N)
    factors : sequence of array_like, shape (I_n, R_n)
        One matrix per mode.
    labels : sequence of (sequence of str or None), optional
        Names of the rows of each factor.
    mode_names : sequence of (str or None), optional
        Names of the modes.
    info : dict, optional
        How the model was found: ``fit``, ``iterations``, ``converged``, ``reason``, ``seconds``,
        ``trace``, …
    """

    _kind = "ttensor"
    core: Floats

    def __init__(self, core: npt.ArrayLike, factors: Sequence[npt.ArrayLike], *,
                 labels: Sequence[Sequence[str] | None] | None = None,
                 mode_names: Sequence[str | None] | None = None,
                 info: Mapping[str, Any] | None = None) -> None:
        array, matrices = _convert.reals(core, "the core"), real_matrices(factors)
        if array.ndim != len(matrices) or not matrices:
            raise ValueError(f"the core has {array.ndim} modes; expected {len(matrices)}, one for "
                             "each factor, and at least 1")
        for n, matrix in enumerate(matrices):
            if matrix.shape[1] != array.shape[n]:
                raise ValueError(f"factor {n} has shape {matrix.shape}; expected "
                                 f"(I_{n}, {array.shape[n]})")
        dtype = common_type([array, *matrices])
        self.core = np.ascontiguousarray(array, dtype)
        self.factors = [np.ascontiguousarray(matrix, dtype) for matrix in matrices]
        self._name(labels, mode_names, info)

    # ---- what it is -----------------------------------------------------------------------

    @property
    def ranks(self) -> tuple[int, ...]:
        """Columns of each factor: the shape of the core."""
        return self.core.shape

    def __iter__(self) -> Iterator[Any]:
        return iter((self.core, self.factors))

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [self.core, *self.factors]

    def _repr_html_(self) -> str:
        from ._html import tucker

        return tucker(self)

    def __repr__(self) -> str:
        dims, ranks = ("×".join(map(str, sizes)) for sizes in (self.shape, self.ranks))
        fit = f", fit {self.info['fit']:.4f}" if "fit" in self.info else ""
        return f"<polyad.TuckerTensor {dims}, core {ranks}{fit}>"

    # ---- computations ---------------------------------------------------------------------

    def innerprod(self, x: Any) -> float:
        """Inner product with a sparse tensor of the same shape; where both have labels, they are
        matched by name."""
        tensor, _ = in_terms_of(self, as_tensor(x))
        if tensor.shape != self.shape:
            raise ValueError(f"the tensor has shape {tensor.shape}; expected {self.shape}")
        return float(tensor.values.astype(np.float64) @ self.reconstruct(tensor.coords))

    def _dense(self) -> npt.NDArray[np.float64]:
        small, large = LETTERS[:self.ndim], LETTERS[:self.ndim].upper()
        matrices: list[Any] = list(self.factors)
        dense: npt.NDArray[np.float64] = np.einsum(
            ",".join([small, *[i + r for i, r in zip(large, small)]]) + "->" + large,
            self.core.astype(np.float64), *matrices, optimize=True)
        return dense

    def normalize(self, norm: int = 2) -> TuckerTensor:
        """A copy with columns of norm one (2-norm or 1-norm); the core takes up the lengths."""
        if not known(norm, (1, 2)):
            raise ValueError(f"norm {norm!r} is unknown; expected 1 or 2")
        core, factors = self.core.copy(), []
        for mode, factor in enumerate(self.factors):
            lengths = np.linalg.norm(factor, norm, axis=0)
            factors.append(factor / np.where(lengths > 0, lengths, 1))
            core *= _along(lengths, mode, self.ndim)
        return self._like(core, factors)

    def arrange(self) -> TuckerTensor:
        """A copy with the columns of each mode sorted by the descending norm of their slice of the
        core."""
        core, factors = self.core, []
        for mode, factor in enumerate(self.factors):
            order = np.argsort(-np.linalg.norm(_matrix(core, mode), axis=1), kind="stable")
            core = np.take(core, order, axis=mode)
            factors.append(factor[:, order])
        return self._like(core, factors)

    def permute(self, modes: Sequence[Mode]) -> TuckerTensor:
        """A copy with its modes (numbers or names) in another order."""
        order = self._permutation(modes)
        return TuckerTensor(self.core.transpose(order), [self.factors[m].copy() for m in order],
                            labels=[self.labels[m] for m in order],
                            mode_names=[self.mode_names[m] for m in order], info=self.info)

    def _like(self, core: npt.ArrayLike, factors: Sequence[npt.ArrayLike]) -> TuckerTensor:
        return TuckerTensor(core, factors, labels=self.labels, mode_names=self.mode_names,
                            info=self.info)

    # ---- other packages ---------------------------------------------------------------------

    @classmethod
    def from_pyttb(cls, model: Any) -> TuckerTensor:
        """From ``pyttb.ttensor`` with a dense core; a copy."""
        _convert.expect(model, "a pyttb.ttensor", "core", "factor_matrices")
        core = model.core.data if hasattr(model.core, "data") else model.core
        return cls(np.array(core, order="C"), [np.array(f, order="C") for f in model.factor_matrices])

    @classmethod
    def from_tensorly(cls, model: Any) -> TuckerTensor:
        """From ``tensorly.tucker_tensor.TuckerTensor`` (of NumPy arrays), or a pair of core and
        factors; a copy."""
        core, factors = _convert.pair(model, "tensorly.tucker_tensor.TuckerTensor")
        return cls(_convert.array(core, "the core of model").copy(),
                   [np.array(f) for f in items(factors, "the factors of model", "matrices")])

    def to_pyttb(self) -> ttensor:
        """To ``pyttb.ttensor``."""
        import pyttb

        return pyttb.ttensor(pyttb.tensor(np.asarray(self.core, np.float64, order="F")),
                             [np.asarray(f, np.float64, order="F") for f in self.factors])

    def to_tensorly(self) -> tensorly.tucker_tensor.TuckerTensor:
        """To ``tensorly.tucker_tensor.TuckerTensor``."""
        import tensorly.tucker_tensor

        return tensorly.tucker_tensor.TuckerTensor(
            (self.core.copy(), [f.copy() for f in self.factors]))

    # ---- C ------------------------------------------------------------------------------------

    def _c(self) -> tuple[Context, Any]:
        ctx, made = context(), ffi.new("polyad_ttensor **")
        ctx.configure()
        ctx.check(lib.polyad_ttensor_create(ctx.pointer, self.ndim, self.shape, self.ranks,
                                            TYPES[self.dtype], made))
        handle = ffi.gc(made[0], lib.polyad_ttensor_destroy)
        core = np.ascontiguousarray(self.core)
        ffi.memmove(lib.polyad_ttensor_core(handle), pointer(core), core.nbytes)
        for mode, each in enumerate(self.factors):
            factor = np.ascontiguousarray(each, self.dtype)
            if factor.shape != (self.shape[mode], self.ranks[mode]):
                raise ValueError(f"factor {mode} has shape {factor.shape}; expected "
                                 f"({self.shape[mode]}, {self.ranks[mode]})")
            ffi.memmove(lib.polyad_ttensor_factor(handle, mode), pointer(factor), factor.nbytes)
        return ctx, handle

    @classmethod
    def _wrap(cls, ctx: Context, handle: Any) -> TuckerTensor:
        # Without a copy: the arrays keep the C model (and its context) alive.
        owned = ffi.gc(handle, lib.polyad_ttensor_destroy)
        owner = (ctx, owned)
        order = lib.polyad_ttensor_order(owned)
        dims, ranks = lib.polyad_ttensor_dims(owned), lib.polyad_ttensor_ranks(owned)
        dtype = DTYPES[lib.polyad_ttensor_type(owned)]
        model = TuckerTensor.__new__(TuckerTensor)
        model.core = view(lib.polyad_ttensor_core(owned),
                          tuple(int(ranks[n]) for n in range(order)), dtype, owner, True)
        model.factors = [view(lib.polyad_ttensor_factor(owned, n), (int(dims[n]), int(ranks[n])),
                              dtype, owner, True) for n in range(order)]
        model.labels, model.mode_names = [None] * order, [None] * order
        model.info = cast(RunInfo, {})
        return model


def tucker_factors(x: Any) -> list[Any]:
    """The factors of a Tucker tensor, also of another package's, or of a list of matrices."""
    if hasattr(x, "core"):
        return list(x.factor_matrices if hasattr(x, "factor_matrices") else x.factors)
    return list(x)


def _along(numbers: npt.NDArray[Any], mode: int, order: int) -> npt.NDArray[Any]:
    """Numbers to multiply the slices of one mode with."""
    return numbers.reshape([-1 if n == mode else 1 for n in range(order)])


def _matrix(core: npt.NDArray[Any], mode: int) -> npt.NDArray[Any]:
    """The unfolding of a mode (in some order of columns)."""
    return np.moveaxis(core, mode, 0).reshape(core.shape[mode], -1)
