"""Messages as providers' APIs have them, with their tool calls and images."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import ModelError, UsageError
from heedful.core.images import image_problem
from heedful.core.turns import has_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.turns import Message
    from heedful.models.base import Model


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
