"""Prompt that ranks several responses, and its parser.

Prompt and words are ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import last_line
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Message, Sample
    from heedful.judges.prompts.fence import Shown

_PARSER = 4
_LINE = re.compile(r"^[ \t*_#]*RANKING[*_]*[ \t]*[:：](.*)$", re.IGNORECASE | re.MULTILINE)
_RANKING = re.compile(r"\d{1,4}(?:[>=]\d{1,4})*")


def prompt_version() -> str:
    """Name the prompt and the parser."""
    return version(_PARSER, shipped("ranking.txt"))


def render(sample: Sample, responses: Sequence[str]) -> list[Message]:
    """Write the prompt."""
    checklist = layout.numbered([*map(_asked_for, sample.checklist)], None, "en")
    turns = sample.conversation
    fence = Fence.around([*layout.spoken(turns), checklist, *responses])
    shown = enumerate(responses, start=1)
    places = {
        "mark": fence.mark,
        "conversation": layout.conversation(turns, fence, "en"),
        "checklist": fence.wrap("REQUIREMENTS", checklist or "(none beside the request)"),
        "responses": "\n\n".join(fence.wrap(f"RESPONSE {at}", text) for at, text in shown),
        "example": " > ".join(str(at) for at in range(len(responses), 0, -1)),
    }
    return [layout.message(fill(shipped("ranking.txt"), places), turns)]


def _asked_for(constraint: Constraint) -> Constraint:
    """Say of a criterion what makes it more than one of equal requirements."""
    points = "" if constraint.weight is None else f"{constraint.weight:g} points"
    notes = [
        f"a mistake, which must not be there: {points}" if constraint.is_penalty else points,
        "a must-have" if constraint.gate else "",
        ""
        if constraint.scale is None
        else "from worst to best: " + ", ".join(level.label for level in constraint.scale.answers),
    ]
    said = "; ".join(filter(None, notes))
    text = f"{constraint.text} ({said})" if said else constraint.text
    return constraint.model_copy(update={"text": text})


def parse(text: str, shown: Shown, size: int) -> list[int] | None:
    """Read a reply's ranking."""
    line = last_line(_LINE, text, shown)
    said = "" if line is None else re.sub(r"[\s*_`.。]+", "", line[1])
    said = said.replace("＞", ">").replace("＝", "=")
    if not _RANKING.fullmatch(said):
        return None
    tiers = [[int(number) for number in tier.split("=")] for tier in said.split(">")]
    ranks = {number: rank for rank, tier in enumerate(tiers) for number in tier}
    if sorted(number for tier in tiers for number in tier) != list(range(1, size + 1)):
        return None
    return [ranks[number] for number in range(1, size + 1)]
