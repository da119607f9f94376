"""PaperBench: the replication score, a weighted mean up the tree of a paper's requirements.

Source: PaperBench (arXiv 2504.01848, and its code). The weights that the format gives are shares of
the paper, so what is earned of them is the score. Where all weights below a node are 0, its code
scores the node 0; faithful scoring does so too, and strict scoring leaves the node out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family, scored
from heedful.metrics.rubrics import RubricScore, ratio

if TYPE_CHECKING:
    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share

SCORE = RubricScore("score", ratio)
PUBLISHED = RubricScore("score", lambda points: min(1.0, points.scored))


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a submission's part; others have no tree."""
    if row.benchmark != "paperbench":
        return {}
    return scored("paperbench", PUBLISHED if scoring == "faithful" else SCORE)(row, scoring)


FAMILY = Family(
    "paperbench",
    "PaperBench",
    rates,
    labels={"score": "replication score"},
    order=15,
    score=SCORE,
)
