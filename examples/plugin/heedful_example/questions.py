"""A format and its family: instructions taken apart into questions, and their rates.

A row is ``{"id", "request", "answer", "questions": [{"question", "verifier"?}]}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful import Check, Constraint, Message, RowError, Sample
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, row_id, text
from heedful.metrics.family import Family
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome

__all__ = ["FAMILY", "FORMAT"]


def _matches(record: Mapping[str, Any]) -> bool:
    return "request" in record and "questions" in record


def _sample(record: dict[str, Any], number: int) -> Sample:
    """Turn a row into a sample; a row that cannot be read raises, and the others go on."""
    questions = record.get("questions")
    if not isinstance(questions, list) or not all(isinstance(each, dict) for each in questions):
        raise RowError("questions is not a list of objects", hint='write [{"question": "…"}]')
    return Sample(
        id=row_id(record, number, "id"),
        conversation=(Message(role="user", content=text(record, "request")),),
        checklist=tuple(map(_constraint, questions)),
        response=optional_text(record, "answer"),
        tags={"benchmark": "questions"},
    )


def _constraint(question: dict[str, Any]) -> Constraint:
    verifier = optional_text(question, "verifier")
    return Constraint(
        text=text(question, "question"), check=Check(id=verifier) if verifier else None
    )


FORMAT = Format(
    name="questions",
    needs=(("request",), ("questions",)),
    matches=_matches,
    sample=_sample,
)


def _rates(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Count a row as passed if at least half of its questions are answered with yes."""
    verdicts = row.verdicts
    if row.benchmark != "questions" or not verdicts.total:
        return {}
    least, most = verdicts.met, verdicts.met + verdicts.undecided
    half = verdicts.total / 2
    return {"half": Share(int(least >= half), int(most >= half), 1)}


FAMILY = Family(
    "questions",
    "Questions",
    _rates,
    labels={"half": "half of the questions, or more"},
    over_rows=frozenset({"half"}),
)
