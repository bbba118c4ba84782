"""Names of rows in a directory of files mode-K-NAME.map, one label a line."""

from __future__ import annotations

import gzip
import pathlib
import re
from collections.abc import Sequence
from typing import Any

Columns = list[Sequence[str] | None]
Names = list[str | None]

_NAME = re.compile(r"mode-(\d+)(?:-(.*?))?\.map(\.gz)?")


def read_labels(directory: pathlib.Path, shape: Sequence[int]) -> tuple[Columns, Names]:
    """Labels and mode names from a directory."""
    labels: Columns = [None] * len(shape)
    names: Names = [None] * len(shape)
    for file in sorted(directory.iterdir()):
        match = _NAME.fullmatch(file.name)
        if match is None:
            continue
        mode = int(match.group(1)) - 1
        if not 0 <= mode < len(shape):
            raise ValueError(f"{file}: the model has {len(shape)} modes")
        raw = gzip.decompress(file.read_bytes()) if match.group(3) else file.read_bytes()
        column = raw.decode("utf-8", "replace").split("\n")
        if column[-1] == "":
            column.pop()
        column = [label.removesuffix("\r") for label in column]
        if len(column) != shape[mode]:
            raise ValueError(f"{file}: {len(column)} labels; expected {shape[mode]}")
        labels[mode], names[mode] = column, match.group(2) or None
    return labels, names
