"""The tables of rankings and of pairwise judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.reporting.notation import (
    INTERVAL,
    MEASURED,
    bounded,
    cells,
    decimal,
    interval,
    percent,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHOICES = {
    "accuracy": "accuracy, both orders",
    "accuracy_unswapped": "accuracy, as in the file",
    "accuracy_swapped": "accuracy, swapped",
    "correct_both": "right in both orders",
    "positional_agreement": "same choice in both orders",
    "first_shown": "chose the first one shown",
}


def ranking_tables(judges: Sequence[Mapping[str, Any]], by: str) -> Iterator[Table]:
    """Lay out how judges rank; nothing where none ranks."""
    rows = []
    for judge in judges:
        ranking = judge.get("ranking")
        if ranking is None:
            continue
        averaged = [("per instruction", ranking)]
        if ranking["mean_of_types"]:
            averaged.append((f"per {by}", ranking["mean_of_types"]))
        for name, measures in averaged:
            accuracy, tau = measures["pair_accuracy"], measures["tau_b"]
            rows.append(
                (
                    f"{judge['name']}: {name}",
                    _with_bounds(percent(accuracy["value"], 1), accuracy, ranking, percent, 1),
                    interval(accuracy["interval"]),
                    _with_bounds(decimal(tau["value"]), tau, ranking, decimal, 2),
                    interval(tau["interval"], decimal, 2),
                    "/".join(f"{count:,}" for count in ranking["pairs"].values()),
                    percent(ranking["coverage"], 1),
                )
            )
    if rows:
        yield Table(
            "Ranking",
            ("judge: averaged", "pair acc.", INTERVAL, "τ-b", INTERVAL, "+/−/tie/?", "coverage"),
            rows,
            "Of pairs of responses of which one is known to be better: how often its score is "
            "higher; ties are wrong. +/−/tie/?: concordant, discordant, tied, undecided. In "
            "brackets: the bounds, where pairs are undecided.",
        )

    yield from _best_of(judges)


def _with_bounds(
    shown: str, measure: Mapping[str, Any], ranking: Mapping[str, Any], write: Any, digits: int
) -> str:
    return bounded(shown, {**measure, "coverage": ranking["coverage"]}, write, digits)


def _best_of(judges: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    rows = [
        (
            judge["name"],
            percent(best["value"], 1),
            interval(best["interval"]),
            f"{best['instructions']:,}",
            percent(best["coverage"], 1),
            interval(best["bounds"]) if best["coverage"] < 1 else "",
        )
        for judge in judges
        if (best := judge.get("best_of")) is not None
    ]
    if rows:
        yield Table(
            "Best response first",
            ("judge", "%", INTERVAL, "instructions", "coverage", "bounds"),
            rows,
            "Of instructions with one response that is known to be the best: how often it scores "
            "highest; 1/k where it shares the highest score with k − 1 others (RewardBench 2).",
        ).filled()


def choice_tables(measured: Mapping[str, Any] | None) -> Iterator[Table]:
    """Lay out a pairwise judge's choices; nothing where there are none."""
    if measured is None:
        return
    rows = [(words, *cells(measured[name])) for name, words in CHOICES.items()]
    kappas = measured["kappa"]
    note = (
        f"{measured['pairs']:,} pairs. Answers that tie, which are wrong: {measured['ties']:,}. "
        "Cohen's κ with the labels: "
        f"{decimal(kappas['unswapped'])} as in the file, {decimal(kappas['swapped'])} swapped."
    )
    yield Table("Recorded choices", ("rate", *MEASURED), rows, note).filled()
