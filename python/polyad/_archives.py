"""NumPy archives (``.npz``) of tensors and models.

A tensor's archive has the layout of pydata's ``sparse.save_npz`` (``coords`` of shape (N, nnz),
``data``, ``shape``, ``fill_value``), so that either package reads what the other wrote; a model's
has ``weights`` (or ``core``) and ``factor_0``, ``factor_1``, …. Both may have ``mode_names`` and,
for the modes that have labels, ``labels_K``: arrays of text. Nothing in an archive is executed."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import ParseError

Arrays = dict[str, npt.NDArray[Any]]


def is_archive(path: Any) -> bool:
    """Whether a path names a NumPy archive."""
    return isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).endswith(".npz")


def read_archive(path: Any, expected: Sequence[str]) -> Arrays:
    """The arrays of an archive, which must have those that are expected."""
    name = os.fsdecode(path)
    try:
        with np.load(name, allow_pickle=False) as archive:
            arrays = {key: np.asarray(archive[key]) for key in archive.files}
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError) as error:
        raise ParseError(f"{name}: {error}; expected a NumPy archive without Python objects",
                         "PARSE", name) from None
    for key in expected:
        if key not in arrays:
            raise ParseError(f"{name}: there is no array {key!r}, only {', '.join(sorted(arrays))}; "
                             f"expected {', '.join(expected)}", "PARSE", name)
    return arrays


def write_archive(path: Any, arrays: Mapping[str, npt.ArrayLike]) -> None:
    """Writes an archive: under a name of its own first, so that no half of one is left."""
    name = os.fsdecode(path)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(name) or ".", prefix=".polyad-",
                                     suffix=".npz", delete=False) as file:
        try:
            np.savez_compressed(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, name)
        except BaseException:
            os.unlink(file.name)
            raise


def _umask() -> int:
    """The permissions that new files of this process lack."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def label_arrays(labels: Sequence[Sequence[str] | None], names: Sequence[str | None]) -> Arrays:
    """Labels and names of modes as arrays."""
    arrays: Arrays = {f"labels_{mode}": np.asarray(column, np.str_)
                      for mode, column in enumerate(labels) if column is not None}
    if any(names):
        arrays["mode_names"] = np.asarray([name or "" for name in names], np.str_)
    return arrays


def labels_of(path: Any, arrays: Arrays,
              shape: Sequence[int]) -> tuple[list[list[str] | None], list[str | None]]:
    """Labels and names of modes, from the arrays of an archive."""
    labels: list[list[str] | None] = [None] * len(shape)
    for mode, length in enumerate(shape):
        column = arrays.get(f"labels_{mode}")
        if column is not None:
            if column.shape != (length,):
                raise ParseError(f"{os.fsdecode(path)}: labels_{mode} has shape {column.shape}; "
                                 f"expected ({length},)", "PARSE", os.fsdecode(path))
            labels[mode] = [str(each) for each in column]
    names = arrays.get("mode_names", np.asarray([""] * len(shape)))
    if names.shape != (len(shape),):
        raise ParseError(f"{os.fsdecode(path)}: mode_names has shape {names.shape}; expected "
                         f"({len(shape)},)", "PARSE", os.fsdecode(path))
    return labels, [str(name) or None for name in names]
