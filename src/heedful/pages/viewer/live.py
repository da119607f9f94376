"""Progress of a run under way: rows, rate, time left, failures, cost."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heedful.pages.overview import changed

if TYPE_CHECKING:
    from heedful.pages.viewer.runs import Run

WINDOW_SECONDS = 60.0
"""The rate is that of the last minute, as far as somebody has looked."""

LINED = (".jsonl", ".csv", ".tsv")
"""Files whose rows are lines, so that the last line read says how far it is."""


class LiveProgress(NamedTuple):
    """How far a run is."""

    read: int  # rows read
    done: int  # rows done, failed ones among them
    failed: int  # rows that came to nothing
    # share of verdicts that are decided, of those in the index; None without any
    decided: float | None
    rate: float | None  # rows a second of late; None until two looks
    share: float | None  # how much of the input is read, by its lines; None where that is not known
    left_s: float | None  # seconds left, about; None where that is not known
    dollars: float | None  # what it has cost; None where it cost nothing, or nobody knows the price
    silent_s: float  # seconds since something was written


class Watch:
    """Looks at runs from time to time, and remembers what it saw."""

    def __init__(self) -> None:
        self._seen: dict[Path, deque[tuple[float, int]]] = {}
        self._lines: dict[tuple[Path, int, float], int] = {}

    def look(self, run: Run) -> LiveProgress:
        """Say how far a run is now."""
        ((done, failed),) = run.saved.query("SELECT count(*), count(problem) FROM outputs")
        ((unread,),) = run.saved.query("SELECT count(problem) FROM inputs")
        assert isinstance(done, int)  # noqa: S101 - counts are
        assert isinstance(failed, int)  # noqa: S101
        assert isinstance(unread, int)  # noqa: S101
        done, failed = done + unread, failed + unread
        rate = self._rate(run.directory, done)
        share = self._share(run)
        left = None
        if rate and share and done:
            left = max(0.0, done / share - done) / rate
        cost = run.saved.cost()
        return LiveProgress(
            read=run.total,
            done=done,
            failed=failed,
            decided=_decided(run),
            rate=rate,
            share=share,
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

    def _share(self, run: Run) -> float | None:
        """Say how much of the input was read, from the line of the last row."""
        paths = [Path(path) for path in run.saved.about.get("input") or ()]
        if not paths or paths[0].suffix.lower() not in LINED:
            return None
        lines = self._count(paths[0])
        if not lines or not run.total:
            return None
        last = run.saved.entry(run.total - 1).line
        return min(1.0, last / lines) if last <= lines + 1 else None

    def _count(self, path: Path) -> int | None:
        try:
            status = path.stat()
            key = path, status.st_size, status.st_mtime
            if key not in self._lines:
                with path.open("rb") as file:
                    blocks = iter(lambda: file.read(1 << 20), b"")
                    self._lines[key] = sum(block.count(b"\n") for block in blocks)
            return self._lines[key]
        except OSError:
            return None


def _decided(run: Run) -> float | None:
    if not run.judged or not run.covered.columns:
        return None
    met, unmet, undecided, _ = run.index.totals()
    whole = met + unmet + undecided
    return (met + unmet) / whole if whole else None
