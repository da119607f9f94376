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
from heedful.data.formats import fields
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Recording

_PARTLY = "Partially Satisfied"
_TERNARY = Scale(
    kind="partial",
    levels=(
        Level(label="Not Satisfied"),
        Level(label=_PARTLY, value=0.5),
        Level(label="Satisfied", value=1.0),
    ),
)
_WORDS = {
    "satisfied": "Satisfied",
    "not satisfied": "Not Satisfied",
    "not": "Not Satisfied",
    "partially satisfied": _PARTLY,
    "partially": _PARTLY,
}


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record; result rows of one response are scored together."""
    if "rubric_title" in record:
        item = fields.row_id(record, number, "sample_id")
        checklist, recording = _judged([record], "rubric_title")
        read: dict[str, Any] = {
            "id": f"{item}#{number}",
            "instruction_id": item,
            "tags": fields.tags("researchrubrics_judge", record, "domain", "model"),
        }
    else:
        checklist, recording = _judged(fields.objects(record, "rubrics"), "criterion")
        read = {
            "id": fields.row_id(record, number, "sample_id", "id"),
            "conversation": fields.prompt(record),
            "response": fields.response_text(record),
            "tags": fields.tags("researchrubrics", record, "domain", "model"),
        }
    return Sample.model_validate(read | {"checklist": checklist, "recording": recording})


def _judged(
    listed: Sequence[Mapping[str, Any]], key: str
) -> tuple[list[Constraint], Recording | None]:
    """Read criteria, and the verdicts on them."""
    verdicts = [_verdict(item) for item in listed]
    partly = any(verdict and verdict.get("level") == _PARTLY for verdict in verdicts)
    checklist = [
        fields.criterion(
            fields.text(item, key),
            fields.points(item, "weight", place),
            type=fields.optional_text(item, "axis"),
            scale=_TERNARY if partly else None,
        )
        for place, item in enumerate(listed)
    ]
    return checklist, fields.recorded("researchrubrics", verdicts)


def _verdict(item: Mapping[str, Any]) -> dict[str, Any] | None:
    said = item.get("verdict")
    if said is None:
        return None
    word = _WORDS.get(said.strip().casefold()) if isinstance(said, str) else None
    if word is None:  # "Error", where the judge failed
        return {"status": "failed", "explanation": f"the verdict is {shown(said)}"}
    why = item.get("reasoning")
    verdict = {"status": word == "Satisfied", "level": word}
    return verdict | ({"explanation": why} if isinstance(why, str) else {})


def _matches(record: Mapping[str, Any]) -> bool:
    result = "rubric_title" in record and "sample_id" in record
    return result or fields.first_has(record, "rubrics", "criterion", "weight")


FORMAT = Format(
    "researchrubrics",
    (("prompt", "rubric_title"), ("rubrics", "rubric_title")),
    sample,
    _matches,
    keys=("sample_id",),
)
