"""ProfBench: professional tasks with weighted criteria, three responses and people's labels.

Records: ``task_id``, ``domain``, ``prompt``, ``rubrics`` (``criterion_description``,
``criterion_type``, ``criterion_weight``, ``MODEL_fulfilment``) and ``MODEL_response``: each
response becomes a sample, its fulfilments labels. Or a judge's rows, one a criterion:
``criterion_description``, ``response``, ``human_annotation``, ``judge_rating``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Recording, Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint

WEIGHTS = {"Critical": 4.0, "Major": 3.0, "Minor": 2.0, "Additional": 1.0}
"""Points by the word for a criterion's weight."""

_HERE = "model"
_RESPONSE, _LABEL = "_response", "_fulfilment"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into the responses to its task; a task without any is one sample."""
    if "rubrics" not in record:
        return [record]
    models = [key.removesuffix(_RESPONSE) for key in record if key.endswith(_RESPONSE)]
    return [{**record, _HERE: model} for model in models] or [record]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one response."""
    if "rubrics" not in record:
        return _judged(record, number)
    model = record.get(_HERE)
    listed = criteria.objects(record, "rubrics")
    task = row_id(record, number, "task_id", "id")
    labels = [item.get(f"{model}{_LABEL}") for item in listed]
    if not all(label is None or isinstance(label, bool) for label in labels):
        raise RowError(f"{model}{_LABEL} isn't true or false in every criterion")
    given = record if f"{model}{_RESPONSE}" in record else {}
    return Sample.model_validate(
        {
            "id": task if model is None else f"{task}/{model}",
            "instruction_id": task,
            "conversation": criteria.prompt(record.get("prompt"), "prompt"),
            "checklist": [_criterion(item, place) for place, item in enumerate(listed)],
            "response": response_text(given, f"{model}{_RESPONSE}") or response_text(record),
            "labels": labels if any(label is not None for label in labels) else None,
            "tags": criteria.tags("profbench", record, "domain", _HERE),
        }
    )


def _judged(record: dict[str, Any], number: int) -> Sample:
    """Read a judge's rating of one criterion; those of one response are scored together."""
    rating = optional_text(record, "judge_rating")
    label = record.get("human_annotation")
    if label is not None and not isinstance(label, bool):
        raise RowError(f"human_annotation is {shown(label)}, not true or false")
    task = row_id(record, number, "task_id")
    task_prompt = optional_text(record, "prompt")
    return Sample.model_validate(
        {
            "id": f"{task}#{number}",
            "instruction_id": task,
            "conversation": criteria.prompt(task_prompt, "prompt") if task_prompt else (),
            "checklist": [_criterion(record, 0)],
            "response": response_text(record),
            "labels": [label],
            "tags": criteria.tags("profbench_judge", record, "domain", "model"),
            "recording": None if rating is None else Recording(prompt="profbench", text=rating),
        }
    )


def _criterion(item: Mapping[str, Any], place: int) -> Constraint:
    weight = item.get("criterion_weight")
    if weight is not None and not (isinstance(weight, str) and weight in WEIGHTS):
        known = ", ".join(WEIGHTS)
        raise RowError(f"criterion {place + 1}: criterion_weight is {shown(weight)}, not {known}")
    kinds = item.get("criterion_type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return criteria.criterion(
        text(item, "criterion_description"),
        None if weight is None else WEIGHTS[weight],
        type=kind if isinstance(kind, str) else None,
        tags=[f"criterion type:{each}" for each in criteria.texts(kinds)] or None,
    )


def _matches(record: Mapping[str, Any]) -> bool:
    listed = record.get("rubrics")
    first = listed[0] if isinstance(listed, list) and listed else record
    return isinstance(first, dict) and "criterion_description" in first


FORMAT = Format(
    "profbench",
    (("rubrics", "criterion_description"),),
    _matches,
    sample,
    turns=turns,
    follows=False,
)
