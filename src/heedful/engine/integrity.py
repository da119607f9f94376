"""Damaged runs: worked on again where they can be, and read around where they cannot.

A disk, a copy or a power cut may change any byte. SQLite's own check finds damage to the file's
structure; checksums find a row that isn't as it was written (:mod:`heedful.engine.schema`).
"""

from __future__ import annotations

from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RunError
from heedful.core.log import logger
from heedful.core.text import amount
from heedful.engine.schema import DATABASE_ERRORS, Entry, raw_checksum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from heedful.engine.store import Store


@contextmanager
def refuse_unusable(directory: Path | None) -> Iterator[None]:
    """Say of a store that it can be written or read no more, as on a full disk."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise RunError(
            f"the run's store cannot be used: {error}",
            where=str(directory or "a temporary run"),
            hint="on a full disk make room, then give the same command; else name another --run",
        ) from error


SEAL = "rows"
"""Key under which a finished run keeps how many rows it has."""

CHUNK = 1024
"""Rows that are read together from a damaged file."""

LOST_CHUNKS = 64
"""So many chunks without a row are the end, where the last row cannot be found: more than one
page of the file can take away."""

COLUMNS = {
    "inputs": "position, line, CAST(id AS BLOB), CAST(value AS BLOB), CAST(problem AS BLOB)",
    "calls": "key, CAST(value AS BLOB)",
    "outputs": "position, CAST(value AS BLOB), CAST(problem AS BLOB)",
}
"""Text is read as bytes: what is damaged need not be UTF-8."""


def seal(store: Store) -> None:
    """Record how many rows there are, so that rows that are lost later are missed."""
    store.set_meta(SEAL, _counts(store))


def unseal(store: Store) -> None:
    """Reopen a finished run: its rows may change; see :func:`seal`."""
    store.set_meta(SEAL, None)


def refuse_incomplete(store: Store) -> None:
    """Refuse a finished run with missing rows."""
    sealed = store.meta(SEAL)
    if sealed is not None and sealed != _counts(store):
        raise store.damaged("rows are missing")


def _counts(store: Store) -> dict[str, int]:
    store.flush()
    counts = {}
    for table in (*COLUMNS, "usage"):
        ((counts[table],),) = store.query(f"SELECT count(*) FROM {table}")  # noqa: S608 - ours
    return counts


def drop_damaged(store: Store) -> None:
    """Drop rows that aren't as they were written, so that they are worked on again.

    From a damaged row of the input on all rows are read again; answers are kept.
    """
    given = next(_damaged(store, "inputs"), None)
    if given is not None:
        logger.warning("the stored row %d is damaged: the rows from there on are read again", given)
        store.truncate(given)
    returned = [*_damaged(store, "outputs")]
    if returned:
        logger.warning("%s damaged: worked on again", amount(len(returned), "result"))
        store.forget(returned)
    answers = [*_damaged(store, "calls")]
    if answers:
        logger.warning("%s damaged: requested again where needed", amount(len(answers), "answer"))
        store.forget_calls(answers)


def _damaged(store: Store, table: str) -> Iterator[Any]:
    """Yield the keys of damaged rows, in the order of the table."""
    query = f"SELECT checksum, {COLUMNS[table]} FROM {table}"  # noqa: S608 - ours
    for stored, *fields in store.query(query):
        if stored != raw_checksum(*fields):
            yield fields[0]


def salvaged(store: Store, rows: int | None) -> Iterator[Entry]:
    """Yield the rows of a damaged store in input order.

    A row that isn't as it was written, or whose result isn't, is one that could not be read.
    """
    for _ in store.query("SELECT 1 FROM inputs WHERE position < 0"):
        pass
    first = after = empty = 0
    while empty < LOST_CHUNKS if rows is None else first < rows:
        given = _whole(store, "inputs", first, first + CHUNK - 1)
        returned = _whole(store, "outputs", first, first + CHUNK - 1)
        for position, fields in given.items():
            yield from map(damaged_entry, range(after, position))
            yield _joined(fields, returned.get(position))
            after = position + 1
        empty = 0 if given else empty + 1
        first += CHUNK
    yield from map(damaged_entry, range(after, after if rows is None else rows))


def damaged_entry(position: int) -> Entry:
    """Return the row that stands for one that is damaged."""
    problem = f"row {position + 1:,} cannot be read: it is damaged"
    return Entry(position, position + 1, None, None, problem, None, None)


def _joined(given: Sequence[Any], returned: Sequence[Any] | None) -> Entry:
    position, problem = given[0], given[-1]
    if returned is None and problem is None:
        return damaged_entry(position)
    return Entry._make([*given, *((None, None) if returned is None else returned[1:])])


def _whole(store: Store, table: str, first: int, last: int) -> dict[int, Sequence[Any]]:
    """Read what is whole of the rows from one place to another, by their positions, in order."""
    query = f"SELECT checksum, {COLUMNS[table]} FROM {table} WHERE position BETWEEN ? AND ?"  # noqa: S608
    try:
        rows = sorted(store.query(query, first, last), key=itemgetter(1))
    except (RunError, *DATABASE_ERRORS):
        if first == last:
            return {}
        middle = (first + last) // 2
        return _whole(store, table, first, middle) | _whole(store, table, middle + 1, last)
    return {
        fields[0]: [each.decode() if isinstance(each, bytes) else each for each in fields]
        for stored, *fields in rows
        if stored == raw_checksum(*fields)
    }
