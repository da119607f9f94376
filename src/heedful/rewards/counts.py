"""The rewards so far, in numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.log import logger
from heedful.core.nouns import Status
from heedful.rewards.gates import GATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.engine.cost import CostSummary
    from heedful.rewards.terms import Rewarded, Terms

REASONS_LOGGED = 20
"""Reasons for undecided rewards that are logged; others are only counted."""


class RewardCounts:
    """Counts rewards, and logs why some are undecided, each reason once."""

    def __init__(self) -> None:
        """Start with no rewards."""
        self._counts: Counter[str] = Counter()
        self._gated: Counter[str] = Counter()
        self._explained: set[str] = set()
        self._gates_logged: set[str] = set()
        self._sum = 0.0

    def add(self, reward: Rewarded) -> None:
        """Count a reward."""
        if reward.problem is not None:
            logger.warning("no reward: %s", reward.problem)
        elif not reward.decided:
            self._explain(reward)
        decided = sum(status.decided for status in reward.statuses)
        self._counts.update(
            responses=1,
            decided=int(reward.decided),
            verdicts=len(reward.statuses)
            - reward.skipped
            - reward.statuses.count(Status.NOT_APPLICABLE),
            verdicts_decided=decided,
            skipped=reward.skipped,
            guarded=int(any(guard.status is Status.UNMET for guard in reward.guards)),
        )
        if reward.gate is not None:
            self._gated[reward.gate.gate] += 1
        if reward.decided and reward.value is not None:
            self._sum += reward.value

    def log_gates(self, rewards: Sequence[Rewarded]) -> None:
        """Log which gates stopped responses of a batch, each gate once."""
        stopped = [reward.gate for reward in rewards if reward.gate is not None]
        for name in {gate.gate for gate in stopped} - self._gates_logged:
            self._gates_logged.add(name)
            reasons = [gate.reason for gate in stopped if gate.gate == name]
            logger.warning(
                "the gate %s stopped %d of %d responses, whose reward is 0: %s",
                name,
                len(reasons),
                len(rewards),
                reasons[0],
            )

    def result(self, terms: Terms, account: CostSummary) -> dict[str, Any]:
        """Sum up; see :meth:`heedful.rewards.reward.Reward.summary`."""
        counts = self._counts
        responses, decided = counts["responses"], counts["decided"]
        requested = counts["verdicts"]
        result: dict[str, Any] = {
            "responses": responses,
            "decided": decided,
            "undecided_rate": (responses - decided) / responses if responses else None,
            "fallback": terms.undecided,
            "mean": self._sum / decided if decided else None,
            "verdicts": requested,
            "coverage": counts["verdicts_decided"] / requested if requested else None,
            "skipped": counts["skipped"],
            "guarded": counts["guarded"],
            "gates": {name: self._gated[name] for name in GATES if name in terms.gates},
        }
        if account:
            result["cost"] = account.result()
        return result

    def _explain(self, reward: Rewarded) -> None:
        """Log why a reward is undecided, each reason once: a judge may fail for every row."""
        judgments = (*reward.critique.judgments, *reward.guards)
        undecided = (judgment.explanation for judgment in judgments if not judgment.status.settled)
        reason = next(undecided, f"the aggregate gives {reward.bounds}")
        if reason not in self._explained and len(self._explained) < REASONS_LOGGED:
            self._explained.add(reason)
            logger.warning("reward undecided: %s", reason)
