"""The rows of a run's store, as they are read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from heedful.core.closing import Closing
from heedful.core.errors import RunError
from heedful.engine import schema
from heedful.engine.integrity import DAMAGE_HINT, DATABASE_ERRORS
from heedful.engine.records import Entry
from heedful.engine.schema import checksum

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

NAME = "run.sqlite"
"""The file in a run's directory."""

_END = 2**63 - 1
"""No position is larger."""


class StoredRows(Closing):
    """Queries on a store's rows; each row is compared with its checksum.

    Attributes:
        directory: the run's directory; ``None`` for a temporary run.
    """

    directory: Path | None
    _db: sqlite3.Connection

    def flush(self) -> None:
        """Commit what is pending, where anything is written."""

    def inputs(self, first: int, last: int) -> list[str | None]:
        """Return what the work is given in the rows from one place to another."""
        query = "SELECT value FROM inputs WHERE position BETWEEN ? AND ? ORDER BY position"
        return [value for (value,) in self.query(query, first, last)]

    def done(self, since: int = 0) -> Iterator[int]:
        """Yield the positions from a place on that have an output, in constant memory."""
        query = "SELECT position FROM outputs WHERE position >= ? ORDER BY position"
        for (position,) in self.query(query, since):
            yield position

    def count(self) -> int:
        """Return how many rows have been read so far."""
        ((count,),) = self.query("SELECT count(*) FROM inputs")
        return int(count)

    def entries(self, since: int = 0, last: int | None = None) -> Iterator[Entry]:
        """Yield the rows from one place to another, in input order, in constant memory."""
        self.flush()
        query = f"{schema.SELECT_ENTRY} WHERE position BETWEEN ? AND ? ORDER BY position"
        yield from map(self._entry, self.query(query, since, _END if last is None else last))

    def entry(self, position: int) -> Entry:
        """Return the row at a place in the input that has been read."""
        return self._entry(next(self.query(f"{schema.SELECT_ENTRY} WHERE position = ?", position)))

    def _entry(self, columns: Sequence[Any]) -> Entry:
        entry = Entry._make(columns[:7])
        given, returned = columns[7:]
        if given != checksum(*entry[:5]) or (
            returned is not None and returned != checksum(entry.position, *entry[5:])
        ):
            raise self.damaged(f"row {entry.position + 1:,} is damaged")
        return entry

    def rows(self, parse: Callable[[Entry], T]) -> Iterator[T]:
        """Yield what a function makes of the rows, in input order, in constant memory."""
        return map(parse, self.entries())

    def query(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        try:
            # "yield from" would close the cursor of a query left early, maybe after the file.
            for columns in self._db.execute(sql, values):  # noqa: UP028
                yield columns
        except DATABASE_ERRORS as error:
            raise self.damaged(str(error)) from error

    def damaged(self, what: str) -> RunError:
        """Make the error that says what of the run is damaged."""
        where = "a temporary run" if self.directory is None else str(self.directory / NAME)
        return RunError(f"the run cannot be read: {what}", where=where, hint=DAMAGE_HINT)
