"""ProfBench: points earned of rubrics without mistakes; domains weigh the same.

The overall score is the mean over domains of the scores of their responses; faithful scoring rounds
each domain first.
"""

from __future__ import annotations

from heedful.metrics.family import Family, Mean, scored
from heedful.metrics.gathering import CriterionRows
from heedful.metrics.rubrics import RubricScore, positive_only

SCORE = RubricScore("score", positive_only)
OVERALL = Mean("overall", "score", "domain", faithful_digits=3)

FAMILY = Family(
    "profbench",
    "ProfBench",
    scored("profbench", SCORE, penalties=False),
    labels={"score": "weighted score", "overall": "overall pass rate"},
    every_row=True,
    order=13,
    score=SCORE,
    units=lambda scoring: CriterionRows(scoring, SCORE, OVERALL),
    means=(OVERALL,),
)
