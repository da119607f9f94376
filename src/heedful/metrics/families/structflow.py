"""StructFlowBench (arXiv 2502.14494): conversations with constraints on each turn.

CSR and WCSR are means over turns of the share of constraints met, for WCSR weighted by their types;
ISR is the share of turns with all met, DRFR the share of all constraints. Faithful scoring counts
every undecided verdict as unmet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family
from heedful.metrics.outcomes import all_met, csr_share, pooled
from heedful.metrics.rates import Share
from heedful.metrics.rubrics import RubricScore, positive_only, score_share

if TYPE_CHECKING:
    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome

WEIGHTED = RubricScore("wcsr", positive_only)


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a turn's part of the rates."""
    verdicts = row.verdicts
    weighted = score_share(WEIGHTED, row.rubric, scoring)
    if scoring == "faithful":
        return {
            "csr": Share.known(verdicts.met / verdicts.total),
            "isr": Share.known(int(verdicts.met == verdicts.total)),
            "wcsr": weighted or Share.known(0),
            "drfr": Share.known(verdicts.met, verdicts.total),
        }
    shares = {"csr": csr_share(verdicts), "isr": all_met(verdicts)}
    if weighted is not None:
        shares["wcsr"] = weighted
    return shares | {"drfr": pooled(verdicts)}


FAMILY = Family(
    "structflow",
    "StructFlowBench",
    rates,
    labels={"csr": "CSR", "isr": "ISR", "wcsr": "WCSR", "drfr": "DRFR"},
    over_rows=frozenset({"isr"}),
    weighs=True,
    unmet_if_undecided=True,
)
