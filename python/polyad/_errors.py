"""Exceptions made from the status codes of the C library."""

from __future__ import annotations

from typing import Any

from ._native import ffi, lib


class Error(Exception):
    """An error of the library. ``status`` is the code's name ("PARSE", "MEMORY_LIMIT", …);
    ``file``, ``line`` and ``column`` say where in the input, when it was about an input."""

    def __init__(self, message: str, status: str = "INTERNAL", file: str | None = None,
                 line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.status, self.file, self.line, self.column = status, file, line, column

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.status, self.file, self.line, self.column)


class ArgumentError(Error, ValueError):
    """An argument is outside its documented range, or inputs do not belong together."""


class ParseError(Error, ValueError):
    """A file is malformed; the message names file, line and column."""


class FileError(Error, OSError):
    """Reading or writing failed."""

    # OSError has constructor and text of its own.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MemoryLimitError(Error, MemoryError):
    """More memory is needed than the machine or the memory limit has."""


class UnsupportedError(Error, NotImplementedError):
    """This combination of format, device, precision and kernel does not exist."""


_CLASSES: dict[str, type[Error]] = {
    "INVALID_ARGUMENT": ArgumentError,
    "MISMATCH": ArgumentError,
    "OVERFLOW": ArgumentError,
    "NUMERICAL": ArgumentError,
    "PARSE": ParseError,
    "IO": FileError,
    "OUT_OF_MEMORY": MemoryLimitError,
    "MEMORY_LIMIT": MemoryLimitError,
    "UNSUPPORTED": UnsupportedError,
}


def text(pointer: Any) -> str:
    """A C string as str; bytes that are not UTF-8 are kept escaped."""
    if pointer == ffi.NULL:
        return ""
    return str(ffi.string(pointer).decode("utf-8", "backslashreplace"))


def error_from(context: Any, status: int) -> Error:
    """The exception for a failed call on a context."""
    record = lib.polyad_last_error_record(context)
    name = text(lib.polyad_status_name(status))
    message = text(record.message) or text(lib.polyad_status_string(status))
    file = text(record.file) or None
    return _CLASSES.get(name, Error)(message, name, file, int(record.line), int(record.column))
