"""Pairwise judges: how often they choose the better of two responses, in either order.

Source: LLMBar (arXiv 2310.07641, its code): each pair is shown in both orders. Its shipped κ take
every "2" for no answer; ours compares choices with labels.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.metrics.agreement import Confusion, kappa, number
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.rates import RateEstimate

__all__ = ["TIE", "Choice", "choices"]

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
    rates: dict[str, RateEstimate] = {
        "accuracy": _measure(given, lambda c: _share([_right(w, c) for w in c.winners], faithful)),
        "accuracy_unswapped": _measure(given, lambda c: _share([_right(c.unswapped, c)], faithful)),
        "accuracy_swapped": _measure(given, lambda c: _share([_right(c.swapped, c)], faithful)),
        "correct_both": _measure(given, lambda c: _share([_both(c)], faithful)),
        "positional_agreement": _measure(given, lambda c: _agreement(c, faithful)),
        "first_shown": _measure(
            given,
            lambda c: _share(
                [None if w is None else w == at for at, w in enumerate(c.winners, 1) if w != TIE],
                faithful=False,
            ),
        ),
    }
    orders = {"unswapped": 0, "swapped": 1}
    kappas = {
        name: _kappa([(c.winners[at], c.label) for c in given]) for name, at in orders.items()
    }
    ties = sum(choice.winners.count(TIE) for choice in given)
    return {"pairs": len(given), "ties": ties, **rates, "kappa": kappas}


def _measure(given: Sequence[Choice], of: Callable[[Choice], Share]) -> RateEstimate:
    return measure(Counter(map(of, given)))


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


def _kappa(pairs: Sequence[tuple[int | None, int]]) -> float | None:
    """Compute Cohen's κ of the readable choices with the labels."""
    cells = Counter((winner == 1, label == 1) for winner, label in pairs if winner in (1, 2))
    counted = Confusion(
        cells[True, True], cells[True, False], cells[False, True], cells[False, False]
    )
    return number(kappa(counted))
