"""Read a run for a report, beyond its summary: one pass over the store, in flat memory."""

from __future__ import annotations

import heapq
import sqlite3
from array import array
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.closing import Closing
from heedful.core.nouns import Status
from heedful.jobs.results import scored_entry
from heedful.metrics.clusters import ClusterStore, cluster_of
from heedful.metrics.general import FULLY_MET, POOLED
from heedful.metrics.outcomes import sort_verdicts
from heedful.metrics.rates import Share, measure
from heedful.metrics.summary import contributions, outcome
from heedful.pages.hardest import FEWEST, hardest_counts, of_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Constraint, Critique, Sample, Scoring
    from heedful.jobs.results import Scored
    from heedful.jobs.saved_run import SavedRun
    from heedful.metrics.clusters import Cell, Spreads
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate
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

SINGLE = 10
"""Checklists shorter than this have a group for each length."""

TENS = ((10, 19), (20, 49), (50, 99))

SIZES = {
    "number of constraints": "constraints",
    "length of the response": "characters",
    "length of the prompt": "characters",
}
"""What rows are grouped by, and its unit; the prompt is the last message of the user."""

RATES = {"Samples with all met": FULLY_MET, "Constraints met": POOLED}
"""The rates that are followed over the length of checklists and texts."""


class TagSplit(NamedTuple):
    """A verdict on which the members of a panel were not of one mind."""

    id: str  # the sample's
    constraint: int  # its number, from 1
    text: str  # what it asks for
    votes: tuple[dict[str, str], ...]  # each member's judge and status
    verdict: str  # what the panel came to


class Latency(NamedTuple):
    """Seconds that calls to models took, of the answers that the run holds."""

    calls: int
    median: float
    slow: float
    """95 % were at most as slow."""


@dataclass(frozen=True, slots=True)
class RunReading:
    """All that a report says of one run."""

    name: str  # how the report calls it
    run: SavedRun  # the run
    summary: dict[str, Any]  # as in summary.json
    sessions: list[dict[str, Any]]  # when it was worked on, see :mod:`heedful.engine.sessions`
    # by each of :data:`SIZES`: for each of :data:`RATES`, measures by group
    by_size: dict[str, dict[str, dict[str, RateEstimate]]]
    # constraints without a verifier that several samples share, the hardest first
    texts: list[Hard]
    # for each reason why verdicts were not reached, the first of these
    places: dict[str, list[str]]
    splits: list[TagSplit]  # the first verdicts on which a panel was not of one mind
    unmet: int  # samples with a constraint that was not met
    examples: list[Scored]  # some of them, chosen at random
    latency: Latency | None  # what the calls took; None if no model was called


class ReportGroups:
    """Rows by a number that they have, in groups.

    Rows with the same outcome are interchangeable, so a group counts the numbers of outcomes.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows: dict[tuple[int, str], Counter[int]] = {}

    def add(self, group: tuple[int, str], outcome: int) -> Cell:
        """Count a row."""
        rows = self._rows.get(group)
        if rows is None:
            rows = self._rows[group] = Counter()
        rows[outcome] += 1
        return self._name, group[1]

    def measures(
        self, parts: Sequence[Mapping[str, Share]], together: Spreads, *, readable: float
    ) -> dict[str, dict[str, RateEstimate]]:
        """Return the measures of each rate by group, the groups in order."""
        measures: dict[str, dict[str, RateEstimate]] = {rate: {} for rate in RATES}
        for group in sorted(self._rows):
            shares: dict[str, Counter[Share]] = {}
            for number, count in self._rows[group].items():
                for rate, share in parts[number].items():
                    shares.setdefault(rate, Counter())[share] += count
            for rate, counts in shares.items():
                measures[rate][group[1]] = measure(
                    counts,
                    readable=readable,
                    together=together.get(((self._name, group[1]), rate)),
                )
        return measures


@dataclass(slots=True)
class _Pass:
    """Counters that one pass over the rows fills."""

    scoring: Scoring
    examples: int
    outcomes: dict[RowOutcome, int] = field(default_factory=dict)
    clusters: ClusterStore = field(default_factory=ClusterStore)
    groups: dict[str, ReportGroups] = field(
        default_factory=lambda: {name: ReportGroups(name) for name in SIZES}
    )
    places: dict[str, list[str]] = field(default_factory=dict)
    splits: list[TagSplit] = field(default_factory=list)
    unmet: int = 0
    sampled: list[tuple[int, int]] = field(default_factory=list)

    def add(self, position: int, sample: Sample, critique: Critique, texts: Texts) -> None:
        """Take in one row."""
        verdicts = sort_verdicts(sample, critique)
        if not verdicts.states:
            return
        row = outcome(sample, critique, verdicts, self.scoring)
        number = self.outcomes.setdefault(row, len(self.outcomes))
        sizes = {
            "number of constraints": _size(len(verdicts.states)),
            "length of the response": _length(len(sample.response or "")),
            "length of the prompt": _length(_prompt(sample)),
        }
        cells = [self.groups[name].add(group, number) for name, group in sizes.items()]
        contributions = [part for cell in cells for part in (self.clusters.cell(cell), number)]
        self.clusters.add(cluster_of(sample), contributions)
        if row.verdicts.unmet:
            self.unmet += 1
            self._draw(position, sample.id)
        for place, (constraint, judgment) in enumerate(
            zip(sample.checklist, critique.judgments, strict=False), 1
        ):
            if constraint.check is None:
                texts.add(constraint, judgment.status)
            if not judgment.status.settled:
                self._undecided(judgment.explanation, f"{sample.id}, {place}")
            if judgment.votes and len(self.splits) < SPLITS_LISTED:
                said = {vote["status"] for vote in judgment.votes}
                if {"met", "unmet"} <= said:
                    status = judgment.status.value
                    self.splits.append(
                        TagSplit(sample.id, place, constraint.text, judgment.votes, status)
                    )

    def parts(self) -> list[dict[str, Share]]:
        """Say what each outcome contributes to each of :data:`RATES`, by the outcome's number."""
        return [
            {name: shares[rate] for name, rate in RATES.items() if rate in shares}
            for shares in contributions(list(self.outcomes), self.scoring)
        ]

    def _draw(self, position: int, key: str) -> None:
        """Keep the rows whose ids have the smallest digests: a draw that any order repeats."""
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        entry = -int.from_bytes(digest), position
        if len(self.sampled) < self.examples:
            heapq.heappush(self.sampled, entry)
        elif self.examples:
            heapq.heappushpop(self.sampled, entry)

    def _undecided(self, reason: str, place: str) -> None:
        if reason not in self.places and len(self.places) >= REASONS_LISTED:
            reason = OTHER
        places = self.places.setdefault(reason, [])
        if len(places) < PLACES_LISTED:
            places.append(place)


def read(run: SavedRun, name: str, *, examples: int) -> RunReading:
    """Read what a report says of a run."""
    summary = run.summary
    gathered = _Pass(run.config["scoring"], examples)
    with Texts() as texts:
        for position, row in run.rows(lambda entry: (entry.position, scored_entry(entry))):
            if row.sample is not None and row.critique is not None:
                gathered.add(position, row.sample, row.critique, texts)
        hardest = texts.hardest()
    rows = summary["rows"]
    parts = gathered.parts()
    readable = rows["read"] / (sum(rows.values()) or 1)
    together = gathered.clusters.spreads(lambda _, number: parts[number])
    return RunReading(
        name=name,
        run=run,
        summary=summary,
        sessions=run.sessions,
        by_size={
            name: groups.measures(parts, together, readable=readable)
            for name, groups in gathered.groups.items()
        },
        texts=hardest,
        places=gathered.places,
        splits=gathered.splits,
        unmet=gathered.unmet,
        examples=[
            run.row(position, scored_entry)
            for _, position in sorted(gathered.sampled, reverse=True)
        ],
        latency=_latency(run.answers()),
    )


def _latency(answers: Iterator[dict[str, Any]]) -> Latency | None:
    import numpy as np

    seconds = array("f", (answer.get("latency_s", 0.0) for answer in answers))
    if not seconds:
        return None
    median, slow = np.percentile(np.asarray(seconds), (50, 95))
    return Latency(len(seconds), float(median), float(slow))


def _size(constraints: int) -> tuple[int, str]:
    """Name the group of checklists as long as this one."""
    if constraints < SINGLE:
        return constraints, str(constraints)
    for low, high in TENS:
        if constraints <= high:
            return low, f"{low} – {high}"
    return TENS[-1][1] + 1, f"{TENS[-1][1] + 1} and more"


def _length(characters: int) -> tuple[int, str]:
    """Name the group of texts about as long as this one: lengths double from group to group."""
    if not characters:
        return 0, "0"
    low = 1 << characters.bit_length() - 1
    if low < 64:  # noqa: PLR2004 - a line of text
        return 1, "1 – 63"
    return low, f"{low:,} – {2 * low - 1:,}"


def _prompt(sample: Sample) -> int:
    return next((len(turn.content) for turn in sample.conversation[::-1] if turn.role == "user"), 0)
