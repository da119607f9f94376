"""ProfBench's recorded ratings of one criterion, which begin with "Yes" or "No"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core.nouns import Judgment, Status
from heedful.judges.prompts.base import undecided
from heedful.judges.prompts.quotation import NOTHING, Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint

_FIRST = re.compile(r"[\s*_`\"'(]*(yes|no)\b", re.IGNORECASE)
_STATUSES = {"yes": Status.MET, "no": Status.UNMET}


def parse(text: str, constraints: Sequence[Constraint], _shown: Shown = NOTHING) -> list[Judgment]:
    """Read a rating by its first word, which must be yes or no."""
    word = _FIRST.match(text)
    if word is None:
        return undecided(constraints, f"the rating is {text[:40]!r}, neither yes nor no")
    return _all(_STATUSES[word[1].lower()], text, constraints)


def faithful(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a rating as the published code does: met where it begins with "Yes", else unmet."""
    met = text.strip().startswith("Yes")
    return _all(Status.MET if met else Status.UNMET, text, constraints)


def _all(status: Status, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    return [Judgment(status=status, explanation=text.strip()) for _ in constraints]
