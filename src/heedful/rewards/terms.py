"""The terms of a reward: from a critique to a number, or to none.

A verdict that was not decided is never taken as met, unmet or one half. The aggregate is computed
twice, with the undecided verdicts unmet and with them met; where both come out the same the reward
is decided all the same, and otherwise there is none. An empty response is worth 0 whatever a judge
says of it, unless it is asked for otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable  # noqa: TC003 - part of a public field's type
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Critique, Judgment, Status
from heedful.rewards import guards as guarding
from heedful.rewards.aggregates import fraction, named
from heedful.rewards.guards import Guards
from heedful.rewards.visible import shows_nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Sample
    from heedful.rewards.aggregates import Aggregate

__all__ = ["LengthPenalty", "Terms", "terms"]


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """Takes from a reward what a response is too long.

    Nothing up to ``free``, ``most`` from ``full`` on, and in proportion between: the soft overlong
    punishment of DAPO (arXiv 2503.14476, equation 13), there in tokens.

    Attributes:
        free: the length up to which nothing is taken.
        full: the length from which ``most`` is taken.
        most: what is taken at the most.
        length: measures a response; characters unless given, as no tokenizer is at hand.
    """

    free: int
    full: int
    most: float = 1.0
    length: Callable[[str], int] = len

    def __post_init__(self) -> None:
        """Refuse bounds that make no sense.

        Raises:
            UsageError: ``full`` is not above ``free``, or one of the numbers is negative.
        """
        if not 0 <= self.free < self.full or not 0 <= self.most < math.inf:
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
    """A response's reward, and what it rests on.

    Attributes:
        value: the reward; the stated fallback where it is not decided, ``None`` without one.
        decided: whether the value rests on verdicts, and is no fallback.
        bounds: the reward if all undecided verdicts were unmet, and if all were met; ``None``
            where nothing could be computed.
        critique: the judgments on the checklist.
        guards: the judgments on the criteria against reward hacking; none unless asked for.
        skipped: constraints that were not asked for, as the reward was decided without them.
        empty: whether the reward is 0 because the response is empty or shows nothing.
        problem: why nothing could be computed.
    """

    value: float | None
    decided: bool
    bounds: tuple[float, float] | None
    critique: Critique
    guards: tuple[Judgment, ...] = ()
    skipped: int = 0
    problem: str | None = None
    empty: bool = False

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The verdicts' statuses, in the order of the checklist."""
        return tuple(judgment.status for judgment in self.critique.judgments)

    @property
    def coverage(self) -> float | None:
        """Share of the verdicts asked for that were decided; ``None`` where none was."""
        requested = len(self.critique.judgments) - self.skipped
        return sum(status.decided for status in self.statuses) / requested if requested else None


@dataclass(frozen=True, slots=True)
class Terms:
    """How critiques become rewards; :func:`terms` makes it from names.

    Attributes:
        aggregate: how verdicts become a number.
        guards: whether the criteria against reward hacking count. One that is violated takes the
            whole reward, whatever the aggregate: with ``all_or_nothing`` that is RIFL's, with
            others our choice.
        length: what is taken for length.
        undecided: what a reward that is not decided is replaced by; ``None`` leaves it open.
        judge_empty: judge a response that is empty, or shows nothing (see
            :func:`~heedful.rewards.visible.shows_nothing`), as any other; by default it takes the
            whole reward, as a violated guard does.
    """

    aggregate: Aggregate = fraction
    guards: Guards = "off"
    length: LengthPenalty | None = None
    undecided: float | None = None
    judge_empty: bool = False

    def reward(
        self,
        sample: Sample,
        critique: Critique,
        guards: Sequence[Judgment] = (),
        *,
        skipped: int = 0,
    ) -> Rewarded:
        """Compute the reward of a judged response.

        Args:
            sample: the response with its checklist.
            critique: a judgment on each constraint.
            guards: judgments on the guards' criteria.
            skipped: how many constraints were not asked for.
        """
        guards_judged = tuple(guards)
        try:
            bounds = self.bounds(sample, critique, guards_judged)
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
        empty = self._is_empty(sample)
        return Rewarded(value, decided, bounds, critique, guards_judged, skipped, empty=empty)

    def judged(self, sample: Sample, critique: Critique) -> Rewarded:
        """Compute the reward of a response that was judged elsewhere; code alone guards."""
        return self.reward(sample, critique, () if self.guards == "off" else code_guards(sample))

    def bounds(
        self, sample: Sample, critique: Critique, guards: Sequence[Judgment]
    ) -> tuple[float, float]:
        """Compute the reward with all undecided verdicts unmet, and with all of them met.

        Raises:
            RowError: there is no response, no constraint, or not what the aggregate needs.
        """
        problem = (sample.model_extra or {}).get("problem")
        if problem is not None:
            raise RowError(str(problem))
        if sample.response is None:
            raise RowError("the row has no response")
        if not sample.checklist:
            raise RowError("the checklist is empty, so there is nothing to reward")
        if len(critique.judgments) != len(sample.checklist):
            raise RowError("the critique is of another checklist")
        taken = 0.0 if self.length is None else self.length(sample.response)
        low, high = (
            self._value(sample, critique.judgments, guards, otherwise=otherwise) - taken
            for otherwise in (False, True)
        )
        return low, high

    def _value(
        self,
        sample: Sample,
        judgments: Sequence[Judgment],
        guards: Sequence[Judgment],
        *,
        otherwise: bool,
    ) -> float:
        """Compute the reward with every undecided verdict taken as ``otherwise`` says."""
        guarded = all(_met(guard, otherwise=otherwise) for guard in guards)
        if not guarded or self._is_empty(sample):
            return 0.0
        met = [_met(judgment, otherwise=otherwise) for judgment in judgments]
        return self.aggregate(sample.checklist, met)

    def _is_empty(self, sample: Sample) -> bool:
        return not self.judge_empty and shows_nothing(sample.response or "")


def terms(
    aggregate: str | Aggregate,
    guards: Guards,
    length: LengthPenalty | None,
    undecided: float | None,
    *,
    judge_empty: bool = False,
) -> Terms:
    """Make the terms of a reward.

    Args:
        aggregate: a name in :data:`~heedful.rewards.aggregates.AGGREGATES`, or a function.
        guards: ``off``, ``code`` or ``judge``.
        length: what is taken for length.
        undecided: the fallback of a reward that is not decided.
        judge_empty: judge empty responses too, whose reward is otherwise 0.

    Raises:
        UsageError: a name is unknown, or the fallback is no finite number.
    """
    if guards not in get_args(Guards):
        raise UsageError(f"there are no guards {guards!r}", hint="off, code or judge")
    if undecided is not None and not math.isfinite(undecided):
        raise UsageError(f"the fallback is {undecided}", hint="give a finite number, or none")
    return Terms(named(aggregate), guards, length, undecided, judge_empty)


def code_guards(sample: Sample) -> tuple[Judgment, ...]:
    """Judge the guards' criteria by code alone: what code finds nothing against passes."""
    passed = Judgment(status=Status.MET, explanation="code found nothing", judge=guarding.CODE)
    return tuple(found or passed for found in guarding.violations(sample))


def _met(judgment: Judgment, *, otherwise: bool) -> bool:
    return judgment.status is Status.MET if judgment.status.decided else otherwise
