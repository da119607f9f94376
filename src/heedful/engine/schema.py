"""The tables of a run's store, and the checksums that tell whether a row is as it was written."""

from __future__ import annotations

from zlib import crc32

from heedful.engine.records import UsageRecord

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

SELECT_USAGE = f"SELECT {', '.join(UsageRecord._fields)}, checksum FROM usage"  # noqa: S608 - ours

INSERT_USAGE = "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def checksum(*fields: object) -> int:
    """Return the checksum of a row's fields; it finds damage, and isn't meant against forgery."""
    return crc32("\x1f".join(map(str, fields)).encode("utf-8", "surrogatepass"))


def raw_checksum(*fields: int | bytes | None) -> int:
    """Return the same of fields whose text was read as bytes, as damaged text need not be UTF-8."""
    return crc32(b"\x1f".join(f if isinstance(f, bytes) else str(f).encode() for f in fields))
