"""Verdicts on a row as its contribution to a rate: what the families of rates have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.expectation import OpenOutcome, Prediction, Units
from heedful.metrics.statistics import ClusterShare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.metrics.outcomes import VerdictCounts

__all__ = ["pooled", "predicted"]


def pooled(counts: VerdictCounts) -> ClusterShare:
    """Contribute a row's verdicts to a rate over verdicts, the undecided ones left out."""
    possible = counts.met + counts.undecided
    return ClusterShare(
        counts.met, counts.decided, counts.met, possible, counts.total, counts.decided
    )


def predicted(shares: Mapping[ClusterShare, int]) -> Prediction | None:
    """Tell how undecided verdicts are predicted, by rows' contributions to a rate over verdicts."""
    return Prediction.of(
        (Units(share.numerator, share.denominator, share.units - share.covered), count)
        for share, count in shares.items()
    )


def all_met(counts: VerdictCounts) -> ClusterShare:
    """Count the row as one unit that passes iff all is met."""
    left = OpenOutcome(counts.met, counts.unmet, counts.undecided) if counts.decided else None
    return passing(int(counts.met == counts.total), int(not counts.unmet), left)


def passing(low: int, high: int, left: OpenOutcome | None) -> ClusterShare:
    """Count the row as one unit."""
    known = int(low == high)
    return ClusterShare(low * known, known, low, high, 1, known, None if known else left)


def csr_share(counts: VerdictCounts, *, rounded: bool) -> ClusterShare:
    """Contribute the share of a row's constraints that is met, one unit a row."""
    value = mean(counts.met, counts.decided, rounded=rounded) if counts.decided else 0.0
    low = mean(counts.met, counts.total, rounded=rounded)
    high = mean(counts.met + counts.undecided, counts.total, rounded=rounded)
    return ClusterShare(value, int(counts.decided > 0), low, high, 1, counts.decided / counts.total)


def mean(met: int, total: int, *, rounded: bool) -> float:
    """Compute a share, rounded as CFBench's code rounds it or not."""
    value = met / total
    return _two_decimals(value) if rounded else value


def _two_decimals(value: float) -> float:
    """Round as numpy does, on which CFBench's code relies: 1/40 becomes 0.02, not 0.03."""
    return round(value * 100) / 100
