"""The stages of filtering, and the two without a model: final judgment and final explanation.

Source: IF-Critic (arXiv 2511.01014), critique filtering. A stage drops judgments of the experts and
says why, or puts a revised one in place. It never decides for a row: that follows from the
judgments that are left. No stage depends on another, so any of them can be left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Judgment, Recording, Status
from heedful.critic.data.mbr import pick, refuse_unknown
from heedful.critic.data.options import STAGES
from heedful.critic.data.replies import Calls
from heedful.judges.prompts import read_recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.critic.data.options import FilterSettings
    from heedful.models.base import Model


READ = "read"
"""The stage before the filters: reading the critiques."""

WRITE = "write"
"""The stage behind them: writing the final critique."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Why a judgment was dropped."""

    stage: str  # which stage dropped it
    reason: str  # one of a few, for counting
    by: str = ""  # the model that said so, where one did
    said: str = ""  # what it said, or what is wrong in detail

    def record(self) -> dict[str, str]:
        """Lay it out without what is empty."""
        fields = {"stage": self.stage, "reason": self.reason, "by": self.by, "said": self.said}
        return {name: value for name, value in fields.items() if value}


@dataclass(slots=True)
class CandidateJudgment:
    """One judgment of one critique."""

    sample_index: int  # the critique's number, from 1
    judgment: Judgment  # the verdict and its explanation, as they stand after the stages so far
    was: Status | None = None  # the verdict before the expert revised it
    drop: Drop | None = None  # why it is out

    @property
    def status(self) -> Status:
        """The verdict."""
        return self.judgment.status

    def record(self) -> dict[str, Any]:
        """Lay out its outcome."""
        fields: dict[str, Any] = {"sample_index": self.sample_index, "status": self.status.value}
        if self.was is not None:
            fields["was"] = self.was.value
        if self.drop is not None:
            fields["dropped"] = self.drop.record()
        return fields


@dataclass(slots=True)
class FilterItem:
    """One row on its way through the filters."""

    sample: Sample  # the row
    prompt: str  # the name of the prompt that its critiques answer
    requested: int  # how many critiques were requested
    given: int  # how many there are
    # for each constraint the judgments on it, in the order of the critiques
    candidates: list[list[CandidateJudgment]]
    facts: list[str | None] = field(default_factory=list)  # for each constraint what code counted
    # for each constraint the majority's confidence
    confidence: list[float | None] = field(default_factory=list)
    calls: Calls = field(default_factory=Calls)  # the calls made for it

    @classmethod
    def read(cls, sample: Sample) -> FilterItem:
        """Read a row's critiques; undecided judgments are dropped at once."""
        recording = _critiques(sample)
        candidates: list[list[CandidateJudgment]] = [[] for _ in sample.checklist]
        for sample_index, text in enumerate(recording.others, start=1):
            critique = Recording(prompt=recording.prompt, text=text)
            for position, judgment in enumerate(read_recording(critique, sample)):
                drop = None
                if not judgment.status.decided:
                    drop = Drop(READ, "not decided", said=judgment.explanation)
                candidates[position].append(CandidateJudgment(sample_index, judgment, drop=drop))
        given = len(recording.others)
        requested = (recording.model_extra or {}).get("requested", given)
        size = len(sample.checklist)
        return cls(
            sample=sample,
            prompt=recording.prompt,
            requested=requested if isinstance(requested, int) else given,
            given=given,
            candidates=candidates,
            facts=[None] * size,
            confidence=[None] * size,
        )

    def left(self, position: int) -> list[CandidateJudgment]:
        """Return the judgments on a constraint that are not dropped."""
        return [candidate for candidate in self.candidates[position] if candidate.drop is None]

    def by_sample(self) -> dict[int, dict[int, CandidateJudgment]]:
        """Return the judgments that are left, by critique and constraint."""
        judgments: dict[int, dict[int, CandidateJudgment]] = {}
        for position in range(len(self.candidates)):
            for candidate in self.left(position):
                judgments.setdefault(candidate.sample_index, {})[position] = candidate
        return judgments

    def settled(self) -> list[int]:
        """Return the positions of the constraints that have a judgment left."""
        return [position for position in range(len(self.candidates)) if self.left(position)]

    def losses(self, order: Sequence[str]) -> Iterator[tuple[int, Drop]]:
        """Yield constraints without judgments, each with the last drop."""
        for position, candidates in enumerate(self.candidates):
            drops = [candidate.drop for candidate in candidates if candidate.drop is not None]
            if len(drops) < len(candidates):
                continue
            last = max(order.index(drop.stage) for drop in drops)
            late = [drop for drop in drops if drop.stage == order[last]]
            reason, _ = Counter(drop.reason for drop in late).most_common(1)[0]
            yield position, next(drop for drop in late if drop.reason == reason)


class Stage(ABC):
    """One filter."""

    name: str  # one of :data:`STAGES`
    models: Sequence[Model] = ()
    config: Mapping[str, Any]  # all that its work depends on, as JSON

    @abstractmethod
    async def apply(self, item: FilterItem) -> None:
        """Drop or revise judgments of a row; failed calls are among its calls' failures."""


def without(skip: Sequence[str]) -> list[str]:
    """Return the stages that are run, in order."""
    for name in skip:
        if name not in STAGES:
            raise UsageError(f"no such stage: {name!r}", hint=f"use {', '.join(STAGES)}")
    return [name for name in STAGES if name not in skip]


class MajorityStage(Stage):
    """Final judgment: the majority of the verdicts on a constraint, if it is large enough.

    A critique whose judgment an earlier stage dropped isn't evidence for the verdict of those that
    are left, so confidence is the majority's share of all critiques that were requested.
    """

    name = "judgment"

    def __init__(self, settings: FilterSettings) -> None:
        """Take the limits."""
        self._settings = settings
        self.config = {
            "threshold": settings.threshold,
            "min_votes": settings.min_votes,
        }

    async def apply(self, item: FilterItem) -> None:
        """Drop the minority, or all where no verdict has enough votes."""
        for position in range(len(item.candidates)):
            candidates = item.left(position)
            if not candidates:
                continue
            votes = Counter(candidate.status for candidate in candidates)
            winner, most = votes.most_common(1)[0]
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
        """Check the similarity."""
        refuse_unknown(settings.similarity)
        self._similarity = settings.similarity
        self.config = {"similarity": settings.similarity}

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
            chosen = agreeing[pick(texts, self._similarity)]
            for candidate in candidates:
                if candidate is not chosen:
                    candidate.drop = Drop(self.name, "another was chosen")


def refuse_unjudgeable(sample: Sample) -> None:
    """Refuse a row of which no critique can be made."""
    if not sample.checklist:
        raise RowError("the row has no checklist", hint="make one with heedful checklist")
    if sample.response is None:
        raise RowError("the row has no response", hint="obtain one with heedful respond")
    if not sample.response.strip():
        raise RowError("the response is empty", hint="leave the row out, or ask for it again")


def _critiques(sample: Sample) -> Recording:
    refuse_unjudgeable(sample)
    if sample.recording is None or not sample.recording.others:
        raise RowError(
            "the row holds no sampled critiques", hint="sample them with heedful critic sample"
        )
    return sample.recording
