"""Criteria that depend on others are judged only where all of those are met."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from heedful.core.nouns import Critique, Judgment, Status
from heedful.core.reasoning import NO_ANSWER, has_no_answer
from heedful.engine.dry_run import is_dry_run
from heedful.judges.base import merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Constraint, Sample, Scoring
    from heedful.judges.base import Judge

DEPENDENCY = "dependency"
"""The judge in judgments that follow from others."""

REASONING = "reasoning"
"""The judge in judgments on responses without an answer."""

_MET = Judgment(status=Status.MET)


async def judge_in_order(
    judge: Judge,
    sample: Sample,
    requested: Sequence[int] | None = None,
    *,
    scoring: Scoring = "strict",
) -> Critique:
    """Judge a checklist, a constraint only after those that it depends on.

    Where one of these is unmet, it is unmet; where one is not applicable, so is it; where one is
    undecided, it is undecided for the same reason. In none of these cases is the judge asked, nor
    where the response is reasoning without an answer: that meets nothing.
    """
    checklist = sample.checklist
    positions = list(range(len(checklist))) if requested is None else list(requested)
    if has_no_answer(sample):
        return Critique(judgments=tuple(_unanswered(checklist[at]) for at in positions))
    if not any(checklist[position].depends_on for position in positions):
        return await judge.judge(sample, requested)
    if scoring == "faithful" and _asks_all(sample):
        return _one_step(await judge.judge(sample, requested), checklist, positions)
    judgments: dict[int, Judgment] = {}
    parts: list[Critique] = []
    for ready in _rounds(checklist, positions):
        followed = {at: _follows(checklist[at].depends_on, judgments) for at in ready}
        judgments |= {at: each for at, each in followed.items() if each is not None}
        open_now = [at for at in ready if followed[at] is None]
        if open_now:
            part = await judge.judge(sample, open_now)
            judgments |= dict(zip(open_now, part.judgments, strict=True))
            parts.append(part)
    return merged(parts, [judgments[at] for at in positions])


def _asks_all(sample: Sample) -> bool:
    from heedful.metrics.family import family_of

    family = family_of(str(sample.tags.get("benchmark") or ""))
    return family is not None and family.asks_all


def _unanswered(constraint: Constraint) -> Judgment:
    """Judge a response without an answer: unmet, at the lowest level where there are levels."""
    levels = () if constraint.scale is None else constraint.scale.answers
    applicable = [level for level in levels if not level.na]
    lowest = min(applicable, key=lambda level: level.value, default=None)
    return Judgment(
        status=Status.UNMET,
        explanation=NO_ANSWER,
        judge=REASONING,
        loose=None if constraint.check is None else Status.UNMET,
        level=None if lowest is None else lowest.label,
    )


def _rounds(checklist: Sequence[Constraint], positions: Sequence[int]) -> Iterator[list[int]]:
    """Divide positions into rounds, so that each follows those it depends on."""
    parents = {at: {n - 1 for n in checklist[at].depends_on} & {*positions} for at in positions}
    order = TopologicalSorter(parents)
    order.prepare()  # rows whose criteria depend on each other in a circle were refused
    while ready := order.get_ready():
        yield sorted(ready)
        order.done(*ready)


def _one_step(
    critique: Critique, checklist: Sequence[Constraint], positions: Sequence[int]
) -> Critique:
    """Set constraints to unmet that depend on one judged unmet."""
    raw = dict(zip(positions, critique.judgments, strict=True))
    judgments = []
    for at in positions:
        unmet = [n for n in checklist[at].depends_on if raw.get(n - 1, _MET).status is Status.UNMET]
        reason = f"it depends on constraint {unmet[0]}, which is unmet" if unmet else ""
        followed = Judgment(status=Status.UNMET, explanation=reason, judge=DEPENDENCY)
        judgments.append(followed if unmet else raw[at])
    return critique.model_copy(update={"judgments": tuple(judgments)})


def _follows(parents: Sequence[int], judgments: Mapping[int, Judgment]) -> Judgment | None:
    """Make the judgment that follows from those on the parents; ``None`` if all are met."""
    said = [(number, judgments[number - 1]) for number in parents if number - 1 in judgments]
    for wanted in (Status.UNMET, Status.NOT_APPLICABLE, None):
        for number, judgment in said:
            status = judgment.status
            if status is Status.FAILED and is_dry_run():
                continue  # no call was made; it may be met, and then this one is asked
            if status is wanted or (wanted is None and not status.settled):
                reason = f"not asked: it depends on constraint {number}, which is {status}"
                return Judgment(status=status, explanation=reason, judge=DEPENDENCY)
    return None
