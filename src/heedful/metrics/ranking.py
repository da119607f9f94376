"""Rankings: how often a judge's scores put the better response first, or its choices do.

Counted are pairs of responses to one instruction of which one is known to be better. A pair is
concordant where its score is higher, discordant where it is lower, and tied where both are equal.
Source: IF-RewardBench (its code).

Pairwise judges choose from each pair in both orders. Source: LLMBar (arXiv 2310.07641, its code),
whose shipped κ take every "2" for no answer; ours compares choices with labels. Where a judge
compared several responses to an instruction, their Elo ratings rank them. Source: IF-RewardBench.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from heedful.metrics.agreement import Confusion, kappa, number
from heedful.metrics.proportions import ValueSpan, mean_interval
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from heedful.core.nouns import Scoring
    from heedful.metrics.proportions import Pair


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
    """How well a judge ranks, on average over instructions, and over their types.

    A tie counts as wrong. The coverage is the share of the pairs that were ranked.
    """

    pairs: dict[str, int]
    coverage: float
    instructions: int
    pair_accuracy: RankEstimate
    tau_b: RankEstimate
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
    of_types = {name: _mean(list(strata.values()), of) for name, of in MEASURES.items()}
    overall = {name: _mean([[edges for _, edges in given]], of) for name, of in MEASURES.items()}
    return Ranking(
        pairs=total._asdict(),
        coverage=total.decided / sum(total),
        instructions=len(given),
        pair_accuracy=overall["pair_accuracy"],
        tau_b=overall["tau_b"],
        mean_of_types=of_types if strata else None,
    )


def _mean(strata: Sequence[Sequence[Edges]], of: Callable[[Edges], float | None]) -> RankEstimate:
    """Average over the instructions of each stratum, then over the strata."""
    span = ValueSpan(-1.0 if of is tau_b else 0.0, 1.0)
    ranked = [[of(e) if any(e) else 0.0 for e in stratum] for stratum in strata]
    known = [[value for value in stratum if value is not None] for stratum in ranked]
    values = [stratum for stratum in known if stratum]
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


# --- Elo ratings --------------------------------------------------------------------------------

START, STEP, SCALE, EPOCHS, STEADY = 1200.0, 32.0, 400.0, 100, 20
"""Ratings begin at START; STEADY of the EPOCHS have the full STEP, which then falls to 1."""


def elo(count: int, wins: Sequence[tuple[int, int]], random: Random) -> list[float]:
    """Rate responses, by place, from pairs of a winner's and a loser's place.

    All wins are gone through once an epoch, in a random order.
    """
    ratings = [START] * count
    order = list(wins)
    for epoch in range(EPOCHS):
        random.shuffle(order)
        step = STEP
        if epoch > STEADY:
            step = max(1.0, STEP * (1 - (epoch - STEADY) / (EPOCHS - STEADY)))
        for winner, loser in order:
            ahead = ratings[winner] - ratings[loser]
            ratings[winner] += step * (1 - _expected(ahead))
            ratings[loser] += step * (0 - _expected(-ahead))
    return ratings


def _expected(ahead: float) -> float:
    return 1 / (1 + 10 ** (-ahead / SCALE))


# --- pairwise judges ---------------------------------------------------------------------------

TIE = 0
"""In the place of the response that was chosen."""


class Choice(NamedTuple):
    """The better response of a pair, 1 or 2, and those that a judge chose in the two orders.

    The choice in the order 2, 1 is mapped back. 0 is a tie, ``None`` an answer that can't be read.
    """

    label: int
    unswapped: int | None
    swapped: int | None

    @property
    def winners(self) -> tuple[int | None, int | None]:
        """The choices in the two orders."""
        return self.unswapped, self.swapped


def choices(given: Sequence[Choice], scoring: Scoring) -> dict[str, Any]:
    """Measure a pairwise judge; a pair is a cluster."""
    faithful = scoring == "faithful"
    parts: dict[str, Callable[[Choice], Share]] = {
        "accuracy": lambda c: _share([_right(w, c) for w in c.winners], faithful),
        "accuracy_unswapped": lambda c: _share([_right(c.unswapped, c)], faithful),
        "accuracy_swapped": lambda c: _share([_right(c.swapped, c)], faithful),
        "correct_both": lambda c: _share([_both(c)], faithful),
        "positional_agreement": lambda c: _agreement(c, faithful),
        "first_shown": _first_shown,
    }
    rates = {name: measure(Counter(map(part, given))) for name, part in parts.items()}
    orders = {"unswapped": 0, "swapped": 1}
    kappas = {
        name: _kappa([(c.winners[at], c.label) for c in given]) for name, at in orders.items()
    }
    ties = sum(choice.winners.count(TIE) for choice in given)
    return {"pairs": len(given), "ties": ties, **rates, "kappa": kappas}


def _right(winner: int | None, choice: Choice) -> bool | None:
    return None if winner is None else winner == choice.label


def _both(choice: Choice) -> bool | None:
    """Tell whether both orders are right; one that is wrong settles it."""
    right = [_right(winner, choice) for winner in choice.winners]
    return False if False in right else None if None in right else True


def _share(right: Sequence[bool | None], faithful: bool) -> Share:  # noqa: FBT001
    return Share.known(right.count(True), len(right)) if faithful else Share.of(right)


def _agreement(choice: Choice, faithful: bool) -> Share:  # noqa: FBT001
    unswapped, swapped = choice.winners
    if faithful:
        return Share.known(int(unswapped == swapped))
    return _share([None if None in choice.winners else unswapped == swapped], faithful=False)


def _first_shown(choice: Choice) -> Share:
    """Count the choices that aren't ties, whatever is right."""
    winners = enumerate(choice.winners, 1)
    return Share.of([None if w is None else w == at for at, w in winners if w != TIE])


def _kappa(pairs: Sequence[tuple[int | None, int]]) -> float | None:
    """Compute Cohen's κ of the readable choices with the labels."""
    cells = Counter((winner == 1, label == 1) for winner, label in pairs if winner in (1, 2))
    counted = Confusion(
        cells[True, True], cells[True, False], cells[False, True], cells[False, False]
    )
    return number(kappa(counted))
