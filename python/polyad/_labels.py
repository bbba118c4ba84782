"""Names of a model's rows in files: the directory FILE.labels with mode-K-NAME.map, one label a
line. (STEM.labels would be that of the tensor the model was made from.)"""

from __future__ import annotations

import gzip
import os
import pathlib
import re
from collections.abc import Sequence
from typing import Any

Columns = list[Sequence[str] | None]
Names = list[str | None]

_NAME = re.compile(r"mode-(\d+)(?:-(.*?))?\.map(\.gz)?")


def label_directory(path: Any) -> pathlib.Path:
    """The directory of labels that belongs to a model's file."""
    return pathlib.Path(os.fsdecode(path) + ".labels")


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


def label_files(labels: Columns, names: Names) -> dict[str, bytes]:
    """What the files of a model's labels are called and hold."""
    files = {}
    for mode, (column, name) in enumerate(zip(labels, names)):
        if column is None:
            continue
        if any("\n" in label or label.endswith("\r") for label in column):
            raise ValueError(f"a label of mode {mode} has a line break; a label file cannot hold it")
        safe = "" if not name else "-" + re.sub(r"[^A-Za-z0-9-]", "_", name[:100])
        text = "".join(f"{label}\n" for label in column)
        files[f"mode-{mode + 1}{safe}.map"] = text.encode("utf-8", "surrogateescape")
    return files


def write_labels(path: Any, files: dict[str, bytes]) -> None:
    """Writes the label files beside a model's file; older ones there go."""
    directory = label_directory(path)
    if files:
        directory.mkdir(exist_ok=True)
    elif not directory.is_dir():
        return
    for old in directory.iterdir():
        if _NAME.fullmatch(old.name):
            old.unlink()
    for name, content in files.items():
        (directory / name).write_bytes(content)
