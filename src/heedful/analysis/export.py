"""Finished runs for other tools, a row for each judgment: CSV, JSON Lines, JUnit's XML."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from heedful.core.errors import UsageError
from heedful.core.outputs import atomically
from heedful.core.text import printable, spreadsheet_cell
from heedful.jobs.evaluate import directories
from heedful.jobs.results import check_folder, scored_entry
from heedful.jobs.saved_run import SavedRun

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from heedful.core.nouns import Constraint, Judgment, Sample
    from heedful.engine.schema import Entry
    from heedful.jobs.evaluate import Run

__all__ = ["export"]

COLUMNS = (
    "run",
    "id",
    "constraint",
    "text",
    "type",
    "subtype",
    "priority",
    "check",
    "weight",
    "status",
    "loose",
    "level",
    "confidence",
    "judge",
    "explanation",
    "label",
)
"""The columns; those of tags follow."""


class JudgmentTable:
    """The judgments of runs as rows of a table."""

    def __init__(self, runs: Sequence[SavedRun]) -> None:
        self._runs = runs
        self._tags = sorted({tag for run in runs for tag in _tags(run)})
        self.columns = [*COLUMNS, *(f"tags.{tag}" for tag in self._tags)]
        self.judgments = self.unread = 0

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the rows, as many cells each as there are columns."""
        for run in self._runs:
            name = run.directory.resolve().name
            for row in run.rows(scored_entry):
                if row.sample is None or row.critique is None:
                    self.unread += 1
                    continue
                sample = row.sample
                labels = sample.labels or (None,) * len(sample.checklist)
                tags = [str(sample.tags[tag]) if tag in sample.tags else None for tag in self._tags]
                judged = zip(sample.checklist, row.critique.judgments, labels, strict=True)
                for place, (constraint, judgment, label) in enumerate(judged, 1):
                    self.judgments += 1
                    said = _cells(sample, place, constraint, judgment)
                    yield [name, *said, label, *tags]


def _cells(
    sample: Sample, place: int, constraint: Constraint, judgment: Judgment
) -> list[str | int | float | None]:
    return [
        sample.id,
        place,
        constraint.text,
        constraint.type,
        constraint.subtype,
        constraint.priority,
        None if constraint.check is None else constraint.check.id,
        constraint.weight,
        judgment.status.value,
        None if judgment.loose is None else judgment.loose.value,
        judgment.level,
        judgment.confidence,
        judgment.judge,
        judgment.explanation,
    ]


def _tags(run: SavedRun) -> Iterator[str]:
    for tags in run.rows(_tags_of):
        yield from tags


def _tags_of(entry: Entry) -> dict[str, Any]:
    if entry.problem is not None or entry.input is None:
        return {}
    tags: dict[str, Any] = from_json(entry.input).get("tags", {})
    return tags


def write_csv(path: Path, table: JudgmentTable) -> None:
    """Write the rows as CSV; text that a spreadsheet would compute begins with an apostrophe."""
    with atomically(path) as file:
        writer = csv.writer(file)  # ends lines with CR LF: with LF alone it would not quote a CR
        writer.writerow(table.columns)
        writer.writerows(map(spreadsheet_cell, row) for row in table)


def write_lines(path: Path, table: JudgmentTable) -> None:
    """Write the rows as JSON Lines."""
    with atomically(path) as file:
        for row in table:
            record = dict(zip(table.columns, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_junit(path: Path, table: JudgmentTable) -> None:
    """Write a JUnit report: a suite for each run, a test case for each judgment."""
    from itertools import groupby
    from xml.sax.saxutils import quoteattr

    def attribute(value: object) -> str:
        return quoteattr(printable(str(value)))

    with atomically(path) as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
        records = (dict(zip(table.columns, row, strict=True)) for row in table)
        for run, cases in groupby(records, lambda record: record["run"]):
            file.write(f"<testsuite name={attribute(run)}>\n")
            for case in cases:
                name = attribute(f"{case['constraint']}. {case['text']}")
                file.write(f"<testcase classname={attribute(case['id'])} name={name}>")
                outcome = _JUNIT.get(case["status"], "error")
                if outcome:
                    message = attribute(case["explanation"] or case["status"])
                    file.write(f"<{outcome} message={message}/>")
                file.write("</testcase>\n")
            file.write("</testsuite>\n")
        file.write("</testsuites>\n")


_JUNIT = {"met": "", "unmet": "failure", "not_applicable": "skipped"}
"""Elements of JUnit's for verdicts; an undecided one is an error."""

WRITERS: dict[str, Callable[[Path, JudgmentTable], None]] = {
    ".csv": write_csv,
    ".jsonl": write_lines,
    ".xml": write_junit,
}
"""Writers of the judgments, by the suffix of the file."""


class Exported(NamedTuple):
    """Counts of what was written: judgments, and rows that could not be read and have none.

    Rows that are damaged count as not read.
    """

    judgments: int
    unread: int


def export(*runs: Run, output: str | os.PathLike[str], salvage: bool = False) -> Exported:
    """Write finished runs for other tools, in constant memory.

    Args:
        runs: directories of runs of :func:`heedful.evaluate`, or evaluations.
        output: a ``.csv`` or ``.jsonl`` file for the judgments, a row each, or an ``.xml`` file
            for a JUnit report, a test case each.
        salvage: leave out rows that are damaged, instead of refusing their run.

    Returns:
        How much was written.

    Raises:
        RunError: a run is not there, not finished, or damaged.
        UsageError: no run is named, or the file cannot be written.
    """
    path = Path(output)
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise UsageError(
            "runs aren't exported to this kind of file",
            where=str(path),
            hint=f"name a file with one of the suffixes {', '.join(WRITERS)}",
        )
    if not runs:
        raise UsageError("no run is named", hint="name the directory of a run, or several")
    with directories(runs) as places:
        check_folder(path, places)
        table = JudgmentTable([SavedRun.open(run, salvage=salvage) for run in places])
        write(path, table)
        return Exported(table.judgments, table.unread)
