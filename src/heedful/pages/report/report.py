"""A report on finished runs: one page of HTML that needs nothing but itself."""

from __future__ import annotations

import json
import math
import os
import shlex
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.compare import tables as differences
from heedful.analysis.compare.job import adjust, compare
from heedful.analysis.compare.sides import flat
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Status
from heedful.core.outputs import atomically
from heedful.core.text import amount
from heedful.jobs.evaluate import Run, directories
from heedful.jobs.evaluate_tables import (
    breakdowns_of,
    metrics_of,
    notes,
    sentence,
    side_by_side,
    votes_table,
)
from heedful.jobs.results import check_folder, judged_by
from heedful.jobs.saved_run import SavedRun
from heedful.pages import hardest as hard
from heedful.pages.hardest import FEWEST
from heedful.pages.passages import excerpt, passages
from heedful.pages.report.reading import read
from heedful.reporting.chart import Chart
from heedful.reporting.metric_names import heading, label, ranked
from heedful.reporting.notation import COVERAGE, counted, interval, percent, price, rate
from heedful.reporting.plots import Estimate, estimates_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.pages.report.reading import RunReading

    Part = str | Table | Chart

__all__ = ["report"]

FLIPS = 20
CUT = 300
"""Characters of a text that a table shows."""

FAILURES_SHOWN = 3
"""Failures, and verdicts on pairs of runs, on the first page."""

QUOTED = 120
RATES_QUOTED = 4
"""Rates of a benchmark that a quotation has."""

TEMPLATES = Path(__file__).parent / "templates"

METRICS = (
    "Shares in per cent. The interval is Wilson's, of 95 %; samples of one instruction or "
    "conversation count together. A range is from the rate if all that is undecided were unmet "
    "to the rate if it were met."
)
COMPARISON = (
    "Rates side by side say little; the difference on the samples that two runs share says "
    "more. Instructions and conversations count whole, with all their samples in both runs."
)
VERDICTS = (
    "Met and unmet are decided. Unparsed: the judge answered, without a single verdict; "
    "failed: no answer; unsupported: no verifier knows the constraint. These make a rate a "
    "range; what is not applicable counts nowhere."
)
HARDEST = (
    f"Of the constraints with {FEWEST} verdicts or more, those whose share has the highest "
    "lower end of its 95 % interval: one failure of one says little, ninety of a hundred say "
    "much. A constraint is known by its verifier, or else by its words; for those known by "
    "their words, the interval takes verdicts as independent."
)
COST = (
    "All calls that a run paid for, used or not. Reused: answers that the run had already, which "
    "cost nothing. A cost is unknown where a price is, or where a server did not count tokens."
)


class Reported(NamedTuple):
    """A written report: its file, its samples, and the rows that could not be read."""

    path: Path
    samples: int
    unread: int


def report(
    *runs: Run,
    output: str | os.PathLike[str] | None = None,
    examples: int = 10,
    charts: bool = True,
) -> Reported:
    """Write a report on finished runs: rates, breakdowns, what went wrong, how it came about.

    The page makes no request. Everything is read from the runs' stores, without a call, and
    memory does not grow with the rows.

    Args:
        runs: evaluations, or directories of runs of :func:`heedful.evaluate`; several stand side
            by side and are compared where they hold the same samples.
        output: an ``.html`` file. By default ``report.html``, in the directory of a single run.
        examples: how many samples with an unmet constraint are shown of each run, chosen at random.
        charts: whether charts are drawn; their scripts are most of the file's size.

    Returns:
        Where it is, and how much is in it.

    Raises:
        RunError: a run is not there, not finished, or of another kind.
        UsageError: no run is named, one is named twice, or the file cannot be written.
    """
    with directories(runs) as places:
        return _reported([*map(Path, places)], _place(runs, output), examples, charts=charts)


def _place(runs: Sequence[Run], output: str | os.PathLike[str] | None) -> Path:
    """Choose where the report goes: beside the other files of a run that it is on alone."""
    if output is not None:
        return Path(output)
    of_one = runs[0] if len(runs) == 1 else ""
    folder = of_one if isinstance(of_one, str | os.PathLike) else of_one.directory or ""
    return Path(folder, "report.html")


def _reported(folders: Sequence[Path], path: Path, examples: int, *, charts: bool) -> Reported:
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            "a report is a page of HTML",
            where=str(path),
            hint="name an .html file; heedful export writes summaries as Markdown",
        )
    check_folder(path, folders)
    if examples < 0:
        raise UsageError(f"there cannot be {examples} examples", hint="give 0 or more")
    if not folders:
        raise UsageError("no run is named", hint="name the directory of a run, or several")
    opened = [SavedRun.open(folder) for folder in folders]
    page = _page(opened, _names(folders), examples)
    with atomically(path) as file:
        for piece in _template(page, charts=charts):
            file.write(piece)
    rows = [reading.summary["rows"] for reading in page["readings"]]
    counts = (sum(row[what] for row in rows) for what in ("read", "failed"))
    return Reported(path, *counts)


def _names(folders: Sequence[Path]) -> list[str]:
    """Name runs by their directories, those of one name by their paths."""
    places = [folder.resolve() for folder in folders]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise UsageError(
                "this run is named twice", where=str(folders[number]), hint="name it once"
            )
    names = [place.name for place in places]
    return [
        str(folder) if names.count(name) > 1 else name
        for folder, name in zip(folders, names, strict=True)
    ]


class Section(NamedTuple):
    """A section of a report: its anchor, its heading, and what stands in it."""

    key: str
    title: str
    parts: Sequence[Part]


def _page(runs: Sequence[SavedRun], names: Sequence[str], examples: int) -> dict[str, Any]:
    """Read the runs, and lay out what the page holds."""
    readings = [read(run, name, examples=examples) for run, name in zip(runs, names, strict=True)]
    compared: list[Part] = []
    verdict = _verdict(readings[0])
    if len(runs) > 1:
        compared, verdict = _comparison([run.directory for run in runs], names)
    undecided = _each(readings, _undecided) or [_all_decided(readings)]
    sections = [
        Section("metrics", "Metrics", [METRICS, *_metrics(readings)]),
        Section("comparison", "Comparison", compared),
        Section("verdicts", "Verdicts", [VERDICTS, *_verdicts(readings)]),
        Section("breakdowns", "Breakdowns", _each(readings, _breakdowns)),
        Section("disagreements", "Disagreements", _each(readings, _disagreements)),
        Section("undecided", "Not decided", undecided),
    ]
    return {
        "verdict": verdict,
        "chart": _chart(sections),
        "failures": list(_failures(readings)),
        "hardest": Section("hardest", "Hardest constraints", [HARDEST, *_each(readings, _hardest)]),
        "readings": readings,
        "judged_by": judged_by,
        "overview": _overview(readings),
        "sections": [section for section in sections if section.parts],
        "cost": Section("cost", "Cost and time", list(_cost(readings))),
        "origins": [origin(reading) for reading in readings],
        "notes": [
            f"{reading.name}: {note}" if len(readings) > 1 else note
            for reading in readings
            for note in notes(reading.summary)
        ],
    }


def _each(readings: Sequence[RunReading], lay_out: Any) -> list[Part]:
    """Lay out each run; of several, its name stands in the titles."""
    parts: list[Part] = []
    for reading in readings:
        for part in lay_out(reading):
            named = len(readings) > 1 and not isinstance(part, str)
            parts.append(replace(part, title=f"{part.title}, {reading.name}") if named else part)
    return parts


def _verdict(reading: RunReading) -> list[str]:
    """Say in a sentence or two what came out."""
    summary = reading.summary
    verdicts = summary["verdicts"]
    rows = hard.hardest(reading.texts, summary["by"])
    said = [sentence(summary)] if verdicts["met"] + verdicts["unmet"] else []
    if said and rows and rows[0].unmet:
        share, _ = rows[0].shown
        name = rows[0].name[:QUOTED]
        said.append(f"Hardest constraint: “{name}”, {share} % unmet of {rows[0].total:,}.")
    return said


def _chart(sections: Sequence[Section]) -> Chart | None:
    """Choose the chart that says most: differences, a breakdown into groups, or the metrics."""
    drawn = {
        section.key: [part for part in section.parts if isinstance(part, Chart)]
        for section in sections
    }
    broken = [chart for chart in drawn["breakdowns"] if len(chart.spec["data"]["values"]) > 1]
    return next(iter([*drawn["comparison"], *broken, *drawn["metrics"]]), None)


def _metrics(readings: Sequence[RunReading]) -> Iterator[Part]:
    """Lay out all rates; those of several runs side by side."""
    if len(readings) > 1:
        yield side_by_side({reading.name: reading.summary for reading in readings})
        return
    rates = replace(metrics_of(readings[0].summary), title="All metrics")
    if rates.measures:
        yield rates.chart()
        yield rates.table()


def _comparison(runs: Sequence[Path], named: Sequence[str]) -> tuple[list[Part], list[str]]:
    """Compare runs two by two, and say in a sentence what came out, or why there is nothing."""
    pairs, refused = _compared(runs, named)
    if not pairs:
        return [*refused], []
    shown = {
        "runs": [{"name": name, "unread": 0} for name in named],
        "baseline": named[0],
        "pairs": pairs,
        "left_out": refused,
    }
    table = replace(next(differences.overview(pairs)), title="Differences")
    alone = {**shown, "runs": []}
    of_two = () if len(pairs) > 1 else differences.tables(alone, flips=FLIPS, cut=CUT)
    parts: list[Part] = [
        COMPARISON,
        *differences.head(shown),
        *differences.notes(shown),
        _differences_chart(pairs),
        table,
        *differences.leaderboard(shown),
        *(replace(each, title=heading(each.title)) for each in islice(of_two, 1, None)),
    ]
    return parts, differences.headlines(shown)[:FAILURES_SHOWN]


def _compared(runs: Sequence[Path], named: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Compare each pair that can be compared, and say of the others why not."""
    pairs, refused = [], []
    for (first_run, first), (second_run, second) in combinations(zip(runs, named, strict=True), 2):
        try:
            result = compare(first_run, second_run)
        except (InputError, UsageError) as error:
            hint = f" To compare them: {error.hint}." if error.hint else ""
            refused.append(f"{first} and {second} are not compared: {error.what}.{hint}")
            continue
        pairs += [{**pair, "first": first, "second": second} for pair in result["pairs"]]
    adjust(pairs)
    return pairs, refused


def _differences_chart(pairs: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw the differences of the table: of the rate that a pair is quoted by."""
    measured = [
        (f"{pair['first']}\n− {pair['second']}", rates[0]["difference"])
        for pair in pairs
        for family in ranked(pair["metrics"])[:1]
        if (rates := [*pair["metrics"][family].values()])
    ]
    estimates = [Estimate(name, each["value"], each["interval"]) for name, each in measured]
    ends = [end for each in estimates for end in (each.value or 0.0, *(each.interval or ()))]
    most = min(100, 10 * math.ceil(10 * max(map(abs, ends), default=0) + 0.1))
    spec = estimates_chart(estimates, "Δ, points", bounds=(-most, most))
    return Chart("differences", "Differences", spec)


def _verdicts(readings: Sequence[RunReading]) -> Iterator[Table]:
    """Lay out how many verdicts there are of each kind, and who reached them."""
    rows = []
    # A run in which everything applies doesn't name the status of what doesn't.
    statuses = list(dict.fromkeys(name for each in readings for name in each.summary["verdicts"]))
    for reading in readings:
        counts = reading.summary["verdicts"]
        coverage = percent(reading.summary["coverage"], 1)
        shown = (f"{counts.get(status, 0):,}" for status in statuses)
        rows.append((reading.name, *shown, coverage))
    yield Table("Of all constraints", ("run", *statuses, COVERAGE), rows)
    judges = list(dict.fromkeys(who for each in readings for who in each.summary["decided_by"]))
    if len(judges) > 1:
        decided = [
            (who, *(f"{each.summary['decided_by'].get(who, 0):,}" for each in readings))
            for who in judges
        ]
        names = [reading.name for reading in readings] if len(readings) > 1 else ["verdicts"]
        yield Table("Who decided", ("judge", *names), decided)


def _breakdowns(reading: RunReading) -> Iterator[Part]:
    """Lay out the rates by each property of constraints and samples."""
    for breakdown in breakdowns_of(reading.summary):
        if breakdown.is_drawn:
            yield breakdown.chart()
        yield breakdown.table()


def _hardest(reading: RunReading) -> Iterator[Part]:
    """Rank the constraints that fewest met, by the upper end of their interval."""
    by = reading.summary["by"]
    rows = hard.hardest(reading.texts, by) or hard.hardest_kinds(by)
    yield hard.table("Constraints", rows) if rows else f"None has {FEWEST} verdicts."


def _disagreements(reading: RunReading) -> Iterator[Table]:
    """Show where the members of a panel, or a judge and the labels, were not of one mind."""
    if reading.summary["votes"]:
        yield votes_table(reading.summary["votes"])
    note = "The first in the order of the input."
    if reading.splits:
        columns = ("sample, constraint", "text", "votes", "verdict")
        yield Table("Verdicts that were not unanimous", columns, reading.splits, note, words=4)
    unlike = [
        (f"{row['id']}, {row['constraint']}", _short(row["text"]), row["label"], row["verdict"])
        for row in reading.summary["labels"].get("disagreements", ())
    ]
    if unlike:
        columns = ("sample, constraint", "text", "known verdict", "verdict")
        yield Table("Verdicts unlike the labels", columns, unlike, note, words=4)


def _undecided(reading: RunReading) -> Iterator[Table]:
    """Show why verdicts were not reached, and which rows came to nothing."""
    summary = reading.summary
    reasons = [
        (
            _short(row["reason"] or "no reason was given"),
            "; ".join(reading.places.get(row["reason"], ())),
            f"{row['verdicts']:,}",
        )
        for row in summary["undecided"]
    ]
    if reasons:
        columns = ("reason", "first in (sample, constraint)", "verdicts")
        yield Table("Reasons", columns, reasons, words=2)
    problems = [
        (str(row["line"]), row["id"], _short(row["problem"])) for row in summary["problems"]
    ]
    if problems:
        left = summary["rows"]["failed"] - len(problems)
        note = f"{left:,} more are in the run's results.jsonl." if left > 0 else ""
        columns = ("line", "id", "problem")
        yield Table("Rows that came to nothing", columns, problems, note, words=3)


def _all_decided(readings: Sequence[RunReading]) -> str:
    every = "In all runs every" if len(readings) > 1 else "Every"
    return f"{every} verdict was decided, and every row could be read."


def _short(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}…"


def _failures(readings: Sequence[RunReading]) -> Iterator[dict[str, Any]]:
    """Show the first unmet constraint of some samples, with the passage that it speaks of."""
    turns = range(FAILURES_SHOWN)
    rows = [(each, row) for at in turns for each in readings for row in each.examples[at : at + 1]]
    for reading, row in rows[:FAILURES_SHOWN]:
        assert row.sample is not None  # noqa: S101 - examples were judged
        assert row.critique is not None  # noqa: S101
        for constraint, judgment in zip(row.sample.checklist, row.critique.judgments, strict=False):
            if judgment.status is Status.UNMET:
                response = row.sample.response or ""
                yield {
                    "id": f"{reading.name}: {row.id}" if len(readings) > 1 else row.id,
                    "text": constraint.text,
                    "passage": excerpt(response, passages(response, {1: judgment})),
                    "explanation": judgment.explanation,
                }
                break


def _overview(readings: Sequence[RunReading]) -> Table:
    """Say of each run what it holds and who judged it."""
    rows = [
        (
            reading.name,
            judged_by(reading.summary),
            reading.summary["scoring"],
            *(f"{reading.summary[what]:,}" for what in ("samples", "constraints")),
            f"{reading.summary['rows']['failed']:,}",
            percent(reading.summary["coverage"], 1),
        )
        for reading in readings
    ]
    numbers = ("samples", "constraints", "failed rows", "coverage")
    return Table("Runs", ("run", "judge", "scoring", *numbers), rows, words=3)


def _cost(readings: Sequence[RunReading]) -> Iterator[Part]:
    """Lay out what the runs cost: calls, tokens, dollars, time."""
    rows = []
    for reading in readings:
        costs = reading.summary.get("cost")
        if costs:
            rows += [_spent(reading.name, judge) for judge in costs["judges"]]
            if len(costs["judges"]) > 1:
                rows.append(_spent(reading.name, {"judge": "all", "model": "", **costs}))
    if not rows:
        yield "No model was called."
    for reading in readings:
        saved = reading.summary.get("saved")
        if saved:
            yield (
                f"{reading.name}: code saved the models {amount(saved['verdicts'], 'verdict')} "
                f"and {amount(saved['rows'], 'whole row')}, about {amount(saved['calls'], 'call')}."
            )
        if reading.latency is not None:
            calls, median, slow = reading.latency
            yield (
                f"{reading.name}: of {amount(calls, 'answer')}, half took {median:.2g} s or less, "
                f"95 % {slow:.2g} s or less."
            )
    if rows:
        tokens = ("prompt tokens", "of them cached", "completion tokens")
        columns = ("run", "judge", "model", "calls", "reused", "repeated", *tokens, "cost")
        yield Table("Calls and tokens", columns, rows, COST, words=3)
    times = [
        (
            reading.name,
            session["began"],
            "did not end" if session["seconds"] is None else f"{session['seconds']:,.1f}",
        )
        for reading in readings
        for session in reading.run.sessions
    ]
    if times:
        note = "A session that was killed has no end. Times are UTC."
        yield Table("Sessions", ("run", "began", "seconds"), times, note, words=2)


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
        for name, measure in [*summary["metrics"][family].items()][:RATES_QUOTED]:
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


def _template(page: Mapping[str, Any], *, charts: bool) -> Iterator[str]:
    from heedful.reporting.html.environment import environment, self_contained

    template = environment(TEMPLATES).get_template("report.html")
    yield from template.generate(**page, charts=charts, **self_contained(charts=charts))
