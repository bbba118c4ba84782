"""A tensor in the terms of what it is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._context import context
from ._native import ffi, lib
from ._tensor import SparseTensor

if TYPE_CHECKING:
    from ._factors import FactorModel


def in_terms_of(labelled: SparseTensor | FactorModel, x: SparseTensor,
                unseen: int = lib.POLYAD_UNSEEN_ERROR) -> tuple[SparseTensor, int]:
    """The tensor with the indices that its labels have in another tensor or in a model, where both
    have labels, and how many nonzeros were left out."""
    if not isinstance(labelled, SparseTensor):
        if all(column is None for column in labelled.labels):
            return x, 0
        labelled = labelled._outline()
    ctx, made, skipped = context(), ffi.new("polyad_tensor **"), ffi.new("uint64_t *")
    ctx.check(lib.polyad_tensor_match_labels(ctx.pointer, labelled._handle, x._handle, unseen, skipped, made))
    return (x, 0) if made[0] == ffi.NULL else (SparseTensor._wrap(ctx, made[0]), int(skipped[0]))
