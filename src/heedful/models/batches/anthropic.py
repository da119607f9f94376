"""Anthropic's Message Batches: requests in one body, answers by ``custom_id``.

https://docs.anthropic.com/en/docs/build-with-claude/batch-processing
"""

from __future__ import annotations

import tempfile
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from heedful.core.errors import UsageError
from heedful.models.base import Completion, Usage
from heedful.models.batches.base import (
    SKEW_S,
    UNCLEAR,
    BatchService,
    BatchStatus,
    Connection,
    name,
    split_system,
)
from heedful.models.faults import Fault, FaultKind, fault_of
from heedful.models.turns import anthropic_blocks
from heedful.models.untrusted import count, items, label, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence
    from typing import BinaryIO

    from heedful.core.nouns import Message
    from heedful.models.base import Sampling

ADDRESS = "https://api.anthropic.com"
MAX_TOKENS = 8192
"""Tokens that an answer may have where nobody says; the API wants a number."""

_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches(BatchService):
    """The batches of one model."""

    provider = "anthropic"
    requests = 100_000
    size = 256 * 10**6

    def __init__(
        self, model: str, *, api_key: str, base_url: str | None = None, backoff_s: float = 1.0
    ) -> None:
        headers = {"x-api-key": api_key, "anthropic-version": "2023-06-01"}
        address = (base_url or ADDRESS).rstrip("/").removesuffix("/v1")
        http = Connection(f"{address}/v1/messages", headers, backoff_s=backoff_s)
        super().__init__(model, http)

    def request(
        self, number: str, messages: Sequence[Message], sampling: Sampling, sample: int
    ) -> bytes:
        """Write a request; system turns become the system prompt."""
        del sample
        if sampling.response_format is not None:
            what = "this prompt needs a JSON schema for its reply; a batch here has no field for it"
            raise UsageError(what, where=f"model {self._model}", hint="use another --prompt")
        system, turns = split_system(messages)
        params = {
            "model": self._model,
            "max_tokens": sampling.max_tokens or MAX_TOKENS,
            "messages": [
                {"role": turn.role, "content": anthropic_blocks(turn, turn.content)}
                for turn in turns
            ],
            "system": system or None,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        given = {field: value for field, value in params.items() if value is not None}
        return to_json({"custom_id": number, "params": given | sampling.extra})

    async def submit(self, requests: BinaryIO, tag: str) -> str:
        """Send the requests as one body."""
        del tag  # stands in each custom_id
        with tempfile.TemporaryFile() as body:
            body.write(b'{"requests":[')
            for place, line in enumerate(requests):
                body.write((b"," if place else b"") + line.rstrip(b"\n"))
            body.write(b"]}")
            body.seek(0)
            headers = {"Content-Type": "application/json"}
            batch, _ = await self._http.send("POST", "/batches", data=body, headers=headers)
        return name(batch.get("id"), "the batch")

    async def find(self, tag: str, count: int, since: float, taken: Collection[str]) -> str | None:
        """Find the batch: as many requests, made since, with our tag in its results.

        Batches carry no tag but there, so while one that may be ours is worked on, nobody can tell.
        """
        unclear = False
        async for batch in self._http.pages("/batches?limit=1000", "data", "after_id"):
            if _began(batch) < since - SKEW_S:
                break
            if batch.get("id") in taken or _requests(batch) != count:
                continue
            ident = name(batch.get("id"), "the batch")
            if batch.get("processing_status") != "ended":
                unclear = True
            elif await self._has_tag(ident, tag):
                return ident
        return UNCLEAR if unclear else None

    async def _has_tag(self, batch: str, tag: str) -> bool:
        async for number, _ in self.answers(batch):
            return number.startswith(tag)
        return False

    async def status(self, batch: str) -> BatchStatus:
        """Say how far it is."""
        shown = await self._http.get(f"/batches/{batch}")
        counts = within(shown.get("request_counts"))
        answered = sum(count(counts.get(key)) for key in _COUNTS[1:])
        return BatchStatus(ended=shown.get("processing_status") == "ended", answered=answered)

    async def answers(self, batch: str) -> AsyncIterator[tuple[str, Completion | Fault]]:
        """Read the results."""
        async for line in self._http.lines(f"/batches/{batch}/results"):
            yield str(line.get("custom_id")), _answer(within(line.get("result")))


def _began(batch: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(batch.get("created_at"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _requests(batch: dict[str, Any]) -> int:
    counts = within(batch.get("request_counts"))
    return sum(count(counts.get(key)) for key in _COUNTS)


def _answer(result: dict[str, Any]) -> Completion | Fault:
    kind = result.get("type")
    if kind == "succeeded":
        return read_message(within(result.get("message")))
    if kind != "errored":
        return Fault(FaultKind.TRANSIENT, f"the request was {label(kind) or 'lost'}")
    error = within(result.get("error"))
    error = within(error.get("error")) or error
    return fault_of(_STATUSES.get(str(error.get("type")), 500), {}, {"error": error})


def read_message(message: dict[str, Any]) -> Completion | Fault:
    """Read an Anthropic message as a completion; its usage has cached tokens apart."""
    blocks = items(message.get("content"))
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    thoughts = [text for block in blocks if isinstance(text := block.get("thinking"), str)]
    usage = within(message.get("usage"))
    cached = count(usage.get("cache_read_input_tokens"))
    sent = count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens"))
    reason = label(message.get("stop_reason"))
    if not blocks and reason is None:
        return Fault(FaultKind.TRANSIENT, "the answer holds no message")
    return Completion(
        text="".join(texts),
        reasoning="\n".join(thoughts) or None,
        finish_reason={"end_turn": "stop", "stop_sequence": "stop"}.get(reason or "", reason),
        usage=Usage(
            prompt_tokens=sent + cached,
            cached_tokens=cached,
            completion_tokens=count(usage.get("output_tokens")),
        ),
        model=label(message.get("model")) or "",
    )
