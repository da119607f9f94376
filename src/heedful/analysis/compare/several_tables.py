"""Three runs or more compared: all with one of them, and every pair at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.difference_tables import (
    ADJUSTED,
    DETAILS,
    SHORT,
    cells,
    differs,
    may_turn,
    summary,
    undecided,
)
from heedful.reporting.metric_names import FAMILIES, label, ranked
from heedful.reporting.notation import NOTHING, interval, p_value, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Pair = Mapping[str, Any]
    Measures = Mapping[tuple[str, str], Mapping[str, Any]]
    """Differences of a rate by pair."""


def against(comparison: Mapping[str, Any]) -> list[Pair]:
    """List the pairs that the baseline is in."""
    return [
        pair
        for pair in comparison["pairs"]
        if comparison["baseline"] in (pair["first"], pair["second"])
    ]


def overview(comparison: Mapping[str, Any], *, brief: bool) -> Iterator[Table]:
    """Show the baseline against all, every pair at a glance, and wins and losses."""
    pairs = comparison["pairs"]
    families = ranked({family for pair in pairs for family in pair["metrics"]})
    for family in families[:1] if brief else families:
        measures = {
            name: {
                (pair["first"], pair["second"]): pair["metrics"][family][name]
                for pair in pairs
                if name in pair["metrics"].get(family, ())
            }
            for name in dict.fromkeys(
                rate for pair in pairs for rate in pair["metrics"].get(family, ())
            )
        }
        for name, of in measures.items():
            yield from _against(label(family, name), comparison["baseline"], of, brief=brief)
        yield _every_pair(family, [run["name"] for run in comparison["runs"]], measures)
    yield _wins(pairs)


def _against(rate: str, baseline: str, measures: Measures, *, brief: bool) -> Iterator[Table]:
    """Show the baseline's differences from the others, or theirs from it."""
    by_other, other = {}, 1
    for pair, measured in measures.items():
        if baseline in pair:
            other = 1 - pair.index(baseline)
            by_other[pair[other]] = measured
    what = f"each − {baseline}" if other == 0 else f"{baseline} − each"
    rows = [(name, *cells(measured)) for name, measured in by_other.items()]
    title = f"{rate}: {what}"
    yield Table(title, ("run", *ADJUSTED), rows, details=DETAILS).filled()
    if brief:
        yield from undecided(by_other, title, "run")


def _every_pair(family: str, names: Sequence[str], measures: Mapping[str, Measures]) -> Table:
    """Show the differences of a family's rates, the row's run minus the column's."""
    rows = [
        (label(family, rate), f"{place} {name}", *(_delta(of, name, other) for other in names))
        for rate, of in measures.items()
        for place, name in enumerate(names, 1)
    ]
    columns = ("metric", "row − column", *(str(place) for place in range(1, len(names) + 1)))
    measured = [measure for of in measures.values() for measure in of.values()]
    note = (
        "Starred: p is below 0.05 and the 95 % interval excludes 0, whatever is undecided. Each "
        f"pair is compared on the samples that both decided. {summary(measured, 'pairs')}"
    )
    if any(measure["coverage"] < 1 for measure in measured):
        note += f" Below a difference: {SHORT}."
    return Table(f"{FAMILIES.get(family, family)}: every pair", columns, rows, note, words=2)


def _delta(measures: Measures, name: str, other: str) -> str:
    there, back = measures.get((name, other)), measures.get((other, name))
    measured = there or back
    value = None if measured is None else measured["difference"]["value"]
    if measured is None or value is None:
        return "·" if name == other else NOTHING
    shown = signed(value if there else -value, 1)
    shown += "*" * (differs(measured) and not may_turn(measured))
    if measured["coverage"] == 1:
        return shown
    low, high = measured["bounds"]
    ends = interval((low, high) if there else (-high, -low), signed)
    return f"{shown}\n{percent(measured['coverage'], 1)} %\n[{ends}]"


def _wins(pairs: Sequence[Pair]) -> Table:
    columns = (
        "pair",
        "only first",
        "only second",
        "both",
        "neither",
        "p",
        "wins",
        "losses",
        "ties",
    )
    rows = [
        (
            f"{pair['first']} − {pair['second']}",
            *(
                f"{pair['mcnemar']['samples'][column.replace(' ', '_')]:,}"
                for column in columns[1:5]
            ),
            p_value(pair["mcnemar"]["samples"]["p_holm"]),
            *(f"{pair['outcomes'][column]:,}" for column in columns[6:]),
        )
        for pair in pairs
    ]
    note = (
        "Samples with all constraints met on one side or both; p: the paired randomization test, "
        "adjusted for the number of pairs (Holm). Wins: samples in which the first met more "
        "constraints."
    )
    return Table("Wins and losses", columns, rows, note, details=("both", "neither"))
