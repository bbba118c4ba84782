"""Exceptions made from the status codes of the C library."""

from __future__ import annotations

import errno
import os
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
    """Reading or writing failed; ``errno``, ``strerror`` and ``filename`` are set as in every
    OSError. A file that is missing is a :class:`MissingFileError`, one that must not be read or
    written a :class:`FilePermissionError`."""

    def __init__(self, message: str, status: str = "IO", file: str | None = None, line: int = 0,
                 column: int = 0) -> None:
        super().__init__(message, status, file, line, column)
        self.filename = file
        number: Any = _number(message)
        words: Any = None if number is None else os.strerror(number)
        self.errno, self.strerror = number, words

    # OSError has constructor and text of its own.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingFileError(FileError, FileNotFoundError):
    """A file or directory is not there."""


class FilePermissionError(FileError, PermissionError):
    """The rights to read or write a file are missing."""


class MemoryLimitError(Error, MemoryError):
    """More memory is needed than the machine or the memory limit has."""


class UnsupportedError(Error, NotImplementedError):
    """This combination of format, device, precision and kernel does not exist."""


class DeviceError(Error, RuntimeError):
    """A device is not there, or reported an error."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was used before fit()."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a decomposition. ``model`` is the model after the last whole iteration, None
    where there was none yet (the tensor was still being stored)."""

    def __init__(self, message: str, model: Any = None) -> None:
        super().__init__(message)
        self.model = model


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
    "DEVICE": DeviceError,
    "DEVICE_LOST": DeviceError,
}
_FILE_CLASSES: dict[int | None, type[FileError]] = {
    errno.ENOENT: MissingFileError, errno.EACCES: FilePermissionError,
    errno.EPERM: FilePermissionError}


def _number(message: str) -> int | None:
    """The errno whose text, which the library wrote, the message contains. A longer text is looked
    for first: one may be part of another."""
    texts = sorted(((os.strerror(number), number) for number in errno.errorcode),
                   key=lambda each: -len(each[0]))
    return next((number for words, number in texts if f": {words}" in message), None)


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
    kind = _CLASSES.get(name, Error)
    if kind is FileError:
        kind = _FILE_CLASSES.get(_number(message), FileError)
    return kind(message, name, file, int(record.line), int(record.column))
