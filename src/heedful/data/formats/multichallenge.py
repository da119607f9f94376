"""MultiChallenge: conversations whose last answer must pass one question.

Records: ``QUESTION_ID``, ``AXIS``, ``CONVERSATION``, ``TARGET_QUESTION`` and ``PASS_CRITERIA`` (YES
or NO), with ``RESPONSE`` (a text, or one for each attempt). Each attempt becomes a sample.
"""

from __future__ import annotations

from typing import Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import messages, optional_text, row_id, text
from heedful.data.formats.files import shown

_HERE = "attempt"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into its attempts; a question without any is one sample."""
    given = record.get("RESPONSE", record.get("response"))
    attempts = given if isinstance(given, list) else [given]
    if not all(attempt is None or isinstance(attempt, str) for attempt in attempts):
        raise RowError(f"RESPONSE is {shown(given)}, not a text or a list of texts")
    return [{**record, _HERE: (at, each)} for at, each in enumerate(attempts or [None], start=1)]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one attempt."""
    attempt, response = record[_HERE]
    item = row_id(record, number, "QUESTION_ID", "id")
    question = text(record, "TARGET_QUESTION")
    wanted = (optional_text(record, "PASS_CRITERIA") or "YES").strip().upper()
    if wanted not in ("YES", "NO"):
        raise RowError(f"PASS_CRITERIA is {shown(wanted)}, not YES or NO")
    asked = question if wanted == "YES" else f"The answer to this question is no: {question}"
    axis = optional_text(record, "AXIS")
    return Sample.model_validate(
        {
            "id": item if attempt == 1 else f"{item}#{attempt}",
            "instruction_id": item,
            "conversation": messages(record.get("CONVERSATION"), "CONVERSATION"),
            "checklist": (Constraint(text=asked, type=axis),),
            "response": response,
            "tags": criteria.tags("multichallenge", record, "model")
            | ({"axis": axis} if axis else {}),
        }
    )


FORMAT = Format(
    "multichallenge",
    (("CONVERSATION",), ("TARGET_QUESTION",)),
    lambda record: "TARGET_QUESTION" in record and "CONVERSATION" in record,
    sample,
    turns=turns,
    follows=False,
    keys=("QUESTION_ID",),
)
