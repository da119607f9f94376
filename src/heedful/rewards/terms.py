"""The terms of a reward: from a critique to a number, or to none.

An undecided verdict is never taken as met, unmet or one half. The aggregate is computed twice, with
the undecided verdicts unmet and with them met. If both give the same value, the reward is decided;
otherwise there is none. A response that a gate stops is worth 0 whatever a judge says of it. So an
aggregate is a function of verdicts that are all decided, and must not fall as more is met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from heedful.core import rubric
from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Status
from heedful.rewards.gates import GATES, Violation, violation
from heedful.rewards.gates import enabled as enabled_gates

if TYPE_CHECKING:
    from collections.abc import Collection


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
    from heedful.metrics.rubrics import Points, clipped

    if any(each.gate and share < 1 for each, share in zip(constraints, met, strict=True)):
        return 0.0
    weights = [1.0 if each.weight is None else each.weight for each in constraints]
    earned = zip(weights, met, strict=True)
    points = Points(
        math.fsum(weight * (share if weight > 0 else 1 - share) for weight, share in earned),
        math.fsum(weight for weight in weights if weight > 0),
        math.fsum(weight for weight in weights if weight < 0),
    )
    score = clipped(points)
    if score is None:
        raise RowError("all weights of the checklist are 0; give one that is more")
    return score


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


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """Lowers the reward of long responses.

    By nothing up to ``free``, by ``most`` from ``full`` on, and in proportion between: the soft
    overlong punishment of DAPO (arXiv 2503.14476, equation 13), there in tokens.
    """

    free: int
    full: int
    most: float = 1.0
    length: Callable[[str], int] = len  # in characters, as no tokenizer is at hand

    def __post_init__(self) -> None:
        """Refuse bounds that make no sense."""
        if not 0 <= self.free < self.full < math.inf or not 0 <= self.most < math.inf:
            raise UsageError(
                f"a length penalty of {self.most} from {self.free} to {self.full} makes no sense",
                hint="the penalty is 0 or more, and grows from a length to a longer one",
            )

    def __call__(self, response: str) -> float:
        """Compute what is taken: 0 to ``most``."""
        share = (self.length(response) - self.free) / (self.full - self.free)
        return self.most * min(1.0, max(0.0, share))


@dataclass(frozen=True, slots=True)
class Rewarded:
    """A response's reward, and what it rests on."""

    value: float | None  # the stated fallback where it is not decided, None without one
    decided: bool  # whether the value rests on verdicts, and isn't the fallback
    # the reward if all undecided verdicts were unmet, and if all were met; None where nothing
    # could be computed
    bounds: tuple[float, float] | None
    critique: Critique
    guards: tuple[Judgment, ...] = ()  # judgments on the criteria against reward hacking
    skipped: int = 0  # constraints that were not judged, as the reward was decided without them
    problem: str | None = None  # why nothing could be computed
    gate: Violation | None = None  # the gate that stopped the response, so that the reward is 0
    seconds: float = 0.0  # from the beginning of its judging to the end

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The verdicts' statuses, in the order of the checklist."""
        return tuple(judgment.status for judgment in self.critique.judgments)

    @property
    def coverage(self) -> float | None:
        """Share of the requested verdicts that were decided; ``None`` without any."""
        requested = len(self.critique.judgments) - self.skipped
        requested -= self.statuses.count(Status.NOT_APPLICABLE)
        return sum(status.decided for status in self.statuses) / requested if requested else None

    def measures(self) -> dict[str, float]:
        """Return what trainers log of each response, under the same names for all.

        ``undecided`` and ``gated`` are 1 or 0, and so is ``gated_NAME`` for each gate; ``coverage``
        is 1 of what a gate stopped, 0 where no verdict was requested; ``calls``, ``tokens`` and
        ``seconds`` are of its judging, without answers from the cache.
        """
        stopped = None if self.gate is None else self.gate.gate
        expenses = self.critique.expenses
        return {
            "undecided": float(not self.decided),
            "gated": float(stopped is not None),
            **{f"gated_{name}": float(name == stopped) for name in GATES},
            "coverage": 1.0 if stopped else self.coverage or 0.0,
            "calls": float(sum(each.calls for each in expenses)),
            "tokens": float(sum(each.prompt_tokens + each.completion_tokens for each in expenses)),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Terms:
    """How critiques become rewards; :func:`terms` makes it from names."""

    aggregate: Aggregate = fraction
    length: LengthPenalty | None = None
    undecided: float | None = None  # replaces a reward that is not decided; None leaves it open
    gates: frozenset[str] = field(default_factory=lambda: frozenset(GATES))

    def gate(self, sample: Sample) -> Violation | None:
        """Return the gate that stops a response, if one does."""
        return violation(sample, self.gates)

    def reward(
        self,
        sample: Sample,
        critique: Critique,
        guards: Sequence[Judgment] = (),
        *,
        skipped: int = 0,
        gate: Violation | None = None,
    ) -> Rewarded:
        """Compute the reward of a judged response."""
        try:
            bounds = self._bounds(sample, critique, guards, gate)
        except RowError as error:
            return Rewarded(
                value=self.undecided,
                decided=False,
                bounds=None,
                critique=critique,
                problem=error.what,
            )
        decided = bounds[0] == bounds[1]
        value = bounds[0] if decided else self.undecided
        return Rewarded(value, decided, bounds, critique, tuple(guards), skipped, gate=gate)

    def judged(self, sample: Sample, critique: Critique) -> Rewarded:
        """Compute the reward of a response that was judged elsewhere."""
        return self.reward(sample, critique, gate=self.gate(sample))

    def _bounds(
        self,
        sample: Sample,
        critique: Critique,
        guards: Sequence[Judgment],
        gate: Violation | None,
    ) -> tuple[float, float]:
        """Compute the reward with all undecided verdicts unmet, and with all of them met."""
        problem = (sample.model_extra or {}).get("problem")
        if problem is not None:
            raise RowError(str(problem))
        if sample.response is None:
            raise RowError("the row has no response")
        if not sample.checklist:
            raise RowError("the checklist is empty, so there is nothing to reward")
        if len(critique.judgments) != len(sample.checklist):
            raise RowError("the critique is of another checklist")
        senseless = rubric.problem(sample.checklist)
        if senseless is not None:
            raise RowError(senseless)
        applicable = [
            (constraint, judgment)
            for constraint, judgment in zip(sample.checklist, critique.judgments, strict=True)
            if judgment.status is not Status.NOT_APPLICABLE
        ]
        if not applicable:
            raise RowError("no constraint applies, so there is nothing to reward")
        checklist = [constraint for constraint, _ in applicable]
        taken = 0.0 if self.length is None else self.length(sample.response)
        # A violated guard takes the whole reward: with all_or_nothing that is RIFL's rule, with
        # other aggregates our choice.
        if gate is not None or any(guard.status is Status.UNMET for guard in guards):
            worst = self._floor(checklist) - taken
            return worst, worst
        shares = [_share(*each) for each in applicable]
        if None not in shares and all(guard.status.decided for guard in guards):
            value = self.aggregate(checklist, cast("list[bool]", shares)) - taken
            return value, value
        lowest, highest = (
            # Shares only where a criterion has levels: an aggregate may count on booleans.
            self.aggregate(
                checklist, cast("list[bool]", [met if each is None else each for each in shares])
            )
            for met in (False, True)
        )
        if not all(guard.status.decided for guard in guards):
            lowest = self._floor(checklist)
        return lowest - taken, highest - taken

    def _floor(self, checklist: Sequence[Constraint]) -> float:
        """Return what a stopped response is worth: it must not gain by 0 where others lose."""
        return min(0.0, self.aggregate(checklist, [False] * len(checklist)))


def terms(
    aggregate: str | Aggregate,
    length: LengthPenalty | None = None,
    undecided: float | None = None,
    gates: Collection[str] | str = "all",
) -> Terms:
    """Make the terms of a reward."""
    if undecided is not None and not math.isfinite(undecided):
        raise UsageError(f"the fallback is {undecided}", hint="give a finite number, or none")
    return Terms(named(aggregate), length, undecided, enabled_gates(gates))


def _share(constraint: Constraint, judgment: Judgment) -> float | bool | None:
    """Return what a constraint counts as: met, or the share that its level is worth."""
    if not judgment.status.decided:
        return None
    if constraint.scale is None and not constraint.is_penalty:
        return judgment.status is Status.MET
    share = rubric.value(constraint, judgment)
    if share is None:
        return None
    share = 1 - share if constraint.is_penalty else share
    return bool(share) if share in (0, 1) else share
