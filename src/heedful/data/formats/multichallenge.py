"""MultiChallenge: conversations whose last answer must pass one question.

Records: ``QUESTION_ID``, ``AXIS``, ``CONVERSATION``, ``TARGET_QUESTION`` and ``PASS_CRITERIA`` (YES
or NO), with ``RESPONSE`` (a text, or one for each attempt). Each attempt becomes a sample.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Constraint, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

_HERE = "attempt"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into its attempts; a question without any is one sample."""
    given = record.get("RESPONSE", record.get("response"))
    attempts = given if isinstance(given, list) else [given]
    if not all(attempt is None or isinstance(attempt, str) for attempt in attempts):
        raise fields.wrong("RESPONSE", given, "a text or a list of texts")
    return [{**record, _HERE: (at, each)} for at, each in enumerate(attempts or [None], start=1)]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one attempt."""
    attempt, response = record[_HERE]
    item = fields.row_id(record, number, "QUESTION_ID", "id")
    question = fields.text(record, "TARGET_QUESTION")
    wanted = (fields.optional_text(record, "PASS_CRITERIA") or "YES").strip().upper()
    if wanted not in ("YES", "NO"):
        raise fields.wrong("PASS_CRITERIA", wanted, "YES or NO")
    asked = question if wanted == "YES" else f"The answer to this question is no: {question}"
    return Sample.model_validate(
        {
            "id": item if attempt == 1 else f"{item}#{attempt}",
            "instruction_id": item,
            "conversation": fields.messages(record.get("CONVERSATION"), "CONVERSATION"),
            "checklist": (Constraint(text=asked, type=fields.optional_text(record, "AXIS")),),
            "response": response,
            "tags": fields.tags("multichallenge", record, "model", axis="AXIS"),
        }
    )


FORMAT = Format(
    "multichallenge",
    (("CONVERSATION",), ("TARGET_QUESTION",)),
    sample,
    turns=turns,
    follows=False,
    keys=("QUESTION_ID",),
)
