"""A report on finished runs: one page of HTML that needs nothing but itself."""

from __future__ import annotations

import heapq
import json
import shlex
import sqlite3
from array import array
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.compare.sides import flat
from heedful.core.closing import Closing
from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.core.outputs import atomically
from heedful.core.text import amount
from heedful.jobs.evaluate import Run, directories
from heedful.jobs.evaluate_tables import (
    breakdowns_of,
    metrics_of,
    notes,
    sentence,
    votes_table,
)
from heedful.jobs.results import check_folder, judged_by, scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.pages import hardest as hard
from heedful.pages.hardest import FEWEST, hardest_counts, of_words
from heedful.pages.passages import excerpt, passages
from heedful.reporting.chart import Chart
from heedful.reporting.metric_names import label, ranked
from heedful.reporting.notation import COVERAGE, counted, interval, percent, price, rate
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    Part = str | Table | Chart
    from heedful.core.nouns import Constraint, Critique, Sample
    from heedful.jobs.results import Scored
    from heedful.pages.hardest import Hard


__all__ = ["report"]

CUT = 300
"""Characters of a text that a table shows."""

FAILURES_SHOWN = 3
"""Failures on the first page."""

QUOTED = 120
RATES_QUOTED = 4
"""Rates of a benchmark that a quotation has."""

TEMPLATES = Path(__file__).parent / "templates"

METRICS = (
    "Shares in per cent. The interval is Wilson's, of 95 %; samples of one instruction or "
    "conversation count together. A range is from the rate if all that is undecided were unmet "
    "to the rate if it were met."
)
VERDICTS = (
    "Met and unmet are decided. Unparsed: the judge answered, without a single verdict; "
    "failed: no answer; unsupported: no verifier knows the constraint. These make a rate a "
    "range; what is not applicable counts nowhere."
)
ALL_DECIDED = "Every verdict was decided, and every row could be read."
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
    run: Run,
    /,
    *,
    output: str | os.PathLike[str] | None = None,
    examples: int = 10,
    charts: bool = True,
) -> Reported:
    """Write a report on a finished run: rates, breakdowns, what went wrong, how it came about.

    The page makes no request. Everything is read from the run's store, without a call, and
    memory does not grow with the rows.

    Args:
        run: an evaluation, or the directory of a run of :func:`heedful.evaluate`.
        output: an ``.html`` file. By default ``report.html``, in the run's directory.
        examples: how many samples with an unmet constraint are shown, chosen at random.
        charts: whether charts are drawn; their scripts are most of the file's size.

    Returns:
        Where it is, and how much is in it.

    Raises:
        RunError: the run is not there, not finished, or of another kind.
        UsageError: the file cannot be written.
    """
    with directories([run]) as (place,):
        folder = Path(place)
        return _reported(folder, Path(output or folder / "report.html"), examples, charts=charts)


def _reported(folder: Path, path: Path, examples: int, *, charts: bool) -> Reported:
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            "a report is a page of HTML",
            where=str(path),
            hint="name an .html file; heedful export writes summaries as Markdown",
        )
    check_folder(path, [folder])
    if examples < 0:
        raise UsageError(f"there cannot be {examples} examples", hint="give 0 or more")
    reading = read(SavedRun.open(folder), folder.resolve().name, examples=examples)
    with atomically(path) as file:
        for piece in _template(_page(reading), charts=charts):
            file.write(piece)
    rows = reading.summary["rows"]
    return Reported(path, rows["read"], rows["failed"])


class Section(NamedTuple):
    """A section of a report: its anchor, its heading, and what stands in it."""

    key: str
    title: str
    parts: Sequence[Part]


def _page(reading: RunReading) -> dict[str, Any]:
    """Lay out what the page holds."""
    sections = [
        Section("metrics", "Metrics", [METRICS, *_metrics(reading)]),
        Section("verdicts", "Verdicts", [VERDICTS, *_verdicts(reading)]),
        Section("breakdowns", "Breakdowns", list(_breakdowns(reading))),
        Section("disagreements", "Disagreements", list(_disagreements(reading))),
        Section("undecided", "Not decided", list(_undecided(reading)) or [ALL_DECIDED]),
    ]
    return {
        "verdict": _verdict(reading),
        "chart": _chart(sections),
        "failures": list(_failures(reading)),
        "hardest": Section("hardest", "Hardest constraints", [HARDEST, *_hardest(reading)]),
        "reading": reading,
        "judged_by": judged_by,
        "sections": [section for section in sections if section.parts],
        "cost": Section("cost", "Cost and time", list(_cost(reading))),
        "origin": origin(reading),
        "notes": list(notes(reading.summary)),
    }


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
    """Choose the chart that says most: a breakdown into groups, or the metrics."""
    drawn = {
        section.key: [part for part in section.parts if isinstance(part, Chart)]
        for section in sections
    }
    broken = [chart for chart in drawn["breakdowns"] if len(chart.spec["data"]["values"]) > 1]
    return next(iter([*broken, *drawn["metrics"]]), None)


def _metrics(reading: RunReading) -> Iterator[Part]:
    """Lay out all rates."""
    rates = replace(metrics_of(reading.summary), title="All metrics")
    if rates.measures:
        yield rates.chart()
        yield rates.table()


def _verdicts(reading: RunReading) -> Iterator[Table]:
    """Lay out how many verdicts there are of each kind, and who reached them."""
    counts = reading.summary["verdicts"]
    coverage = percent(reading.summary["coverage"], 1)
    row = (reading.name, *(f"{count:,}" for count in counts.values()), coverage)
    yield Table("Of all constraints", ("run", *counts, COVERAGE), [row])
    judges = reading.summary["decided_by"]
    if len(judges) > 1:
        decided = [(who, f"{count:,}") for who, count in judges.items()]
        yield Table("Who decided", ("judge", "verdicts"), decided)


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


def _short(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}…"


def _failures(reading: RunReading) -> Iterator[dict[str, Any]]:
    """Show the first unmet constraint of some samples, with the passage that it speaks of."""
    for row in reading.examples[:FAILURES_SHOWN]:
        assert row.sample is not None  # noqa: S101 - examples were judged
        assert row.critique is not None  # noqa: S101
        for constraint, judgment in zip(row.sample.checklist, row.critique.judgments, strict=False):
            if judgment.status is Status.UNMET:
                response = row.sample.response or ""
                yield {
                    "id": row.id,
                    "text": constraint.text,
                    "passage": excerpt(response, passages(response, {1: judgment})),
                    "explanation": judgment.explanation,
                }
                break


def _cost(reading: RunReading) -> Iterator[Part]:
    """Lay out what the run cost: calls, tokens, dollars, time."""
    costs = reading.summary.get("cost")
    rows = [_spent(judge) for judge in costs["judges"]] if costs else []
    if costs and len(rows) > 1:
        rows.append(_spent({"judge": "all", "model": "", **costs}))
    if not rows:
        yield "No model was called."
    saved = reading.summary.get("saved")
    if saved:
        yield (
            f"Code saved the models {amount(saved['verdicts'], 'verdict')} and "
            f"{amount(saved['rows'], 'whole row')}, about {amount(saved['calls'], 'call')}."
        )
    if reading.latency is not None:
        calls, median, slow = reading.latency
        yield (
            f"Of {amount(calls, 'answer')}, half took {median:.2g} s or less, "
            f"95 % {slow:.2g} s or less."
        )
    if rows:
        tokens = ("prompt tokens", "of them cached", "completion tokens")
        columns = ("judge", "model", "calls", "reused", "repeated", *tokens, "cost")
        yield Table("Calls and tokens", columns, rows, COST, words=2)
    times = [
        (
            session["began"],
            "did not end" if session["seconds"] is None else f"{session['seconds']:,.1f}",
        )
        for session in reading.run.sessions
    ]
    if times:
        note = "A session that was killed has no end. Times are UTC."
        yield Table("Sessions", ("began", "seconds"), times, note)


def _spent(usage: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = (usage["prompt_tokens"], usage["cached_tokens"], usage["completion_tokens"])
    return (
        usage["judge"],
        usage["model"],
        *(f"{usage[key]:,}" for key in ("calls", "reused", "reasks")),
        *("–" if count is None else f"{count:,}" for count in tokens),
        price(usage["dollars"], uncounted=bool(usage.get("uncounted"))),
    )


class Origin(NamedTuple):
    """How a run's numbers came about."""

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


TEXT_CUT = 1000
"""Characters of a text that are shown."""

WAITING = 2000
"""Texts that are counted in memory before they go into the file."""

PLACES = {Status.MET: 0, Status.UNMET: 1}
"""Where a verdict is counted; the undecided are counted third."""

SCHEMA = "CREATE TABLE texts (key BLOB, text TEXT, met INTEGER, unmet INTEGER, undecided INTEGER)"

COUNTED = """
SELECT min(rowid), key, sum(met), sum(unmet), sum(undecided) FROM texts
GROUP BY key HAVING sum(met) + sum(unmet) >= ?
"""
"""The sums by text, which SQLite sorts in a file; an index would be written all over."""


class Texts(Closing):
    """Counts verdicts by the words of their constraints, in a temporary file.

    Data may have as many texts as verdicts, so a table in memory would grow with them.
    """

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute(SCHEMA)
        self._waiting: dict[str, list[int]] = {}

    def close(self) -> None:
        """Forget everything."""
        self._db.close()

    def add(self, constraint: Constraint, status: Status) -> None:
        """Count a verdict; one that a constraint doesn't apply is none."""
        if status.settled and not status.decided:
            return
        counts = self._waiting.setdefault(constraint.text, [0, 0, 0])
        counts[PLACES.get(status, 2)] += 1
        if len(self._waiting) >= WAITING:
            self._flush()

    def hardest(self) -> list[Hard]:
        """Return the texts that fewest met, of those with :data:`FEWEST` verdicts or more."""
        self._flush()
        hard = hardest_counts(self._db.execute(COUNTED, (FEWEST,)))
        query = "SELECT text FROM texts WHERE rowid = ?"
        return [
            of_words(self._db.execute(query, (place,)).fetchone()[0], *counts)
            for place, _, *counts in hard
        ]

    def _flush(self) -> None:
        rows = (
            (
                blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(),
                text[:TEXT_CUT].encode("utf-8", "replace").decode(),
                *counts,
            )
            for text, counts in self._waiting.items()
        )
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", rows)
        self._db.execute("COMMIT")
        self._waiting.clear()


SPLITS_LISTED = 20
REASONS_LISTED = 1000
OTHER = "other reasons"
PLACES_LISTED = 5
"""Constraints that are named for each reason why a verdict was not reached."""


class Latency(NamedTuple):
    """Calls of which the run holds the answers, and in which time half and 95 % of them came."""

    calls: int
    median: float
    slow: float


@dataclass(slots=True)
class RunReading:
    """All that a report says of one run."""

    name: str  # how the report calls it
    run: SavedRun  # the run
    summary: dict[str, Any]  # as in summary.json
    # constraints without a verifier that several samples share, the hardest first
    texts: list[Hard] = field(default_factory=list)
    # for each reason why verdicts were not reached, the first of these
    places: dict[str, list[str]] = field(default_factory=dict)
    # verdicts that weren't unanimous, the first: place, text, votes, verdict
    splits: list[tuple[str, str, str, str]] = field(default_factory=list)
    unmet: int = 0  # samples with a constraint that was not met
    examples: list[Scored] = field(default_factory=list)  # some of them, chosen at random
    latency: Latency | None = None  # what the calls took; None if no model was called

    def add(self, sample: Sample, critique: Critique, texts: Texts) -> bool:
        """Take in one row; say whether a constraint was not met."""
        failed = False
        for place, (constraint, judgment) in enumerate(
            zip(sample.checklist, critique.judgments, strict=False), 1
        ):
            failed |= judgment.status is Status.UNMET and not constraint.is_penalty
            if constraint.check is None:
                texts.add(constraint, judgment.status)
            where = f"{sample.id}, {place}"
            if not judgment.status.settled:
                self._undecided(judgment.explanation, where)
            if judgment.votes and len(self.splits) < SPLITS_LISTED:
                votes = [(vote["judge"], vote["status"]) for vote in judgment.votes]
                if {"met", "unmet"} <= {status for _, status in votes}:
                    said = "; ".join(f"{judge}: {status}" for judge, status in votes)
                    self.splits.append((where, constraint.text[:TEXT_CUT], said, judgment.status))
        self.unmet += failed
        return failed

    def _undecided(self, reason: str, place: str) -> None:
        if reason not in self.places and len(self.places) >= REASONS_LISTED:
            reason = OTHER
        places = self.places.setdefault(reason, [])
        if len(places) < PLACES_LISTED:
            places.append(place)


def read(run: SavedRun, name: str, *, examples: int) -> RunReading:
    """Read what a report says of a run.

    Examples are the rows whose ids have the smallest digests: a draw that any order repeats.
    """
    reading = RunReading(name, run, run.summary, latency=_latency(run.answers()))
    drawn: list[tuple[int, int]] = []
    with Texts() as texts:
        for position, row in run.rows(lambda entry: (entry.position, scored_entry(entry))):
            if row.sample is None or row.critique is None:
                continue
            if reading.add(row.sample, row.critique, texts) and examples:
                key = row.sample.id.encode("utf-8", "surrogatepass")
                digest = int.from_bytes(blake2b(key, digest_size=8).digest())
                heapq.heappush(drawn, (-digest, position))
                if len(drawn) > examples:
                    heapq.heappop(drawn)
        reading.texts = texts.hardest()
    chosen = sorted(drawn, reverse=True)
    reading.examples = [run.row(position, scored_entry) for _, position in chosen]
    return reading


def _latency(answers: Iterator[dict[str, Any]]) -> Latency | None:
    import numpy as np

    seconds = array("f", (answer.get("latency_s", 0.0) for answer in answers))
    if not seconds:
        return None
    median, slow = np.percentile(np.asarray(seconds), (50, 95))
    return Latency(len(seconds), float(median), float(slow))
