"""The sections of a report on how its numbers came about: cost, time, configuration, citation."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.compare.sides import flat
from heedful.core.text import amount
from heedful.pages.report.sections import Section, SectionPart, leading
from heedful.reporting.metric_names import label
from heedful.reporting.notation import counted, interval, percent, price, rate
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.pages.report.reading import RunReading


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
    """How a run's numbers came about.

    Attributes:
        name: the run's.
        commands: the commands of its sessions, secrets hidden.
        settings: all that the verdicts depend on.
        inputs: the files that were judged, with digests of their content.
        quotation: the numbers as they may be quoted, with all that a comparison needs.
    """

    name: str
    commands: list[str]
    settings: Table
    inputs: Table
    quotation: str


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
            rates.append(f"{label(family, name)} {rate(measure)} % ({inside})")
    data = ", ".join(f"{file} ({digest[:12]})" for file, digest in zip(files, prints, strict=False))
    return (
        f"{'; '.join(rates) or 'No rate'}. {amount(summary['samples'], 'sample')}, "
        f"{amount(summary['constraints'], 'constraint')}, coverage "
        f"{percent(summary['coverage'], 1)} %; judge {summary['judge']}, {summary['scoring']} "
        f"scoring, seed {summary['seed']}; heedful {summary['heedful']}"
        + (f"; data {data}" if data else "")
        + "."
    )
