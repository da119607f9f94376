"""OpenAI's Batch API, and servers that speak it: a file of requests, a file of answers and errors.

https://platform.openai.com/docs/guides/batch
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from heedful.models.batches.base import (
    SKEW_S,
    BatchService,
    BatchStatus,
    Connection,
    name,
)
from heedful.models.faults import OK, Fault, FaultError, FaultKind, fault_of
from heedful.models.replies import read_completion
from heedful.models.untrusted import count, items, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator, Sequence
    from typing import BinaryIO

    from heedful.core.errors import HeedfulError
    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Sampling
    from heedful.models.openai import OpenAIModel

_ENDED = frozenset({"completed", "expired", "cancelled"})
_AGAIN = frozenset({"batch_expired", "batch_cancelled"})
"""Codes of requests that were never worked on."""

_CROWDED = "token_limit_exceeded"
"""Code of a batch with more tokens than the organization may have in the queue."""

_UNKNOWN_PATH = ("HTTP 404", "HTTP 405", "HTTP 501")

ADAPTABLE = ("temperature", "top_p", "max_tokens", "max_completion_tokens")
"""Parameters that a batch of an earlier session may have had."""


class OpenAIBatches(BatchService):
    """The batches of one model."""

    requests = 50_000
    size = 200 * 10**6

    def __init__(self, model: OpenAIModel, *, backoff_s: float = 1.0) -> None:
        headers = {key: value for key, value in model.headers.items() if key != "Content-Type"}
        http = Connection(model.address, headers, redact=model.redact, backoff_s=backoff_s)
        super().__init__(model.name, http)
        self._asked = model
        self._fields: dict[str, Any] = dict.fromkeys(ADAPTABLE)

    def request(
        self, number: str, messages: Sequence[Message], sampling: Sampling, sample: int
    ) -> bytes:
        """Write a request as a line of the input file."""
        body = self._fields = self._asked.body(messages, sampling, sample)
        url = "/v1/chat/completions"
        return to_json({"custom_id": number, "method": "POST", "url": url, "body": body})

    async def submit(self, requests: BinaryIO, tag: str) -> str:
        """Upload the file, and make a batch of it."""
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", requests, filename=f"{tag}.jsonl", content_type="application/jsonl")
        with _no_endpoint():
            file, _ = await self._http.send("POST", "/files", data=form)
            content = {
                "input_file_id": file.get("id"),
                "endpoint": "/v1/chat/completions",
                "completion_window": "24h",
                "metadata": {"heedful": tag},
            }
            batch, _ = await self._http.send("POST", "/batches", json=content)
        return name(batch.get("id"), "the batch")

    async def find(self, tag: str, count: int, since: float, taken: Collection[str]) -> str | None:
        """Find the batch with our tag among the latest."""
        del count, taken
        with _no_endpoint():
            async for batch in self._http.pages("/batches?limit=100", "data", "after"):
                if within(batch.get("metadata")).get("heedful") == tag:
                    return name(batch.get("id"), "the batch")
                begun = batch.get("created_at")
                if isinstance(begun, int) and begun < since - SKEW_S:
                    return None
        return None

    async def status(self, batch: str) -> BatchStatus:
        """Say how far it is."""
        shown = await self._http.get(f"/batches/{batch}")
        state = shown.get("status")
        if state == "failed":
            errors = items(within(shown.get("errors")).get("data"))
            said = "; ".join(str(error.get("message")) for error in errors[:3])
            crowded = any(error.get("code") == _CROWDED for error in errors)
            return BatchStatus(ended=True, refused=said or "the batch failed", crowded=crowded)
        counts = within(shown.get("request_counts"))
        answered = count(counts.get("completed")) + count(counts.get("failed"))
        return BatchStatus(ended=state in _ENDED, answered=answered)

    async def answers(self, batch: str) -> AsyncIterator[tuple[str, Completion | Fault]]:
        """Read the file of answers, then that of errors."""
        shown = await self._http.get(f"/batches/{batch}")
        for key in ("output_file_id", "error_file_id"):
            if shown.get(key):
                file = name(shown[key], "a file")
                async for line in self._http.lines(f"/files/{file}/content"):
                    yield str(line.get("custom_id")), _answer(line)

    def adapt(self, fault: Fault) -> bool:
        """Leave out a parameter that the model refuses."""
        return self._asked.adapt(fault, self._fields)

    def failure(self, fault: Fault) -> HeedfulError:
        """Make the error that the user sees."""
        return self._asked.failure(fault)


@contextmanager
def _no_endpoint() -> Iterator[None]:
    """Explain that a server has no batch endpoint."""
    try:
        yield
    except FaultError as error:
        if not error.fault.text.startswith(_UNKNOWN_PATH):
            raise
        text = f"it has no batch endpoint ({error.fault.text[:8]}); take --executor local"
        raise FaultError(Fault(FaultKind.INVALID, text)) from None


def _answer(line: dict[str, Any]) -> Completion | Fault:
    response = within(line.get("response"))
    error = within(line.get("error"))
    if error and str(error.get("code")) in _AGAIN:
        return Fault(FaultKind.TRANSIENT, str(error.get("message") or error.get("code")))
    status = count(response.get("status_code"))
    if status == OK:
        try:
            return read_completion(to_json(response.get("body")))
        except FaultError as fault:
            return fault.fault
    return fault_of(status or 500, {}, within(response.get("body")) or {"error": error})
