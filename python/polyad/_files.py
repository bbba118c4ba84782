"""Files that the library is to read: paths as they are, file objects through a temporary file."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from ._errors import Error

_EXTENSIONS = {".tns", ".txt", ".ptn", ".csv", ".tsv", ".gz", ".zst"}


@contextlib.contextmanager
def readable(source: Any, delimited: bool) -> Iterator[Any]:
    """A path for `source`. Errors about a file object name it instead of the temporary file."""
    if not hasattr(source, "read"):
        yield source
        return
    name = str(getattr(source, "name", "file object"))
    extensions = "".join(each for each in pathlib.Path(name).suffixes[-2:] if each in _EXTENSIONS)
    with tempfile.NamedTemporaryFile(
            prefix="polyad-", suffix=extensions or (".csv" if delimited else ".tns")) as file:
        first = source.read(0)
        if isinstance(first, str):
            while text := str(source.read(1 << 20)):
                file.write(text.encode("utf-8", "surrogateescape"))
        else:
            shutil.copyfileobj(source, file)
        file.flush()
        try:
            yield file.name
        except Error as error:
            where = None if error.file is None else error.file.replace(file.name, name)
            raise type(error)(str(error).replace(file.name, name), error.status, where, error.line,
                              error.column) from None


def column_list(columns: str | Sequence[str] | None) -> str | None:
    """The columns of a delimited file as the library takes them: one text, with commas."""
    if columns is None or isinstance(columns, str):
        return columns
    for each in columns:
        if not isinstance(each, str):
            raise TypeError(f"columns must be names, not {type(each).__name__}")
        if "," in each:
            raise ValueError(f"the name of column {each!r} has a comma, which separates names")
    return ",".join(columns)
