"""Match the rows of one run with those of another that are the same sample.

What identifies rows is stored in a temporary SQLite database (in memory while small, on disk when
not), so that runs of a million rows can be paired.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.analysis.compare.sides import Side

KEYS = ("id", "instruction", "conversation")
"""Columns that rows are matched by, tried in this order until some match."""

COLUMNS = "position INTEGER, id, instruction, conversation, cluster, checklist, response"

PAIRS = """
CREATE TABLE pairs AS
WITH
    mine AS (SELECT * FROM first WHERE {key} IN
        (SELECT {key} FROM first GROUP BY {key} HAVING count(*) = 1)),
    theirs AS (SELECT * FROM second WHERE {key} IN
        (SELECT {key} FROM second GROUP BY {key} HAVING count(*) = 1))
SELECT
    mine.position AS first,
    theirs.position AS second,
    min(mine.position) OVER (PARTITION BY mine.cluster) AS cluster,
    mine.id AS id,
    mine.conversation IS NOT theirs.conversation AS conversations,
    mine.checklist IS NOT theirs.checklist AS checklists,
    mine.response IS NOT theirs.response AS responses
FROM mine JOIN theirs USING ({key})
ORDER BY cluster, first
"""
"""Pairs in the order of the first run, those of a cluster together."""

ALONE = (
    "SELECT count(*) FROM {side} WHERE {key} IS NULL OR {key} NOT IN (SELECT {key} FROM {other}"
    " WHERE {key} IS NOT NULL)"
)


class RowPair(NamedTuple):
    """Two rows that are the same sample, by their positions, and what varies together."""

    first: int
    second: int
    cluster: int


class PairingCounts(NamedTuple):
    """Counts of the rows of two sides by whether they match.

    Attributes:
        paired: pairs.
        only_first: rows of the first side that the second does not have.
        only_second: the other way about.
        ambiguous: rows left out, as another of their run has the same key.
        conversations: pairs with other messages.
        checklists: pairs with other constraints.
        responses: pairs with other responses.
    """

    paired: int
    only_first: int
    only_second: int
    ambiguous: int
    conversations: int
    checklists: int
    responses: int


class Pairing:
    """The rows of two sides, while :func:`paired`.

    Attributes:
        key: what they were matched by.
        counts: how they go together.
    """

    def __init__(self, database: sqlite3.Connection, key: str) -> None:
        self._database = database
        self.key = key
        totals = database.execute(
            "SELECT count(*), total(conversations), total(checklists), total(responses) FROM pairs"
        ).fetchone()
        matched, conversations, checklists, responses = map(int, totals)
        first, second = (
            int(database.execute(ALONE.format(side=side, other=other, key=key)).fetchone()[0])
            for side, other in (("first", "second"), ("second", "first"))
        )
        rows = sum(_count(database, side) for side in ("first", "second"))
        self.counts = PairingCounts(
            paired=matched,
            only_first=first,
            only_second=second,
            ambiguous=rows - 2 * matched - first - second,
            conversations=conversations,
            checklists=checklists,
            responses=responses,
        )

    def example(self, what: str) -> str:
        """Return the id of the first pair that differs in ``conversations`` or ``checklists``."""
        query = f"SELECT id FROM pairs WHERE {what} LIMIT 1"  # noqa: S608 - our own words
        return str(self._database.execute(query).fetchone()[0])

    def __iter__(self) -> Iterator[RowPair]:
        """Yield the pairs with the same checklist, those of a cluster one after another."""
        query = "SELECT first, second, cluster FROM pairs WHERE NOT checklists ORDER BY rowid"
        for row in self._database.execute(query):
            yield RowPair(*row)


@contextmanager
def paired(first: Side, second: Side, key: str | None) -> Iterator[Pairing]:
    """Match the rows of two sides."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        for name, side in (("first", first), ("second", second)):
            database.execute(f"CREATE TABLE {name} ({COLUMNS})")
            database.execute("BEGIN")
            insert = f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own words
            database.executemany(insert, side.cards())
            database.execute("COMMIT")
        for by in KEYS if key is None else (key,):
            for name in ("first", "second"):
                database.execute(f"CREATE INDEX {name}_{by} ON {name} ({by})")
            database.execute(PAIRS.format(key=by))
            if _count(database, "pairs"):
                yield Pairing(database, by)
                return
            database.execute("DROP TABLE pairs")
    raise _no_pairs(first, second)


def _count(database: sqlite3.Connection, table: str) -> int:
    return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - ours


def _no_pairs(first: Side, second: Side) -> InputError:
    mixed = [side for side in (first, second) if side.only is None and len(side.models) > 1]
    if mixed:
        side = mixed[0]
        models = ", ".join(side.models)
        return InputError(
            f"no sample of {first.name} is exactly once in {second.name}; {side.name} holds the "
            f"responses of several models ({models})",
            where=str(side.run.directory),
            hint=f"name one of them: {side.run.directory}@{next(iter(side.models))}",
        )
    return InputError(
        f"no sample of {first.name} ({sum(first.models.values()):,}) is in {second.name} "
        f"({sum(second.models.values()):,}), by id or by its messages",
        where=f"{first.run.directory} and {second.run.directory}",
        hint="compare runs on the same samples",
    )
