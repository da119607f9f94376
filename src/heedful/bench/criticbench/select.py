"""Selecting for CriticBench: responses, then queries, then as many correct ones as wrong ones.

For each query and generator at most one correct response is taken and one wrong: the convincing
one. Queries that nobody gets wrong are too easy and go; of the others those stay that a ranking
prefers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.criticbench.items import Provenance, SampledResponse, Samples, Triplet

if TYPE_CHECKING:
    from collections.abc import Iterable


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
