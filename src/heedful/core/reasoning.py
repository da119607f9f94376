"""Reasoning that stands before an answer: set apart here, since the answer is what is judged."""

from __future__ import annotations

import re
from operator import is_not
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.text import is_blank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample
    from heedful.core.turns import Message

ReasoningMode = Literal["strip", "keep"]
"""``strip``: reasoning is set apart from the answer. ``keep``: it is judged as a part of it."""

NO_ANSWER = "the response ends inside its reasoning: there is no answer"

THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
"""Types of the parts of a message's content that are reasoning."""

_FIELDS = ("reasoning_content", "reasoning")
"""Fields of a message in which servers return its reasoning."""

_NAME = r"(?i:think|thinking|thought|reasoning|seed:think)"
_OPENING = rf"<{_NAME}>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|channel>thought"
_CLOSING = rf"</{_NAME}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<channel\|>"
_TAG_WORDS = ("think", "thought", "reasoning", "channel")
"""One of them is in each tag."""
_BEGIN = re.compile(rf"\s*(?:<\|im_start\|>assistant\s*)?(?:{_OPENING})")
# Between backticks a tag is only mentioned.
_CLOSE = re.compile(rf"(?<!`)(?:{_CLOSING})(?!`)")
_TAG = re.compile(rf"(?<!`)(?:(?P<opening>{_OPENING})|{_CLOSING})(?!`)")
_MENTION = re.compile(r" [a-z]")
"""What follows a tag that a sentence begins with: ``<think> tags wrap …``."""

_CHANNEL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>final(?:\s*<\|constrain\|>\w+)?<\|message\|>")
"""OpenAI's Harmony: channels, of which the final one is the answer."""

_BARE_CHANNEL = re.compile(r"\s*analysis(?=[^\sa-z])")
_BARE_FINAL = "assistantfinal"
"""The same, decoded without its special tokens."""

_AROUND_ANSWERS = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|return|>", "<|end|>")
_NEAR = 80
"""Characters beside a tag that tell whether a sentence mentions it."""

_SENTENCE_ENDS = tuple(".!?。！？…")
_BEFORE_MENTION = "\"'“‘(<[{"
_AFTER_MENTION = "\"'”’)>]},.;:!?"


def separate(text: str, *, lost_opening: bool = True) -> tuple[str, str | None]:
    r"""Return a response's answer, and the reasoning before it: ``None`` where there is none.

    Reasoning is what a response begins with in ``<think>`` or a similar tag, in ``[THINK]`` or in
    Harmony's channels, and what stands before a closing tag whose opening tag is lost, since the
    chat template wrote it. The answer is empty where the reasoning doesn't end. A tag that is only
    mentioned, in a sentence or between backticks, is text.

    >>> separate("<think>Two, or three?</think>\n\nThree.")
    ('Three.', 'Two, or three?')
    >>> separate("Models write `</think>` before the answer.")
    ('Models write `</think>` before the answer.', None)
    """
    if not (_may_be_tagged(text) and _TAG.search(text)) and not (
        _CHANNEL.match(text) or _BARE_CHANNEL.match(text)
    ):
        return text, None
    thoughts: list[str] = []
    start = 0
    while (block := _block(text, start, lost_opening=lost_opening)) is not None:
        opening = _BEGIN.match(text, start)
        thoughts.append(text[opening.end() if opening else start : block[0]].strip())
        start = block[1]
    if not thoughts:
        return text, None
    answer = text[start:].lstrip()
    for token in _AROUND_ANSWERS:
        if token in answer:
            answer = answer.removeprefix(token).rstrip().removesuffix(token)
    return answer, "\n\n".join(filter(None, thoughts))


def _may_be_tagged(text: str) -> bool:
    """Look for signs and words that tags consist of: their search takes a tenth of a row's time."""
    if "<" not in text and "[" not in text and "◁" not in text:
        return False
    if not text.isascii():  # other letters may count as theirs
        return True
    words = text.lower()
    return any(word in words for word in _TAG_WORDS)


def beside(message: Mapping[str, Any]) -> str | None:
    """Return the reasoning that a message has beside its text: in a field, or in parts."""
    fields = [message.get(name) for name in _FIELDS]
    field = next((each for each in fields if isinstance(each, str) and each), None)
    content = message.get("content")
    parts = [_thought(part) for part in content] if isinstance(content, list) else []
    return "\n".join(filter(None, [field, *parts])) or None


def _thought(part: Any) -> str:
    """Return the text of a part that is reasoning; APIs name it differently."""
    if not isinstance(part, dict) or part.get("type") not in THOUGHTS:
        return ""
    names = ("thinking", "text", "summary", "content")
    value = next((part[name] for name in names if part.get(name)), "")
    texts = value if isinstance(value, list) else [value]
    texts = [each.get("text") if isinstance(each, dict) else each for each in texts]
    return "".join(each for each in texts if isinstance(each, str))


def answered(sample: Sample) -> Sample:
    """Set the reasoning of a sample's response apart, and that of the assistant's earlier turns."""
    update: dict[str, Any] = {}
    answer, thought = separate(sample.response or "", lost_opening=sample.reasoning is None)
    if thought is not None:
        reasoning = "\n\n".join(filter(None, (sample.reasoning, thought)))
        update = {"response": answer, "reasoning": reasoning}
    turns = tuple(map(_answered_turn, sample.conversation))
    if any(map(is_not, turns, sample.conversation)):
        update["conversation"] = turns
    return sample.model_copy(update=update) if update else sample


def has_no_answer(sample: Sample) -> bool:
    """Tell whether a response is reasoning and nothing else."""
    if sample.reasoning is None or sample.tool_calls:
        return False
    return is_blank(sample.response or "")


def _answered_turn(turn: Message) -> Message:
    if turn.role != "assistant":
        return turn
    answer, thought = separate(turn.content)
    if thought is None:
        return turn
    return turn.model_copy(update={"content": answer, "reasoning": thought})


def _block(text: str, start: int, *, lost_opening: bool) -> tuple[int, int] | None:
    """Return where the reasoning that begins at a place ends, and where the rest begins."""
    nowhere = len(text), len(text)
    if _CHANNEL.match(text, start):
        final = _FINAL.search(text, start)
        return final.span() if final else nowhere
    if _BARE_CHANNEL.match(text, start):
        at = text.find(_BARE_FINAL, start)
        return (at, at + len(_BARE_FINAL)) if at >= 0 else None
    if opening := _BEGIN.match(text, start):
        if closing := _CLOSE.search(text, opening.end()):
            return closing.span()
        return None if _MENTION.match(text, opening.end()) else nowhere
    for tag in _TAG.finditer(text, start) if lost_opening else ():
        if tag["opening"] or _ends_reasoning(text, tag):
            return None if tag["opening"] else tag.span()
    return None


def _ends_reasoning(text: str, tag: re.Match[str]) -> bool:
    """Tell a closing tag that ends what stands before it from one that a sentence mentions."""
    before = text[max(0, tag.start() - _NEAR) : tag.start()].rpartition("\n")[2]
    after = text[tag.end() : tag.end() + _NEAR].partition("\n")[0]
    if after.strip() and (after[0].isspace() or after[0] in _AFTER_MENTION):
        return False
    if not before.strip() or before.rstrip().endswith(_SENTENCE_ENDS):
        return True
    return not before[-1].isspace() and before[-1] not in _BEFORE_MENTION
