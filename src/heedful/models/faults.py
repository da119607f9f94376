"""Faults: replies other than completions, and whether to retry, stop, or give up the row."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import time
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from itertools import count
from typing import TYPE_CHECKING, Any

from heedful.core.errors import ModelError
from heedful.models.base import AuthError, ModelNotFound, QuotaError, Unreachable, Usage
from heedful.models.untrusted import label, parse, storable, usage, within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.errors import HeedfulError
    from heedful.models.redaction import Redactor

__all__ = ["METER", "Meter"]

OK = 200
_OVERLOADED = frozenset({408, 429, 503, 504, 529})
_NO_ENDPOINT = frozenset({301, 302, 303, 307, 308, 404, 405})
_REFUSED = frozenset({401, 403})
_PAYMENT_REQUIRED = 402
_SERVER_ERROR = 500
_NOT_IMPLEMENTED = 501

_FILTERED = re.compile(
    r"content_filter|content_policy|ResponsibleAIPolicyViolation|data_inspection_failed"
    r"|flagged_input|requires moderation|input was flagged",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(r"model_not_found|invalid model name", re.IGNORECASE)
"""OpenAI's code, and LiteLLM's words with status 400."""
_UNKNOWN_KEY = re.compile(r"no connected db|invalid_api_key", re.IGNORECASE)
"""LiteLLM's words with status 400: without a database it knows one key only."""
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|not support|unrecogni[sz]ed|unknown|unexpected|deprecated"
    r"|not permitted|not allowed",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"context.?length|context.?window|maximum context", re.IGNORECASE)


class FaultKind(Enum):
    """Kinds of faults, by what to do about them."""

    TRANSIENT = auto()
    """Try again."""
    OVERLOADED = auto()
    """Try again, all calls with a lower limit."""
    AUTH = auto()
    QUOTA = auto()
    NOT_FOUND = auto()
    UNREACHABLE = auto()
    """No call reached the server, and none will."""
    FILTERED = auto()
    """The provider's content filter will refuse this again."""
    INVALID = auto()
    """This request will be refused again as it is."""

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed the next time."""
        return self in (FaultKind.TRANSIENT, FaultKind.OVERLOADED)


@dataclass(frozen=True, slots=True)
class Fault:
    """Reason for a missing completion."""

    kind: FaultKind
    text: str  # with the server's own words
    retry_after: float | None = None  # seconds
    parameter: str | None = None  # the field of the request that the server refuses
    usage: Usage = field(default_factory=Usage)  # billed all the same
    model: str = ""

    def __post_init__(self) -> None:
        """Make the text one that can be stored, wherever its words come from."""
        object.__setattr__(self, "text", storable(self.text))


class FaultError(Exception):
    """Error that carries a fault up to the retry policy."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


def fault_of(status: int, headers: Mapping[str, str], body: bytes | Mapping[str, Any]) -> Fault:
    """Read a reply that isn't a completion."""
    content = _content(body)
    message, code, parameter = _explanation(content)
    if status in _NO_ENDPOINT and "Location" in headers:
        message = f"it redirects to {headers['Location']}"
    text = f"HTTP {status}" + (f": {message}" if message else "")
    kind = _kind(status, f"{code} {message}")
    fault = Fault(kind, text, retry_after(headers), parameter)
    if not isinstance(content, dict):
        return fault
    details = within(content if "usage" in content else content.get("error"))
    return replace(
        fault, usage=usage(details.get("usage")), model=label(content.get("model")) or ""
    )


def _kind(status: int, words: str) -> FaultKind:
    """Decide what to do about a status, given the server's code and message."""
    cases = (
        (status < _SERVER_ERROR and _FILTERED.search(words), FaultKind.FILTERED),
        (status in _REFUSED or _UNKNOWN_KEY.search(words), FaultKind.AUTH),
        # OpenAI says "too many requests" of an empty account too, and no waiting fills that.
        (status == _PAYMENT_REQUIRED or "insufficient_quota" in words, FaultKind.QUOTA),
        (status in _NO_ENDPOINT or _UNKNOWN_MODEL.search(words), FaultKind.NOT_FOUND),
        (status in _OVERLOADED, FaultKind.OVERLOADED),
        (status >= _SERVER_ERROR and status != _NOT_IMPLEMENTED, FaultKind.TRANSIENT),
    )
    return next((kind for holds, kind in cases if holds), FaultKind.INVALID)


def refused_parameter(fault: Fault, sent: Sequence[str]) -> str | None:
    """Find the field of a request that the server or the model does not support."""
    if not _UNSUPPORTED.search(fault.text) or _CONTEXT.search(fault.text):
        return None
    if fault.parameter in sent:
        return fault.parameter
    named = (name for name in sent if re.search(rf"\b{name}\b", fault.text))
    return next(named, None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read ``Retry-After``: seconds, or an HTTP date (RFC 9110, section 10.2.3)."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _content(body: bytes | Mapping[str, Any]) -> Any:
    """Parse a body where it is JSON; a text or a page is one line of text."""
    if not isinstance(body, bytes):
        return body
    try:
        return parse(body)
    except (ValueError, RecursionError):
        return " ".join(body.decode("utf-8", "replace").split())


def _explanation(content: Any) -> tuple[str, str, str | None]:
    """Find the message, the code and the parameter in an error, whatever its shape."""
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return _words(error), "", None
    message = _words(error.get("message") or error.get("detail") or error)
    details = [error[key] for key in ("metadata", "innererror") if error.get(key)]
    if details:
        message += f" {_words(details)}"
    parameter = error.get("param")
    return (
        message,
        f"{error.get('code') or ''} {error.get('type') or ''}",
        parameter if isinstance(parameter, str) else None,
    )


def _words(value: Any) -> str:
    """Show a JSON value on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


class Meter:
    """Receiver of usage that a call is billed beside its completion; this one records nothing."""

    def charge(self, model: str, usage: Usage) -> None:
        """Record a reply without an answer."""

    async def affordable(self) -> None:
        """Wait until another attempt at the call fits into what may be spent."""


METER: ContextVar[Meter] = ContextVar("heedful_meter", default=Meter())  # noqa: B039 - no state
"""Usage of the current call."""

_waiting: dict[int, float] = {}
"""When the pauses of calls end (``time.monotonic``), by a number of their own."""
_numbers = count()

REACH_HINT = "start the server, or check the base URL; then re-run the same command to resume"


def backoff(attempt: int, base_s: float, cap_s: float) -> float:
    """Return the seconds to wait after an attempt, counted from 0; jitter parts equal calls."""
    return min(cap_s, base_s * 2.0**attempt) * random.uniform(0.5, 1.0)


async def pause(seconds: float) -> None:
    """Sleep, and have :func:`waiting` count the pause."""
    key = next(_numbers)
    _waiting[key] = time.monotonic() + seconds
    try:
        await asyncio.sleep(seconds)
    finally:
        del _waiting[key]


def waiting() -> tuple[int, float]:
    """Return how many calls pause before another attempt, and the seconds until the first goes on.

    Both are 0 where none does.
    """
    if not _waiting:
        return 0, 0.0
    return len(_waiting), max(0.0, min(_waiting.values()) - time.monotonic())


def failure(
    fault: Fault, *, where: str, key_hint: str, name_hint: str, redact: Redactor
) -> HeedfulError:
    """Make the error that the caller sees of a fault."""
    kinds: dict[FaultKind, tuple[type[HeedfulError], str]] = {
        FaultKind.AUTH: (AuthError, key_hint),
        FaultKind.QUOTA: (
            QuotaError,
            "pay or raise the limit there, then re-run the same command to resume",
        ),
        FaultKind.NOT_FOUND: (ModelNotFound, name_hint),
        FaultKind.UNREACHABLE: (Unreachable, REACH_HINT),
    }
    kind, hint = kinds.get(fault.kind, (ModelError, ""))
    what = fault.text
    if fault.kind is FaultKind.FILTERED and "content_filter" not in what:
        what = f"content_filter: {what}"
    return kind(redact(what), where=where, hint=hint)
