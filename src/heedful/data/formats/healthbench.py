"""HealthBench: conversations with rubrics of signed points, and physicians' labels.

Records: ``prompt`` (messages), ``prompt_id``, ``rubrics`` (``criterion``, ``points``, ``tags``;
judged also ``criteria_met`` and ``explanation``) and ``example_tags``; the response is in
``completion`` or ``response``. Or a row of its meta-evaluation: ``rubric`` (one text),
``completion``, ``binary_labels`` and ``anonymized_physician_ids``, which become annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint

_MAPPED = ("prompt", "rubrics", "completion", "response", "prompt_id", "canary")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    if "binary_labels" in record:
        return _labelled(record, number)
    listed = fields.objects(record, "rubrics")
    verdicts = [
        fields.verdict(item.get("criteria_met"), item.get("explanation")) for item in listed
    ]
    return Sample(
        id=fields.row_id(record, number, "prompt_id", "id"),
        conversation=fields.prompt(record),
        checklist=tuple(_criterion(item, place) for place, item in enumerate(listed)),
        response=fields.response_text(record, "completion"),
        tags=fields.tags("healthbench", record, "model") | _by_kind(record.get("example_tags")),
        recording=fields.recorded("healthbench", verdicts),
        source=fields.without(record, *_MAPPED),
    )


def _criterion(item: Mapping[str, Any], place: int) -> Constraint:
    by_kind = _by_kind(item.get("tags"))
    return fields.criterion(
        fields.text(item, "criterion"),
        fields.points(item, "points", place),
        type=by_kind.get("axis"),
        subtype=by_kind.get("level"),
        tags=fields.only_texts(item.get("tags")) or None,
    )


def _by_kind(named: Any) -> dict[str, str]:
    """Take tags such as ``theme:emergency`` apart."""
    parts = (name.partition(":") for name in fields.only_texts(named))
    return {kind: value for kind, colon, value in parts if colon}


def _labelled(record: dict[str, Any], number: int) -> Sample:
    """Read a row of the meta-evaluation: one criterion, labelled by several physicians."""
    labels = record["binary_labels"]
    if not isinstance(labels, list) or not all(isinstance(label, bool) for label in labels):
        raise fields.wrong("binary_labels", labels, "a list of booleans")
    names = record.get("anonymized_physician_ids")
    if not isinstance(names, list) or len(names) != len(labels):
        names = [f"physician-{place}" for place in range(1, len(labels) + 1)]
    prompt, completion = (str(record.get(key, "")) for key in ("prompt_id", "completion_id"))
    kind = fields.optional_text(record, "category")
    return Sample.model_validate(
        {
            "id": f"{prompt}/{completion}#{number}",
            "instruction_id": prompt or str(number),
            "conversation": fields.prompt(record),
            "checklist": (fields.criterion(fields.text(record, "rubric"), type=kind),),
            "response": fields.response_text(record, "completion"),
            "tags": {"benchmark": "healthbench_meta"},
            "annotations": {str(name): [label] for name, label in zip(names, labels, strict=True)},
        }
    )


def _matches(record: Mapping[str, Any]) -> bool:
    labelled = "binary_labels" in record and "rubric" in record
    return labelled or fields.first_has(record, "rubrics", "criterion", "points")


FORMAT = Format(
    "healthbench", (("prompt",), ("rubrics", "rubric")), sample, _matches, keys=("prompt_id",)
)
