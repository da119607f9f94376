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
from heedful.core.nouns import Recording
from heedful.core.outputs import atomically
from heedful.core.text import amount, spreadsheet_cell
from heedful.data.formats.files import records
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.judges.prompts import read_recording
from heedful.metrics.proportions import wilson

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Judgment, Sample
    from heedful.jobs.results import Scored

MARK = "\ufeff"
"""Begins a CSV file, and tells spreadsheets that it is UTF-8."""

Subject = Literal["critiques", "checklists"]
SUBJECTS: tuple[Subject, ...] = ("critiques", "checklists")


@dataclass(frozen=True, slots=True)
class Kind:
    """The questions of an audit."""

    shown: tuple[str, ...]  # the columns that the person reads
    each: tuple[str, ...]  # the questions on every row
    once: tuple[str, ...] = ()  # the questions on a sample's first row, about the whole

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

    A hash of the seed and the sample decides: the order of the input does not.
    """
    output = Path(output)
    _check(output, subject, samples)
    unusable: Counter[str] = Counter()
    ranks: list[tuple[bytes, int]] = []
    for place, (sample, judgments) in enumerate(_read(data, format)):
        reason = "cannot be read" if sample is None else _unusable(sample, judgments, subject)
        if sample is None or reason:
            unusable[reason or ""] += 1
        else:
            ranks.append((_rank(sample, seed), place))
    if not ranks:
        what = f"there are no {subject} to audit"
        if unusable:
            what += f": {amount(unusable.total(), 'row')}, {unusable.most_common(1)[0][0]}"
        raise InputError(what, where=str(data))
    chosen = {place for _, place in sorted(ranks)[:samples]}
    rows = [
        row
        for place, (sample, judgments) in enumerate(_read(data, format))
        if place in chosen and sample is not None
        for row in _rows(sample, judgments, subject)
    ]
    _write(output, rows, KINDS[subject].columns)
    return {
        "samples": len(chosen),
        "population": len(ranks),
        "rows": len(rows),
        "unusable": unusable.total(),
        "reasons": dict(unusable.most_common()),
    }


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
    """Keep the decided judgments of a row; a row without any stays as it is."""
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


def _rank(sample: Sample, seed: int) -> bytes:
    content = [seed, sample.id, [turn.content for turn in sample.conversation], sample.response]
    return blake2b(json.dumps(content).encode(), digest_size=12).digest()


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


Answer = Literal["yes", "no", "unsure", ""]
ANSWERS: dict[Answer, frozenset[str]] = {
    "yes": frozenset({"yes", "y", "true", "1", "ok", "是", "对", "✓", "✔"}),
    "no": frozenset({"no", "n", "false", "0", "否", "错", "✗", "✘", "x"}),
    "unsure": frozenset({"unsure", "?", "？", "不确定"}),
}
"""How each answer may be written."""


class Audit:
    """The file of an audit, filled in or not yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        for line, data, problem in records(path):
            if problem is not None:
                raise InputError(problem, where=f"{path}:{line}")
            self.rows.append(dict(data))
        self.subject: Subject
        self.kind: Kind
        self.subject, self.kind = _kind_of(path, self.rows[0] if self.rows else {})

    def questions(self, at: int) -> tuple[str, ...]:
        """Return the questions on a row."""
        first = str(self.rows[at].get("number")) == "1"
        return self.kind.each + (self.kind.once if first else ())

    def answer(self, at: int, question: str) -> Answer:
        """Return the answer to a question; empty where there is none that can be read."""
        value = self.rows[at].get(question)
        text = "" if value is None else str(value).strip().casefold()
        return next((answer for answer, words in ANSWERS.items() if text in words), "")

    def measures(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Compute the accuracy by question, and that of the judgments by verdict."""
        answers: dict[str, Counter[str]] = {name: Counter() for name in self.kind.each}
        verdicts: dict[str, Counter[str]] = {}
        for at, row in enumerate(self.rows):
            for question in self.questions(at):
                answer = self.answer(at, question)
                answers.setdefault(question, Counter())[answer] += 1
                if question == "judgment_correct":
                    verdicts.setdefault(str(row["verdict"]), Counter())[answer] += 1
        return (
            {name: accuracy(counts) for name, counts in answers.items()},
            {name: accuracy(counts) for name, counts in sorted(verdicts.items())},
        )


def accuracy(answers: Mapping[str, int]) -> dict[str, Any]:
    """Compute the share that is right of what was answered with yes or no, with its interval."""
    right, checked = answers.get("yes", 0), answers.get("yes", 0) + answers.get("no", 0)
    interval = wilson(right, checked)
    return {
        "right": right,
        "of": checked,
        "accuracy": right / checked if checked else None,
        "interval": None if interval is None else list(interval),
        "unsure": answers.get("unsure", 0),
    }


def _kind_of(path: Path, row: Mapping[str, Any]) -> tuple[Subject, Kind]:
    """Detect the kind of an audit by its columns."""
    for subject, kind in KINDS.items():
        if set(kind.each) <= row.keys():
            missing = sorted({"id", "number", "of", *kind.shown, *kind.once} - row.keys())
            if missing:
                what = f"the column {missing[0]!r} is missing"
                raise InputError(what, where=str(path), hint="keep the columns of the audit")
            return subject, kind
    raise InputError(
        "not an audit that heedful wrote",
        where=str(path),
        hint="keep its columns, and save it as CSV with commas, in UTF-8",
    )
