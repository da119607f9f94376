"""Prompt that compares two explanations of one verdict, and its parser.

Prompt and words are ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.core.nouns import Message
from heedful.judges.prompts.base import last_line
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import fill, shipped, version

if TYPE_CHECKING:
    from heedful.core.nouns import Sample, Status
    from heedful.judges.prompts.quotation import Shown

Preference = Literal["first", "second", "neither"]

_PARSER = 3
_LINE = re.compile(
    r"^[ \t*_#]*BETTER[*_]*[ \t]*[:：][ \t*_]*(FIRST|SECOND|NEITHER)[ \t*_.]*$",
    re.IGNORECASE | re.MULTILINE,
)
_READ: dict[str, Preference] = {"first": "first", "second": "second", "neither": "neither"}


def prompt_version() -> str:
    """Name the prompt and the parser."""
    return version(_PARSER, shipped("preference.txt"))


def render(
    sample: Sample, constraint: str, verdict: Status, first: str, second: str
) -> list[Message]:
    """Write the prompt."""
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


def parse(text: str, shown: Shown) -> Preference | None:
    """Read a reply's preference."""
    line = last_line(_LINE, text, shown)
    return None if line is None else _READ[line[1].casefold()]
