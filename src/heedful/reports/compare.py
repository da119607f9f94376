"""A comparison as tables, for a terminal, as Markdown and as a page of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful import taxonomy
from heedful.reports.sheets import Sheet, console, html_page, markdown_page, p_value
from heedful.reports.tables import label, percent, ranked
from heedful.words import amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

__all__ = ["head", "html", "markdown", "notes", "sheets", "view"]

TITLE = "Comparison"

GROUPS_SHOWN = 12
FLIPS_SHOWN = 5
FLIPS_WRITTEN = 100
CUT = 100
"""Characters of a text that a terminal shows."""

READ = (
    "In per cent; Δ is first minus second, with the 95 % interval of a paired bootstrap that "
    "resamples instructions. Decided: on both sides; what one side did not decide is in neither."
)

COUNTED = (
    "p: McNemar's exact test of what only one side met; it takes rows as independent, which the "
    "constraints of one sample are not: go by the samples, or the intervals."
)


def view(found: Mapping[str, Any]) -> RenderableType:
    """Lay out a comparison for a terminal; the files have more groups and flips.

    Args:
        found: as :func:`heedful.compare` returns it.
    """
    flips = FLIPS_SHOWN if len(found["pairs"]) == 1 else 0
    shown = sheets(found, groups=GROUPS_SHOWN, flips=flips, cut=CUT)
    return console(head(found), shown, notes(found))


def markdown(found: Mapping[str, Any]) -> str:
    """Write a comparison as a Markdown page.

    Args:
        found: as :func:`heedful.compare` returns it.
    """
    shown = sheets(found, flips=FLIPS_WRITTEN)
    return markdown_page(TITLE, head(found), shown, notes(found))


def html(found: Mapping[str, Any]) -> str:
    """Write a comparison as a page of HTML that needs nothing but itself.

    Args:
        found: as :func:`heedful.compare` returns it.
    """
    shown = sheets(found, flips=FLIPS_WRITTEN)
    return html_page(TITLE, head(found), shown, notes(found))


def sheets(
    found: Mapping[str, Any],
    *,
    groups: int | None = None,
    flips: int,
    cut: int | None = None,
) -> Iterator[Sheet]:
    """Choose the tables that a comparison fills.

    Args:
        found: as :func:`heedful.compare` returns it.
        groups: how many groups of a breakdown, those that differ most; all unless given.
        flips: how many verdicts that flipped; with 0 there is no table of them.
        cut: characters of a text that are shown; all unless given.
    """
    yield _runs(found["runs"])
    for pair in found["pairs"]:
        named = f"{pair['first']} − {pair['second']}"
        if pair["differs"]:
            yield _settings(pair, named)
        yield _metrics(pair, named)
        yield _counts(pair, named)
        for dimension, values in pair["by"].items():
            yield _breakdown(dimension, values, named, groups)
        if flips and pair["flips"]["listed"]:
            yield _flips(pair, named, flips, cut)


def head(found: Mapping[str, Any]) -> list[str]:
    """Say of each pair what was compared on what, and what was left out."""
    return [_compared(pair) for pair in found["pairs"]]


def _compared(pair: Mapping[str, Any]) -> str:
    """Say what was compared on what, and what was left out."""
    rows = pair["samples"]
    names = {"responses": "responses", "judges": "judges", "nothing": "repeated runs"}
    what = names.get(pair["compared"], pair["compared"])
    text = (
        f"{pair['first']} − {pair['second']}: {what}, {amount(rows['paired'], 'sample')} "
        f"matched by {pair['matched_by']}"
    )
    if rows["responses"] and rows["responses"] < rows["paired"]:
        text += f", {rows['responses']:,} with other responses"
    left = [
        f"{rows['only_first']:,} only in the first" if rows["only_first"] else "",
        f"{rows['only_second']:,} only in the second" if rows["only_second"] else "",
        f"{rows['ambiguous']:,} with the key of another" if rows["ambiguous"] else "",
        f"{rows['checklists']:,} with other checklists" if rows["checklists"] else "",
    ]
    if any(left):
        text += f" ({', '.join(filter(None, left))}: left out)"
    if "judges" in pair["compared"] and pair["agreement"]["value"] is not None:
        kappa = pair["kappa"]["value"]
        text += f". The judges agree on {percent(pair['agreement']['value'], 1)} % of verdicts"
        text += "" if kappa is None else f", κ {kappa:.3f}"
    return text + "."


def notes(found: Mapping[str, Any]) -> list[str]:
    """Say what a reader of a comparison should know besides."""
    unread = [
        f"{run['name']}: {amount(run['unread'], 'row')} could not be read and {are} in no number"
        for run in found["runs"]
        if run["unread"]
        for are in ["is" if run["unread"] == 1 else "are"]
    ]
    pairs = found["pairs"]
    prefix = len(pairs) > 1
    return unread + [
        f"{pair['first']} − {pair['second']}: {note}" if prefix else note
        for pair in pairs
        for note in pair["notes"]
    ]


def _runs(runs: Sequence[Mapping[str, Any]]) -> Sheet:
    return Sheet(
        "Runs",
        ("name", "run", "models", "judge", "scoring", "rows"),
        [
            (
                run["name"],
                run["run"],
                ", ".join(run["models"]) or "–",
                run["judge"],
                run["scoring"],
                f"{run['rows']:,}",
            )
            for run in runs
        ],
        words=6,
    )


def _settings(pair: Mapping[str, Any], named: str) -> Sheet:
    return Sheet(
        f"Settings that differ: {named}",
        ("setting", "first", "second"),
        [
            (
                one["what"],
                *("unset" if one[s] is None else str(one[s]) for s in ("first", "second")),
            )
            for one in pair["differs"]
        ],
        words=3,
    )


def _metrics(pair: Mapping[str, Any], named: str) -> Sheet:
    return Sheet(
        named,
        ("metric", "first", "second", "Δ", "95 %", "samples", "decided"),
        [
            (label(family, name), *_cells(measured))
            for family, name, measured in _ranked(pair["metrics"])
        ],
        READ,
    )


def _counts(pair: Mapping[str, Any], named: str) -> Sheet:
    tests, outcomes = pair["mcnemar"], pair["outcomes"]
    undecided = {
        "constraints": sum(
            count
            for one, row in pair["verdicts"].items()
            for other, count in row.items()
            if "undecided" in (one, other)
        ),
        "samples": sum(outcomes.values())
        - sum(tests["samples"][key] for key in ("both", "only_first", "only_second", "neither")),
    }
    several = "p_holm" in tests["samples"] and tests["samples"]["p_holm"] != tests["samples"]["p"]
    rows = [
        (
            named_so,
            *(f"{tests[what][key]:,}" for key in ("only_first", "only_second", "both", "neither")),
            f"{undecided[what]:,}",
            p_value(tests[what]["p_holm" if several else "p"]),
        )
        for what, named_so in (("samples", "samples, all met"), ("constraints", "constraints met"))
    ]
    note = (
        f"{pair['first']} met more constraints in {amount(outcomes['wins'], 'sample')}, fewer in "
        f"{outcomes['losses']:,}, as many in {outcomes['ties']:,}"
        + (f" ({outcomes['undecided']:,} undecided)" if outcomes["undecided"] else "")
        + f". {COUNTED}"
        + (" Adjusted for the number of pairs (Holm)." if several else "")
    )
    columns = ("", "only first", "only second", "both", "neither", "undecided", "p")
    return Sheet(f"Wins and losses: {named}", columns, rows, note)


def _breakdown(dimension: str, values: Mapping[str, Any], named: str, shown: int | None) -> Sheet:
    """Show one rate by group, the groups that differ most first."""
    family, name, _ = next(one for group in values.values() for one in _ranked(group))
    measured = {
        group: rates[family][name]
        for group, rates in values.items()
        if family in rates and name in rates[family]
    }
    order = sorted(measured.items(), key=lambda item: (-abs(_delta(item[1])), item[0]))
    rows = [(taxonomy.name(group, "en"), *_cells(one)) for group, one in order[:shown]]
    rate = "constraints met" if (family, name) == ("infobench", "drfr") else label(family, name)
    left = len(order) - len(rows)
    return Sheet(
        f"{rate} by {dimension}: {named}",
        (dimension, "first", "second", "Δ", "95 %", "samples", "decided"),
        rows,
        f"The groups that differ most; {left} more in a file (-o)." if left else "",
    )


def _flips(pair: Mapping[str, Any], named: str, shown: int, cut: int | None) -> Sheet:
    flips = pair["flips"]
    rows = [
        (
            f"{flip['id']}, {flip['constraint']}",
            _short(flip["text"], cut),
            *(
                _short(f"{flip[side]['status']}: {flip[side]['explanation']}", cut)
                for side in ("first", "second")
            ),
        )
        for flip in flips["listed"][:shown]
    ]
    left = flips["count"] - len(rows)
    return Sheet(
        f"Verdicts that differ: {named}",
        ("sample, constraint", "text", "first", "second"),
        rows,
        f"{left:,} more; the .json file lists the first 1,000." if left else "",
        words=4,
    )


def _ranked(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """Go through the rates, a benchmark's own before the general ones."""
    for family in ranked(metrics):
        for name, measured in metrics[family].items():
            yield family, name, measured


def _cells(measured: Mapping[str, Any]) -> tuple[str, ...]:
    difference = measured["difference"]
    interval = difference["interval"]
    return (
        percent(measured["first"]["value"], 1),
        percent(measured["second"]["value"], 1),
        _signed(difference["value"]),
        " to ".join(map(_signed, interval)) if interval else "–",
        f"{measured['compared']:,}",
        percent(measured["coverage"], 1),
    )


def _signed(value: float | None) -> str:
    """Show a difference in points with its sign, and no sign where it rounds to nothing."""
    shown = percent(value, 1)
    if value is None or float(shown) == 0:
        return shown.lstrip("-")
    return f"+{shown}" if value > 0 else shown.replace("-", "−")


def _delta(measured: Mapping[str, Any]) -> float:
    return measured["difference"]["value"] or 0.0


def _short(text: str, cut: int | None) -> str:
    return text if cut is None or len(text) <= cut else f"{text[:cut]}…"
