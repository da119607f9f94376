"""Answers of chat APIs as they come: OpenAI's and Anthropic's batches, and stored completions.

A batch's answers are named by ``custom_id``, so they join a file of rows with those ids
(``--responses``), or the file of the batch's requests.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.data.formats import chat

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAVY = (
    *("body", "response", "result", "choices", "output", "request", "input", "usage", "error"),
    *("messages", "prompt", "instructions", "reasoning", "text", "tools", "system", "content"),
)


def fits(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is an answer, or a request of a batch."""
    if "custom_id" in record:
        return any(
            isinstance(record.get(name), dict)
            for name in ("response", "result", "body", "error", "params")
        )
    first = (
        record["choices"][0]
        if isinstance(record.get("choices"), list) and record["choices"]
        else None
    )
    if isinstance(first, dict) and ("message" in first or "text" in first):
        return True
    return record.get("object") == "response" and isinstance(record.get("output"), list)


def unwrapped(record: dict[str, Any]) -> dict[str, Any]:
    """Return the id, the prompt where it is there, and the response."""
    if "custom_id" not in record:
        request = record.get("request")
        asked = _asked(request if isinstance(request, dict) else record)
        return {**asked, **_answered(record), "checklist": _checklist(record)}
    ident = str(record["custom_id"])
    body = record.get("body") or record.get("params")
    if isinstance(body, dict):  # a request
        return {"id": ident, **_asked(body), "checklist": _checklist(record)}
    answer = record.get("response") or record.get("result") or {}
    body = answer.get("body") or answer.get("message")
    if not isinstance(body, dict) or body.get("error"):
        what = record.get("error") or answer.get("error") or (body or {}).get("error") or answer
        raise RowError(f"the request {ident} failed: {json.dumps(what, ensure_ascii=False):.200}")
    return {"id": ident, **_answered(body), "checklist": _checklist(record)}


def _asked(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read a request's prompt."""
    for name in ("messages", "input", "prompt"):
        value = body.get(name)
        if isinstance(value, str) and value:
            value = [{"role": "user", "content": value}]
        if isinstance(value, list) and value:
            system = body.get("system") or body.get("instructions")
            first = [{"role": "system", "content": system}] if system else []
            return {"conversation": [*first, *value]}
    return {}


def _answered(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read an answer of any of the APIs."""
    model = {"tags": {"model": body["model"]}} if isinstance(body.get("model"), str) else {}
    if body.get("choices"):
        first = body["choices"][0]
        said = first["message"] if "message" in first else first.get("text")
    elif isinstance(body.get("output"), list):  # the Responses API
        messages = [each for each in body["output"] if each.get("type") == "message"]
        said = messages[-1] if messages else None
    else:
        said = {"role": "assistant", "content": body.get("content")}
    if not isinstance(said, dict):
        return {"response": said, **model}
    if not said.get("tool_calls"):
        whole = chat.response({"role": "assistant", **said}, "the answer")
        thought = {"reasoning_content": whole["reasoning"]} if "reasoning" in whole else {}
        return {"response": whole["response"], **thought, **model}
    kept = ("role", "content", "tool_calls", "reasoning_content", "reasoning", "refusal")
    return {"response": {name: said[name] for name in kept if name in said}, **model}


def _checklist(record: Mapping[str, Any]) -> Any:
    """Read a checklist that lies beside an answer, or in its metadata; often there is none."""
    metadata = record.get("metadata")
    beside = metadata.get("checklist") if isinstance(metadata, dict) else None
    given = record.get("checklist", beside)
    if isinstance(given, str) and given.lstrip().startswith("["):
        given = json.loads(given)
    return given or []
