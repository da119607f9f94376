"""RuVerBench, DeepResearch: questions with points to cover, weighted, and which are covered.

Records: ``id``, ``question`` and ``rubric`` (``point``, maybe ``weight``), with the report in
``response``. Labels, ``result`` with ``coverage_results`` (``point``, ``covered``), are in the same
record, or in a file of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Message, Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text

if TYPE_CHECKING:
    from collections.abc import Mapping


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    covered = _covered(record)
    if "rubric" not in record:
        hint = "read the file of the questions, and give this one as --responses"
        raise RowError("the row has verdicts on points, but not their weights", hint=hint)
    listed = criteria.objects(record, "rubric")
    question = optional_text(record, "question")
    return Sample(
        id=row_id(record, number, "id", "question_id"),
        conversation=(Message(role="user", content=question),) if question else (),
        checklist=tuple(
            criteria.criterion(
                text(item, "point"),
                criteria.points(item, "weight", place),
                type=optional_text(item, "category"),
            )
            for place, item in enumerate(listed)
        ),
        response=response_text(record),
        tags=criteria.tags("ruverbench", record, "model"),
        recording=criteria.recorded(
            "ruverbench", [criteria.verdict(covered.get(text(item, "point"))) for item in listed]
        ),
    )


def _covered(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file says of each point, by its text."""
    result = record.get("result")
    if not isinstance(result, dict) or "coverage_results" not in result:
        return {}
    results = criteria.objects(result, "coverage_results")
    return {text(item, "point"): item.get("covered") for item in results}


def _matches(record: Mapping[str, Any]) -> bool:
    result = record.get("result")
    if isinstance(result, dict) and "coverage_results" in result:
        return True
    listed = record.get("rubric")
    first = listed[0] if isinstance(listed, list) and listed else None
    return "question" in record and isinstance(first, dict) and "point" in first


FORMAT = Format("ruverbench", (("rubric", "result"),), _matches, sample, keys=("id", "question_id"))
