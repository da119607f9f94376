"""The store of one run: a directory with an SQLite file that holds everything.

``run.sqlite`` is the only source of truth; every other file in the directory can be made again
from it. Inputs are written when they are read and outputs when they are done, both in batches, so
that a run killed at any moment goes on where it stood.

A process that is killed loses at most the last uncommitted batch (see :data:`FLUSH_SECONDS`). The
write-ahead log is not synced at each commit, so a power cut may lose a little more; neither can
corrupt the file. What damages it otherwise, such as a disk that flips bits, is found: the file's
structure is checked before a run goes on or is read from end to end, and each row has a checksum
that is compared whenever the row is read.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from heedful.core.closing import Closing, closed_on_error
from heedful.core.errors import RunError
from heedful.core.log import logger
from heedful.engine import schema
from heedful.engine.lock import LOCK, is_ours
from heedful.engine.schema import (
    DAMAGE_HINT,
    DATABASE_ERRORS,
    OPEN,
    Digests,
    Entry,
    Input,
    UsageRecord,
    checksum,
    raw_checksum,
    refuse_damaged,
    refuse_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["Entry", "Input", "Store", "UsageRecord"]

T = TypeVar("T")

NAME = "run.sqlite"
"""The file in a run's directory."""

END = 2**63 - 1
"""No position is larger."""


def differences(stored: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Say in which values a run's configuration differs from the one it has now.

    >>> was, now = ([{"judge": "compiled", "grammar": number}] for number in (1, 2))
    >>> differences({"judges": was}, {"judges": now})
    ['compiled: grammar was 1, now 2']
    """
    return [
        _difference(key, stored.get(key), config.get(key))
        for key in sorted({*stored, *config})
        if stored.get(key) != config.get(key)
    ]


def _difference(key: str, was: Any, now: Any) -> str:
    if key == "input":
        return "the input is another one, or was changed"
    if _show(was) == _show(now):  # what differs is within
        if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
            pairs = zip(was, now, strict=True)
            return "; ".join(_difference(key, one, other) for one, other in pairs if one != other)
        if isinstance(was, dict) and isinstance(now, dict):
            name = was.get("judge", key)
            within = differences(was, now)
            return "; ".join(f"{name}: {each}" for each in within)
    return f"{key} was {_show(was)}, now {_show(now)}"


def _show(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, dict) and "judge" in value:
        return str(value["judge"])
    if isinstance(value, list) and value:
        return ", ".join(map(_show, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def forget_stub(db: sqlite3.Connection) -> bool:
    """Forget a run in which nothing was ever done, as where its first call was refused."""
    done = ("outputs", "calls", "usage", "batch_requests")
    if any(db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in done):  # noqa: S608
        return False
    db.execute("DELETE FROM inputs")
    db.execute("DELETE FROM meta WHERE key != 'sessions'")
    return True


FLUSH_SECONDS = 0.05
"""Seconds that a finished row may wait for its commit; answers are committed as they come."""

FLUSH_ROWS = 1000
"""How many rows may wait for a commit; keeps memory flat when rows are quick."""


class Store(Closing):
    """The rows of one run; each is compared with its checksum when it is read.

    Use it as a context manager: leaving it commits what is pending and closes the file.
    """

    def __init__(self, directory: Path | None, *, shared: bool = False) -> None:
        self.directory = directory
        self._shared = shared  # other processes add answers meanwhile
        try:
            if directory is not None:
                directory.mkdir(parents=True, exist_ok=True)
            self._db = self._connect()
        except (OSError, *DATABASE_ERRORS) as error:
            raise RunError(
                f"the run's store cannot be opened: {error}",
                where=str(directory),
                hint="name another directory, as with --run",
            ) from error
        self._waiting = 0
        self._calls: dict[bytes, str] = {}
        self._usage: dict[tuple[str, str, str, str], UsageRecord] = {}
        self._outputs: list[tuple[int, str | None, str | None, int]] = []
        self._digests: Digests | None = None
        self._earlier: Store | None = None
        self._flushed = time.monotonic()
        self._due = False
        self._broken: Exception | None = None
        self._file: int | None = None  # the file's number, where each commit looks for it
        # A store that is forgotten rather than closed must not leave the file open.
        weakref.finalize(self, self._db.close)

    def _connect(self) -> sqlite3.Connection:
        path = "" if self.directory is None else str(self.directory / NAME)
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        with closed_on_error(db):
            # Larger pages than by default: several rows of some thousand characters fit on one.
            # With 8 kB a row of 4 kB took a quarter more time; with 32 kB small commits take more.
            db.execute("PRAGMA page_size=16384")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA busy_timeout=5000")
            if path and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                refuse_version(db.execute("PRAGMA user_version").fetchone()[0], Path(path))
                refuse_damaged(db.execute, Path(path))
            # A transaction that begins to write later isn't waited for where another has written.
            begin = "BEGIN IMMEDIATE" if self._shared else "BEGIN"
            db.executescript(f"{begin}; {schema.SCHEMA} COMMIT")
        return db

    def close(self) -> None:
        """Commit what is pending and close the file."""
        try:
            self.flush()
        finally:
            self._db.close()

    def save(self, directory: Path) -> None:
        """Write a copy into a directory that holds no run.

        Raises:
            RunError: it holds one, or can't be written.
        """
        path = directory / NAME
        if path.exists():
            raise RunError("the directory holds a run", where=str(directory), hint="name another")
        self.flush()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._db.execute("VACUUM INTO ?", (str(path),))
        except (OSError, *DATABASE_ERRORS) as error:
            raise RunError(f"the run cannot be saved: {error}", where=str(directory)) from error

    def snapshot(self) -> bytes | None:
        """Return the content of a temporary store; ``None`` where a directory has it."""
        if self.directory is not None:
            return None
        self.flush()
        return self._db.serialize()

    @classmethod
    def restored(cls, snapshot: bytes) -> Self:
        """Make a temporary store of a snapshot."""
        store = cls(None)
        store._db.deserialize(snapshot)
        return store

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

    def size(self) -> int:
        """Count what is finished: rows and answers."""
        sums = "SELECT (SELECT count(*) FROM outputs) + (SELECT count(*) FROM calls)"
        ((count,),) = self.query(sums)
        return int(count)

    def entries(self, since: int = 0, last: int = END) -> Iterator[Entry]:
        """Yield the rows from one place to another, in input order, in constant memory."""
        self.flush()
        query = f"{schema.SELECT_ENTRY} WHERE position BETWEEN ? AND ? ORDER BY position"
        yield from map(self._entry, self.query(query, since, last))

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

    def configure(self, config: Mapping[str, Any]) -> None:
        """Record the configuration of a new run, or check that a resumed run has the same."""
        stored = self.meta("config")
        if stored is None or (stored != config and forget_stub(self._db)):
            self.set_meta("config", dict(config))
            return
        changed = differences(stored, config)
        if changed:
            raise RunError(
                "this run was made with another configuration: " + "; ".join(changed),
                where=str(self.directory),
                hint="the command that submitted its batches fetches them; name another directory"
                if self.meta(OPEN)
                else "name another directory with --run, or delete this one",
            )

    def meta(self, key: str, of: str = "main") -> Any:
        """Return what was stored under a key, or ``None``."""
        query = f"SELECT value, checksum FROM {of}.meta WHERE key = ?"  # noqa: S608 - ours
        for value, stored in self.query(query, key):
            if stored != checksum(key, value):
                raise self.damaged(f"its {key} is damaged")
            return json.loads(value)
        return None

    def set_meta(self, key: str, value: Any) -> None:
        """Store a JSON value under a key."""
        text = json.dumps(value, ensure_ascii=False)
        row = key, text, checksum(key, text)
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", row)

    def add_inputs(self, rows: Sequence[Input]) -> list[str | None]:
        """Record rows of the input; they are committed within :data:`FLUSH_SECONDS`.

        Uniqueness of ids is the database's work: a set of a million ids would cost memory that
        grows with the input.
        """
        if not rows:  # nothing would commit the transaction, and the file would stay locked
            return []
        summed = [(*row, checksum(*row)) for row in rows]
        with self._writing(len(rows)):
            before = self._db.total_changes
            self._db.executemany(f"INSERT OR IGNORE {schema.INTO_INPUTS}", summed)
            if self._db.total_changes - before == len(rows):
                return [row.problem for row in rows]
            return [self._settle(row) for row in rows]

    def _settle(self, row: Input) -> str | None:
        """Record a row that may have been left out because an earlier one has its id."""
        there = "SELECT 1 FROM inputs WHERE position = ?"
        if self._db.execute(there, (row.position,)).fetchone():
            return row.problem
        query = "SELECT line FROM inputs WHERE id = ?"
        first = self._db.execute(query, (row.id,)).fetchone()[0]
        problem = f"duplicate id {row.id!r}, first on line {first} (give each row its own id)"
        row = row._replace(id=None, problem=problem)
        self._db.execute(f"INSERT {schema.INTO_INPUTS}", (*row, checksum(*row)))
        return problem

    def problem(self, position: int) -> str | None:
        """Return why a row that was read cannot be worked on, where it cannot."""
        query = "SELECT problem FROM inputs WHERE position = ?"
        ((problem,),) = self.query(query, position)
        return None if problem is None else str(problem)

    def add_output(self, position: int, value: str | None, problem: str | None = None) -> None:
        """Record what came of a row; it is committed within :data:`FLUSH_SECONDS`."""
        self._outputs.append((position, value, problem, checksum(position, value, problem)))
        self._waiting += 1

    def add_call(self, key: bytes, value: str, usage: UsageRecord) -> None:
        """Store the answer to a call, so that it is never made again, and its usage."""
        self._calls[key] = value
        self.add_usage(usage)

    def add_usage(self, usage: UsageRecord) -> None:
        """Record the usage of a call; it is committed within :data:`FLUSH_SECONDS`."""
        key = usage.who
        before = self._usage.get(key)
        # One statement for all calls of a batch, not one for each.
        self._usage[key] = usage if before is None else before.plus(usage)
        self._waiting += 1

    def usage_records(self, of: str = "main") -> Iterator[UsageRecord]:
        """Yield the usage of all calls of this run so far, summed up by caller and model."""
        self.flush()
        yield from map(self._usage_record, self.query(schema.SELECT_USAGE.format(of=of)))

    def _usage_record(self, columns: Sequence[Any]) -> UsageRecord:
        if columns[-1] != checksum(*columns[:-1]):
            raise self.damaged("what its calls cost is damaged")
        return UsageRecord._make(columns[:-1])

    def call(self, key: bytes) -> str | None:
        """Return the answer stored under a key; a damaged one counts as none."""
        if key in self._calls:
            return self._calls[key]
        if not (self._shared or self._knows(key)):
            return self._answer_of_earlier(key)
        query = "SELECT CAST(value AS BLOB), checksum FROM calls WHERE key = ?"
        for value, stored in self.query(query, key):
            text = bytes(value or b"").decode(errors="replace")  # damaged, it may not be UTF-8
            if stored == _call_checksum(key, text):
                return text
            logger.warning("a stored answer is damaged and is requested again")
        return None

    def _knows(self, key: bytes) -> bool:
        """Whether an answer was stored before or by this process, without a look at the file."""
        if self._digests is None:
            self._digests = Digests()
            for (stored,) in self.query("SELECT key FROM calls"):
                self._digests.add(stored)
        return key in self._digests

    def answered(self) -> list[str]:
        """Name the runs that hold answers: this one, and the one whose answers are reused."""
        earlier = [] if self._earlier is None else self._earlier.answered()
        if self.directory is None or not any(self.query("SELECT 1 FROM calls LIMIT 1")):
            return earlier
        return [str(self.directory), *earlier]

    def reuse(self, earlier: Store | None) -> None:
        """Take answers that this run does not hold from another, which paid for them."""
        self._earlier = earlier

    def _answer_of_earlier(self, key: bytes) -> str | None:
        if self._earlier is None:
            return None
        try:
            value = self._earlier.call(key)
        except RunError as error:  # of another run, so this one is whole
            logger.warning("an answer of another run can't be read, and is requested: %s", error)
            return None
        if value is not None:
            self._keep(key, value)
        return value

    def _keep(self, key: bytes, value: str) -> None:
        self._calls[key] = value
        self._waiting += 1

    def answers(self) -> Iterator[str]:
        """Yield all stored answers, as JSON, in constant memory."""
        self.flush()
        for key, value, stored in self.query("SELECT key, value, checksum FROM calls"):
            if stored != _call_checksum(key, value):
                raise self.damaged("an answer is damaged")
            yield value

    @contextmanager
    def _writing(self, changes: int = 0) -> Iterator[None]:
        """Change the file with what is committed next.

        A failure may have undone what was written since the last commit, so after one nothing is
        written any more: outputs would be there without their inputs.
        """
        if self._broken is not None:
            raise self._broken
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            yield
        except DATABASE_ERRORS as error:
            self._broken = error
            raise
        self._waiting += changes

    def flush_if_due(self) -> None:
        """Commit what is pending when it has waited long enough or there is much of it."""
        late = time.monotonic() - self._flushed >= FLUSH_SECONDS
        if self._waiting >= FLUSH_ROWS or (self._waiting and late):
            self.flush()

    def flush_soon(self) -> None:
        """Commit what is pending before the event loop does anything else that isn't due yet.

        What came together is committed together. If that fails, whoever commits next is told. In
        memory nothing outlives the process, so that there only much is worth a commit.
        """
        if self.directory is None:
            self.flush_if_due()
            return

        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._try_flush)

    def _try_flush(self) -> None:
        with suppress(RunError, *DATABASE_ERRORS):
            self.flush()

    def guard(self) -> None:
        """Have each commit look whether the run is there and still this process's."""
        if self.directory is not None:
            self._file = (self.directory / NAME).stat().st_ino

    def _refuse_removed(self) -> None:
        """Refuse to go on without lock or file: others might begin the run anew beside this one."""
        if self._file is None or self.directory is None:
            return
        with suppress(OSError):
            if is_ours(self.directory) and (self.directory / NAME).stat().st_ino == self._file:
                return
        raise RunError(
            f"{NAME} or {LOCK} was removed or replaced while the run went on",
            where=str(self.directory),
            hint="leave a run's files alone until it has ended; then give the same command again",
        )

    def flush(self) -> None:
        """Commit what is pending."""
        self._due = False
        if self._waiting:
            self._refuse_removed()
            calls = ((*call, _call_checksum(*call)) for call in self._calls.items())
            with self._writing():
                self._db.executemany(schema.INSERT_CALL, calls)
                self._db.executemany(schema.INSERT_USAGE, [*self._usage_sums()])
                self._db.executemany(schema.INSERT_OUTPUT, self._outputs)
                self._db.execute("COMMIT")
            if self._digests is not None:
                for key in self._calls:
                    self._digests.add(key)
            self._calls.clear()
            self._usage.clear()
            self._outputs.clear()
            self._waiting = 0
        self._flushed = time.monotonic()

    def _usage_sums(self) -> Iterator[tuple[Any, ...]]:
        """Yield the usage of all calls of those that have any to be committed, with checksums."""
        usage = schema.SELECT_USAGE.format(of="main")
        query = f"{usage} WHERE caller = ? AND requested = ? AND model = ? AND tier = ?"
        for key, added in self._usage.items():
            before = next(map(self._usage_record, self.query(query, *key)), None)
            total = added if before is None else before.plus(added)
            yield (*total, checksum(*total))

    @contextmanager
    def attached(self, path: Path) -> Iterator[None]:
        """Attach another store's file as ``part``, to copy rows."""
        self.flush()
        self._db.execute("ATTACH ? AS part", (str(path),))
        try:
            yield
        finally:
            if self._db.in_transaction:  # a failure, which is told
                self._db.execute("ROLLBACK")
            self._db.execute("DETACH part")

    def change(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement for each of some rows, with what is committed next."""
        if rows:
            with self._writing(len(rows)):
                self._db.executemany(statement, rows)

    def forget(self, positions: Iterable[int]) -> None:
        """Drop the outputs of rows that are to be worked on again."""
        self.flush()
        self.change(
            "DELETE FROM outputs WHERE position = ?", [(position,) for position in positions]
        )

    def forget_calls(self, keys: Iterable[bytes]) -> None:
        """Drop answers, so that they are requested again."""
        self.flush()
        self.change("DELETE FROM calls WHERE key = ?", [(key,) for key in keys])

    def truncate(self, position: int) -> None:
        """Drop the rows from a place on, with their outputs; answers are kept."""
        self.flush()
        for table in ("inputs", "outputs"):
            self.change(f"DELETE FROM {table} WHERE position >= ?", [(position,)])  # noqa: S608
        self.flush()

    def empty_log(self) -> None:
        """Move what is committed from the log into the file, so that the file alone is the run."""
        self.flush()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _call_checksum(key: bytes, value: str) -> int:
    return raw_checksum(key, value.encode())
