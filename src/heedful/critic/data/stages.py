"""The stages of filtering, and the two without a model: final judgment and final explanation.

Source: IF-Critic (arXiv 2511.01014), critique filtering. Each stage drops judgments of the
experts, or puts a revised one in place; none depends on another, so any of them can be
left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, get_args

from heedful.core.errors import UsageError
from heedful.critic.data import mbr
from heedful.critic.data.items import Drop
from heedful.critic.data.mbr import ChoosingPool
from heedful.critic.data.options import MIN_VOTES, STAGES, THRESHOLD, ConfidenceOver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Status
    from heedful.critic.data.items import CandidateJudgment, FilterItem


class Stage(Protocol):
    """One filter."""

    @property
    def name(self) -> str:
        """How reports name it: one of :data:`STAGES`."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that its work depends on, as JSON."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """The names of its models."""
        ...

    async def apply(self, item: FilterItem) -> None:
        """Drop or revise judgments of a row.

        Calls that failed are among the failures of the row's calls.
        """
        ...


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


@dataclass(frozen=True, slots=True)
class MajorityStage:
    """Final judgment: the majority of the verdicts on a constraint, if it is large enough.

    A critique whose judgment an earlier stage dropped isn't evidence for the verdict of those that
    are left, so by default confidence is the majority's share of all critiques that were requested.
    """

    threshold: float = THRESHOLD  # the least confidence, 0 to 1
    min_votes: int = MIN_VOTES  # the fewest votes
    confidence_over: ConfidenceOver = "samples"  # what confidence is a share of

    name = "judgment"
    models = ()

    def __post_init__(self) -> None:
        """Refuse limits that make no sense."""
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"the threshold is {self.threshold}", hint="give a share, 0 to 1")
        if self.min_votes < 1:
            raise UsageError(f"min_votes is {self.min_votes}", hint="give at least 1")
        if self.confidence_over not in get_args(ConfidenceOver):
            raise UsageError(
                f"confidence cannot be computed over {self.confidence_over!r}",
                hint=f"use {' or '.join(get_args(ConfidenceOver))}",
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """The limits."""
        return {
            "threshold": self.threshold,
            "min_votes": self.min_votes,
            "confidence_over": self.confidence_over,
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
            if self.confidence_over == "samples":
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
        if votes.total() < self.min_votes:
            return Drop(self.name, "too few votes", said=said)
        if 2 * most == votes.total():
            return Drop(self.name, "no majority", said=said)
        if most / total < self.threshold:
            return Drop(self.name, "low confidence", said=said)
        return None


@dataclass(frozen=True, slots=True)
class ExplanationStage:
    """Final explanation: of those that are left for the verdict the one most like the others.

    Without a final judgment before it, the verdict is that of the first critique that is left.
    """

    similarity: str = "ratio"  # one of :data:`heedful.critic.data.mbr.SIMILARITIES`
    # where explanations are chosen; to be closed by whoever runs the stage
    pool: ChoosingPool = field(default_factory=ChoosingPool, repr=False, compare=False)

    name = "explanation"
    models = ()

    def __post_init__(self) -> None:
        """Refuse a similarity that is not known."""
        if self.similarity not in mbr.SIMILARITIES:
            raise UsageError(
                f"no such similarity: {self.similarity!r}",
                hint=f"use one of {', '.join(mbr.SIMILARITIES)}",
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """The similarity."""
        return {"similarity": self.similarity}

    async def apply(self, item: FilterItem) -> None:
        """Drop all judgments on a constraint but the chosen one."""
        for position in range(len(item.candidates)):
            candidates = item.left(position)
            if not candidates:
                continue
            agreeing = [
                candidate for candidate in candidates if candidate.status is candidates[0].status
            ]
            chosen = await self._chosen(agreeing)
            for candidate in candidates:
                if candidate is not chosen:
                    candidate.drop = Drop(self.name, "another was chosen")

    async def _chosen(self, candidates: Sequence[CandidateJudgment]) -> CandidateJudgment:
        texts = [candidate.judgment.explanation for candidate in candidates]
        return candidates[await self.pool.pick(texts, self.similarity)]
