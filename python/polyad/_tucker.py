"""Tucker decomposition: the algorithm and its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import items, known, single
from ._context import Callback, context, index, real
from ._convert import reals
from ._errors import Interrupted
from ._model import rows_in_order_of
from ._native import ffi, lib
from ._plan import Plan, plan_of
from ._run import choose, execute, expected_sweeps, initial, run_info, run_options
from ._tucker_model import TuckerTensor, tucker_factors
from ._types import (CPInit, Floats, Matrices, OnInterrupt, Precision, Seed, Svd,
                     TuckerLike)

_SVDS = {"exact": lib.POLYAD_SVD_EXACT, "randomized": lib.POLYAD_SVD_RANDOMIZED}


def tucker_ranks(x: Any, energy: float = 0.95, *, device: str = "auto", format: str = "auto",
                 precision: Precision | None = None, threads: int | None = None,
                 variant: str = "auto") -> tuple[int, ...]:
    """Ranks of the smallest core found whose model keeps at least the share ``energy`` of ||X||².

    They are chosen jointly: first the truncated HOSVD of the fewest cells is found, then smaller
    cores are tried by higher-order orthogonal iteration. Only ranks whose decomposition fits in
    memory are chosen; where none keep the share, the error tells how much can be kept. Ctrl-C ends
    the search.

    Parameters
    ----------
    x : SparseTensor, Plan, NumPy array, or a sparse tensor of another package
    energy : float
        Above 0, at most 1.
    device, format, precision, threads, variant
        As in :class:`Plan`.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    _, plan = plan_of(x, 16, format=format, precision=precision, device=device, threads=threads,
                      variant=variant, kernel="ttmc")
    ranks, ctx = ffi.new("uint64_t[]", len(plan.shape)), context()
    ctx.configure(threads=plan.threads if threads is None else threads, device=plan.device_asked)
    status = ctx.run(lib.polyad_tucker_ranks, plan._handle, real(energy, "energy"), ranks)
    if ctx.interrupted:
        raise Interrupted("interrupted while ranks were being chosen")
    ctx.check(status)
    return tuple(int(rank) for rank in ranks)


def _energy(ranks: Any) -> float:
    """The share in "auto:X"; 0 where ranks are given as numbers."""
    if not isinstance(ranks, str):
        return 0.0
    word, _, share = ranks.partition(":")
    energy = 0.0
    if word == "auto":
        try:
            energy = float(share or 0.95)
        except ValueError:
            pass
    if not 0 < energy <= 1:
        raise ValueError(f"ranks {ranks!r} is unknown; expected 'auto' or 'auto:X' with X above 0 "
                         "and at most 1")
    return energy


def _ranks(ranks: Any, plan: Plan) -> tuple[int, ...]:
    order = len(plan.shape)
    given = ([index(ranks, "ranks")] * order if single(ranks) else
             [index(rank, "ranks") for rank in items(ranks, "ranks", "numbers")])
    if len(given) != order:
        raise ValueError(f"{len(given)} ranks are given; expected {order}")
    for mode, rank in enumerate(given):
        if not 1 <= rank <= plan.shape[mode]:
            raise ValueError(f"rank {rank} of mode {mode} is not possible; expected 1 to "
                             f"{plan.shape[mode]}")
    return tuple(given)


def tucker(x: Any, ranks: int | str | Sequence[int], *, tol: float = 1e-4, max_iters: int = 50,
           max_seconds: float = 0.0,
           init: CPInit | TuckerTensor | Matrices | TuckerLike = "hosvd",
           svd: Svd = "exact", seed: Seed = 0, device: str = "auto", format: str = "auto",
           precision: Precision | None = None, threads: int | None = None, variant: str = "auto",
           callback: Callback | None = None, verbose: bool = False,
           on_interrupt: OnInterrupt = "raise") -> TuckerTensor:
    """Tucker decomposition by higher-order orthogonal iteration (Kolda and Bader 2009, figure 4.4).

    From the same initial factors the iterates are those of the Tensor Toolbox's and pyttb's
    ``tucker_als``. Factors are orthonormal; the entry of largest magnitude of each column is
    positive.

    Parameters
    ----------
    x : SparseTensor, Plan (with ``kernel="ttmc"``), NumPy array, or a sparse tensor of another
        package
    ranks : sequence of int, int, or "auto:0.95"
        Columns of each mode's factor; one number for all modes; or the smallest core found that
        keeps this share of ||X||² (see :func:`tucker_ranks`; needs the default ``init`` and
        ``svd``).
    tol : float
        Stop when the fit grows by less; 0: never.
    max_iters : int
        Limit on iterations; 0, with the default ``init``: the HOSVD alone.
    max_seconds : float
        Limit on time; 0: none.
    init : {"hosvd", "random"}, a Tucker tensor or sequence of matrices
        First factors; a Tucker tensor of this package, pyttb or TensorLy.
    svd : {"exact", "randomized"}
        How singular vectors are found.
    seed : int, NumPy generator or None
        Of everything random; as in :func:`cp_als`.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    callback : callable, optional
        Called after each iteration with a dict (``iteration``, ``fit``, ``change``,
        ``seconds``, …); a true result ends the run.
    verbose : bool
        Show a bar of tqdm where it is installed, else a line of progress.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does, as in :func:`cp_als`.

    Returns
    -------
    TuckerTensor
        With ``info``: ``fit``, ``iterations``, ``converged``, ``reason``, ``seconds``,
        ``seconds_ttmc`` (one per mode), ``diagnosis``, ``trace``, ``format``; times in seconds.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    choice = {"format": format, "precision": precision, "device": device, "threads": threads,
              "variant": variant, "kernel": "ttmc"}
    run = {"tol": tol, "max_iters": max_iters, "max_seconds": max_seconds, "seed": seed,
           "callback": callback, "verbose": verbose, "on_interrupt": on_interrupt}
    options = ffi.new("polyad_tucker_options *")
    lib.polyad_tucker_options_init(options)
    kept = run_options(options.run, run)
    tensor, plan = choose(x, 16, choice, expected_sweeps(choice, options.run))
    options.energy = _energy(ranks)
    wanted = () if options.energy else _ranks(ranks, plan)
    if options.energy and not isinstance(init, str):
        raise ValueError(f"ranks {ranks!r} bring first factors of their own; expected init 'hosvd'")
    for mode, rank in enumerate(wanted):
        options.ranks[mode] = rank
    if not known(svd, _SVDS):
        raise ValueError(f"svd {svd!r} is unknown; expected 'exact' or 'randomized'")
    options.svd = _SVDS[svd]

    def first() -> TuckerTensor:
        factors = tucker_factors(init)
        if len(factors) != len(wanted):
            raise ValueError(f"init has {len(factors)} factors; expected {len(wanted)}")
        typed = [np.asarray(reals(f, f"factor {m} of init"), plan.dtype) for m, f in enumerate(factors)]
        core = np.zeros(wanted, plan.dtype)
        if isinstance(init, TuckerTensor):
            return TuckerTensor(core, typed, labels=init.labels, mode_names=init.mode_names)
        return TuckerTensor(core, typed)

    kept += initial(options, init, "TuckerTensor", first, plan if tensor is None else tensor)
    model = execute(TuckerTensor, lib.polyad_tucker, plan, tensor, options, choice, run,
                    _tucker_info)
    del kept
    return model


def _tucker_info(info: Any, plan: Plan) -> dict[str, Any]:
    found = run_info(info, plan)
    found["seconds_ttmc"] = found.pop("seconds_mttkrp")
    del found["best_restart"], found["regularized_solves"]
    return found


def ttmc(x: Any, factors: Sequence[npt.ArrayLike] | TuckerTensor, mode: int, *,
         device: str = "auto", format: str = "auto", precision: Precision | None = None,
         threads: int | None = None, variant: str = "auto") -> Floats:
    """Tensor times matrix in every mode but one: X ×_m A_mᵀ (Kolda and Bader 2009, section 2.5).

    Parameters
    ----------
    x : SparseTensor or Plan (or what can be made into a SparseTensor)
    factors : sequence of array_like, shape (I_n, R_n)
        One matrix per mode; that of ``mode`` is not read. Where a TuckerTensor and ``x`` have
        labels, they are matched by name.
    mode : int
        0-based.
    device, format, precision, threads, variant
        As in :class:`Plan`.

    Returns
    -------
    ndarray, shape (I_mode, R of every other mode in turn)

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    matrices: list[Any] = items(
        factors.factors if isinstance(factors, TuckerTensor) else factors, "factors", "matrices")
    tensor, plan = plan_of(x, 16, format=format, precision=precision, device=device, threads=threads,
                           variant=variant, kernel="ttmc")
    if isinstance(factors, TuckerTensor):
        rows = rows_in_order_of(plan if tensor is None else tensor, factors)
        matrices = [matrix[row] for matrix, row in zip(matrices, rows)]
    return plan.ttmc(matrices, mode, threads=threads)
