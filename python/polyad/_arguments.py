"""Checks of arguments that many functions share: each error names the argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any

import numpy as np


def known(value: Any, words: Iterable[Any]) -> bool:
    """Whether an argument is one of these words (or numbers). A list, which has no hash, and an array, whose
    comparison is an array, are none."""
    return isinstance(value, (str, int, np.integer)) and value in words


def single(value: Any) -> bool:
    """Whether an argument is one number or name, and no sequence of them."""
    return isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0


def items(value: Any, name: str, what: str) -> list[Any]:
    """An argument that is a sequence (or an iterator) as a list. Text is one of letters, and sets have no order:
    both are mistakes."""
    if single(value) or isinstance(value, (set, frozenset, Mapping)):
        raise TypeError(f"{name} must be a sequence of {what}, not {type(value).__name__}")
    return list(value)


def mapping(value: Any, name: str, what: str) -> dict[Any, Any]:
    """An argument that is a mapping; None: an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping {what}, not {type(value).__name__}")
    return dict(value or {})


def idle(function: Callable[..., Any], where: str, **given: Any) -> None:
    """Refuses arguments of `function` that do nothing in this call, where they are not the defaults."""
    for name, value in given.items():
        if value != signature(function).parameters[name].default:
            raise ValueError(f"{name}={value!r} found; it counts with {where} alone")
