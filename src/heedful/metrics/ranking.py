"""Rankings: how often a judge's scores put the better response first.

Counted are pairs of responses to one instruction of which one is known to be better. A pair is
concordant where its score is higher, discordant where it is lower, and tied where both are equal.
Source: IF-RewardBench (its code).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from heedful.metrics.proportions import Spread, ValueSpan, mean_interval, rate_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.metrics.proportions import Pair

__all__ = ["BestOf", "Edges", "Ranking", "best_of", "ranking"]


class Edges(NamedTuple):
    """Pairs of an instruction by how the judge ranks them."""

    concordant: int = 0
    discordant: int = 0
    tied: int = 0
    undecided: int = 0

    @property
    def decided(self) -> int:
        """Pairs that are ranked, ties included."""
        return self.concordant + self.discordant + self.tied

    def plus(self, other: Edges) -> Edges:
        """Add two up."""
        return Edges(*(a + b for a, b in zip(self, other, strict=True)))


class RankEstimate(TypedDict):
    """A mean over instructions; its bounds have all undecided pairs wrong, and all right."""

    value: float | None
    interval: list[float] | None
    bounds: list[float] | None


class Ranking(TypedDict):
    """How well a judge ranks: over all pairs, and on average over instructions and their types.

    A tie counts as wrong. The coverage is the share of the pairs that were ranked.
    """

    pairs: dict[str, int]
    coverage: float
    instructions: int
    pooled: RankEstimate
    pair_accuracy: RankEstimate
    tau_b: RankEstimate
    types: dict[str, dict[str, RankEstimate]] | None
    mean_of_types: dict[str, RankEstimate] | None


class BestOf(RankEstimate):
    """How often the best response scores highest, over instructions where it is known.

    The coverage is the share of them in which undecided verdicts can't change that.
    """

    instructions: int
    coverage: float


def best_of(ends: Sequence[tuple[float, float]]) -> BestOf | None:
    """Average over instructions how often the best response scores highest.

    It counts 1/k where k responses share the highest score and the best one is among them, and 0
    where it isn't. Source: RewardBench 2 (its code, for all subsets but Ties).
    """
    if not ends:
        return None
    known = [low for low, high in ends if low == high]
    interval = mean_interval([Counter(((value, 1.0),) for value in known)]) if known else None
    return BestOf(
        value=math.fsum(known) / len(known) if known else None,
        interval=list(interval) if interval else None,
        bounds=[math.fsum(end[side] for end in ends) / len(ends) for side in (0, 1)],
        instructions=len(ends),
        coverage=len(known) / len(ends),
    )


def pair_accuracy(edges: Edges) -> float | None:
    """Compute the share of ranked pairs that are concordant; a tie is not."""
    return edges.concordant / edges.decided if edges.decided else None


def tau_b(edges: Edges) -> float | None:
    """Compute Kendall's τ-b of the ranked pairs; the known ranking has no ties among them.

    It is 0 where all pairs are tied, as in IF-RewardBench's code.
    """
    if not edges.decided:
        return None
    ranked = edges.concordant + edges.discordant
    return (edges.concordant - edges.discordant) / max(1.0, math.sqrt(ranked * edges.decided))


MEASURES: Mapping[str, Callable[[Edges], float | None]] = {
    "pair_accuracy": pair_accuracy,
    "tau_b": tau_b,
}


def ranking(
    instructions: Sequence[tuple[str | None, Edges]], *, zero: bool = False
) -> Ranking | None:
    """Measure a judge's ranking."""
    if not any(any(edges) for _, edges in instructions):
        return None
    given = [(kind, edges) for kind, edges in instructions if zero or any(edges)]
    total = Edges()
    for _, edges in given:
        total = total.plus(edges)
    strata: dict[str, list[Edges]] = {}
    for kind, edges in given:
        if kind is not None:
            strata.setdefault(kind, []).append(edges)
    kinds = {
        kind: {name: _mean([strata[kind]], of) for name, of in MEASURES.items()}
        for kind in sorted(strata)
    }
    of_types = {name: _mean(list(strata.values()), of) for name, of in MEASURES.items()}
    overall = {name: _mean([[edges for _, edges in given]], of) for name, of in MEASURES.items()}
    return Ranking(
        pairs=total._asdict(),
        coverage=total.decided / sum(total),
        instructions=len(given),
        pooled=_pooled([edges for _, edges in given], total),
        pair_accuracy=overall["pair_accuracy"],
        tau_b=overall["tau_b"],
        types=kinds or None,
        mean_of_types=of_types if kinds else None,
    )


def _pooled(given: Sequence[Edges], total: Edges) -> RankEstimate:
    spread = Spread.of(((e.concordant, e.decided), 1) for e in given)
    interval = rate_interval(spread)
    return RankEstimate(
        value=pair_accuracy(total),
        interval=list(interval) if interval else None,
        bounds=_extremes(total, pair_accuracy),
    )


def _mean(strata: Sequence[Sequence[Edges]], of: Callable[[Edges], float | None]) -> RankEstimate:
    """Average over the instructions of each stratum, then over the strata."""
    span = ValueSpan(-1.0 if of is tau_b else 0.0, 1.0)
    ranked = [[of(e) if any(e) else 0.0 for e in stratum] for stratum in strata]
    values = [[value for value in stratum if value is not None] for stratum in ranked]
    values = [stratum for stratum in values if stratum]
    means = [math.fsum(stratum) / len(stratum) for stratum in values]
    # Intervals are those of rates, so what goes from -1 to 1 is brought into 0 to 1.
    pairs: list[Counter[tuple[Pair, ...]]] = [
        Counter(((span.down(value), 1.0),) for value in stratum) for stratum in values
    ]
    interval = span.up(mean_interval(pairs)) if pairs else None
    ends = [[_extremes(edges, of) for edges in stratum] for stratum in strata if stratum]
    return RankEstimate(
        value=math.fsum(means) / len(means) if means else None,
        interval=list(interval) if interval else None,
        bounds=[
            math.fsum(math.fsum(e[side] for e in stratum) / len(stratum) for stratum in ends)
            / len(ends)
            for side in (0, 1)
        ]
        if ends
        else None,
    )


def _extremes(edges: Edges, of: Callable[[Edges], float | None]) -> list[float]:
    left = edges.undecided
    worst = of(edges._replace(discordant=edges.discordant + left, undecided=0))
    best = of(edges._replace(concordant=edges.concordant + left, undecided=0))
    return [worst or 0.0, best or 0.0]
