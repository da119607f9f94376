"""Queries of a run's index: which samples a filter selects, and what there is to choose from."""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from heedful.core.closing import closed_on_error
from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.pages.viewer.building import COLUMNS, LABEL, STATUSES, TEXT, VOTES, about

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.datastructures import QueryParams

    from heedful.pages.viewer.building import Fact, Facts


GROUPS = {"undecided": tuple(status.value for status in Status if not status.settled)}
"""Words for several statuses."""

PROBLEM = "problem"
"""Chosen as a status: rows that could not be judged."""

ORDERS = {"unmet": "most unmet first", "undecided": "most undecided first"}
"""Orders of samples, beside that of the file."""

DISAGREEMENTS = {"votes": VOTES, "label": LABEL}


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on samples.

    One constraint must fulfil all conditions on constraints: status, type, judge, disagreement
    and confidence.
    """

    # stands in the conversation, the response, a constraint or an explanation, whatever the case
    text: str = ""
    # of a constraint; undecided is any that is not decided; problem asks for rows that came to
    # nothing
    status: str = ""
    type: str = ""  # of a constraint
    judge: str = ""  # who decided
    disagreement: str = ""  # votes, of a panel's members; label, with the label
    low: float | None = None  # the least confidence
    high: float | None = None  # the largest confidence
    tags: tuple[str, ...] = ()  # as name:value; all of them
    sort: str = ""  # one of :data:`ORDERS`, or the order of the file

    @classmethod
    def of(cls, query: QueryParams) -> Filter:
        """Read a filter from the query of an address."""
        status, disagreement = query.get("status", ""), query.get("disagreement", "")
        if status and status not in (*STATUSES, *GROUPS, PROBLEM):
            raise UsageError(f"no such status: {status!r}", hint="choose one of the list")
        if disagreement and disagreement not in DISAGREEMENTS:
            raise UsageError(f"no disagreement is {disagreement!r}", hint="choose votes or label")
        sort = query.get("sort", "")
        if sort and sort not in ORDERS:
            raise UsageError(f"no order is {sort!r}", hint=f"choose {' or '.join(ORDERS)}")
        return cls(
            text=query.get("q", "").strip(),
            status=status,
            type=query.get("type", ""),
            judge=query.get("judge", ""),
            disagreement=disagreement,
            low=_share(query.get("low", ""), "least confidence"),
            high=_share(query.get("high", ""), "largest confidence"),
            tags=tuple(dict.fromkeys(filter(None, query.getlist("tag")))),
            sort=sort,
        )

    def query(self) -> str:
        """Write it as the query of an address; empty where it asks for nothing."""
        fields: list[tuple[str, str]] = [
            ("q", self.text),
            ("status", self.status),
            ("type", self.type),
            ("judge", self.judge),
            ("disagreement", self.disagreement),
            ("low", "" if self.low is None else f"{self.low:g}"),
            ("high", "" if self.high is None else f"{self.high:g}"),
            *(("tag", tag) for tag in self.tags),
            ("sort", self.sort),
        ]
        return urlencode([(name, value) for name, value in fields if value])

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return self != Filter(sort=self.sort)

    @property
    def statuses(self) -> tuple[str, ...]:
        """The statuses that are wanted of a constraint; none where all are."""
        if self.status in GROUPS:
            return GROUPS[self.status]
        return (self.status,) if self.status and self.status != PROBLEM else ()

    @property
    def of_constraint(self) -> bool:
        """Whether there is a condition on constraints."""
        conditions = (self.statuses, self.type, self.judge, self.disagreement)
        return any(conditions) or self.low is not None or self.high is not None

    def matches(self, row: Facts) -> bool:
        """Say whether a row fulfils all conditions."""
        if self.status == PROBLEM and not row.problem:
            return False
        if self.text and self.text.lower() not in row.text.lower():
            return False
        there = {f"{name}:{value}" for name, value in row.tags.items()} if self.tags else set()
        if not there >= set(self.tags):
            return False
        return not self.of_constraint or any(map(self.wants, row.judgments))

    def wants(self, judgment: Fact) -> bool:
        """Say whether a judgment fulfils the conditions on constraints."""
        if self.low is not None and (judgment.confidence is None or judgment.confidence < self.low):
            return False
        if self.high is not None and (
            judgment.confidence is None or judgment.confidence > self.high
        ):
            return False
        return (
            (not self.statuses or judgment.status in self.statuses)
            and (not self.type or judgment.type == self.type)
            and (not self.judge or judgment.judge == self.judge)
            and (
                not self.disagreement
                or bool(judgment.disagreement & DISAGREEMENTS[self.disagreement])
            )
        )


def _share(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"the {name} is {text[:20]!r}", hint="give a number from 0 to 1")
    return value


TRIGRAM = 3

TERMS = 3000
"""Trigrams that a shorter text may begin; more are too much to look up."""

TOGETHER = 500
"""How many of them go into one query."""

MOST_TRIGRAMS = 32
"""Trigrams of a long text that are looked up; where all of them are, the rest nearly always is."""


NAMED = "(SELECT number FROM names WHERE kind = ? AND name = ?)"


class Covered(NamedTuple):
    """How many rows, from the first on, an index holds."""

    columns: int = 0  # what filters ask for
    text: int = 0  # all text


class Index:
    """The index of a run, for reading; each query opens the file again."""

    def __init__(self, path: Path, whose: str) -> None:
        self._path = path
        self._whose = whose

    def covered(self) -> Covered:
        """Say how much of the run is in it; nothing where it is not there, or another's."""
        try:
            with closing(self._open()) as db:
                if about(db, "identity") != self._whose:
                    return Covered()
                return Covered(int(about(db, COLUMNS) or 0), int(about(db, TEXT) or 0))
        except sqlite3.Error:
            return Covered()

    def choices(self) -> dict[str, list[tuple[str, int]]]:
        """Return what can be chosen: by ``status``, ``type``, ``judge`` and ``tag NAME``."""
        choices: dict[str, list[tuple[str, int]]] = {}
        query = "SELECT kind, name, samples + judgments FROM names WHERE name != '' ORDER BY 3 DESC"
        try:
            with closing(self._open()) as db:
                for kind, name, count in db.execute(query):
                    choices.setdefault(kind, []).append((name, count))
        except sqlite3.Error:
            return {}
        return choices

    def totals(self) -> tuple[int, int, int, int]:
        """Count the indexed verdicts that are met, unmet, undecided, and the rows that failed."""
        query = "SELECT total(met), total(unmet), total(undecided), total(problem) FROM samples"
        with closing(self._open()) as db:
            met, unmet, undecided, problems = map(int, db.execute(query).fetchone())
        return met, unmet, undecided, problems

    def positions(self, wanted: Filter) -> array[int]:
        """Find the rows that have what a filter asks for, in order, within what is covered.

        The rows with a text of more than three characters are among those that are found, which
        have all of its trigrams.
        """
        with closing(self._open()) as db:
            query, values = _query(db, wanted)
            positions: array[int] = array("L")
            last = -1
            for (position,) in db.execute(query, values):
                if position != last:
                    positions.append(position)
                    last = position
        return positions

    def order(self, column: str) -> array[int]:
        """Return the rows that are covered, those with most such verdicts first."""
        assert column in ORDERS  # noqa: S101 - filters hold no other
        query = f"SELECT position FROM samples ORDER BY {column} DESC, position"  # noqa: S608
        with closing(self._open()) as db:
            return array("L", (position for (position,) in db.execute(query)))

    def forget(self) -> None:
        """Take the file away: it is damaged, and will be rebuilt."""
        self._path.unlink(missing_ok=True)

    def _open(self) -> sqlite3.Connection:
        uri = f"{self._path.absolute().as_uri()}?mode=ro"
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
        with closed_on_error(db):
            db.execute("PRAGMA busy_timeout=5000")
            db.execute("PRAGMA cache_size=-8192")
        return db


def _query(db: sqlite3.Connection, wanted: Filter) -> tuple[str, list[object]]:
    """Write the query of a filter; a judgment stands beside those of its sample."""
    conditions = [*_of_constraint(wanted), *_of_sample(wanted)]
    if wanted.text:
        _find_text(db, wanted.text)
        conditions.append(("position IN (SELECT position FROM temp.found)", []))
    table = "judgments" if wanted.of_constraint else "samples"
    where = " AND ".join(condition for condition, _ in conditions) or "1"
    values = [value for _, some in conditions for value in some]
    return f"SELECT position FROM {table} WHERE {where} ORDER BY rowid", values  # noqa: S608 - ours


def _of_constraint(wanted: Filter) -> Iterator[tuple[str, list[object]]]:
    """Yield conditions with their values."""
    if wanted.statuses:
        numbers = ", ".join(str(STATUSES.index(status)) for status in wanted.statuses)
        yield f"status IN ({numbers})", []
    for kind, name in (("type", wanted.type), ("judge", wanted.judge)):
        if name:
            yield f"{kind} = {NAMED}", [kind, name]
    if wanted.disagreement:
        yield "disagreement & ?", [DISAGREEMENTS[wanted.disagreement]]
    if wanted.low is not None:
        yield "confidence >= ?", [wanted.low]
    if wanted.high is not None:
        yield "confidence <= ?", [wanted.high]


def _of_sample(wanted: Filter) -> Iterator[tuple[str, list[object]]]:
    if wanted.status == PROBLEM:
        yield "position IN (SELECT position FROM samples WHERE problem)", []
    for tag in wanted.tags:
        within = f"SELECT position FROM tags WHERE name = {NAMED}"  # noqa: S608 - our own words
        yield f"position IN ({within})", [f"tag {tag.partition(':')[0]}", tag]


def _find_text(db: sqlite3.Connection, text: str) -> None:
    """Put the rows with all trigrams of a text into a temporary table."""
    db.execute("CREATE TEMP TABLE found (position INTEGER PRIMARY KEY)")
    text = text.replace("\0", "")
    trigrams = list(dict.fromkeys(text[at : at + TRIGRAM] for at in range(len(text) - TRIGRAM + 1)))
    step = -(-len(trigrams) // MOST_TRIGRAMS) or 1
    queries = [" AND ".join(map(_quoted, trigrams[::step]))]
    if len(text) < TRIGRAM:
        bounds = text.lower(), text.lower() + "\U0010ffff"
        query = "SELECT term FROM terms WHERE term >= ? AND term < ? LIMIT ?"
        terms = [_quoted(term) for (term,) in db.execute(query, (*bounds, TERMS + 1))]
        if len(terms) > TERMS:
            raise UsageError(f"{text!r} is too common", hint="give one more character")
        queries = [
            " OR ".join(terms[start : start + TOGETHER]) for start in range(0, len(terms), TOGETHER)
        ]
    insert = "INSERT OR IGNORE INTO found SELECT rowid FROM text WHERE text MATCH ?"
    for query in queries:
        db.execute(insert, (query,))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
