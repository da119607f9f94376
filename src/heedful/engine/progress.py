"""Showing how far a run is: a line that redraws on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from heedful.core.text import amount, dollars

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.engine.options import RunOptions
    from heedful.engine.runner import Progress

__all__ = ["Display", "clock"]

TERMINAL_SECONDS = 0.2
PLAIN_SECONDS = 10.0


def line(progress: Progress, now: float) -> str:
    """Describe progress: rows, rate, time left where known, failures, coverage, cost."""
    elapsed = max(now - progress.started, 1e-9)
    rate = (progress.done - progress.resumed) / elapsed
    parts = [amount(progress.done, "row")]
    if progress.total:
        share = min(1.0, progress.done / progress.total)
        parts[0] = f"{progress.done:,} of {amount(progress.total, 'row')} ({share:.0%})"
        left = max(0, progress.total - progress.done)
        parts.append(f"{rate:,.0f} rows/s")
        if rate:
            parts.append(f"{clock(left / rate)} left")
    else:
        parts.append(f"{rate:,.0f} rows/s")
    if progress.resumed:
        parts.append(f"{progress.resumed:,} from before")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    coverage = progress.coverage()
    if coverage is not None:
        parts.append(f"coverage {math.floor(1000 * coverage) / 10:.1f}%")  # 100 means all
    spent = progress.spent()
    if spent is not None:
        parts.append(f"{dollars(spent)} spent")
    calls, seconds = progress.waiting()
    if calls:
        parts.append(f"{amount(calls, 'call')} waiting to retry, the first for {clock(seconds)}")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules


def shown(options: RunOptions) -> Callable[[Progress], None]:
    """Return what shows progress; where nobody said: a line in a notebook, nothing elsewhere."""
    from heedful.engine.options import ignore

    default = Display() if options.get("progress", in_notebook()) else ignore
    return options.get("on_progress") or default


class Display:
    """Prints progress to a stream; call it after each row, it decides when to print.

    Nothing is printed for a run that ends within the first interval.
    """

    def __init__(
        self, stream: TextIO | None = None, say: Callable[[Any, float], str] = line
    ) -> None:
        self._say = say
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self._notebook = not self.terminal and in_notebook()
        redraws = self.terminal or self._notebook
        self._interval = TERMINAL_SECONDS if redraws else PLAIN_SECONDS
        self._due = time.monotonic() + self._interval
        self._drawn = False
        self._width = 0

    def __call__(self, progress: object) -> None:
        """Print the progress if it is time."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._interval
        text = self._say(progress, now)
        if self._notebook:  # which knows no sign that erases a line
            self.stream.write(f"\r{text:<{self._width}}")
            self._width = max(self._width, len(text))
        else:
            self.stream.write(f"\r\x1b[2K{text}" if self.terminal else f"{text}\n")
        self.stream.flush()
        self._drawn = True

    def clear(self) -> None:
        """Remove the redrawn line, so that what is printed next starts on a clean one."""
        if self._drawn and self.terminal:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()


def clock(seconds: float) -> str:
    """Show a duration as ``1:02:03`` or ``2:03``."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, seconds_left = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds_left:02}"
    return f"{minutes}:{seconds_left:02}"
