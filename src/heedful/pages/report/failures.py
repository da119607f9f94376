"""The sections of a report on what went wrong: hard constraints, disagreements, no verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.pages.report.reading import FEWEST, hardness
from heedful.pages.report.sections import Section, SectionPart
from heedful.reporting.notation import (
    INTERVAL,
    MEASURED,
    cells,
    counted,
    interval,
    percent,
    rate,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.pages.report.reading import RunReading

    Ranked = tuple[str, int, int, int, str, Sequence[float] | None]
    """A constraint, verdicts met, unmet and undecided, what it is known by, its interval."""

LISTED = 20
CUT = 300
"""Characters of a text that a table shows."""


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
