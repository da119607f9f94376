"""A report on finished runs: one page of HTML that needs nothing but itself."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.compare import tables as differences
from heedful.analysis.compare.job import Comparison, adjust, compare
from heedful.analysis.compare.tables import BOUNDS
from heedful.core import taxonomy
from heedful.core.errors import InputError, UsageError
from heedful.core.outputs import atomically
from heedful.core.text import amount
from heedful.jobs.evaluate import Run, directories
from heedful.jobs.evaluate_tables import notes
from heedful.jobs.results import check_folder, judged_by
from heedful.jobs.saved_run import SavedRun
from heedful.pages.report.reading import FEWEST, hardness, read
from heedful.pages.report.sections import (
    Fold,
    Section,
    SectionPart,
    breakdowns,
    cost,
    leading,
    metrics,
    origin,
    sizes,
    verdicts,
)
from heedful.reporting.metric_names import heading, label, ranked
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    MEASURED,
    NOTHING,
    bounds,
    cells,
    counted,
    interval,
    p_value,
    percent,
    rate,
    signed,
)
from heedful.reporting.plots import Estimate, estimates_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.pages.report.reading import RunReading

    Ranked = tuple[str, int, int, int, str, Sequence[float] | None]
    """A constraint, verdicts met, unmet and undecided, what it is known by, its interval."""

__all__ = ["report"]

FLIPS = 20
CUT = 300
"""Characters of a text that a table shows."""


def comparison(runs: Sequence[Path], named: Sequence[str]) -> Section:
    """Compare runs two by two, and say of those that are unlike why they are not compared."""
    compared, refused = _compared(runs, named)
    folds = [
        Fold(
            f"{pair['first']} − {pair['second']}",
            [*differences.head(result), *differences.notes(result)],
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
        [SectionPart(_pairs(compared), _differences_chart(compared), wide=True)] if compared else []
    )
    return Section("comparison", "Comparison", parts, lead, refused, folds)


def _compared(runs: Sequence[Path], named: Sequence[str]) -> tuple[list[Comparison], list[str]]:
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


def _pairs(compared: Sequence[Comparison]) -> Table:
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


def _differences_chart(compared: Sequence[Comparison]) -> dict[str, Any]:
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


def _tables(result: Comparison, named: str) -> Iterator[Table]:
    """Lay out the tables of a pair, which need not repeat its name."""
    for table in islice(differences.tables(result, flips=FLIPS, cut=CUT), 1, None):
        title = table.title.removesuffix(f": {named}")
        title = "Metrics" if title == named else heading(title)
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
        label(family, name, pair) if family else "–",
        *differs,
        *(f"{outcomes[key]:,}" for key in ("wins", "losses", "ties")),
        NOTHING if measure is None or measure["p_holm"] is None else p_value(measure["p_holm"]),
    )


LISTED = 20


def hardest(readings: Sequence[RunReading]) -> Section:
    """Rank the constraints that fewest met, by the upper end of their interval."""
    parts = [part for reading in readings for part in _hardest(reading, named=len(readings) > 1)]
    lead = (
        f"Of the constraints with {FEWEST} verdicts or more, those whose share has the lowest "
        "upper end of their 95 % interval: one failure of one says little, ninety of a hundred say "
        "much. A constraint is known by its verifier, or else by its words; for those known by "
        "their words, the interval takes verdicts as independent."
    )
    said = [] if parts else [f"No constraint, and no kind of them, has {FEWEST} verdicts."]
    return Section("hardest", "Hardest constraints", parts, lead, said)


def _hardest(reading: RunReading, *, named: bool) -> Iterator[SectionPart]:
    """Rank a run's constraints; where hardly any comes again, their kinds."""
    of = f", {reading.name}" if named else ""
    by = reading.summary["by"]
    ranked: list[Ranked] = [(*text, "words", text.interval) for text in reading.texts] + _counts(
        by, "verifier"
    )
    title = "Constraints"
    if not ranked:
        ranked = _counts(by, "subtype") or _counts(by, "type")
        title = "Kinds of constraints"
    ranked.sort(key=lambda row: (hardness(row[5]), row[0]))
    rows = [
        (
            _short(name),
            known,
            _met(met, unmet, undecided),
            interval(between),
            *(f"{count:,}" for count in (met, unmet, undecided)),
        )
        for name, met, unmet, undecided, known, between in ranked[:LISTED]
    ]
    if rows:
        counts = ("met", "unmet", "undecided")
        columns = ("constraint", "known by", "% met", INTERVAL, *counts)
        yield SectionPart(Table(f"{title}{of}", columns, rows, words=2).filled(), folded=named)


def _met(met: int, unmet: int, undecided: int) -> str:
    total = met + unmet + undecided
    ends = [met / total, (met + undecided) / total]
    return rate({"value": None if undecided else ends[0], "bounds": ends}, 1)


def _counts(by: Mapping[str, Any], kind: str) -> list[Ranked]:
    """Count the verdicts of each kind that has enough of them, with the interval of the rate."""
    if "dropped" in by.get(kind, {}):
        return []
    return [
        (
            taxonomy.name(name, "en"),
            met,
            measure["denominator"] - measure["undecided"] - met,
            measure["undecided"],
            kind,
            measure["interval"],
        )
        for name, measure in by.get(kind, {}).items()
        if measure["denominator"] - measure["undecided"] >= FEWEST
        for met in [int(measure["numerator"])]
    ]


def disagreements(readings: Sequence[RunReading]) -> Section:
    """Show where the members of a panel, or a judge and the labels, were not of one mind."""
    parts: list[SectionPart] = []
    for reading in readings:
        of = f", {reading.name}" if len(readings) > 1 else ""
        parts += _votes(reading, of)
        parts += _labels(reading.summary["labels"], of)
    return Section("disagreements", "Disagreements", parts)


def _votes(reading: RunReading, of: str) -> Iterator[SectionPart]:
    votes = reading.summary["votes"]
    if not votes:
        return
    split = votes["disagreement"]
    rows = [
        (
            judge,
            *(f"{cast[status]:,}" for status in ("met", "unmet")),
            f"{cast['unparsed'] + cast['failed'] + cast['unsupported']:,}",
            percent(cast["with_majority"], 1),
        )
        for judge, cast in votes["judges"].items()
    ]
    note = (
        f"{rate(split, 1)} % of the verdicts were not unanimous ({counted(split)}); of one decided "
        "vote it isn't known."
    )
    columns = ("member", "met", "unmet", "undecided", "% with the majority")
    yield SectionPart(Table(f"Votes{of}", columns, rows, note))
    if reading.splits:
        listed = [
            (
                f"{split_verdict.id}, {split_verdict.constraint}",
                _short(split_verdict.text),
                "; ".join(f"{vote['judge']}: {vote['status']}" for vote in split_verdict.votes),
                split_verdict.verdict,
            )
            for split_verdict in reading.splits
        ]
        title = f"Verdicts that were not unanimous{of}"
        yield _listed(title, ("votes", "verdict"), listed)


def _labels(labels: Mapping[str, Any], of: str) -> Iterator[SectionPart]:
    if not labels:
        return
    rows = [
        (f"verdicts equal to the labels, {reading}", *cells(measure))
        for reading, measure in labels["agreement"].items()
    ]
    columns = ("", *MEASURED)
    yield SectionPart(Table(f"Agreement with known verdicts{of}", columns, rows).filled())
    listed = [
        (f"{row['id']}, {row['constraint']}", _short(row["text"]), row["label"], row["verdict"])
        for row in labels["disagreements"]
    ]
    if listed:
        yield _listed(f"Verdicts unlike the labels{of}", ("known verdict", "verdict"), listed)


def _listed(title: str, said: tuple[str, str], rows: Sequence[tuple[str, ...]]) -> SectionPart:
    """Name constraints, and what was said of each."""
    note = "The first in the order of the input."
    return SectionPart(Table(title, ("sample, constraint", "text", *said), rows, note, words=4))


def undecided(readings: Sequence[RunReading]) -> Section:
    """Show why verdicts were not reached, and which rows came to nothing."""
    parts: list[SectionPart] = []
    said = []
    for reading in readings:
        several = len(readings) > 1
        of = f", {reading.name}" if several else ""
        reasons = [
            (
                _short(row["reason"] or "no reason was given"),
                "; ".join(reading.places.get(row["reason"], ())),
                f"{row['verdicts']:,}",
            )
            for row in reading.summary["undecided"]
        ]
        if reasons:
            columns = ("reason", "first in (sample, constraint)", "verdicts")
            parts.append(SectionPart(Table(f"Reasons{of}", columns, reasons, words=2)))
        problems = [
            (str(row["line"]), row["id"], _short(row["problem"]))
            for row in reading.summary["problems"]
        ]
        if problems:
            left = reading.summary["rows"]["failed"] - len(problems)
            note = f"{left:,} more are in the run's results.jsonl." if left > 0 else ""
            columns = ("line", "id", "problem")
            table = Table(f"Rows that came to nothing{of}", columns, problems, note, words=3)
            parts.append(SectionPart(table, folded=len(problems) > LISTED))
        if not several and not parts:
            said.append("Every verdict was decided, and every row could be read.")
    if len(readings) > 1 and not parts:
        said.append("In all runs every verdict was decided, and every row could be read.")
    return Section("undecided", "Not decided", parts, said=said)


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
    if len(runs) > 1:
        sections.append(comparison([run.directory for run in runs], names))
    lay_out = (verdicts, breakdowns, sizes, hardest, disagreements, undecided)
    sections += [section(readings) for section in lay_out]
    shown: list[Section] = [section for section in sections if section]
    return {
        "readings": readings,
        "judged_by": judged_by,
        "figures": _figures(readings[0].summary) if len(readings) == 1 else [],
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


def _figures(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Choose the figures at the head of the page: what they are, in per cent, what lies behind."""
    headline = leading(summary)
    figures = []
    if headline is not None:
        family, names = headline
        for name in names:
            measure = summary["metrics"][family][name]
            behind = counted(measure)
            if measure["interval"]:
                behind = f"{interval(measure['interval'])} · {behind}"
            figures.append((label(family, name, summary), rate(measure, 1), behind))
    counts = summary["verdicts"]
    applicable = summary["constraints"] - counts.get("not_applicable", 0)
    decided = f"{counts['met'] + counts['unmet']:,} of {applicable:,} verdicts decided"
    failed = summary["rows"]["failed"]
    if failed:
        decided += f" · {amount(failed, 'row')} unread, as undecided"
    figures.append(("Coverage", percent(summary["coverage"], 1), decided))
    return figures


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
