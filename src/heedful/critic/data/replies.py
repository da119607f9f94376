"""Requests about some constraints of a row, and the tagged blocks of the reply.

All requests here are about several constraints at once, with a block ``<ck> … </ck>`` in the reply
for each. Constraints that a reply leaves out are requested again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from heedful.core.errors import ModelError, UsageError
from heedful.engine.call_cache import attempt, attempts
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.fence import NOTHING, Fence, Shown
from heedful.judges.prompts.plain import tagged
from heedful.judges.prompts.template import asks_for, custom, fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from heedful.core.nouns import Expense, Message, Sample
    from heedful.engine.purpose import Purpose
    from heedful.judges.prompts.block_layout import Language
    from heedful.models.base import Model, Sampling

T = TypeVar("T")

OWN = ("verification", "consistency", "extraction", "revision")
"""The prompts that users may replace."""

_PLACES = (
    "conversation",
    "response",
    "items",
    "mark",
    "raw_instruction",
    "raw_response",
    "raw_items",
)
_NEEDED = (("items", "raw_items"),)

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
        sample: int = 0,
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
                completion = await attempt(
                    number, model, messages, sampling, whole, self.expenses, sample=sample
                )
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
    name: str,
    sample: Sample,
    items: Sequence[tuple[str, str]],
    language: Language,
    own: str | None = None,
    **places: str,
) -> list[Message]:
    """Write a prompt: the conversation, the response, and the items, each fenced.

    What its text has no place for leaves no trace in it, neither images nor in the fence's mark.
    """
    template = own or shipped(f"{name}.{language}.txt", "heedful.critic.data")
    response = sample.response or ""
    shown = [response] if asks_for(template, "response") else []
    told = sample.conversation if asks_for(template, "conversation", "raw_instruction") else ()
    fence = Fence.around([*layout.spoken(told), *shown, *(text for _, text in items)])
    places |= {
        "conversation": layout.conversation(sample.conversation, fence, language),
        "response": fence.wrap(_RESPONSE[language], response),
        "items": "\n\n".join(fence.wrap(label, text) for label, text in items),
        "mark": fence.mark,
    }
    places |= {
        "raw_instruction": layout.raw_instruction(template, sample),
        "raw_response": response,
        "raw_items": "\n\n".join(text for _, text in items),
    }
    return [layout.message(fill(template, places), told)]


def own_prompts(folder: Path | None) -> dict[str, str]:
    """Read the user's texts of the filters' prompts, by the prompt's name."""
    if folder is None:
        return {}
    files = {name: folder / f"{name}.txt" for name in OWN}
    texts = {name: custom(file, _PLACES, _NEEDED) for name, file in files.items() if file.is_file()}
    if not texts:
        hint = f"put {', '.join(file.name for file in files.values())} there, or some of them"
        raise UsageError("the folder holds no prompt", where=str(folder), hint=hint)
    return texts


def prompt_version(parser: int, name: str, own: str | None = None) -> str:
    """Name a prompt in both languages together with the parser of its replies."""
    if own is not None:
        return version(parser, own)
    texts = (shipped(f"{name}.{language}.txt", "heedful.critic.data") for language in ("en", "zh"))
    return version(parser, *texts)


def marked_start(text: str, at: int) -> int:
    """Return the start of a marked line, including lines of marks before it."""
    start = at
    while start and (text[start - 1].isspace() or text[start - 1] in "*_#-"):
        start -= 1
    return start if not start else text.find("\n", start, at) + 1 or at
