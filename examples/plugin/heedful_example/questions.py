"""A format and its family: instructions taken apart into questions, and their rates.

A row is ``{"id", "request", "answer", "questions": [{"question", "verifier"?}]}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful import Check, Constraint, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format
from heedful.metrics.family import Family
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome

__all__ = ["FAMILY", "FORMAT"]


def _sample(record: dict[str, Any], number: int) -> Sample:
    """Turn a row into a sample; a row that cannot be read raises, and the others go on."""
    return Sample(
        id=fields.row_id(record, number, "id"),
        conversation=fields.user(fields.text(record, "request")),
        checklist=tuple(map(_constraint, fields.objects(record, "questions"))),
        response=fields.response_text(record, "answer"),
        tags={"benchmark": "questions"},
    )


def _constraint(question: dict[str, Any]) -> Constraint:
    verifier = fields.optional_text(question, "verifier")
    check = Check(id=verifier) if verifier else None
    return Constraint(text=fields.text(question, "question"), check=check)


FORMAT = Format(name="questions", needs=(("request",), ("questions",)), sample=_sample)


def _rates(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Count a row as passed if at least half of its questions are answered with yes."""
    verdicts = row.verdicts
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
