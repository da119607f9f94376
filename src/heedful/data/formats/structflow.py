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
from heedful.core.nouns import Message, Recording, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint

_CONSTRAINTS = (
    *("Inverse", "Keyword/Element", "Style", "Situation", "Content"),
    *("Basic Format", "Quantity Format", "Template Format"),
)
_STRUCTURES = ("follow-up", "refinement", "expansion", "summary", "recall")
WEIGHTS = {
    **dict.fromkeys((f"{name} Constraint" for name in _CONSTRAINTS), 1.0),
    **dict.fromkeys(_STRUCTURES, 2.0),
}
"""Points in WCSR; a type that isn't here has none."""

_HERE = "turn"
_VERDICTS = {"Yes": True, "No": False}
_ANSWER = re.compile(r"[\s*_`\"'(]*(yes|no)\b", re.IGNORECASE)


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a conversation into its turns."""
    listed = fields.objects(record, "whole_conv")
    if not listed:
        raise RowError("whole_conv is empty")
    return [{**record, _HERE: place} for place in range(len(listed))]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one turn of a conversation."""
    listed, place = record["whole_conv"], record[_HERE]
    conversation: list[Message] = []
    for before in listed[:place]:
        conversation.append(Message(role="user", content=fields.text(before, "user prompt")))
        answer = fields.text(before, "assistant answer")
        conversation.append(Message(role="assistant", content=answer))
    turn = listed[place]
    conversation.append(Message(role="user", content=fields.text(turn, "user prompt")))
    tags = fields.tags("structflow", record, "model")
    tags |= {"conversation_id": str(number), "turn": place + 1}
    task = fields.optional_text(record, "conv_task")
    if task is not None:
        tags["task"] = task.partition(":")[0].strip()
    return Sample(
        id=f"{number}-{place + 1}",
        conversation=tuple(conversation),
        checklist=_checklist(turn),
        response=fields.response_text(turn),
        reference=fields.optional_text(turn, "assistant answer"),
        tags=tags,
        recording=_recording(turn),
    )


def _checklist(turn: Mapping[str, Any]) -> tuple[Constraint, ...]:
    listed = fields.objects(turn, "constraints")
    types = [fields.optional_text(item, "type") or "" for item in listed]
    # All weights 0 would be a rubric in which nothing counts; WCSR leaves such a turn out.
    rated = any(kind in WEIGHTS for kind in types)
    return tuple(
        fields.criterion(
            fields.text(item, "content"),
            WEIGHTS.get(kind, 0.0) if rated else None,
            type=kind or None,
        )
        for item, kind in zip(listed, types, strict=True)
    )


def _recording(turn: Mapping[str, Any]) -> Recording | None:
    if turn.get("judge result") is None:
        return None
    try:
        results = fields.objects(turn, "judge result")
    except RowError as error:  # the judge failed, and the response is there
        return Recording(prompt="structflow", declared={"error": error.what})
    return Recording(prompt="structflow", verdicts=tuple(map(_verdict, results)))


def _verdict(result: Mapping[str, Any]) -> dict[str, Any]:
    said = result.get("judgement")
    known = _VERDICTS.get(said, "unparsed") if isinstance(said, str) else "unparsed"
    word = _ANSWER.match(said) if isinstance(said, str) else None
    read = known if word is None else _VERDICTS[word[1].title()]
    if isinstance(known, bool):
        return {"status": read}
    # Its code knows "Yes" and "No" alone.
    return {"status": read, "published": known, "explanation": f"the judgement is {shown(said)}"}


FORMAT = Format("structflow", (("whole_conv",),), sample, turns=turns, follows=False)
