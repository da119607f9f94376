"""StructFlowBench: conversations with constraints on each turn, and GPT-4o's verdicts.

Records: a conversation with ``conv_task`` ("Task: description"), ``structure`` and ``whole_conv``:
its turns with ``user prompt``, ``assistant answer`` (the reference, which later turns go
on from), ``constraints`` (``{"type", "content", "explanation"}`` each), ``response``, and ``judge
result`` (``{"judgement": "Yes"}`` each). Each turn becomes a sample.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Message, Recording, Sample
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

WEIGHTS = {
    **dict.fromkeys(
        (
            "Inverse Constraint",
            "Keyword/Element Constraint",
            "Style Constraint",
            "Situation Constraint",
            "Basic Format Constraint",
            "Quantity Format Constraint",
            "Template Format Constraint",
            "Content Constraint",
        ),
        1.0,
    ),
    **dict.fromkeys(("follow-up", "refinement", "expansion", "summary", "recall"), 2.0),
}
"""Points in WCSR; a type that isn't here has none."""

_HERE = "turn"
_VERDICTS = {"Yes": True, "No": False}
_ANSWER = re.compile(r"[\s*_`\"'(]*(yes|no)\b", re.IGNORECASE)


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a conversation into its turns."""
    listed = record.get("whole_conv")
    if not isinstance(listed, list) or not all(isinstance(turn, dict) for turn in listed):
        raise RowError(f"whole_conv is {shown(listed)}, not a list of turns")
    if not listed:
        raise RowError("whole_conv is empty")
    return [{**record, _HERE: place} for place in range(len(listed))]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one turn of a conversation."""
    listed, place = record["whole_conv"], record[_HERE]
    conversation: list[Message] = []
    for before in listed[:place]:
        conversation.append(Message(role="user", content=text(before, "user prompt")))
        conversation.append(Message(role="assistant", content=text(before, "assistant answer")))
    turn = listed[place]
    conversation.append(Message(role="user", content=text(turn, "user prompt")))
    task = optional_text(record, "conv_task")
    tags: dict[str, str | int | float | bool] = {
        "benchmark": "structflow",
        "conversation_id": str(number),
        "turn": place + 1,
    }
    if task is not None:
        tags["task"] = task.partition(":")[0].strip()
    if isinstance(record.get("model"), str):
        tags["model"] = record["model"]
    return Sample(
        id=f"{number}-{place + 1}",
        conversation=tuple(conversation),
        checklist=_checklist(turn),
        response=response_text(turn),
        reference=optional_text(turn, "assistant answer"),
        tags=tags,
        recording=_recording(turn),
    )


def _checklist(turn: Mapping[str, Any]) -> tuple[Constraint, ...]:
    listed = turn.get("constraints")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise RowError(f"constraints is {shown(listed)}, not a list of objects")
    types = [optional_text(item, "type") or "" for item in listed]
    # All weights 0 would be a rubric in which nothing counts; WCSR leaves such a turn out.
    rated = any(kind in WEIGHTS for kind in types)
    return tuple(
        Constraint.model_validate(
            {"text": text(item, "content"), "type": kind or None}
            | ({"weight": WEIGHTS.get(kind, 0.0)} if rated else {})
        )
        for item, kind in zip(listed, types, strict=True)
    )


def _recording(turn: Mapping[str, Any]) -> Recording | None:
    results = turn.get("judge result")
    if results is None:
        return None
    if not isinstance(results, list) or not all(isinstance(item, dict) for item in results):
        reason = f"judge result is {shown(results)}, not a list of verdicts"
        return Recording(prompt="structflow", declared={"error": reason})
    return Recording(prompt="structflow", verdicts=tuple(map(_verdict, results)))


def _verdict(result: Mapping[str, Any]) -> dict[str, Any]:
    said = result.get("judgement")
    known = _VERDICTS.get(said, "unparsed") if isinstance(said, str) else "unparsed"
    word = _ANSWER.match(said) if isinstance(said, str) else None
    read = known if word is None else _VERDICTS[word[1].title()]
    if isinstance(known, bool):
        return {"status": read}
    # Its code knows "Yes" and "No" alone.
    why = f"the judgement is {shown(said)}"
    return {"status": read, "published": known, "explanation": why}


FORMAT = Format(
    "structflow",
    (("whole_conv",),),
    lambda record: "whole_conv" in record,
    sample,
    turns=turns,
    follows=False,
)
