"""Contributions of rows to the rates, by outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.satisfaction import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share

    Rate = tuple[str, str]
    """A family and the name of one of its rates."""

    Shares = dict[Rate, dict[Share, int]]
    """For each rate: how many rows made each contribution."""


def contributions(outcomes: Collection[RowOutcome], scoring: Scoring) -> list[dict[Rate, Share]]:
    """List each outcome's contributions, by the outcome's number.

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


def collect(counts: Mapping[int, int], parts: Sequence[Mapping[Rate, Share]]) -> Shares:
    """Add up the contributions of the outcomes counted, by rate."""
    by_rate: Shares = {}
    for number, count in counts.items():
        for rate, share in parts[number].items():
            shares = by_rate.get(rate)
            if shares is None:
                shares = by_rate[rate] = {}
            shares[share] = shares.get(share, 0) + count
    return by_rate
