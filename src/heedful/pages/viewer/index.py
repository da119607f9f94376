"""Queries of a run's index: which samples a filter selects, and what there is to choose from."""

from __future__ import annotations

import json
import sqlite3
from array import array
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from heedful.core.closing import closed_on_error
from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.pages.viewer.building import (
    BATCH,
    COLUMNS,
    LABEL,
    STATUSES,
    TEXT,
    VOTES,
    about,
    signature,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from starlette.datastructures import QueryParams

    from heedful.pages.viewer.building import Fact, Facts


GROUPS = {"undecided": tuple(status.value for status in Status if not status.settled)}
"""Words for several statuses."""

PROBLEM = "problem"
"""Chosen as a status: rows that could not be judged."""

ORDERS = {
    "id": "id",
    "prompt": "prompt",
    "length": "-length",
    "met": "-met",
    "unmet": "-unmet",
    "undecided": "-undecided",
    "tags": "tags",
    "judge": "judge",
    "confidence": "confidence",
    "tokens": "-tokens",
}
"""Orders of samples, beside that of the file, and which way each goes at first: with - the most
first."""

SHOWN = {
    "prompt": "prompt",
    "response": "length",
    "verdicts": "unmet",
    "tags": "tags",
    "judge": "judge",
    "confidence": "confidence",
    "cost": "tokens",
}
"""Columns of the list of samples, and what each is sorted by."""

DEFAULT = ("prompt", "response", "verdicts")

ADDED = ("met", "unmet", "undecided", "length", "tokens")
"""Orders of groups, by the sums of their rows."""

REPEATS = "repeats"
"""Rows are grouped by: their prompt and model."""

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
    constraint: int | None = None  # the number of one, see :func:`constraint_number`
    # the view, which chooses nothing
    sort: str = ""  # one of :data:`ORDERS`, after - the other way round, or the order of the file
    show: tuple[str, ...] = ()  # columns; none is :data:`DEFAULT`
    group: str = ""  # whether repeats stand together

    @classmethod
    def of(cls, query: QueryParams) -> Filter:
        """Read a filter from the query of an address."""
        status, disagreement = query.get("status", ""), query.get("disagreement", "")
        if status and status not in (*STATUSES, *GROUPS, PROBLEM):
            raise UsageError(f"no such status: {status!r}", hint="choose one of the list")
        if disagreement and disagreement not in DISAGREEMENTS:
            raise UsageError(f"no disagreement is {disagreement!r}", hint="choose votes or label")
        sort, group = query.get("sort", ""), query.get("group", "")
        if sort and sort.removeprefix("-") not in ORDERS:
            raise UsageError(f"no order is {sort!r}", hint=f"choose {' or '.join(ORDERS)}")
        show = tuple(name for name in SHOWN if name in query.getlist("show"))
        if group and group != REPEATS:
            raise UsageError(f"no groups are {group!r}", hint=f"choose {REPEATS}")
        return cls(
            text=query.get("q", "").strip(),
            status=status,
            type=query.get("type", ""),
            judge=query.get("judge", ""),
            disagreement=disagreement,
            low=_share(query.get("low", ""), "least confidence"),
            high=_share(query.get("high", ""), "largest confidence"),
            tags=tuple(dict.fromkeys(filter(None, query.getlist("tag")))),
            constraint=_number(query.get("constraint", "")),
            sort=sort,
            show=() if show == DEFAULT else show,
            group=group,
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
            ("constraint", "" if self.constraint is None else str(self.constraint)),
            ("sort", self.sort),
            *(("show", name) for name in self.show),
            ("group", self.group),
        ]
        return urlencode([(name, value) for name, value in fields if value])

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return self.bare != Filter()

    @property
    def bare(self) -> Filter:
        """The conditions without the view."""
        return replace(self, sort="", show=(), group="")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are shown."""
        return self.show or DEFAULT

    @property
    def direction(self) -> str:
        """Which way the order goes, in words."""
        return "descending" if self.sort.startswith("-") else "ascending"

    def sorted_by(self, column: str) -> str:
        """Return the query of this view sorted by a column, or by it the other way round."""
        first = ORDERS[column]
        other = first[1:] if first.startswith("-") else f"-{first}"
        return replace(self, sort=other if self.sort == first else first).query()

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
        return any(conditions) or (self.low, self.high, self.constraint) != (None, None, None)

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
            and (self.constraint is None or judgment.constraint == self.constraint)
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


def _number(text: str) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        raise UsageError(f"no constraint is {text[:20]!r}", hint="follow a link to it") from None


NAMED = "(SELECT number FROM names WHERE kind = ? AND name = ?)"

GROUPED = """
SELECT min(position), count(*), sum(undecided = 0 AND unmet = 0), sum(unmet > 0),
    min(CAST(met AS REAL) / (met + unmet + undecided)),
    max(CAST(met + undecided AS REAL) / (met + unmet + undecided)), repeats
FROM samples WHERE met + unmet + undecided > 0
    AND repeats IN (SELECT repeats FROM samples GROUP BY repeats HAVING count(*) > 1)
GROUP BY repeats HAVING count(*) > 1 ORDER BY {}
"""
"""Of each group: its first row, its rows, those that pass and that fail, the least and most met."""


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

    def hardest(self) -> list[tuple[int, int, int, int, list[int]]]:
        """Return the hardest constraints: number, met, unmet, undecided, some that failed it."""
        try:
            with closing(self._open()) as db:
                rows = db.execute("SELECT * FROM hardest").fetchall()
        except sqlite3.Error:
            return []
        return [(*counts, json.loads(examples)) for *counts, examples in rows]

    def examples(self, wanted: Filter, most: int) -> list[int]:
        """Return the first rows that have what a filter asks for."""
        try:
            with closing(self._open()) as db:
                query, values = _query(wanted)
                found = (position for (position,) in db.execute(query, values))
                return list(islice(dict.fromkeys(islice(found, 10 * most)), most))
        except sqlite3.Error:
            return []

    def positions(self, wanted: Filter) -> array[int]:
        """Find the rows that have what a filter asks for, in order, within what is covered.

        Rows with a text are among those that are found, which have all parts of it.
        """
        with closing(self._open()) as db:
            query, values = _query(wanted)
            found = dict.fromkeys(position for (position,) in db.execute(query, values))
            if not wanted.text:
                return array("L", found)
            return array("L", filter(found.__contains__, _with_text(db, wanted.text)))

    def repeats(self, sort: str) -> list[tuple[int, ...]]:
        """Return groups of rows with one prompt and model: their places and what became of them."""
        query = GROUPED.format(
            _order(sort, "total") if sort.removeprefix("-") in ADDED else "min(position)"
        )
        with closing(self._open()) as db:
            return db.execute(query).fetchall()

    def members(self, repeats: int) -> list[int]:
        """Return the rows of a group."""
        with closing(self._open()) as db:
            query = "SELECT position FROM samples WHERE repeats = ? ORDER BY position"
            return [position for (position,) in db.execute(query, (repeats,))]

    def repeats_of(self, positions: Iterable[int]) -> set[int]:
        """Return the groups that rows are in."""
        with closing(self._open()) as db:
            known = dict(db.execute("SELECT position, repeats FROM samples"))
        return {known[position] for position in positions if position in known}

    def order(self, sort: str) -> array[int]:
        """Return the rows that are covered, in an order."""
        query = f"SELECT position FROM samples ORDER BY {_order(sort)}, position"  # noqa: S608
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


def _order(sort: str, of: str = "") -> str:
    """Write an order as SQL; rows without a value come last."""
    column = sort.removeprefix("-")
    assert column in ORDERS  # noqa: S101 - filters hold no other
    return f"{of}({column}) {'DESC' if sort.startswith('-') else 'ASC'} NULLS LAST"


def _query(wanted: Filter) -> tuple[str, list[object]]:
    """Write the query of a filter; a judgment stands beside those of its sample."""
    conditions = [*_of_constraint(wanted), *_of_sample(wanted)]
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
    if wanted.constraint is not None:
        yield '"constraint" = ?', [wanted.constraint]


def _of_sample(wanted: Filter) -> Iterator[tuple[str, list[object]]]:
    if wanted.status == PROBLEM:
        yield "position IN (SELECT position FROM samples WHERE problem)", []
    for tag in wanted.tags:
        within = f"SELECT position FROM tags WHERE name = {NAMED}"  # noqa: S608 - our own words
        yield f"position IN ({within})", [f"tag {tag.partition(':')[0]}", tag]


SOUGHT = 24
"""Bits of a long text's signature that are looked up: hardly a row has these and not the rest."""


def _with_text(db: sqlite3.Connection, text: str) -> Iterator[int]:
    """Yield the rows whose signature has all bits of a text's, in order."""
    import numpy as np

    bits = sorted(set(signature(text).tolist()))
    bits = bits[:: -(-len(bits) // SOUGHT)]
    listed = ", ".join(map(str, bits))
    query = f"SELECT rows FROM signatures WHERE block = ? AND bit IN ({listed})"  # noqa: S608 - ours
    for block in range(int(about(db, TEXT) or 0) // BATCH):
        found = [np.frombuffer(rows, np.uint8) for (rows,) in db.execute(query, (block,))]
        if len(found) == len(bits):
            for place in np.unpackbits(np.bitwise_and.reduce(found)).nonzero()[0]:
                yield block * BATCH + int(place)
