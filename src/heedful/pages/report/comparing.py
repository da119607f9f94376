"""The section of a report that compares its runs two by two, on the samples that they share."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.difference_tables import BOUNDS
from heedful.analysis.compare.job import adjust, compare
from heedful.analysis.compare.tables import head, notes, tables
from heedful.core.errors import InputError, UsageError
from heedful.pages.report.sections import Fold, Section, SectionPart
from heedful.reporting.metric_names import label, ranked
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    NOTHING,
    bounds,
    interval,
    p_value,
    percent,
    signed,
)
from heedful.reporting.row_charts import Estimate, estimates_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FLIPS = 20
CUT = 300
"""Characters of a text that a table shows."""

PairResult = dict[str, Any]


def comparison(runs: Sequence[Path], named: Sequence[str]) -> Section:
    """Compare runs two by two, and say of those that are unlike why they are not compared."""
    compared, refused = _compared(runs, named)
    folds = [
        Fold(
            f"{pair['first']} − {pair['second']}",
            [*head(result), *notes(result)],
            [
                SectionPart(table)
                for table in _tables(result, f"{pair['first']} − {pair['second']}")
            ],
        )
        for result in compared
        for pair in result["pairs"]
    ]
    lead = (
        "Rates side by side say little; the difference on the samples that two runs share says "
        "more. Instructions and conversations count whole, with all their samples in both runs."
    )
    parts = (
        [SectionPart(_overview(compared), _differences_chart(compared), wide=True)]
        if compared
        else []
    )
    return Section("comparison", "Comparison", parts, lead, refused, folds)


def _compared(runs: Sequence[Path], named: Sequence[str]) -> tuple[list[PairResult], list[str]]:
    """Compare each pair that can be compared, and say of the others why not."""
    results, refused = [], []
    for (first_run, first), (second_run, second) in combinations(zip(runs, named, strict=True), 2):
        try:
            result = compare(first_run, second_run)
        except (InputError, UsageError) as error:
            hint = f" To compare them: {error.hint}." if error.hint else ""
            refused.append(f"{first} and {second} are not compared: {error.what}.{hint}")
            continue
        for run, name in zip(result["runs"], (first, second), strict=True):
            run["name"] = name
        for pair in result["pairs"]:
            pair |= {"first": first, "second": second}
        results.append(result)
    adjust([pair for result in results for pair in result["pairs"]])
    return results, refused


def _overview(compared: Sequence[PairResult]) -> Table:
    """Put the differences of all pairs into one table, each by its benchmark's first rate."""
    rows = [_row(pair) for result in compared for pair in result["pairs"]]
    rates = ("first", "second", "Δ", INTERVAL, COVERAGE, "bounds")
    columns = ("pair", "metric", *rates, "wins", "losses", "ties", "p")
    adjusted = ", adjusted for the number of pairs (Holm)" if len(rows) > 1 else ""
    note = (
        f"In per cent; Δ is first minus second, with its 95 % interval. {BOUNDS} "
        "Wins: samples in which the first met more constraints. p: "
        f"the paired randomization test of the difference{adjusted}."
    )
    return Table("Differences", columns, rows, note, words=2).filled()


def _differences_chart(compared: Sequence[PairResult]) -> dict[str, Any]:
    """Draw the differences of the table."""
    estimates = [
        Estimate(
            f"{pair['first']}\n− {pair['second']}", difference["value"], difference["interval"]
        )
        for result in compared
        for pair in result["pairs"]
        for _, _, measure in [_first(pair)]
        if measure is not None
        for difference in [measure["difference"]]
    ]
    ends = [
        end
        for estimate in estimates
        for end in (estimate.value, *(estimate.interval or ()))
        if end is not None
    ]
    most = min(100, 10 * math.ceil(10 * max(map(abs, ends), default=0) + 0.1))
    return estimates_chart(estimates, "Δ, points", bounds=(-most, most))


def _first(pair: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any] | None]:
    """Find the rate that a pair is quoted by."""
    for family in ranked(pair["metrics"]):
        for name, measure in pair["metrics"][family].items():
            return family, name, measure
    return "", "", None


def _tables(result: PairResult, named: str) -> Iterator[Table]:
    """Lay out the tables of a pair, which need not repeat its name."""
    for table in islice(tables(result, flips=FLIPS, cut=CUT), 1, None):
        title = table.title.removesuffix(f": {named}")
        title = "Metrics" if title == named else title[:1].upper() + title[1:]
        yield replace(table, title=title)


def _row(pair: Mapping[str, Any]) -> tuple[str, ...]:
    family, name, measure = _first(pair)
    outcomes = pair["outcomes"]
    differs: tuple[str, ...] = (*(NOTHING,) * 5, "")
    if measure is not None:
        low_high = measure["difference"]["interval"]
        differs = (
            percent(measure["first"]["value"], 1),
            percent(measure["second"]["value"], 1),
            signed(measure["difference"]["value"], 1),
            interval(low_high, signed),
            percent(measure["coverage"], 1),
            bounds(measure, signed),
        )
    return (
        f"{pair['first']} − {pair['second']}",
        label(family, name) if family else "–",
        *differs,
        *(f"{outcomes[key]:,}" for key in ("wins", "losses", "ties")),
        NOTHING if measure is None or measure["p_holm"] is None else p_value(measure["p_holm"]),
    )
