"""Tucker decomposition: the model, the algorithm, its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._algorithms import Plan, _info, _plan
from ._context import Callback, Context, context, encode, index
from ._memory import DTYPES, TYPES, pointer, precision_type, view
from ._native import ffi, lib
from ._progress import ProgressLine
from ._tensor import as_tensor

_SVDS = {"exact": lib.POLYAD_SVD_EXACT, "randomized": lib.POLYAD_SVD_RANDOMIZED}
_LETTERS = "abcdefghijklmnop"


class TuckerTensor:
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

    def __init__(self, core: npt.ArrayLike, factors: Sequence[npt.ArrayLike], *,
                 labels: Sequence[Sequence[str] | None] | None = None,
                 mode_names: Sequence[str | None] | None = None,
                 info: dict[str, Any] | None = None) -> None:
        array, matrices = np.asarray(core), [np.asarray(factor) for factor in factors]
        if array.ndim != len(matrices) or not matrices:
            raise ValueError(f"the core has {array.ndim} modes; expected {len(matrices)}, one for "
                             "each factor, and at least 1")
        for what, each in [("the core", array),
                           *[(f"factor {n}", matrix) for n, matrix in enumerate(matrices)]]:
            if each.dtype.kind not in "biuf":
                raise TypeError(f"{what} has type {each.dtype}; expected real numbers")
        for n, matrix in enumerate(matrices):
            if matrix.ndim != 2 or matrix.shape[1] != array.shape[n]:
                raise ValueError(f"factor {n} has shape {matrix.shape}; expected "
                                 f"(I_{n}, {array.shape[n]})")
        single = all(each.dtype == np.float32 for each in [array, *matrices])
        dtype = np.dtype(np.float32 if single else np.float64)
        self.core = np.ascontiguousarray(array, dtype)
        self.factors = [np.ascontiguousarray(matrix, dtype) for matrix in matrices]
        order = len(matrices)
        self.labels: list[Sequence[str] | None] = (
            [None] * order if labels is None else list(labels))
        self.mode_names: list[str | None] = (
            [None] * order if mode_names is None else list(mode_names))
        self.info: dict[str, Any] = {} if info is None else info

    # ---- what it is -----------------------------------------------------------------------

    @property
    def ranks(self) -> tuple[int, ...]:
        """Columns of each factor: the shape of the core."""
        return self.core.shape

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
        """Type of core and factors."""
        return self.core.dtype

    def __iter__(self) -> Iterator[Any]:
        return iter((self.core, self.factors))

    def __repr__(self) -> str:
        dims, ranks = ("×".join(map(str, sizes)) for sizes in (self.shape, self.ranks))
        fit = f", fit {self.info['fit']:.4f}" if "fit" in self.info else ""
        return f"<polyad.TuckerTensor {dims}, core {ranks}{fit}>"

    # ---- computations ---------------------------------------------------------------------

    def fit(self, x: Any) -> float:
        """1 - ||X - M|| / ||X|| for a sparse tensor X."""
        tensor, result = as_tensor(x), ffi.new("double *")
        ctx, handle = self._c()
        ctx.check(lib.polyad_ttensor_fit(ctx.pointer, handle, tensor._handle, result))
        return float(result[0])

    def norm(self) -> float:
        """Frobenius norm of the full tensor."""
        ctx, handle = self._c()
        result = ffi.new("double *")
        ctx.check(lib.polyad_ttensor_norm(ctx.pointer, handle, result))
        return float(result[0])

    def reconstruct(self, coords: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """Values of the model at coordinates (count, N), 0-based; without coordinates the whole
        dense array."""
        if coords is None:
            small, large = _LETTERS[:self.ndim], _LETTERS[:self.ndim].upper()
            matrices: list[Any] = list(self.factors)
            dense: npt.NDArray[np.float64] = np.einsum(
                ",".join([small, *[i + r for i, r in zip(large, small)]]) + "->" + large,
                self.core.astype(np.float64), *matrices, optimize=True)
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
        ctx.check(lib.polyad_ttensor_values(ctx.pointer, handle, len(places),
                                            ffi.cast("uint64_t *", places.ctypes.data),
                                            ffi.cast("double *", values.ctypes.data)))
        return values

    # ---- files and other packages -----------------------------------------------------------

    def save(self, path: Any) -> None:
        """Writes the model as text: "ttensor", dims, the core as a Tensor Toolbox "tensor", each
        factor as a "matrix"."""
        ctx, handle = self._c()
        ctx.check(lib.polyad_ttensor_write(ctx.pointer, handle, encode(path, "path")))

    @staticmethod
    def load(path: Any, precision: str = "f64") -> TuckerTensor:
        """Reads what :meth:`save` and ``polyad tucker --output`` write."""
        ctx, made = context(), ffi.new("polyad_ttensor **")
        ctx.configure()
        ctx.check(lib.polyad_ttensor_read(ctx.pointer, encode(path, "path"),
                                          precision_type(precision), made))
        return TuckerTensor._wrap(ctx, made[0])

    def to_pyttb(self) -> Any:
        """To ``pyttb.ttensor``."""
        import pyttb

        return pyttb.ttensor(pyttb.tensor(np.asarray(self.core, np.float64, order="F")),
                             [np.asarray(f, np.float64, order="F") for f in self.factors])

    def to_tensorly(self) -> Any:
        """To ``tensorly.tucker_tensor.TuckerTensor``."""
        import tensorly.tucker_tensor

        return tensorly.tucker_tensor.TuckerTensor(
            (self.core.copy(), [f.copy() for f in self.factors]))

    # ---- C ------------------------------------------------------------------------------------

    def _c(self) -> tuple[Context, Any]:
        """A C copy of this model, owned by the calling thread's context."""
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

    @staticmethod
    def _wrap(ctx: Context, handle: Any) -> TuckerTensor:
        """A model over what the library made, without a copy; its arrays keep it (and its context)
        alive."""
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
        model.labels, model.mode_names, model.info = [None] * order, [None] * order, {}
        return model


def tucker_ranks(x: Any, energy: float = 0.95, *, device: str = "auto", format: str = "auto",
                 precision: str = "f64", threads: int | None = None,
                 variant: str = "auto") -> tuple[int, ...]:
    """Ranks with which a Tucker model keeps at least the share ``energy`` of ||X||².

    For each mode the fewest leading singular vectors of the unfolding that leave out at most
    (1 - energy) / N of it.

    Parameters
    ----------
    x : SparseTensor, Plan, NumPy array, or a sparse tensor of another package
    energy : float
        Above 0, at most 1.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    """
    _, plan = _plan(x, 16, format=format, precision=precision, device=device, threads=threads,
                    variant=variant, kernel="ttmc")
    ranks, ctx = ffi.new("uint64_t[]", len(plan.shape)), context()
    ctx.configure(threads=plan.threads, device=plan.device_asked)
    ctx.check(lib.polyad_tucker_ranks(ctx.pointer, plan._handle, float(energy), ranks))
    return tuple(int(rank) for rank in ranks)


def _ranks(ranks: Any, plan: Plan) -> tuple[int, ...]:
    order = len(plan.shape)
    if isinstance(ranks, str):
        word, _, share = ranks.partition(":")
        if word != "auto":
            raise ValueError(f"ranks {ranks!r} is unknown; expected 'auto' or 'auto:0.95'")
        return tucker_ranks(plan, float(share or 0.95))
    given = ([index(ranks, "ranks")] * order if np.ndim(ranks) == 0 else
             [index(rank, "ranks") for rank in ranks])
    if len(given) != order:
        raise ValueError(f"{len(given)} ranks are given; expected {order}")
    for mode, rank in enumerate(given):
        if not 1 <= rank <= plan.shape[mode]:
            raise ValueError(f"rank {rank} of mode {mode} is not possible; expected 1 to "
                             f"{plan.shape[mode]}")
    return tuple(given)


def tucker(x: Any, ranks: int | str | Sequence[int], *, tol: float = 1e-4, max_iters: int = 50,
           max_seconds: float = 0.0,
           init: str | TuckerTensor | Sequence[npt.ArrayLike] = "hosvd", svd: str = "exact",
           seed: int = 0, device: str = "auto", format: str = "auto", precision: str = "f64",
           threads: int | None = None, variant: str = "auto", callback: Callback | None = None,
           verbose: bool = False) -> TuckerTensor:
    """Tucker decomposition by higher-order orthogonal iteration (Kolda and Bader 2009, figure 4.4).

    From the same initial factors the iterates are those of the Tensor Toolbox's and pyttb's
    ``tucker_als``. Factors are orthonormal; the entry of largest magnitude of each column is
    positive. Ctrl-C ends the run after the current iteration and returns the model so far
    (``info["reason"] == "cancelled"``).

    Parameters
    ----------
    x : SparseTensor, Plan (with ``kernel="ttmc"``), NumPy array, or a sparse tensor of another
        package
    ranks : sequence of int, int, or "auto:0.95"
        Columns of each mode's factor; one number for all modes; or see :func:`tucker_ranks`.
    tol : float
        Stop when the fit changes by less; 0: never.
    max_iters : int
        Limit on iterations, at least 1.
    max_seconds : float
        Limit on time; 0: none.
    init : {"hosvd", "random"}, TuckerTensor or sequence of matrices
        First factors.
    svd : {"exact", "randomized"}
        How singular vectors are found.
    seed : int
        Seed of everything random: the same seed gives the same bits.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    callback : callable, optional
        Called after each iteration with a dict (``iteration``, ``fit``, ``change``,
        ``seconds``, …); a true result ends the run.
    verbose : bool
        Show a line of progress.

    Returns
    -------
    TuckerTensor
        With ``info``: ``fit``, ``iterations``, ``converged``, ``reason``, ``seconds``,
        ``seconds_ttmc``, ``diagnosis``, ``trace``, ``format``.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    if isinstance(x, Plan):
        threads = x.threads if threads is None else threads
        device = x.device_asked if device == "auto" else device
    choice = {"format": format, "precision": precision, "device": device, "threads": threads,
              "variant": variant, "kernel": "ttmc"}
    tensor, plan = _plan(x, 16, **choice)
    options = ffi.new("polyad_tucker_options *")
    lib.polyad_tucker_options_init(options)
    wanted = _ranks(ranks, plan)
    for mode, rank in enumerate(wanted):
        options.ranks[mode] = rank
    options.tolerance, options.max_seconds = float(tol), float(max_seconds)
    options.max_iterations = index(max_iters, "max_iters")
    if svd not in _SVDS:
        raise ValueError(f"svd {svd!r} is unknown; expected 'exact' or 'randomized'")
    options.svd = _SVDS[svd]
    kept = _initial(options, init, plan, wanted)
    with ProgressLine(verbose) as progress:
        ctx = context()
        ctx.configure(threads=threads, device=device, seed=seed, verbose=verbose,
                      callback=progress.wrap(callback))
        made, info = ffi.new("polyad_ttensor **"), ffi.new("polyad_run_info *")
        try:
            status = lib.polyad_tucker(ctx.pointer, plan._handle, options, made, info)
            found = _info(info, len(plan.shape), plan) if status == lib.POLYAD_OK else {}
        finally:
            lib.polyad_run_info_clear(info)
        if status != lib.POLYAD_OK:
            ctx.finish()
            ctx.check(status)
        model = TuckerTensor._wrap(ctx, made[0])
        ctx.finish()
    del kept
    found["seconds_ttmc"] = found.pop("seconds_mttkrp")
    for name in ("best_restart", "regularized_solves"):
        found.pop(name, None)
    model.info = found
    if tensor is not None:
        model.labels, model.mode_names = list(tensor.labels), tensor.mode_names
    return model


def _initial(options: Any, init: Any, plan: Plan, ranks: tuple[int, ...]) -> list[Any]:
    """Sets how the first factors are found; what is returned must live until the call."""
    if isinstance(init, str):
        words = {"random": lib.POLYAD_INIT_RANDOM, "hosvd": lib.POLYAD_INIT_HOSVD,
                 "nvecs": lib.POLYAD_INIT_HOSVD}
        if init not in words:
            raise ValueError(f"init {init!r} is unknown; expected 'hosvd', 'random', a "
                             "TuckerTensor or a list of matrices")
        options.init = words[init]
        return []
    factors = init.factors if isinstance(init, TuckerTensor) else list(init)
    if len(factors) != len(ranks):
        raise ValueError(f"init has {len(factors)} factors; expected {len(ranks)}")
    model = TuckerTensor(np.zeros(ranks, plan.dtype), [np.asarray(f, plan.dtype) for f in factors])
    options.init = lib.POLYAD_INIT_MODEL
    owner = model._c()
    options.initial = owner[1]
    return [owner]


def ttmc(x: Any, factors: Sequence[npt.ArrayLike] | TuckerTensor, mode: int, *,
         device: str = "auto", format: str = "auto", precision: str = "f64",
         threads: int | None = None, variant: str = "auto") -> npt.NDArray[Any]:
    """Tensor times matrix in every mode but one: X ×_m A_mᵀ (Kolda and Bader 2009, section 2.5).

    Parameters
    ----------
    x : SparseTensor or Plan (or what can be made into a SparseTensor)
    factors : sequence of array_like, shape (I_n, R_n)
        One matrix per mode; that of ``mode`` is not read.
    mode : int
        0-based.
    device, format, precision, threads, variant
        As in :class:`Plan`.

    Returns
    -------
    ndarray, shape (I_mode, R of every other mode in turn)
    """
    matrices: list[Any] = list(factors.factors if isinstance(factors, TuckerTensor) else factors)
    _, plan = _plan(x, 16, format=format, precision=precision, device=device, threads=threads,
                    variant=variant, kernel="ttmc")
    return plan.ttmc(matrices, mode)
