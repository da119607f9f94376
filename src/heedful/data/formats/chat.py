"""Messages as chat APIs have them: parts of text, tool calls and their results, images.

OpenAI's shape (``tool_calls``, ``function_call``, ``image_url``) and Anthropic's content blocks
(``tool_use``, ``tool_result``, ``image``) become the same turns. A model's reasoning becomes the
turn's field ``reasoning``, which isn't judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from heedful.core.errors import RowError
from heedful.core.reasoning import THOUGHTS, beside
from heedful.core.turns import Message
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TEXT = ("text", "input_text", "output_text", "refusal")
_BESIDE = frozenset({"tool_calls", "function_call", "images"})
_OWN = _BESIDE | {"role", "content"}


def is_plain(message: Mapping[str, Any]) -> bool:
    """Tell whether a message is its text and nothing else."""
    return isinstance(message.get("content"), str) and _BESIDE.isdisjoint(message)


def turns(message: Mapping[str, Any], where: str) -> list[Message]:
    """Make the turns of a message: results of tools are turns of their own."""
    calls = _calls(message, where)
    thought = beside(message)
    content = message.get("content")
    if content is None and isinstance(message.get("refusal"), str):
        content = message["refusal"]
    if content in (None, []) and not calls and thought is None:
        is_what = f"{shown(content)}, not text" if "content" in message else "missing"
        raise RowError(f"{where}.content is {is_what}")
    made: list[Message] = []
    texts: list[str] = []
    images = _images(message.get("images"), where)
    for part, place in _parts(content, f"{where}.content"):
        kind = part.get("type", "text")
        if kind == "tool_result":
            made.append(_result(part, place))
        elif kind == "tool_use":
            calls.append({name: each for name, each in part.items() if name != "type"})
        elif (url := _image(part)) is not None:
            images.append(url)
        elif kind not in THOUGHTS:
            texts.append(_text(part, place))
    said = {"content": "".join(texts), "tool_calls": calls, "images": images}
    if any(said.values()) or not made:
        others = {name: each for name, each in message.items() if name not in _OWN}
        others |= {"reasoning": thought} if thought else {}
        kept = {name: value for name, value in said.items() if value or name == "content"}
        role = message.get("role", "assistant")
        made.append(Message.model_validate({**others, "role": role, **kept}))
    return made


def text_of(parts: list[dict[str, Any]], where: str) -> str:
    """Return the text of a message's parts, which must be text; reasoning isn't."""
    read = _parts(parts, where)
    return "".join(_text(part, at) for part, at in read if part.get("type") not in THOUGHTS)


def is_message(value: Any) -> TypeGuard[dict[str, Any] | list[Any]]:
    """Tell whether a value is a message, or its parts."""
    if isinstance(value, dict):
        return "content" in value or "tool_calls" in value
    return isinstance(value, list) and bool(value) and all(isinstance(p, dict) for p in value)


def response(value: Mapping[str, Any] | list[Any], where: str) -> dict[str, Any]:
    """Read a response that is a message or its parts, as fields of a sample."""
    message = value if isinstance(value, dict) else {"content": value}
    made = turns({"role": "assistant", **message}, where)
    return answered(made[-1], where) if len(made) == 1 else _refuse(where)


def answered(turn: Message, where: str) -> dict[str, Any]:
    """Take an assistant's turn as a response: its text, its tool calls and its reasoning."""
    if turn.role != "assistant" or turn.images:
        _refuse(where)
    said = {
        "response": turn.content,
        "tool_calls": turn.tool_calls or None,
        "reasoning": beside(turn.model_extra or {}),
    }
    return {name: value for name, value in said.items() if value is not None}


def _refuse(where: str) -> Any:
    raise RowError(f"{where} isn't an assistant's text and tool calls", hint="give its text")


def _calls(message: Mapping[str, Any], where: str) -> list[Any]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise RowError(f"{where}.tool_calls is {shown(calls)}, not a list of calls")
    old = message.get("function_call")
    return [*calls, *([old] if isinstance(old, dict) else [])]


def _images(urls: Any, where: str) -> list[str]:
    if urls is None:
        return []
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise RowError(f"{where}.images is {shown(urls)}, not a list of addresses or paths")
    return [*urls]


def _parts(content: Any, where: str) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(content, str):
        content = [{"text": content}]
    elif content is None:
        return
    if not isinstance(content, list):
        raise RowError(f"{where} is {shown(content)}, not text")
    for place, part in enumerate(content):
        name = f"{where}[{place}]"
        if not isinstance(part, dict | str):
            raise RowError(f"{name} is {shown(part)}, not a part of a message")
        yield ({"text": part} if isinstance(part, str) else part), name


def _text(part: Mapping[str, Any], where: str) -> str:
    kind = part.get("type", "text")
    value = part.get("refusal") if kind == "refusal" else part.get("text")
    if kind in _TEXT and isinstance(value, str):
        return value
    known = "text, images, tool calls and their results"
    raise RowError(f"{where} is of type {kind!r:.40}; heedful reads parts that are {known}")


def _image(part: Mapping[str, Any]) -> str | None:
    """Return an image's URL, or ``None`` where a part is something else."""
    kind = part.get("type")
    if kind in ("image_url", "input_image"):
        url = part.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        return url if isinstance(url, str) else None
    source = part.get("source")
    if kind != "image" or not isinstance(source, dict):
        url = part.get("url") or part.get("path") or part.get("image")
        return url if kind == "image" and isinstance(url, str) else None
    if isinstance(source.get("url"), str):
        return str(source["url"])
    data, media = source.get("data"), source.get("media_type")
    if isinstance(data, str) and isinstance(media, str):
        return f"data:{media};base64,{data}"
    return None


def _result(part: Mapping[str, Any], where: str) -> Message:
    """Make the turn of a tool's result."""
    content = part.get("content")
    texts, images = [], []
    for inner, place in _parts(content, f"{where}.content"):
        url = _image(inner)
        if url is None:
            texts.append(_text(inner, place))
        else:
            images.append(url)
    fields: dict[str, Any] = {"role": "tool", "content": "".join(texts)}
    more = {"images": images, "tool_call_id": part.get("tool_use_id")}
    if part.get("is_error"):
        more["is_error"] = True
    return Message.model_validate(fields | {name: each for name, each in more.items() if each})
