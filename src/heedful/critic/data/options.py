"""Options of filtering and of exports; their module is light, as the help of commands reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - a build's configuration is read with these types
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.base import Sampling

STAGES = ("cross", "rules", "judgment", "explanation")
"""The stages, in the paper's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """How critiques are filtered; a run resumes with other ones, and only new requests are made.

    Attributes:
        skip: Stages to leave out.
        threshold: The least confidence that decides (judgment), 0 to 1.
        min_votes: The fewest votes that decide (judgment).
        similarity: By which explanations are alike (explanation): difflib's ratio or quick_ratio,
            or another that heedful.critic.data.mbr has.
        partial: Keep a row that lost some of its constraints, with the others as its checklist.
        sampling: how models answer.
    """

    skip: Sequence[str] = ()
    threshold: float = 0.75  # IF-Critic's
    min_votes: int = 2  # ours: the paper names none
    similarity: str = "ratio"
    partial: bool = False
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        """Refuse limits that make no sense."""
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"the threshold is {self.threshold}", hint="give a share, 0 to 1")
        if self.min_votes < 1:
            raise UsageError(f"min_votes is {self.min_votes}", hint="give at least 1")


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """How critiques are put to a critic, and which verdicts of code become critiques.

    Attributes:
        prompt: The prompt for critiques made of code's verdicts.
        prompt_file: A file whose text replaces that of the prompt.
        per_call: Constraints in one example made of code's verdicts: from one up to so many.
            Default: all.
        measure: Put what code counts beside each constraint, as heedful evaluate --measure does.
        balance: Take as many met as unmet of code's verdicts of each text, or else of each type.
        contrast: Move limits near to the counts, and edit responses, so that each constraint is met
            once and unmet once.
        cross: Constraints of other rows that code checks on each response.
        seed: Seed of the choice.
    """

    prompt: str = "plain"
    prompt_file: Path | None = None
    per_call: int | None = None
    measure: bool = False
    balance: bool = True
    contrast: bool = False
    cross: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        if self.per_call is not None and self.per_call < 1:
            raise UsageError(f"--per-call is {self.per_call}", hint="give at least 1")
        if self.cross < 0:
            raise UsageError(f"--cross is {self.cross}", hint="give 0 or more")
