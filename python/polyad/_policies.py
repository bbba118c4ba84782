"""Words for what becomes of repeats and zeros, as C has them."""

from __future__ import annotations

from ._arguments import known
from ._native import lib

_DUPLICATES = {"sum": lib.POLYAD_DUPLICATES_SUM, "max": lib.POLYAD_DUPLICATES_MAX,
               "min": lib.POLYAD_DUPLICATES_MIN, "first": lib.POLYAD_DUPLICATES_FIRST,
               "error": lib.POLYAD_DUPLICATES_ERROR, "mean": lib.POLYAD_DUPLICATES_MEAN,
               "last": lib.POLYAD_DUPLICATES_LAST, "count": lib.POLYAD_DUPLICATES_COUNT}


def duplicates_policy(policy: str) -> int:
    try:
        return int(_DUPLICATES[policy])
    except (KeyError, TypeError):
        raise ValueError(f"duplicates {policy!r} is unknown; expected one of "
                         f"{', '.join(_DUPLICATES)}") from None


def zeros_policy(policy: str) -> int:
    if not known(policy, ("drop", "keep")):
        raise ValueError(f"zeros {policy!r} is unknown; expected 'drop' or 'keep'")
    return int(lib.POLYAD_ZEROS_KEEP if policy == "keep" else lib.POLYAD_ZEROS_DROP)
