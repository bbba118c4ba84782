"""Contexts: where threads, device, seed, messages and interrupts meet the C library.

A C context serves one thread at a time, so each Python thread has its own. Objects that the
library makes keep the context alive that owns their memory."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable

from . import _cuda
from ._errors import error_from, text
from ._native import ffi, lib

logger = logging.getLogger("polyad")

Progress = dict[str, Any]
Callback = Callable[[Progress], Any]


class Context:
    """One C context."""

    def __init__(self) -> None:
        pointer = ffi.new("polyad_context **")
        if lib.polyad_context_create(pointer) != lib.POLYAD_OK:
            raise MemoryError("no memory for a context")
        self.pointer = ffi.gc(pointer[0], lib.polyad_context_destroy)
        self.default_threads = int(lib.polyad_threads(self.pointer))
        self.device = ""  # as asked for last
        self.callback: Callback | None = None
        self.exception: BaseException | None = None
        self._handle = ffi.new_handle(self)
        lib.polyad_set_log(self.pointer, lib.POLYAD_LOG_WARNING, lib.polyad_python_log,
                           self._handle)
        lib.polyad_set_progress(self.pointer, lib.polyad_python_progress, self._handle)

    def check(self, status: int) -> None:
        """Raises the exception that belongs to a failed call."""
        if status != lib.POLYAD_OK:
            raise error_from(self.pointer, status)

    def configure(self, *, threads: int | None = None, device: str = "auto", seed: int = 0,
                  verbose: bool = False, callback: Callback | None = None,
                  quick: bool = False) -> None:
        """Prepares the context for one computation. A quick one keeps the limit of the last: to
        ask the machine what memory it has left takes longer than such a computation."""
        threads = self.default_threads if threads is None else index(threads, "threads")
        self.check(lib.polyad_set_threads(self.pointer, threads))
        if device != self.device:
            name = encode(device, "device")
            _cuda.prepare(device)
            self.check(lib.polyad_set_device(self.pointer, name))
            self.device = device
        if not quick:
            self.check(lib.polyad_set_memory_limit(self.pointer, 0))
        seed = index(seed, "seed")
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed {seed} is outside 0 .. 2**64 - 1")
        lib.polyad_set_seed(self.pointer, seed)
        level = lib.POLYAD_LOG_INFO if verbose else lib.POLYAD_LOG_WARNING
        lib.polyad_set_log(self.pointer, level, lib.polyad_python_log, self._handle)
        lib.polyad_clear_cancel(self.pointer)
        self.callback, self.exception = callback, None

    def finish(self) -> None:
        """Raises what a callback raised during the computation."""
        exception, self.exception, self.callback = self.exception, None, None
        if exception is not None:
            raise exception


_local = threading.local()


def context() -> Context:
    """The calling thread's context."""
    found = getattr(_local, "context", None)
    if found is None:
        found = _local.context = Context()
    return found


def _log(user: Any, level: int, message: Any) -> None:
    levels = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}
    logger.log(levels.get(level, logging.INFO), "%s", text(message))


def _progress(user: Any, progress: Any) -> int:
    self: Context = ffi.from_handle(user)
    if self.callback is None:
        return 0
    return 1 if self.callback({
        "iteration": progress.iteration, "max_iterations": progress.max_iterations,
        "fit": progress.fit, "change": progress.change,
        "log_likelihood": progress.log_likelihood, "kkt_violation": progress.kkt_violation,
        "seconds": progress.seconds, "restart": progress.restart}) else 0


def _stopped(kind: Any, exception: BaseException, trace: Any) -> None:
    """What happens to an exception in what C calls: it ends the run. Python runs signal handlers
    there (even before a function's first line), so Ctrl-C arrives as KeyboardInterrupt between
    two iterations, and the model so far is kept. Any other is handed on by finish()."""
    ctx = context()
    lib.polyad_cancel(ctx.pointer)
    if not isinstance(exception, KeyboardInterrupt):
        ctx.exception = exception


ffi.def_extern(name="polyad_python_log", onerror=_stopped)(_log)
ffi.def_extern(name="polyad_python_progress", error=1, onerror=_stopped)(_progress)


def index(value: Any, name: str) -> int:
    """An integer argument; anything else is a TypeError that names it."""
    try:
        return int(value.__index__())
    except AttributeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None


def encode(value: Any, name: str) -> bytes:
    """A string (or path) argument as bytes for C."""
    if hasattr(value, "__fspath__"):
        value = value.__fspath__()
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    if b"\0" in value:
        raise ValueError(f"{name} must not contain a NUL character")
    return value
