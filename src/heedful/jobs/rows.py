"""Results of a run that adds to samples: its rows, the output, the summary."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from heedful.core.nouns import Expense, Sample
from heedful.core.outputs import atomically, write_json
from heedful.core.text import amount
from heedful.data.formats import native
from heedful.engine.cost import CostSummary
from heedful.engine.saved_run import SUMMARY
from heedful.jobs.results import PROBLEMS_LISTED
from heedful.reporting.notation import cost_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from rich.text import Text

    from heedful.engine.runner import Progress
    from heedful.engine.store import Entry, Store
    from heedful.models import Price

__all__ = ["Addition", "Generated", "Generation", "generated_entry", "view"]

UNCHANGED = "unchanged"
"""Counts rows that already have what the run adds."""


class Addition(BaseModel):
    """Result of one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[str, Any] = {}
    expenses: tuple[Expense, ...] = ()
    counts: dict[str, int] = {}  # what the summary adds up
    problem: str | None = None  # why nothing is set, although calls were paid


@dataclass(frozen=True, slots=True)
class Generated:
    """One row of the output.

    Attributes:
        line: line in the input file, from 1.
        id: the row's id, ``line-N`` where it has none.
        sample: the sample with what was added; ``None`` where the row could not be read.
        problem: why nothing was added.
    """

    line: int
    id: str
    sample: Sample | None
    problem: str | None


class Generation:
    """A finished run, read from its store.

    Attributes:
        directory: the run's directory; ``None`` where it is a temporary file.
        summary: as in ``summary.json``.
        progress: how many rows were done, and how many of them in an earlier session.
    """

    def __init__(
        self, store: Store, adds: str, summary: dict[str, Any], progress: Progress
    ) -> None:
        self._store = store
        self._adds = adds
        self.directory = store.directory
        self.summary = summary
        self.progress = progress

    def __iter__(self) -> Iterator[Generated]:
        """Yield the rows in input order, in constant memory."""
        return (row for row, _ in _rows(self._store))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the output in input order, in constant memory."""
        return (_record(row, self._adds) for row in self)

    def write(self, path: Path, rows: Iterable[Generated] | None = None) -> None:
        """Write the rows as JSON lines in heedful's own format; the file appears when complete.

        Args:
            path: the file.
            rows: only these of its rows. Default: all.

        Raises:
            UsageError: it cannot be written.
        """
        with atomically(path) as file:
            for row in self if rows is None else rows:
                line = json.dumps(_record(row, self._adds), ensure_ascii=False)
                file.write(f"{line}\n")


def is_failed(entry: Entry) -> bool:
    """Tell whether a row failed."""
    if entry.failure is not None:
        return True
    return entry.output is not None and bool(Addition.model_validate_json(entry.output).problem)


def generated_entry(entry: Entry) -> tuple[Generated, Addition | None]:
    """Read the result of one row, with what was added to it."""
    key = entry.id or f"line-{entry.line}"
    if entry.problem is not None or entry.input is None:
        return Generated(entry.line, key, None, entry.problem or "not read"), None
    sample = Sample.model_validate_json(entry.input)
    if entry.output is None:
        return Generated(entry.line, key, sample, entry.failure or "not requested yet"), None
    addition = Addition.model_validate_json(entry.output)
    if addition.fields:
        sample = Sample.model_validate(native.write(sample) | addition.fields)
    return Generated(entry.line, key, sample, addition.problem), addition


def _rows(store: Store) -> Iterator[tuple[Generated, Addition | None]]:
    """Yield a run's rows in input order, with what was added to each, in constant memory."""
    return map(generated_entry, store.entries())


def _record(row: Generated, adds: str) -> dict[str, Any]:
    if row.sample is None:
        return {"id": row.id, "line": row.line, "problem": row.problem}
    fields = native.write(row.sample)
    if row.problem is None:
        return fields
    return {"id": row.id, "problem": row.problem} | fields | {"problem": row.problem, adds: None}


def summarise(
    store: Store, about: Mapping[str, Any], prices: Mapping[str, Price] | None
) -> dict[str, Any]:
    """Sum up a run, and write that into its directory."""
    counts: Counter[str] = Counter()
    rows: Counter[str] = Counter(completed=0, unchanged=0, failed=0, unread=0)
    problems: list[dict[str, Any]] = []
    account = CostSummary(store.usage_records(), prices)
    for row, addition in _rows(store):
        if addition is not None:
            counts.update(addition.counts)
            account.add(addition.expenses)
        if row.problem is not None:
            rows["failed" if row.sample else "unread"] += 1
            if len(problems) < PROBLEMS_LISTED:
                problems.append({"line": row.line, "id": row.id, "problem": row.problem})
        else:
            rows["completed"] += 1
    rows[UNCHANGED] = counts.pop(UNCHANGED, 0)
    rows["completed"] -= rows[UNCHANGED]
    result = {**about, "rows": dict(rows), "counts": dict(counts), "problems": problems}
    if account:
        result["cost"] = account.result()
    adaptations = store.meta("adaptations")
    if adaptations:
        result["adaptations"] = adaptations
    if store.directory is not None:
        write_json(store.directory / SUMMARY, result)
    return result


COUNTS = {
    "cut_off": "cut off at the limit of tokens",
    "empty": "empty",
    "ties": "answers that tie both responses",
    "unread_choice": "answers that can't be read",
    "rejected": "listed by the model but not in the instruction: left out",
    "duplicates": "listed again: left out",
    "undecided_critiques": "leave a constraint undecided",
}
"""Counts that a run which makes rows may have."""


def view(summary: Mapping[str, Any]) -> Text:
    """Lay out a summary for a terminal."""
    from rich.text import Text

    rows, counts = summary["rows"], summary["counts"]
    text = Text()
    text.append(f"\n  {amount(sum(rows.values()), 'row')}: ")
    text.append(f"{rows['completed']:,} completed", style="green")
    if rows["unchanged"]:
        text.append(f", {rows['unchanged']:,} unchanged")
    if rows["failed"]:
        text.append(", ")
        text.append(f"{rows['failed']:,} failed", style="bold red")
    if rows["unread"]:
        text.append(", ")
        text.append(f"{rows['unread']:,} could not be read", style="bold red")
    if "columns" in summary:
        text.append(f"\n  {summary['columns']}", style="dim")
    for line, style in _counted(counts):
        text.append(f"\n  {line}", style=style)
    if "cost" in summary:
        text.append(f"\n  {cost_line(summary['cost'])}")
    for line in summary.get("adaptations", ()):
        text.append(f"\n  sent differently than requested: {line}", style="yellow")
    return text


def _counted(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield a line for each count, and its style."""
    for name in ("constraint", "critique"):
        if f"{name}s" in counts:
            yield amount(counts[f"{name}s"], name), ""
    for name, meaning in COUNTS.items():
        if counts.get(name):
            yield f"{counts[name]:,} {meaning}", "yellow"
