"""The sides of a comparison: runs, or the rows of one model in a run."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from heedful.core.errors import UsageError
from heedful.core.nouns import Critique, Judgment, Status
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import Scored, scored_entry
from heedful.metrics.clusters import cluster_digest, instruction_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.engine.schema import Entry


__all__ = ["flat"]

ABOUT_ROWS = ("store", "input", "reasoning")
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
            "judge": self.run.config["judge"],
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
    if isinstance(ours.get("judges"), list) or isinstance(theirs.get("judges"), list):
        _match_judges(ours, theirs)
    ours, theirs = dict(flat(ours)), dict(flat(theirs))
    return [
        {"what": what, "first": ours.get(what), "second": theirs.get(what)}
        for what in dict.fromkeys([*ours, *theirs])
        if ours.get(what) != theirs.get(what)
    ]


_OF_THE_JOB = ("heedful", "task", "format", "scoring", "seed")


def _match_judges(*settings: dict[str, Any]) -> None:
    """Align the judges by name; of one that only one run has, keep the name."""
    alone = [{key: side[key] for key in side if key not in _OF_THE_JOB} for side in settings]
    listed = [
        side["judges"] if isinstance(side.get("judges"), list) else [own]
        for side, own in zip(settings, alone, strict=True)
    ]
    first, second = ({str(each.get("judge")): each for each in judges} for judges in listed)
    if [len(first), len(second)] != [*map(len, listed)]:
        return  # a name says nothing where two judges have it
    for side, own in zip(settings, alone, strict=True):
        for key in own.keys() - {"judge"} if "judges" not in own else ("judges",):
            del side[key]
    ours = [name for name in first if name not in second]
    theirs = [name for name in second if name not in first]
    pairs = [(first[name], second[name]) for name in first if name in second]
    if len(ours) == len(theirs):
        pairs += [(first[one], second[other]) for one, other in zip(ours, theirs, strict=True)]
    else:
        pairs += [*((name, None) for name in ours), *((None, name) for name in theirs)]
    for side, place in zip(settings, (0, 1), strict=True):
        side["judges"] = [pair[place] for pair in pairs]


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


_LEFT_OUT = Judgment(status=Status.NOT_APPLICABLE)
_NONE = Judgment(status=Status.UNPARSED)
_BARE = {status: Judgment(status=status) for status in (Status.MET, Status.UNMET)}


def decided_by_both(
    first: Critique, second: Critique, length: int
) -> tuple[Critique, Critique] | None:
    """Leave out on both sides what only one of them decided, loose readings likewise.

    What doesn't apply on a side is settled there: the other side keeps its verdict, as each does in
    its own summary.
    """
    firsts, seconds = (
        critique.judgments[:length] + (_NONE,) * (length - len(critique.judgments))
        for critique in (first, second)
    )
    pairs = list(zip(firsts, seconds, strict=True))
    decided = [_both(a, b) for a, b in pairs]
    if decided == pairs:
        return None
    return (
        first.model_copy(update={"judgments": tuple(a for a, _ in decided)}),
        second.model_copy(update={"judgments": tuple(b for _, b in decided)}),
    )


def _both(first: Judgment, second: Judgment) -> tuple[Judgment, Judgment]:
    if Status.NOT_APPLICABLE in (first.status, second.status):
        return first, second
    if not (first.status.decided and second.status.decided):
        return _LEFT_OUT, _LEFT_OUT
    if (first.loose is None) != (second.loose is None):
        return _BARE[first.status], _BARE[second.status]
    return first, second
