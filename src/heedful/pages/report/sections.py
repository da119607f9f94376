"""The sections of a report: what runs came to, as tables with charts beside them.

Of several runs the metrics stand side by side; what else there is follows run by run.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.compare.sides import flat
from heedful.core.text import amount
from heedful.jobs.evaluate_tables import Breakdown, breakdowns_of, estimates, metrics_of
from heedful.jobs.results import judged_by
from heedful.reporting.metric_names import label, ranked
from heedful.reporting.notation import (
    COVERAGE,
    counted,
    counts,
    interval,
    percent,
    price,
    rate,
    without_interval,
)
from heedful.reporting.plots import estimates_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.pages.report.reading import RunReading

    Measure = Mapping[str, Any]


DRAWN = 30
"""Lines that a chart has at most: the worst, or none. The table has all."""

DRAWN_SERIES = 12
"""Runs that one chart tells apart at most."""

BESIDE = 3
"""Runs whose table has room beside a chart."""

OPEN = 30
"""Longer tables are folded."""

RATES_SHOWN = 4
"""Rates of a benchmark that a quotation has."""


@dataclass(frozen=True, slots=True)
class SectionPart:
    """A table of a section."""

    table: Table  # the table
    # the same as a Vega-Lite specification; None where a drawing says no more
    chart: dict[str, Any] | None = None
    folded: bool = False  # whether it is folded at first
    wide: bool = False  # whether the table stands below the chart and not beside it


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report."""

    key: str  # its anchor
    title: str  # its heading
    parts: Sequence[SectionPart]  # its tables
    lead: str = ""  # what a reader has to know first
    said: Sequence[str] = ()  # further paragraphs, such as what is not there, and why

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.parts or self.said)


def metrics(readings: Sequence[RunReading]) -> Section:
    """Lay out all rates of the runs."""
    rates = [replace(metrics_of(each.summary), title="All metrics") for each in readings]
    part = _part(rates[0]) if len(rates) == 1 else _side_by_side(readings, rates)
    lead = (
        "Shares in per cent. The interval is Wilson's, of 95 %; samples of one instruction or "
        "conversation count together. A range is from the rate if all that is undecided were unmet "
        "to the rate if it were met."
    )
    return Section("metrics", "Metrics", [part] if part.table.rows else [], lead)


def _part(rates: Breakdown, of: str = "") -> SectionPart:
    """Lay out rates with a chart."""
    table = rates.table()
    drawn = len(table.rows) <= DRAWN or rates.worst_first
    chart = estimates_chart(estimates(rates.measures[:DRAWN]), rates.axis) if drawn else None
    named = replace(table, title=f"{table.title}{of}")
    return SectionPart(named, chart if table.rows else None, folded=len(table.rows) > OPEN)


def _side_by_side(readings: Sequence[RunReading], rates: Sequence[Breakdown]) -> SectionPart:
    names = [reading.name for reading in readings]
    by_run = [dict(each.measures) for each in rates]
    shown = list(dict.fromkeys(name for measures in by_run for name in measures))
    rows = [(name, *(beside(measures.get(name)) for measures in by_run)) for name in shown]
    bare = without_interval(measure for measures in by_run for measure in measures.values())
    table = Table("All metrics", ("metric", *names), rows, f"{READ_BESIDE} {bare}".strip())
    order = names[:DRAWN_SERIES]
    drawn = [
        estimate._replace(series=run)
        for run, each in zip(order, rates, strict=False)
        for estimate in estimates(each.measures)
    ]
    chart = estimates_chart(drawn, order=order) if rows and len(rows) <= DRAWN else None
    return SectionPart(table, chart, folded=len(rows) > OPEN, wide=len(names) > BESIDE)


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


def breakdowns(readings: Sequence[RunReading]) -> Section:
    """Lay out the rates by each property of constraints and samples."""
    several = len(readings) > 1
    parts = [
        part
        for reading in readings
        for part in breakdown_parts(reading.summary, f", {reading.name}" if several else "")
    ]
    return Section("breakdowns", "Breakdowns", parts)


def breakdown_parts(summary: Mapping[str, Any], of: str = "") -> list[SectionPart]:
    """Lay out a run's rates by each property, with charts."""
    return [_part(each, of) for each in breakdowns_of(summary)]


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
        for session in reading.run.sessions
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
        for session in reading.run.sessions
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
    rates = []
    for family in ranked(summary["metrics"])[:1]:  # its benchmark's own before the general ones
        for name, measure in [*summary["metrics"][family].items()][:RATES_SHOWN]:
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
