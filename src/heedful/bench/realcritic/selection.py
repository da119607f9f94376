"""Choosing solutions to criticise from what a pool of models has answered, by the paper's rules.

Over-long solutions are dropped, and questions that all models answer correctly. Of the wrong
solutions to a question the strongest model's is taken, for its errors are the hardest to find; of
the correct ones the weakest model's, for it is the most likely to have loose steps. Each question
is used once, and each set has as many correct solutions as wrong ones.

The paper does not say what makes a model strong; here it is its accuracy on the questions of the
pool. It does not say either which questions give a correct solution and which a wrong one; here a
seeded draw among those that could give both.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.bench.realcritic.critic import GradedAnswer

COUNTS = (
    *("sampled", "too_easy", "unusable", "only_correct", "only_wrong", "both"),
    *("chosen_correct", "chosen_wrong"),
    *("over_long", "failed", "undecided"),
)
"""Counts: questions by the solutions they could give, questions chosen, unusable solutions."""


@dataclass(frozen=True, slots=True)
class CandidateSolution:
    """One model's solution of a question.

    Attributes:
        model: who wrote it.
        answer: the solution with its grade.
    """

    model: str
    answer: GradedAnswer

    @property
    def usable(self) -> bool:
        """Whether it is whole, and known to be correct or wrong."""
        return not self.answer.cut_off and self.answer.grade.correct is not None


@dataclass(frozen=True, slots=True)
class SolutionChoice:
    """The solutions chosen from one set, and why the others were not.

    Attributes:
        chosen: a candidate for each question that is used, in the order of the questions.
        counts: by the names in :data:`COUNTS`.
    """

    chosen: Mapping[str, CandidateSolution]
    counts: Mapping[str, int]


def ranking(
    candidates: Iterable[CandidateSolution], models: Sequence[str]
) -> dict[str, float | None]:
    """Rank models by their accuracy on what could be graded, the strongest first."""
    correct: Counter[str] = Counter()
    graded: Counter[str] = Counter()
    for candidate in candidates:
        grade = candidate.answer.grade.correct
        if candidate.answer.cut_off:
            grade = False
        if grade is not None:
            graded[candidate.model] += 1
            correct[candidate.model] += grade
    accuracies = {name: correct[name] / graded[name] if graded[name] else None for name in models}
    return dict(
        sorted(
            accuracies.items(), key=lambda pair: -1.0 if pair[1] is None else pair[1], reverse=True
        )
    )


def choose(
    questions: Mapping[str, Sequence[CandidateSolution]], ranked: Sequence[str], seed: str
) -> SolutionChoice:
    """Choose a solution for as many questions of a set as can be balanced."""
    counts = Counter(dict.fromkeys(COUNTS, 0) | {"sampled": len(questions)})
    groups: dict[str, list[str]] = {"only_correct": [], "only_wrong": [], "both": []}
    for key, candidates in questions.items():
        counts["over_long"] += sum(candidate.answer.cut_off for candidate in candidates)
        counts["failed"] += sum(candidate.answer.failed for candidate in candidates)
        counts["undecided"] += sum(
            not candidate.usable and not candidate.answer.cut_off and not candidate.answer.failed
            for candidate in candidates
        )
        group = _group(candidates)
        if group in groups:
            groups[group].append(key)
        else:
            counts[group] += 1
    counts.update({name: len(keys) for name, keys in groups.items()})
    right, wrong = _balanced(groups, random.Random(seed))
    chosen = {}
    for key, candidates in questions.items():
        if key in right:
            chosen[key] = _first(candidates, tuple(reversed(ranked)), correct=True)
        elif key in wrong:
            chosen[key] = _first(candidates, ranked, correct=False)
    counts.update(chosen_correct=len(right), chosen_wrong=len(wrong))
    return SolutionChoice(chosen, dict(counts))


def _group(candidates: Sequence[CandidateSolution]) -> str:
    grades = {candidate.answer.grade.correct for candidate in candidates if candidate.usable}
    if all(candidate.usable for candidate in candidates) and grades == {True}:
        return "too_easy"
    if not grades:
        return "unusable"
    return "both" if len(grades) > 1 else "only_correct" if True in grades else "only_wrong"


def _balanced(
    groups: Mapping[str, Sequence[str]], rng: random.Random
) -> tuple[frozenset[str], frozenset[str]]:
    """Divide questions evenly between correct and wrong solutions."""
    right, wrong, both = (list(groups[name]) for name in ("only_correct", "only_wrong", "both"))
    for keys in (right, wrong, both):
        rng.shuffle(keys)
    total = len(right) + len(wrong) + len(both)
    half = min(len(right) + len(both), len(wrong) + len(both), total // 2)
    right, wrong = right[:half], wrong[:half]
    for kind in (right, wrong):
        kind += [both.pop() for _ in range(half - len(kind))]
    return frozenset(right), frozenset(wrong)


def _first(
    candidates: Sequence[CandidateSolution], ranked: Sequence[str], *, correct: bool
) -> CandidateSolution:
    """Return the candidate of the first model in the ranking that is of the kind wanted."""
    fit = [
        candidate
        for candidate in candidates
        if candidate.usable and candidate.answer.grade.correct is correct
    ]
    return min(fit, key=lambda candidate: ranked.index(candidate.model))
