"""Read a run for a report, beyond its summary: one pass over the store, in flat memory."""

from __future__ import annotations

import heapq
import sqlite3
from array import array
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.closing import Closing
from heedful.core.nouns import Status
from heedful.jobs.results import scored_entry
from heedful.pages.hardest import FEWEST, hardest_counts, of_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.core.nouns import Constraint, Critique, Sample
    from heedful.jobs.results import Scored
    from heedful.jobs.saved_run import SavedRun
    from heedful.pages.hardest import Hard


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

    def hardest(self) -> list[Hard]:
        """Return the texts that fewest met, of those with :data:`FEWEST` verdicts or more."""
        self._flush()
        hard = hardest_counts(self._db.execute(COUNTED, (FEWEST,)))
        query = "SELECT text FROM texts WHERE rowid = ?"
        return [
            of_words(self._db.execute(query, (place,)).fetchone()[0], *counts)
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


SPLITS_LISTED = 20
REASONS_LISTED = 1000
OTHER = "other reasons"
PLACES_LISTED = 5
"""Constraints that are named for each reason why a verdict was not reached."""


class Latency(NamedTuple):
    """Calls of which the run holds the answers, and in which time half and 95 % of them came."""

    calls: int
    median: float
    slow: float


@dataclass(slots=True)
class RunReading:
    """All that a report says of one run."""

    name: str  # how the report calls it
    run: SavedRun  # the run
    summary: dict[str, Any]  # as in summary.json
    # constraints without a verifier that several samples share, the hardest first
    texts: list[Hard] = field(default_factory=list)
    # for each reason why verdicts were not reached, the first of these
    places: dict[str, list[str]] = field(default_factory=dict)
    # verdicts that weren't unanimous, the first: place, text, votes, verdict
    splits: list[tuple[str, str, str, str]] = field(default_factory=list)
    unmet: int = 0  # samples with a constraint that was not met
    examples: list[Scored] = field(default_factory=list)  # some of them, chosen at random
    latency: Latency | None = None  # what the calls took; None if no model was called

    def add(self, sample: Sample, critique: Critique, texts: Texts) -> bool:
        """Take in one row; say whether a constraint was not met."""
        failed = False
        for place, (constraint, judgment) in enumerate(
            zip(sample.checklist, critique.judgments, strict=False), 1
        ):
            failed |= judgment.status is Status.UNMET and not constraint.is_penalty
            if constraint.check is None:
                texts.add(constraint, judgment.status)
            where = f"{sample.id}, {place}"
            if not judgment.status.settled:
                self._undecided(judgment.explanation, where)
            if judgment.votes and len(self.splits) < SPLITS_LISTED:
                votes = [(vote["judge"], vote["status"]) for vote in judgment.votes]
                if {"met", "unmet"} <= {status for _, status in votes}:
                    said = "; ".join(f"{judge}: {status}" for judge, status in votes)
                    self.splits.append((where, constraint.text[:TEXT_CUT], said, judgment.status))
        self.unmet += failed
        return failed

    def _undecided(self, reason: str, place: str) -> None:
        if reason not in self.places and len(self.places) >= REASONS_LISTED:
            reason = OTHER
        places = self.places.setdefault(reason, [])
        if len(places) < PLACES_LISTED:
            places.append(place)


def read(run: SavedRun, name: str, *, examples: int) -> RunReading:
    """Read what a report says of a run.

    Examples are the rows whose ids have the smallest digests: a draw that any order repeats.
    """
    reading = RunReading(name, run, run.summary, latency=_latency(run.answers()))
    drawn: list[tuple[int, int]] = []
    with Texts() as texts:
        for position, row in run.rows(lambda entry: (entry.position, scored_entry(entry))):
            if row.sample is None or row.critique is None:
                continue
            if reading.add(row.sample, row.critique, texts) and examples:
                key = row.sample.id.encode("utf-8", "surrogatepass")
                digest = int.from_bytes(blake2b(key, digest_size=8).digest())
                heapq.heappush(drawn, (-digest, position))
                if len(drawn) > examples:
                    heapq.heappop(drawn)
        reading.texts = texts.hardest()
    chosen = sorted(drawn, reverse=True)
    reading.examples = [run.row(position, scored_entry) for _, position in chosen]
    return reading


def _latency(answers: Iterator[dict[str, Any]]) -> Latency | None:
    import numpy as np

    seconds = array("f", (answer.get("latency_s", 0.0) for answer in answers))
    if not seconds:
        return None
    median, slow = np.percentile(np.asarray(seconds), (50, 95))
    return Latency(len(seconds), float(median), float(slow))
