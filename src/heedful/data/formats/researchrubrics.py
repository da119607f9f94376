"""ResearchRubrics: research prompts with rubrics of signed weights.

Records: ``prompt``, ``sample_id``, ``domain`` and ``rubrics`` (``criterion``, ``weight``, ``axis``;
judged also ``verdict`` and ``reasoning``), with ``response``. Or result rows, one a criterion:
``sample_id``, ``rubric_title``, ``weight``, ``verdict``, ``reasoning``. A verdict is Satisfied,
Partially Satisfied or Not Satisfied; where any is partial, the rubric's criteria have these levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Sample
from heedful.core.scale import Level, Scale
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_TERNARY = Scale(
    kind="partial",
    levels=(
        Level(label="Not Satisfied"),
        Level(label="Partially Satisfied", value=0.5),
        Level(label="Satisfied", value=1.0),
    ),
)
_WORDS = {
    "satisfied": "Satisfied",
    "not satisfied": "Not Satisfied",
    "not": "Not Satisfied",
    "partially satisfied": "Partially Satisfied",
    "partially": "Partially Satisfied",
}


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    if "rubric_title" in record:
        return _result(record, number)
    listed = criteria.objects(record, "rubrics")
    said = [_word(item.get("verdict")) for item in listed]
    scale = _TERNARY if "Partially Satisfied" in said else None
    checklist = [
        criteria.criterion(
            text(item, "criterion"),
            criteria.points(item, "weight", place),
            type=optional_text(item, "axis"),
            scale=scale,
        )
        for place, item in enumerate(listed)
    ]
    verdicts = [_verdict(item, word) for item, word in zip(listed, said, strict=True)]
    return Sample.model_validate(
        {
            "id": row_id(record, number, "sample_id", "id"),
            "conversation": criteria.prompt(record.get("prompt"), "prompt"),
            "checklist": checklist,
            "response": response_text(record),
            "tags": criteria.tags("researchrubrics", record, "domain", "model"),
            "recording": criteria.recorded("researchrubrics", verdicts),
        }
    )


def _result(record: dict[str, Any], number: int) -> Sample:
    """Read a judge's verdict on one criterion; those of one response are scored together."""
    item = row_id(record, number, "sample_id")
    word = _word(record.get("verdict"))
    scale = _TERNARY if word == "Partially Satisfied" else None
    weight = criteria.points(record, "weight", 0)
    checklist = [criteria.criterion(text(record, "rubric_title"), weight, scale=scale)]
    return Sample.model_validate(
        {
            "id": f"{item}#{number}",
            "instruction_id": item,
            "checklist": checklist,
            "tags": criteria.tags("researchrubrics_judge", record, "domain", "model"),
            "recording": criteria.recorded("researchrubrics", [_verdict(record, word)]),
        }
    )


def _word(said: Any) -> str | None:
    return _WORDS.get(said.strip().casefold()) if isinstance(said, str) else None


def _verdict(item: Mapping[str, Any], word: str | None) -> dict[str, Any] | None:
    said = item.get("verdict")
    if said is None:
        return None
    if word is None:  # "Error", where the judge failed
        return {"status": "failed", "explanation": f"the verdict is {shown(said)}"}
    why = item.get("reasoning")
    fields = {"status": word == "Satisfied", "level": word}
    return fields | ({"explanation": why} if isinstance(why, str) else {})


def _matches(record: Mapping[str, Any]) -> bool:
    if "rubric_title" in record and "sample_id" in record:
        return True
    listed = record.get("rubrics")
    first = listed[0] if isinstance(listed, list) and listed else None
    return isinstance(first, dict) and "criterion" in first and "weight" in first


FORMAT = Format(
    "researchrubrics",
    (("prompt", "rubric_title"), ("rubrics", "rubric_title")),
    _matches,
    sample,
    keys=("sample_id",),
)
