"""Decompositions and kernels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import items, known, single
from ._context import Callback, Context, context, encode, index, real, seed_number, switch
from ._convert import array
from ._errors import text
from ._factors import FactorModel
from ._memory import precision_type
from ._model import KruskalTensor, rows_in_order_of
from ._native import ffi, lib
from ._plan import plan_of, rank_argument
from ._run import decompose, run_info
from ._tensor import SparseTensor, as_tensor
from ._tucker_model import TuckerTensor
from ._types import (CPInit, CPLike, Floats, FormatInfo, FormatParameter, Loss, Matrices, Mode,
                     OnInterrupt, Precision, Seed)


def cp_als(x: Any, rank: int | None = None, *, tol: float = 1e-4, max_iters: int = 50,
           max_seconds: float = 0.0, init: CPInit | KruskalTensor | Matrices | CPLike = "random",
           seed: Seed = 0, restarts: int = 1, keep_starts: bool = False,
           nonnegative: bool | Collection[Mode] = False, ridge: float = 0.0, half_rows: bool = False,
           device: str = "auto", format: str = "auto", precision: Precision | None = None,
           threads: int | None = None, variant: str = "auto", checkpoint: Any = None,
           checkpoint_every: int = 10, resume: Any = None, callback: Callback | None = None,
           verbose: bool = False, on_interrupt: OnInterrupt = "raise",
           comm: Any = None) -> KruskalTensor:
    """CP decomposition by alternating least squares (Kolda and Bader 2009, figure 3.3).

    From the same initial factors the iterates are those of the Tensor Toolbox's and pyttb's
    ``cp_als``. At the end columns have 2-norm one, components are sorted by weight and signs
    are fixed.

    Parameters
    ----------
    x : SparseTensor, Plan, NumPy array, or a sparse tensor of another package
    rank : int, optional
        Number of components. Default: that of a Plan, else 16.
    tol : float
        Stop when the fit grows by less; 0: never.
    max_iters : int
        Limit on iterations.
    max_seconds : float
        Limit on time; 0: none.
    init : {"random", "hosvd"}, a Kruskal tensor or sequence of matrices
        First factors, or the first model; a Kruskal tensor of this package, pyttb or TensorLy. Its
        weights count; where all factors stay nonnegative, negative ones as 0.
    seed : int, NumPy generator or None
        Seed of random factors: the same integer gives the same bits. A ``numpy.random.Generator``
        or ``RandomState`` gives the next seed; None: one that nobody chose. ``info["seed"]`` has
        the number.
    restarts : int
        Number of starts; the best is returned. On the CPU they share their passes over the
        nonzeros. ``info["starts"]`` says how each ended (``objective``, the fit).
    keep_starts : bool
        Keep the model of every start: ``[start["model"] for start in model.info["starts"]]``.
    nonnegative : bool or sequence of modes
        Keep all factors nonnegative (HALS), or those of some modes, by numbers or names; the others
        are those of least squares, of any sign. ``info["nonnegative"]`` lists the modes.
    ridge : float
        Added to the diagonal of the normal equations.
    half_rows : bool
        Keep factors in bfloat16, which kernels gather at half the bytes, while the fit grows by ten
        times ``tol`` (at least 1e-4) or more, then in single precision, as the last quarter of
        ``max_iters`` is. Needs a GPU, ``precision="float32"`` and ``format`` "modecopy" or
        "twotree"; rows of ``info["trace"]`` have ``half_rows``.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    checkpoint, checkpoint_every, resume
        File that keeps the state, how often, and a file to go on from.
    callback : callable, optional
        Called after each iteration with a dict (``iteration``, ``fit``, ``change``,
        ``seconds``, …); a true result ends the run.
    verbose : bool
        Show a bar of tqdm where it is installed, else a line of progress.
    on_interrupt : {"raise", "return"}
        Ctrl-C ends the run after the current iteration: "raise" raises
        :class:`polyad.Interrupted`, a KeyboardInterrupt that has the model so far as ``model``;
        "return" returns that model (``info["reason"] == "cancelled"``).
    comm : mpi4py.MPI.Comm, optional
        Its processes share the work: x is the path of a file, or each one's share of the nonzeros
        (see :class:`Plan`). The model goes to the first process; the others get None.

    Returns
    -------
    KruskalTensor
        With ``info``: ``fit``, ``iterations``, ``converged``, ``reason``, ``seconds``,
        ``seconds_mttkrp`` (one per mode), ``regularized_solves``, ``diagnosis``, ``trace``,
        ``format``; times in seconds.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    options = ffi.new("polyad_cp_als_options *")
    lib.polyad_cp_als_options_init(options)
    options.ridge, options.half_rows = real(ridge, "ridge"), switch(half_rows, "half_rows")
    choice = {"format": format, "precision": precision, "device": device, "threads": threads,
              "variant": variant, "comm": comm}
    run = {"tol": tol, "max_iters": max_iters, "max_seconds": max_seconds, "init": init,
           "restarts": restarts, "keep_starts": keep_starts, "checkpoint": checkpoint,
           "checkpoint_every": checkpoint_every,
           "resume": resume, "seed": seed, "callback": callback, "verbose": verbose,
           "on_interrupt": on_interrupt, "nonnegative": nonnegative}
    return decompose(x, rank, choice, lib.polyad_cp_als, options, run, run_info)


def mttkrp(x: Any, factors: Sequence[npt.ArrayLike] | KruskalTensor, mode: int, *,
           device: str = "auto", format: str = "auto", precision: Precision | None = None,
           threads: int | None = None, variant: str = "auto") -> Floats:
    """Matricised tensor times Khatri-Rao product (Kolda and Bader 2009, section 2.6).

    Parameters
    ----------
    x : SparseTensor or Plan (or what can be made into a SparseTensor)
    factors : sequence of array_like, shape (I_n, R)
        One matrix per mode; that of ``mode`` is not read. The weights of a KruskalTensor are
        left out; where it and ``x`` have labels, they are matched by name.
    mode : int
        0-based.
    device, format, precision, threads, variant
        As in :class:`Plan`.

    Returns
    -------
    ndarray, shape (I_mode, R)

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    matrices: list[Any] = items(
        factors.factors if isinstance(factors, KruskalTensor) else factors, "factors", "matrices")
    if len(matrices) < 1:
        raise ValueError("no factors are given")
    other = array(matrices[0 if index(mode, "mode") % len(matrices) else -1], "one of the factors")
    rank = other.shape[-1] if other.ndim == 2 else 1
    tensor, plan = plan_of(x, rank_argument(rank), format=format, precision=precision, device=device,
                           threads=threads, variant=variant)
    if isinstance(factors, KruskalTensor):
        rows = rows_in_order_of(plan if tensor is None else tensor, factors)
        matrices = [matrix[row] for matrix, row in zip(matrices, rows)]
    return plan.mttkrp(matrices, mode, threads=threads)


def gcp_objective(x: Any, factors: Sequence[npt.ArrayLike] | KruskalTensor, loss: Loss = "poisson", *,
                  device: str = "auto", format: str = "auto",
                  precision: Precision | None = None, threads: int | None = None,
                  variant: str = "auto") -> tuple[float, list[Floats]]:
    """Loss of a CP model over all cells of a tensor, and its gradient: what an optimizer of
    generalized CP needs (Hong, Kolda and Duersch 2020). Cells without a nonzero count as 0.

    Parameters
    ----------
    x : SparseTensor or Plan (or what can be made into a SparseTensor)
        A Plan has to be made with ``kernel="phi"``.
    factors : sequence of array_like, shape (I_n, R)
        One matrix per mode. The weights of a KruskalTensor are multiplied into its first; where
        it and ``x`` have labels, they are matched by name.
    loss : {"poisson", "bernoulli-logit", "gaussian"}
        f(x, m) of a value and its model: m - x log m of counts; log(1 + e^m) - x m of values 0 and
        1, m the log-odds; (x - m)^2. The Bernoulli loss visits every cell of the grid. Values that a
        loss is not for are a ValueError: negative ones of "poisson", and of "bernoulli-logit" those
        that are neither 0 nor 1.
    device, format, precision, threads, variant
        As in :class:`Plan`.

    Returns
    -------
    objective : float
        The sum of f over all cells.
    gradients : list of ndarray, shape (I_n, R)
        Its derivatives in the factors, in the order of their rows.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    matrices: list[Any] = items(
        factors.factors if isinstance(factors, KruskalTensor) else factors, "factors", "matrices")
    if len(matrices) < 1:
        raise ValueError("no factors are given")
    if isinstance(factors, KruskalTensor):
        matrices[0] = matrices[0] * factors.weights
    first = array(matrices[0], "factor 0")
    rank = first.shape[-1] if first.ndim == 2 else 1
    tensor, plan = plan_of(x, rank_argument(rank), format=format, precision=precision, device=device,
                           threads=threads, variant=variant, kernel="phi")
    if not isinstance(factors, KruskalTensor):
        return plan.gcp_objective(matrices, loss, threads=threads)
    rows = rows_in_order_of(plan if tensor is None else tensor, factors)
    objective, found = plan.gcp_objective([matrix[row] for matrix, row in zip(matrices, rows)], loss,
                                          threads=threads)
    return objective, [gradient[np.argsort(row)] for gradient, row in zip(found, rows)]


def norm(x: Any) -> float:
    """Frobenius norm of a sparse, Kruskal or Tucker tensor."""
    return x.norm() if isinstance(x, FactorModel) else as_tensor(x).norm()


def innerprod(x: Any, y: Any) -> float:
    """Inner product: the sum of products of equal places; where both have labels, of equal names.

    Parameters
    ----------
    x, y : sparse tensors and Kruskal or Tucker tensors, of the same shape
        Two Tucker tensors, or a Kruskal and a Tucker tensor, have none here (TypeError).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When the shapes differ.
    """
    models = [each for each in (x, y) if isinstance(each, FactorModel)]
    if not models:
        return as_tensor(x).innerprod(as_tensor(y))
    kruskal = all(isinstance(model, KruskalTensor) for model in models)
    if len(models) == 2 and not kruskal:
        raise TypeError("no inner product of two models one of which is a Tucker tensor")
    model = models[0]
    assert isinstance(model, (KruskalTensor, TuckerTensor))
    return model.innerprod(y if model is x else x)


def generate(shape: Sequence[int] | None = None, nnz: int | None = None, *,
             like: str | None = None, scale: float = 1.0, structure: str = "auto",
             skew: float | Sequence[float] = 0.0, cluster: float = 0.0, rank: int = 0,
             noise: float = 0.0, poisson: bool = False, seed: Seed = 0,
             precision: Precision = "f64",
             threads: int | None = None) -> tuple[SparseTensor, KruskalTensor | None]:
    """A synthetic tensor, and the model behind it where there is one.

    Parameters
    ----------
    shape, nnz : sequence of int, int
        Length of each mode and number of distinct nonzeros (without ``like``).
    like : str, optional
        Name of a published tensor whose shape, size and structure are imitated.
    scale : float
        With ``like``: multiplies the number of nonzeros.
    structure : {"auto", "fibers", "flat"}
        With ``like``: ``"fibers"`` gives as many fibers and slices as were counted in the real
        tensor, ``"flat"`` draws from independent laws of the modes; ``"auto"`` is ``"fibers"``
        where these counts are published. With ``scale``, fibers keep their lengths.
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

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    options = ffi.new("polyad_generate_options *")
    lib.polyad_generate_options_init(options)
    structures = {"auto": lib.POLYAD_STRUCTURE_AUTO, "fibers": lib.POLYAD_STRUCTURE_FIBERS,
                  "flat": lib.POLYAD_STRUCTURE_FLAT}
    if not known(structure, structures):
        raise ValueError(f"structure {structure!r}; expected one of {', '.join(structures)}")
    options.structure = structures[structure]
    kept, scale = [], real(scale, "scale")
    if like is not None:
        if shape is not None or nnz is not None or np.any(np.not_equal(skew, 0.0)):
            raise ValueError("shape, nnz or skew found with like, whose tensor has its own")
        kept.append(ffi.new("char[]", encode(like, "like")))
        options.like, options.scale = kept[-1], scale
    else:
        if shape is None or nnz is None:
            raise ValueError("give shape and nnz, or the name of a tensor as like")
        shape = items(shape, "shape", "lengths")
        if scale != 1:
            raise ValueError("scale needs like, the name of a tensor")
        if not 1 <= len(shape) <= lib.POLYAD_MAX_ORDER:
            raise ValueError(f"shape has {len(shape)} lengths; expected 1 to "
                             f"{lib.POLYAD_MAX_ORDER}")
        options.order, options.nnz = len(shape), index(nnz, "nnz", 0)
        numbers = [skew] * len(shape) if single(skew) else items(skew, "skew", "numbers")
        exponents = [real(exponent, "skew") for exponent in numbers]
        if len(exponents) != len(shape):
            raise ValueError(f"skew has {len(exponents)} numbers; expected {len(shape)}")
        for mode, length in enumerate(shape):
            options.dims[mode], options.skew[mode] = index(length, "shape", 1), exponents[mode]
    options.cluster, options.rank = real(cluster, "cluster"), index(rank, "rank", 0)
    options.noise, options.poisson = real(noise, "noise"), switch(poisson, "poisson")
    options.type = precision_type(precision)
    ctx: Context = context()
    ctx.configure(threads=threads, seed=seed_number(seed))
    tensor, truth = ffi.new("polyad_tensor **"), ffi.new("polyad_ktensor **")
    ctx.check(lib.polyad_generate(ctx.pointer, options, tensor,
                                  truth if rank else ffi.NULL))
    model = KruskalTensor._wrap(ctx, truth[0]) if truth[0] != ffi.NULL else None
    return SparseTensor._wrap(ctx, tensor[0]), model


def formats() -> list[FormatInfo]:
    """The storage formats of this build: name, summary, paper, devices, tuned (those of the devices
    that it has kernels for which are written for its storage), deterministic (those on which the
    default variant gives the same bits every time), kernels, variants, compute (types of
    products), and parameters, a list of name, help, least, most and usual: the value by
    default, None where it depends on the tensor or the device."""
    found: list[FormatInfo] = []
    about = ffi.new("polyad_format_description *")
    for which in range(lib.polyad_format_count()):
        if lib.polyad_format_describe(which, about) == lib.POLYAD_OK:
            found.append({"name": text(about.name), "summary": text(about.summary),
                          "paper": text(about.paper), "devices": text(about.devices),
                          "tuned": text(about.tuned), "deterministic": text(about.deterministic),
                          "kernels": text(about.kernels), "variants": text(about.variants),
                          "compute": text(about.compute),
                          "parameters": [_parameter(which, k) for k in range(about.parameters)]})
    return found


def _parameter(format: int, which: int) -> FormatParameter:
    about = ffi.new("polyad_format_parameter *")
    assert lib.polyad_format_parameter_describe(format, which, about) == lib.POLYAD_OK
    return {"name": text(about.name), "help": text(about.help), "least": about.least,
            "most": about.most, "usual": about.usual or None}


def version() -> str:
    """Version of the C library that is loaded."""
    return text(lib.polyad_version())
