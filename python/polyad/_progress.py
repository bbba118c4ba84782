"""Progress, in a terminal or a notebook: a bar of tqdm where that is installed, else a line that is
rewritten."""

from __future__ import annotations

import importlib
import sys
import time
from types import TracebackType
from typing import Any

from ._context import Callback
from ._types import Progress

BAR = 10  # characters
PAUSE = 0.1  # seconds between two updates


def _notebook() -> Any:
    """IPython's display function in a notebook, None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return display


def _tqdm(notebook: bool) -> Any:
    """tqdm's class of bars, in a notebook only where its widgets are there; None where it is not
    installed. tqdm's thread that looks after slow bars is not wanted: processes may fork."""
    try:
        if notebook:
            importlib.import_module("ipywidgets")
        found = importlib.import_module("tqdm.notebook" if notebook else "tqdm.std").tqdm
    except ImportError:
        return None
    return type("Bar", (found,), {"monitor_interval": 0})


class ProgressLine:
    """Rewrites one line after an iteration while it is shown: on standard error, or as the
    output of a notebook's cell."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.width = 0
        self.line = ""
        self.written = ""
        self.next = 0.0
        self.restart, self.before = 0, 0.0
        self.display = _notebook() if shown else None
        self.handle: Any = None
        self.bars: Any = _tqdm(self.display is not None) if shown else None
        self.bar: Any = None
        self.last: Progress | None = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.last is not None:
            self._write(self.last)
        if self.bar is not None:
            self.bar.close()
        if self.width:
            sys.stderr.write("\n")

    def wrap(self, callback: Callback | None) -> Callback:
        """A callback that shows the line and then calls the given one."""

        def call(progress: Progress) -> Any:
            if self.shown:
                self._show(progress)
            if progress["stage"]:  # before the first iteration; Ctrl-C comes through all the same
                return False
            return callback(progress) if callback is not None else False

        return call

    def _show(self, p: Progress) -> None:
        self.last = p
        if self.bars is None:
            self.line = self._text(p)
        now = time.monotonic()
        if now >= self.next:
            self._write(p)
            self.next = now + PAUSE

    def _text(self, p: Progress) -> str:
        if p["stage"]:
            return f"{p['stage']}  {p['seconds']:.1f} s"
        if p["restart"] != self.restart:  # starts may take turns
            self.restart = p["restart"]
            self.before = p["seconds"] if p["iteration"] == 1 else self.before
        done, most = p["iteration"], p["max_iterations"]
        full = BAR * done // most if most else BAR
        left = (p["seconds"] - self.before) / done * (most - done) if done else 0.0
        start = f"start {p['restart'] + 1}, " if p["restart"] else ""
        return (f"{start}iteration {done}/{most} |{'█' * full}{'·' * (BAR - full)}| {_quality(p)}"
                f"  {p['seconds']:.1f} s, at most {left:.1f} s left")

    def _draw(self, p: Progress) -> None:
        """A bar of tqdm, one for all starts."""
        most = p["max_iterations"] or None
        if self.bar is None:
            self.bar = self.bars(total=most, file=sys.stderr, dynamic_ncols=True, delay=1e-9)
        if p["restart"] != self.restart or most != self.bar.total:
            self.restart = p["restart"]
            self.bar.reset(most)
        start = f"start {p['restart'] + 1}: " if p["restart"] else ""
        self.bar.n = p["iteration"]
        self.bar.bar_format = "{desc}  {elapsed}" if p["stage"] else None
        self.bar.set_description_str(p["stage"] or start, refresh=False)
        self.bar.set_postfix_str("" if p["stage"] else _quality(p), refresh=False)
        self.bar.refresh()

    def _write(self, p: Progress) -> None:
        if self.bars is not None:
            self._draw(p)
            return
        if self.line == self.written:
            return
        self.written = self.line
        if self.display is not None:
            shown = {"text/plain": self.line}
            if self.handle is None:
                self.handle = self.display(shown, raw=True, display_id=True)
            else:
                self.handle.update(shown, raw=True)
            return
        sys.stderr.write("\r" + self.line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(self.line)


def _quality(p: Progress) -> str:
    """How good the model is: its fit, or its likelihood where an algorithm has no fit."""
    change = f" ({p['change']:+.1e})" if p["change"] == p["change"] else ""
    if p["fit"] == p["fit"]:
        return f"fit {p['fit']:.6f}{change}"
    return f"log-likelihood {p['log_likelihood']:.6e}{change}, KKT {p['kkt_violation']:.1e}"
