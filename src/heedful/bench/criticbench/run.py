"""CriticBench's evaluation: critics judge whether responses are correct, several times each.

A run keeps all that the numbers are made of, so that a report needs nothing else.

Strict: a critique without a judgment is not decided, and makes the rates ranges. Faithful: it
counts as "correct", as in the paper. A critique that failed is decided by neither.
"""

from __future__ import annotations

import math
import re
import statistics
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter

from heedful.bench.criticbench.items import (
    SAMPLES,
    SAMPLING,
    TRIPLETS,
    FrozenRecord,
    Samples,
    Triplet,
    read_samples,
    read_triplets,
)
from heedful.core.errors import ModelError, UsageError
from heedful.core.nouns import Message
from heedful.core.version import __version__
from heedful.engine.call_cache import complete
from heedful.engine.cost import CostSummary
from heedful.engine.inputs import fingerprint
from heedful.engine.job import Job
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import Item, Progress, together
from heedful.jobs.saved_run import SavedRun
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import NOTHING, Fence, Shown
from heedful.judges.prompts.template import fill, shipped, version
from heedful.metrics.contrasts import contrast
from heedful.metrics.rates import Share, measure
from heedful.models.base import refuse_models

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.engine.store import Entry, Store
    from heedful.models.base import Model, Sampling
    from heedful.models.pricing import Price

__all__ = ["CriticsJob", "Examination", "self_consistency"]

PROMPT = "critique.txt"
EXAMPLES = {kind: f"critique_{kind}.txt" for kind in ("open", "choice", "code", "any")}
"""Principles and examples by the kind of problem; ``any`` is for responses to unknown ones."""

PARSER = 2
"""Raised when the same reply would be read otherwise."""

Status = Literal["correct", "incorrect", "unparsed", "failed"]

_JUDGMENT = re.compile(
    r"judge?ment[\s*_`]*[:：][\s*_`\"'{(\[]*(?:\\boxed\{)?(?:\\text\{)?(?:the \w+ is )?"
    r"(?P<verdict>in\s?correct|not correct|wrong|correct|right)[\s*_`\"'})\].!]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_EXAMPLE = re.compile(r"^[^\w\n]*+Example \d+\W*$", re.MULTILINE)


class Verdict(FrozenRecord):
    """A critic's verdict on a response."""

    status: Status
    text: str = ""


def render(question: str, response: str, kind: str = "any") -> list[Message]:
    """Write the prompt that asks for a critique; the texts are fenced."""
    fence = Fence.around([question, response])
    places = {
        "mark": fence.mark,
        "examples": shipped(EXAMPLES[kind], __package__),
        "question": fence.wrap("QUESTION", question),
        "response": fence.wrap("RESPONSE", response),
    }
    return [Message(role="user", content=fill(shipped(PROMPT, __package__), places))]


def judgment(text: str, shown: Shown = NOTHING) -> Literal["correct", "incorrect"] | None:
    r"""Read the judgment that a critique ends on, ``None`` where it states none.

    Quotations don't count: lines that begin with ``>``, and what repeats the response. What a model
    writes after its critique in continuing the prompt's examples does not count either, nor does
    reasoning before the critique.

    >>> judgment("So it is 12.\\n**Judgment: Incorrect.**"), judgment("It is correct.")
    ('incorrect', None)
    """
    own = _NEXT_EXAMPLE.split(answer(text), maxsplit=1)[0]
    unquoted = "\n".join(line for line in own.split("\n") if not line.startswith(">"))
    stated = (match for match in _JUDGMENT.finditer(unquoted) if not shown.holds(match[0]))
    words = [match["verdict"].lower() for match in stated]
    if not words:
        return None
    return "correct" if words[-1] in ("correct", "right") else "incorrect"


def version_of_prompt() -> str:
    """Name the prompt and its parser: other words or another parser give another version."""
    texts = (shipped(name, __package__) for name in (PROMPT, *EXAMPLES.values()))
    return version(PARSER, *texts)


async def critique(
    model: Model, messages: Sequence[Message], *, sampling: Sampling, repeat: int, caller: str
) -> Verdict:
    """Request one critique of one response."""
    purpose = Purpose(caller, tokens=EXPLAINED_TOKENS)
    try:
        completion = await complete(model, messages, sampling, sample=repeat, purpose=purpose)
    except ModelError as error:
        return Verdict(status="failed", text=str(error))
    status = None if completion.cut_off else judgment(completion.text, Shown.in_prompt(messages))
    return Verdict(status=status or "unparsed", text=completion.text)


class Vote(FrozenRecord):
    """One sampled response, as far as a vote on the answer needs to know."""

    sample_index: int
    answer: str | None
    correct: bool | None


class SelfCheck(FrozenRecord):
    """A generator's answers to a query, to be checked by a critic before they vote."""

    query: str
    task: str
    generator: str
    certainty: float | None
    votes: tuple[Vote, ...]


class CritiqueInput(FrozenRecord):
    """A row of a run's inputs: a critic with a triplet, or with answers to check."""

    critic: str
    triplet: Triplet | None = None
    check: SelfCheck | None = None


class _CritiqueRequest(NamedTuple):
    """A row, its critic, the problem's kind, and responses: one several times, or several once."""

    judged: CritiqueInput
    model: Model
    kind: str
    question: str
    responses: Sequence[str]


class Critiqued(FrozenRecord):
    """A row with what came of it."""

    judged: CritiqueInput
    verdicts: tuple[Verdict, ...]


_VERDICTS = TypeAdapter(tuple[Verdict, ...])


@dataclass(frozen=True, slots=True)
class Examination:
    """Critics, a benchmark, and how they are examined.

    Attributes:
        benchmark: a file of triplets, or the directory of a build.
        critics: who judges.
        repeats: Critiques of each response by each critic.
        sampling: temperature and so on.
        checks: Self-consistency with self-check: each critic checks its own answers (own) or those
            of all generators (all) where these were unsure. The benchmark is then a build's
            directory.
        thresholds: Check where certainty is below this; several are compared. Default: 1 and 2.
    """

    benchmark: str | os.PathLike[str]
    critics: Sequence[Model]
    repeats: int = 8
    sampling: Sampling = SAMPLING
    checks: Literal["own", "all"] | None = None
    thresholds: Sequence[float] = (1.0, 2.0)


CriticsResult = tuple[list[Critiqued], dict[str, Any], Progress]


class CriticsJob(Job[_CritiqueRequest, CriticsResult]):
    """Have critics judge a benchmark: for each critic the triplets, then the answers it checks.

    What comes of it: what was judged; how it came about, the rows that failed and the cost among
    it; the progress.
    """

    assumptions = f"{EXPLAINED_TOKENS} a critique; reasoning comes on top"
    stem = "criticbench-run"

    def __init__(self, examination: Examination) -> None:
        """Read the benchmark."""
        _refuse(examination)
        path = Path(examination.benchmark)
        self._sampling = examination.sampling
        self._rows = list(_rows(examination, path))
        self._config = _config(examination, path)
        self.total = len(self._rows)
        self.calls_per_row = examination.repeats

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the critiques depend on."""
        return self._config

    def rows(self) -> Iterator[Item[_CritiqueRequest]]:
        """Give the rows, critic by critic."""
        return (Item(number, key, row) for number, (key, row) in enumerate(self._rows, 1))

    def encode(self, row: _CritiqueRequest) -> str:
        """Write the row."""
        return row.judged.model_dump_json(exclude_defaults=True)

    async def work(self, row: _CritiqueRequest) -> str:
        """Obtain all critiques of one row; their verdicts."""
        return _VERDICTS.dump_json(await _judge(row, self._sampling)).decode()

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether some critique of a row failed."""
        return entry.failure is not None or (
            entry.output is not None
            and any(verdict.status == "failed" for verdict in _VERDICTS.validate_json(entry.output))
        )

    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> CriticsResult:
        """Read what the critics said."""
        critiques, about = _read(store, self._config, prices)
        return critiques, about, progress


def critiqued(
    run: Path, prices: Mapping[str, Price] | None = None
) -> tuple[list[Critiqued], dict[str, Any]]:
    """Read what a run's critics said, and how that came about."""
    with SavedRun.open(run, commands=("bench criticbench run",), finished=False) as saved:
        return _read(saved, saved.config, prices)


def _read(
    run: Store | SavedRun, config: Mapping[str, Any], prices: Mapping[str, Price] | None
) -> tuple[list[Critiqued], dict[str, Any]]:
    critiques, failed, waiting = [], [], 0
    for row in run.rows(_row):
        if isinstance(row, Critiqued):
            critiques.append(row)
        elif row.failure is not None:
            failed.append({"id": row.id, "problem": row.failure})
        else:
            waiting += 1
    about = {
        "heedful": __version__,
        "run": None if run.directory is None else str(run.directory),
        **{key: config[key] for key in ("benchmark", "critics", "repeats", "sampling", "checks")},
        "thresholds": config["thresholds"],
        "rows": {"completed": len(critiques), "failed": len(failed), "waiting": waiting},
        "problems": failed,
        "cost": CostSummary(run.usage_records(), prices).result(),
    }
    return critiques, about


def _row(entry: Entry) -> Critiqued | Entry:
    """Read what a critic said of a row; a row without an output as it is."""
    if entry.output is None or entry.input is None:
        return entry
    judged = CritiqueInput.model_validate_json(entry.input)
    return Critiqued(judged=judged, verdicts=_VERDICTS.validate_json(entry.output))


def _rows(examination: Examination, path: Path) -> Iterator[tuple[str, _CritiqueRequest]]:
    """Lay out the rows, each with its key."""
    triplets = read_triplets(path)
    samples = read_samples(path) if examination.checks else []
    highest = max(examination.thresholds, default=0.0)
    for model in examination.critics:
        for triplet in triplets:
            judged = CritiqueInput(critic=model.name, triplet=triplet)
            kind = triplet.problem.kind if triplet.problem else "any"
            texts = [triplet.response] * examination.repeats
            key = f"{model.name} on {triplet.id}"
            yield key, _CritiqueRequest(judged, model, kind, triplet.question, texts)
        for answers in _checked(samples, model.name, examination.checks):
            judged = CritiqueInput(critic=model.name, check=_check(answers))
            unsure = answers.certainty is not None and answers.certainty < highest
            texts = [response.text for response in answers.responses] if unsure else []
            key = f"{model.name} checks {answers.query}@{answers.generator}"
            problem = answers.problem
            yield key, _CritiqueRequest(judged, model, problem.kind, problem.question, texts)


def _refuse(examination: Examination) -> None:
    """Refuse an examination that makes no sense."""
    refuse_models(examination.critics, "critic")
    if examination.repeats < 1:
        raise UsageError(f"repeats is {examination.repeats}", hint="give at least 1")
    if examination.repeats > 1 and examination.sampling.temperature == 0:
        raise UsageError(
            f"{examination.repeats} repetitions at temperature 0 would be one and the same",
            hint="give a temperature above 0, or --repeats 1",
        )


def _checked(
    samples: Sequence[Samples], critic: str, checks: Literal["own", "all"] | None
) -> list[Samples]:
    """Choose the answers that a critic checks; programs have no final answer to vote on."""
    answered = [row for row in samples if row.problem.kind != "code"]
    if checks != "own":
        return answered
    own = [row for row in answered if row.generator == critic]
    if not own:
        generators = ", ".join(dict.fromkeys(row.generator for row in answered))
        raise UsageError(
            f"the critic {critic!r} has no answers of its own to check; there are those of "
            f"{generators or 'nobody'}",
            hint="--check all has it check theirs",
        )
    return own


def _check(samples: Samples) -> SelfCheck:
    votes = (
        Vote(sample_index=response.sample_index, answer=response.answer, correct=response.correct)
        for response in samples.responses
    )
    return SelfCheck(
        query=samples.query,
        task=samples.task,
        generator=samples.generator,
        certainty=samples.certainty,
        votes=tuple(votes),
    )


async def _judge(request: _CritiqueRequest, sampling: Sampling) -> tuple[Verdict, ...]:
    """Ask for all critiques of one row."""
    repeated = request.judged.check is None
    verdicts = await together(
        critique(
            request.model,
            render(request.question, text, request.kind),
            sampling=sampling,
            repeat=place if repeated else 0,
            caller="critique" if repeated else "self-check",
        )
        for place, text in enumerate(request.responses)
    )
    return tuple(verdicts)


def _config(examination: Examination, path: Path) -> dict[str, Any]:
    folder = path if path.is_dir() else path.parent
    return {
        "command": "criticbench run",
        "prompt": version_of_prompt(),
        "benchmark": fingerprint(path / TRIPLETS if path.is_dir() else path),
        "samples": fingerprint(folder / SAMPLES) if examination.checks else None,
        "critics": [model.name for model in examination.critics],
        "models": [dict(model.config) for model in examination.critics],
        "repeats": examination.repeats,
        "sampling": examination.sampling.model_dump(mode="json", exclude_defaults=True),
        "checks": examination.checks,
        "thresholds": [float(level) for level in examination.thresholds if examination.checks],
    }


Key = TypeVar("Key", str, int | None)

BANDS = 5
"""Bands of certainty, with as many responses each as ties allow."""


class _VerdictRow(NamedTuple):
    """A triplet, and whether each critique of it is right; ``None`` where not decided."""

    triplet: Triplet
    right: list[bool | None]
    verdicts: Sequence[Verdict]


def accuracies(critiques: Iterable[Critiqued], scoring: Scoring) -> dict[str, Any]:
    """Compute how often critics' judgments are right."""
    critics: dict[str, list[_VerdictRow]] = {}
    for critique in critiques:
        triplet = critique.judged.triplet
        if triplet is not None:
            right = [_right(verdict, triplet, scoring) for verdict in critique.verdicts]
            critics.setdefault(critique.judged.critic, []).append(
                _VerdictRow(triplet, right, critique.verdicts)
            )
    edges = _edges([row.triplet for rows in critics.values() for row in rows])
    return {critic: _critic(rows, edges) for critic, rows in critics.items()}


def _right(verdict: Verdict, triplet: Triplet, scoring: Scoring) -> bool | None:
    if verdict.status == "unparsed" and scoring == "faithful":
        return triplet.correct
    if verdict.status in ("unparsed", "failed"):
        return None
    return (verdict.status == "correct") == triplet.correct


def _critic(rows: Sequence[_VerdictRow], edges: Sequence[float]) -> dict[str, Any]:
    def rate(chosen: Iterable[_VerdictRow]) -> dict[str, Any]:
        return dict(measure(_shares(chosen)))

    statuses = Counter(verdict.status for row in rows for verdict in row.verdicts)
    runs = [_mean(side) for side in zip(*(row.right for row in rows), strict=True)]
    decided = [run for run in runs if run is not None]
    tasks = _grouped(rows, lambda triplet: triplet.task)
    generators = _grouped(rows, lambda triplet: triplet.generator)
    bands = _grouped(rows, lambda triplet: _band(triplet, edges))
    return {
        "triplets": len(rows),
        "accuracy": rate(rows),
        "runs": runs,
        "mean": math.fsum(decided) / len(decided) if decided else None,
        "spread": statistics.stdev(decided) if len(decided) > 1 else None,
        "on_correct": rate(row for row in rows if row.triplet.correct),
        "on_wrong": rate(row for row in rows if not row.triplet.correct),
        "by_task": {task: rate(own) for task, own in tasks.items()},
        "by_generator": {g: rate(own) for g, own in generators.items()},
        "by_certainty": [
            {"low": low, "high": high, **rate(bands.get(place, ()))}
            for place, (low, high) in enumerate(pairwise(edges))
        ],
        "unparsed": statuses["unparsed"],
        "failed": statuses["failed"],
    }


def _grouped(
    rows: Iterable[_VerdictRow], key: Callable[[Triplet], Key]
) -> dict[Key, list[_VerdictRow]]:
    groups: dict[Key, list[_VerdictRow]] = {}
    for row in rows:
        groups.setdefault(key(row.triplet), []).append(row)
    return groups


def _shares(rows: Iterable[_VerdictRow]) -> Counter[Share]:
    """Count what queries contribute: responses to one query go together, being judged alike."""
    queries: dict[str, list[bool | None]] = {}
    for row in rows:
        queries.setdefault(row.triplet.query or row.triplet.id, []).extend(row.right)
    return Counter(map(Share.of, queries.values()))


def _mean(values: Iterable[bool | None]) -> float | None:
    decided = [value for value in values if value is not None]
    return sum(decided) / len(decided) if decided else None


def _edges(triplets: Sequence[Triplet]) -> list[float]:
    """Choose bounds of bands that hold as many triplets each as ties allow."""
    known = {triplet.id: triplet.certainty for triplet in triplets}
    values = sorted(value for value in known.values() if value is not None)
    if not values:
        return []
    last = len(values) - 1
    edges = sorted({values[round(last * place / BANDS)] for place in range(BANDS + 1)})
    return edges if len(edges) > 1 else edges * 2


def _band(triplet: Triplet, edges: Sequence[float]) -> int | None:
    """Find a triplet's band; the lower bound belongs to it, and the highest to the last."""
    if triplet.certainty is None:
        return None
    if edges[0] == edges[-1]:
        return 0
    return min(bisect_right(edges, triplet.certainty) - 1, len(edges) - 2)


def vote(votes: Iterable[Vote]) -> Vote | None:
    """Return the first vote for the most frequent answer; of equals, the answer sampled first."""
    first: dict[str, Vote] = {}
    counts: Counter[str] = Counter()
    for vote_cast in votes:
        if vote_cast.answer is not None:
            first.setdefault(vote_cast.answer, vote_cast)
            counts[vote_cast.answer] += 1
    return first[counts.most_common(1)[0][0]] if counts else None


class _Outcome(NamedTuple):
    """Result of one query: right or wrong without checking and with it, and its critiques."""

    plain: bool | None
    checked: bool | None
    critiques: int


def self_consistency(
    critiques: Iterable[Critiqued], thresholds: Sequence[float]
) -> list[dict[str, Any]]:
    """Compare self-consistency with SC²: self-consistency with self-check.

    Self-consistency is the majority vote over a generator's answers. SC² has a critic check the
    answers where the generator's certainty is below a threshold, and leaves those out of the vote
    that it judges incorrect; where none is left, all vote. A critique without a judgment leaves
    its answer in.
    """
    groups: dict[tuple[str, str, str], list[tuple[SelfCheck, Sequence[Verdict]]]] = {}
    for critique in critiques:
        check = critique.judged.check
        if check is not None:
            key = critique.judged.critic, check.generator, check.task
            groups.setdefault(key, []).append((check, critique.verdicts))
    return [
        {
            **dict(zip(("critic", "generator", "task"), key, strict=True)),
            "threshold": threshold,
            **_compared([_outcome(check, verdicts, threshold) for check, verdicts in rows]),
        }
        for key, rows in groups.items()
        for threshold in thresholds
    ]


def _outcome(check: SelfCheck, verdicts: Sequence[Verdict], threshold: float) -> _Outcome:
    winner = vote(check.votes)
    plain = winner.correct if winner else None
    if check.certainty is None or check.certainty >= threshold or not verdicts:
        return _Outcome(plain, plain, 0)
    remaining = [
        cast
        for cast, verdict in zip(check.votes, verdicts, strict=True)
        if verdict.status != "incorrect"
    ]
    winner = vote(remaining) or winner
    return _Outcome(plain, winner.correct if winner else None, len(verdicts))


def _compared(outcomes: Sequence[_Outcome]) -> dict[str, Any]:
    decided = [o for o in outcomes if o.plain is not None and o.checked is not None]
    unknown: list[bool | None] = [None] * (len(outcomes) - len(decided))
    sides = {
        "plain": [o.plain for o in decided] + unknown,
        "checking": [o.checked for o in decided] + unknown,
    }
    fixed = sum(not o.plain and bool(o.checked) for o in decided)
    broken = sum(bool(o.plain) and not o.checked for o in decided)
    wrong = sum(not o.plain for o in decided)
    sums = Counter((float(bool(o.checked)), 1.0, float(bool(o.plain)), 1.0) for o in decided)
    change = contrast({"": sums}, seed=0)  # of single queries: McNemar's exact test, without chance
    rates: Mapping[str, Any] = {
        side: measure(Counter(Share.of([value]) for value in values))
        for side, values in sides.items()
    }
    return {
        "queries": len(outcomes),
        "undecided": len(unknown),
        "checked": sum(o.critiques > 0 for o in outcomes),
        "critiques": sum(o.critiques for o in outcomes),
        **rates,
        "fixed": fixed,
        "broken": broken,
        "difference": change["difference"]["value"],
        "interval": change["difference"]["interval"],
        "p": change["p"],
        "error_reduction": (fixed - broken) / wrong if wrong else None,
    }
