"""CriticBench's nouns: what generators answered, how certain they were, and the triplets.

The method is of Luo et al. (2023, arXiv 2310.04815). What the paper leaves open is ours, and said
to be so: the formula of certainty, what a reasoning step is, and when two programs are one answer.

Of the responses to a query at most one correct one of each generator is selected and one wrong: the
convincing one. Queries that nobody gets wrong are too easy and go; of the others those stay that a
ranking prefers; and as many correct responses as wrong ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heedful.core.errors import InputError
from heedful.core.problems import Problem  # noqa: TC001 - pydantic reads annotations at run time
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.jobs.saved_run import SavedRun
from heedful.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Samples", "Triplet", "read_samples"]

Row = TypeVar("Row", bound=BaseModel)

TRIPLETS = "triplets.jsonl"
SAMPLES = "samples.jsonl"
"""Files of a build's directory: the benchmark, and all that it was selected from."""

SAMPLING = Sampling(temperature=0.6)
"""How the paper samples answers and critiques."""

N_SAMPLES = {"open": 64, "choice": 64, "code": 100}
"""How many answers to a question the paper samples, by the kind of problem."""

Certainty = Callable[[Sequence[int]], float]
"""From how often each answer was given, the most frequent first and at least one, to a number that
is larger the more certain the generator was."""


def log_ratio(counts: Sequence[int]) -> float:
    """Log of how much more often the first answer was given than the second.

    The paper does not publish its formula; this one is ours, and fits its thresholds of 1 and 2.
    Where all agree, a second answer is taken to have been given once, so that the number is finite
    and no smaller than with one dissenter.

    >>> round(log_ratio([30, 11, 2]), 2), log_ratio([5, 5]), round(log_ratio([64]), 2)
    (1.0, 0.0, 4.16)
    """
    return math.log(counts[0] / (counts[1] if len(counts) > 1 else 1))


def majority_share(counts: Sequence[int]) -> float:
    """Share of the answers that are the most frequent one.

    >>> majority_share([30, 11, 9])
    0.6
    """
    return counts[0] / sum(counts)


CERTAINTIES: dict[str, Certainty] = {"log_ratio": log_ratio, "majority_share": majority_share}
"""The formulas that can be named."""


class FrozenRecord(BaseModel):
    """Immutable; a field that does not exist is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SampledResponse(FrozenRecord):
    """One sampled response, graded."""

    sample_index: int  # from 1
    text: str
    answer: str | None = None  # in the words of the first response with an equal one
    correct: bool | None = None  # None: undecided
    steps: int = 0
    tests_passed: int | None = None
    reason: str = ""


class Answer(NamedTuple):
    """A final answer, how many responses gave it, and whether it is correct."""

    answer: str
    support: int
    correct: bool | None


class Samples(FrozenRecord):
    """All that one generator answered to one query."""

    query: str
    task: str
    generator: str
    problem: Problem
    file: str
    line: int
    responses: tuple[SampledResponse, ...] = ()
    empty: int = 0
    failed: int = 0
    cut_off: int = 0
    problems: tuple[str, ...] = ()
    certainty: float | None = None  # None: no response has a final answer

    def answers(self, counted: Callable[[SampledResponse], bool] = lambda _: True) -> list[Answer]:
        """Count the final answers, the most frequent first; of equals, the one sampled first."""
        votes = [
            response
            for response in self.responses
            if response.answer is not None and counted(response)
        ]
        correct = {response.answer: response.correct for response in votes}
        counts = Counter(response.answer for response in votes if response.answer is not None)
        return [Answer(answer, count, correct[answer]) for answer, count in counts.most_common()]

    def weighed(self, formula: Certainty) -> Samples:
        """Say how certain the generator was."""
        counts = [answer.support for answer in self.answers()]
        return self.model_copy(update={"certainty": formula(counts) if counts else None})

    @property
    def accuracy(self) -> float | None:
        """Share of the decided responses that are correct."""
        decided = [response.correct for response in self.responses if response.correct is not None]
        return sum(decided) / len(decided) if decided else None


class Provenance(BaseModel):
    """How a triplet came to be in the benchmark."""

    model_config = ConfigDict(frozen=True, extra="allow")

    file: str
    line: int
    sample_index: int
    n_samples: int
    support: int  # samples with the same final answer
    answer: str | None = None
    steps: int = 0
    tests_passed: int | None = None
    accuracy: float | None = None
    certainty: float | None = None
    certainty_by: str = ""


class Triplet(BaseModel):
    """A query, a response to it, and whether the response is correct.

    Only the first four are needed of a file that was made elsewhere.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    question: str
    response: str
    correct: bool = Field(strict=True)
    query: str = ""  # intervals resample queries; by default each triplet is its own
    task: str = ""
    generator: str = ""
    problem: Problem | None = None
    provenance: Provenance | None = None

    @property
    def certainty(self) -> float | None:
        """How certain the generator was of the query."""
        return self.provenance.certainty if self.provenance else None


def read_triplets(path: Path) -> list[Triplet]:
    """Read a benchmark: a file of triplets, or the directory of a build."""
    if (path / "run.sqlite").exists():
        SavedRun.open(path, commands=("bench criticbench build",)).close()
    file = path / TRIPLETS if path.is_dir() else path
    triplets: dict[str, Triplet] = {}
    for line, data in _rows(file):
        triplet = _read(Triplet, data, file, line)
        if triplet.id in triplets:
            raise InputError(f"the id {triplet.id!r} is there twice", where=f"{file}:{line}")
        triplets[triplet.id] = triplet
    if not triplets:
        raise InputError("the file holds no triplets", where=str(file), hint="build some first")
    return list(triplets.values())


def read_samples(path: Path) -> list[Samples]:
    """Read what a benchmark was selected from, from the directory of its build."""
    file = (path if path.is_dir() else path.parent) / SAMPLES
    if not file.is_file():
        raise InputError(
            f"{file.name} is not there, whose answers are to be checked",
            where=str(file.parent),
            hint="give the directory of a build, as heedful bench criticbench build --run names it",
        )
    return [_read(Samples, data, file, line) for line, data in _rows(file)]


def _rows(file: Path) -> list[tuple[int, dict[str, Any]]]:
    rows = []
    for record in records(file):
        if record.problem is not None:
            raise InputError(record.problem, where=f"{file}:{record.line}")
        rows.append((record.line, record.data))
    return rows


def _read(kind: type[Row], data: dict[str, Any], file: Path, line: int) -> Row:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise InputError(
            explain(error),
            where=f"{file}:{line}",
            hint="each row has id, question, response and correct (true or false)"
            if kind is Triplet
            else "build the file again",
        ) from None


class Candidates(NamedTuple):
    """Summary of one generator's answers to one query: all that selection uses."""

    query: str
    generator: str
    answered: bool
    right: Triplet | None  # that would be taken
    wrong: Triplet | None
    certainty: float | None
    first_correct: bool | None  # whether the most frequent answer is
    correct: int
    decided: int


Ranking = Callable[[Sequence[Candidates], Mapping[str, float]], float | None]
"""From the certain candidates of a query, at least one, and generators' strengths to a number by
which queries are preferred; ``None`` where there is nothing to say, and the query comes last."""


def separating(candidates: Sequence[Candidates], strength: Mapping[str, float]) -> float | None:
    """How much better the stronger generators do than the weaker: the mean over all pairs.

    A generator does as well as it is certain, with a minus where its most frequent answer is
    wrong. The paper keeps queries that tell strong from weak models, and does not publish how;
    this is ours.
    """
    scores = [
        (strength[each.generator], _certainty(each) if each.first_correct else -_certainty(each))
        for each in candidates
        if each.first_correct is not None
    ]
    gaps = [
        math.copysign(1.0, stronger - weaker) * (score - other)
        for (stronger, score), (weaker, other) in combinations(scores, 2)
        if stronger != weaker
    ]
    return math.fsum(gaps) / len(gaps) if gaps else None


def certain(candidates: Sequence[Candidates], _: Mapping[str, float]) -> float:
    """Mean certainty of the generators."""
    return math.fsum(map(_certainty, candidates)) / len(candidates)


def uncertain(candidates: Sequence[Candidates], strength: Mapping[str, float]) -> float:
    """The contrary of :func:`certain`."""
    return -certain(candidates, strength)


def _certainty(candidates: Candidates) -> float:
    return candidates.certainty or 0.0


RANKINGS: dict[str, Ranking] = {
    "separating": separating,
    "certain": certain,
    "uncertain": uncertain,
}
"""The rankings, by the names that ``--ranking`` takes."""


class Selected(NamedTuple):
    """The benchmark, and what selecting it left on the way."""

    triplets: list[Triplet]
    counts: dict[str, dict[str, int]]


def exemplary(samples: Samples) -> SampledResponse | None:
    """Return the correct response with the most reasoning steps; of equals, the first sampled."""
    return max(
        (response for response in samples.responses if response.correct),
        key=lambda response: response.steps,
        default=None,
    )


def convincing(samples: Samples) -> SampledResponse | None:
    """Return the convincing wrong response, if any is wrong.

    It ends on the most frequent wrong answer of the generator; for programs it passes the most
    unit tests of the wrong ones. Among those, the one with the most reasoning steps is taken.
    """
    wrong = [response for response in samples.responses if response.correct is False]
    if not wrong:
        return None
    if samples.problem.kind == "code":
        return max(wrong, key=lambda response: (response.tests_passed or 0, response.steps))
    frequent = samples.answers(lambda response: response.correct is False)
    if frequent:
        wrong = [response for response in wrong if response.answer == frequent[0].answer]
    return max(wrong, key=lambda response: response.steps)


def select(
    samples: Iterable[Samples],
    *,
    certainty_name: str,
    ranking: str,
    queries: int | None = None,
) -> Selected:
    """Select a benchmark."""
    tasks: dict[str, dict[str, list[Candidates]]] = {}
    for row in samples:
        questions = tasks.setdefault(row.task, {})
        questions.setdefault(row.query, []).append(_candidates(row, certainty_name))
    triplets: list[Triplet] = []
    counts: dict[str, dict[str, int]] = {}
    for task, questions in tasks.items():
        hard = {
            query: candidates
            for query, candidates in questions.items()
            if any(row.wrong for row in candidates)
        }
        sampled = [rows for rows in questions.values() if any(row.answered for row in rows)]
        graded = sum(any(row.decided for row in rows) for rows in sampled)
        chosen = list(hard)
        if queries is not None:
            chosen = _preferred(hard, RANKINGS[ranking], _strengths(questions))[:queries]
        made, alone = _balanced([row for query in chosen for row in hard[query]])
        triplets += made
        counts[task] = {
            "queries": len(questions),
            "unsampled": len(questions) - len(sampled),
            "undecided": len(sampled) - graded,
            "too_easy": graded - len(hard),
            "outranked": len(hard) - len(chosen),
            "selected": len(chosen),
            "unbalanced": alone,
        }
    return Selected(triplets, counts)


def _candidates(samples: Samples, certainty_name: str) -> Candidates:
    right, wrong = exemplary(samples), convincing(samples)
    answers = samples.answers()
    return Candidates(
        query=samples.query,
        generator=samples.generator,
        answered=bool(samples.responses),
        right=_triplet(samples, right, certainty_name) if right else None,
        wrong=_triplet(samples, wrong, certainty_name) if wrong else None,
        certainty=samples.certainty,
        first_correct=answers[0].correct if answers else None,
        correct=sum(response.correct is True for response in samples.responses),
        decided=sum(response.correct is not None for response in samples.responses),
    )


def _strengths(questions: Mapping[str, Sequence[Candidates]]) -> dict[str, float]:
    """Compute each generator's share of correct among its decided responses."""
    correct: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for candidates in questions.values():
        for candidate in candidates:
            correct[candidate.generator] += candidate.correct
            decided[candidate.generator] += candidate.decided
    return {name: correct[name] / count for name, count in decided.items() if count}


def _preferred(
    questions: Mapping[str, Sequence[Candidates]], ranking: Ranking, strength: Mapping[str, float]
) -> list[str]:
    """Order queries by a ranking, the preferred first; of equals, as they came."""
    scores: dict[str, float] = {}
    for query, candidates in questions.items():
        known = [
            candidate
            for candidate in candidates
            if candidate.certainty is not None and candidate.generator in strength
        ]
        score = ranking(known, strength) if known else None
        scores[query] = -math.inf if score is None else score
    return sorted(questions, key=scores.__getitem__, reverse=True)


def _balanced(candidates: Sequence[Candidates]) -> tuple[list[Triplet], int]:
    """Take from each generator as many correct responses as wrong ones."""
    alone = 0
    chosen: set[str] = set()
    for generator in dict.fromkeys(candidate.generator for candidate in candidates):
        own = [candidate for candidate in candidates if candidate.generator == generator]
        both = [candidate for candidate in own if candidate.right and candidate.wrong]
        rest = [candidate for candidate in own if not (candidate.right and candidate.wrong)]
        right = [candidate.right.id for candidate in (*both, *rest) if candidate.right]
        wrong = [candidate.wrong.id for candidate in (*both, *rest) if candidate.wrong]
        size = min(len(right), len(wrong))
        alone += len(right) + len(wrong) - 2 * size
        chosen |= {*right[:size], *wrong[:size]}
    triplets = (
        triplet
        for candidate in candidates
        for triplet in (candidate.right, candidate.wrong)
        if triplet
    )
    return [triplet for triplet in triplets if triplet.id in chosen], alone


def _triplet(samples: Samples, response: SampledResponse, certainty_name: str) -> Triplet:
    support = {answer.answer: answer.support for answer in samples.answers()}
    return Triplet(
        id=f"{samples.query}@{samples.generator}/{'correct' if response.correct else 'wrong'}",
        question=samples.problem.question,
        response=response.text,
        correct=bool(response.correct),
        query=samples.query,
        task=samples.task,
        generator=samples.generator,
        problem=samples.problem,
        provenance=Provenance(
            file=samples.file,
            line=samples.line,
            sample_index=response.sample_index,
            n_samples=len(samples.responses),
            support=support.get(response.answer or "", 1),
            answer=response.answer,
            steps=response.steps,
            tests_passed=response.tests_passed,
            accuracy=samples.accuracy,
            certainty=samples.certainty,
            certainty_by=certainty_name,
        ),
    )
