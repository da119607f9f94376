"""RuVerBench, DeepResearch: questions with points to cover, weighted, and which are covered.

Records: ``id``, ``question`` and ``rubric`` (``point``, maybe ``weight``), with the report in
``response``. Labels, ``result`` with ``coverage_results`` (``point``, ``covered``), are in the same
record, or in a file of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    covered = _covered(record)
    if "rubric" not in record:
        hint = "read the file of the questions, and give this one as --responses"
        raise RowError("the row has verdicts on points, but not their weights", hint=hint)
    listed = fields.objects(record, "rubric")
    texts = [fields.text(item, "point") for item in listed]
    return Sample(
        id=fields.row_id(record, number, "id", "question_id"),
        conversation=fields.user(fields.optional_text(record, "question") or None),
        checklist=tuple(
            fields.criterion(
                text,
                fields.points(item, "weight", place),
                type=fields.optional_text(item, "category"),
            )
            for place, (item, text) in enumerate(zip(listed, texts, strict=True))
        ),
        response=fields.response_text(record),
        tags=fields.tags("ruverbench", record, "model"),
        recording=fields.recorded(
            "ruverbench", [fields.verdict(covered.get(text)) for text in texts]
        ),
    )


def _covered(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file says of each point, by its text."""
    result = record.get("result")
    if not isinstance(result, dict) or "coverage_results" not in result:
        return {}
    results = fields.objects(result, "coverage_results")
    return {fields.text(item, "point"): item.get("covered") for item in results}


def _matches(record: Mapping[str, Any]) -> bool:
    result = record.get("result")
    if isinstance(result, dict) and "coverage_results" in result:
        return True
    return "question" in record and fields.first_has(record, "rubric", "point")


FORMAT = Format("ruverbench", (("rubric", "result"),), sample, _matches, keys=("id", "question_id"))
