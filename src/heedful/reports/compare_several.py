"""Three runs or more compared: all with one of them, and every pair at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.reports.differences import ADJUSTED, apart, cells, many
from heedful.reports.sheets import Sheet, p_value, signed
from heedful.reports.tables import label, ranked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Pair = Mapping[str, Any]

__all__ = ["against", "overview"]


def against(found: Mapping[str, Any]) -> list[Pair]:
    """List the pairs that the baseline is in.

    Args:
        found: as :func:`heedful.compare` returns it.
    """
    return [one for one in found["pairs"] if found["baseline"] in (one["first"], one["second"])]


def overview(found: Mapping[str, Any], *, brief: bool) -> Iterator[Sheet]:
    """Put all pairs into one table a metric, and their wins and losses into another.

    Args:
        found: as :func:`heedful.compare` returns it, of three runs or more.
        brief: only the metrics of the benchmark itself, where it has some.
    """
    pairs = found["pairs"]
    families = ranked({family for pair in pairs for family in pair["metrics"]})
    names = [run["name"] for run in found["runs"]]
    for family in families[:1] if brief else families:
        for name in dict.fromkeys(
            rate for pair in pairs for rate in pair["metrics"].get(family, ())
        ):
            measures = {
                (pair["first"], pair["second"]): pair["metrics"][family][name]
                for pair in pairs
                if name in pair["metrics"].get(family, ())
            }
            yield _against(label(family, name), found["baseline"], measures)
            yield _matrix(label(family, name), names, measures)
    yield _wins(pairs)


def _against(rate: str, baseline: str, measures: Mapping[tuple[str, str], Any]) -> Sheet:
    """Show the baseline's differences from the others, or theirs from it."""
    rows, other = [], 1
    for pair, measured in measures.items():
        if baseline in pair:
            other = 1 - pair.index(baseline)
            rows.append((pair[other], *cells(measured, adjusted=True)))
    what = f"each − {baseline}" if other == 0 else f"{baseline} − each"
    return Sheet(f"{rate}: {what}", ("run", *ADJUSTED), rows)


def _matrix(rate: str, names: Sequence[str], measures: Mapping[tuple[str, str], Any]) -> Sheet:
    """Show every pair's difference, the row's run minus the column's."""
    rows = []
    for place, name in enumerate(names, 1):
        row = [f"{place} {name}"]
        for other in names:
            there, back = measures.get((name, other)), measures.get((other, name))
            one = there or back
            value = None if one is None else one["difference"]["value"]
            if one is None or value is None:
                row.append("·" if name == other else "–")
            else:
                row.append(signed(value if there else -value, 1) + "*" * apart(one))
        rows.append(tuple(row))
    columns = ("row − column", *(str(place) for place in range(1, len(names) + 1)))
    note = "*: the 95 % interval excludes 0. Each pair is compared on its own samples, those that "
    note += f"both decided. {many(measures.values(), 'pairs')}"
    return Sheet(f"{rate}: every pair", columns, rows, note)


def _wins(pairs: Sequence[Pair]) -> Sheet:
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
        "Samples with all constraints met on one side or both; p: McNemar's exact test, adjusted "
        "for the number of pairs (Holm). Wins: samples in which the first met more constraints."
    )
    return Sheet("Wins and losses", columns, rows, note, details=("both", "neither"))
