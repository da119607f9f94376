"""Progress of a run under way: rows, rate, time left, failures, cost."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from heedful.pages.overview import changed

if TYPE_CHECKING:
    from pathlib import Path

    from heedful.pages.viewer.runs import Run

WINDOW_SECONDS = 60.0
"""The rate is that of the last minute, as far as somebody has looked."""


class LiveProgress(NamedTuple):
    """How far a run is."""

    read: int  # rows read
    done: int  # rows done, failed ones among them
    failed: int  # rows that came to nothing
    # share of verdicts that are decided, of those in the index; None without any
    decided: float | None
    rate: float | None  # rows a second of late; None until two looks
    share: float | None  # how much of the input is read; None where that is not known
    left_s: float | None  # seconds left, about; None where that is not known
    dollars: float | None  # what it has cost; None where it cost nothing, or nobody knows the price
    silent_s: float  # seconds since something was written


class Watch:
    """Looks at runs from time to time, and remembers what it saw."""

    def __init__(self) -> None:
        self._seen: dict[Path, deque[tuple[float, int]]] = {}

    def look(self, run: Run) -> LiveProgress:
        """Say how far a run is now."""
        ((done, failed),) = run.saved.query("SELECT count(*), count(problem) FROM outputs")
        ((unread,),) = run.saved.query("SELECT count(problem) FROM inputs")
        assert isinstance(done, int)  # noqa: S101 - counts are
        assert isinstance(failed, int)  # noqa: S101
        assert isinstance(unread, int)  # noqa: S101
        done, failed = done + unread, failed + unread
        rate = self._rate(run.directory, done)
        total = run.saved.expected_rows
        left = None
        if rate and total:
            left = max(0, total - done) / rate
        cost = run.saved.cost()
        return LiveProgress(
            read=run.total,
            done=done,
            failed=failed,
            decided=_decided(run),
            rate=rate,
            share=min(1.0, run.total / total) if total else None,
            left_s=left,
            dollars=cost["dollars"] if cost else None,
            silent_s=max(0.0, time.time() - changed(run.directory)),
        )

    def _rate(self, directory: Path, done: int) -> float | None:
        seen = self._seen.setdefault(directory, deque())
        now = time.monotonic()
        if seen and done < seen[-1][1]:
            seen.clear()  # rows were forgotten, to be judged again
        seen.append((now, done))
        while len(seen) > 2 and now - seen[0][0] > WINDOW_SECONDS:  # noqa: PLR2004 - a span
            seen.popleft()
        (begun, first), (ended, last) = seen[0], seen[-1]
        return (last - first) / (ended - begun) if ended - begun > 1 else None


def _decided(run: Run) -> float | None:
    if not run.judged or not run.covered.columns:
        return None
    met, unmet, undecided, _ = run.index.totals()
    whole = met + unmet + undecided
    return (met + unmet) / whole if whole else None
