"""Aggregates: one number from the verdicts on a checklist.

An aggregate is a function of the constraints and of verdicts that are all decided. What to do about
verdicts that are not is settled once for all aggregates, in :mod:`heedful.rewards.terms`; it asks
of them only that no reward falls when an unmet constraint is met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Status

Aggregate: TypeAlias = Callable[[Sequence[Constraint], Sequence[bool]], float]
"""Constraints, at least one, and whether each is met, to a reward. Of a criterion with levels it is
the share that its level is worth; one with a negative weight is met where its mistake is absent. An
aggregate must not fall as more is met, and raises :class:`~heedful.core.errors.RowError` where the
constraints lack what it needs.
"""


def fraction(constraints: Sequence[Constraint], met: Sequence[bool]) -> float:
    """Compute the share of constraints met: IF-Critic's reward (arXiv 2511.01014)."""
    return sum(met) / len(constraints)


def all_or_nothing(_: Sequence[Constraint], met: Sequence[bool]) -> float:
    """Give 1 where all constraints are met, else 0: RIFL's reward (arXiv 2511.10507)."""
    return float(all(is_met == 1 for is_met in met))


def hybrid(constraints: Sequence[Constraint], met: Sequence[bool]) -> float:
    """Compute the mean of :func:`fraction` and :func:`all_or_nothing`.

    RIFL (arXiv 2511.10507) tries a mixture of the two, whose weights we don't know: halves are
    ours. A response is worth more with each constraint met, and most for the last one.
    """
    return (fraction(constraints, met) + all_or_nothing(constraints, met)) / 2


def psr(constraints: Sequence[Constraint], met: Sequence[bool]) -> float:
    """Give 1 where CFBench's requirement by priority passes, else 0 (arXiv 2408.01122).

    Any primary constraint unmet fails; see :mod:`heedful.metrics.families.cfbench`.
    """
    from heedful.metrics import scores

    verdicts = tuple(Judgment(status=Status.MET if is_met == 1 else Status.UNMET) for is_met in met)
    plain = tuple(Constraint(text="", priority=each.priority) for each in constraints)
    sample = Sample(id="", checklist=plain)
    passed = scores(sample, Critique(judgments=verdicts), "strict").get("psr")
    if passed is None:
        raise RowError("no constraint has a priority; the aggregate psr needs primary or secondary")
    return passed


def weighted(constraints: Sequence[Constraint], met: Sequence[bool]) -> float:
    """Compute the share of points earned, mistakes subtracted, within 0 and 1.

    A constraint's ``weight`` is 1 by default. It is ``rubric.score`` of
    :mod:`heedful.metrics.rubrics`: 0 where a gate isn't met, and with negative weights alone the
    share of them that is kept.
    """
    pairs = [
        (1.0 if each.weight is None else each.weight, float(share))
        for each, share in zip(constraints, met, strict=True)
    ]
    total = math.fsum(weight for weight, _ in pairs if weight > 0)
    lost = math.fsum(weight * (1 - share) for weight, share in pairs if weight < 0)
    if any(each.gate and share < 1 for each, share in zip(constraints, met, strict=True)):
        return 0.0
    if total:
        earned = math.fsum(weight * share for weight, share in pairs if weight > 0)
        return min(1.0, max(0.0, (earned + lost) / total))
    least = math.fsum(weight for weight, _ in pairs)
    if not least:
        raise RowError("all weights of the checklist are 0; give one that is more")
    return 1 - lost / least


def gate(constraints: Sequence[Constraint], met: Sequence[bool]) -> float:
    """Give the share met of what a critic judges, but 0 where code found anything unmet.

    Hard are the constraints that have a check. A checklist with only hard constraints is worth 1
    or 0, one without any the share met. The product of the two is ours, not a paper's.
    """
    verdicts = list(zip(constraints, met, strict=True))
    if not all(is_met == 1 for constraint, is_met in verdicts if constraint.check is not None):
        return 0.0
    soft = [is_met for constraint, is_met in verdicts if constraint.check is None]
    return sum(soft) / len(soft) if soft else 1.0


AGGREGATES: Mapping[str, Aggregate] = {
    "fraction": fraction,
    "all_or_nothing": all_or_nothing,
    "hybrid": hybrid,
    "psr": psr,
    "weighted": weighted,
    "gate": gate,
}
"""The aggregates by name."""


def named(aggregate: str | Aggregate) -> Aggregate:
    """Look up an aggregate by its name; one that is a function is returned as it is."""
    if callable(aggregate):
        return aggregate
    if not isinstance(aggregate, str) or aggregate not in AGGREGATES:
        raise UsageError(
            f"no such aggregate: {aggregate!r}", hint=f"one of {', '.join(AGGREGATES)}"
        )
    return AGGREGATES[aggregate]
