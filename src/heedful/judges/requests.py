"""The prompts that a judge sent for a row, for formats that write them beside its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.errors import RowError
from heedful.judges.compose import Cascade, Panel
from heedful.judges.consistent import Consistent
from heedful.judges.images import WithImages, opened
from heedful.judges.model import Checklist

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from heedful.core.nouns import Critique, Sample
    from heedful.judges.base import Judge

__all__ = ["request"]


def request(
    judge: Judge, sample: Sample, critique: Critique, earlier: AbstractSet[str] = frozenset()
) -> str | None:
    """Return the prompt that a model was given for a sample.

    Prompts aren't stored with verdicts: the same sample always gives the same prompt, so it is
    written again. Of several models with the same prompt, it is the first one's.
    """
    if isinstance(judge, WithImages):
        try:
            sample = opened(sample, judge.folder)
        except RowError:
            return None
        judge = judge.seeing
    if isinstance(judge, Consistent):
        judge = judge.watched
    if isinstance(judge, Checklist):
        positions = [
            position
            for position, judgment in enumerate(critique.judgments)
            if not (judgment.status.settled and judgment.judge in earlier)
        ]
        try:
            return judge.request(sample, positions)
        except RowError:  # the row could not be judged, and says why
            return None
    if isinstance(judge, Cascade | Panel):
        for member in judge.judges:
            prompt = request(member, sample, critique, earlier)
            if prompt is not None:
                return prompt
            earlier |= {member.name}
    return None
