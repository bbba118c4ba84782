"""Files that the library is to read: paths as they are, file objects through a temporary file.

Parquet and Arrow files become delimited text on the way, so that columns, conditions and missing
entries mean there what they mean in delimited text."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from ._arguments import items
from ._errors import Error, ParseError

_EXTENSIONS = {".tns", ".txt", ".ptn", ".csv", ".tsv", ".npz", ".npy", ".gz", ".zst"}
_ARROW = {".arrow", ".feather", ".ipc"}


@contextlib.contextmanager
def readable(source: Any, delimited: bool, wanted: str | None = None) -> Iterator[Any]:
    """A path for `source`. Errors about a file object, or about a file that was converted, name it
    instead of the temporary file. `wanted`: text that has the names of the columns that are needed
    (None: all are)."""
    table = is_table(source)
    if not table and not hasattr(source, "read"):
        yield source
        return
    name = os.fsdecode(source) if table else str(getattr(source, "name", "file object"))
    extensions = "".join(each for each in pathlib.Path(name).suffixes[-2:] if each in _EXTENSIONS)
    with tempfile.NamedTemporaryFile(prefix="polyad-", suffix=".csv" if table else extensions or (
            ".csv" if delimited else ".tns")) as file:
        if table:
            write_delimited(name, file, wanted)
        else:
            _copy(source, file)
        file.flush()
        try:
            yield file.name
        except Error as error:
            where = None if error.file is None else error.file.replace(file.name, name)
            raise type(error)(str(error).replace(file.name, name), error.status, where, error.line,
                              error.column) from None


def _copy(source: Any, file: Any) -> None:
    """Copies a file object of text or bytes to its end."""
    first = source.read(0)
    if isinstance(first, str):
        while text := str(source.read(1 << 20)):
            file.write(text.encode("utf-8", "surrogateescape"))
    else:
        shutil.copyfileobj(source, file)


def is_table(source: Any) -> bool:
    """Whether a path names a Parquet or Arrow file."""
    return isinstance(source, (str, bytes, os.PathLike)) and (
        pathlib.Path(os.fsdecode(source)).suffix in {".parquet", *_ARROW})


def write_delimited(name: str, file: Any, wanted: str | None = None) -> None:
    """Writes the table of a Parquet or Arrow file as delimited text, one batch of rows at a time."""
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError(f"{name} is read by the package pyarrow, which is not installed "
                          "(pip install 'polyad[tables]')") from None
    csv = importlib.import_module("pyarrow.csv")
    with open(name, "rb"):
        pass  # a file that is not there, or must not be read, is reported as such
    try:
        schema, batches = _batches(arrow, name, wanted)
        plain = arrow.schema([(field.name, _plain(arrow, field)) for field in schema])
        with csv.CSVWriter(file, plain) as writer:
            for batch in batches:
                writer.write_batch(arrow.RecordBatch.from_arrays(
                    [_written(arrow, column).cast(field.type)
                     for column, field in zip(batch.columns, plain)], schema=plain))
    except arrow.ArrowInvalid as error:
        raise ParseError(f"{name}: {error}", "PARSE", name) from None


def write_parquet(frame: Any, path: Any) -> None:
    """Writes a pandas DataFrame, whole or not at all."""
    name = pathlib.Path(os.fsdecode(path))
    part = name.with_name(f".{name.name}.{os.getpid()}.tmp")
    try:
        frame.to_parquet(part, index=False)
        part.replace(name)
    finally:
        part.unlink(missing_ok=True)


def _batches(arrow: Any, name: str, wanted: str | None) -> tuple[Any, Iterator[Any]]:
    """The schema of the columns that are needed, and the rows."""
    if pathlib.Path(name).suffix in _ARROW:
        with contextlib.suppress(arrow.ArrowInvalid):  # of a stream, which has no footer
            table = arrow.ipc.open_file(name).read_all()
            return _taken(table, wanted).schema, _taken(table, wanted).to_batches()
        with open(name, "rb") as stream:
            table = arrow.ipc.open_stream(stream).read_all()
        return _taken(table, wanted).schema, _taken(table, wanted).to_batches()
    file = importlib.import_module("pyarrow.parquet").ParquetFile(name)
    columns = _needed(file.schema_arrow.names, wanted)
    schema = arrow.schema([file.schema_arrow.field(each) for each in columns])
    return schema, file.iter_batches(columns=columns)


def _taken(table: Any, wanted: str | None) -> Any:
    return table.select(_needed(table.column_names, wanted))


def _needed(names: Sequence[str], wanted: str | None) -> list[str]:
    """The columns whose names occur in what was asked for; all where none does, for the reader to
    say so."""
    found = [name for name in names if wanted is None or name in wanted]
    return found or list(names)


def _plain(arrow: Any, field: Any) -> Any:
    """The type in which a column is written: that of the dictionary of a column that has one."""
    kinds = arrow.types
    if kinds.is_timestamp(field.type):
        return arrow.string()
    plain = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    if kinds.is_nested(plain):
        raise TypeError(f"column {field.name!r} has type {plain}; expected text, numbers or times")
    return plain


def _written(arrow: Any, column: Any) -> Any:
    """Times as text, without a fraction of a second that is 0; other columns as they are."""
    if not arrow.types.is_timestamp(column.type):
        return column
    compute = importlib.import_module("pyarrow.compute")
    return compute.replace_substring_regex(column.cast(arrow.string()), r"\.0+(Z?)$", r"\1")


def column_list(columns: str | Sequence[str] | None) -> str | None:
    """The columns of a delimited file as the library takes them: one text, with commas."""
    if columns is None or isinstance(columns, str):
        return columns
    columns = items(columns, "columns", "names")
    for each in columns:
        if not isinstance(each, str):
            raise TypeError(f"columns must be names, not {type(each).__name__}")
        if "," in each:
            raise ValueError(f"the name of column {each!r} has a comma, which separates names")
    return ",".join(columns)
