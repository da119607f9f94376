"""Reading the body of a chat completion, as the many servers write it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heedful.core.noun import trusted
from heedful.core.reasoning import THOUGHTS, beside, separate
from heedful.models.base import Completion, Usage
from heedful.models.faults import Fault, FaultError, FaultKind, fault_of
from heedful.models.untrusted import items, label, log_probabilities, parse, usage, within

__all__ = ["without_reasoning"]

_STREAMED = (b"data:", b"event:")
"""The beginning of server-sent events."""

QUOTED_BYTES = 2000

_SERVER_ERROR = 500
_STATUSES = frozenset(map(str, range(400, 600)))


def read_completion(body: bytes) -> Completion:
    """Read the answer to a request for one completion.

    Reasoning comes apart from the answer (:mod:`heedful.core.reasoning`), but for a closing tag
    that nothing opened: a judge that quotes a response may have written it. The rest of the text is
    as the model wrote it, but for halves of surrogate pairs, which no file could hold. A fault says
    what it cost, as far as the server does.
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
    content = within(content)
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
    choice = next(iter(items(content.get("choices"))), {})
    message = choice.get("message")
    if not isinstance(message, dict):
        raise FaultError(Fault(FaultKind.TRANSIENT, "the answer holds no message"))
    finish_reason = label(choice.get("finish_reason"))
    if choice.get("error") or finish_reason == "error":
        raise FaultError(_reported(choice))
    if finish_reason == "content_filter":
        what = "the provider's content filter cut the answer (finish_reason content_filter)"
        raise FaultError(Fault(FaultKind.FILTERED, what))

    text, thought = separate(_text(message.get("content")), lost_opening=False)
    thoughts = [beside(message), thought]
    refusal = _string(message.get("refusal"))
    if refusal and not text:
        text, finish_reason = refusal, "refusal"
    first = next(iter(items(within(choice.get("logprobs")).get("content"))), {})
    read = {
        "text": text,
        "reasoning": "\n".join(filter(None, thoughts)) or None,
        "finish_reason": finish_reason,
        "usage": usage(content.get("usage")),
        "model": label(content.get("model")) or "",
        "first_tokens": log_probabilities(first.get("top_logprobs")),
    }
    return trusted(Completion, read)


def _reported(content: dict[str, Any]) -> Fault:
    """Read an error that came with status 200; it is the server's, unless its code says more."""
    code = within(content.get("error")).get("code")
    status = int(str(code)) if str(code) in _STATUSES else _SERVER_ERROR
    return fault_of(status, {}, content)


def _text(content: Any) -> str:
    """Join the text parts of a message's content."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") not in THOUGHTS:
            texts.append(_string(part.get("text")) or _string(part.get("refusal")) or "")
    return "".join(texts)


def without_reasoning(completion: Completion) -> Completion:
    """Set reasoning apart whose opening tag the chat template wrote.

    For responses and solutions. Never for a reply with verdicts, where the closing tag may be a
    quotation behind them.
    """
    text, thought = separate(completion.text) if completion.reasoning is None else ("", None)
    if thought is None:
        return completion
    return completion.model_copy(update={"text": text, "reasoning": thought})


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
