"""New data in a fitted model: matching by label, and projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ._arguments import items, known, mapping, single
from ._context import Context, context, index, real, seed_number
from ._errors import Interrupted, text
from ._model import KruskalTensor
from ._native import ffi, lib
from ._tensor import SparseTensor, as_tensor
from ._types import MatchBy, Mode, ModelKind, RunInfo, Seed, Unseen

KINDS = {"auto": lib.POLYAD_KIND_AUTO, "signed": lib.POLYAD_KIND_SIGNED,
         "nonnegative": lib.POLYAD_KIND_NONNEGATIVE, "poisson": lib.POLYAD_KIND_POISSON}
MATCH = {"auto": lib.POLYAD_MATCH_AUTO, "number": lib.POLYAD_MATCH_NUMBER}
UNSEEN = {"error": lib.POLYAD_UNSEEN_ERROR, "skip": lib.POLYAD_UNSEEN_SKIP}


def word(table: Mapping[str, int], value: Any, name: str) -> int:
    """The number that an argument's word stands for."""
    if not known(value, table):
        raise ValueError(f"{name} {value!r} is unknown; expected one of "
                         f"{', '.join(map(repr, table))}")
    return table[value]


def matched(ctx: Context, model: KruskalTensor, handle: Any, x: SparseTensor,
            rules: Mapping[int, int], match: str, unseen: str) -> tuple[SparseTensor, int]:
    """The tensor in the model's terms, and how many nonzeros were left out. `handle` is the model
    in C."""
    options = ffi.new("polyad_match_options *")
    lib.polyad_match_options_init(options)
    options.by, options.unseen = word(MATCH, match, "match"), word(UNSEEN, unseen, "unseen")
    for mode, rule in rules.items():
        options.rule[mode] = rule
    outline = None
    if any(column is not None for column in model.labels) or any(model.mode_names):
        outline = model._outline()
    made, skipped = ffi.new("polyad_tensor **"), ffi.new("uint64_t *")
    ctx.check(lib.polyad_tensor_match(ctx.pointer, handle,
                                      ffi.NULL if outline is None else outline._handle, x._handle,
                                      options, skipped, made))
    return SparseTensor._wrap(ctx, made[0]), int(skipped[0])


def _row(tensor: SparseTensor, mode: int, row: Any) -> int:
    """A row of a mode by its label or number; None: all."""
    if row is None:
        return 2**64 - 1
    labels = tensor.labels[mode]
    if labels is not None and row in labels:
        return labels.index(row)
    number = index(row, "fixed") if not isinstance(row, str) else -1
    if not 0 <= number < tensor.shape[mode]:
        raise ValueError(f"fixed names row {row!r}; mode {mode} of the new data has no such row")
    return number


def project(model: KruskalTensor, x: Any, mode: Mode | Sequence[Mode], *, kind: ModelKind = "auto",
            rows: str = "all", fixed: Mapping[tuple[Any, ...], float] | None = None,
            match: MatchBy = "auto", unseen: Unseen = "error", max_iters: int = 1000,
            tol: float = 1e-10, seed: Seed = 0, threads: int | None = None,
            device: str = "auto") -> KruskalTensor:
    """What :meth:`KruskalTensor.project` does."""
    if not known(rows, ("all", "unseen")):
        raise ValueError(f"rows {rows!r} is unknown; expected 'all' or 'unseen'")
    asked: list[Any] = [mode] if single(mode) else items(mode, "mode", "modes")
    modes = [model._mode(m) for m in asked]
    tensor = as_tensor(x)
    ctx, handle = model._c()
    ctx.configure(threads=threads, device=device, seed=seed_number(seed))
    rule = lib.POLYAD_MATCH_NEW if rows == "unseen" else lib.POLYAD_MATCH_OWN
    new, skipped = matched(ctx, model, handle, tensor, {m: rule for m in modes}, match, unseen)
    options, info = ffi.new("polyad_project_options *"), ffi.new("polyad_project_info *")
    lib.polyad_project_options_init(options)
    options.mode_count = len(modes)
    for k, m in enumerate(modes[:len(options.modes)]):
        options.modes[k] = m
    options.kind = word(KINDS, kind, "kind")
    options.max_iterations, options.tolerance = index(max_iters, "max_iters"), real(tol, "tol")
    known_entries = mapping(fixed, "fixed", "from (mode, component) to values")
    entries = ffi.new("polyad_fixed_entry[]", max(len(known_entries), 1))
    for entry, (place, value) in zip(entries, known_entries.items()):
        if not isinstance(place, tuple) or len(place) not in (2, 3):
            raise ValueError(f"fixed has the key {place!r}; expected (mode, component) or "
                             "(mode, component, row)")
        entry.mode, entry.component = model._mode(place[0]), index(place[1], "component")
        entry.index = _row(new, entry.mode, place[2] if len(place) == 3 else None)
        entry.value = real(value, "fixed")
    options.fixed, options.fixed_count = entries, len(known_entries)
    made = ffi.new("polyad_ktensor **")
    status = ctx.run(lib.polyad_project, handle, new._handle, options, made, info)
    if ctx.interrupted:
        raise Interrupted("interrupted while new data were being projected")
    ctx.check(status)
    projected = KruskalTensor._wrap(ctx, made[0])
    projected.take_labels(new)
    projected.info = cast(RunInfo, {
        "fit": info.fit, "iterations": info.iterations, "converged": bool(info.converged),
        "seconds": info.seconds, "device": text(info.device),
        "kind": text(lib.polyad_model_kind_string(info.kind)), "skipped": skipped})
    return projected
