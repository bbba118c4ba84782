"""Times and numbers gathered into bins: an hour, a week, one of ten ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._context import index
from ._keys import Keys

# Letter: NumPy's unit, and how many of them a bin has.
_UNITS = {"Y": ("Y", 1), "Q": ("M", 3), "M": ("M", 1), "W": ("D", 7), "D": ("D", 1), "h": ("h", 1),
          "min": ("m", 1)}
_MONDAY = 4  # 1970-01-05, in days since 1970-01-01


def binned(column: npt.NDArray[Any], wanted: str | int,
           name: str) -> tuple[npt.NDArray[np.int64], Keys]:
    """Codes of a column's bins, from the first to the last that has a row, and the bins: a time's
    start, or a range of numbers."""
    if isinstance(wanted, str):
        return _times(column, wanted, name)
    return _ranges(column, index(wanted, f"bins of column {name!r}"), name)


def _times(column: npt.NDArray[Any], letter: str,
           name: str) -> tuple[npt.NDArray[np.int64], Keys]:
    if letter not in _UNITS:
        raise ValueError(f"bins of {letter!r} are unknown; expected a number of ranges or one of "
                         f"{', '.join(_UNITS)}")
    unit, count = _UNITS[letter]
    if column.dtype.kind not in "MOU":
        raise TypeError(f"column {name!r} has type {column.dtype}; bins of {letter!r} need times")
    try:
        number = column.astype(f"datetime64[{unit}]").astype(np.int64)
    except (ValueError, TypeError):
        raise TypeError(f"column {name!r} holds no times; bins of {letter!r} need them") from None
    shift = _MONDAY if letter == "W" else 0
    number = (number - shift) // count
    first, last = (int(number.min()), int(number.max())) if len(number) else (0, 0)
    starts = np.arange(first, last + 1) * count + shift
    return number - first, Keys(starts.astype(f"datetime64[{unit}]"))


def _ranges(column: npt.NDArray[Any], count: int,
            name: str) -> tuple[npt.NDArray[np.int64], Keys]:
    if column.dtype.kind not in "iuf":
        raise TypeError(f"column {name!r} has type {column.dtype}; ranges need numbers")
    if count < 1:
        raise ValueError(f"{count} ranges are asked for; expected at least 1")
    low, high = (float(column.min()), float(column.max())) if len(column) else (0.0, 1.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"column {name!r} has the value {high if np.isfinite(low) else low}; ranges need "
                         "finite numbers")
    if low == high and count > 1:  # as numpy.histogram does
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, count + 1)
    codes = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, count - 1)
    digits = 6
    while digits < 17 and len({f"{edge:.{digits}g}" for edge in edges}) <= count:
        digits += 1
    names = [f"[{edges[i]:.{digits}g}, {edges[i + 1]:.{digits}g}{']' if i == count - 1 else ')'}"
             for i in range(count)]
    return codes, Keys(np.asarray(names, object), categories=True, ordered=True)
