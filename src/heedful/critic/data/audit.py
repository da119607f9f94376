"""Audits: a sample of critiques or checklists for a person to check, read back as accuracies.

Source: IF-Critic (arXiv 2511.01014) reports its data's quality by such audits: the share of right
judgments, explanations, constraints, and of checklists that are right as a whole.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Recording, Status
from heedful.core.text import amount, spreadsheet_cell
from heedful.data.formats.base import atomically
from heedful.engine.inputs import items, open_data
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.judges.prompts import read_recording

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from heedful.core.nouns import Judgment, Sample
    from heedful.jobs.results import Scored

__all__ = ["KINDS", "MARK", "SUBJECTS", "Kind", "Subject", "draw"]

MARK = "\ufeff"
"""Begins a CSV file, and tells spreadsheets that it is UTF-8."""

Subject = Literal["critiques", "checklists"]
SUBJECTS: tuple[Subject, ...] = ("critiques", "checklists")


@dataclass(frozen=True, slots=True)
class Kind:
    """The questions of an audit.

    Attributes:
        shown: the columns that the person reads.
        each: the questions on every row.
        once: the questions on a sample's first row, about the whole.
    """

    shown: tuple[str, ...]
    each: tuple[str, ...]
    once: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order. ``of`` is the number of the sample's rows."""
        return ("id", "number", "of", *self.shown, *self.each, *self.once, "note")


KINDS: dict[Subject, Kind] = {
    "critiques": Kind(
        shown=("instruction", "response", "constraint", "verdict", "explanation"),
        each=("judgment_correct", "explanation_correct"),
    ),
    "checklists": Kind(
        shown=("instruction", "constraint"),
        each=("constraint_correct",),
        once=("checklist_complete",),
    ),
}


def draw(
    data: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    subject: Subject = "critiques",
    samples: int = 70,
    seed: int = 42,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
) -> dict[str, Any]:
    """Choose samples to audit at random and write them for a person to fill in.

    Critiques that find something unmet and those that find nothing are sampled in proportion to
    their numbers, so that neither is left out by chance and rates need no weights. Within both, a
    hash of the seed and the sample decides: the order of the input does not.
    """
    output = Path(output)
    _check(output, subject, samples)
    ranks, unusable = _strata(_read(data, format), subject, seed)
    if not ranks:
        what = f"there are no {subject} to audit"
        if unusable:
            what += f": {amount(unusable.total(), 'row')}, {unusable.most_common(1)[0][0]}"
        raise InputError(what, where=str(data))
    population = {name: len(members) for name, members in sorted(ranks.items())}
    quotas = _in_proportion(population, samples)
    chosen = {place for name, n in quotas.items() for _, place in sorted(ranks[name])[:n]}
    rows = [
        row
        for place, (sample, judgments) in enumerate(_read(data, format))
        if place in chosen and sample is not None
        for row in _rows(sample, judgments, subject)
    ]
    _write(output, rows, KINDS[subject].columns)
    return {
        "samples": quotas,
        "population": population,
        "rows": len(rows),
        "unusable": unusable.total(),
        "reasons": dict(unusable.most_common()),
    }


def _strata(
    rows: Iterable[tuple[Sample | None, Sequence[Judgment]]], subject: Subject, seed: int
) -> tuple[dict[str, list[tuple[bytes, int]]], Counter[str]]:
    """Rank the rows of each stratum; count those that cannot be audited by the reason."""
    ranks: dict[str, list[tuple[bytes, int]]] = {}
    unusable: Counter[str] = Counter()
    for place, (sample, judgments) in enumerate(rows):
        reason = "cannot be read" if sample is None else _unusable(sample, judgments, subject)
        if sample is None or reason:
            unusable[reason or ""] += 1
            continue
        stratum = _stratum(judgments, subject)
        ranks.setdefault(stratum, []).append((_rank(sample, seed), place))
    return ranks, unusable


def _check(output: Path, subject: str, samples: int) -> None:
    if subject not in SUBJECTS:
        hint = f"use one of {', '.join(SUBJECTS)}"
        raise UsageError(f"no such audit: {subject!r}", hint=hint)
    if samples < 1:
        raise UsageError(f"samples is {samples}", hint="give at least 1")
    if output.suffix not in {".csv", ".jsonl"}:
        raise UsageError("an audit is CSV or JSON lines", where=str(output), hint="name it .csv")
    if output.exists():
        what = "the file exists, and may be filled in already"
        raise UsageError(what, where=str(output), hint="name another, or remove it")


def _read(
    data: str | os.PathLike[str], format_name: str | None
) -> Iterator[tuple[Sample | None, Sequence[Judgment]]]:
    """Yield samples with the judgments on them; ``None`` for a row that cannot be read."""
    if Path(data).is_dir():
        with SavedRun.open(data) as run:
            yield from map(_decided, run.rows(scored_entry))
        return
    for item in items(open_data(data, format=format_name) or ()):
        sample = item.value if item.problem is None else None
        yield sample, () if sample is None else _judgments(sample)


def _decided(row: Scored) -> tuple[Sample | None, Sequence[Judgment]]:
    """Keep of a judged row what was decided; one of which nothing was stays as it is."""
    if row.sample is None or row.critique is None:
        return row.sample, ()
    pairs = zip(row.sample.checklist, row.critique.judgments, strict=False)
    decided = [(constraint, judgment) for constraint, judgment in pairs if judgment.status.decided]
    if not decided:
        return row.sample, row.critique.judgments
    checklist = tuple(constraint for constraint, _ in decided)
    return row.sample.model_copy(update={"checklist": checklist}), [
        judgment for _, judgment in decided
    ]


def _unusable(sample: Sample, judgments: Sequence[Judgment], subject: Subject) -> str | None:
    if not sample.checklist:
        return "no checklist"
    if subject == "checklists":
        return None
    if not judgments:
        return "no final critique"
    if not all(judgment.status.decided for judgment in judgments):
        return "the critique leaves a constraint undecided"
    return None


def _judgments(sample: Sample) -> list[Judgment]:
    if sample.recording is None or not sample.recording.text:
        return []
    recording = Recording(prompt=sample.recording.prompt, text=sample.recording.text)
    return read_recording(recording, sample)


def _stratum(judgments: Sequence[Judgment], subject: Subject) -> str:
    if subject == "checklists":
        return "all"
    unmet = any(judgment.status is Status.UNMET for judgment in judgments)
    return "something unmet" if unmet else "all met"


def _rank(sample: Sample, seed: int) -> bytes:
    content = [seed, sample.id, [turn.content for turn in sample.conversation], sample.response]
    return blake2b(json.dumps(content).encode(), digest_size=12).digest()


def _in_proportion(population: dict[str, int], samples: int) -> dict[str, int]:
    """Share out a number in proportion, what is left by the largest remainders."""
    everything = sum(population.values())
    samples = min(samples, everything)
    quotas = {name: samples * n // everything for name, n in population.items()}
    by_remainder = sorted(population, key=lambda name: -(samples * population[name] % everything))
    for name in by_remainder[: samples - sum(quotas.values())]:
        quotas[name] += 1
    return quotas


def _rows(sample: Sample, judged: Sequence[Judgment], subject: Subject) -> Iterator[dict[str, Any]]:
    """Lay out a sample, a row for each constraint, with its questions open."""
    kind = KINDS[subject]
    judgments = judged if subject == "critiques" else [None] * len(sample.checklist)
    for number, (constraint, judgment) in enumerate(
        zip(sample.checklist, judgments, strict=True), start=1
    ):
        row: dict[str, Any] = {"id": sample.id, "number": number, "of": len(sample.checklist)}
        row |= {"instruction": _instruction(sample), "constraint": constraint.text}
        if judgment is not None:
            row |= {
                "response": sample.response,
                "verdict": judgment.status.value,
                "explanation": judgment.explanation,
            }
        questions = kind.each + (kind.once if number == 1 else ())
        yield {column: row.get(column) for column in (*kind.columns[:-1], "note")} | dict.fromkeys(
            questions
        )


def _instruction(sample: Sample) -> str:
    turns = sample.conversation
    if len(turns) == 1:
        return turns[0].content
    return "\n\n".join(f"[{turn.role}]\n{turn.content}" for turn in turns)


def _write(path: Path, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    with atomically(path) as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            return
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\r\n")
        table.writerow(columns)
        table.writerows([spreadsheet_cell(row[column]) for column in columns] for row in rows)
        file.write(MARK + text.getvalue())
