"""WildBench: tasks of real users, a judge's scores from 1 to 10, and its choices between models.

Records: a task (``id``, ``conversation_input``, ``checklist``, ``primary_tag``,
``secondary_tags``), a model's ``output`` to it, the judge's score of that (``session_id``, which is
the task's id, ``score``, ``parsed_result``, ``model_output``, and ``model_test`` or ``generator``),
or a comparison with a reference model (``winner``, ``extent``, ``model_outputs`` of both).

A score is a level of one criterion, in whose text are the questions of the task's checklist; from 7
on, which the benchmark calls good enough, it is met. A comparison is a level of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Sample
from heedful.core.scale import Level, Scale
from heedful.data.formats import fields
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint

REFERENCES = ("gpt-4-turbo-2024-04-09", "claude-3-haiku-20240307", "Llama-2-70b-chat-hf")
"""Models that the benchmark compares others with."""

_TASKS = {
    "Information/Advice seeking": ("Information seeking", "Advice seeking"),
    "Creative Tasks": ("Creative Writing", "Editing", "Brainstorming", "Role playing", "Others"),
    "Coding & Debugging": ("Coding & Debugging",),
    "Planning & Reasoning": ("Planning", "Reasoning"),
    "Math & Data Analysis": ("Math", "Data Analysis"),
}
_GOOD = 7
_SCORES = Scale(
    levels=tuple(Level(label=str(n), value=(n - 1) / 9) for n in range(1, 11)),
    passing=(_GOOD - 1) / 9,
)
_CHOICES = Scale(
    levels=tuple(
        Level(label=label, value=at / 4)
        for at, label in enumerate(("much worse", "worse", "tie", "better", "much better"))
    ),
    passing=0.75,
)


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one task, with what a model answered and a judge said of it."""
    conversation = record.get("conversation_input")
    read = _compared(record) if "model_outputs" in record else _scored(record)
    read["id"] = fields.row_id(record, number, "id", "session_id")
    if conversation:
        read["conversation"] = fields.messages(conversation, "conversation_input")
    return Sample.model_validate(read)


def _criterion(record: Mapping[str, Any], words: str, scale: Scale) -> Constraint:
    kinds = [record.get("primary_tag"), *fields.only_texts(record.get("secondary_tags"))]
    tasks = {task for task, tags in _TASKS.items() if any(kind in tags for kind in kinds)}
    return fields.criterion(words, scale=scale, tags=[f"task:{task}" for task in sorted(tasks)])


def _scored(record: dict[str, Any]) -> dict[str, Any]:
    """Read a response and its score."""
    output = record.get("model_output", record.get("output"))
    first = {"response": output[0] if isinstance(output, list) and output else output}
    questions = "".join(f"\n- {each}" for each in fields.only_texts(record.get("checklist")))
    words = "How well does the response do, from 1 (very poor) to 10 (perfect)?"
    if questions:
        words += f" These questions matter:{questions}"
    model = "model_test" if "model_test" in record else "generator"
    return {
        "checklist": [_criterion(record, words, _SCORES)],
        "response": fields.response_text(first),
        "tags": fields.tags("wildbench", record, model=model),
        "recording": fields.recorded("wildbench", [_verdict(record)]),
    }


def _verdict(record: Mapping[str, Any]) -> dict[str, Any] | None:
    result = record.get("parsed_result")
    parsed = result if isinstance(result, dict) else {}
    score = record.get("score", parsed.get("score"))
    if score is None and not parsed:
        return None
    try:
        number = float(score)
    except (ValueError, TypeError):
        return _unread("score", score)
    if number not in range(1, 11):
        raise fields.wrong("score", score, "a whole number from 1 to 10")
    why = "\n".join(fields.only_texts([parsed.get("strengths"), parsed.get("weaknesses")]))
    return {"status": number >= _GOOD, "level": str(int(number)), "explanation": why}


def _unread(name: str, said: Any) -> dict[str, Any]:
    return {"status": "unparsed", "explanation": f"the {name} is {shown(said)}"}


def _compared(record: dict[str, Any]) -> dict[str, Any]:
    """Read a comparison: the response is the tested model's, the reference the other one's."""
    outputs = record["model_outputs"]
    if not isinstance(outputs, dict) or len(outputs) != 2:  # noqa: PLR2004 - a pair
        raise fields.wrong("model_outputs", outputs, "an object with the outputs of two models")
    tested, reference = _sides(record, list(outputs))
    winner, extent = record.get("winner"), record.get("extent")
    better = {tested: 1, reference: -1}.get(winner) if isinstance(winner, str) else None
    verdict = _unread("winner", winner)
    if winner == "tie":
        verdict = {"status": False, "level": "tie"}
    elif better is not None and extent in (1, 2):
        level = _CHOICES.levels[2 + better * int(extent)]
        verdict = {"status": better > 0, "level": level.label}
    recording = fields.recorded("wildbench_reward", [verdict])
    return {
        "checklist": [_criterion(record, f"Is it better than {reference}'s response?", _CHOICES)],
        "response": fields.text(outputs, tested),
        "reference": fields.text(outputs, reference),
        "tags": {"benchmark": "wildbench_reward", "model": tested, "reference_model": reference},
        # What the family reads beside the verdict, it reads from the outputs.
        "recording": recording and recording.model_copy(update={"declared": {"compared": True}}),
    }


def _sides(record: Mapping[str, Any], models: list[str]) -> tuple[str, str]:
    """Tell the tested model from the reference, which is one of three or is named."""
    named = record.get("ref_model")
    known = (named,) if isinstance(named, str) else REFERENCES
    references = [model for model in models if any(name in model for name in known)]
    if len(references) != 1:
        hint = "name it in a field ref_model"
        raise RowError(f"which of {' and '.join(models)} is the reference is open", hint=hint)
    return next(model for model in models if model != references[0]), references[0]


def _matches(record: Mapping[str, Any]) -> bool:
    judged = "session_id" in record and "parsed_result" in record
    return judged or ("conversation_input" in record and "primary_tag" in record)


FORMAT = Format(
    "wildbench",
    (("conversation_input", "parsed_result"), ("id", "session_id")),
    sample,
    _matches,
    keys=("id", "session_id"),
)
