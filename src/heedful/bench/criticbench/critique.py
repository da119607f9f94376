"""CriticBench's prompts for critics, and the parser of their judgments.

There is a prompt for each task, as in the paper: principles, then worked examples (few-shot, chain
of thought). Their words are ours, in files beside. A critique ends on ``Judgment: correct`` or
``Judgment: incorrect``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from heedful.core.errors import ModelError
from heedful.core.nouns import Message
from heedful.engine.call_cache import complete
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.quotation import NOTHING, Shown
from heedful.judges.prompts.template import fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.base import Model, Sampling

PROMPT = "critique.txt"
EXAMPLES = {kind: f"critique_{kind}.txt" for kind in ("open", "choice", "code", "any")}
"""Principles and examples by the kind of problem; ``any`` is for responses to unknown ones."""

PARSER = 2
"""Raised when the same reply would be read otherwise."""

Status = Literal["correct", "incorrect", "unparsed", "failed"]

_JUDGMENT = re.compile(
    r"judge?ment[\s*_`]*[:：][\s*_`\"'{(\[]*(?:\\boxed\{)?(?:\\text\{)?(?:the \w+ is )?"
    r"(?P<verdict>in\s?correct|not correct|wrong|correct|right)[\s*_`\"'})\].!]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_EXAMPLE = re.compile(r"^[^\w\n]*+Example \d+\W*$", re.MULTILINE)


class Verdict(BaseModel):
    """A critic's verdict on a response.

    Attributes:
        status: that it is correct, or incorrect; ``unparsed`` where the critique states no
            judgment, ``failed`` where the call failed.
        text: the critique; where it failed, why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status
    text: str = ""


def render(question: str, response: str, kind: str = "any") -> list[Message]:
    """Write the prompt that asks for a critique; the texts are fenced."""
    fence = Fence.around([question, response])
    places = {
        "mark": fence.mark,
        "examples": shipped(EXAMPLES[kind], __package__),
        "question": fence.wrap("QUESTION", question),
        "response": fence.wrap("RESPONSE", response),
    }
    return [Message(role="user", content=fill(shipped(PROMPT, __package__), places))]


def judgment(text: str, shown: Shown = NOTHING) -> Literal["correct", "incorrect"] | None:
    r"""Read the judgment that a critique ends on, ``None`` where it states none.

    Quotations don't count: lines that begin with ``>``, and what repeats the response. What a model
    writes after its critique in continuing the prompt's examples does not count either, nor does
    reasoning before the critique.

    >>> judgment("So it is 12.\\n**Judgment: Incorrect.**"), judgment("It is correct.")
    ('incorrect', None)
    """
    own = _NEXT_EXAMPLE.split(answer(text), maxsplit=1)[0]
    unquoted = "\n".join(line for line in own.split("\n") if not line.startswith(">"))
    stated = (match for match in _JUDGMENT.finditer(unquoted) if not shown.holds(match[0]))
    words = [match["verdict"].lower() for match in stated]
    if not words:
        return None
    return "correct" if words[-1] in ("correct", "right") else "incorrect"


def version_of_prompt() -> str:
    """Name the prompt and its parser: other words or another parser give another version."""
    texts = (shipped(name, __package__) for name in (PROMPT, *EXAMPLES.values()))
    return version(PARSER, *texts)


async def critique(
    model: Model, messages: Sequence[Message], *, sampling: Sampling, repeat: int, caller: str
) -> Verdict:
    """Request one critique of one response."""
    purpose = Purpose(caller, tokens=EXPLAINED_TOKENS)
    try:
        completion = await complete(model, messages, sampling, sample=repeat, purpose=purpose)
    except ModelError as error:
        return Verdict(status="failed", text=str(error))
    status = None if completion.cut_off else judgment(completion.text, Shown.in_prompt(messages))
    return Verdict(status=status or "unparsed", text=completion.text)
