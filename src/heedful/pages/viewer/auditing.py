"""An audit as a person fills it in: read from its file, written back at each answer."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.calibration import DRAW, blank
from heedful.core.errors import InputError, UsageError
from heedful.core.text import spreadsheet_cell
from heedful.critic.data.audit import KINDS, MARK, NO, UNSURE, YES, Accuracy, kind_of
from heedful.data.formats.base import replacing
from heedful.data.formats.files import records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.critic.data.audit import Kind, Subject


ANSWERS = ("yes", "no", "unsure", "")
"""Possible answers to a question; the empty one takes an answer back."""

NOTE_LONGEST = 10_000

_writing = threading.Lock()
"""Two answers at a time must not each write the file without the other."""


class AuditProgress(NamedTuple):
    """How far an audit is, and what it says so far."""

    answered: int  # questions with an answer, unsure ones among them
    questions: int  # all questions
    # for each question the accuracy so far, and how many are unsure
    by_question: dict[str, tuple[dict[str, Any], int]]
    by_verdict: dict[str, tuple[dict[str, Any], int]]  # the same of the judgments, by verdict


class Audit:
    """The file of an audit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        for line, data, problem in records(path):
            if problem is not None:
                raise InputError(problem, where=f"{path}:{line}")
            self.rows.append(dict(data))
        self.subject: Subject
        self.kind: Kind
        self.subject, self.kind = kind_of(path, self.rows[0] if self.rows else {})

    def questions(self, at: int) -> tuple[str, ...]:
        """Return the questions on a row."""
        first = str(self.rows[at].get("number")) == "1"
        return self.kind.each + (self.kind.once if first else ())

    def answer(self, at: int, question: str) -> str:
        """Return the answer to a question: one of :data:`ANSWERS`."""
        value = self.rows[at].get(question)
        text = "" if value is None else str(value).strip().casefold()
        for answer, words in (("yes", YES), ("no", NO), ("unsure", UNSURE)):
            if text in words:
                return answer
        return ""

    def open_row(self, since: int = 0) -> int | None:
        """Return the first row from a place on, then from the start, with a question open."""
        places: list[int] = [*range(since, len(self.rows)), *range(min(since, len(self.rows)))]
        for at in places:
            if not all(self.answer(at, question) for question in self.questions(at)):
                return at
        return None

    def progress(self) -> AuditProgress:
        """Say how far it is. What is unsure counts as answered, and is in no accuracy."""
        answers: dict[str, Counter[str]] = {name: Counter() for name in KINDS[self.subject].each}
        verdicts: dict[str, Counter[str]] = {}
        for at, row in enumerate(self.rows):
            for question in self.questions(at):
                said = self.answer(at, question)
                answers.setdefault(question, Counter())[said] += 1
                if question == "judgment_correct":
                    verdicts.setdefault(str(row["verdict"]), Counter())[said] += 1
        questions = sum(counts.total() for counts in answers.values())
        left = sum(counts[""] for counts in answers.values())
        return AuditProgress(
            questions - left,
            questions,
            {name: _share(counts) for name, counts in answers.items()},
            {name: _share(counts) for name, counts in sorted(verdicts.items())},
        )

    @classmethod
    def put(cls, path: Path, at: int, column: str, value: str) -> Audit:
        """Write an answer or a note into the file; what else was changed there meanwhile stays.

        The file is replaced as a whole once all of it is on the disk.
        """
        with _writing:
            audit = cls(path)
            audit._set(at, column, value)
            try:
                put_in_place(path, audit._text())
            except OSError as error:
                hint = "make it writable, then answer again"
                what = f"cannot be written: {error.strerror}"
                raise UsageError(what, where=str(path), hint=hint) from error
        return audit

    def _set(self, at: int, column: str, value: str) -> None:
        if not 0 <= at < len(self.rows):
            raise UsageError(f"the audit has no row {at + 1}", where=str(self.path))
        if column == "note":
            if len(value) > NOTE_LONGEST:
                raise UsageError(f"the note is longer than {NOTE_LONGEST:,} characters")
            value = value if self.path.suffix == ".jsonl" else spreadsheet_cell(value)
        elif column not in self.questions(at) or value not in ANSWERS:
            raise UsageError(f"{column!r} cannot be answered {value!r}", where=str(self.path))
        self.rows[at][column] = value

    def _text(self) -> str:
        if self.path.suffix == ".jsonl":
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        text = io.StringIO()
        table = csv.DictWriter(text, list(self.rows[0]), lineterminator="\r\n")
        table.writeheader()
        table.writerows(self.rows)
        return MARK + text.getvalue()


def _share(counts: Mapping[str, int]) -> tuple[dict[str, Any], int]:
    """Return the accuracy of what is decided, and how much is unsure."""
    return Accuracy(counts["yes"], counts["yes"] + counts["no"]).result(), counts["unsure"]


def put_in_place(path: Path, text: str) -> None:
    """Put a file in the place of another, on the disk before it is there by name."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


LABELS = {"met": True, "unmet": False, "": None}
"""By what a form says; the empty one takes a label back."""

"""Two labels at a time must not each write the file without the other."""


class LabelFile:
    """The labels beside a run."""

    def __init__(self, run: Path) -> None:
        run = run.resolve()
        self.path = run.with_name(f"{run.name}.labels.jsonl")  # where they are, or would be
        self.rows: dict[str, dict[str, Any]] = {}  # by the sample's id
        for line, data, problem in records(self.path) if self.path.exists() else ():
            if problem is not None or "id" not in data:
                raise InputError(problem or "the row has no id", where=f"{self.path}:{line}")
            self.rows[str(data["id"])] = dict(data)

    @property
    def drawn(self) -> bool:
        """Whether its rows were drawn at random, to which none may be added."""
        return any(DRAW in row for row in self.rows.values())

    def takes(self, sample: Sample) -> bool:
        """Say whether a sample may be labelled."""
        return sample.id in self.rows or not self.drawn

    def labels(self, sample: Sample) -> Sequence[bool | None]:
        """Return a sample's labels, one for each constraint."""
        given = self.rows.get(sample.id, {}).get("labels")
        places = len(sample.checklist)
        return given if isinstance(given, list) and len(given) == places else [None] * places

    def open_ids(self) -> list[str]:
        """Return the ids of the rows with a label missing."""
        return [ident for ident, row in self.rows.items() if None in (row.get("labels") or [None])]

    @classmethod
    def put(cls, run: Path, sample: Sample, number: int, said: str) -> None:
        """Write a label; the file is replaced as a whole once all of it is on the disk."""
        with _writing:
            file = cls(run)
            if said not in LABELS or not 1 <= number <= len(sample.checklist):
                what = f"constraint {number} cannot be labelled {said!r}"
                raise UsageError(what, where=str(file.path))
            if not file.takes(sample):
                what = f"{sample.id!r} is none of the rows that were drawn to be labelled"
                raise UsageError(what, where=str(file.path), hint="move that file away first")
            labels = list(file.labels(sample))
            labels[number - 1] = LABELS[said]
            file.rows[sample.id] = file.rows.get(sample.id) or blank(sample)
            file.rows[sample.id]["labels"] = labels
            text = "".join(
                json.dumps(row, ensure_ascii=False) + "\n"
                for row in file.rows.values()
                if file.drawn or any(label is not None for label in row["labels"])
            )
            try:
                put_in_place(file.path, text)
            except OSError as error:
                what = f"cannot be written: {error.strerror}"
                hint = "make the folder writable, then label again"
                raise UsageError(what, where=str(file.path), hint=hint) from error
