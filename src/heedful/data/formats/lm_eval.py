"""lm-evaluation-harness' ``samples_TASK.jsonl``: the task's document beside what the model said.

``doc`` is the record; ``filtered_resps`` (else ``resps``) hold the response, and ``arguments`` the
prompt as it was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.data.formats.fields import first_text

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAVY = ("doc", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash")
_PROMPTS = ("prompt", "messages", "conversation", "instruction")


def fits(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is a logged sample."""
    return isinstance(record.get("doc"), dict) and ("filtered_resps" in record or "resps" in record)


def unwrapped(record: dict[str, Any]) -> dict[str, Any]:
    """Return the task's record with the response."""
    doc = dict(record["doc"])
    sent = record.get("arguments")
    if isinstance(sent, dict):
        sent = list(sent.values())
    while isinstance(sent, list | dict) and sent:
        sent = next(iter(sent.values())) if isinstance(sent, dict) else sent[0]
    if isinstance(sent, str) and not any(doc.get(name) for name in _PROMPTS):
        doc["prompt"] = sent
    said = record.get("filtered_resps") or record.get("resps")
    while isinstance(said, list) and said and isinstance(said[0], list):
        said = said[0]
    response = first_text(said)
    if response is None:
        what = "filtered_resps holds no text: the task asks for log-probabilities"
        raise RowError(what, hint="a task with output_type generate_until writes responses")
    if not any(name in doc for name in ("id", "key")) and "doc_id" in record:
        doc["id"] = str(record["doc_id"])
    return {**doc, "response": response}
