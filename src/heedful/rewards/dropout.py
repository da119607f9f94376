"""Rubric dropout: each step of training judges a random part of every checklist (arXiv 2608.11669).

A policy that cannot know which constraints count in a step gains less by gaming one of them, and
the judge has less to do. All responses to one instruction are judged by the same part in a step:
GRPO compares them with each other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.rewards.settings import check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Sample


@dataclass(frozen=True, slots=True)
class RubricDropout:
    """Leaves out a random part of each checklist.

    Attributes:
        rate: the chance of each constraint to be left out, 0 to less than 1; one always stays,
            and what stays keeps what it depends on.
        seed: of the random choice, which depends on the step, the instruction and the checklist.
    """

    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a rate that leaves nothing."""
        check_whole("the seed of dropout", self.seed)
        if not 0 <= check_number("the rate of dropout", self.rate) < 1:
            raise UsageError(f"the rate of dropout is {self.rate}", hint="give 0 to less than 1")

    def part(self, sample: Sample, step: int) -> Sample:
        """Return the sample with the part of its checklist that counts in a step."""
        texts = [turn.content for turn in sample.conversation]
        texts += [constraint.text for constraint in sample.checklist]
        digest = blake2b(f"{self.seed} {step}".encode(), digest_size=16)
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8) + data)
        # Not for security: the same part for all responses of a group, on any machine.
        rng = random.Random(digest.digest())
        draws = [rng.random() for _ in sample.checklist]
        drawn = [at for at, draw in enumerate(draws) if draw >= self.rate]
        if not drawn and draws:
            drawn = [max(range(len(draws)), key=draws.__getitem__)]
        return sample.model_copy(update={"checklist": _part(sample.checklist, drawn)})


def _part(checklist: Sequence[Constraint], drawn: Sequence[int]) -> tuple[Constraint, ...]:
    """Return the constraints drawn, and those that they depend on, with their new numbers."""
    kept, left = set(drawn), list(drawn)
    while left:
        parents = {number - 1 for number in checklist[left.pop()].depends_on}
        left += parents - kept
        kept |= parents
    numbers = {at + 1: number for number, at in enumerate(sorted(kept), start=1)}
    return tuple(
        checklist[at].model_copy(
            update={"depends_on": tuple(numbers[number] for number in checklist[at].depends_on)}
        )
        if checklist[at].depends_on
        else checklist[at]
        for at in sorted(kept)
    )
