"""Making the index of a run: columns to filter, sort and group by, and signatures of all text.

It is a file of its own, outside the run, and can be made again at any time. Rows go into it in
input order up to the first that is not done, so that none has to be looked at again; the rest is
looked through by the viewer itself.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from heedful.core.closing import closed_on_error
from heedful.core.nouns import Critique, Status
from heedful.core.turns import ToolCall
from heedful.jobs.results import Scored, scored_entry
from heedful.jobs.rows import generated_entry
from heedful.jobs.saved_run import SavedRun
from heedful.judges.prompts import read_recording
from heedful.metrics.clusters import cluster_digest
from heedful.pages.hardest import FEWEST, hardest_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from heedful.engine.store import Entry


STATUSES = tuple(status.value for status in Status)

VOTES, LABEL = 1, 2
"""Kinds of disagreement: within a panel, with the label."""

WAITING = "not judged yet"

DECIDED = ("met", "unmet")


class Fact(NamedTuple):
    """Facts of one judgment."""

    status: str  # its status
    type: str  # its constraint's type, empty where it has none
    judge: str  # who decided
    confidence: float | None  # from 0 to 1, where there is one
    disagreement: int  # :data:`VOTES` and :data:`LABEL`, added up
    constraint: int  # stands for what its constraint is known by, see :func:`constraint_number`


class Facts(NamedTuple):
    """Facts of one row."""

    text: str  # all of its texts, one after another
    judgments: tuple[Fact, ...] = ()  # its judgments, in the order of the checklist
    tags: Mapping[str, Any] = {}  # its tags
    problem: bool = False  # whether it came to nothing
    id: str = ""
    prompt: str = ""  # the beginning of the last message of the user
    length: int = 0  # of the response, in characters
    tokens: int = 0  # that its judges were sent and wrote
    repeats: bytes = b""  # identifies its prompt and model: rows that share it are repeats


def number_of(text: str | bytes) -> int:
    """Return a number that stands for a text, small enough for a column."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)


def constraint_number(text: str, verifier: str | None) -> int:
    """Return the number of a constraint that is known by its verifier (below 0), or its words."""
    number = number_of(text if verifier is None else verifier) >> 1
    return abs(number) if verifier is None else -1 - abs(number)


def row(entry: Entry, *, judged: bool) -> Scored:
    """Read a row of a run."""
    if judged:
        scored = scored_entry(entry)
        return scored._replace(critique=None, problem=WAITING) if _waits(entry) else scored
    made, _ = generated_entry(entry)
    critique = None
    if made.sample is not None and made.sample.recording is not None:
        judgments = read_recording(made.sample.recording, made.sample)
        critique = Critique(judgments=tuple(judgments), text=made.sample.recording.text)
    return Scored(made.line, made.id, made.sample, critique, made.problem)


def facts(entry: Entry, *, judged: bool) -> Facts:
    """Say what a row is found by; a row that cannot be read is found by its id and problem."""
    try:
        if judged and entry.input is not None and entry.output is not None:
            return _quick(entry.id or "", from_json(entry.input), from_json(entry.output))
        scored = row(entry, judged=judged)
    except (ValueError, KeyError, TypeError, AttributeError):  # JSON, but of something else
        return Facts(entry.id or f"line-{entry.line}", problem=True)
    if scored.sample is None:
        return Facts(f"{scored.id}\n{scored.problem}", problem=True)
    sample = scored.sample.model_dump(mode="json", exclude_defaults=True)
    critique = {} if scored.critique is None else scored.critique.model_dump(exclude_defaults=True)
    known = _quick(scored.id, sample, critique)
    problem = scored.problem is not None and not _waits(entry)
    return known._replace(text=f"{known.text}\n{scored.problem or ''}", problem=problem)


def _waits(entry: Entry) -> bool:
    """Say whether a row is yet to be worked on, which isn't a failure."""
    return entry.output is None and entry.failure is None and entry.problem is None


def _quick(key: str, sample: Mapping[str, Any], critique: Mapping[str, Any]) -> Facts:
    """Take facts from a sample and a critique as JSON: to make models of all would take thrice."""
    checklist = sample.get("checklist") or ()
    judgments = critique.get("judgments") or ()
    return Facts(
        "\n".join(text for text in _texts(key, sample, checklist, judgments) if text),
        tuple(_judgments(checklist, judgments, sample.get("labels") or ())),
        sample.get("tags") or {},
        id=key,
        prompt=_prompt(sample)[:PROMPT_CUT].casefold(),
        length=len(sample.get("response") or ""),
        tokens=sum(
            expense.get("prompt_tokens", 0) + expense.get("completion_tokens", 0)
            for expense in critique.get("expenses") or ()
        ),
        repeats=_repeats(key, sample),
    )


def _prompt(sample: Mapping[str, Any]) -> str:
    turns = sample.get("conversation") or ()
    return next((str(turn["content"]) for turn in reversed(turns) if turn["role"] == "user"), "")


def _repeats(key: str, sample: Mapping[str, Any]) -> bytes:
    turns = [(turn["role"], turn["content"]) for turn in sample.get("conversation") or ()]
    prompt = cluster_digest(key, {}, sample.get("instruction_id"), turns)
    return prompt + str((sample.get("tags") or {}).get("model", "")).encode("utf-8", "replace")


def _texts(key: str, sample: Mapping[str, Any], checklist: Any, judgments: Any) -> Iterator[str]:
    yield key
    for turn in sample.get("conversation") or ():
        yield turn["content"]
        yield from _calls(turn)
    yield sample.get("response") or ""
    yield from _calls(sample)
    yield sample.get("reference") or ""
    for constraint in checklist:
        yield constraint["text"]
    for judgment in judgments:
        yield judgment.get("explanation") or ""


def _calls(turn: Mapping[str, Any]) -> Iterator[str]:
    for call in turn.get("tool_calls") or ():
        yield ToolCall.model_validate(call).shown


def _judgments(checklist: Any, judgments: Any, labels: Any) -> Iterator[Fact]:
    for place, (constraint, judgment) in enumerate(zip(checklist, judgments, strict=False)):
        label = labels[place] if place < len(labels) else None
        yield fact(constraint, judgment, label)


def fact(
    constraint: Mapping[str, Any],
    judgment: Mapping[str, Any],
    label: bool | None,  # noqa: FBT001
) -> Fact:
    """Say what is known of a judgment."""
    status = str(judgment["status"])
    cast = {vote["status"] for vote in judgment.get("votes") or () if vote["status"] in DECIDED}
    against = label is not None and status in DECIDED and label != (status == "met")
    return Fact(
        status,
        constraint.get("type") or "",
        judgment.get("judge") or "",
        judgment.get("confidence"),
        VOTES * (len(cast) > 1) + LABEL * against,
        constraint_number(constraint["text"], (constraint.get("check") or {}).get("id")),
    )


VERSION = 3
"""Of what an index holds: one of another version is made again."""

BATCH = 2048
"""Rows that go into the index together; the text of no fewer does."""

COLUMNS, TEXT = "columns", "text"
"""The parts of an index; each says how many rows are in it."""

PROMPT_CUT = 40
"""Characters of a prompt that rows are sorted by."""

BITS = 4096
"""Bits of a row's signature: each part of its text of one to three characters sets one."""

TAGS_CUT = 200
"""Characters of tags that rows are sorted by."""

VALUES_INDEXED = 1000
"""Values of a tag, types or judges that can be chosen; one with more names items, not groups."""

SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE names (  -- what can be chosen
    number INTEGER PRIMARY KEY, kind TEXT, name TEXT, samples INTEGER, judgments INTEGER,
    UNIQUE (kind, name)
);
CREATE TABLE samples (
    position INTEGER PRIMARY KEY, problem INTEGER, met INTEGER, unmet INTEGER, undecided INTEGER,
    id TEXT, prompt TEXT, length INTEGER, tokens INTEGER, tags TEXT, judge TEXT, confidence REAL,
    repeats INTEGER
);
CREATE TABLE judgments (  -- in the order of the samples
    position INTEGER, status INTEGER, type INTEGER, judge INTEGER, confidence REAL,
    disagreement INTEGER, "constraint" INTEGER
);
CREATE TABLE tags (name INTEGER, position INTEGER, PRIMARY KEY (name, position)) WITHOUT ROWID;
CREATE TABLE hardest (  -- those known by their words, and all verifiers
    "constraint" INTEGER, met INTEGER, unmet INTEGER, undecided INTEGER, examples TEXT
);
CREATE INDEX by_repeats ON samples (repeats);
-- For a block of rows and a bit of their signatures: which of the rows have it.
CREATE TABLE signatures (block INTEGER, bit INTEGER, rows BLOB, PRIMARY KEY (block, bit))
    WITHOUT ROWID;
"""


COUNTED = """
SELECT "constraint" AS number, sum(status = 0) AS met, sum(status = 1) AS unmet, sum(status > 1)
FROM judgments WHERE status NOT IN ({}) GROUP BY number
"""
UNMET = 'SELECT position, "constraint" FROM judgments WHERE status = 1'
"""Statuses are in the order of :data:`STATUSES`, met and unmet first."""

EXAMPLES = 3
"""Samples that are named for each of the hardest constraints."""


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
        """Index finished rows; their text in whole blocks, of what is left is little to look at."""
        settled = islice(self._settled(self._covered(COLUMNS)), rows)
        while batch := list(islice(settled, BATCH)):
            if not self._commit(batch, columns=True):
                return
        left = self._settled(self._covered(TEXT)) if rows is None else iter(())
        while len(batch := list(islice(left, BATCH))) == BATCH:
            if not self._commit(batch, columns=False):
                return
        self._find_hardest()

    def _covered(self, key: str) -> int:
        return int(about(self._db, key) or 0)

    def _settled(self, covered: int) -> Iterator[Entry]:
        """Yield the rows that nothing more will come of, up to the first that is not such."""
        for entry in self._run.entries(covered):
            if entry.output is None and entry.failure is None and entry.problem is None:
                return
            yield entry

    def _commit(self, batch: list[Entry], *, columns: bool) -> bool:
        """Put in some rows; refuse where another process is at it too."""
        judged = self._run.judged
        rows = [(entry.position, facts(entry, judged=judged)) for entry in batch]
        start, end = batch[0].position, batch[-1].position + 1
        self._db.execute("BEGIN IMMEDIATE")
        if self._covered(COLUMNS if columns else TEXT) != start:
            self._db.execute("ROLLBACK")
            return False
        done = []
        if columns:
            self._add(rows)
            done.append((COLUMNS, end))
        if len(batch) == BATCH and self._covered(TEXT) == start:
            self._add_text([row.text for _, row in rows], start // BATCH)
            done.append((TEXT, end))
        self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", done)
        self._db.execute("COMMIT")
        return True

    def _add(self, batch: list[tuple[int, Facts]]) -> None:
        counts: Counter[tuple[int, bool]] = Counter()
        self._db.executemany(
            "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((at, *_columns(row_facts)) for at, row_facts in batch),
        )
        self._db.executemany(
            "INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?, ?)",
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

    def _add_text(self, texts: list[str], block: int) -> None:
        self._db.executemany(
            "INSERT INTO signatures VALUES (?, ?, ?)",
            (
                (block, bit, rows.tobytes())
                for bit, rows in enumerate(signatures(texts))
                if rows.any()
            ),
        )

    def _find_hardest(self) -> None:
        """Count the verdicts of each constraint, once for all pages, and note some that failed."""
        excused = [STATUSES.index(each) for each in Status if each.settled and not each.decided]
        query = COUNTED.format(", ".join(map(str, excused)))
        words = hardest_counts(
            self._db.execute(f"{query} HAVING number >= 0 AND met + unmet >= ?", (FEWEST,))
        )
        rows = [*words, *self._db.execute(f"{query} HAVING number < 0")]
        examples: dict[int, list[int]] = {row[0]: [] for row in rows}
        for position, number in self._db.execute(UNMET):
            found = examples.get(number)
            if found is not None and len(found) < EXAMPLES and position not in found:
                found.append(position)
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM hardest")
        self._db.executemany(
            "INSERT INTO hardest VALUES (?, ?, ?, ?, ?)",
            [(*row, json.dumps(examples[row[0]])) for row in rows],
        )
        self._db.execute("COMMIT")

    def _judgments(
        self, position: int, row: Facts, counts: Counter[tuple[int, bool]]
    ) -> Iterator[tuple[Any, ...]]:
        for fact in row.judgments:
            kind, judge = self._name("type", fact.type), self._name("judge", fact.judge)
            status = STATUSES.index(fact.status)
            counts.update([(kind, True), (judge, True), (self._name("status", fact.status), True)])
            sort = position, status, kind, judge, fact.confidence, fact.disagreement
            yield *sort, fact.constraint

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


def _columns(row: Facts) -> tuple[Any, ...]:
    """Return what rows are sorted and grouped by."""
    counts = Counter(fact.status for fact in row.judgments)
    met, unmet = counts["met"], counts["unmet"]
    return (
        row.problem,
        *(met, unmet, counts.total() - met - unmet),
        row.id,
        row.prompt,
        *(row.length, row.tokens),
        " ".join(f"{name}:{value}" for name, value in row.tags.items())[:TAGS_CUT].casefold(),
        " ".join(sorted({fact.judge for fact in row.judgments})),
        min((f.confidence for f in row.judgments if f.confidence is not None), default=None),
        number_of(row.repeats),
    )


def signatures(texts: list[str]) -> NDArray[np.uint8]:
    """Say for each bit which texts have it, eight texts to a byte."""
    import numpy as np

    bits = np.zeros((len(texts), BITS), np.bool_)
    for place, text in enumerate(texts):
        bits[place, signature(text)] = True
    return np.packbits(bits.T, axis=1)


def signature(text: str) -> NDArray[np.uint32]:
    """Return the bits of a text's signature, whatever its case."""
    import numpy as np

    ones = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), np.uint32)
    twos = ones[1:] + ones[:-1] * np.uint32(0x9E3779B1)
    threes = ones[2:] + twos[:-1] * np.uint32(0x85EBCA77)
    grams = np.concatenate([ones, twos, threes]) * np.uint32(0xC2B2AE3D)
    return grams >> np.uint32(32 - BITS.bit_length() + 1)


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


def build(directory: Path, path: Path, most: int | None = None) -> None:
    """Bring the index of a run up to date, by so many rows at most."""
    with closing(Builder(directory, path)) as builder:
        builder.update(most)
