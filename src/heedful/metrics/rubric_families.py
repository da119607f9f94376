"""The rates of benchmarks of rubrics, and of rubrics of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.outcomes import RATED
from heedful.metrics.rates import Share
from heedful.metrics.rubrics import FAMILY_SCORES, family_shares
from heedful.metrics.shares import all_met, csr_share, pooled

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome


def structflow(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a turn's part of StructFlowBench's CSR, ISR, WCSR and DRFR (arXiv 2502.14494).

    CSR and WCSR are means over turns of the share of constraints met, for WCSR weighted by their
    types; ISR is the share of turns with all met, DRFR the share of all constraints. Faithful
    scoring counts every undecided verdict as unmet.
    """
    verdicts = row.verdicts
    if row.benchmark != "structflow" or not verdicts.total:
        return {}
    weighted = family_shares("profbench", row.rubric, scoring).get("score")
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


def multichallenge(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Compute an attempt's part of MultiChallenge's pass rate (arXiv 2501.17399)."""
    if row.benchmark != "multichallenge" or not row.verdicts.total:
        return {}
    return {"passed": all_met(row.verdicts)}


def followbench(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Compute a response's part of FollowBench's HSR and SSR (arXiv 2310.20410).

    HSR (hard satisfaction rate) is the share of responses with all constraints met, SSR (soft) the
    mean share met; both are published by level and category. Level 0 has no constraint.
    """
    if row.benchmark != "followbench" or not row.verdicts.total:
        return {}
    return {"hsr": all_met(row.verdicts), "ssr": csr_share(row.verdicts)}


OF_ITS_FORMAT = frozenset({"ruverbench"})
"""Families with a score only for rows of their own format.

RuVerBench's points are above 0. With others its recall would be above 100 %."""


def rubric_family(family: str) -> Callable[[RowOutcome, Scoring], dict[str, Share]]:
    """Make the function that computes a row's part of a weighted score.

    A row of a benchmark with a score of its own has only that one, and whether its gates hold.
    """

    def contribute(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
        if row.benchmark in RATED:
            return {}  # of one criterion; its response's score is gathered in units
        if row.benchmark == "structflow" or (family == "profbench" and row.penalised):
            return {}
        if row.benchmark == family or (not row.benchmark and family not in OF_ITS_FORMAT):
            return family_shares(family, row.rubric, scoring)
        shares = family_shares(family, row.rubric, scoring) if family == "rubric" else {}
        own = row.benchmark in FAMILY_SCORES
        return {name: share for name, share in shares.items() if name == "gates" or not own}

    return contribute
