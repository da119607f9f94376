"""The constraints that fewest responses met, as reports and the viewer name and rank them."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core import taxonomy
from heedful.metrics.proportions import wilson
from heedful.reporting.notation import INTERVAL, interval, rate
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.metrics.proportions import Interval


FEWEST = 5
"""Verdicts that a constraint has at least to be called hard: of fewer, chance says more."""

LISTED = 10

WORDS = "words"
"""What a constraint without a verifier is known by."""

NAME_CUT = 300
"""Characters of a constraint that a table shows."""


class Hard(NamedTuple):
    """A constraint, or a kind of them, and the verdicts on it."""

    name: str
    met: int
    unmet: int
    undecided: int
    known: str  # what it is known by: words, verifier, subtype or type
    interval: Sequence[float] | None  # of the share that met it, 95 %
    key: str = ""  # names it in a summary

    @property
    def total(self) -> int:
        """How many verdicts there are."""
        return self.met + self.unmet + self.undecided

    @property
    def shown(self) -> tuple[str, str]:
        """The share that did not meet it, in per cent, and its interval."""
        ends = [self.unmet / self.total, (self.unmet + self.undecided) / self.total]
        share = {"value": None if self.undecided else ends[0], "bounds": ends}
        between = None if self.interval is None else [1 - end for end in self.interval[::-1]]
        return rate(share, 1), interval(between)


def of_words(text: str, met: int, unmet: int, undecided: int) -> Hard:
    """Count a constraint that is known by its words; its verdicts are taken as independent."""
    return Hard(text, met, unmet, undecided, WORDS, counted_interval(met, unmet, undecided))


def counted_interval(met: int, unmet: int, undecided: int) -> Interval | None:
    """Return the interval of the share that met it, whatever the undecided ones are."""
    total = met + unmet + undecided
    low, high = wilson(met, total), wilson(met + undecided, total)
    return None if low is None or high is None else (low[0], high[1])


def hardness(between: Sequence[float] | None) -> float:
    """Return the upper end of the interval of the share that met it: the lower, the harder.

    So a constraint that one of one did not meet is not the hardest.
    """
    return 1.0 if between is None else between[1]


def hardest_counts(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Choose the hardest of rows that end in verdicts met, unmet and undecided."""
    return heapq.nsmallest(
        LISTED, rows, key=lambda row: (hardness(counted_interval(*row[-3:])), row[-4])
    )


def kinds(by: Mapping[str, Any], kind: str) -> list[Hard]:
    """Count the verdicts of each kind that has enough of them, with the interval of the rate."""
    if "dropped" in by.get(kind, {}):
        return []
    return [
        Hard(
            taxonomy.name(key, "en"),
            met,
            measure["denominator"] - measure["undecided"] - met,
            measure["undecided"],
            kind,
            measure["interval"],
            key,
        )
        for key, measure in by.get(kind, {}).items()
        if measure["denominator"] - measure["undecided"] >= FEWEST
        for met in [int(measure["numerator"])]
    ]


def hardest(texts: Sequence[Hard], by: Mapping[str, Any]) -> list[Hard]:
    """Rank a run's constraints, the hardest first."""
    ranked = [*texts, *kinds(by, "verifier")]
    return sorted(ranked, key=lambda row: (hardness(row.interval), row.name))[:LISTED]


def hardest_kinds(by: Mapping[str, Any]) -> list[Hard]:
    """Rank the types of a run's constraints, or their subtypes, the hardest first."""
    ranked = kinds(by, "type") or kinds(by, "subtype")
    return sorted(ranked, key=lambda row: (hardness(row.interval), row.name))[:LISTED]


def table(title: str, rows: Sequence[Hard]) -> Table:
    """Lay out constraints, or kinds of them."""
    shown = [
        (
            row.name if len(row.name) <= NAME_CUT else f"{row.name[:NAME_CUT]}…",
            row.known,
            *row.shown,
            *(f"{count:,}" for count in (row.met, row.unmet, row.undecided)),
        )
        for row in rows
    ]
    columns = ("constraint", "known by", "% unmet", INTERVAL, "met", "unmet", "undecided")
    return Table(title, columns, shown, words=2).filled()
