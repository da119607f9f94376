"""ResearchRubrics: points earned of the positive ones, 0 without any."""

from __future__ import annotations

from heedful.metrics.family import Family, scored
from heedful.metrics.gathering import CriterionRows
from heedful.metrics.rubrics import RubricScore, ratio_or_zero

SCORE = RubricScore("score", ratio_or_zero)

FAMILY = Family(
    "researchrubrics",
    "ResearchRubrics",
    scored("researchrubrics", SCORE),
    labels={"score": "weighted score"},
    every_row=True,
    order=12,
    score=SCORE,
    units=lambda scoring: CriterionRows(scoring, SCORE),
)
