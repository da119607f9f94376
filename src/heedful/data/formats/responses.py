"""Responses that lie in a file of their own, joined to the samples they answer.

A response joins by id (``key`` or ``id``) where both files have one, else by its prompt: the last
user turn, word for word, then without outer white space. Of several files, the id may begin with
the file's name, as in what they are written to together. Where a format has keys of its own, the
fields of the row with a record's key become the record's. Responses wait in a temporary SQLite
database (in memory while small, on disk when not), so that a million of them fit.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import RowError
from heedful.core.reasoning import beside
from heedful.data.formats import fields, files
from heedful.data.formats.base import Row
from heedful.data.formats.fields import optional_text, prompt_of, response_text, row_id
from heedful.data.formats.ifeval import VERDICTS
from heedful.data.formats.tools import unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.data.formats.base import Format
    from heedful.data.formats.raw import Record

_TABLE = """
CREATE TABLE response (
    line INTEGER, id TEXT, prompt BLOB, bare BLOB, body TEXT, problem TEXT, record TEXT, used TEXT
);
"""
_INDEXES = "".join(
    f"CREATE INDEX by_{key} ON response ({key});" for key in ("id", "prompt", "bare")
)


class _Entry(NamedTuple):
    line: int
    id: str | None = None
    prompt: bytes | None = None
    bare: bytes | None = None
    body: str | None = None
    problem: str | None = None
    record: str | None = None


class Responses:
    """The responses of one file, while :func:`opened`."""

    file: str = ""
    """Name of the file whose samples are joined, where there are several."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database

    def join(self, sample: Sample) -> Sample:
        """Return the sample with its response, and the verdicts stored beside it."""
        found = self._find(sample)
        self._use(rowid for rowid, *_ in found)
        if not found:
            raise RowError(f"no response in {self._path} for {_called(sample)}")
        places = " and ".join(f"{self._path}:{line}" for _, line, *_ in found)
        if len(found) > 1:
            raise RowError(f"{places} both answer {_called(sample)}; keep one of them")
        _, _, body, bare, used = found[0]
        if bare is None and used not in (None, self.file):
            hint = f"call it {self.file}:{sample.id}"
            raise RowError(f"{places} answers {sample.id} of {used} already", hint=hint)
        prompt = prompt_of(sample)
        if bare is not None and prompt is not None and bare != _digest(prompt.strip()):
            raise RowError(f"{places} has the key of {_called(sample)}, but another prompt")
        stored = json.loads(body)
        update: dict[str, Any] = {"response": stored["response"], "reasoning": stored["reasoning"]}
        labels = fields.labels(stored.get(VERDICTS), len(sample.checklist), VERDICTS)
        if labels is not None:
            update["labels"] = labels
        return sample.model_copy(update=update)

    def merge(self, record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any] | None:
        """Return a record with the fields of the row that has its key; ``None`` where none has."""
        name = row_id(record, 0, *keys) if any(record.get(key) is not None for key in keys) else ""
        query = "SELECT rowid, line, record FROM response WHERE id = ? AND record IS NOT NULL"
        found = self._database.execute(query, (name,)).fetchall() if name else []
        self._use(row[0] for row in found)
        if len(found) > 1:
            places = " and ".join(f"{self._path}:{line}" for _, line, _ in found)
            raise RowError(f"{places} are both of {name}; keep one of them")
        return {**record, **json.loads(found[0][2])} if found else None

    def left_over(self, samples: Path | str) -> Iterator[Row]:
        """Report what could not be read, and what joined no sample."""
        query = "SELECT line, problem FROM response WHERE used IS NULL ORDER BY rowid"
        for line, problem in self._database.execute(query):
            said = f": {problem}" if problem else f" joins no prompt of {samples}"
            yield Row(line, problem=f"{self._path}:{line}{said}")

    def _use(self, rowids: Iterable[int]) -> None:
        used = ((self.file, rowid) for rowid in rowids)
        self._database.executemany("UPDATE response SET used = ? WHERE rowid = ?", used)

    def _find(self, sample: Sample) -> list[tuple[int, int, str, bytes | None, str | None]]:
        """Return the rows that answer a sample, by the first key that finds any."""
        prompt = prompt_of(sample)
        keys: list[tuple[str, str | bytes]] = [("id", sample.id)]
        if self.file:
            keys.insert(0, ("id", f"{self.file}:{sample.id}"))
        if prompt is not None:
            keys += [("prompt", _digest(prompt)), ("bare", _digest(prompt.strip()))]
        for key, value in keys:
            query = f"SELECT rowid, line, body, bare, used FROM response WHERE {key} = ?"  # noqa: S608 - our own names
            rows = self._database.execute(query, (value,)).fetchall()
            if rows:
                return rows
        return []


@contextmanager
def opened(path: Path, wanted: Format) -> Iterator[Responses]:
    """Read a file of responses, ready to be joined to samples of a format."""
    # The name "" is SQLite's for a private temporary database. The generator that holds it may be
    # advanced from several threads, one at a time.
    with closing(sqlite3.connect("", check_same_thread=False)) as database:
        database.executescript(_TABLE)
        insert = (
            "INSERT INTO response (line, id, prompt, bare, body, problem, record) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        records = map(unwrapped, files.records(path))
        database.executemany(
            insert, (entry for each in records for entry in _entries(each, wanted))
        )
        database.executescript(_INDEXES)
        yield Responses(path, database)


def _entries(record: Record, wanted: Format) -> Iterator[_Entry]:
    """Yield what a record says: one response, or those of several turns."""
    if record.problem is not None:
        yield _Entry(record.line, problem=record.problem)
        return
    key = next((key for key in wanted.keys if record.data.get(key) is not None), None)
    if key is not None:
        yield _whole(record, key)
        return
    try:
        turns = wanted.turns(record.data)
    except RowError as error:
        yield _Entry(record.line, problem=error.what)
        return
    if len(turns) > 1:  # some may not have been answered; their samples will say so
        turns = [turn for turn in turns if turn.get("response") is not None]
    if not turns:
        yield _Entry(record.line, problem="the row holds no response of any turn")
    for turn in turns:
        yield _entry(record.line, turn)


def _whole(record: Record, key: str) -> _Entry:
    """Keep a row that has a format's own key, to be merged into the record with the same one."""
    data = {name: value for name, value in record.data.items() if value is not None}
    try:
        name = row_id(data, 0, key)
    except RowError as error:
        return _Entry(record.line, problem=error.what)
    other = _entry(record.line, data)  # it may still answer another record's prompt
    known = _Entry(record.line) if other.problem is not None else other
    return known._replace(id=name, record=json.dumps(data))


def _entry(line: int, data: dict[str, Any]) -> _Entry:
    keyed = any(data.get(key) not in (None, "") for key in ("key", "id"))
    try:
        response = response_text(data)
        ident = row_id(data, 0, "key", "id") if keyed else None
        prompt = optional_text(data, "prompt")
    except RowError as error:
        return _Entry(line, problem=error.what)
    if response is None:
        return _Entry(line, problem="response is missing")
    if ident is None and prompt is None:
        return _Entry(line, problem="the row has neither key nor prompt to join on")
    stored = {"response": response, "reasoning": beside(data)}
    if VERDICTS in data:
        stored[VERDICTS] = data[VERDICTS]
    return _Entry(
        line,
        id=ident,
        prompt=None if prompt is None else _digest(prompt),
        bare=None if prompt is None else _digest(prompt.strip()),
        body=json.dumps(stored, ensure_ascii=False),
    )


def _digest(words: str) -> bytes:
    return blake2b(words.encode(), digest_size=16).digest()


def _called(sample: Sample) -> str:
    """Name a sample by its id and prompt."""
    prompt = prompt_of(sample)
    shown = "" if prompt is None else f" ({files.shown(prompt)})"
    return f"{sample.id}{shown}"
