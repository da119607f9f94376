"""Find the constraints that fail most, by their words."""

from __future__ import annotations

import heapq
import sqlite3
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.closing import Closing
from heedful.core.nouns import Status
from heedful.metrics.proportions import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint
    from heedful.metrics.proportions import Interval

FEWEST = 5
"""Verdicts that a constraint has at least to be called hard: of fewer, chance says more."""

LISTED = 20
TEXT_CUT = 1000
"""Characters of a text that are shown."""

WAITING = 2000
"""Texts that are counted in memory before they go into the file."""

PLACES = {Status.MET: 0, Status.UNMET: 1}
"""Where a verdict is counted; the undecided are counted third."""

SCHEMA = "CREATE TABLE texts (key BLOB, text TEXT, met INTEGER, unmet INTEGER, undecided INTEGER)"

COUNTED = """
SELECT min(rowid), key, sum(met), sum(unmet), sum(undecided) FROM texts
GROUP BY key HAVING sum(met) + sum(unmet) >= ?
"""
"""The sums by text, which SQLite sorts in a file; an index would be written all over."""


class Text(NamedTuple):
    """A constraint's text, and the verdicts on it."""

    text: str
    met: int
    unmet: int
    undecided: int

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the share that met it, whatever the undecided ones are."""
        return _interval(self.met, self.unmet, self.undecided)


def hardness(interval: Sequence[float] | None) -> float:
    """Return the upper end of the interval of the share that met it: the lower, the harder.

    So a constraint that one of one did not meet is not the hardest.
    """
    return 1.0 if interval is None else interval[1]


def _interval(met: int, unmet: int, undecided: int) -> Interval | None:
    total = met + unmet + undecided
    low, high = wilson(met, total), wilson(met + undecided, total)
    return None if low is None or high is None else (low[0], high[1])


class Texts(Closing):
    """Counts verdicts by the words of their constraints, in a temporary file.

    Data may have as many texts as verdicts, so a table in memory would grow with them.
    """

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute(SCHEMA)
        self._waiting: dict[str, list[int]] = {}

    def close(self) -> None:
        """Forget everything."""
        self._db.close()

    def add(self, constraint: Constraint, status: Status) -> None:
        """Count a verdict; one that a constraint doesn't apply is none."""
        if status.settled and not status.decided:
            return
        counts = self._waiting.setdefault(constraint.text, [0, 0, 0])
        counts[PLACES.get(status, 2)] += 1
        if len(self._waiting) >= WAITING:
            self._flush()

    def hardest(self) -> list[Text]:
        """Return the texts that fewest met, of those with :data:`FEWEST` verdicts or more."""
        self._flush()
        hard = heapq.nsmallest(
            LISTED,
            self._db.execute(COUNTED, (FEWEST,)),
            key=lambda row: (hardness(_interval(*row[2:])), row[1]),
        )
        query = "SELECT text FROM texts WHERE rowid = ?"
        return [
            Text(self._db.execute(query, (place,)).fetchone()[0], *counts)
            for place, _, *counts in hard
        ]

    def _flush(self) -> None:
        rows = (
            (
                blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(),
                text[:TEXT_CUT].encode("utf-8", "replace").decode(),
                *counts,
            )
            for text, counts in self._waiting.items()
        )
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", rows)
        self._db.execute("COMMIT")
        self._waiting.clear()
