"""Decompositions and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._context import Callback, Context, context, encode, index
from ._errors import text
from ._memory import DTYPES, pointer, precision_type
from ._model import KruskalTensor, take_labels
from ._native import ffi, lib
from ._progress import ProgressLine
from ._tensor import SparseTensor, as_tensor


_KERNELS = {"mttkrp": lib.POLYAD_KERNEL_MTTKRP, "ttmc": lib.POLYAD_KERNEL_TTMC}


class Plan:
    """A tensor stored in one format on one device, ready for many kernel calls.

    Parameters
    ----------
    x : SparseTensor (or what can be made into one)
    rank : int
        Number of columns the kernels will be called with.
    format : str
        "auto" or a name of :func:`formats`.
    precision : {"f64", "f32"}
    device : str
        "auto", "cpu", "cuda", "cuda:1".
    threads : int, optional
        Default: all processors this process may use.
    variant : str
        "auto" or a variant of the format.
    kernel : {"mttkrp", "ttmc"}
        The kernel that the format must have.
    """

    def __init__(self, x: Any, rank: int = 16, *, format: str = "auto", precision: str = "f64",
                 device: str = "auto", threads: int | None = None, variant: str = "auto",
                 kernel: str = "mttkrp") -> None:
        if kernel not in _KERNELS:
            raise ValueError(f"kernel {kernel!r} is unknown; expected 'mttkrp' or 'ttmc'")
        tensor = as_tensor(x)
        self.threads, self.device_asked = threads, device
        self._context = ctx = context()
        ctx.configure(threads=threads, device=device)
        options = ffi.new("polyad_plan_options *")
        lib.polyad_plan_options_init(options)
        kept = [ffi.new("char[]", encode(format, "format")),
                ffi.new("char[]", encode(variant, "variant"))]
        options.format, options.variant = kept
        options.rank, options.precision = _rank(rank), precision_type(precision)
        options.kernel = _KERNELS[kernel]
        made = ffi.new("polyad_plan **")
        ctx.check(lib.polyad_plan_create(ctx.pointer, tensor._handle, options, made))
        self._handle = ffi.gc(made[0], lib.polyad_plan_destroy)
        self.shape = tensor.shape
        self.dtype = np.dtype(DTYPES[options.precision])

    @property
    def format(self) -> str:
        """Name of the chosen format."""
        return text(lib.polyad_plan_format(self._handle))

    @property
    def device(self) -> str:
        """Name of the device that holds the plan."""
        return text(lib.polyad_plan_device(self._handle))

    @property
    def nbytes(self) -> int:
        """Bytes that the stored tensor takes."""
        return int(lib.polyad_plan_bytes(self._handle))

    @property
    def explanation(self) -> str:
        """The choice of format, the other candidates, and why."""
        return text(lib.polyad_plan_explanation(self._handle))

    def _matrices(self, factors: Sequence[npt.ArrayLike],
                  mode: int) -> tuple[int, list[npt.NDArray[Any]]]:
        order = len(self.shape)
        mode = index(mode, "mode")
        if not -order <= mode < order:
            raise ValueError(f"mode {mode} does not exist; the tensor has {order} modes")
        if len(factors) != order:
            raise ValueError(f"{len(factors)} factors are given; expected {order}")
        return mode % order, [np.ascontiguousarray(factor, self.dtype) for factor in factors]

    def ttmc(self, factors: Sequence[npt.ArrayLike], mode: int) -> npt.NDArray[Any]:
        """See :func:`ttmc`."""
        mode, matrices = self._matrices(factors, mode)
        for m, matrix in enumerate(matrices):
            if m != mode and (matrix.ndim != 2 or len(matrix) != self.shape[m]):
                raise ValueError(f"factor {m} has shape {matrix.shape}; expected "
                                 f"({self.shape[m]}, R_{m})")
        others = [m for m in range(len(self.shape)) if m != mode]
        ranks = [1 if m == mode else matrices[m].shape[1] for m in range(len(self.shape))]
        ctx = context()
        ctx.configure(threads=self.threads, device=self.device_asked)
        made, columns = ffi.new("polyad_workspace **"), ffi.new("uint64_t *")
        ctx.check(lib.polyad_ttmc_columns(ctx.pointer, self._handle, ranks, mode, columns))
        ctx.check(lib.polyad_ttmc_workspace_create(ctx.pointer, self._handle, ranks, made))
        try:
            out = np.empty((self.shape[mode], *[ranks[m] for m in others]), self.dtype)
            pointers = ffi.new("void *[]", [pointer(matrix) for matrix in matrices])
            ctx.check(lib.polyad_ttmc(ctx.pointer, self._handle, made[0], mode, pointers,
                                      pointer(out)))
        finally:
            lib.polyad_workspace_destroy(made[0])
        return out

    def mttkrp(self, factors: Sequence[npt.ArrayLike], mode: int) -> npt.NDArray[Any]:
        """See :func:`mttkrp`."""
        mode, matrices = self._matrices(factors, mode)
        order = len(self.shape)
        rank = matrices[0 if mode else order - 1].shape[-1]
        for m, matrix in enumerate(matrices):
            if m != mode and matrix.shape != (self.shape[m], rank):
                raise ValueError(f"factor {m} has shape {matrix.shape}; expected "
                                 f"({self.shape[m]}, {rank})")
        out = np.empty((self.shape[mode], rank), self.dtype)
        ctx = context()
        ctx.configure(threads=self.threads, device=self.device_asked)
        made = ffi.new("polyad_workspace **")
        ctx.check(lib.polyad_workspace_create(ctx.pointer, self._handle, rank, made))
        try:
            pointers = ffi.new("void *[]", [pointer(matrix) for matrix in matrices])
            ctx.check(lib.polyad_mttkrp(ctx.pointer, self._handle, made[0], mode, pointers,
                                        pointer(out)))
        finally:
            lib.polyad_workspace_destroy(made[0])
        return out


def _plan(x: Any, rank: int, **choice: Any) -> tuple[SparseTensor | None, Plan]:
    """The tensor behind `x` and a plan for it, kept with the tensor for the next call."""
    if isinstance(x, Plan):
        return None, x
    tensor = as_tensor(x)
    key = tuple(sorted(choice.items())) + (rank,)
    if key not in tensor._plans:
        tensor._plans.clear()
        tensor._plans[key] = Plan(tensor, rank, **choice)
    return tensor, tensor._plans[key]


def _rank(rank: Any) -> int:
    number = index(rank, "rank")
    if number < 1:
        raise ValueError(f"rank {number} is not possible; expected at least 1")
    return number


def cp_als(x: Any, rank: int = 16, *, tol: float = 1e-4, max_iters: int = 50,
           max_seconds: float = 0.0, init: str | KruskalTensor | Sequence[npt.ArrayLike] = "random",
           seed: int = 0, restarts: int = 1, nonnegative: bool = False, ridge: float = 0.0,
           device: str = "auto", format: str = "auto", precision: str = "f64",
           threads: int | None = None, variant: str = "auto", checkpoint: Any = None,
           checkpoint_every: int = 10, resume: Any = None, callback: Callback | None = None,
           verbose: bool = False) -> KruskalTensor:
    """CP decomposition by alternating least squares (Kolda and Bader 2009, figure 3.3).

    From the same initial factors the iterates are those of the Tensor Toolbox's and pyttb's
    ``cp_als``. At the end columns have 2-norm one, components are sorted by weight and signs
    are fixed. Ctrl-C ends the run after the current iteration and returns the model so far
    (``info["reason"] == "cancelled"``).

    Parameters
    ----------
    x : SparseTensor, Plan, NumPy array, or a sparse tensor of another package
    rank : int
        Number of components.
    tol : float
        Stop when the fit changes by less; 0: never.
    max_iters : int
        Limit on iterations.
    max_seconds : float
        Limit on time; 0: none.
    init : {"random", "hosvd"}, KruskalTensor or sequence of matrices
        First factors.
    seed : int
        Seed of random factors: the same seed gives the same bits.
    restarts : int
        Number of starts; the best is returned.
    nonnegative : bool
        Keep factors nonnegative (HALS).
    ridge : float
        Added to the diagonal of the normal equations.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    checkpoint, checkpoint_every, resume
        File that keeps the state, how often, and a file to go on from.
    callback : callable, optional
        Called after each iteration with a dict (``iteration``, ``fit``, ``change``,
        ``seconds``, …); a true result ends the run.
    verbose : bool
        Show a line of progress.

    Returns
    -------
    KruskalTensor
        With ``info``: ``fit``, ``iterations``, ``converged``, ``reason``, ``seconds``,
        ``seconds_mttkrp``, ``regularized_solves``, ``diagnosis``, ``trace``, ``format``.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    options = ffi.new("polyad_cp_als_options *")
    lib.polyad_cp_als_options_init(options)
    options.ridge, options.nonnegative = float(ridge), int(nonnegative)
    choice = {"format": format, "precision": precision, "device": device, "threads": threads,
              "variant": variant}
    run = {"tol": tol, "max_iters": max_iters, "max_seconds": max_seconds, "init": init,
           "restarts": restarts, "checkpoint": checkpoint, "checkpoint_every": checkpoint_every,
           "resume": resume, "seed": seed, "callback": callback, "verbose": verbose}
    return _decompose(x, rank, choice, lib.polyad_cp_als, options, run, _info)


def _decompose(x: Any, rank: Any, choice: dict[str, Any], function: Any, options: Any,
               run: dict[str, Any], report: Any) -> KruskalTensor:
    """What all CP methods share: a plan as `choice` asks, the options in `run`, the call."""
    rank = _rank(rank)
    if isinstance(x, Plan):
        if choice["threads"] is None:
            choice["threads"] = x.threads
        if choice["device"] == "auto":
            choice["device"] = x.device_asked
    tensor, plan = _plan(x, rank, **choice)
    options.rank, options.tolerance = rank, float(run["tol"])
    options.max_iterations = index(run["max_iters"], "max_iters")
    options.max_seconds = float(run["max_seconds"])
    options.restarts = index(run["restarts"], "restarts")
    options.checkpoint_every = index(run["checkpoint_every"], "checkpoint_every")
    kept = _initial(options, run["init"], plan)
    for name in ("checkpoint", "resume"):
        if run[name] is not None:
            kept.append(ffi.new("char[]", encode(run[name], name)))
            setattr(options, name, kept[-1])
    with ProgressLine(run["verbose"]) as progress:
        ctx = context()
        # Without a callback of the caller's the empty one still lets Ctrl-C through.
        ctx.configure(threads=choice["threads"], device=choice["device"], seed=run["seed"],
                      verbose=run["verbose"], callback=progress.wrap(run["callback"]))
        made, info = ffi.new("polyad_ktensor **"), ffi.new("polyad_run_info *")
        try:
            status = function(ctx.pointer, plan._handle, options, made, info)
            found = report(info, len(plan.shape), plan) if status == lib.POLYAD_OK else {}
        finally:
            lib.polyad_run_info_clear(info)
        if status != lib.POLYAD_OK:
            ctx.finish()
            ctx.check(status)
        model = KruskalTensor._wrap(ctx, made[0])
        ctx.finish()
    model.info = found
    if tensor is not None:
        take_labels(model, tensor)
    return model


def _initial(options: Any, init: Any, plan: Plan) -> list[Any]:
    """Sets how the first factors are found; what is returned must live until the call."""
    if isinstance(init, str):
        words = {"random": lib.POLYAD_INIT_RANDOM, "hosvd": lib.POLYAD_INIT_HOSVD,
                 "nvecs": lib.POLYAD_INIT_HOSVD}
        if init not in words:
            raise ValueError(f"init {init!r} is unknown; expected 'random', 'hosvd', a "
                             "KruskalTensor or a list of matrices")
        options.init = words[init]
        return []
    if not isinstance(init, KruskalTensor):
        init = KruskalTensor(None, init)
    model = KruskalTensor(init.weights, [np.asarray(f, plan.dtype) for f in init.factors])
    options.init = lib.POLYAD_INIT_MODEL
    owner = model._c()
    options.initial = owner[1]
    return [owner]


def _info(info: Any, order: int, plan: Plan) -> dict[str, Any]:
    rows = [info.trace[i] for i in range(info.trace_rows)]
    return {
        "fit": info.fit, "iterations": info.iterations, "converged": bool(info.converged),
        "reason": text(lib.polyad_reason_string(info.reason)), "seconds": info.seconds,
        "seconds_per_iteration": info.seconds_per_iteration,
        "seconds_mttkrp": [info.seconds_mttkrp[mode] for mode in range(order)],
        "best_restart": info.best_restart, "regularized_solves": int(info.regularized_solves),
        "diagnosis": text(info.diagnosis), "format": plan.format, "device": plan.device,
        "trace": [{"iteration": row.iteration, "fit": row.fit, "residual": row.residual,
                   "seconds": row.seconds} for row in rows],
    }


def mttkrp(x: Any, factors: Sequence[npt.ArrayLike] | KruskalTensor, mode: int, *,
           device: str = "auto", format: str = "auto", precision: str = "f64",
           threads: int | None = None, variant: str = "auto") -> npt.NDArray[Any]:
    """Matricised tensor times Khatri-Rao product (Kolda and Bader 2009, section 2.6).

    Parameters
    ----------
    x : SparseTensor or Plan (or what can be made into a SparseTensor)
    factors : sequence of array_like, shape (I_n, R)
        One matrix per mode; that of ``mode`` is not read. The weights of a KruskalTensor are
        left out.
    mode : int
        0-based.
    device, format, precision, threads, variant
        As in :class:`Plan`.

    Returns
    -------
    ndarray, shape (I_mode, R)
    """
    matrices: list[Any] = list(
        factors.factors if isinstance(factors, KruskalTensor) else factors)
    if len(matrices) < 1:
        raise ValueError("no factors are given")
    other = np.asarray(matrices[0 if index(mode, "mode") % len(matrices) else -1])
    rank = other.shape[-1] if other.ndim == 2 else 1
    _, plan = _plan(x, _rank(rank), format=format, precision=precision, device=device,
                    threads=threads, variant=variant)
    return plan.mttkrp(matrices, mode)


def norm(x: SparseTensor | KruskalTensor) -> float:
    """Frobenius norm of a sparse or Kruskal tensor."""
    return x.norm() if isinstance(x, KruskalTensor) else as_tensor(x).norm()


def innerprod(x: Any, model: KruskalTensor) -> float:
    """Inner product of a sparse tensor and a Kruskal tensor."""
    return model.innerprod(x)


def generate(shape: Sequence[int] | None = None, nnz: int | None = None, *,
             like: str | None = None, scale: float = 1.0,
             skew: float | Sequence[float] = 0.0, cluster: float = 0.0, rank: int = 0,
             noise: float = 0.0, poisson: bool = False, seed: int = 0,
             precision: str = "f64",
             threads: int | None = None) -> tuple[SparseTensor, KruskalTensor | None]:
    """A synthetic tensor, and the model behind it where there is one.

    Parameters
    ----------
    shape, nnz : sequence of int, int
        Length of each mode and number of distinct nonzeros (without ``like``).
    like : str, optional
        Name of a published tensor whose shape, size and skew are imitated.
    scale : float
        With ``like``: multiplies the number of nonzeros.
    skew : float or one per mode
        Exponent of the power law that indices follow; 0: uniform.
    cluster : float
        Share of nonzeros that continue a fiber, 0 to below 1.
    rank : int
        Not 0: values come from a random model of this rank.
    noise : float
        With ``rank``: Gaussian noise, relative to the signal.
    poisson : bool
        With ``rank``: values are Poisson counts of the model.
    seed, precision, threads
        The same seed gives the same tensor for every number of threads.

    Returns
    -------
    (SparseTensor, KruskalTensor or None)
    """
    options = ffi.new("polyad_generate_options *")
    lib.polyad_generate_options_init(options)
    kept = []
    if like is not None:
        kept.append(ffi.new("char[]", encode(like, "like")))
        options.like, options.scale = kept[-1], float(scale)
    else:
        if shape is None or nnz is None:
            raise ValueError("give shape and nnz, or the name of a tensor as like")
        if not 1 <= len(shape) <= lib.POLYAD_MAX_ORDER:
            raise ValueError(f"shape has {len(shape)} lengths; expected 1 to "
                             f"{lib.POLYAD_MAX_ORDER}")
        options.order, options.nnz = len(shape), index(nnz, "nnz")
        exponents = [float(skew)] * len(shape) if isinstance(skew, (int, float)) else list(skew)
        if len(exponents) != len(shape):
            raise ValueError(f"skew has {len(exponents)} numbers; expected {len(shape)}")
        for mode, length in enumerate(shape):
            options.dims[mode], options.skew[mode] = index(length, "shape"), exponents[mode]
    options.cluster, options.rank = float(cluster), index(rank, "rank")
    options.noise, options.poisson = float(noise), int(poisson)
    options.type = precision_type(precision)
    ctx: Context = context()
    ctx.configure(threads=threads, seed=seed)
    tensor, truth = ffi.new("polyad_tensor **"), ffi.new("polyad_ktensor **")
    ctx.check(lib.polyad_generate(ctx.pointer, options, tensor,
                                  truth if rank else ffi.NULL))
    model = KruskalTensor._wrap(ctx, truth[0]) if truth[0] != ffi.NULL else None
    return SparseTensor._wrap(ctx, tensor[0]), model


def formats() -> list[dict[str, Any]]:
    """The storage formats of this build: name, summary, paper, devices, kernels, variants."""
    found, about = [], ffi.new("polyad_format_description *")
    for which in range(lib.polyad_format_count()):
        if lib.polyad_format_describe(which, about) == lib.POLYAD_OK:
            found.append({name: text(getattr(about, name)) for name in
                          ("name", "summary", "paper", "devices", "kernels", "variants")})
    return found


def devices() -> list[dict[str, Any]]:
    """The devices that this build and machine can use."""
    ctx, about = context(), ffi.new("polyad_device_description *")
    found = []
    for which in range(lib.polyad_device_count(ctx.pointer)):
        ctx.check(lib.polyad_device_describe(ctx.pointer, which, about))
        found.append({"name": text(about.name), "description": text(about.description),
                      "processors": about.processors, "memory_bytes": int(about.memory_bytes),
                      "cache_bytes": int(about.cache_bytes), "capability": text(about.capability)})
    return found


def version() -> str:
    """Version of the C library that is loaded."""
    return text(lib.polyad_version())
