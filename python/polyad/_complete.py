"""Completion: CP models of tensors of which only some cells are known."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np

from ._arguments import idle, items, known, single
from ._context import Callback, context, index, real, seed_number, switch
from ._convert import reals
from ._errors import Interrupted, text
from ._match import in_terms_of
from ._model import KruskalTensor
from ._native import ffi, lib
from ._newdata import matched
from ._plan import Plan
from ._run import decompose, run_info, trace_rows
from ._tensor import SparseTensor, as_tensor
from ._types import (CompleteAlgorithm, CPLike, MatchBy, Matrices, Mode, OnInterrupt, Precision,
                     PredictionScore, Seed, Unseen)


def cp_complete(x: Any, rank: int | None = None, *, algorithm: CompleteAlgorithm = "als", weights: Any = None,
                biases: bool = False, nonnegative: bool | Collection[Mode] = False, ridge: float = 0.2,
                bias_ridge: float = 0.2, ridge_by_count: bool = False,
                validation: float | Any | None = None, patience: int = 5, learn_rate: float = 0.3,
                tol: float = 1e-4, max_iters: int = 500, max_seconds: float = 0.0,
                init: Literal["random"] | KruskalTensor | Matrices | CPLike = "random",
                seed: Seed = 0, restarts: int = 1, keep_starts: bool = False,
                precision: Precision | None = None,
                device: str = "auto", threads: int | None = None, checkpoint: Any = None,
                checkpoint_every: int = 10, resume: Any = None, callback: Callback | None = None,
                verbose: bool = False, on_interrupt: OnInterrupt = "raise") -> KruskalTensor:
    """CP decomposition of a tensor whose stored entries are all that is known of it.

    The model is fitted to the entries of ``x``, zeros that it keeps among them; all other cells are
    unknown. Of a NumPy array, cells that are NaN are unknown. It minimises the sum of
    ``weight * (x - m) ** 2`` over the entries, plus ``ridge`` times the squared norms of the factors
    and ``bias_ridge`` times those of the biases.

    Parameters
    ----------
    x : SparseTensor, Plan with ``zeros="keep"``, NumPy array, or a sparse tensor of another package
    rank : int, optional
        Number of components. Default: that of a Plan, else 16.
    algorithm : {"als", "ccd", "sgd"}
        Alternating least squares, CCD++, or stochastic gradient descent.
    weights : SparseTensor, sequence of numbers or None
        A weight for every entry: a tensor of the same cells, or numbers in the order of
        ``x.values``.
    biases : bool
        Add the entries' mean and a bias for every index of every mode. The model then has one more
        component for each mode, the last ones, with a column of equal entries in all other modes.
    nonnegative : bool or sequence of modes
        Keep the components (not the biases) nonnegative, in all modes or in some, by numbers or
        names.
    ridge, bias_ridge : float
        Regularisation of components and biases.
    ridge_by_count : bool
        Multiply the regularisation of an index by its number of entries.
    validation : float, SparseTensor or None
        A share of the entries, chosen by ``seed``, or a tensor, that the fit does not see. The
        model of the least error there is returned.
    patience : int
        Iterations without a lower validation error after which a start ends.
    learn_rate : float
        "sgd": length of the first steps.
    tol : float
        Converged when an iteration lowers the objective's root by a smaller share.
    max_iters, max_seconds
        Limits; 0 seconds: none.
    init : "random", a Kruskal tensor or sequence of matrices
        First components; weights of a Kruskal tensor count.
    seed : int, NumPy generator or None
        As in :func:`cp_als`.
    restarts : int
        Number of starts; the best is returned, by the validation error where there is one.
    keep_starts : bool
        Keep the model of every start: ``[start["model"] for start in model.info["starts"]]``.
    device : str
        As in :class:`Plan`: the CPU or a GPU with CUDA; "sgd" runs on the CPU alone.
    precision, threads
        As in :class:`Plan`.
    checkpoint, checkpoint_every, resume
        File that keeps the state, how often, and a file to go on from.
    callback, verbose, on_interrupt
        As in :func:`cp_als`.

    Returns
    -------
    KruskalTensor
        With ``info``: ``fit`` and ``rmse``, of the entries that were fitted alone (``fit_from`` is
        "observed"), ``validation_rmse`` and ``best_iteration`` (None without validation),
        ``iterations``, ``converged``, ``reason``, ``seconds``, ``trace``, ….

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    methods = {"als": lib.POLYAD_COMPLETE_ALS, "ccd": lib.POLYAD_COMPLETE_CCD,
               "sgd": lib.POLYAD_COMPLETE_SGD}
    if not known(algorithm, methods):
        raise ValueError(f"algorithm {algorithm!r} is unknown; expected 'als', 'ccd' or 'sgd'")
    if not isinstance(x, Plan):
        x = _known(x)
    options = ffi.new("polyad_cp_complete_options *")
    lib.polyad_cp_complete_options_init(options)
    options.method, options.learn_rate = methods[algorithm], real(learn_rate, "learn_rate")
    options.ridge, options.bias_ridge = real(ridge, "ridge"), real(bias_ridge, "bias_ridge")
    options.ridge_by_count, options.biases = switch(ridge_by_count, "ridge_by_count"), switch(biases, "biases")
    options.patience = index(patience, "patience")
    if algorithm != "sgd":
        idle(cp_complete, 'algorithm="sgd"', learn_rate=learn_rate)
    if not biases:
        idle(cp_complete, "biases", bias_ridge=bias_ridge)
    if validation is None:
        idle(cp_complete, "validation", patience=patience)
    kept = _observations(options, x, weights, validation)
    if algorithm == "sgd" and device == "auto" and not isinstance(x, Plan):
        device = "cpu"  # where alone it runs
    choice = {"format": "auto" if isinstance(x, Plan) else "coo", "precision": precision,
              "device": device, "threads": threads,
              "variant": "auto", "zeros": "keep"}
    run = {"tol": tol, "max_iters": max_iters, "max_seconds": max_seconds, "init": init,
           "restarts": restarts, "keep_starts": keep_starts, "checkpoint": checkpoint,
           "checkpoint_every": checkpoint_every,
           "resume": resume, "seed": seed, "callback": callback, "verbose": verbose,
           "on_interrupt": on_interrupt, "nonnegative": nonnegative}
    model = decompose(x, rank, choice, lib.polyad_cp_complete, options, run, _complete_info)
    del kept  # they had to live until now
    return model


def _known(x: Any) -> SparseTensor:
    """The known cells: of an array those that are not NaN."""
    if not isinstance(x, np.ndarray):
        return as_tensor(x)
    x = reals(x, "x")
    coords = np.argwhere(~np.isnan(x))
    return SparseTensor(coords, x[tuple(coords.T)], x.shape, zeros="keep")


def _observations(options: Any, x: Any, weights: Any, validation: Any) -> list[Any]:
    """Sets weights and validation. What is returned must live until the call."""
    kept: list[Any] = []
    if weights is not None:
        if not isinstance(weights, SparseTensor):
            if isinstance(x, Plan):
                raise TypeError("weights of a Plan's entries have to be a SparseTensor")
            given = reals(weights, "weights").astype(np.float64, copy=False)
            if given.shape != (x.nnz,):
                raise ValueError(f"weights of shape {given.shape} found; expected ({x.nnz},)")
            weights = SparseTensor(x.coords, given, x.shape, zeros="keep")
        if not isinstance(x, Plan):
            weights, _ = in_terms_of(x, weights)
        options.weights = weights._handle
        kept.append(weights)
    if isinstance(validation, numbers.Real):
        options.validation_share = real(validation, "validation")
    elif validation is not None:
        validation = as_tensor(validation)
        if not isinstance(x, Plan):
            validation, skipped = in_terms_of(x, validation, lib.POLYAD_UNSEEN_SKIP)
            if skipped:
                warnings.warn(f"{skipped} cells of validation are left out: their labels are not in x",
                              stacklevel=3)
        options.validation = validation._handle
        kept.append(validation)
    return kept


def _complete_info(info: Any, plan: Plan) -> dict[str, Any]:
    found = run_info(info, plan)
    del found["seconds_mttkrp"]
    validated = not math.isnan(info.validation_rmse)
    found["rmse"] = info.rmse
    found["validation_rmse"] = info.validation_rmse if validated else None
    found["best_iteration"] = info.best_iteration if validated else None
    names = ["iteration", "fit", "residual", "seconds"] + ["validation_rmse"] * validated
    found["trace"] = trace_rows(info, names)
    return found


def split(x: Any, shares: float | Sequence[float] = 0.1, *, negatives: int = 0, mode: Mode = -1,
          seed: Seed = 0) -> list[SparseTensor]:
    """Deals the entries of a tensor out at random.

    Parameters
    ----------
    x : SparseTensor (or what can be made into one)
    shares : float or sequence of floats
        Share of the entries that each part gets; what remains is the last part.
    negatives : int
        For every entry of the first part up to so many cells of value 0 that ``x`` does not have,
        drawn at random: what :func:`prediction_score` ranks the entries among.
    mode : int or str
        The mode in which these cells differ from the entry.
    seed : int, NumPy generator or None
        As in :func:`cp_als`.

    Returns
    -------
    list of SparseTensor
        One for each share, and the last with all other entries, each of ``x``'s shape and with its
        labels. So ``test, train = polyad.split(x, 0.1)``.
    """
    tensor = as_tensor(x)
    parts_asked = [shares] if single(shares) else items(shares, "shares", "numbers")
    wanted = [real(share, "shares") for share in parts_asked]
    differing, zeros = tensor._mode(mode), index(negatives, "negatives")
    if zeros == 0:
        idle(split, "negatives", mode=mode)
    made = ffi.new("polyad_tensor *[]", len(wanted) + 1)
    ctx = context()
    ctx.configure(seed=seed_number(seed))
    ctx.check(lib.polyad_tensor_split(ctx.pointer, tensor._handle, len(wanted), wanted, made))
    parts = [SparseTensor._wrap(ctx, handle) for handle in made]
    if zeros != 0:
        more = ffi.new("polyad_tensor **")
        ctx.check(lib.polyad_tensor_add_negatives(ctx.pointer, parts[0]._handle, tensor._handle,
                                                  zeros, differing, more))
        parts[0] = SparseTensor._wrap(ctx, more[0])
    for part in parts:
        part._remember(tensor)
    return parts


def prediction_score(model: KruskalTensor, x: Any, *, mode: Mode = -1, k: int = 10,
                     match: MatchBy = "auto", unseen: Unseen = "error", threads: int | None = None,
                     device: str = "auto") -> PredictionScore:
    """How well a model predicts the entries of a tensor, zeros that it keeps among them.

    Cells that differ in one mode alone are a group, within which the model ranks those above 0
    among those of value 0 (as :func:`split` adds them). The values themselves are
    ``model.reconstruct(x.coords)``.

    Parameters
    ----------
    model : KruskalTensor
    x : SparseTensor (or what can be made into one)
    mode : int or str
        The mode in which cells of a group differ.
    k : int
        Length of the top lists.
    match, unseen
        As in :meth:`KruskalTensor.project`.
    threads, device
        As in :class:`Plan`.

    Returns
    -------
    dict
        ``count`` entries, ``rmse`` and ``mae``; ``positives`` above 0 and ``negatives`` of 0, and
        ``auc``, the share of all their pairs in which the positive one has the higher prediction;
        ``groups`` with both, and over these ``hit_rate``, the share of positives with fewer than
        ``k`` negatives above them, and ``ndcg`` of the first ``k``; ``device``.
    """
    if not isinstance(model, KruskalTensor):
        raise TypeError(f"prediction_score needs a KruskalTensor, not {type(model).__name__}")
    score = ffi.new("polyad_prediction_score *")
    ctx, handle = model._c()
    ctx.configure(threads=threads, device=device)
    tensor, _ = matched(ctx, model, handle, as_tensor(x), {}, match, unseen)
    differing = tensor._mode(mode)
    status = ctx.run(lib.polyad_ktensor_predict, handle, tensor._handle, ffi.NULL, differing,
                     index(k, "k"), score)
    if ctx.interrupted:
        raise Interrupted("interrupted while predictions were being compared")
    ctx.check(status)

    def known(number: float) -> float | None:
        return None if math.isnan(number) else number

    return {"count": score.count, "rmse": score.rmse, "mae": score.mae, "positives": score.positives,
            "negatives": score.negatives, "groups": score.groups, "k": score.k,
            "hit_rate": known(score.hit_rate), "ndcg": known(score.ndcg), "auc": known(score.auc),
            "device": text(score.device)}
