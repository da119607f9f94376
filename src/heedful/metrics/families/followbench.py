"""FollowBench (arXiv 2310.20410): an instruction with one constraint more on each of five levels.

HSR (hard satisfaction rate) is the share of responses with all constraints met, SSR (soft) the
mean share met; both are published by level and category. Level 0 has no constraint. CSL, the mean
over examples of the number of leading levels that are all met, is ``csl`` times its five levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family, Steps
from heedful.metrics.gathering import SessionStability
from heedful.metrics.outcomes import all_met, csr_share

if TYPE_CHECKING:
    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share

CSL = Steps("FollowBench's CSL", "conversation_id", "level", "example", "level")


def rates(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Compute a response's part of HSR and SSR."""
    return {"hsr": all_met(row.verdicts), "ssr": csr_share(row.verdicts)}


FAMILY = Family(
    "followbench",
    "FollowBench",
    rates,
    labels={"hsr": "HSR", "ssr": "SSR", "csl": "CSL, share of five levels"},
    over_rows=frozenset({"hsr"}),
    units=lambda scoring: SessionStability(scoring, "csl", CSL),
)
