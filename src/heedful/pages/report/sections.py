"""The sections of a report: what runs came to, as tables with charts beside them.

One run or several are laid out alike: of one its rates stand with intervals, counts and coverage
in columns of their own; several stand side by side.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from heedful.analysis.compare.sides import flat
from heedful.core import taxonomy
from heedful.core.text import amount
from heedful.jobs.results import judged_by
from heedful.pages.report.reading import SIZES
from heedful.reporting.metric_names import heading, label, ranked
from heedful.reporting.notation import (
    COVERAGE,
    MEASURED,
    cells,
    counted,
    counts,
    interval,
    least,
    percent,
    price,
    rate,
    without_interval,
)
from heedful.reporting.plots import Estimate, estimates_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.pages.report.reading import RunReading

    Summed: TypeAlias = "RunReading | Named"
    Measure = Mapping[str, Any]
    Measures = Mapping[str, Measure]
    from collections.abc import Mapping


BY_CONSTRAINT = ("type", "verifier", "subtype", "priority")

DRAWN = 30
"""Lines that a chart has at most: the worst, or none. The table has all."""

DRAWN_SERIES = 12
"""Series that one chart tells apart at most."""

BESIDE = 3
"""Series whose table has room beside a chart."""

OPEN = 30
"""Longer tables are folded."""

RATES_SHOWN = 4
"""Rates of a benchmark that stand beside each other."""


class Named(NamedTuple):
    """A run of which only the summary was read."""

    name: str
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SectionPart:
    """A table of a section."""

    table: Table  # the table
    # the same as a Vega-Lite specification; None where a drawing says no more
    chart: dict[str, Any] | None = None
    folded: bool = False  # whether it is folded at first
    wide: bool = False  # whether the table stands below the chart and not beside it


class Fold(NamedTuple):
    """Tables that open together: their title, what is said of them, the tables."""

    title: str
    said: Sequence[str]
    parts: Sequence[SectionPart]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report."""

    key: str  # its anchor
    title: str  # its heading
    parts: Sequence[SectionPart]  # its tables
    lead: str = ""  # what a reader has to know first
    said: Sequence[str] = ()  # further paragraphs, such as what is not there, and why
    folds: Sequence[Fold] = ()  # parts that are folded at first

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.parts or self.said)


def leading(summary: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """Find the rates that a run is quoted by: its benchmark's own before the general ones."""
    for family in ranked(summary["metrics"]):
        return family, list(summary["metrics"][family])[:RATES_SHOWN]
    return None


def metrics(readings: Sequence[RunReading]) -> Section:
    """Lay out all rates of the runs."""
    measures = [
        {
            label(family, name, reading.summary): measure
            for family in ranked(reading.summary["metrics"])
            for name, measure in reading.summary["metrics"][family].items()
        }
        for reading in readings
    ]
    part = measured("All metrics", "metric", _names(readings), measures)
    lead = (
        "Shares in per cent. The interval is Wilson's, of 95 %; samples of one instruction or "
        "conversation count together. A range is from the rate if all that is undecided were unmet "
        "to the rate if it were met."
    )
    return Section("metrics", "Metrics", [part] if part.table.rows else [], lead)


def verdicts(readings: Sequence[RunReading]) -> Section:
    """Lay out how many verdicts there are of each kind, and who reached them."""
    rows = []
    # A run in which everything applies doesn't name the status of what doesn't.
    statuses = list(dict.fromkeys(name for each in readings for name in each.summary["verdicts"]))
    for reading in readings:
        counts = reading.summary["verdicts"]
        coverage = percent(reading.summary["coverage"], 1)
        shown = (f"{counts.get(status, 0):,}" for status in statuses)
        rows.append((reading.name, *shown, coverage))
    table = Table("Of all constraints", ("run", *statuses, COVERAGE), rows)
    parts = [SectionPart(table), *_deciders(readings)]
    lead = (
        "Met and unmet are decided. Unparsed: the judge answered, without a single verdict; "
        "failed: no answer; unsupported: no verifier knows the constraint. These make a rate a "
        "range; what is not applicable counts nowhere."
    )
    return Section("verdicts", "Verdicts", parts, lead)


def _deciders(readings: Sequence[RunReading]) -> Iterator[SectionPart]:
    """Show who reached the verdicts, where that was not one judge alone."""
    judges = list(
        dict.fromkeys(who for reading in readings for who in reading.summary["decided_by"])
    )
    if len(judges) > 1:
        rows = [
            (who, *(f"{reading.summary['decided_by'].get(who, 0):,}" for reading in readings))
            for who in judges
        ]
        names = [reading.name for reading in readings] if len(readings) > 1 else ["verdicts"]
        yield SectionPart(Table("Who decided", ("judge", *names), rows))


def breakdowns(readings: Sequence[Summed]) -> Section:
    """Lay out the rates by each property of constraints and samples."""
    all_by = [reading.summary["by"] for reading in readings]
    dimensions = list(dict.fromkeys(name for by in all_by for name in by))
    first = [name for name in BY_CONSTRAINT if name in dimensions]
    parts: list[SectionPart] = []
    dropped: list[str] = []
    shown = []
    for dimension in [*first, *(name for name in dimensions if name not in first)]:
        by_run = [_groups(by.get(dimension)) for by in all_by]
        dropped += [
            f"No breakdown by {dimension} of {reading.name}: {reason}."
            for reading, by in zip(readings, all_by, strict=True)
            if (reason := by.get(dimension, {}).get("dropped")) is not None
        ]
        if not any(by_run):
            continue
        if dimension not in BY_CONSTRAINT and not dimension.startswith("constraint "):
            parts += _by_tag(dimension, readings, by_run)
        elif (counts := _counts(by_run)) not in shown:  # IFEval's subtypes are its verifiers
            shown.append(counts)
            named = [_named(groups) for groups in by_run]
            title = f"Constraints met, by {dimension}"
            rate = "constraints met"
            parts.append(measured(title, dimension, _names(readings), named, of=rate, worst=True))
    return Section("breakdowns", "Breakdowns", parts, said=dropped)


def _by_tag(
    dimension: str, readings: Sequence[Summed], groups_by_run: Sequence[Mapping[str, Any]]
) -> Iterator[SectionPart]:
    """Show a benchmark's rates by the values of a tag."""
    families = ranked(
        {key for by in groups_by_run for group in by.values() for key in group} - {"samples"}
    )
    if not families:
        return
    family = families[0]
    names = list(
        dict.fromkeys(
            name for by in groups_by_run for group in by.values() for name in group.get(family, ())
        )
    )
    names = names[:RATES_SHOWN] if len(readings) == 1 else names[:1]
    values = [
        {value: group[family][name] for value, group in by.items() if name in group.get(family, {})}
        for name in names
        for by in groups_by_run
    ]
    if len(names) == 1:
        rate = label(family, names[0])
        title = heading(f"{rate} by {dimension}")
        yield measured(title, dimension, _names(readings), values, of=rate, natural=True)
    else:
        rates = [label(family, name) for name in names]
        yield measured(f"By {dimension}", dimension, rates, values, natural=True)


def sizes(readings: Sequence[RunReading]) -> Section:
    """Lay out the rates, or those of several runs, by number of constraints and length of texts."""
    parts = []
    for what, column in SIZES.items():
        of = [reading.by_size[what] for reading in readings]
        rates = list(of[0])
        tables = {f"By {what}": ("", rates, [of[0][rate] for rate in rates])}
        if len(readings) > 1:
            tables = {
                f"{rate}, by {what}": (rate, _names(readings), [reading[rate] for reading in of])
                for rate in rates
            }
        parts += [
            measured(title, column, names, measures, of=rate.lower(), natural=True)
            for title, (rate, names, measures) in tables.items()
            if len({group for groups in measures for group in groups}) > 1
        ]
    lead = (
        "Longer checklists are harder to meet as a whole; whether each constraint is, shows beside "
        "it. Lengths are in characters; the prompt is the last message of the user."
    )
    return Section("sizes", "Size and length", parts, lead if parts else "")


def measured(
    title: str,
    column: str,
    series: Sequence[str],
    by_series: Sequence[Measures],
    *,
    of: str = "",
    worst: bool = False,
    natural: bool = False,
) -> SectionPart:
    """Lay out measures by group, with a chart."""
    names = list(dict.fromkeys(name for groups in by_series for name in groups))
    if worst:
        names.sort(key=lambda name: _value(by_series, name))
    elif natural:
        names.sort(key=_natural)
    if len(by_series) == 1:
        rows: list[tuple[str, ...]] = [(name, *cells(by_series[0][name])) for name in names]
        table = Table(title, (column, *MEASURED), rows).filled()
    else:
        rows = [(name, *(beside(groups.get(name)) for groups in by_series)) for name in names]
        table = Table(title, (column, *series), rows, READ_BESIDE)
    bare = without_interval(measure for groups in by_series for measure in groups.values())
    table = replace(table, note=f"{table.note} {bare}".strip())
    estimates = [
        Estimate(
            name,
            groups[name]["value"],
            groups[name]["interval"],
            counts(groups[name]),
            series_name if len(series) > 1 else "",
        )
        for name in names[:DRAWN]
        for series_name, groups in zip(series[:DRAWN_SERIES], by_series, strict=False)
        if name in groups
    ]
    axis = f"{of}, %" if of else "%"
    order = series[:DRAWN_SERIES] if len(series) > 1 else ()
    chart = (
        estimates_chart(estimates, axis, order=order)
        if estimates and (worst or len(names) <= DRAWN)
        else None
    )
    return SectionPart(table, chart, folded=len(rows) > OPEN, wide=len(series) > BESIDE)


READ_BESIDE = (
    "In per cent; below, the 95 % interval and of how many. A range is from the rate if all that "
    "is undecided were unmet to the rate if it were met."
)


def beside(measure: Measure | None) -> str:
    r"""Write a measure into one cell, in lines.

    >>> measure = {"value": None, "bounds": [0.4, 0.6], "numerator": 4, "denominator": 10}
    >>> beside({**measure, "undecided": 2, "interval": [0.25, 0.75]})
    '40.0 to 60.0\n25.0 to 75.0 of 10\n2 undecided'
    """
    if measure is None:
        return "–"
    lines = [rate(measure, 1), f"of {measure['denominator']:,}"]
    if "rates" in measure:
        lines[1] = counts(measure)
    if measure["interval"]:
        lines[1] = f"{interval(measure['interval'])} {lines[1]}"
    if measure["undecided"]:
        lines.append(f"{measure['undecided']:,} undecided")
    return "\n".join(lines)


def _names(readings: Sequence[Summed]) -> list[str]:
    return [reading.name for reading in readings]


def _counts(by_series: Sequence[Measures]) -> list[dict[str, tuple[float, int]]]:
    return [
        {name: (measure["numerator"], measure["denominator"]) for name, measure in groups.items()}
        for groups in by_series
    ]


def _groups(by: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {} if by is None or "dropped" in by else by


def _named(groups: Measures) -> Measures:
    """Give types their English names; those that share one keep their keys."""
    named = {key: taxonomy.name(key, "en") for key in groups}
    names = list(named.values())
    return {
        (named[key] if names.count(named[key]) == 1 else key): measure
        for key, measure in groups.items()
    }


def _value(by_series: Sequence[Measures], name: str) -> tuple[float, str]:
    return next(least(groups[name]) for groups in by_series if name in groups), name


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort 2 before 10, and 1,024 after 512."""
    return [
        (int(digits), "") if digits else (-1, words)
        for digits, words in re.findall(r"(\d+)|(\D+)", name.replace(",", ""))
    ]


def cost(readings: Sequence[RunReading]) -> Section:
    """Lay out what the runs cost: calls, tokens, dollars, time."""
    rows, said = [], []
    for reading in readings:
        costs = reading.summary.get("cost")
        if costs:
            rows += [_spent(reading.name, judge) for judge in costs["judges"]]
            if len(costs["judges"]) > 1:
                rows.append(_spent(reading.name, {"judge": "all", "model": "", **costs}))
        saved = reading.summary.get("saved")
        if saved:
            said.append(
                f"{reading.name}: code saved the models {amount(saved['verdicts'], 'verdict')} "
                f"and {amount(saved['rows'], 'whole row')}, about {amount(saved['calls'], 'call')}."
            )
        if reading.latency is not None:
            said.append(
                f"{reading.name}: of {amount(reading.latency.calls, 'answer')}, half took "
                f"{reading.latency.median:.2g} s or less, "
                f"95 % {reading.latency.slow:.2g} s or less."
            )
    parts = []
    if rows:
        columns = ("run", "judge", "model", "calls", "reused", "repeated", *TOKENS, "cost")
        parts.append(SectionPart(Table("Calls and tokens", columns, rows, READ_COST, words=3)))
    else:
        said.insert(0, "No model was called.")
    return Section("cost", "Cost and time", [*parts, *_times(readings)], said=said)


TOKENS = ("prompt tokens", "of them cached", "completion tokens")

READ_COST = (
    "All calls that a run paid for, used or not. Reused: answers that the run had already, which "
    "cost nothing. A cost is unknown where a price is, or where a server did not count tokens."
)


def _spent(name: str, usage: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = (usage["prompt_tokens"], usage["cached_tokens"], usage["completion_tokens"])
    return (
        name,
        usage["judge"],
        usage["model"],
        *(f"{usage[key]:,}" for key in ("calls", "reused", "reasks")),
        *("–" if count is None else f"{count:,}" for count in tokens),
        price(usage["dollars"], uncounted=bool(usage.get("uncounted"))),
    )


def _times(readings: Sequence[RunReading]) -> list[SectionPart]:
    rows = [
        (
            reading.name,
            session["began"],
            "did not end" if session["seconds"] is None else f"{session['seconds']:,.1f}",
        )
        for reading in readings
        for session in reading.sessions
    ]
    if not rows:
        return []
    note = "A session that was killed has no end. Times are UTC."
    return [SectionPart(Table("Sessions", ("run", "began", "seconds"), rows, note, words=2))]


class Origin(NamedTuple):
    """How a run's numbers came about."""

    name: str  # the run's
    commands: list[str]  # the commands of its sessions, secrets hidden
    settings: Table  # all that the verdicts depend on
    inputs: Table  # the files that were judged, with digests of their content
    quotation: str  # the numbers as they may be quoted, with all that a comparison needs


def origin(reading: RunReading) -> Origin:
    """Say how the numbers of a run came about."""
    config = dict(reading.run.config)
    prints = config.pop("input") or []
    files = [path.replace("\\", "/").split("/")[-1] for path in reading.summary["input"] or ()]
    settings = {"heedful": reading.summary["heedful"], **config}
    if "rejudged" in reading.summary:
        settings["rejudged"] = Path(reading.summary["rejudged"]).name
    commands = [
        shlex.join(["heedful", *session["command"]])
        for session in reading.sessions
        if session["command"]
    ]
    return Origin(
        name=reading.name,
        commands=list(dict.fromkeys(commands)),
        settings=Table(
            "Configuration",
            ("setting", "value"),
            [(name, _written(value)) for name, value in flat(settings)],
            words=2,
        ),
        inputs=Table(
            "Input",
            ("file", "content (BLAKE2b, 128 bits)"),
            list(zip(files, prints, strict=False)),
            words=2,
        ),
        quotation=_quotation(reading, files, prints),
    )


def _written(value: Any) -> str:
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _quotation(reading: RunReading, files: Sequence[str], prints: Sequence[str]) -> str:
    summary = reading.summary
    headline = leading(summary)
    rates = []
    if headline is not None:
        family, names = headline
        for name in names:
            measure = summary["metrics"][family][name]
            inside = ""
            if measure["interval"]:
                inside = f"95 % interval {interval(measure['interval'], digits=2)}, "
            inside += counted(measure)
            rates.append(f"{label(family, name, summary)} {rate(measure)} % ({inside})")
    data = ", ".join(f"{file} ({digest[:12]})" for file, digest in zip(files, prints, strict=False))
    return (
        f"{'; '.join(rates) or 'No rate'}. {amount(summary['samples'], 'sample')}, "
        f"{amount(summary['constraints'], 'constraint')}, coverage "
        f"{percent(summary['coverage'], 1)} %; judge {judged_by(summary)}, {summary['scoring']} "
        f"scoring, seed {summary['seed']}; heedful {summary['heedful']}"
        + (f"; data {data}" if data else "")
        + "."
    )
