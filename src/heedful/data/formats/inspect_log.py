"""Samples in a log of Inspect AI, a ``.json`` file or a ``.eval`` archive.

``input`` is the prompt, ``output`` the response, and what ``metadata`` holds (``checklist``, or
IFEval's ids) is the record's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAVY = (
    *("input", "output", "metadata", "messages", "events", "store", "attachments", "scores"),
    *("model_usage", "role_usage", "timelines", "limit", "uuid", "choices", "target"),
)


def fits(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is a sample of a log."""
    output = record.get("output")
    return isinstance(output, dict) and "choices" in output and {"input", "epoch"} <= record.keys()


def unwrapped(record: dict[str, Any]) -> dict[str, Any]:
    """Return the sample's own record with the prompt and the response."""
    output, own = record["output"], record.get("metadata")
    choices, epoch = output["choices"], record["epoch"]
    given = record["input"]
    row: dict[str, Any] = dict(own) if isinstance(own, dict) else {}
    row["id"] = str(record.get("id")) + (f"#{epoch}" if epoch != 1 else "")
    if "prompt" not in row or not isinstance(given, str):
        row["prompt" if isinstance(given, str) else "conversation"] = given
    if epoch != 1:
        row.setdefault("instruction_id", str(record.get("id")))
    target = record.get("target")
    if isinstance(target, str) and target:
        row.setdefault("reference", target)
    tags = row.get("tags")
    model = {"model": output["model"]} if output.get("model") else {}
    row["tags"] = model | (tags if isinstance(tags, dict) else {})
    message = choices[0].get("message") if choices else None
    content = None if message is None else message.get("content")
    row["response"] = _parts(content) if isinstance(content, list) else content
    return row


def _parts(content: list[Any]) -> str:
    """Return the text of a message's parts; reasoning isn't."""
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(str(part.get("text", "")) for part in texts)
