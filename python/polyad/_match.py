"""What two inputs have labels in common for: the one in the terms of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._context import Context, context
from ._native import ffi, lib
from ._tensor import SparseTensor

if TYPE_CHECKING:
    from ._factors import FactorModel
    from ._plan import Plan


def _labels_of(labelled: SparseTensor | FactorModel | Plan) -> SparseTensor | None:
    """A tensor in C that has these labels."""
    if isinstance(labelled, SparseTensor):
        return labelled
    if all(column is None for column in labelled.labels):
        return None
    outline = SparseTensor(np.empty((0, len(labelled.shape)), np.int64), shape=labelled.shape)
    outline._set_labels(labelled.labels, labelled.mode_names)
    return outline


def in_terms_of(labelled: SparseTensor | FactorModel, x: SparseTensor,
                unseen: int = lib.POLYAD_UNSEEN_ERROR) -> tuple[SparseTensor, int]:
    """The tensor with the indices that its labels have in another tensor or in a model, where both
    have labels, and how many nonzeros were left out."""
    labels = _labels_of(labelled)
    if labels is None:
        return x, 0
    ctx, made, skipped = context(), ffi.new("polyad_tensor **"), ffi.new("uint64_t *")
    ctx.check(lib.polyad_tensor_match_labels(ctx.pointer, labels._handle, x._handle, unseen, skipped, made))
    return (x, 0) if made[0] == ffi.NULL else (SparseTensor._wrap(ctx, made[0]), int(skipped[0]))


def order_rows(labelled: SparseTensor | FactorModel | Plan, model: FactorModel, ctx: Context,
               handle: Any) -> bool:
    """Puts the rows of `handle`, the C copy of a model, in the order that `labelled` has their
    labels in; False where one of them has no labels."""
    own, labels = _labels_of(model), _labels_of(labelled)
    if own is None or labels is None:
        return False
    ctx.check(getattr(lib, f"polyad_{model._kind}_match_labels")(ctx.pointer, labels._handle,
                                                                 own._handle, handle))
    return True
