"""WildBench: tasks of real users, a judge's scores from 1 to 10, and its choices between models.

Records: a task (``id``, ``conversation_input``, ``checklist``, ``primary_tag``,
``secondary_tags``), a model's ``output`` to it, the judge's score of that (``session_id``, which is
the task's id, ``score``, ``parsed_result``, ``model_output``, and ``model_test`` or ``generator``),
or a comparison with a reference model (``winner``, ``extent``, ``model_outputs`` of both).

A score is a level of one criterion, in whose text are the questions of the task's checklist; from 7
on, which the benchmark calls good enough, it is met. A comparison is a level of another one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Sample
from heedful.core.scale import Level, Scale
from heedful.data.formats import fields
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint, Recording

REFERENCES = ("gpt-4-turbo-2024-04-09", "claude-3-haiku-20240307", "Llama-2-70b-chat-hf")
"""Models that the benchmark compares others with."""

_TASKS = {
    "Information/Advice seeking": ("Information seeking", "Advice seeking"),
    "Creative Tasks": ("Creative Writing", "Editing", "Brainstorming", "Role playing", "Others"),
    "Coding & Debugging": ("Coding & Debugging",),
    "Planning & Reasoning": ("Planning", "Reasoning"),
    "Math & Data Analysis": ("Math", "Data Analysis"),
}
_TASK_OF = {tag: task for task, tags in _TASKS.items() for tag in tags}

_LOWEST, _GOOD, _HIGHEST = 1, 7, 10


def _share(score: int) -> float:
    return (score - _LOWEST) / (_HIGHEST - _LOWEST)


_SCORES = Scale(
    levels=tuple(Level(label=str(n), value=_share(n)) for n in range(_LOWEST, _HIGHEST + 1)),
    passing=_share(_GOOD),
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
    read: dict[str, Any] = {
        "id": fields.row_id(record, number, "id", "session_id"),
        "conversation": fields.messages(conversation, "conversation_input") if conversation else (),
    }
    if "model_outputs" in record:
        return Sample.model_validate(read | _compared(record))
    key = "model_output" if record.get("model_output") is not None else "output"
    first = {key: record[key][0]} if isinstance(record.get(key), list) and record[key] else record
    return Sample.model_validate(
        read
        | {
            "checklist": [_criterion(record, _asked(record), _SCORES)],
            "response": fields.response_text(first, key),
            "tags": _tags("wildbench", record),
            "recording": _scored(record),
        }
    )


def _tags(benchmark: str, record: Mapping[str, Any], model: str | None = None) -> dict[str, Any]:
    name = model or record.get("model_test") or record.get("generator")
    return fields.tags(benchmark, {"model": name}, "model")


def _criterion(record: Mapping[str, Any], words: str, scale: Scale) -> Constraint:
    kinds = [record.get("primary_tag"), *fields.only_texts(record.get("secondary_tags"))]
    tasks = {_TASK_OF[kind] for kind in kinds if isinstance(kind, str) and kind in _TASK_OF}
    tags = [f"task:{task}" for task in sorted(tasks)]
    return fields.criterion(words, scale=scale, tags=tags or None)


def _asked(record: Mapping[str, Any]) -> str:
    questions = "".join(f"\n- {each}" for each in fields.only_texts(record.get("checklist")))
    about = f" These questions matter:{questions}" if questions else ""
    return f"How well does the response do, from 1 (very poor) to 10 (perfect)?{about}"


def _scored(record: Mapping[str, Any]) -> Recording | None:
    result = record.get("parsed_result")
    parsed = result if isinstance(result, dict) else {}
    score = record.get("score", parsed.get("score"))
    if score is None and not parsed:
        return None
    number = None
    with suppress(ValueError, TypeError):
        number = float(score)
    if number is None:
        return fields.recorded("wildbench", [_unread("score", score)])
    if number not in range(_LOWEST, _HIGHEST + 1):
        raise fields.wrong("score", score, "a whole number from 1 to 10")
    why = "\n".join(fields.only_texts([parsed.get("strengths"), parsed.get("weaknesses")]))
    verdict = {"status": number >= _GOOD, "level": str(int(number)), "explanation": why}
    return fields.recorded("wildbench", [verdict])


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
        "tags": _tags("wildbench_reward", record, tested) | {"reference_model": reference},
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
