"""Making the index of a run: what a filter asks for, in columns, and all text by its trigrams.

It is a file of its own, outside the run, and can be made again at any time. Rows go into it in
input order up to the first that is not done, so that none has to be looked at again; the rest is
looked through by the viewer itself.

``python -m heedful.pages.viewer.building RUN INDEX`` brings an index up to date.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.closing import closed_on_error
from heedful.engine.saved_run import SavedRun
from heedful.pages.viewer.facts import STATUSES, Facts, facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heedful.engine.store import Entry

VERSION = 2
"""Of what an index holds: one of another version is made again."""

BATCH = 2000
"""Rows that go into the index together."""

COLUMNS, TEXT = "columns", "text"
"""The parts of an index; each says how many rows are in it."""

HASH_BYTES = 128 << 20
"""Trigrams that are gathered before they are written, which takes a third of the time."""

VALUES_INDEXED = 1000
"""Values of a tag, types or judges that can be chosen; one with more names items, not groups."""

SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE names (  -- what can be chosen
    number INTEGER PRIMARY KEY, kind TEXT, name TEXT, samples INTEGER, judgments INTEGER,
    UNIQUE (kind, name)
);
CREATE TABLE samples (
    position INTEGER PRIMARY KEY, problem INTEGER, met INTEGER, unmet INTEGER, undecided INTEGER
);
CREATE TABLE judgments (  -- in the order of the samples
    position INTEGER, status INTEGER, type INTEGER, judge INTEGER, confidence REAL,
    disagreement INTEGER
);
CREATE TABLE tags (name INTEGER, position INTEGER, PRIMARY KEY (name, position)) WITHOUT ROWID;
-- Without the places of trigrams within a row it takes a quarter of the room.
CREATE VIRTUAL TABLE text USING fts5 (
    body, content = '', tokenize = 'trigram', detail = none, columnsize = 0
);
CREATE VIRTUAL TABLE terms USING fts5vocab (text, row);
"""


class IndexedRow(NamedTuple):
    """A row's place, and what it is found by."""

    position: int
    facts: Facts


def identity(run: SavedRun) -> str:
    """Say which rows, made how, an index is of: of others it has to be made again."""
    return json.dumps([VERSION, *run.identity], sort_keys=True)


class Builder:
    """Brings an index up to date."""

    def __init__(self, directory: Path, path: Path) -> None:
        self._run = SavedRun(directory, marks_damaged=True)
        self._db = _open(path, identity(self._run), directory)
        self._names: dict[tuple[str, str], int] = {
            (kind, name): number
            for number, kind, name in self._db.execute("SELECT number, kind, name FROM names")
        }
        self._kinds = Counter(kind for kind, _ in self._names)

    def close(self) -> None:
        """Close the run and the index."""
        self._run.close()
        self._db.close()

    def update(self, rows: int | None = None) -> None:
        """Index finished rows: first the columns, which take little, then the text."""
        for key, add in ((COLUMNS, self._add), (TEXT, self._add_text)):
            settled = islice(self._settled(int(about(self._db, key) or 0)), rows)
            while batch := list(islice(settled, BATCH)):
                if not self._commit(key, add, batch):
                    return

    def _settled(self, covered: int) -> Iterator[Entry]:
        """Yield the rows that nothing more will come of, up to the first that is not such."""
        for entry in self._run.entries(covered):
            if entry.output is None and entry.failure is None and entry.problem is None:
                return
            yield entry

    def _commit(
        self, key: str, add: Callable[[list[IndexedRow]], None], batch: list[Entry]
    ) -> bool:
        """Put in some rows; refuse where another process is at it too."""
        judged = self._run.judged
        rows = [IndexedRow(entry.position, facts(entry, judged=judged)) for entry in batch]
        self._db.execute("BEGIN IMMEDIATE")
        if int(about(self._db, key) or 0) != batch[0].position:
            self._db.execute("ROLLBACK")
            return False
        add(rows)
        values = key, batch[-1].position + 1
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", values)
        self._db.execute("COMMIT")
        return True

    def _add(self, batch: list[IndexedRow]) -> None:
        counts: Counter[tuple[int, bool]] = Counter()
        self._db.executemany(
            "INSERT INTO samples VALUES (?, ?, ?, ?, ?)",
            ((at, row_facts.problem, *_counts(row_facts)) for at, row_facts in batch),
        )
        self._db.executemany(
            "INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?)",
            [row for at, row_facts in batch for row in self._judgments(at, row_facts, counts)],
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO tags VALUES (?, ?)",
            [(tag, at) for at, row_facts in batch for tag in self._tags(row_facts, counts)],
        )
        for (number, of_judgments), count in counts.items():
            column = "judgments" if of_judgments else "samples"
            query = f"UPDATE names SET {column} = {column} + ? WHERE number = ?"  # noqa: S608
            self._db.execute(query, (count, number))

    def _add_text(self, batch: list[IndexedRow]) -> None:
        # A word may begin at the last character, and its trigram ends two after that.
        self._db.executemany(
            "INSERT INTO text (rowid, body) VALUES (?, ?)",
            ((at, f"{row.text}\n\n") for at, row in batch),
        )

    def _judgments(
        self, position: int, row: Facts, counts: Counter[tuple[int, bool]]
    ) -> Iterator[tuple[Any, ...]]:
        for fact in row.judgments:
            kind, judge = self._name("type", fact.type), self._name("judge", fact.judge)
            status = STATUSES.index(fact.status)
            counts.update([(kind, True), (judge, True), (self._name("status", fact.status), True)])
            yield position, status, kind, judge, fact.confidence, fact.disagreement

    def _tags(self, row: Facts, counts: Counter[tuple[int, bool]]) -> Iterator[int]:
        for tag, value in row.tags.items():
            if not tag.endswith("_id"):  # it names a item
                number = self._name(f"tag {tag}", f"{tag}:{value}")
                if number:
                    counts[number, False] += 1
                    yield number

    def _name(self, kind: str, name: str) -> int:
        """Return the number of a name; 0 for one that is empty, or one too many."""
        number = self._names.get((kind, name))
        if number is None:
            if not name or self._kinds[kind] >= VALUES_INDEXED:
                return 0
            number = self._names[kind, name] = len(self._names) + 1
            self._kinds[kind] += 1
            row = (number, kind, name)
            self._db.execute("INSERT INTO names VALUES (?, ?, ?, 0, 0)", row)
        return number


def _counts(row: Facts) -> tuple[int, int, int]:
    counts = Counter(fact.status for fact in row.judgments)
    met, unmet = counts["met"], counts["unmet"]
    return met, unmet, counts.total() - met - unmet


def _open(path: Path, whose: str, directory: Path) -> sqlite3.Connection:
    """Open an index, a new one where there is none of this run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        db = _connect(path)
        with closed_on_error(db):
            if about(db, "identity") == whose:
                return db
        db.close()
    except sqlite3.Error:
        pass  # none, or half of one
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    db = _connect(path)
    db.execute("BEGIN IMMEDIATE")
    for statement in filter(str.strip, SCHEMA.split(";")):
        db.execute(statement)
    db.execute("INSERT INTO text (text, rank) VALUES ('hashsize', ?)", (HASH_BYTES,))
    db.execute("INSERT INTO about VALUES ('identity', ?)", (whose,))
    db.execute("INSERT INTO about VALUES ('run', ?)", (str(directory.resolve()),))
    db.execute("COMMIT")
    return db


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with closed_on_error(db):
        for pragma in ("journal_mode=WAL", "synchronous=OFF", "busy_timeout=5000"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("PRAGMA cache_size=-65536")
    return db


def about(db: sqlite3.Connection, key: str) -> str | None:
    """Return what an index says of itself under a key."""
    record = db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
    return None if record is None else str(record[0])


if __name__ == "__main__":
    with closing(Builder(Path(sys.argv[1]), Path(sys.argv[2]))) as builder:
        builder.update()
