"""Contexts: where threads, device, seed, messages and interrupts meet the C library.

A C context serves one computation at a time, so each Python thread has its own, and what a callback
computes has another than the run that called it. Objects that the library makes keep the context
alive that owns their memory.

The threads of OpenMP belong to the thread that started them, and fork() copies only the thread that
calls it: in the child that thread would wait for ever for threads that are not there. So it computes
alone there (threads that the child starts have OpenMP threads of their own). GPUs are lost in a
child once its parent has used one."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import numpy as np

from . import _cuda
from ._arguments import items, single
from ._errors import UnsupportedError, error_from, text
from ._native import ffi, lib
from ._types import Progress, Seed

logger = logging.getLogger("polyad")

Callback = Callable[[Progress], Any]


class Context:
    """One C context."""

    def __init__(self) -> None:
        pointer = ffi.new("polyad_context **")
        if lib.polyad_context_create(pointer) != lib.POLYAD_OK:
            raise MemoryError("no memory for a context")
        self.pointer = ffi.gc(pointer[0], lib.polyad_context_destroy)
        # What a launcher started beside this process has its part of the machine, as with comm=.
        self.check(lib.polyad_team_share_machine(self.pointer))
        self.default_threads = self.most_threads = int(lib.polyad_threads(self.pointer))
        self.threads_asked = False  # for the computation that is being prepared
        self.thread = threading.get_ident()
        self.alone = getattr(_local, "alone", False)  # fork() left its thread's OpenMP threads behind
        self.device = ""  # as asked for last
        self.in_turn = False  # it has another by now: its own among the processes of a team
        self.watches = False  # SIGINT, during a call
        self.interrupted = False
        self.used_gpu = False  # a plan was made on one
        self.teams: dict[int, Any] = {}  # by communicator; they stay, for processes leave together
        self.callback: Callback | None = None
        self.exception: BaseException | None = None
        self.inner: Context | None = None  # of what callbacks compute
        self._handle = ffi.new_handle(self)
        lib.polyad_set_log(self.pointer, lib.POLYAD_LOG_WARNING, lib.polyad_python_log,
                           self._handle)
        lib.polyad_set_progress(self.pointer, lib.polyad_python_progress, self._handle)
        _contexts.add(self)

    def team(self, comm: Any) -> Any:
        """The team of an mpi4py communicator's processes."""
        if not hasattr(comm, "py2f"):
            raise TypeError(f"comm is {type(comm).__name__}; expected a communicator of mpi4py, such "
                            "as MPI.COMM_WORLD")
        number = int(comm.py2f())
        if number not in self.teams:
            made = ffi.new("polyad_team **")
            self.check(lib.polyad_team_create_mpi(self.pointer, number, made))
            self.teams[number] = made[0]
        if not self.threads_asked:  # processes of one machine divide its processors
            self.check(lib.polyad_set_threads(self.pointer,
                                              lib.polyad_team_threads(self.teams[number])))
        _cuda.prepare_nccl(self.device)
        self.check(lib.polyad_team_set_device(self.pointer, self.teams[number],
                                              encode(self.device, "device")))
        self.in_turn = True
        return self.teams[number]

    def check(self, status: int) -> None:
        """Raises the exception that belongs to a failed call."""
        if status != lib.POLYAD_OK:
            raise error_from(self.pointer, status)

    def configure(self, *, threads: int | None = None, device: str = "auto", seed: int = 0,
                  verbose: bool = False, callback: Callback | None = None,
                  quick: bool = False) -> None:
        """Prepares the context for one computation. A quick one keeps the limit of the last: to
        ask the machine what memory it has left takes longer than such a computation."""
        self.threads_asked = threads is not None
        threads = self.default_threads if threads is None else index(threads, "threads")
        threads = 0 if threads == -1 else threads  # all processors, in the words of scikit-learn
        if self.alone:
            threads = _one_thread(threads)
        self.check(lib.polyad_set_threads(self.pointer, threads))
        self.most_threads = max(self.most_threads, threads)
        if _gpus_lost:
            device = _without_gpu(device)
        name = encode(device, "device")
        if device != self.device or self.in_turn:
            _cuda.prepare(device)
            self.check(lib.polyad_set_device(self.pointer, name))
            self.device, self.in_turn = device, False
        if not quick:
            self.check(lib.polyad_set_memory_limit(self.pointer, 0))
        lib.polyad_set_seed(self.pointer, seed)
        lib.polyad_set_log(self.pointer, _log_level(verbose), lib.polyad_python_log, self._handle)
        lib.polyad_clear_cancel(self.pointer)
        self.callback, self.exception, self.interrupted = callback, None, False

    def run(self, function: Any, *arguments: Any) -> int:
        """Calls a long function of the library, which Ctrl-C cancels; ``interrupted`` then."""
        outer = self.watches
        self.watches = bool(threading.current_thread() is threading.main_thread() and
                            signal.getsignal(signal.SIGINT) is signal.default_int_handler and
                            lib.polyad_python_watch(self.pointer))
        try:
            return int(function(self.pointer, *arguments))
        finally:
            if self.watches and lib.polyad_python_unwatch():
                self.interrupted = True
            self.watches = outer

    def finish(self) -> None:
        """Raises what a callback raised during the computation."""
        exception, self.exception, self.callback = self.exception, None, None
        if exception is not None:
            raise exception


_local = threading.local()
_contexts: weakref.WeakSet[Context] = weakref.WeakSet()
_gpus_lost = False  # the process that this one was forked from had used a GPU
_warned = False


def _after_fork() -> None:
    """In the child: see the top of this file."""
    global _gpus_lost, _warned
    _warned = False
    ours = [each for each in _contexts if each.thread == threading.get_ident()]
    for each in list(_contexts):
        _gpus_lost = _gpus_lost or each.used_gpu
        each.check(lib.polyad_set_threads(each.pointer, 1))
    _local.alone = any(each.alone or each.most_threads > 1 for each in ours)
    for each in ours:
        each.alone = _local.alone


def _one_thread(wanted: int) -> int:
    """What becomes of a number of threads in a child that has one; the first time with a warning."""
    global _warned
    if wanted == 1 or wanted < 0:
        return wanted
    if not _warned:
        _warned = True
        warnings.warn("this process was forked after polyad had computed with several threads, which "
                      "fork() does not copy: it computes with one (threads=1 says so without a "
                      "warning; processes that multiprocessing starts by 'spawn' have all)",
                      RuntimeWarning, stacklevel=2)
    return 1


def _without_gpu(device: str) -> str:
    """The device to take in a child that cannot use GPUs."""
    if device in ("auto", "cpu"):
        return "cpu"
    raise UnsupportedError(f"device {device!r} cannot be used in a process that was forked after its "
                           "parent had used a GPU; start processes by multiprocessing's 'spawn'",
                           "UNSUPPORTED")


os.register_at_fork(after_in_child=_after_fork)


def context() -> Context:
    """The calling thread's context."""
    found = getattr(_local, "context", None)
    if found is None:
        found = _local.context = Context()
    return found


def _log_level(verbose: bool) -> int:
    """The level of messages that somebody reads: a handler of the logger "polyad", or a user who
    asked for talk."""
    if logger.isEnabledFor(logging.DEBUG):
        return int(lib.POLYAD_LOG_DEBUG)
    return int(lib.POLYAD_LOG_INFO if verbose or logger.isEnabledFor(logging.INFO) else
               lib.POLYAD_LOG_WARNING)


def _log(user: Any, level: int, message: Any) -> None:
    levels = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}
    logger.log(levels.get(level, logging.INFO), "%s", text(message))


def _progress(user: Any, progress: Any) -> int:
    self: Context = ffi.from_handle(user)
    if self.callback is None:
        return 0
    if self.watches:
        lib.polyad_python_running(1)
    outer = getattr(_local, "context", None)
    try:
        _local.context = self.inner
        return 1 if self.callback({
            "iteration": progress.iteration, "max_iterations": progress.max_iterations,
            "fit": progress.fit, "change": progress.change,
            "log_likelihood": progress.log_likelihood, "kkt_violation": progress.kkt_violation,
            "seconds": progress.seconds, "restart": progress.restart,
            "stage": text(progress.stage) if progress.stage else ""}) else 0
    finally:
        self.inner, _local.context = _local.context, outer
        if self.watches:
            lib.polyad_python_running(0)


def _stopped(kind: Any, exception: BaseException, trace: Any) -> None:
    """What happens to an exception in what C calls: it ends the run. Python runs signal handlers
    there (even before a function's first line), so Ctrl-C arrives as KeyboardInterrupt between
    two iterations, and the model so far is kept. Any other is handed on by finish()."""
    ctx = context()
    lib.polyad_cancel(ctx.pointer)
    if isinstance(exception, KeyboardInterrupt):
        ctx.interrupted = True
    else:
        ctx.exception = exception


ffi.def_extern(name="polyad_python_log", onerror=_stopped)(_log)
ffi.def_extern(name="polyad_python_progress", error=1, onerror=_stopped)(_progress)


def index(value: Any, name: str, least: int = -2**63) -> int:
    """An integer argument; anything else is a TypeError that names it, one that is out of the range
    of the library's a ValueError."""
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not least <= number < 2**64:
        raise ValueError(f"{name} is {number}; expected {max(least, 0)} to 2**64 - 1")
    return number


def real(value: Any, name: str) -> float:
    """A number argument; anything else, text of digits among it, is a TypeError that names it."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, not {type(value).__name__}") from None


def switch(value: Any, name: str) -> int:
    """An argument that is true or false, as 1 or 0; "no" and lists are neither."""
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise TypeError(f"{name} must be True or False, not {value!r:.60}")
    return int(value)


def talks(value: Any) -> bool:
    """Whether `verbose` asks for talk: a bool, or a number as other packages take."""
    if not isinstance(value, (int, np.bool_, np.integer)):
        raise TypeError(f"verbose must be True or False, not {value!r:.60}")
    return bool(value)


def mode_number(value: Any, names: Sequence[str | None], owner: str) -> int:
    """A mode given by its number (negative: from the end) or its name."""
    if isinstance(value, str):
        if value not in names:
            known = [name for name in names if name is not None]
            raise ValueError(f"the {owner} has no mode {value!r}; "
                             f"it has {', '.join(known) or 'modes without names'}")
        return list(names).index(value)
    mode = index(value, "mode")
    if not -len(names) <= mode < len(names):
        raise ValueError(f"mode {mode} does not exist; the {owner} has {len(names)} modes")
    return mode % len(names)


def mode_order(modes: Any, names: Sequence[str | None], owner: str) -> list[int]:
    """Every mode once, by numbers or names, in the order that is wanted."""
    if isinstance(modes, str):
        raise TypeError(f"modes must be a sequence of numbers or names, not the string {modes!r}")
    order = [mode_number(mode, names, owner) for mode in items(modes, "modes", "numbers or names")]
    if sorted(order) != list(range(len(names))):
        raise ValueError(f"modes {order} is no permutation of the {owner}'s {len(names)} modes")
    return order


def check_callback(value: Any) -> None:
    """Refuses what cannot be called, before a run begins."""
    if value is not None and not callable(value):
        raise TypeError(f"callback must be a function or None, not {type(value).__name__}")


def nonnegative_modes(value: Any) -> bool | list[Any]:
    """What ``nonnegative`` says: all modes, none, or a list of them, which mode_bits() looks up in
    the tensor."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    if isinstance(value, Mapping) or single(value):
        raise TypeError("nonnegative must be True, False or a sequence of modes, not "
                        f"{value!r:.60}")
    modes = list(value)
    for mode in modes:
        if isinstance(mode, (bool, np.bool_)) or not (isinstance(mode, str) or hasattr(mode, "__index__")):
            raise TypeError(f"nonnegative has {mode!r:.60}; expected numbers or names of modes")
    return modes


def mode_bits(modes: bool | list[Any], names: Sequence[str | None], name: str) -> int:
    """Modes of a tensor as a set: bit n for mode n; of a list each once."""
    if isinstance(modes, bool):
        return (1 << len(names)) - 1 if modes else 0
    bits = 0
    for mode in modes:
        bit = 1 << mode_number(mode, names, "tensor")
        if bits & bit:
            raise ValueError(f"{name} has mode {mode!r} twice; expected different modes")
        bits |= bit
    return bits


def seed_number(seed: Seed) -> int:
    """A seed for the library: an integer itself, what a generator of NumPy gives next, or with
    None one that nobody chose."""
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    number = int(seed) if isinstance(seed, int) else index(seed, "seed")
    if not 0 <= number < 2**64:
        raise ValueError(f"seed {number} is outside 0 .. 2**64 - 1")
    return number


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
