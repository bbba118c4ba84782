"""What labels are besides text: numbers, dates, categories.

The library keeps labels as strings. A tensor made from a data frame remembers what they were; of
others it is inferred, where all labels of a mode are written as numbers or dates are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = re.compile(r"-?\d{1,17}\.\d{1,17}")
# A time at midnight may be written as its date.
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")


@dataclass(frozen=True)
class Keys:
    """The values behind a mode's labels, one per index."""

    values: npt.NDArray[Any]
    categories: bool = False  # the column was categorical: the values are all it can hold
    ordered: bool = False

    def take(self, rows: npt.NDArray[Any]) -> Keys:
        """The keys of some of the indices."""
        return Keys(self.values[rows], self.categories, self.ordered)

    def labels(self) -> list[str]:
        """The keys as text."""
        return [label(item) for item in self.values]


def label(item: Any) -> str:
    """A label as a person writes it: dates without a time of midnight, times without empty fractions
    of a second."""
    if isinstance(item, np.datetime64):
        unit = np.datetime_data(item)[0]
        whole = item.astype("datetime64[s]")
        written = str(item if unit in "YMWDhm" or item != whole else whole)
        return written.removesuffix("T00:00:00")
    if isinstance(item, np.timedelta64):
        span = item.astype("timedelta64[us]")
        return str(span.item()) if span == item else str(item)
    return str(item)


def infer(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Labels as int64, float64 or datetime64 where all are written so and differ, else as they
    are. Leading zeros are kept: such labels are no numbers."""
    def all_match(pattern: re.Pattern[str]) -> bool:
        return len(labels) > 0 and all(pattern.fullmatch(each) for each in labels)

    found: npt.NDArray[Any] | None = None
    if all_match(_INTEGER):
        found = np.asarray([int(each) for each in labels], np.int64)
    elif all(_INTEGER.fullmatch(each) or _DECIMAL.fullmatch(each) for each in labels) and labels:
        found = np.asarray([float(each) for each in labels])
    elif all_match(_TIME):
        try:
            found = np.asarray(labels, "datetime64[s]")
        except ValueError:  # a day that does not exist
            found = None
    if found is None or len(np.unique(found)) < len(labels):
        return np.asarray(labels, object)
    return found
