"""ProfBench: professional tasks with weighted criteria, three responses and people's labels.

Records: ``task_id``, ``domain``, ``prompt``, ``rubrics`` (``criterion_description``,
``criterion_type``, ``criterion_weight``, ``MODEL_fulfilment``) and ``MODEL_response``: each
response becomes a sample, its fulfilments labels. Or a judge's rows, one a criterion:
``criterion_description``, ``response``, ``human_annotation``, ``judge_rating``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint

WEIGHTS = {"Critical": 4.0, "Major": 3.0, "Minor": 2.0, "Additional": 1.0}
"""Points by the word for a criterion's weight."""

_HERE = "model"
_RESPONSE = "_response"


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
    listed = fields.objects(record, "rubrics")
    task = fields.row_id(record, number, "task_id", "id")
    labels = [item.get(f"{model}_fulfilment") for item in listed]
    known = any(label is not None for label in labels)
    return Sample.model_validate(
        {
            "id": task if model is None else f"{task}/{model}",
            "instruction_id": task,
            "conversation": fields.prompt(record),
            "checklist": [_criterion(item, place) for place, item in enumerate(listed)],
            "response": fields.response_text(record, f"{model}{_RESPONSE}"),
            "labels": fields.labels(labels, len(listed), f"{model}_fulfilment") if known else None,
            "tags": fields.tags("profbench", record, "domain", _HERE),
        }
    )


def _judged(record: dict[str, Any], number: int) -> Sample:
    """Read a judge's rating of one criterion; those of one response are scored together."""
    task = fields.row_id(record, number, "task_id")
    return Sample.model_validate(
        {
            "id": f"{task}#{number}",
            "instruction_id": task,
            "conversation": fields.user(fields.optional_text(record, "prompt") or None),
            "checklist": [_criterion(record, 0)],
            "response": fields.response_text(record),
            "labels": fields.labels([record.get("human_annotation")], 1, "human_annotation"),
            "tags": fields.tags("profbench_judge", record, "domain", "model"),
            "recording": fields.replied("profbench", fields.optional_text(record, "judge_rating")),
        }
    )


def _criterion(item: Mapping[str, Any], place: int) -> Constraint:
    weight = item.get("criterion_weight")
    if weight is not None and not (isinstance(weight, str) and weight in WEIGHTS):
        raise fields.wrong(f"criterion {place + 1}: criterion_weight", weight, ", ".join(WEIGHTS))
    kinds = item.get("criterion_type")
    return fields.criterion(
        fields.text(item, "criterion_description"),
        None if weight is None else WEIGHTS[weight],
        type=fields.first_text(kinds),
        tags=[f"criterion type:{each}" for each in fields.only_texts(kinds)] or None,
    )


def _matches(record: Mapping[str, Any]) -> bool:
    if "rubrics" in record:
        return fields.first_has(record, "rubrics", "criterion_description")
    return "criterion_description" in record


FORMAT = Format(
    "profbench",
    (("rubrics", "criterion_description"),),
    sample,
    _matches,
    turns=turns,
    follows=False,
)
