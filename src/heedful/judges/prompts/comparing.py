"""Prompts that compare: several responses are ranked, or two explanations of one verdict."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.core.nouns import Message
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import last_line
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Sample, Status
    from heedful.judges.prompts.quotation import Shown

Preference = Literal["first", "second", "neither"]

_PREFERENCE_PARSER = 3
_PREFERENCE = re.compile(
    r"^[ \t*_#]*BETTER[*_]*[ \t]*[:：][ \t*_]*(FIRST|SECOND|NEITHER)[ \t*_.]*$",
    re.IGNORECASE | re.MULTILINE,
)
_READ: dict[str, Preference] = {"first": "first", "second": "second", "neither": "neither"}

_RANKING_PARSER = 4
_LINE = re.compile(r"^[ \t*_#]*RANKING[*_]*[ \t]*[:：](.*)$", re.IGNORECASE | re.MULTILINE)
_RANKING = re.compile(r"\d{1,4}(?:[>=]\d{1,4})*")


def preference_version() -> str:
    """Name the prompt that compares explanations, and its parser."""
    return version(_PREFERENCE_PARSER, shipped("preference.txt"))


def render_preference(
    sample: Sample, constraint: str, verdict: Status, first: str, second: str
) -> list[Message]:
    """Write the prompt that compares two explanations."""
    turns = [(turn.role, turn.content) for turn in sample.conversation]
    response = sample.response or ""
    fence = Fence.around([*(text for _, text in turns), response, constraint, first, second])
    roles = {"system": "SYSTEM PROMPT", "user": "USER", "assistant": "ASSISTANT"}
    places = {
        "mark": fence.mark,
        "conversation": "\n\n".join(
            fence.wrap(roles.get(role, "OTHER TURN"), text) for role, text in turns
        ),
        "response": fence.wrap("RESPONSE", response),
        "constraint": fence.wrap("CONSTRAINT", constraint),
        "verdict": verdict.value.upper(),
        "first": fence.wrap("FIRST EXPLANATION", first),
        "second": fence.wrap("SECOND EXPLANATION", second),
    }
    return [Message(role="user", content=fill(shipped("preference.txt"), places))]


def parse_preference(text: str, shown: Shown) -> Preference | None:
    """Read a reply's preference."""
    line = last_line(_PREFERENCE, text, shown)
    return None if line is None else _READ[line[1].casefold()]


def ranking_version() -> str:
    """Name the prompt that ranks responses, and its parser."""
    return version(_RANKING_PARSER, shipped("ranking.txt"))


def render_ranking(sample: Sample, responses: Sequence[str]) -> list[Message]:
    """Write the prompt that ranks responses."""
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


def parse_ranking(text: str, shown: Shown, size: int) -> list[int] | None:
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
