"""Reading a filled audit back: how often the person found each thing right."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError
from heedful.core.text import amount
from heedful.critic.data.audit import KINDS
from heedful.data.formats.files import records
from heedful.metrics.proportions import wilson

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from heedful.critic.data.audit import Kind, Subject

__all__ = ["NO", "UNSURE", "YES", "Accuracy", "kind_of", "read_back"]

YES = frozenset({"yes", "y", "true", "1", "ok", "是", "对", "✓", "✔"})
NO = frozenset({"no", "n", "false", "0", "否", "错", "✗", "✘", "x"})
UNSURE = frozenset({"unsure", "?", "？", "不确定"})
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A share with Wilson's 95 % interval.

    Attributes:
        right: how many were right.
        of: how many were checked.
    """

    right: int
    of: int

    def result(self) -> dict[str, Any]:
        """Lay it out; the rate is ``None`` where nothing was checked."""
        interval = wilson(self.right, self.of)
        return {
            "right": self.right,
            "of": self.of,
            "accuracy": self.right / self.of if self.of else None,
            "interval": None if interval is None else list(interval),
        }


def read_back(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read an audit that was filled in."""
    path = Path(path)
    rows = list(records(path))
    for record in rows:
        if record.problem is not None:
            raise InputError(record.problem, where=f"{path}:{record.line}")
    subject, kind = kind_of(path, rows[0].data if rows else {})
    _refuse_other_rows(path, [record.data for record in rows])
    answers = _Answers(path)
    wholly: dict[str, bool | None] = {}
    shares: defaultdict[str, Counter[bool | None]] = defaultdict(Counter)
    by_verdict: defaultdict[str, Counter[bool | None]] = defaultdict(Counter)
    for line, row, _ in rows:
        name, number = str(row["id"]), _number(row, "number")
        for question in kind.each + (kind.once if number == 1 else ()):
            answer = answers.read(line, row, question)
            wholly[name] = _both(wholly.get(name, True), answer)
            shares[question][answer] += 1
            if question == "judgment_correct":
                by_verdict[str(row["verdict"])][answer] += 1
    answers.refuse_missing(len(rows))
    result: dict[str, Any] = {
        "subject": subject,
        "samples": len(wholly),
        "questions": {question: _accuracy(shares[question]) for question in kind.each + kind.once},
        "whole": _accuracy(Counter(wholly.values())),
    }
    if by_verdict:
        result["by_verdict"] = {name: _accuracy(n) for name, n in sorted(by_verdict.items())}
    return result


class _Answers:
    """Reads answers, noting those that are missing or neither yes nor no."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: set[int] = set()
        self._problems: list[str] = []

    def read(self, line: int, row: Mapping[str, Any], question: str) -> bool | None:
        """Return the answer, ``None`` for unsure; of no account where it is noted."""
        value = row.get(question)
        said = "" if value is None else str(value).strip().casefold()
        if said in YES | NO:
            return said in YES
        if said in UNSURE:
            return None
        self._rows.add(line)
        what = f"is {str(value)[:20]!r}, not yes, no or unsure" if said else "is empty"
        self._problems.append(f"line {line}: {question} {what}")
        return False

    def refuse_missing(self, rows: int) -> None:
        """Raise if any was noted: half an audit has no accuracy."""
        if not self._problems:
            return
        shown = "; ".join(self._problems[:_SHOWN])
        more = len(self._problems) - _SHOWN
        shown += f"; and {more:,} more" if more > 0 else ""
        raise InputError(
            f"{len(self._rows):,} of {amount(rows, 'row')} not filled in: {shown}",
            where=str(self._path),
            hint="answer each question with yes, no or unsure",
        )


def kind_of(path: Path, row: Mapping[str, Any]) -> tuple[Subject, Kind]:
    """Tell by its columns what an audit asks."""
    for subject, kind in KINDS.items():
        if set(kind.each) <= row.keys():
            missing = sorted({"id", "number", "of", *kind.shown, *kind.once} - row.keys())
            if missing:
                what = f"the column {missing[0]!r} is missing"
                raise InputError(what, where=str(path), hint="keep the columns of the audit")
            return subject, kind
    raise InputError(
        "not an audit that heedful critic audit wrote",
        where=str(path),
        hint="keep its columns, and save it as CSV with commas, in UTF-8",
    )


def _refuse_other_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Raise unless each sample has all of its rows, once."""
    seen: dict[str, list[int]] = {}
    due: dict[str, int] = {}
    for row in rows:
        name = str(row["id"])
        seen.setdefault(name, []).append(_number(row, "number"))
        due[name] = _number(row, "of")
    for name, numbers in seen.items():
        if sorted(numbers) != list(range(1, due[name] + 1)):
            raise InputError(
                f"{name} has the rows {', '.join(map(str, sorted(numbers)))} of {due[name]}",
                where=str(path),
                hint="keep all rows of a sample, each once, or leave the whole sample out",
            )


def _number(row: Mapping[str, Any], column: str) -> int:
    try:
        return int(row[column])
    except (TypeError, ValueError) as error:
        what = f"{column} of {row['id']} is {row[column]!r}, not a number"
        raise InputError(what, hint=f"leave the column {column} as it was") from error


def _both(first: bool | None, second: bool | None) -> bool | None:  # noqa: FBT001 - answers
    """Tell whether both are right; unsure where that depends on an unsure answer."""
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _accuracy(answers: Mapping[bool | None, int]) -> dict[str, Any]:
    right = answers.get(True, 0)
    accuracy = Accuracy(right, right + answers.get(False, 0)).result()
    return {**accuracy, "unsure": answers.get(None, 0)}
