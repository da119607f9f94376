"""promptfoo's output, ``promptfoo eval -o output.json``: one row a prompt, test and provider.

Assertions that are words (``llm-rubric``, ``contains``, …) are the checklist; what promptfoo found
is the row's record, for ``--judge recorded``.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAVY = ("prompt", "vars", "response", "testCase", "gradingResult", "provider", "namedScores")

_WORDED = ("llm-rubric", "model-graded-closedqa", "g-eval", "factuality", "search-rubric")
_SAID = {
    "contains": "The response contains {}.",
    "icontains": "The response contains {}, in upper or lower case.",
    "not-contains": "The response does not contain {}.",
    "not-icontains": "The response does not contain {}, in upper or lower case.",
    "starts-with": "The response starts with {}.",
    "is-json": "The response is JSON.",
    "equals": "The response is exactly {}.",
}


def fits(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is a result of promptfoo."""
    prompt = record.get("prompt")
    return isinstance(prompt, dict) and "raw" in prompt and "testCase" in record


def unwrapped(record: dict[str, Any]) -> dict[str, Any]:
    """Return the prompt, the response and its assertions with their results."""
    answer, raw = record.get("response") or {}, record["prompt"]["raw"]
    output = answer.get("output") if isinstance(answer, dict) else None
    if output is not None and not isinstance(output, str):
        output = json.dumps(output, ensure_ascii=False)
    provider = record.get("provider")
    grading = record.get("gradingResult")
    results = grading.get("componentResults") if isinstance(grading, dict) else None
    asked = [(each.get("assertion") or {}, each) for each in results or ()]
    if not asked:
        test = record["testCase"] if isinstance(record["testCase"], dict) else {}
        asked = [(each, {}) for each in test.get("assert") or ()]
    worded = [(text, each) for assertion, each in asked if (text := _worded(assertion))]
    row: dict[str, Any] = {
        "conversation": _conversation(raw),
        "prompt": None,
        "response": output,
        "checklist": [text for text, _ in worded],
        "tags": {"model": _name(provider)} if provider else {},
    }
    if any("pass" in each for _, each in worded):
        row["judgments"] = [
            {"status": bool(each.get("pass")), "explanation": str(each.get("reason") or "")}
            for _, each in worded
        ]
    return row


def _conversation(raw: str) -> list[Any]:
    """Read a prompt, which may be a chat as JSON."""
    with suppress(ValueError):
        value = json.loads(raw)
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            return value
    return [{"role": "user", "content": raw}]


def _name(provider: Any) -> str:
    return (
        str(provider.get("label") or provider.get("id"))
        if isinstance(provider, dict)
        else str(provider)
    )


def _worded(assertion: Mapping[str, Any]) -> str | None:
    """Put an assertion in words; ``None`` where it has none."""
    kind, value = assertion.get("type"), assertion.get("value")
    if kind in _WORDED:
        return value if isinstance(value, str) else None
    said = _SAID.get(str(kind))
    return said.format(json.dumps(value, ensure_ascii=False)) if said else None
