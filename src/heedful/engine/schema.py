"""The tables of a run's store, and the checksums that tell whether a row is as it was written."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from heedful.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from heedful.models.base import Usage

__all__ = ["Entry"]

LOST = "lost"
"""The tier of calls whose answers a provider has deleted."""

CACHE_WRITE = "cache_write"
"""The tier of tokens put into a provider's cache, which are other calls' prompt tokens."""


class Input(NamedTuple):
    """One row of the input, to be stored."""

    position: int  # place in the input, from 0
    line: int  # line in the input file, from 1
    id: str | None  # the row's id; None where it could not be read
    value: str | None  # what the work is given, as JSON
    problem: str | None  # why the row cannot be worked on


class Entry(NamedTuple):
    """One row of a run, as stored."""

    position: int  # place in the input, from 0
    line: int  # line in the input file, from 1
    id: str | None  # the row's id, None where it could not be read
    input: str | None  # what the work was given, as JSON
    problem: str | None  # why the row could not be worked on
    output: str | None  # what the work returned, as JSON; None where it is not done or failed
    failure: str | None  # why the work failed


class UsageRecord(NamedTuple):
    """Usage of a call, or the sum over the calls of one caller to one model."""

    caller: str  # the part of the job that made the call, such as a judge
    requested: str  # the model, by the user's name for it
    model: str  # the model that answered, by the server's name
    tier: str = ""  # ``batch``, at half the price; LOST; CACHE_WRITE
    calls: int = 1  # replies that were paid for, including those without an answer
    reasks: int = 0
    uncounted: int = 0  # of them without a count of their tokens
    prompt_tokens: int = 0  # of the calls that were counted, including cached ones
    cached_tokens: int = 0
    completion_tokens: int = 0  # including reasoning

    @classmethod
    def of(
        cls,
        caller: str,
        requested: str,
        model: str,
        usage: Usage | None,
        *,
        reask: bool,
        tier: str = "",
    ) -> UsageRecord:
        """Book one reply; ``None`` where the server did not count its tokens."""
        tokens = (0, 0, 0)
        if usage is not None:
            tokens = usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens
        return cls(caller, requested, model, tier, 1, int(reask), int(usage is None), *tokens)

    def plus(self, other: UsageRecord) -> UsageRecord:
        """Add up two records of the same caller, model and tier."""
        return UsageRecord(*self.who, *map(int.__add__, self[4:], other[4:]))

    @property
    def who(self) -> tuple[str, str, str, str]:
        """Key under which usage is summed: caller, requested and answering model, tier."""
        return self[:4]


class Digests:
    """Which digests may have been seen: two megabytes that say no at once, and yes if in doubt.

    Nearly all calls are new, and looking each up in the file would cost as much as storing it.
    """

    def __init__(self) -> None:
        self._bits = bytearray(1 << 21)

    def add(self, digest: bytes) -> None:
        """Take note of one."""
        place = int.from_bytes(digest[:3])
        self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, digest: bytes) -> bool:
        """Whether it may have been added."""
        place = int.from_bytes(digest[:3])
        return bool(self._bits[place >> 3] >> (place & 7) & 1)


OPEN = "batches"
"""Key under which a store holds the batches that have not been fetched."""

VERSION = 5
"""The version of the tables, in the file's ``user_version``."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inputs (
    position INTEGER PRIMARY KEY,  -- place in the input, from 0
    line INTEGER NOT NULL,         -- line in the file, from 1
    id TEXT UNIQUE,                -- NULL where the row could not be read
    value TEXT,                    -- what the work is given, as JSON
    problem TEXT,                  -- why the row cannot be worked on
    checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS outputs (
    position INTEGER PRIMARY KEY,
    value TEXT,                    -- what the work returned, as JSON
    problem TEXT,                  -- why it returned nothing
    checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS calls (
    key BLOB PRIMARY KEY,          -- all that the answer depends on, digested
    value TEXT NOT NULL,           -- the answer, as JSON
    checksum INTEGER NOT NULL
);  -- with row ids: keys come in random order, and only they should be written so
CREATE TABLE IF NOT EXISTS usage (  -- of the calls, summed up as they come
    caller TEXT, requested TEXT, model TEXT, tier TEXT,
    calls INTEGER, reasks INTEGER, uncounted INTEGER,
    prompt_tokens INTEGER, cached_tokens INTEGER, completion_tokens INTEGER,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (caller, requested, model, tier)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_requests (  -- sent to a batch endpoint; see engine/batches
    key BLOB PRIMARY KEY,          -- of the call
    tag TEXT NOT NULL,             -- of the batch
    number INTEGER NOT NULL,       -- place in it
    caller TEXT NOT NULL,          -- who asked
    reask INTEGER NOT NULL,        -- whether it requests again what an answer had left out
    answered INTEGER NOT NULL      -- 1 where the answer is stored, and no row has used it yet
) WITHOUT ROWID;
PRAGMA user_version={VERSION};
"""

INTO_INPUTS = "INTO inputs VALUES (?, ?, ?, ?, ?, ?)"

INSERT_CALL = "INSERT OR REPLACE INTO calls VALUES (?, ?, ?)"

INSERT_OUTPUT = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?, ?)"

SELECT_ENTRY = """
SELECT position, line, id, inputs.value, inputs.problem, outputs.value, outputs.problem,
    inputs.checksum, outputs.checksum
FROM inputs LEFT JOIN outputs USING (position)
"""

SELECT_USAGE = f"SELECT {', '.join(UsageRecord._fields)}, checksum FROM {{of}}.usage"  # noqa: S608

INSERT_USAGE = "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def checksum(*fields: object) -> int:
    """Return the checksum of a row's fields; it finds damage, and isn't meant against forgery."""
    return crc32("\x1f".join(map(str, fields)).encode("utf-8", "surrogatepass"))


def raw_checksum(*fields: int | bytes | None) -> int:
    """Return the same of fields whose text was read as bytes, as damaged text need not be UTF-8."""
    return crc32(b"\x1f".join(f if isinstance(f, bytes) else str(f).encode() for f in fields))


DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Errors that SQLite raises; on a damaged file the message may not be UTF-8."""

DAMAGE_HINT = (
    "take it from a copy, or name another --run; heedful export --salvage writes what is whole of "
    "a run of evaluate"
)


def refuse_version(version: int, path: Path) -> None:
    """Refuse a store of another version."""
    if version != VERSION:
        raise RunError(
            "this run was written by another version of heedful",
            where=str(path),
            hint="open it with the heedful that wrote it, or name another directory with --run",
        )


def refuse_damaged(query: Callable[[str], Iterable[Sequence[Any]]], path: Path) -> None:
    """Refuse a store whose structure is damaged; takes time linear in its size."""
    ((problem,),) = query("PRAGMA integrity_check(1)")
    if problem != "ok":
        said = str(problem).splitlines()[-1]
        raise RunError(f"the run's store is damaged: {said}", where=str(path), hint=DAMAGE_HINT)
