"""A report on finished runs: one page of HTML that needs nothing but itself."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.compare import tables as differences
from heedful.analysis.compare.job import adjust, compare
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Status
from heedful.core.outputs import atomically
from heedful.jobs.evaluate import Run, directories
from heedful.jobs.evaluate_tables import notes, sentence, votes_table
from heedful.jobs.results import check_folder, judged_by
from heedful.jobs.saved_run import SavedRun
from heedful.pages import hardest as hard
from heedful.pages.hardest import FEWEST
from heedful.pages.passages import excerpt, passages
from heedful.pages.report.reading import read
from heedful.pages.report.sections import (
    Section,
    SectionPart,
    breakdowns,
    cost,
    metrics,
    origin,
    verdicts,
)
from heedful.reporting.metric_names import heading, ranked
from heedful.reporting.notation import percent
from heedful.reporting.plots import Estimate, estimates_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.pages.report.reading import RunReading

__all__ = ["report"]

FLIPS = 20
LISTED = 20
CUT = 300
"""Characters of a text that a table shows."""


def comparison(runs: Sequence[Path], named: Sequence[str]) -> tuple[Section, list[str]]:
    """Compare runs two by two, and say in a sentence what came out, or why there is nothing."""
    pairs, notes = _compared(runs, named)
    lead = (
        "Rates side by side say little; the difference on the samples that two runs share says "
        "more. Instructions and conversations count whole, with all their samples in both runs."
    )
    parts: list[SectionPart] = []
    said, headlines = notes, []
    if pairs:
        shown = {
            "runs": [{"name": name, "unread": 0} for name in named],
            "baseline": named[0],
            "pairs": pairs,
            "left_out": notes,
        }
        said = [*differences.head(shown), *differences.notes(shown)]
        headlines = differences.headlines(shown)[:FAILURES_SHOWN]
        table = replace(next(differences.overview(pairs)), title="Differences")
        parts = [
            SectionPart(table, _differences_chart(pairs), wide=True),
            *map(SectionPart, differences.leaderboard(shown)),
            *(SectionPart(table) for pair in pairs for table in _tables(pair, len(pairs))),
        ]
    return Section("comparison", "Comparison", parts, lead, said), headlines


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


def _differences_chart(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
    return estimates_chart(estimates, "Δ, points", bounds=(-most, most))


def _tables(pair: Mapping[str, Any], pairs: int) -> Iterator[Table]:
    """Lay out a pair: of several its settings only, as the differences stand above."""
    whole = {"runs": [], "pairs": [pair], "baseline": pair["second"]}
    for table in islice(differences.tables(whole, flips=FLIPS, cut=CUT), 1, None):
        if pairs == 1 or table.title.startswith("Settings"):
            yield replace(table, title=heading(table.title))


def hardest(readings: Sequence[RunReading]) -> Section:
    """Rank the constraints that fewest met, by the upper end of their interval."""
    parts = []
    for reading in readings:
        by = reading.summary["by"]
        rows = hard.hardest(reading.texts, by) or hard.hardest_kinds(by)
        if rows:
            of = f", {reading.name}" if len(readings) > 1 else ""
            parts.append(SectionPart(hard.table(f"Constraints{of}", rows), folded=bool(of)))
    lead = (
        f"Of the constraints with {FEWEST} verdicts or more, those whose share has the highest "
        "lower end of its 95 % interval: one failure of one says little, ninety of a hundred say "
        "much. A constraint is known by its verifier, or else by its words; for those known by "
        "their words, the interval takes verdicts as independent."
    )
    said = [] if parts else [f"No constraint, and no kind of them, has {FEWEST} verdicts."]
    return Section("hardest", "Hardest constraints", parts, lead, said)


def disagreements(readings: Sequence[RunReading]) -> Section:
    """Show where the members of a panel, or a judge and the labels, were not of one mind."""
    parts: list[SectionPart] = []
    for reading in readings:
        of = f", {reading.name}" if len(readings) > 1 else ""
        parts += _votes(reading, of)
        parts += _labels(reading.summary["labels"], of)
    return Section("disagreements", "Disagreements", parts)


def _votes(reading: RunReading, of: str) -> Iterator[SectionPart]:
    if reading.summary["votes"]:
        table = votes_table(reading.summary["votes"])
        yield SectionPart(replace(table, title=f"{table.title}{of}"))
    rows = [
        (
            f"{split.id}, {split.constraint}",
            _short(split.text),
            "; ".join(f"{vote['judge']}: {vote['status']}" for vote in split.votes),
            split.verdict,
        )
        for split in reading.splits
    ]
    if rows:
        yield _listed(f"Verdicts that were not unanimous{of}", ("votes", "verdict"), rows)


def _labels(labels: Mapping[str, Any], of: str) -> Iterator[SectionPart]:
    rows = [
        (f"{row['id']}, {row['constraint']}", _short(row["text"]), row["label"], row["verdict"])
        for row in labels.get("disagreements", ())
    ]
    if rows:
        yield _listed(f"Verdicts unlike the labels{of}", ("known verdict", "verdict"), rows)


def _listed(title: str, said: tuple[str, str], rows: Sequence[tuple[str, ...]]) -> SectionPart:
    """Name constraints, and what was said of each."""
    note = "The first in the order of the input."
    return SectionPart(Table(title, ("sample, constraint", "text", *said), rows, note, words=4))


def undecided(readings: Sequence[RunReading]) -> Section:
    """Show why verdicts were not reached, and which rows came to nothing."""
    parts = [
        part
        for reading in readings
        for part in _undecided(reading, f", {reading.name}" if len(readings) > 1 else "")
    ]
    all_of = "In all runs every" if len(readings) > 1 else "Every"
    said = [] if parts else [f"{all_of} verdict was decided, and every row could be read."]
    return Section("undecided", "Not decided", parts, said=said)


def _undecided(reading: RunReading, of: str) -> Iterator[SectionPart]:
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
        yield SectionPart(Table(f"Reasons{of}", columns, reasons, words=2))
    problems = [
        (str(row["line"]), row["id"], _short(row["problem"])) for row in summary["problems"]
    ]
    if problems:
        left = summary["rows"]["failed"] - len(problems)
        note = f"{left:,} more are in the run's results.jsonl." if left > 0 else ""
        columns = ("line", "id", "problem")
        table = Table(f"Rows that came to nothing{of}", columns, problems, note, words=3)
        yield SectionPart(table, folded=len(problems) > LISTED)


def _short(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}…"


TEMPLATES = Path(__file__).parent / "templates"


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


def _page(runs: Sequence[SavedRun], names: Sequence[str], examples: int) -> dict[str, Any]:
    """Read the runs, and lay out what the page holds."""
    readings = [read(run, name, examples=examples) for run, name in zip(runs, names, strict=True)]
    sections = [metrics(readings)]
    verdict = _verdict(readings[0])
    if len(runs) > 1:
        compared, verdict = comparison([run.directory for run in runs], names)
        sections.append(compared)
    lay_out = (verdicts, breakdowns, disagreements, undecided)
    sections += [section(readings) for section in lay_out]
    shown: list[Section] = [section for section in sections if section]
    return {
        "verdict": verdict,
        "chart": _chart(shown),
        "failures": list(_failures(readings)),
        "front": [hardest(readings)],
        "readings": readings,
        "judged_by": judged_by,
        "overview": _overview(readings),
        "sections": shown,
        "cost": cost(readings),
        "origins": [origin(reading) for reading in readings],
        "notes": [
            f"{reading.name}: {note}" if len(readings) > 1 else note
            for reading in readings
            for note in notes(reading.summary)
        ],
    }


def _verdict(reading: RunReading) -> list[str]:
    """Say in a sentence or two what came out."""
    summary = reading.summary
    rows = hard.hardest(reading.texts, summary["by"])
    said = [sentence(summary)] if any(summary["verdicts"].get(each) for each in DECIDED) else []
    if said and rows and rows[0].unmet:
        share, _ = rows[0].shown
        name = rows[0].name[:QUOTED]
        said.append(f"Hardest constraint: “{name}”, {share} % unmet of {rows[0].total:,}.")
    return said


def _chart(sections: Sequence[Section]) -> SectionPart | None:
    """Choose the chart that says most: differences, or the first breakdown into several groups."""
    drawn = {
        section.key: [part for part in section.parts if part.chart is not None]
        for section in sections
    }
    broken = [part for part in drawn.get("breakdowns", ()) if len(part.table.rows) > 1]
    others = (part for parts in drawn.values() for part in parts)
    return next(iter([*drawn.get("comparison", ()), *broken, *others]), None)


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


FAILURES_SHOWN = 3
"""Failures, and verdicts on pairs of runs, on the first page."""

QUOTED = 120
DECIDED = ("met", "unmet")


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


def _template(page: Mapping[str, Any], *, charts: bool) -> Iterator[str]:
    from heedful.reporting.html.environment import environment, self_contained

    template = environment(TEMPLATES).get_template("report.html")
    yield from template.generate(**page, charts=charts, **self_contained(charts=charts))
