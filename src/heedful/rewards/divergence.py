"""An alarm for a policy that games its reward: the gap to a second opinion, over the steps.

A reward that is gamed goes on rising while the truth doesn't. So a part of the responses is judged
a second time, by another judge or by code that knows the truth, and the alarm goes off when the gap
between the two has surely grown since the beginning of the training. The rule is ours.
"""

from __future__ import annotations

import math
import random
from statistics import variance
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.core.log import logger
from heedful.metrics.proportions import student

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Sample
    from heedful.rewards.reward import Reward
    from heedful.rewards.terms import Rewarded

COMPARED = 8
"""Responses compared that are a step, where a trainer scores each response by itself."""

LEAST_STEPS = 5
"""Steps that an average needs at least, for the interval of a difference of two of them."""


class Divergence:
    """Compares a reward with a reference on a part of the responses of each step.

    The gap of a step is the mean of reward less reference over the responses that both decided.
    The mean gap of the last ``window`` steps is compared with that of the first: the steps are the
    unit, as the responses of one share their policy and prompts, and the interval is Welch's, at
    95 %. The alarm goes off when its lower end is above ``limit`` in ``patience`` steps in a row,
    and stays on. The judge of the reference should be another than the reward's. With ``stop`` the
    adapter of TRL ends the training at an alarm, and saves it.
    """

    def __init__(
        self,
        reference: Reward,
        *,
        share: float = 0.125,
        limit: float = 0.05,
        window: int = 10,
        patience: int = 3,
        stop: bool = False,
        seed: int = 0,
    ) -> None:
        if window < LEAST_STEPS:
            raise UsageError(f"the window is {window}", hint=f"give at least {LEAST_STEPS}")
        if patience < 1:
            raise UsageError(f"patience is {patience}", hint="give at least 1")
        if not 0 < share <= 1:
            raise UsageError(f"the share is {share}", hint="give more than 0, and 1 at the most")
        if not 0 <= limit < math.inf:
            raise UsageError(f"the limit is {limit}", hint="give 0 or more")
        self.reference = reference
        self.stop = stop
        self.alarm: int | None = None  # its step
        self.gaps: list[tuple[int, float, int]] = []  # step, gap, responses compared
        self._share = share
        self._limit = limit
        self._window = window
        self._patience = patience
        self._seed = seed
        self._passed = 0
        self._chance = random.Random(seed)
        self._pairs: list[tuple[Rewarded, Rewarded]] = []
        self._watched = 0

    def draw(self, size: int, step: int) -> list[int]:
        """Draw the responses of a batch that are judged a second time, by their positions."""
        if not size:
            return []
        rng = random.Random(f"{self._seed} {step}")
        return sorted(rng.sample(range(size), max(1, round(self._share * size))))

    async def watch(self, sample: Sample, reward: Rewarded) -> dict[str, float]:
        """Judge a response again if it is drawn, for a trainer that scores each by itself.

        Returns ``compared``, 1 or 0; ``gap``, 0 where it wasn't; and ``alarm``, 1 from it on. The
        mean gap is the sum of gaps by that of compared.
        """
        if self._chance.random() < self._share:
            (again,) = await self.reference.score([sample])
            self._pairs.append((reward, again))
            if len(self._pairs) == COMPARED:
                self._watched += 1
                self.record(self._watched, *zip(*self._pairs, strict=True))
                self._pairs.clear()
            both = reward.decided and again.decided
            gap = (reward.value or 0.0) - (again.value or 0.0) if both else 0.0
        else:
            both, gap = False, 0.0
        return {"compared": float(both), "gap": gap, "alarm": float(self.alarm is not None)}

    def record(
        self, step: int, rewards: Sequence[Rewarded], references: Sequence[Rewarded]
    ) -> dict[str, float]:
        """Record a step, and see whether the gap has grown.

        The numbers are for the trainer's log: ``compared`` responses; if there are any,
        ``reference``, its mean, and ``gap``; with enough steps ``gap_rise`` and ``gap_rise_low``,
        the lower end of its interval; ``alarm``, 1 from the alarm on.
        """
        pairs = [
            (reward.value, reference.value)
            for reward, reference in zip(rewards, references, strict=True)
            if reward.decided and reference.decided
        ]
        known = [(mine, other) for mine, other in pairs if mine is not None and other is not None]
        logs = {"compared": float(len(known))}
        if known:
            gap = math.fsum(mine - other for mine, other in known) / len(known)
            logs |= {"reference": math.fsum(other for _, other in known) / len(known), "gap": gap}
            self.gaps.append((step, gap, len(known)))
            logs |= self._risen(step)
        return {**logs, "alarm": float(self.alarm is not None)}

    def _risen(self, step: int) -> dict[str, float]:
        """Compare the last steps with the first."""
        window = self._window
        if len(self.gaps) < 2 * window:
            return {}
        first, last = (
            [gap for _, gap, _ in part] for part in (self.gaps[:window], self.gaps[-window:])
        )
        rise = math.fsum(last) / window - math.fsum(first) / window
        spreads = [variance(first) / window, variance(last) / window]
        spread = sum(spreads)
        low = rise
        if spread:
            degrees = spread**2 / sum(each**2 / (window - 1) for each in spreads)
            low -= student(degrees) * math.sqrt(spread)
        self._passed = self._passed + 1 if low > self._limit else 0
        if self.alarm is None and self._passed >= self._patience:
            self.alarm = step
            logger.error(
                "step %d: the reward is %.3f further above its reference than at the beginning "
                "(at least %.3f): the policy may be gaming it; read its responses",
                step,
                rise,
                low,
            )
        return {"gap_rise": rise, "gap_rise_low": low}
