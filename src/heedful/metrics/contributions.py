"""Contributions of rows to the rates, by outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.satisfaction import BASES, FAMILIES
from heedful.metrics.shares import predicted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.statistics import ClusterShare

    Rate = tuple[str, str]
    """A family and the name of one of its rates."""

    Shares = dict[Rate, dict[ClusterShare, int]]
    """For each rate: how many rows made each contribution."""


def contributions(
    outcomes: Collection[RowOutcome], counts: Mapping[int, int], scoring: Scoring
) -> list[dict[Rate, ClusterShare]]:
    """List each outcome's contributions, by the outcome's number.

    Rows that can still pass or fail are taken at their expectation, by the run's decided
    verdicts and their own.
    """
    parts = open_contributions(outcomes, scoring)
    predictions = {
        base: predicted(shares)
        for base, shares in collect(counts, parts).items()
        if base in BASES.values()
    }
    for shares in parts:
        for rate, share in shares.items():
            if share.open is not None:
                shares[rate] = share.settled(predictions.get(BASES[rate]))
    return parts


def open_contributions(
    outcomes: Collection[RowOutcome], scoring: Scoring
) -> list[dict[Rate, ClusterShare]]:
    """List the contributions as the outcomes have them.

    IFEval's rates are for verifiers: a run in which none gave a loose verdict has none. The
    turns of Multi-IF go together by conversation, see :mod:`heedful.metrics.multiif`.
    """
    loose = any(row.loose.decided for row in outcomes)
    families = {name: of for name, of in FAMILIES.items() if loose or name != "ifeval"}
    return [
        {
            (family, name): share
            for family, contribute in families.items()
            if not (family == "ifeval" and row.benchmark == "multiif")
            for name, share in contribute(row, scoring).items()
        }
        for row in outcomes
    ]


def collect(counts: Mapping[int, int], parts: Sequence[Mapping[Rate, ClusterShare]]) -> Shares:
    """Add up the contributions of the outcomes counted, by rate."""
    by_rate: Shares = {}
    for number, count in counts.items():
        for rate, share in parts[number].items():
            shares = by_rate.get(rate)
            if shares is None:
                shares = by_rate[rate] = {}
            shares[share] = shares.get(share, 0) + count
    return by_rate
