"""CP decomposition of counts."""

from __future__ import annotations

from typing import Any, Literal

from ._arguments import idle, known
from ._context import Callback, index, real, switch
from ._model import KruskalTensor
from ._native import ffi, lib
from ._plan import Plan
from ._run import decompose, run_info, trace_rows
from ._types import APRAlgorithm, CPLike, Matrices, OnInterrupt, Precision, Seed


def cp_apr(x: Any, rank: int | None = None, *, algorithm: APRAlgorithm = "mu", tol: float = 1e-4,
           max_iters: int = 1000, inner_iters: int = 10, max_seconds: float = 0.0,
           init: Literal["random"] | KruskalTensor | Matrices | CPLike = "random",
           seed: Seed = 0, restarts: int = 1, keep_starts: bool = False,
           epsilon: float = 1e-10, store_pi: bool = False,
           kappa: float = 1e-2, kappa_tol: float = 1e-10, active_tol: float = 1e-8, damping: float = 1e-5,
           inexact: bool = True, memory: int = 3, device: str = "auto", format: str = "auto",
           precision: Precision | None = None, threads: int | None = None, variant: str = "auto",
           checkpoint: Any = None, checkpoint_every: int = 10, resume: Any = None,
           callback: Callback | None = None, verbose: bool = False,
           on_interrupt: OnInterrupt = "raise", comm: Any = None) -> KruskalTensor:
    """CP decomposition of counts by alternating Poisson regression.

    Maximises the Poisson log-likelihood (Chi and Kolda 2012; Hansen, Plantenga and Kolda 2015).
    From the same first model the iterates are those of the Tensor Toolbox's ``cp_apr``. At the
    end factors are nonnegative with columns of 1-norm one, and components are sorted by weight.
    A negative value is an error that names the first one.

    Parameters
    ----------
    x : SparseTensor, Plan, NumPy array, or a sparse tensor of another package
    rank : int, optional
        Number of components. Default: that of a Plan, else 16.
    algorithm : {"mu", "pdnr", "pqnr"}
        Multiplicative updates, or projected damped Newton or quasi-Newton steps on every row.
    tol : float
        Converged when no mode (row) violates the optimality conditions by this much.
    max_iters, inner_iters : int
        Limits on outer iterations and on those of each mode (row) within one.
    max_seconds : float
        Limit on time; 0: none.
    init : "random", a Kruskal tensor or sequence of matrices
        First model; weights of a Kruskal tensor (of this package, pyttb or TensorLy) count.
    seed : int, NumPy generator or None
        As in :func:`cp_als`.
    restarts : int
        Number of starts; that of the highest log-likelihood is returned.
    keep_starts : bool
        Keep the model of every start: ``[start["model"] for start in model.info["starts"]]``.
    epsilon : float
        Least divisor.
    store_pi : bool
        "mu": store the rows of Pi instead of making them on the fly.
    kappa, kappa_tol : float
        "mu": what is added to inadmissible zeros, and how small those are.
    active_tol : float
        "pdnr", "pqnr": entries up to it can be held at zero.
    damping, inexact
        "pdnr": first damping of the Hessian; whether rows are solved loosely at first.
    memory : int
        "pqnr": pairs that L-BFGS keeps.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    checkpoint, checkpoint_every, resume
        File that keeps the state, how often, and a file to go on from.
    callback : callable, optional
        Called after each outer iteration with a dict (``iteration``, ``log_likelihood``,
        ``kkt_violation``, ``seconds``, …); a true result ends the run.
    verbose : bool
        Show a bar of tqdm where it is installed, else a line of progress.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does, as in :func:`cp_als`.
    comm : mpi4py.MPI.Comm, optional
        As in :func:`cp_als`, with algorithm "mu".

    Returns
    -------
    KruskalTensor
        With ``info``: ``log_likelihood``, ``kkt_violation``, ``fit``, ``iterations``,
        ``converged``, ``reason``, ``seconds``, ``seconds_phi``, ``seconds_pi``,
        ``seconds_kkt``, ``seconds_mu`` (one per mode), ``trace``, ``format``; times in seconds.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    methods = {"mu": lib.POLYAD_APR_MU, "pdnr": lib.POLYAD_APR_PDNR, "pqnr": lib.POLYAD_APR_PQNR}
    if not known(algorithm, methods):
        raise ValueError(f"algorithm {algorithm!r} is unknown; expected 'mu', 'pdnr' or 'pqnr'")
    options = ffi.new("polyad_cp_apr_options *")
    lib.polyad_cp_apr_options_init(options)
    options.method = methods[algorithm]
    options.max_inner_iterations = index(inner_iters, "inner_iters")
    for name, value in (("epsilon", epsilon), ("kappa", kappa), ("kappa_tol", kappa_tol), ("active_tol", active_tol),
                        ("damping", damping)):
        setattr(options, name.replace("_tol", "_tolerance"), real(value, name))
    options.store_pi = switch(store_pi, "store_pi")
    options.inexact, options.memory = switch(inexact, "inexact"), index(memory, "memory")
    if algorithm != "mu":
        idle(cp_apr, 'algorithm="mu"', kappa=kappa, kappa_tol=kappa_tol, store_pi=store_pi)
    if algorithm != "pdnr":
        idle(cp_apr, 'algorithm="pdnr"', damping=damping, inexact=inexact)
    if algorithm != "pqnr":
        idle(cp_apr, 'algorithm="pqnr"', memory=memory)
    if algorithm == "mu":
        idle(cp_apr, 'algorithm="pdnr" and "pqnr"', active_tol=active_tol)
    choice = {"format": format, "precision": precision, "device": device, "threads": threads,
              "variant": variant, "comm": comm, "kernel": "phi"}
    run = {"tol": tol, "max_iters": max_iters, "max_seconds": max_seconds, "init": init,
           "restarts": restarts, "keep_starts": keep_starts, "checkpoint": checkpoint,
           "checkpoint_every": checkpoint_every,
           "resume": resume, "seed": seed, "callback": callback, "verbose": verbose,
           "on_interrupt": on_interrupt}
    return decompose(x, rank, choice, lib.polyad_cp_apr, options, run, _apr_info)


def _apr_info(info: Any, plan: Plan) -> dict[str, Any]:
    found = run_info(info, plan)
    del found["seconds_mttkrp"], found["regularized_solves"], found["diagnosis"]
    modes = range(len(plan.shape))
    found["seconds_phi"] = [info.seconds_phi[mode] for mode in modes]
    found["seconds_pi"] = [info.seconds_pi[mode] for mode in modes]
    found["seconds_kkt"] = [info.seconds_kkt[mode] for mode in modes]
    found["seconds_mu"] = [info.seconds_mu[mode] for mode in modes]
    found["log_likelihood"], found["kkt_violation"] = info.log_likelihood, info.kkt_violation
    found["trace"] = trace_rows(info, ("iteration", "log_likelihood", "kkt_violation", "seconds",
                                       "inner_iterations"))
    return found
