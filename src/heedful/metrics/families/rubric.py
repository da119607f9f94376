"""Rubrics that are no benchmark's: our own score, and how often must-haves are all met."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family, family_of
from heedful.metrics.rates import Share
from heedful.metrics.rubrics import OWN_SCORE, score_share

if TYPE_CHECKING:
    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part; a benchmark with a score of its own has only whether gates hold."""
    of = family_of(row.benchmark) if row.benchmark else None
    if row.rubric is None or row.of_judge or (of is not None and of.weighs):
        return {}
    shares = {}
    score = score_share(OWN_SCORE, row.rubric, scoring)
    if score is not None and (of is None or of.score is None or of.name == FAMILY.name):
        shares[OWN_SCORE.name] = score
    if row.rubric.has_gates:
        shares["gates"] = Share.of([row.rubric.gates])
    return shares


FAMILY = Family(
    "rubric",
    "Rubric",
    rates,
    labels={"score": "weighted score", "gates": "must-haves all met"},
    every_row=True,
    order=10,
    score=OWN_SCORE,
)
