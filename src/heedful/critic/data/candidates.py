"""The material of pairs: an expert's critique and the sampled ones to compare with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from heedful.core.errors import InputError, RowError
from heedful.critic.data.segments import Reading, Segmented, read, segmented_prompt
from heedful.judges.prompts.base import same_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.core.nouns import Judgment, Recording, Sample
    from heedful.judges.prompts import JudgePrompt


class Reason(StrEnum):
    """Why an item has no pairs."""

    UNREADABLE = "the row cannot be read"
    NO_CHECKLIST = "no checklist"
    NO_RESPONSE = "no response"
    NO_EXPERT = "no expert critique"
    NO_SAMPLES = "no sampled critiques"
    PROMPT = "critiques that are not segments"
    EXPERT_UNPARSED = "the expert critique does not parse"
    OTHER_CHECKLIST = "the expert critique is on another checklist"
    SAMPLES_UNPARSED = "no sampled critique parses and repeats the expert's constraints"
    AGREED = "every sampled critique agrees with the expert"
    NOTHING_RIGHT = "no sampled critique to choose is right where one is wrong"
    DIFFERENT = "the critiques differ outside the segments on which they disagree"

    @property
    def normal(self) -> bool:
        """Whether nothing is wrong with such an item."""
        return self in (Reason.AGREED, Reason.NOTHING_RIGHT)


class NoPairsError(RowError):
    """An item has no pairs; ``reason`` is what it is counted under."""

    def __init__(self, reason: Reason, detail: str = "", *, hint: str = "") -> None:
        self.reason = reason
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value, hint=hint)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sampled critique.

    Attributes:
        number: its place among the item's samples, from 1.
        critique: what it says.
        wrong: the positions on which it disagrees with the expert.
    """

    number: int
    critique: Segmented
    wrong: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CritiqueComparison:
    """An item's critiques, read.

    Attributes:
        prompt: of all of them.
        expert: the expert's.
        samples: those that judge the expert's constraints.
        unparsed: sampled critiques that leave a constraint undecided.
        other_constraints: sampled critiques on other constraints than the expert's.
    """

    prompt: JudgePrompt
    expert: Segmented
    samples: tuple[Sampled, ...]
    unparsed: int
    other_constraints: int

    def right(self, position: int) -> list[Judgment]:
        """Return the sampled judgments on a constraint that agree with the expert."""
        truth = self.expert.judgments[position].status
        judgments = (sampled.critique.judgments[position] for sampled in self.samples)
        return [judgment for judgment in judgments if judgment.status is truth]

    def can_be_righted(self, positions: Iterable[int]) -> bool:
        """Tell whether a sample agrees with the expert on each of these constraints."""
        return all(self.right(position) for position in positions)


def compare(sample: Sample, reading: Reading) -> CritiqueComparison:
    """Read an item's critiques.

    Raises:
        NoPairsError: something is missing, or the expert's critique cannot be used.
    """
    recording = _recording(sample)
    try:
        prompt = segmented_prompt(recording.prompt)
    except RowError as error:
        raise NoPairsError(Reason.PROMPT, error.what, hint=error.hint) from error
    expert = _expert(sample, recording, prompt, reading)
    samples: list[Sampled] = []
    unparsed = other_constraints = 0
    for number, text in enumerate(recording.others, start=1):
        try:
            critique = read(text, prompt, sample.checklist, reading)
        except InputError:
            unparsed += 1
            continue
        if not critique.same_constraints(expert):
            other_constraints += 1
            continue
        samples.append(Sampled(number, critique, tuple(critique.disagreements(expert))))
    return CritiqueComparison(prompt, expert, tuple(samples), unparsed, other_constraints)


def _recording(sample: Sample) -> Recording:
    if not sample.checklist:
        raise NoPairsError(Reason.NO_CHECKLIST, hint="make one with heedful checklist")
    if sample.response is None:
        raise NoPairsError(Reason.NO_RESPONSE, hint="obtain one with heedful respond")
    recording = sample.recording
    if recording is None or not recording.text:
        hint = "give it as recording.text, or make it with heedful critic filter"
        raise NoPairsError(Reason.NO_EXPERT, hint=hint)
    if not recording.others:
        raise NoPairsError(Reason.NO_SAMPLES, hint="sample them with heedful critic sample")
    return recording


def _expert(
    sample: Sample, recording: Recording, prompt: JudgePrompt, reading: Reading
) -> Segmented:
    try:
        expert = read(recording.text or "", prompt, sample.checklist, reading)
    except InputError as error:
        raise NoPairsError(Reason.EXPERT_UNPARSED, error.what) from error
    checklist = [same_words(constraint.text) for constraint in sample.checklist]
    if [same_words(constraint.text) for constraint in expert.constraints] != checklist:
        raise NoPairsError(Reason.OTHER_CHECKLIST)
    return expert
