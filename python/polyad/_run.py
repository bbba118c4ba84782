"""Running a decomposition: what the algorithms share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ._arguments import known, single
from ._context import (check_callback, context, encode, index, mode_bits, nonnegative_modes, real,
                       seed_number, switch, talks)
from ._device_tensor import DeviceTensor
from ._errors import Interrupted, text
from ._factors import FactorModel
from ._match import order_rows
from ._model import KruskalTensor, as_kruskal
from ._native import ffi, lib
from ._plan import KERNELS, Plan, plan_of, rank_argument
from ._progress import ProgressLine
from ._tensor import SparseTensor
from ._types import RunInfo

Model = TypeVar("Model", bound=FactorModel)
_INITS = {"random": lib.POLYAD_INIT_RANDOM, "hosvd": lib.POLYAD_INIT_HOSVD,
          "nvecs": lib.POLYAD_INIT_HOSVD}


def expected_sweeps(choice: dict[str, Any], options: Any) -> float:
    """What a run with `options` (a polyad_run_options) is expected to take of the plan's kernel."""
    kernel = KERNELS[choice.get("kernel", "mttkrp")]
    return float(lib.polyad_expected_sweeps(ffi.addressof(options), kernel))


def choose(x: Any, rank: int, choice: dict[str, Any],
           sweeps: float, columns: int = 0) -> tuple[SparseTensor | None, Plan]:
    """The plan that `choice` asks for, to serve so many sweeps of so many columns side by side; a Plan that is given brings threads
    and device of its own, which `choice` then names."""
    if isinstance(x, Plan):
        if choice["threads"] is None:
            choice["threads"] = x.threads
        if choice["device"] == "auto":
            choice["device"] = x.device_asked
    elif isinstance(x, DeviceTensor) and choice["device"] == "auto":
        choice["device"] = x._device
    tensor, plan = plan_of(x, rank, **choice, sweeps=sweeps, columns=columns)
    if choice["threads"] is None:
        choice["threads"] = plan.threads  # among processes the plan has found their number
    return tensor, plan


def run_options(options: Any, run: dict[str, Any]) -> list[Any]:
    """Sets what all decompositions can be told about starts, stopping and checkpoints (`options` is
    a polyad_run_options). What is returned must live until the call."""
    check_callback(run["callback"])
    run["verbose"] = talks(run["verbose"])
    options.tolerance, options.max_seconds = real(run["tol"], "tol"), real(run["max_seconds"], "max_seconds")
    options.max_iterations = index(run["max_iters"], "max_iters")
    kept = []
    options.keep_starts = switch(run.get("keep_starts", False), "keep_starts")
    for name, key in (("starts", "restarts"), ("checkpoint_every", "checkpoint_every")):
        if key in run:
            setattr(options, name, index(run[key], key))
    for name in ("checkpoint", "resume"):
        if run.get(name) is not None:
            kept.append(ffi.new("char[]", encode(run[name], name)))
            setattr(options, name, kept[-1])
    return kept


def initial(options: Any, init: Any, kind: str, model: Callable[[], FactorModel],
            labelled: SparseTensor | Plan) -> list[Any]:
    """Sets how the first factors are found: a word, or else `model`, in the order of the rows'
    labels in `labelled`. What is returned must live until the call."""
    if isinstance(init, str):
        if not known(init, _INITS):
            raise ValueError(f"init {init!r} is unknown; expected 'random', 'hosvd', a {kind} or "
                             "a list of matrices")
        options.init = _INITS[init]
        return []
    if single(init) and not hasattr(init, "weights") and not hasattr(init, "core"):
        raise TypeError(f"init must be 'random', 'hosvd', a {kind} or a list of matrices, not "
                        f"{type(init).__name__}")
    given = model()
    owner = given._c()
    if labelled.shape == given.shape:
        order_rows(labelled, given, *owner)
    options.init, options.initial = lib.POLYAD_INIT_MODEL, owner[1]
    return [owner]


def execute(kind: type[Model], function: Any, plan: Plan, tensor: SparseTensor | None,
            options: Any, choice: dict[str, Any], run: dict[str, Any],
            report: Callable[[Any, Plan], dict[str, Any]]) -> Model:
    """Calls `function`; the model it makes gets `report`'s info and the tensor's labels."""
    if not known(run["on_interrupt"], ("raise", "return")):
        raise ValueError(f"on_interrupt {run['on_interrupt']!r} is unknown; expected 'raise' or "
                         "'return'")
    seed = seed_number(run["seed"])
    with ProgressLine(run["verbose"]) as progress:
        ctx = context()
        # Without a callback of the caller's the empty one still lets Ctrl-C through.
        ctx.configure(threads=choice["threads"], device=choice["device"], seed=seed,
                      verbose=run["verbose"], callback=progress.wrap(run["callback"]))
        made, info = ffi.new(f"polyad_{kind._kind} **"), ffi.new("polyad_run_info *")
        try:
            status = ctx.run(function, plan._handle, options, made, info)
            found = report(info, plan) if status == lib.POLYAD_OK else {}
            each = _kept_models(kind, ctx, info)
        finally:
            lib.polyad_run_info_clear(info)
        interrupted = ctx.interrupted
        if status != lib.POLYAD_OK:
            ctx.finish()
            if interrupted:
                raise Interrupted("interrupted before the first iteration; there is no model yet")
            ctx.check(status)
        if made[0] == ffi.NULL:  # the first process of a team has the model
            ctx.finish()
            return cast(Model, None)
        model = kind._wrap(ctx, made[0])
        ctx.finish()
    found["seed"] = seed
    source = plan if tensor is None else tensor
    if source.transforms:
        found["transforms"] = list(source.transforms)
    model.info = cast(RunInfo, found)
    for start, one in zip(found["starts"] if each else [], each):
        start["model"] = one
    if tensor is None or tensor.shape == plan.shape:  # else it is a share of the tensor
        for one in (model, *each):
            one.take_labels(source)
    if found.get("reason") == "breakdown":
        warnings.warn(found["diagnosis"], RuntimeWarning, stacklevel=4)
    if interrupted and run["on_interrupt"] == "raise":
        raise Interrupted(f"interrupted after {found['iterations']} iterations; the model so far is "
                          "this exception's attribute 'model'", model)
    return model


def _kept_models(kind: type[Model], ctx: Any, info: Any) -> list[Model]:
    """The models of all starts, where they were kept."""
    kept: list[Model] = []
    for start in range(info.start_count if info.models != ffi.NULL else 0):
        if info.models[start] != ffi.NULL:
            kept.append(kind._wrap(ctx, info.models[start]))
            info.models[start] = ffi.NULL
    return kept


def decompose(x: Any, rank: Any, choice: dict[str, Any], function: Any, options: Any,
              run: dict[str, Any], report: Callable[[Any, Plan], dict[str, Any]]) -> KruskalTensor:
    """A CP decomposition: a plan as `choice` asks, the options in `run`, the call."""
    if rank is None:
        rank = x.rank if isinstance(x, Plan) else 16
    options.rank = rank_argument(rank)
    modes = nonnegative_modes(run["nonnegative"]) if "nonnegative" in run else None
    kept = run_options(options.run, run)
    columns = min(options.rank * options.run.starts, 2**32) if options.run.starts > 1 else 0
    tensor, plan = choose(x, options.rank, choice, expected_sweeps(choice, options.run), columns)
    if modes is not None:
        names = (plan if tensor is None else tensor).mode_names
        options.nonnegative_modes = mode_bits(modes, names, "nonnegative")

    def first() -> KruskalTensor:
        given = as_kruskal(run["init"])
        dtype = plan.dtype
        return KruskalTensor(given.weights, [np.asarray(f, dtype) for f in given.factors],
                             labels=given.labels, mode_names=given.mode_names)

    kept += initial(options, run["init"], "KruskalTensor", first, plan if tensor is None else tensor)

    def told(info: Any, plan: Plan) -> dict[str, Any]:
        found = report(info, plan)
        if modes is not None:
            found["nonnegative"] = [n for n in range(len(plan.shape)) if options.nonnegative_modes >> n & 1]
        return found

    return execute(KruskalTensor, function, plan, tensor, options, choice, run, told)


def trace_rows(info: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """The named columns of the trace."""
    return [{name: getattr(info.trace[i], name) for name in names}
            | ({"half_rows": True} if info.trace[i].half_rows else {})
            for i in range(info.trace_rows)]


def run_info(info: Any, plan: Plan) -> dict[str, Any]:
    """What a run says of itself."""
    known = not math.isnan(info.fit_bound)
    return {
        "fit": info.fit, "fit_bound": info.fit_bound if known else None,
        "fit_from": text(lib.polyad_fit_from_string(info.fit_from)) if known else None,
        "iterations": info.iterations, "converged": bool(info.converged),
        "reason": text(lib.polyad_reason_string(info.reason)), "seconds": info.seconds,
        "seconds_per_iteration": info.seconds_per_iteration,
        "seconds_mttkrp": [info.seconds_mttkrp[mode] for mode in range(len(plan.shape))],
        "starts": [{"objective": start.objective, "iterations": start.iterations,
                    "reason": text(lib.polyad_reason_string(start.reason))}
                   for start in info.starts[0:info.start_count]],
        "best_restart": info.best_restart, "regularized_solves": int(info.regularized_solves),
        "diagnosis": text(info.diagnosis), "format": plan.format, "device": plan.device,
        "trace": trace_rows(info, ("iteration", "fit", "fit_bound", "residual", "seconds")),
    }
