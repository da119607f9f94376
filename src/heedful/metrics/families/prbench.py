"""PRBench: points earned, from the least to the most that a response can earn."""

from __future__ import annotations

from heedful.metrics.family import Family, scored
from heedful.metrics.rubrics import RubricScore, normalized

SCORE = RubricScore("score", normalized)

FAMILY = Family(
    "prbench",
    "PRBench",
    scored("prbench", SCORE),
    labels={"score": "weighted score"},
    every_row=True,
    order=15,
    score=SCORE,
)
