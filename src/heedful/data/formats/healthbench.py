"""HealthBench: conversations with rubrics of signed points, and physicians' labels.

Records: ``prompt`` (messages), ``prompt_id``, ``rubrics`` (``criterion``, ``points``, ``tags``;
judged also ``criteria_met`` and ``explanation``) and ``example_tags``; the response is in
``completion`` or ``response``. Or a row of its meta-evaluation: ``rubric`` (one text),
``completion``, ``binary_labels`` and ``anonymized_physician_ids``, which become annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint

_MAPPED = ("prompt", "rubrics", "completion", "response", "prompt_id", "canary")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    if "binary_labels" in record:
        return _labelled(record, number)
    listed = criteria.objects(record, "rubrics")
    fields: dict[str, Any] = {
        "id": row_id(record, number, "prompt_id", "id"),
        "conversation": criteria.prompt(record.get("prompt"), "prompt"),
        "checklist": tuple(_criterion(item, place) for place, item in enumerate(listed)),
        "response": _response(record),
        "tags": criteria.tags("healthbench", record, "model") | _themes(record),
        "recording": criteria.recorded(
            "healthbench",
            [
                criteria.verdict(each.get("criteria_met"), each.get("explanation"))
                for each in listed
            ],
        ),
        "source": {key: value for key, value in record.items() if key not in _MAPPED},
    }
    return Sample.model_validate(fields)


def _criterion(item: Mapping[str, Any], place: int) -> Constraint:
    named = criteria.texts(item.get("tags"))
    by_kind = {kind: value for kind, _, value in (name.partition(":") for name in named)}
    return criteria.criterion(
        text(item, "criterion"),
        criteria.points(item, "points", place),
        type=by_kind.get("axis"),
        subtype=by_kind.get("level"),
        tags=named or None,
    )


def _themes(record: Mapping[str, Any]) -> dict[str, str]:
    """Return example tags such as ``theme:emergency`` as tags by their kind."""
    named = criteria.texts(record.get("example_tags"))
    return {kind: value for kind, colon, value in (n.partition(":") for n in named) if colon}


def _response(record: Mapping[str, Any]) -> str | None:
    key = "completion" if "completion" in record else "response"
    return response_text(record, key)


def _labelled(record: dict[str, Any], number: int) -> Sample:
    """Read a row of the meta-evaluation: one criterion, labelled by several physicians."""
    labels = record["binary_labels"]
    if not isinstance(labels, list) or not all(isinstance(label, bool) for label in labels):
        raise RowError(f"binary_labels is {shown(labels)}, not a list of booleans")
    names = record.get("anonymized_physician_ids")
    if not isinstance(names, list) or len(names) != len(labels):
        names = [f"physician-{place}" for place in range(1, len(labels) + 1)]
    ids = [str(record.get(key, "")) for key in ("prompt_id", "completion_id")]
    return Sample.model_validate(
        {
            "id": f"{'/'.join(ids)}#{number}",
            "instruction_id": ids[0] or str(number),
            "conversation": criteria.prompt(record.get("prompt"), "prompt"),
            "checklist": (
                criteria.criterion(text(record, "rubric"), type=optional_text(record, "category")),
            ),
            "response": _response(record),
            "tags": {"benchmark": "healthbench_meta"},
            "annotations": {str(name): [label] for name, label in zip(names, labels, strict=True)},
        }
    )


def _matches(record: Mapping[str, Any]) -> bool:
    if "binary_labels" in record and "rubric" in record:
        return True
    listed = record.get("rubrics")
    first = listed[0] if isinstance(listed, list) and listed else None
    return isinstance(first, dict) and "criterion" in first and "points" in first


FORMAT = Format(
    "healthbench", (("prompt",), ("rubrics", "rubric")), _matches, sample, keys=("prompt_id",)
)
