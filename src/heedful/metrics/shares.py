"""Verdicts on a row as its contribution to a rate: what the families of rates have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from heedful.metrics.outcomes import VerdictCounts

__all__ = ["pooled"]


def pooled(counts: VerdictCounts) -> Share:
    """Contribute a row's verdicts to a rate over verdicts."""
    return Share(counts.met, counts.met + counts.undecided, counts.total)


def all_met(counts: VerdictCounts) -> Share:
    """Count the row as one unit that passes iff all is met."""
    return Share(int(counts.met == counts.total), int(not counts.unmet), 1)


def csr_share(counts: VerdictCounts, *, rounded: bool = False) -> Share:
    """Contribute the share of a row's constraints that is met, one unit a row."""
    low = mean(counts.met, counts.total, rounded=rounded)
    high = mean(counts.met + counts.undecided, counts.total, rounded=rounded)
    return Share(low, high, 1)


def mean(met: int, total: int, *, rounded: bool) -> float:
    """Compute a share, rounded as CFBench's code rounds it or not."""
    value = met / total
    return _two_decimals(value) if rounded else value


def _two_decimals(value: float) -> float:
    """Round as numpy does, on which CFBench's code relies: 1/40 becomes 0.02, not 0.03."""
    return round(value * 100) / 100
