"""The beginning that prompts share, marked for providers that cache only what is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from heedful.core.nouns import Message
from heedful.core.text import common_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.base import Model

__all__ = ["content", "least_cached", "with_shared_prefix"]

_MARK = "shared_prefix"

HOSTED, LEAST_HOSTED = "api.openai.com", 1024
"""OpenAI's host; and the tokens from which on it and other providers cache a prefix."""


def with_shared_prefix(
    prompts: Sequence[Sequence[Message]],
) -> tuple[Sequence[Sequence[Message]], str]:
    """Mark how far several prompts begin alike."""
    first, *others = prompts
    if not others:
        return prompts, ""
    for place, message in enumerate(first):
        rest = [other[place] for other in others if place < len(other)]
        if len(rest) == len(others) and all(message == turn for turn in rest):
            continue
        same_role = len(rest) == len(others) and all(turn.role == message.role for turn in rest)
        texts = [turn.content for turn in rest] if same_role else [""]
        length = min(common_prefix(message.content, text) for text in texts)
        shared = "\n".join([*(turn.content for turn in first[:place]), message.content[:length]])
        if not length:
            return prompts, shared
        return [_marked(prompt, place, length) for prompt in prompts], shared
    return prompts, "\n".join(turn.content for turn in first)


def content(message: Message) -> str | list[dict[str, Any]]:
    """Lay out a message's text as Anthropic has it: the part that others share is to be cached."""
    length = (message.model_extra or {}).get(_MARK)
    text = message.content
    if message.role != "user" or not isinstance(length, int) or not 0 < length < len(text):
        return text
    return [
        {"type": "text", "text": text[:length], "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": text[length:]},
    ]


def _marked(prompt: Sequence[Message], place: int, length: int) -> list[Message]:
    turn = prompt[place]
    marked = Message.model_validate({**turn.model_dump(), _MARK: length})
    return [*prompt[:place], marked, *prompt[place + 1 :]]


def least_cached(model: Model) -> int:
    """Return the tokens from which on a model's server caches a prefix; 0 for one of your own."""
    address = str(getattr(model, "address", None) or "")
    hosted = hasattr(model, "provider") or urlsplit(address).hostname == HOSTED
    return LEAST_HOSTED if hosted else 0
