"""SysBench's recorded verdicts: 是 met, 否 unmet, each under its criterion's number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.judges.prompts.base import undecided

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NUMBER = re.compile(r"\s*(\d+)")
_VERDICTS = {"是": Status.MET, "否": Status.UNMET}


def parse(
    verdicts: Sequence[Mapping[str, Any]], constraints: Sequence[Constraint]
) -> list[Judgment]:
    """Read verdicts, matched by the number in ``crit``; without numbers, by their order."""
    matches = [_NUMBER.match(str(verdict.get("crit", ""))) for verdict in verdicts]
    numbers = [int(match[1]) for match in matches if match]
    if len(numbers) == len(verdicts) and len(set(numbers)) == len(numbers):
        numbered = dict(zip(numbers, verdicts, strict=True))
    elif len(verdicts) == len(constraints) and not numbers:
        numbered = dict(enumerate(verdicts, start=1))
    else:
        reason = f"the numbers of {len(verdicts)} verdicts do not say which criterion each is for"
        return undecided(constraints, reason)
    return [_judgment(numbered.get(number), number) for number in range(1, len(constraints) + 1)]


def _judgment(verdict: Mapping[str, Any] | None, number: int) -> Judgment:
    if verdict is None:
        return Judgment(status=Status.UNPARSED, explanation=f"no verdict on criterion {number}")
    word = str(verdict.get("v")).strip()
    status = _VERDICTS.get(word)
    if status is None:
        return Judgment(status=Status.UNPARSED, explanation=f"the verdict is {word!r}")
    return Judgment(status=status)
