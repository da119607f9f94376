"""The sides of a comparison (runs, or the rows of one model in a run), and how their rows match."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from heedful.core.errors import InputError, UsageError
from heedful.jobs.results import Scored, judged_by, scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.metrics.clusters import cluster_digest, instruction_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.engine.schema import Entry


ABOUT_ROWS = ("store", "input", "format", "reasoning")
"""Of a run's configuration: what is compared row by row instead."""

DIGEST_BYTES = 16


class Card(NamedTuple):
    """The columns that identify a row; texts are digested."""

    position: int
    id: str
    instruction: str  # and which sample of it, but not who answered
    conversation: bytes | None  # system and user: earlier answers may be the model's own
    cluster: bytes
    checklist: bytes
    response: bytes


class Side:
    """One side of a comparison: a run, or its rows with one value of the tag ``model``."""

    def __init__(self, name: str, run: SavedRun, only: str | None = None) -> None:
        self.name = name
        self.run = run
        self.only = only
        # Filled as cards are read: rows by model, and rows that could not be read.
        self.models: dict[str, int] = {}
        self.unread = 0

    @property
    def scoring(self) -> Scoring:
        """The scoring that it was made with."""
        scoring: Scoring = self.run.config["scoring"]
        return scoring

    @property
    def judge(self) -> dict[str, Any]:
        """The configuration of its judge."""
        return self.run.judge

    def cards(self) -> Iterator[Card]:
        """Read what identifies its rows, in constant memory."""
        self.models, self.unread = {}, 0
        for read in self.run.rows(_read):
            if read is None:
                self.unread += 1
                continue
            model, card = read
            if self.only is None or model == self.only:
                self.models[model] = self.models.get(model, 0) + 1
                yield card

    def row(self, position: int) -> Scored:
        """Return one of its rows with its judgments."""
        return self.run.row(position, scored_entry)

    def about(self) -> dict[str, Any]:
        """Describe it, for the results."""
        return {
            "name": self.name,
            "run": str(self.run.directory),
            "models": {model: rows for model, rows in self.models.items() if model},
            "judge": judged_by(self.run.summary),
            "scoring": self.scoring,
            "rows": sum(self.models.values()),
            "unread": self.unread,
        }


def sides(runs: Sequence[Path | str]) -> list[Side]:
    """Open what is to be compared."""
    opened = [_side(str(run)) for run in runs]
    if len(opened) == 1 and opened[0].only is None:
        opened = _by_model(opened[0].run)
    if len(opened) < 2:  # noqa: PLR2004 - a pair
        raise UsageError(
            "there is nothing to compare with",
            hint="name two runs or more, or one with the responses of several models",
        )
    names = [side.name for side in opened]
    for place, side in enumerate(opened):
        if names.count(side.name) > 1:
            side.name = str(runs[place])
    for place, side in enumerate(opened):
        earlier = [other.name for other in opened[:place]]
        if side.name in earlier:
            side.name = f"{side.name} ({earlier.count(side.name) + 1})"
    return opened


def differing(first: Side, second: Side) -> list[dict[str, Any]]:
    """List the settings in which two runs differ."""
    ours, theirs = (
        {
            "heedful": side.run.about.get("heedful"),
            **{k: v for k, v in side.run.config.items() if k not in ABOUT_ROWS},
        }
        for side in (first, second)
    )
    ours, theirs = dict(flat(ours)), dict(flat(theirs))
    return [
        {"what": what, "first": ours.get(what), "second": theirs.get(what)}
        for what in dict.fromkeys([*ours, *theirs])
        if ours.get(what) != theirs.get(what)
    ]


def _side(named: str) -> Side:
    """Open a run; the first ``@`` that follows on a run's directory begins a model's name."""
    path = Path(named)
    if not path.is_dir():
        for place in (place for place, mark in enumerate(named) if mark == "@"):
            directory = Path(named[:place])
            if (directory / "run.sqlite").is_file():
                model = named[place + 1 :]
                run = SavedRun.open(directory)
                return Side(model, run, _known(model, run))
    return Side(path.resolve().name, SavedRun.open(path))


def _known(model: str, run: SavedRun) -> str:
    models = _models(run)
    if model not in models:
        there = f"those in it are {', '.join(models)}" if models else "its rows name none"
        hint = "name one of them" if models else "leave the @ out"
        raise UsageError(
            f"no row has the tag model {model!r}; {there}", where=str(run.directory), hint=hint
        )
    return model


def _by_model(run: SavedRun) -> list[Side]:
    models = _models(run)
    if len(models) < 2:  # noqa: PLR2004 - a pair
        raise UsageError(
            "the rows of this run are not of several models (their tag model), so there is nothing "
            "to compare",
            where=str(run.directory),
            hint="also name another run",
        )
    return [Side(model, run, model) for model in models]


def _models(run: SavedRun) -> list[str]:
    side = Side("", run)
    for _ in side.cards():
        pass
    return [model for model in side.models if model]


def _read(entry: Entry) -> tuple[str, Card] | None:
    """Read a row's model and card; ``None`` for a row that could not be read."""
    if entry.problem is not None or entry.input is None or entry.id is None:
        return None
    sample = from_json(entry.input)
    model = str(sample.get("tags", {}).get("model", ""))
    return model, _card(entry.position, entry.id, sample)


def _card(position: int, key: str, sample: Mapping[str, Any]) -> Card:
    turns = [
        f"{turn['role']}\0{turn['content']}"
        for turn in sample.get("conversation", ())
        if turn["role"] != "assistant"
    ]
    conversation = _digest("\0\0".join(turns)) if turns else None
    tags = sample.get("tags", {})
    stated = sample.get("instruction_id")
    base, number = instruction_of(key, tags)
    instruction = base if stated is None else str(stated)
    return Card(
        position,
        key,
        f"{instruction}#{number}",
        conversation,
        cluster_digest(
            key,
            tags,
            stated,
            (
                (turn["role"], "\n".join((turn["content"], *turn.get("images", ()))))
                for turn in sample.get("conversation", ())
            ),
        ),
        _digest("\0".join(constraint["text"] for constraint in sample.get("checklist", ()))),
        _digest(json.dumps(sample.get("response"))),
    )


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Name every leaf of nested settings by its path, such as ``model.base_url``."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value, 1):
            yield from flat(inner, f"{name}.{place}")
    else:
        yield name, value


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


class PairingCounts(NamedTuple):
    """Counts of the rows of two sides by whether they match."""

    paired: int
    only_first: int
    only_second: int
    ambiguous: int  # left out, as another row of their run has the same key
    conversations: int  # pairs in which these differ
    checklists: int
    responses: int


class Pairing:
    """The rows of two sides, while :func:`paired`."""

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

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Yield (first row, second row, cluster) of the same checklist, cluster by cluster."""
        query = "SELECT first, second, cluster FROM pairs WHERE NOT checklists ORDER BY rowid"
        yield from self._database.execute(query)


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
