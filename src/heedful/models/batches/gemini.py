"""Gemini's Batch API: a file of requests, a file of answers, both by key.

https://ai.google.dev/gemini-api/docs/batch-api
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from heedful.models.base import Completion, Usage
from heedful.models.batches.base import (
    BatchService,
    BatchStatus,
    Connection,
    name,
    split_system,
)
from heedful.models.faults import Fault, FaultError, FaultKind, fault_of
from heedful.models.turns import gemini_parts
from heedful.models.untrusted import count, items, label, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence
    from typing import BinaryIO

    from heedful.core.nouns import Message
    from heedful.models.base import Sampling

ADDRESS = "https://generativelanguage.googleapis.com"
INLINE_BYTES = 18 * 10**6
"""Requests of so many bytes go into the body that makes the batch, which may have 20 MB."""

_REFUSED = ("FAILED",)
_ENDED = ("SUCCEEDED", "EXPIRED", "CANCELLED")
_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})
_HTTP = {3: 400, 5: 404, 7: 403, 8: 429, 14: 503, 16: 401}
"""HTTP statuses of the codes of google.rpc.Code."""


class GeminiBatches(BatchService):
    """The batches of one model."""

    provider = "gemini"
    requests = 100_000
    size = 2 * 10**9

    def __init__(
        self, model: str, *, api_key: str, base_url: str | None = None, backoff_s: float = 1.0
    ) -> None:
        address = (base_url or ADDRESS).rstrip("/").removesuffix("/v1beta")
        http = Connection(address, {"x-goog-api-key": api_key}, backoff_s=backoff_s)
        super().__init__(model.removeprefix("models/"), http)

    def request(
        self, number: str, messages: Sequence[Message], sampling: Sampling, sample: int
    ) -> bytes:
        """Write a request; system turns become the system instruction."""
        system, turns = split_system(messages)
        config = {
            "temperature": sampling.temperature,
            "topP": sampling.top_p,
            "maxOutputTokens": sampling.max_tokens,
            "seed": None if sampling.seed is None else sampling.seed + sample,
            **_format(sampling.response_format),
        }
        body: dict[str, Any] = {
            "contents": [
                {
                    "role": "model" if turn.role == "assistant" else "user",
                    "parts": gemini_parts(turn),
                }
                for turn in turns
            ],
            "generationConfig": {key: value for key, value in config.items() if value is not None},
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        return to_json({"key": number, "request": body | sampling.extra})

    async def submit(self, requests: BinaryIO, tag: str) -> str:
        """Send the requests within the body that makes the batch, or as a file before it."""
        size = requests.seek(0, os.SEEK_END)
        requests.seek(0)
        path = f"/v1beta/models/{self._model}:batchGenerateContent"
        if size <= INLINE_BYTES:
            body = _inline(requests, tag)
            headers = {"Content-Type": "application/json"}
            operation, _ = await self._http.send("POST", path, data=body, headers=headers)
        else:
            file = await self._upload(requests, size, tag)
            batch = {"displayName": tag, "inputConfig": {"fileName": file}}
            operation, _ = await self._http.send("POST", path, json={"batch": batch})
        return name(operation.get("name"), "the batch")

    async def _upload(self, requests: BinaryIO, size: int, tag: str) -> str:
        begin = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(size),
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        content = {"file": {"displayName": tag}}
        _, answer = await self._http.send(
            "POST", "/upload/v1beta/files", json=content, headers=begin
        )
        place = answer.get("X-Goog-Upload-URL", "")
        if not place.startswith(f"{self._http.address}/"):  # the key would go elsewhere
            what = "the server names another server to upload to"
            raise FaultError(Fault(FaultKind.INVALID, what))
        end = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
        path = place.removeprefix(self._http.address)
        file, _ = await self._http.send("POST", path, data=requests, headers=end)
        return name(within(file.get("file")).get("name"), "the file")

    async def find(self, tag: str, count: int, since: float, taken: Collection[str]) -> str | None:
        """Find the batch with our tag for a name among the latest."""
        del count, since, taken
        path = "/v1beta/batches?pageSize=100"
        async for operation in self._http.pages(path, "operations", "pageToken"):
            if within(operation.get("metadata")).get("displayName") == tag:
                return name(operation.get("name"), "the batch")
        return None

    async def status(self, batch: str) -> BatchStatus:
        """Say how far it is."""
        operation = await self._http.get(f"/v1beta/{batch}")
        metadata = within(operation.get("metadata"))
        state = str(metadata.get("state"))
        if state.endswith(_REFUSED) or (operation.get("done") and operation.get("error")):
            said = within(operation.get("error")).get("message")
            return BatchStatus(ended=True, refused=str(said or "the batch failed"))
        stats = within(metadata.get("batchStats"))
        answered = count(stats.get("successfulRequestCount")) + count(
            stats.get("failedRequestCount")
        )
        return BatchStatus(ended=state.endswith(_ENDED), answered=answered)

    async def answers(self, batch: str) -> AsyncIterator[tuple[str, Completion | Fault]]:
        """Read the answers, from within the batch or from its file."""
        operation = await self._http.get(f"/v1beta/{batch}")
        output = within(operation.get("response")) or within(
            within(operation.get("metadata")).get("output")
        )
        inlined = within(output.get("inlinedResponses")).get("inlinedResponses")
        for item in items(inlined):
            yield str(within(item.get("metadata")).get("key")), _answer(item)
        if output.get("responsesFile"):
            file = name(output["responsesFile"], "the file")
            path = f"/download/v1beta/{file}:download?alt=media"
            async for line in self._http.lines(path):
                yield str(line.get("key")), _answer(line)


def _format(wanted: dict[str, Any] | None) -> dict[str, Any]:
    if wanted is None:
        return {}
    schema = within(wanted.get("json_schema")).get("schema")
    given = {"responseMimeType": "application/json"}
    return given if schema is None else given | {"responseJsonSchema": schema}


def _inline(requests: BinaryIO, tag: str) -> bytes:
    """Write the body of a batch whose requests stand in it."""
    entries = []
    for line in requests:
        key, _, request = line.removeprefix(b'{"key":').partition(b',"request":')
        entries.append(
            b'{"request":' + request.rstrip(b"\n")[:-1] + b',"metadata":{"key":' + key + b"}}"
        )
    head = to_json(tag).join(
        [b'{"batch":{"displayName":', b',"inputConfig":{"requests":{"requests":[']
    )
    return head + b",".join(entries) + b"]}}}}"


def _answer(line: dict[str, Any]) -> Completion | Fault:
    error = within(line.get("error"))
    if error:
        status = _HTTP.get(count(error.get("code")), count(error.get("code")))
        return fault_of(status if status >= 400 else 500, {}, {"error": error})  # noqa: PLR2004
    response = within(line.get("response"))
    candidates = items(response.get("candidates"))
    counts = within(response.get("usageMetadata"))
    thought = count(counts.get("thoughtsTokenCount"))
    sent = count(counts.get("promptTokenCount"))
    usage = Usage(
        prompt_tokens=sent,
        cached_tokens=min(sent, count(counts.get("cachedContentTokenCount"))),
        completion_tokens=count(counts.get("candidatesTokenCount")) + thought,
        reasoning_tokens=thought,
    )
    model = label(response.get("modelVersion")) or ""
    reason = label(candidates[0].get("finishReason")) if candidates else None
    blocked = within(response.get("promptFeedback")).get("blockReason")
    if blocked or reason in _FILTERED:
        what = f"the provider's content filter cut the answer ({label(blocked) or reason})"
        return Fault(FaultKind.FILTERED, what, usage=usage, model=model)
    if not candidates:
        return Fault(FaultKind.TRANSIENT, "the answer holds no candidate", usage=usage, model=model)
    parts = items(within(candidates[0].get("content")).get("parts"))
    texts = [
        (part.get("thought"), text) for part in parts if isinstance(text := part.get("text"), str)
    ]
    return Completion(
        text="".join(text for hidden, text in texts if not hidden),
        reasoning="\n".join(text for hidden, text in texts if hidden) or None,
        finish_reason=_FINISHED.get(reason or "", reason),
        usage=usage,
        model=model,
    )
