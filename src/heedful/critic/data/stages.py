"""The stages of filtering, and the two without a model: final judgment and final explanation.

Source: IF-Critic (arXiv 2511.01014), critique filtering. Each stage drops judgments of the
experts, or puts a revised one in place; none depends on another, so any of them can be
left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.critic.data.items import Drop
from heedful.critic.data.mbr import ChoosingPool, refuse_unknown
from heedful.critic.data.options import STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Status
    from heedful.critic.data.items import FilterItem
    from heedful.critic.data.options import FilterSettings
    from heedful.models.base import Model


class Stage(ABC):
    """One filter."""

    name: str  # one of :data:`STAGES`
    models: Sequence[Model] = ()
    config: Mapping[str, Any]  # all that its work depends on, as JSON

    @abstractmethod
    async def apply(self, item: FilterItem) -> None:
        """Drop or revise judgments of a row; failed calls are among its calls' failures."""


def in_order(order: Sequence[str], skip: Sequence[str]) -> list[str]:
    """Return the stages that are run, in order."""
    for name in (*order, *skip):
        if name not in STAGES:
            raise UsageError(f"no such stage: {name!r}", hint=f"use {', '.join(STAGES)}")
    if sorted(order) != sorted(STAGES):
        raise UsageError(
            f"the order {','.join(order)} does not name each stage once",
            hint=f"name {', '.join(STAGES)}; leave stages out with skip",
        )
    if order.index("explanation") != len(order) - 1:
        raise UsageError(
            "the final explanation must be chosen last",
            hint="name explanation last",
        )
    return [name for name in order if name not in skip]


class MajorityStage(Stage):
    """Final judgment: the majority of the verdicts on a constraint, if it is large enough.

    A critique whose judgment an earlier stage dropped isn't evidence for the verdict of those that
    are left, so by default confidence is the majority's share of all critiques that were requested.
    """

    name = "judgment"

    def __init__(self, settings: FilterSettings) -> None:
        """Take the limits."""
        self._settings = settings
        self.config = {
            "threshold": settings.threshold,
            "min_votes": settings.min_votes,
            "confidence_over": settings.confidence_over,
        }

    async def apply(self, item: FilterItem) -> None:
        """Drop the minority, or all where no verdict has enough votes."""
        for position in range(len(item.candidates)):
            candidates = item.left(position)
            if not candidates:
                continue
            votes = Counter(candidate.status for candidate in candidates)
            winner, most = votes.most_common(1)[0]
            total = votes.total()
            if self._settings.confidence_over == "samples":
                total = max(item.requested, item.given)
            item.confidence[position] = most / total
            refused = self._refusal(votes, total)
            for candidate in candidates:
                if refused is not None:
                    candidate.drop = refused
                elif candidate.status is not winner:
                    candidate.drop = Drop(self.name, "outvoted")

    def _refusal(self, votes: Counter[Status], total: int) -> Drop | None:
        """Return why the votes decide nothing, if they don't."""
        most = max(votes.values())
        said = f"{most} of {total}" + ("" if total == votes.total() else f", {votes.total()} left")
        if votes.total() < self._settings.min_votes:
            return Drop(self.name, "too few votes", said=said)
        if 2 * most == votes.total():
            return Drop(self.name, "no majority", said=said)
        if most / total < self._settings.threshold:
            return Drop(self.name, "low confidence", said=said)
        return None


class ExplanationStage(Stage):
    """Final explanation: of those that are left for the verdict the one most like the others.

    Without a final judgment before it, the verdict is that of the first critique that is left.
    """

    name = "explanation"

    def __init__(self, settings: FilterSettings) -> None:
        """Start nothing yet; whoever runs the stage closes the pool."""
        refuse_unknown(settings.similarity)
        self._similarity = settings.similarity
        self.config = {"similarity": settings.similarity}
        self.pool = ChoosingPool()

    async def apply(self, item: FilterItem) -> None:
        """Drop all judgments on a constraint but the chosen one."""
        for position in range(len(item.candidates)):
            candidates = item.left(position)
            if not candidates:
                continue
            agreeing = [
                candidate for candidate in candidates if candidate.status is candidates[0].status
            ]
            texts = [candidate.judgment.explanation for candidate in agreeing]
            chosen = agreeing[await self.pool.pick(texts, self._similarity)]
            for candidate in candidates:
                if candidate is not chosen:
                    candidate.drop = Drop(self.name, "another was chosen")
