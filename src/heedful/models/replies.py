"""Reading the body of a chat completion, as the many servers write it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from heedful.core.noun import trusted
from heedful.models.base import Completion, Usage, is_cut_off
from heedful.models.faults import Fault, FaultError, FaultKind, fault_of
from heedful.models.untrusted import label, log_probabilities, parse, usage

__all__ = ["without_thinking"]

_THOUGHTS = frozenset({"thinking", "reasoning"})
_OPEN, _CLOSE = "<think>", "</think>"
_CLOSED = re.compile(rf"^[ \t]*{_CLOSE}[ \t]*$", re.MULTILINE)
"""The end of thinking on a line of its own."""

_STREAMED = (b"data:", b"event:")
"""The beginning of server-sent events."""

QUOTED_BYTES = 2000

_SERVER_ERROR = 500
_STATUSES = frozenset(map(str, range(400, 600)))


def read_completion(body: bytes) -> Completion:
    """Read the answer to a request for one completion.

    Reasoning comes apart from the answer: from a field of its own (``reasoning_content``,
    ``reasoning``, or a part of the content), and from a ``<think>`` block that the text begins
    with.
    The rest of the text is as the model wrote it, but for halves of surrogate pairs, which no
    file could hold. A fault says what it cost, as far as the server does.
    """
    if body.lstrip().startswith(_STREAMED):
        what = "the server sends its answers as a stream, although none was requested"
        raise FaultError(Fault(FaultKind.NOT_FOUND, what))
    try:
        content = parse(body)
    except (ValueError, RecursionError) as error:
        start = " ".join(body[:QUOTED_BYTES].decode("utf-8", "replace").split())
        what = f"the answer is not JSON ({error}); it begins {start!r}"
        raise FaultError(Fault(FaultKind.TRANSIENT, what)) from None
    content = content if isinstance(content, dict) else {}
    try:
        return _completion(content)
    except FaultError as error:
        fault = error.fault
        if fault.usage == Usage():
            fault = replace(fault, usage=usage(content.get("usage")))
        raise FaultError(replace(fault, model=label(content.get("model")) or "")) from None


def _completion(content: dict[str, Any]) -> Completion:
    """Read the answer, or raise the fault, of a JSON object."""
    if content.get("error"):
        raise FaultError(_reported(content))
    choice = _first(content.get("choices"))
    message = choice.get("message")
    if not isinstance(message, dict):
        raise FaultError(Fault(FaultKind.TRANSIENT, "the answer holds no message"))
    finish_reason = label(choice.get("finish_reason"))
    if choice.get("error") or finish_reason == "error":
        raise FaultError(_reported(choice))
    if finish_reason == "content_filter":
        what = "the provider's content filter cut the answer (finish_reason content_filter)"
        raise FaultError(Fault(FaultKind.FILTERED, what))

    text, thoughts = _parts(message.get("content"))
    reasoning = [_string(message.get(key)) or "" for key in ("reasoning_content", "reasoning")]
    text, thought = split_thinking(text, cut=is_cut_off(finish_reason))
    thoughts = [reasoning[0] or reasoning[1], *thoughts, thought]
    refusal = _string(message.get("refusal"))
    if refusal and not text:
        text, finish_reason = refusal, "refusal"
    logprobs = choice.get("logprobs")
    logprobs = logprobs if isinstance(logprobs, dict) else {}
    read = {
        "text": text,
        "reasoning": "\n".join(filter(None, thoughts)) or None,
        "finish_reason": finish_reason,
        "usage": usage(content.get("usage")),
        "model": label(content.get("model")) or "",
        "first_tokens": log_probabilities(_first(logprobs.get("content")).get("top_logprobs")),
    }
    return trusted(Completion, read)


def _reported(content: dict[str, Any]) -> Fault:
    """Read an error that came with status 200; it is the server's, unless its code says more."""
    error = content.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    status = int(str(code)) if str(code) in _STATUSES else _SERVER_ERROR
    return fault_of(status, {}, content)


def _parts(content: Any) -> tuple[str, list[str]]:
    """Join the text parts of a message's content, and gather the thinking parts."""
    if isinstance(content, str):
        return content, []
    texts, thoughts = [], []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and _string(part.get("type")) in _THOUGHTS:
            thought = part.get("thinking") or part.get("text")
            thoughts.append(_parts(thought)[0])
        elif isinstance(part, dict):
            texts.append(_string(part.get("text")) or _string(part.get("refusal")) or "")
    return "".join(texts), thoughts


def split_thinking(text: str, *, cut: bool) -> tuple[str, str]:
    """Split off the block of thinking that a text begins with; one that was cut may be open.

    A closing tag that nothing opened is left in the text: a judge that quotes a response may have
    written it, and its verdicts stand before it. Whoever knows the format of the reply decides
    (:func:`heedful.judges.prompts.base.answer`); for text without verdicts see
    :func:`without_thinking`.
    """
    begun = text.lstrip()
    if not begun.startswith(_OPEN):
        return text, ""
    thought, close, rest = begun.removeprefix(_OPEN).partition(_CLOSE)
    if not close:
        return ("", thought.strip()) if cut else (text, "")
    return rest.lstrip(), thought.strip()


def without_thinking(completion: Completion) -> Completion:
    """Split off thinking that the chat template opened, so that the text only closes it.

    For responses and solutions. Never for a reply with verdicts, where the closing tag may be a
    quotation behind them.
    """
    closing = None if completion.reasoning else _CLOSED.search(completion.text)
    if closing is None or _OPEN in completion.text[: closing.start()]:
        return completion
    text = completion.text[closing.end() :].lstrip()
    thought = completion.text[: closing.start()].strip()
    return completion.model_copy(update={"text": text, "reasoning": thought or None})


def _first(choices: Any) -> dict[str, Any]:
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
