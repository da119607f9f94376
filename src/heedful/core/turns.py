"""Messages of a conversation: their text, and the tool calls and images beside it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from heedful.core.noun import Noun

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST_IMAGE = 20 << 20
"""Bytes of an image; servers take no more."""

_DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})")
_WEB = re.compile(r"https?://[^\s/]+", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)

_ELSEWHERE = ("input", "args", "parameters")
"""What other APIs call the arguments."""


class ToolCall(Noun):
    """One call of a tool, as a chat API has it.

    It is also read from OpenAI's shape, ``{"function": {"name": …, "arguments": "{…}"}}``, and from
    Anthropic's, ``{"name": …, "input": {…}}``.

    Attributes:
        name: the tool's.
        arguments: by their names; text where the model wrote what isn't a JSON object.
        id: by which its result refers to it.
    """

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None

    @property
    def shown(self) -> str:
        """The call as a judge and a page show it: the name, and the arguments as JSON."""
        given = self.arguments
        return f"{self.name}({given if isinstance(given, str) else _json(given)})"

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        inner = value.get("function")
        if isinstance(inner, dict):
            outer = {key: each for key, each in value.items() if key not in ("function", "type")}
            value = outer | inner
        other = next((name for name in _ELSEWHERE if name in value), None)
        if other is not None and "arguments" not in value:
            value = {key: each for key, each in value.items() if key != other} | {
                "arguments": value[other]
            }
        arguments = value.get("arguments")
        if isinstance(arguments, str):
            return value | {"arguments": _parsed(arguments)}
        if arguments is None:
            return {key: each for key, each in value.items() if key != "arguments"}
        return value


class Message(Noun):
    """One turn of a conversation.

    Attributes:
        role: ``system``, ``user``, ``assistant``, ``tool``, …
        content: its text.
        tool_calls: the calls that an assistant's turn makes, after its text.
        images: ``http(s):`` and ``data:`` URLs, or paths, of the images that come with the text.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    images: tuple[str, ...] = ()


def has_parts(turns: Iterable[Message]) -> bool:
    """Tell whether any turn is more than its text."""
    return any(turn.tool_calls or turn.images for turn in turns)


def pieces(turn: Message) -> list[tuple[str, str]]:
    """List what a page shows of a turn, each with its role: text, tool calls, images.

    Images are named, not shown: an address that a page loads tells who reads it.
    """
    calls = [("tool call", each.shown) for each in turn.tool_calls]
    images = [("image", _named(url)) for url in turn.images]
    text = [(turn.role, turn.content)] if turn.content or not (calls or images) else []
    thought = (turn.model_extra or {}).get("reasoning")
    thoughts = [("reasoning", thought)] if isinstance(thought, str) else []
    return [*thoughts, *text, *calls, *images]


def calls_by_turn(
    turns: Iterable[Message], response: Iterable[ToolCall] = ()
) -> tuple[tuple[ToolCall, ...], ...]:
    """Divide the tool calls of a conversation and its response by the user's turns."""
    calls: list[list[ToolCall]] = [[]]
    for turn in turns:
        if turn.role == "user":
            calls.append([])
        calls[-1] += turn.tool_calls
    calls[-1] += response
    return tuple(map(tuple, calls))


def has_scheme(url: str) -> bool:
    """Tell an address from a path."""
    return _SCHEME.match(url) is not None


def image_problem(url: str) -> str | None:
    """Say why an image can't be passed on, never what it holds; ``None`` where it can."""
    if _WEB.match(url):
        return None
    if url[:5].lower() == "data:":
        match = _DATA.fullmatch(url)
        if match is None or len(match[1]) % 4:
            return "an image is data of another kind than base64 of PNG, JPEG, GIF or WebP"
        return (
            "an image is larger than 20 MiB" if len(match[1]) > LARGEST_IMAGE * 4 // 3 + 4 else None
        )
    if has_scheme(url):
        return f"an image has the address {url[:40]!r}, which isn't one of the web"
    return f"the image {url[:80]!r} is a file, and files are read only with --images FOLDER"


def _named(url: str) -> str:
    kind, comma, data = url.partition(",")
    if url[:5].lower() != "data:" or not comma:
        return url[:300]
    return f"{kind[5:60].partition(';')[0]}, {len(data) * 3 // 4:,} bytes"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _parsed(text: str) -> dict[str, Any] | str:
    """Read arguments; a model may write anything there."""
    try:
        value = json.loads(text or "{}")
        _json(value)  # NaN and numbers that are too large are none of JSON's
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
