"""New tensors from one: parts, sums, other orders of modes, joined and grouped slices.

All work on coordinates and values in NumPy; labels go along."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import items, known, single
from ._context import mode_order
from ._keys import Keys, infer
from ._types import Collapse, Mode

Rows = npt.NDArray[np.int64]
TABLE = 1 << 24  # modes up to this length are looked up in a table
REDUCE: dict[str, Any] = {"sum": np.sum, "count": np.size, "mean": np.mean, "min": np.min, "max": np.max}


class Parts:
    """What a new tensor is made of: columns of coordinates, values, and what each mode is called."""

    def __init__(self, x: Any, *others: Any) -> None:
        """Those of `x`; zeros stay where it or one of the `others` keeps them."""
        self.zeros = "keep" if any(each._keeps_zeros for each in (x, *others)) else "drop"
        self.coords = [x.indices(mode) for mode in range(x.ndim)]
        self.values = x.values
        self.shape = list(x.shape)
        self.names: list[str | None] = list(x.mode_names)
        self.labels: list[list[str] | None] = list(x.labels)
        self.keys: list[Keys | None] = [x._keys.get(mode) for mode in range(x.ndim)]
        self.transforms = list(x.transforms)

    def reorder(self, modes: Sequence[int]) -> None:
        """Keeps these modes, in this order."""
        for name in ("coords", "shape", "names", "labels", "keys"):
            column = getattr(self, name)
            setattr(self, name, [column[mode] for mode in modes])

    def keep(self, mask: npt.NDArray[Any]) -> None:
        """Keeps these nonzeros (a mask, or positions)."""
        self.coords = [column[mask] for column in self.coords]
        self.values = self.values[mask]

    def take(self, mode: int, rows: Rows) -> None:
        """Keeps these indices of a mode, in this order; one may come several times."""
        if len(rows) == 0:
            raise ValueError(f"no index of mode {mode} is selected; expected at least one")
        old, first = self.coords[mode], int(rows[0])
        if np.array_equal(rows, np.arange(first, first + len(rows))):
            inside = np.flatnonzero((old >= first) & (old < first + len(rows)))
            self.keep(inside)
            self.coords[mode] = self.coords[mode] - old.dtype.type(first)
            self._rename(mode, rows)
            return
        unique = len(np.unique(rows)) == len(rows)
        if unique and self.shape[mode] <= TABLE:
            place = np.full(self.shape[mode], -1, np.int64)
            place[rows] = np.arange(len(rows))
            new = place[old]
            self.keep(new >= 0)
            self.coords[mode] = new[new >= 0]
        else:
            order = np.argsort(rows, kind="stable")
            first = np.searchsorted(rows[order], old, "left")
            count = np.searchsorted(rows[order], old, "right") - first
            which = np.repeat(np.arange(len(old)), count)
            within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
            self.keep(which)
            self.coords[mode] = order[np.repeat(first, count) + within]
        self._rename(mode, rows)

    def _rename(self, mode: int, rows: Rows) -> None:
        """Length, labels and keys of a mode of which these indices are left."""
        self.shape[mode] = len(rows)
        labels, keys = self.labels[mode], self.keys[mode]
        self.labels[mode] = None if labels is None else [labels[row] for row in rows]
        self.keys[mode] = None if keys is None else keys.take(rows)

    def tensor(self, kind: Any, duplicates: Collapse = "sum") -> Any:
        """The new tensor; `duplicates`: what becomes of nonzeros that have come together."""
        wide = max(self.shape) > 1 << 32
        coords = np.empty((len(self.coords), len(self.values)), np.int64 if wide else np.uint32)
        for mode, column in enumerate(self.coords):
            coords[mode] = column
        made = kind(coords.T, self.values, self.shape, zeros=self.zeros, duplicates=duplicates)
        made.transforms = self.transforms
        made._name(self.names, self.labels,
                   {mode: keys for mode, keys in enumerate(self.keys) if keys is not None})
        return made


def get(x: Any, key: Any) -> Any:
    """x[key]: see SparseTensor.__getitem__."""
    given = list(key) if isinstance(key, tuple) else [key]
    dots = [place for place, each in enumerate(given) if each is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have one ellipsis ('...')")
    if dots:
        given[dots[0]:dots[0] + 1] = [slice(None)] * (x.ndim - len(given) + 1)
    if len(given) > x.ndim:
        raise IndexError(f"{len(given)} indices are given; the tensor has {x.ndim} modes")
    return select(x, dict(enumerate(given)))


def select(x: Any, wanted: Mapping[int, Any]) -> Any:
    """The part of `x` that lies in these indices: integers (whose modes are dropped), slices or
    arrays."""
    parts, dropped = Parts(x), []
    for mode, each in wanted.items():
        if isinstance(each, slice) and each == slice(None):
            continue
        rows, drops = _rows(each, x.shape[mode], mode)
        parts.take(mode, rows)
        if drops:
            dropped.append(mode)
    if len(dropped) == x.ndim:
        return float(parts.values.sum())
    parts.reorder([mode for mode in range(x.ndim) if mode not in dropped])
    return parts.tensor(type(x))


def _rows(wanted: Any, length: int, mode: int) -> tuple[Rows, bool]:
    """The indices that are asked for, and whether it was a single one."""
    if isinstance(wanted, slice):
        return np.arange(*wanted.indices(length)), False
    rows = np.asarray(wanted)
    if rows.dtype == bool:
        if rows.shape != (length,):
            raise IndexError(f"the mask of mode {mode} has shape {rows.shape}; expected ({length},)")
        return np.flatnonzero(rows), False
    if rows.size and rows.dtype.kind not in "iu":
        raise TypeError(f"mode {mode} is indexed by {type(wanted).__name__}; expected an integer, a "
                        "slice or an array of integers (labels: sel)")
    if rows.ndim > 1:
        raise IndexError(f"mode {mode} is indexed by {rows.ndim} dimensions; expected 1")
    flat = rows.reshape(-1).astype(np.int64)
    outside = flat[(flat < -length) | (flat >= length)]
    if len(outside):
        raise IndexError(f"index {outside[0]} of mode {mode} is out of range; its length is {length}")
    return flat % length, rows.ndim == 0


def sel(x: Any, wanted: Mapping[Mode, Any]) -> Any:
    """The part of `x` with these labels."""
    return select(x, {x._mode(mode): _by_label(x, x._mode(mode), each)
                      for mode, each in wanted.items()})


def _by_label(x: Any, mode: int, wanted: Any) -> Any:
    labels = x._labels_of(mode)
    if labels is None:
        raise ValueError(f"mode {mode} has no labels; expected an index, as in x[...]")
    if isinstance(wanted, slice):
        return _label_slice(x, mode, labels, wanted)
    place = {each: row for row, each in enumerate(labels)}

    def row(each: Any) -> int:
        if str(each) in place:
            return place[str(each)]
        found = _by_value(x, mode, labels, each)
        if len(found) == 0:
            raise KeyError(f"mode {x.mode_names[mode] or mode} has no label {str(each)!r}")
        return int(found[0])

    if isinstance(wanted, str) or np.ndim(wanted) == 0:
        return row(wanted)
    return np.asarray([row(each) for each in wanted], np.int64)


def _label_values(x: Any, mode: int, labels: Sequence[str]) -> npt.NDArray[Any]:
    """What the labels of a mode are besides text."""
    keys = x._keys.get(mode)
    values: npt.NDArray[Any] = infer(labels) if keys is None else keys.values
    return values


def _time(each: Any) -> np.datetime64 | None:
    """The instant that an object for times without a zone means. None of other objects, and of whole days,
    which are compared as text."""
    if isinstance(each, datetime.datetime) and each.tzinfo is None:
        # pandas.Timestamp is one that knows nanoseconds.
        return each.to_datetime64() if hasattr(each, "to_datetime64") else np.datetime64(each)
    if isinstance(each, np.datetime64) and np.datetime_data(each)[0] not in "YMWD":
        return each
    return None


def _by_value(x: Any, mode: int, labels: Sequence[str], each: Any) -> Rows:
    """The indices whose label means this number or time, however that is written."""
    values, time = _label_values(x, mode, labels), _time(each)
    if values.dtype.kind == "M" and time is not None:
        return np.flatnonzero(values == time)
    if values.dtype.kind in "iuf" and isinstance(each, numbers.Real) and not isinstance(each, bool):
        return np.flatnonzero(values == each)
    return np.empty(0, np.int64)


def _label_slice(x: Any, mode: int, labels: Sequence[str], wanted: slice) -> Any:
    """Both ends are part of it. Numbers and dates are compared, a date also by its beginning
    ("2013-03" ends with March); other labels lie between the two in the order of the indices."""
    if wanted.step is not None:
        raise ValueError("a slice of labels cannot have a step")
    values = _label_values(x, mode, labels)
    start, stop = wanted.start, wanted.stop
    if values.dtype.kind in "iuf":
        inside = np.ones(len(labels), bool)
        inside &= True if start is None else values >= _number(start, mode)
        inside &= True if stop is None else values <= _number(stop, mode)
    elif values.dtype.kind == "M":
        inside = _not_before(values, labels, start) & _not_after(values, labels, stop)
    else:
        first = 0 if start is None else _by_label(x, mode, start)
        last = len(labels) - 1 if stop is None else _by_label(x, mode, stop)
        return np.arange(first, last + 1)
    return np.flatnonzero(inside)


def _number(end: Any, mode: int) -> float:
    """An end of a slice of labels that are numbers."""
    try:
        return float(end)
    except (TypeError, ValueError):
        raise ValueError(f"the labels of mode {mode} are numbers; expected numbers as ends of the slice, "
                         f"not {end!r}") from None


def _not_before(values: npt.NDArray[Any], labels: Sequence[str], start: Any) -> npt.NDArray[np.bool_]:
    """Which times do not lie before a start."""
    if start is None:
        return np.ones(len(labels), bool)
    time = _time(start)
    if time is not None:
        return np.asarray(values >= time)
    return np.asarray([_with_t(each) >= _with_t(start) for each in labels])


def _not_after(values: npt.NDArray[Any], labels: Sequence[str], stop: Any) -> npt.NDArray[np.bool_]:
    """Which times do not lie after an end, or begin with it."""
    if stop is None:
        return np.ones(len(labels), bool)
    time, last = _time(stop), _with_t(stop)
    if time is not None:
        return np.asarray(values <= time)
    return np.asarray([_with_t(each) <= last or _with_t(each).startswith(last) for each in labels])


def _with_t(time: Any) -> str:
    """A time as text, which may have a space before its hour or a T."""
    return str(time).replace(" ", "T")


def collapse(x: Any, modes: Mode | Sequence[Mode] | None, how: Collapse) -> Any:
    """One value of all nonzeros that differ in these modes alone."""
    if not known(how, REDUCE):
        raise ValueError(f"how={how!r} found; expected one of {', '.join(REDUCE)}")
    gone = set(range(x.ndim)) if modes is None else {
        x._mode(mode) for mode in ([modes] if single(modes) else items(modes, "modes", "numbers or names"))}
    if len(gone) == x.ndim:
        if x.nnz == 0 and how not in ("sum", "count"):
            raise ValueError(f"the tensor has no nonzeros, and so no {how}; expected at least one")
        return float(REDUCE[how](x.values.astype(np.float64)))
    parts = Parts(x)
    parts.reorder([mode for mode in range(x.ndim) if mode not in gone])
    return parts.tensor(type(x), how)


def permute(x: Any, modes: Sequence[Mode]) -> Any:
    """Another order of modes."""
    order = mode_order(modes, x.mode_names, "tensor")
    parts = Parts(x)
    parts.reorder(order)
    return parts.tensor(type(x))


def check_alike(first: Any, other: Any, along: int | None = None) -> None:
    """Raises where two tensors differ in shape or labels, but for mode `along`."""
    where = "" if along is None else f" but for mode {along}"
    for m in range(first.ndim):
        if m == along:
            continue
        if other.ndim != first.ndim or other.shape[m] != first.shape[m]:
            raise ValueError(f"the tensors have shapes {first.shape} and {other.shape}; expected "
                             f"equal ones{where}")
        if other._labels_of(m) != first._labels_of(m):
            raise ValueError(f"the tensors have different labels in mode {m}; expected equal "
                             "ones (sel and groupby can bring them together)")


def concatenate(tensors: Sequence[Any], mode: Mode) -> Any:
    """Tensors one after the other along a mode."""
    first = tensors[0]
    for other in tensors[1:]:
        if not isinstance(other, type(first)):
            raise TypeError(f"cannot concatenate with a {type(other).__name__}; expected tensors, and "
                            "mode= for the mode")
    along = first._mode(mode)
    for other in tensors[1:]:
        check_alike(first, other, along)
    parts, pieces = Parts(*tensors), [Parts(each) for each in tensors]
    starts = np.cumsum([0] + [piece.shape[along] for piece in pieces])
    parts.coords = [np.concatenate([
        piece.coords[m].astype(np.int64) + (start if m == along else 0)
        for piece, start in zip(pieces, starts)]) for m in range(first.ndim)]
    parts.values = np.concatenate([piece.values for piece in pieces])
    parts.shape[along] = int(starts[-1])
    columns = [piece.labels[along] for piece in pieces]
    known = [column for column in columns if column is not None]
    parts.labels[along] = sum(known, []) if len(known) == len(columns) else None
    parts.keys[along] = None
    return parts.tensor(type(first))


def groupby(x: Any, mode: Mode, groups: Any) -> Any:
    """Slices of one group added up."""
    along = x._mode(mode)
    labels = x._labels_of(along)
    names: Sequence[Any] = range(x.shape[along]) if labels is None else labels
    if isinstance(groups, Mapping):
        for name in names:
            if name not in groups:
                raise KeyError(f"{name!r} of mode {x.mode_names[along] or along} has no group in the "
                               "mapping; expected one for each label")
        given = [groups[name] for name in names]
    elif callable(groups):
        given = [groups(name) for name in names]
    else:
        given = items(groups, "groups", "groups")
    if len(given) != x.shape[along]:
        raise ValueError(f"{len(given)} groups are given; expected {x.shape[along]}, one for each "
                         f"index of mode {along}")
    try:
        distinct = sorted(set(given))
    except TypeError:
        kinds = ", ".join(sorted({type(each).__name__ for each in given}))
        raise TypeError(f"the groups are of types {kinds}, which cannot be sorted; expected names or "
                        "numbers") from None
    number = {each: place for place, each in enumerate(distinct)}
    place = np.asarray([number[each] for each in given], np.int64)
    parts = Parts(x)
    parts.coords[along] = place[parts.coords[along]]
    parts.shape[along] = len(distinct)
    parts.labels[along] = [str(each) for each in distinct]
    parts.keys[along] = None
    return parts.tensor(type(x))
