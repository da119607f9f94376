"""Messages as providers' APIs have them, with their tool calls and images."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from heedful.core.errors import ModelError, UsageError
from heedful.core.text import common_prefix
from heedful.core.turns import Message, has_parts, image_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.models.base import Model


__all__ = ["content", "least_cached", "with_shared_prefix"]


def check_parts(model: Model, messages: Sequence[Message]) -> None:
    """Refuse to call a model without the images and tool calls that belong to messages."""
    if not has_parts(messages):
        return
    reason = next((why for turn in messages for why in map(image_problem, turn.images) if why), "")
    if not getattr(model, "sends_parts", False):
        reason = "it can't be sent images or tool calls"
    if reason:
        raise ModelError(reason, where=f"model {model.name}")


def openai_turn(turn: Message) -> dict[str, Any]:
    """Lay out a message for a chat completion."""
    if turn.role == "tool":
        return _tool_result(turn)
    if not turn.images and not turn.tool_calls:
        return {"role": turn.role, "content": turn.content}
    content: Any = turn.content
    if turn.images:
        urls = [{"type": "image_url", "image_url": {"url": url}} for url in turn.images]
        content = [*([{"type": "text", "text": content}] if content else []), *urls]
    calls = [
        {
            "id": call.id or f"call_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": _written(call.arguments)},
        }
        for number, call in enumerate(turn.tool_calls, start=1)
    ]
    said = {"role": turn.role, "content": content}
    return said | ({"tool_calls": calls} if calls else {})


def anthropic_blocks(turn: Message, text: str | list[dict[str, Any]]) -> Any:
    """Lay out a message's content for Anthropic's API: the text, and after it the images."""
    _refuse_calls(turn)
    if not turn.images:
        return text
    blocks = text if isinstance(text, list) else [{"type": "text", "text": text}] if text else []
    return [*blocks, *({"type": "image", "source": _source(url)} for url in turn.images)]


def gemini_parts(turn: Message) -> list[dict[str, Any]]:
    """Lay out a message's parts for Gemini's API."""
    _refuse_calls(turn)
    parts: list[dict[str, Any]] = [{"text": turn.content}]
    for url in turn.images:
        source = _source(url)
        if source["type"] == "url":
            parts.append({"fileData": {"fileUri": url}})
        else:
            inline = {"mimeType": source["media_type"], "data": source["data"]}
            parts.append({"inlineData": inline})
    return parts


def _source(url: str) -> dict[str, str]:
    kind, comma, data = url.partition(";base64,")
    if not comma:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": kind.removeprefix("data:"), "data": data}


def _refuse_calls(turn: Message) -> None:
    if turn.tool_calls:
        raise UsageError(
            "a conversation with tool calls isn't sent to this provider",
            hint="use an OpenAI-compatible address",
        )


def _tool_result(turn: Message) -> dict[str, Any]:
    call = (turn.model_extra or {}).get("tool_call_id")
    said = {"role": "tool", "content": turn.content}
    return said | ({"tool_call_id": call} if isinstance(call, str) else {})


def _written(arguments: Mapping[str, Any] | str) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


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
