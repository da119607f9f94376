"""HealthBench: points earned of the positive ones; only the mean is clipped to 0 to 1."""

from __future__ import annotations

from heedful.metrics.family import Family, scored
from heedful.metrics.rubrics import RubricScore, ratio

SCORE = RubricScore("score", ratio, clipped=True)

FAMILY = Family(
    "healthbench",
    "HealthBench",
    scored("healthbench", SCORE),
    labels={"score": "weighted score"},
    every_row=True,
    order=11,
    score=SCORE,
)
