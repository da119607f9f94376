"""A comparison as a sentence and as tables; and whether a run isn't worse than another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.core import taxonomy
from heedful.core.text import amount
from heedful.metrics.contrasts import LEVEL
from heedful.metrics.general import FULLY_MET, GENERAL, POOLED
from heedful.reporting.document import Document
from heedful.reporting.metric_names import heading, label, ranked
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    NOTHING,
    bounded,
    bounds,
    interval,
    p_value,
    percent,
    share_decided,
    signed,
    without_interval,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    Difference = Mapping[str, Any]

    Pair = Mapping[str, Any]

    Rate = tuple[str, str]


TITLE = "Comparison"

GROUPS_SHOWN = 12
ROWS_SHOWN = 16
"""Of a breakdown with all its rates, in a terminal; of longer ones it shows one rate."""

FLIPS_SHOWN = 5
FLIPS_WRITTEN = 100
CUT = 100
"""Characters of a text that a terminal shows."""

READ = (
    "In per cent; Δ is first minus second, with its 95 % interval. p: the paired randomization "
    "test, which swaps the sides of whole instructions or conversations. Below 0.05 it shows which "
    "side is higher, and the interval excludes 0; neither: no difference is shown; open: what is "
    "undecided could reverse it. What only one side decided is in neither rate."
)

COUNTED = "p: the paired randomization test of what only one side met."

BOUNDS = (
    "Coverage: decided on both sides. Bounds: the difference if all that is undecided were unmet "
    "on the first side and met on the second, and the other way round."
)

COLUMNS = ("first", "second", "Δ", INTERVAL, "p", "higher", "n", COVERAGE, "bounds")
ADJUSTED = tuple("p (Holm)" if name == "p" else name for name in COLUMNS)
"""The columns of :func:`cells`, of one test and of several."""

DETAILS = ("n", COVERAGE, "bounds")
"""Columns that a terminal has no room for; it gets the last two in a table of their own."""

GROUP_DETAILS = ("n", "higher", COVERAGE, "bounds")
"""The same for a breakdown."""


def view(comparison: Mapping[str, Any]) -> RenderableType:
    """Lay out a comparison for a terminal; the files have more groups, flips and pairs."""
    shown = tables(comparison, groups=GROUPS_SHOWN, flips=FLIPS_SHOWN, cut=CUT)
    return Document(TITLE, head(comparison), list(shown), notes(comparison)).terminal()


def document(
    comparison: Mapping[str, Any], *, brief: bool = False, first: Sequence[str] = ()
) -> Document:
    """Lay out a comparison as a document."""
    shown = (
        tables(
            {**comparison, "pairs": [{**pair, "by": {}} for pair in comparison["pairs"]]}, flips=0
        )
        if brief
        else tables(comparison, flips=FLIPS_WRITTEN)
    )
    return Document(TITLE, [*first, *head(comparison)], list(shown), notes(comparison))


def tables(
    comparison: Mapping[str, Any],
    *,
    groups: int | None = None,
    flips: int,
    cut: int | None = None,
) -> Iterator[Table]:
    """Choose the tables that a comparison fills."""
    noted = set()
    for table in _all_tables(comparison, groups, flips, cut):
        # A note that several tables have stands below the first.
        yield replace(table, note="") if table.note in noted else table
        noted.add(table.note)


def rate_tables(comparison: Mapping[str, Any]) -> Iterator[Table]:
    """Lay out the rates of each pair, a table each."""
    pairs = comparison["pairs"]
    for pair in pairs:
        yield from _metrics(pair, several=len(pairs) > 1, terminal=False)


def _all_tables(
    comparison: Mapping[str, Any], groups: int | None, flips: int, cut: int | None
) -> Iterator[Table]:
    terminal = groups is not None
    yield _runs(comparison["runs"])
    pairs, several = comparison["pairs"], len(comparison["pairs"]) > 1
    brief = several and terminal
    shown = against(comparison) if brief else pairs
    for pair in shown:
        if pair["differs"]:
            yield _settings(pair)
    if several:
        yield from leaderboard(comparison)
        yield from overview(shown, brief=brief)
    for pair in () if brief else pairs:
        yield from _metrics(pair, several=several, terminal=terminal)
        yield _counts(pair, len(pairs))
        for dimension in pair["by"]:
            yield from _breakdown(pair, dimension, groups)
        if flips and pair["flips"]["listed"]:
            yield _flips(pair, flips, cut)


def cells(measured: Difference) -> tuple[str, ...]:
    """Write a difference, with its p-value (adjusted, if there are several) and what it shows."""
    difference = measured["difference"]
    return (
        percent(measured["first"]["value"], 1),
        percent(measured["second"]["value"], 1),
        signed(difference["value"], 1),
        interval(difference["interval"], signed),
        NOTHING if measured["p_holm"] is None else p_value(measured["p_holm"]),
        higher(measured),
        f"{measured['compared']:,}",
        percent(measured["coverage"], 1),
        bounds(measured, signed),
    )


def higher(measured: Difference) -> str:
    """Name the side that is shown to be higher, whatever the undecided verdicts are.

    >>> measured = {"p_holm": 0.01, "difference": {"value": -0.2}, "coverage": 1}
    >>> higher(measured), higher({**measured, "p_holm": 0.3})
    ('second', 'neither')
    >>> higher({**measured, "coverage": 0.7, "bounds": [-0.4, 0.1]})
    'open'
    """
    if measured["p_holm"] is None:
        return NOTHING
    if measured["p_holm"] >= LEVEL:
        return "neither"
    if may_turn(measured):
        return "open"
    return "first" if measured["difference"]["value"] > 0 else "second"


def differs(measured: Difference) -> bool:
    """Check whether a difference is shown when it is read alone: its interval excludes 0."""
    return measured["p"] is not None and measured["p"] < LEVEL


def summary(measures: Collection[Difference], what: str) -> str:
    """Say how many of several tests could be chance; nothing for a single test."""
    tested = [measure for measure in measures if measure["p"] is not None]
    if len(tested) < 2:  # noqa: PLR2004 - several
        return ""
    adjusted = sum(measure["p_holm"] < LEVEL for measure in tested)
    return (
        f"{sum(map(differs, tested)):,} of {len(tested):,} intervals exclude 0; without any "
        f"difference about {LEVEL * len(tested):.1f} would. {adjusted:,} p-values, adjusted for "
        f"the number of {what} (Holm), are below {LEVEL}."
    )


def _differences(
    title: str,
    heads: Sequence[str],
    rows: Iterable[tuple[str | tuple[str, ...], Difference]],
    note: str = "",
    *,
    adjusted: bool = True,
    terminal: bool = False,
    details: Collection[str] = DETAILS,
) -> Iterator[Table]:
    """Lay out differences, a row each; a terminal gets coverage and bounds apart.

    ``heads``: of the columns of words that a row begins with.
    """
    listed = [((names,) if isinstance(names, str) else names, each) for names, each in rows]
    yield Table(
        title,
        (*heads, *(ADJUSTED if adjusted else COLUMNS)),
        [(*names, *cells(each)) for names, each in listed],
        note,
        words=len(heads),
        details=details,
    ).filled()
    undecided = [
        (*names, percent(each["coverage"], 1), bounds(each, signed) or NOTHING)
        for names, each in listed
        if each["coverage"] < 1
    ]
    if terminal and undecided:
        columns = (*heads, COVERAGE, "bounds")
        yield Table(f"Not all decided: {title}", columns, undecided, BOUNDS, words=len(heads))


def _named(pair: Mapping[str, Any]) -> str:
    return f"{pair['first']} − {pair['second']}"


def head(comparison: Mapping[str, Any]) -> list[str]:
    """Say which is better, what was compared, and what was left out.

    The last two are said once where they are the same of all pairs.
    """
    said = headlines(comparison)
    pairs = [(_named(pair), _compared(pair)) for pair in comparison["pairs"]]
    texts = {text for _, text in pairs}
    if len(pairs) > 1 and len(texts) == 1:
        return [*said, *(f"All {len(pairs)} pairs: {text}" for text in texts)]
    return [*said, *(f"{named}: {text}" for named, text in pairs)]


def _compared(pair: Mapping[str, Any]) -> str:
    """Say what was compared, and what was left out."""
    rows = pair["samples"]
    names = {"responses": "responses", "judges": "judges", "nothing": "repeated runs"}
    what = names.get(pair["compared"], pair["compared"])
    text = f"{what}, {amount(rows['paired'], 'sample')} matched by {pair['matched_by']}"
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
        text += share_decided(pair["agreement"])
    return text + "."


def notes(comparison: Mapping[str, Any]) -> list[str]:
    """List what a reader of a comparison should also know."""
    unread = [
        f"{run['name']}: {amount(run['unread'], 'row')} that could not be read in no number"
        for run in comparison["runs"]
        if run["unread"]
    ]
    pairs = comparison["pairs"]
    of_all = [note for note in pairs[0]["notes"] if all(note in pair["notes"] for pair in pairs)]
    of_some = [
        f"{_named(pair)}: {note}" for pair in pairs for note in pair["notes"] if note not in of_all
    ]
    return [*unread, *of_all, *of_some, *comparison["left_out"]]


def _runs(runs: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
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


def _settings(pair: Mapping[str, Any]) -> Table:
    return Table(
        f"Settings that differ: {_named(pair)}",
        ("setting", "first", "second"),
        [
            (
                setting["what"],
                *("unset" if setting[s] is None else str(setting[s]) for s in ("first", "second")),
            )
            for setting in pair["differs"]
        ],
        words=3,
    )


def _metrics(pair: Pair, *, several: bool, terminal: bool) -> Iterator[Table]:
    rows = [(label(family, name, pair), each) for family, name, each in _ranked(pair["metrics"])]
    if rows:
        note = READ if terminal else f"{READ} n: samples compared. {BOUNDS}"
        bare = without_interval(each["difference"] for _, each in rows)
        note = f"{note} {bare}".strip()
        yield from _differences(
            _named(pair), ("metric",), rows, note, adjusted=several, terminal=terminal
        )


def _counts(pair: Mapping[str, Any], pairs: int) -> Table:
    tests, outcomes = pair["mcnemar"], pair["outcomes"]
    undecided = {
        "constraints": sum(
            count
            for first, row in pair["verdicts"].items()
            for second, count in row.items()
            if "undecided" in (first, second)
        ),
        "samples": sum(outcomes.values())
        - sum(tests["samples"][key] for key in ("both", "only_first", "only_second", "neither")),
    }
    rows = [
        (
            named_so,
            *(f"{tests[what][key]:,}" for key in ("only_first", "only_second", "both", "neither")),
            f"{undecided[what]:,}",
            p_value(tests[what]["p_holm"]),
        )
        for what, named_so in (("samples", "samples, all met"), ("constraints", "constraints met"))
    ]
    note = (
        f"{pair['first']} met more constraints in {amount(outcomes['wins'], 'sample')}, fewer in "
        f"{outcomes['losses']:,}, as many in {outcomes['ties']:,}"
        + (f" ({outcomes['undecided']:,} undecided)" if outcomes["undecided"] else "")
        + f". {COUNTED}"
        + (" Adjusted for the number of pairs (Holm)." if pairs > 1 else "")
    )
    p = "p (Holm)" if pairs > 1 else "p"
    columns = ("", "only first", "only second", "both", "neither", "undecided", p)
    return Table(f"Wins and losses: {_named(pair)}", columns, rows, note)


def _breakdown(pair: Pair, dimension: str, shown: int | None) -> Iterator[Table]:
    """Show the rates by group; of one rate the groups that differ most come first."""
    values, named = pair["by"][dimension], _named(pair)
    families = ranked({family for group in values.values() for family in group})
    if shown is not None:
        families = [family for family in families if family not in GENERAL] or families
    rates = list(
        dict.fromkeys(
            (family, name)
            for family in families
            for group in values.values()
            for name in group.get(family, ())
        )
    )
    if shown is not None and len(rates) * len(values) > ROWS_SHOWN:
        rates = rates[:1]
    rows: list[tuple[tuple[str, ...], Difference]] = [
        ((label(family, name, pair), taxonomy.name(value, "en")), group[family][name])
        for family, name in rates
        for value, group in values.items()
        if name in group.get(family, ())
    ]
    note = summary([measured for _, measured in rows], "groups")
    heads: tuple[str, ...] = ("metric", dimension)
    title = f"By {dimension}: {named}"
    if len(rates) == 1:
        what = "constraints met" if rates[0] == POOLED else label(*rates[0], pair)
        title, heads = f"{what} by {dimension}: {named}", (dimension,)
        rows = [(names[1:], measured) for names, measured in rows]
        rows.sort(key=lambda row: (-abs(row[1]["difference"]["value"] or 0.0), row[0]))
        left = 0 if shown is None else len(rows) - shown
        if left > 0:
            note = f"{note} The groups that differ most; {left} more in a file (-o).".lstrip()
        rows = rows[:shown]
    yield from _differences(
        title, heads, rows, note, terminal=shown is not None, details=GROUP_DETAILS
    )


def _flips(pair: Mapping[str, Any], shown: int, cut: int | None) -> Table:
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
    return Table(
        f"Verdicts that differ: {_named(pair)}",
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


def _short(text: str, cut: int | None) -> str:
    return text if cut is None or len(text) <= cut else f"{text[:cut]}…"


def leaderboard(comparison: Mapping[str, Any]) -> Iterator[Table]:
    """Rank three runs or more by the first rate that all pairs have: the ranks that data allows.

    A run is behind another only where the difference is shown, adjusted for the number of pairs.
    """
    runs = [run["name"] for run in comparison["runs"]]
    pairs = comparison["pairs"]
    rates = [
        (family, name)
        for family, name, _ in _ranked(pairs[0]["metrics"])
        if all(name in pair["metrics"].get(family, {}) for pair in pairs)
    ]
    if len(runs) < 3 or len(pairs) < len(runs) * (len(runs) - 1) // 2 or not rates:  # noqa: PLR2004
        return
    ahead: dict[str, set[str]] = {run: set() for run in runs}
    covered = dict.fromkeys(runs, 1.0)
    cells: dict[tuple[str, str], str] = {}
    family, name = rates[0]
    for pair in pairs:
        measured = pair["metrics"][family][name]
        first, second, change = pair["first"], pair["second"], measured["difference"]
        if (shown := higher(measured)) in ("first", "second"):
            better, worse = (first, second) if shown == "first" else (second, first)
            ahead[worse].add(better)
        sign = "" if shown in ("first", "second") else f" {shown}"
        turned = None if change["value"] is None else -change["value"]
        around = {**measured, "bounds": [-end for end in reversed(measured["bounds"] or ())]}
        cells[first, second] = bounded(f"{signed(change['value'], 1)}{sign}", measured, signed)
        cells[second, first] = bounded(f"{signed(turned, 1)}{sign}", around, signed)
        covered |= {run: min(covered[run], measured["coverage"]) for run in (first, second)}
    behind = {run: sum(run in others for others in ahead.values()) for run in runs}
    order = sorted(runs, key=lambda run: (len(ahead[run]) - behind[run], runs.index(run)))
    rows = [
        (
            run,
            _ranks(1 + len(ahead[run]), len(runs) - behind[run]),
            percent(covered[run], 1),
            *(cells.get((run, other), "") for other in order),
        )
        for run in order
    ]
    note = (
        "Rank: those that the data allows; runs that share ranks aren't shown to differ. Then each "
        "run minus the others, in points: neither is shown to be higher, or it is open because of "
        "undecided verdicts. p adjusted for the number of pairs (Holm)."
    )
    columns = ("run", "rank", COVERAGE, *(f"− {run}" for run in order))
    yield Table(f"Leaderboard: {label(family, name, pairs[0])}", columns, rows, note)


def _ranks(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best} to {worst}"


def overview(pairs: Sequence[Pair], *, brief: bool = False) -> Iterator[Table]:
    """Show each rate of several pairs, then wins and losses."""
    families = ranked({family for pair in pairs for family in pair["metrics"]})
    for family in families[:1] if brief else families:
        by_pair = {_named(pair): pair["metrics"].get(family, {}) for pair in pairs}
        for name in dict.fromkeys(name for rates in by_pair.values() for name in rates):
            rows = {pair: rates[name] for pair, rates in by_pair.items() if name in rates}
            note = summary(rows.values(), "pairs")
            title = heading(label(family, name, pairs[0]))
            yield from _differences(title, ("pair",), rows.items(), note, terminal=brief)
    yield _wins(pairs)


def _wins(pairs: Sequence[Pair]) -> Table:
    met = ("only first", "only second", "both", "neither")
    outcomes = ("wins", "losses", "ties")
    rows = [
        (
            _named(pair),
            *(f"{pair['mcnemar']['samples'][name.replace(' ', '_')]:,}" for name in met),
            p_value(pair["mcnemar"]["samples"]["p_holm"]),
            *(f"{pair['outcomes'][name]:,}" for name in outcomes),
        )
        for pair in pairs
    ]
    note = (
        "Samples with all constraints met on one side or both; p: the paired randomization test, "
        "adjusted for the number of pairs (Holm). Wins: samples in which the first met more "
        "constraints."
    )
    columns = ("pair", *met, "p", *outcomes)
    return Table("Wins and losses", columns, rows, note, details=("both", "neither"))


LABELS = "labels"

MOST = 0.9
"""Share of the samples that a benchmark's own rate must be about to stand for all."""

ROUNDING = 1e-9
"""A difference of exactly the margin may be computed as slightly more."""

PAIRS = 5
"""Pairs that have a sentence."""


def against(comparison: Mapping[str, Any]) -> list[Pair]:
    """List the pairs that the baseline is in."""
    return [
        pair
        for pair in comparison["pairs"]
        if comparison["baseline"] in (pair["first"], pair["second"])
    ]


def may_turn(measured: Difference) -> bool:
    """Check whether the undecided verdicts could reverse a difference."""
    if measured["coverage"] == 1 or not measured["bounds"]:
        return False
    low, high = measured["bounds"]
    return bool(low <= 0 <= high)


class GateResult(NamedTuple):
    """Whether a run is no worse than another in a rate."""

    verdict: Literal["worse", "undecided", "shown", "open"]
    said: str


def headlines(comparison: Mapping[str, Any]) -> list[str]:
    """Say which of two runs is better; with three or more, each against the baseline."""
    pairs = comparison["pairs"]
    shown = against(comparison) if len(pairs) > 1 else pairs
    sentences = [_headline(pair, len(pairs)) for pair in shown[:PAIRS]]
    return list(filter(None, sentences))


def no_worse(pair: Pair, *, margin: float, rates: Sequence[Rate] = ()) -> list[GateResult]:
    """Check whether the first run of a pair is no worse than the second.

    A check is of its own pair: its p is not adjusted for other pairs, and so it goes with the
    interval.
    """
    measures = _tested(pair)
    chosen = rates or [_lead(measures) or FULLY_MET]
    return [_checked(pair, rate, measures.get(rate), margin) for rate in chosen]


def _checked(pair: Pair, rate: Rate, measured: Any, margin: float) -> GateResult:
    about = f"{pair['first']} and {pair['second']}, {label(*rate, pair)}"
    if measured is None:
        return GateResult("undecided", f"{about}: nothing was decided on both sides")
    value, ends = measured["difference"]["value"], measured["difference"]["interval"]
    beyond = f"more than {percent(margin, 1)} points worse"
    numbers = f"{_points(value, ends)}, {_p(measured['p'])}"
    least = -margin - ROUNDING
    if value < least and measured["p"] < LEVEL:
        shown = f"is {beyond}"
        if margin and (ends is None or ends[1] >= -margin):
            shown = f"is worse, but whether it is {beyond} is open"
            shown += ": the estimate is, the interval isn't"
        return GateResult("worse", f"{about}: {numbers}; {pair['first']} {shown}")
    if measured["coverage"] < 1 and measured["bounds"][0] < least:
        said = f"whether it is {beyond} depends on what was undecided"
        return GateResult("undecided", f"{about}: {numbers}; {said} ({_covered(measured)})")
    if (ends[0] if ends else -1.0) < least:
        return GateResult("open", f"{about}: {numbers}; whether it is {beyond} is open")
    return GateResult("shown", f"{about}: {numbers}; {pair['first']} isn't {beyond}")


def _tested(pair: Pair) -> dict[Rate, Any]:
    """List the rates that differ or don't, by a test, in the order of their benchmarks."""
    return {
        (family, name): measured
        for family in ranked(pair["metrics"])
        for name, measured in pair["metrics"][family].items()
        if measured["p_holm"] is not None
    }


def _lead(measures: Mapping[Rate, Any]) -> Rate | None:
    """Choose the rate that a pair is quoted by: its benchmark's own first, or else ISR."""
    own = [rate for rate in measures if rate[0] not in (*GENERAL, LABELS)]
    if own and FULLY_MET in measures:
        most = MOST * measures[FULLY_MET]["compared"]
        own = [rate for rate in own if measures[rate]["compared"] >= most]
    return next(iter([*own, *(rate for rate in measures if rate == FULLY_MET), *measures]), None)


def _headline(pair: Pair, pairs: int) -> str:
    """Say what a pair shows, of so many whose p-values are adjusted together."""
    measures = _tested(pair)
    lead = _lead(measures)
    if lead is None:
        return ""
    shown = [rate for rate in measures if measures[rate]["p_holm"] < LEVEL]
    if not shown:
        others = f"; nor on {_rates(len(measures) - 1)}" if len(measures) > 1 else ""
        return (
            f"No difference is shown between {pair['first']} and {pair['second']} on "
            f"{_numbers(pair, lead, 1, pairs)}{others}."
        )
    main = lead if lead in shown else min(shown, key=lambda rate: measures[rate]["p_holm"])
    sign = 1 if measures[main]["difference"]["value"] > 0 else -1
    better, worse = (pair["first"], pair["second"])[::sign]
    verb = "better" if "responses" in pair["compared"] else "higher"
    along = [rate for rate in shown if rate != main and _sign(measures[rate]) == sign]
    back = [rate for rate in shown if _sign(measures[rate]) == -sign]
    rest = len(measures) - len(shown)
    is_better = f"{better} is {verb} than {worse}"
    if may_turn(measures[main]):
        is_better = f"Of what both decided, {is_better}"
    parts = [f"{is_better} on {_numbers(pair, main, sign, pairs)}"]
    parts += [f"also on {_listed(pair, along)}"] if along else []
    parts += (
        [f"{'worse' if verb == 'better' else 'lower'} on {_listed(pair, back)}"] if back else []
    )
    parts += [f"no difference is shown on {_rates(rest)}"] if rest else []
    return "; ".join(parts) + "."


def _numbers(pair: Pair, rate: Rate, sign: int, pairs: int) -> str:
    measured = pair["metrics"][rate[0]][rate[1]]
    value, ends = measured["difference"]["value"], measured["difference"]["interval"]
    if sign < 0:
        value, ends = -value, ends and [-ends[1], -ends[0]]
    shown = f"{label(*rate, pair)}: {_points(value, ends)}, {_p(measured['p'])}"
    if pairs > 1:  # the interval goes with p alone
        shown += f", adjusted for {pairs} pairs (Holm): {_p(measured['p_holm'])}"
    if measured["coverage"] == 1:
        return shown
    low, high = measured["bounds"]
    turned = {**measured, "bounds": [low, high] if sign > 0 else [-high, -low]}
    return f"{shown} ({_covered(turned)})"


def _points(value: float, ends: Sequence[float] | None) -> str:
    between = f" ({interval(ends, signed)})" if ends else ""
    return f"{signed(value, 1)} points{between}"


def _p(p: float) -> str:
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def _covered(measured: Mapping[str, Any]) -> str:
    ends = interval(measured["bounds"], signed)
    return f"{percent(measured['coverage'], 1)} % decided on both sides, bounds {ends}"


def _sign(measured: Mapping[str, Any]) -> int:
    return 1 if measured["difference"]["value"] > 0 else -1


def _listed(pair: Pair, rates: Sequence[Rate]) -> str:
    return ", ".join(label(*rate, pair) for rate in rates)


def _rates(number: int) -> str:
    return "the other rate" if number == 1 else f"the other {number} rates"
