"""One line of progress, in a terminal or a notebook."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from ._context import Callback, Progress


class ProgressLine:
    """Rewrites one line on standard error after each iteration while it is shown."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.width:
            sys.stderr.write("\n")

    def wrap(self, callback: Callback | None) -> Callback:
        """A callback that shows the line and then calls the given one."""

        def call(progress: Progress) -> Any:
            if self.shown:
                self._show(progress)
            return callback(progress) if callback is not None else False

        return call

    def _show(self, p: Progress) -> None:
        start = f"start {p['restart'] + 1}, " if p["restart"] else ""
        rate = p["seconds"] / p["iteration"] if p["iteration"] else 0.0
        left = rate * (p["max_iterations"] - p["iteration"])
        change = f" ({p['change']:+.1e})" if p["change"] == p["change"] else ""
        line = (f"{start}iteration {p['iteration']}/{p['max_iterations']}  fit {p['fit']:.6f}"
                f"{change}  {p['seconds']:.1f} s, at most {left:.1f} s left")
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)
