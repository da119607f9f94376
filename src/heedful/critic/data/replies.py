"""Requests about some constraints of a row, and the tagged blocks of the reply.

All requests here are about several constraints at once, with a block ``<ck> … </ck>`` in the reply
for each. Constraints that a reply leaves out are requested again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from heedful.core.errors import ModelError
from heedful.engine.call_cache import attempt, attempts
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.fence import NOTHING, Fence, Shown
from heedful.judges.prompts.plain import tagged
from heedful.judges.prompts.template import fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Expense, Message, Sample
    from heedful.engine.purpose import Purpose
    from heedful.judges.prompts.block_layout import Language
    from heedful.models.base import Model, Sampling

T = TypeVar("T")

_RESPONSE: dict[Language, str] = {"en": "RESPONSE", "zh": "待评回复"}


class Calls:
    """The calls for one row."""

    def __init__(self) -> None:
        self.expenses: list[Expense] = []  # what they cost
        self.failures: list[str] = []  # why some of them failed for good

    async def ask(
        self,
        model: Model,
        sampling: Sampling,
        positions: Sequence[int],
        render: Callable[[Sequence[int]], Sequence[Message]],
        parse: Callable[[str, Sequence[int], Shown], Mapping[int, T]],
        purpose: Purpose,
    ) -> dict[int, T]:
        """Request answers on constraints, and again on those that the reply leaves out."""
        answers: dict[int, T] = {}
        left = list(positions)
        for number in attempts():
            if not left:
                break
            whole = purpose._replace(tokens=purpose.tokens * len(left))
            messages = render(left)
            try:
                completion = await attempt(number, model, messages, sampling, whole, self.expenses)
            except ModelError as error:
                self.failures.append(f"{purpose.caller}: {error}")
                break
            if completion.cut_off:
                continue
            answers |= parse(completion.text, left, Shown.in_prompt(messages))
            left = [position for position in left if position not in answers]
        return answers


def blocks(reply: str, positions: Sequence[int], shown: Shown = NOTHING) -> dict[int, str]:
    """Read a reply's blocks, without quotations; one that is repeated, or closed twice, is out."""
    contents: dict[int, str] = {}
    twice: set[int] = set()
    for block in tagged(reply):
        number, text, ends = block
        if not 1 <= number <= len(positions) or shown.holds(block.words):
            continue
        position = positions[number - 1]
        if position in contents or len(ends) > 1:
            twice.add(position)
        contents[position] = text[: ends[0]] if ends else text
    return {position: block for position, block in contents.items() if position not in twice}


def language_of(sample: Sample) -> Language:
    """Return the language of prompts about a sample: that of its last user turn."""
    turns = [turn.content for turn in sample.conversation if turn.role == "user"]
    return layout.language_of(turns[-1] if turns else "")


def prompt(
    name: str, sample: Sample, items: Sequence[tuple[str, str]], language: Language
) -> list[Message]:
    """Write a prompt: the conversation, the response, and the items, each fenced."""
    template = shipped(f"{name}.{language}.txt", "heedful.critic.data")
    response = sample.response or ""
    told = sample.conversation
    fence = Fence.around([*layout.spoken(told), response, *(text for _, text in items)])
    places = {
        "conversation": layout.conversation(told, fence, language),
        "response": fence.wrap(_RESPONSE[language], response),
        "items": "\n\n".join(fence.wrap(label, text) for label, text in items),
        "mark": fence.mark,
    }
    return [layout.message(fill(template, places), told)]


def prompt_version(parser: int, name: str) -> str:
    """Name a prompt in both languages together with the parser of its replies."""
    texts = (shipped(f"{name}.{language}.txt", "heedful.critic.data") for language in ("en", "zh"))
    return version(parser, *texts)


def marked_start(text: str, at: int) -> int:
    """Return the start of a marked line, including lines of marks before it."""
    start = at
    while start and (text[start - 1].isspace() or text[start - 1] in "*_#-"):
        start -= 1
    return start if not start else text.find("\n", start, at) + 1 or at
