"""Streaming: a model that goes on as slices of one mode arrive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np

from ._context import Context, context, encode, index, mode_bits, nonnegative_modes, real
from ._errors import Interrupted, text
from ._model import KruskalTensor
from ._native import ffi, lib
from ._newdata import KINDS, MATCH, UNSEEN, matched, word
from ._tensor import SparseTensor, as_tensor
from ._types import MatchBy, Mode, RunInfo, Unseen, UpdateInfo, UpdateKind


class Updater:
    """A model that is updated slice by slice, with the sums that this needs of what came before
    (OnlineCP, with forgetting as in CP-stream).

    Adding takes time for the new nonzeros, and R² for each new slice and each index of the other
    modes; none of it depends on how many slices there were before.

    Parameters
    ----------
    model : KruskalTensor
        Where it starts. Of the data that it was made of, the model itself is taken for the sums.
    mode : int or str
        The mode that grows.
    forget : float
        What the weight of all that came before is multiplied by with every :meth:`add`, above 0 and
        at most 1.
    rounds : int
        How often a call improves new rows and the other factors in turn.
    kind : {"auto", "signed", "nonnegative", "poisson"}
        Whether factors stay nonnegative; "auto": where the model is. Models of counts have to be
        named "poisson".
    nonnegative : bool or sequence of int or str
        Modes whose factors stay nonnegative in a model that is "signed".
    match, unseen
        As in :meth:`KruskalTensor.project`; in the growing mode labels that the model lacks are
        appended.
    state : path, optional
        A file of :meth:`save` (or ``PATH.state.ptm`` of ``polyad update``) with the sums of this
        model.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """

    def __init__(self, model: KruskalTensor, mode: Mode = 0, *, forget: float = 1.0,
                 rounds: int = 1, kind: UpdateKind = "auto",
                 nonnegative: bool | Collection[Mode] = False, match: MatchBy = "auto",
                 unseen: Unseen = "error", state: Any = None) -> None:
        if not isinstance(model, KruskalTensor):
            raise TypeError(f"model must be a KruskalTensor, not {type(model).__name__}")
        self._mode = model._mode(mode)
        word(MATCH, match, "match"), word(UNSEEN, unseen, "unseen")
        options = ffi.new("polyad_update_options *")
        lib.polyad_update_options_init(options)
        options.mode, options.kind = self._mode, word(KINDS, kind, "kind")
        options.nonnegative_modes = mode_bits(nonnegative_modes(nonnegative), model.mode_names, "nonnegative")
        options.forget, options.rounds = real(forget, "forget"), index(rounds, "rounds")
        self._match, self._unseen = match, unseen
        self._asked: dict[str, Any] = {"forget": forget, "rounds": rounds, "kind": kind,
                                       "nonnegative": nonnegative,
                                       "match": match, "unseen": unseen}
        ctx, handle = model._c()
        made = ffi.new("polyad_updater **")
        if state is None:
            ctx.check(lib.polyad_updater_create(ctx.pointer, handle, options, made))
        else:
            ctx.check(lib.polyad_updater_read(ctx.pointer, encode(state, "state"), handle, options,
                                              made))
        self._ctx: Context = ctx
        self._handle = ffi.gc(made[0], lib.polyad_updater_destroy)
        self._names: list[str | None] = list(model.mode_names)
        self._labels: list[Sequence[str] | None] = list(model.labels)
        grown = model.labels[self._mode]
        self._grown = None if grown is None else list(grown)
        self._place = {} if grown is None else {label: i for i, label in
                                                reversed(list(enumerate(grown)))}
        # What new data are matched with: the model without the rows of the growing mode.
        self._outline = KruskalTensor(None, [
            np.zeros((1 if m == self._mode else length, 1)) for m, length in
            enumerate(model.shape)],
            labels=[None if m == self._mode else column for m, column in enumerate(model.labels)],
            mode_names=model.mode_names)

    @property
    def rows(self) -> int:
        """Rows that the growing mode has now."""
        return int(lib.polyad_updater_rows(self._handle))

    @property
    def mode(self) -> int:
        """The mode that grows."""
        return self._mode

    def __repr__(self) -> str:
        return f"<polyad.Updater of mode {self._mode}, {self.rows} rows>"

    def add(self, x: Any, *, forget: float | None = None, threads: int | None = None,
            device: str = "auto") -> UpdateInfo:
        """Adds slices: new labels of the growing mode are appended, slices that are there get more
        data. Without labels all slices are new.

        Parameters
        ----------
        x : SparseTensor, NumPy array, or a sparse tensor of another package
        forget : float, optional
            The forgetting factor from now on.
        threads, device
            As in :class:`Plan`.

        Returns
        -------
        dict
            ``appended``, ``changed`` (slices), ``fit`` (of the new data with the updated model; NaN
            when slices that were there got more), ``skipped`` (nonzeros), ``kind``, ``device``, ``seconds``.
        """
        tensor = as_tensor(x)
        ctx, outline = self._outline._c()
        ctx.configure(threads=threads, device=device)
        if forget is not None:
            factor = real(forget, "forget")
            ctx.check(lib.polyad_updater_set_forget(ctx.pointer, self._handle, factor))
            self._asked["forget"] = factor
        new, skipped = matched(ctx, self._outline, outline, tensor,
                               {self._mode: lib.POLYAD_MATCH_OWN}, self._match, self._unseen)
        rows, labels = self._rows(new)
        info = ffi.new("polyad_update_info *")
        given = ffi.NULL if rows is None else ffi.cast("uint64_t *", rows.ctypes.data)
        status = ctx.run(lib.polyad_updater_add, self._handle, new._handle, given, info)
        if ctx.interrupted:
            raise Interrupted("interrupted while a model was being updated; it is as it was")
        ctx.check(status)
        first = self.rows - len(labels)
        for k, label in enumerate(labels):
            self._place.setdefault(label, first + k)
        if self._grown is not None:
            self._grown.extend(labels)
        return {"appended": int(info.appended), "changed": int(info.changed), "fit": info.fit,
                "kind": text(lib.polyad_model_kind_string(info.kind)), "skipped": skipped,
                "device": text(info.device), "seconds": info.seconds}

    def _rows(self, new: SparseTensor) -> tuple[Any, list[str]]:
        """The row that each slice belongs to, and the labels that are appended."""
        labels = new.labels[self._mode] if self._match == "auto" else None
        if (labels is None) != (self._grown is None) and self._match == "auto":
            side = "model" if labels is None else "tensor"
            raise ValueError(f"mode {self._mode} has labels in the {side} only; expected labels in "
                             "both or in neither, or to be matched by number")
        if labels is None:
            if self._grown is not None:  # by number: nobody knows the new names
                self._grown, self._place = None, {}
            return None, []
        nowhere = 2**64 - 1
        rows = np.array([self._place.get(label, nowhere) for label in labels], np.uint64)
        return rows, [label for label in labels if label not in self._place]

    @property
    def model(self) -> KruskalTensor:
        """The model as it is now; a copy."""
        made = ffi.new("polyad_ktensor **")
        ctx = context()
        ctx.check(lib.polyad_updater_model(ctx.pointer, self._handle, made))
        model = KruskalTensor._wrap(ctx, made[0])
        labels: list[Sequence[str] | None] = list(self._labels)
        labels[self._mode] = None if self._grown is None else list(self._grown)
        model.labels, model.mode_names = labels, list(self._names)
        return model

    def save(self, path: Any) -> KruskalTensor:
        """Writes the model to a file and the sums beside it to PATH.state.ptm, as ``polyad update``
        does; returns the model. ``Updater(KruskalTensor.load(path), mode, state=path +
        ".state.ptm")`` goes on with them."""
        model = self.model
        model.save(path)
        ctx, handle = model._c()
        state = encode(path, "path") + b".state.ptm"
        ctx.check(lib.polyad_updater_write(ctx.pointer, self._handle, handle, state))
        return model

    def __reduce__(self) -> Any:
        """The model and the sums, as save() writes them."""
        model = self.model
        ctx, handle = model._c()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.ptm")
            ctx.check(lib.polyad_updater_write(ctx.pointer, self._handle, handle,
                                               encode(path, "path")))
            with open(path, "rb") as file:
                return _restore, (model, self._mode, self._asked, file.read())


def _restore(model: KruskalTensor, mode: int, asked: dict[str, Any], sums: bytes) -> Updater:
    """An updater from what __reduce__ gave."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state.ptm")
        with open(path, "wb") as file:
            file.write(sums)
        return Updater(model, mode, state=path, **asked)


def update(model: KruskalTensor, x: Any, mode: Mode = 0, *, forget: float = 1.0, rounds: int = 1,
           kind: UpdateKind = "auto", match: MatchBy = "auto", unseen: Unseen = "error",
           threads: int | None = None, device: str = "auto") -> KruskalTensor:
    """A model after new slices of a mode: :class:`Updater` for one addition. For a stream keep an
    ``Updater``, which remembers the sums over what came before; here they come from the model.

    Parameters
    ----------
    model : KruskalTensor
    x : SparseTensor, NumPy array, or a sparse tensor of another package
    mode, forget, rounds, kind, match, unseen
        As in :class:`Updater`.
    threads, device
        As in :class:`Plan`.

    Returns
    -------
    KruskalTensor
        Its ``info`` is what :meth:`Updater.add` returns.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    updater = Updater(model, mode, forget=forget, rounds=rounds, kind=kind, match=match,
                      unseen=unseen)
    info = updater.add(x, threads=threads, device=device)
    updated = updater.model
    updated.info = cast(RunInfo, info)
    return updated
