"""The rows that a pass over data leaves out."""

from __future__ import annotations

from collections import Counter
from typing import Any

from heedful.jobs.results import PROBLEMS_LISTED


class LeftOut:
    """How many rows were left out, by reason, and the first of them with line and id."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.problems: list[dict[str, Any]] = []

    def __len__(self) -> int:
        """The number of rows."""
        return self.reasons.total()

    def add(self, line: int, name: str | None, problem: str, reason: str = "unreadable") -> None:
        """Count a row and say what is wrong with it."""
        self.reasons[reason] += 1
        if len(self.problems) < PROBLEMS_LISTED:
            self.problems.append({"line": line, "id": name, "problem": problem})
            self.problems.sort(key=lambda problem: problem["line"])

    def first(self) -> str:
        """Say what is wrong with the first row, to end a message."""
        return f"; the first: {self.problems[0]['problem']}" if self.problems else ""

    def update(self, other: LeftOut) -> None:
        """Add the rows that were left out before."""
        self.reasons.update(other.reasons)
        self.problems += other.problems[: PROBLEMS_LISTED - len(self.problems)]
