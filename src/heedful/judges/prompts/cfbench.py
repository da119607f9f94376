r"""CFBench's reply: ``criterion<TAB>0|1`` for each criterion, in order, a blank line between.

Source: the judge's prompt and parser in CFBench's public code (arXiv 2408.01122, appendix).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.text import amount, unix_lines
from heedful.judges.prompts.base import BuiltIn, readings, refuse_undecided, undecided
from heedful.judges.prompts.fence import NOTHING, QUOTED, Shown, letters

if TYPE_CHECKING:
    from collections.abc import Sequence


_TELLING = "不没无非未勿莫别零二两三四五六七八九十百千万"
"""Characters without which a criterion says something else."""
_VERDICTS = {"0": False, "0.0": False, "1": True, "1.0": True}


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a reply strictly: all constraints are decided, or none.

    A reply is as many lines as criteria, each ending in a tab and 0 or 1, and each with the letters
    and digits of the criterion in its place. Judges trim spaces, change quotation marks, drop a
    full stop; leaving such rows out is not neutral, because the published fallback hides what they
    hold.
    """
    criteria = [unix_lines(constraint.text) for constraint in constraints]
    reason = ""
    # The reply as it stands comes first: a criterion may itself begin like reasoning or code.
    for reply in dict.fromkeys((unix_lines(text), *readings(text))):
        lines, rest = _lines(reply)
        problem = _problem(lines, rest, criteria)
        if problem:
            reason = reason or problem
        elif shown.holds(reply):
            return undecided(constraints, QUOTED)
        else:
            return [Judgment(status=Status.MET if met else Status.UNMET) for _, met in lines]
    return undecided(constraints, reason)


def _lines(reply: str) -> tuple[list[tuple[str, bool]], str]:
    """Divide a reply behind each verdict; return also what follows the last one."""
    lines: list[tuple[str, bool]] = []
    pending: list[str] = []
    for line in reply.split("\n"):
        head, tab, value = line.rstrip().rpartition("\t")
        met = _VERDICTS.get(value.strip()) if tab else None
        pending.append(line if met is None else head)
        if met is not None:
            lines.append(("\n".join(pending), met))
            pending = []
    return lines, "".join(pending).strip()


def _problem(lines: Sequence[tuple[str, bool]], rest: str, criteria: Sequence[str]) -> str:
    """Say why a reply can't be read; empty where it can."""
    if rest:
        return f"no tab and 0 or 1 behind {rest[:40]!r}"
    if len(lines) != len(criteria):
        given = amount(len(lines), "verdict")
        return f"{given} for {amount(len(criteria), 'criterion', 'criteria')}"
    for number, ((head, _), criterion) in enumerate(zip(lines, criteria, strict=True), start=1):
        if not _repeats(_unnumbered(head, criterion, number), criterion):
            return f"line {number} does not repeat its criterion"
    return ""


def _repeats(head: str, criterion: str) -> bool:
    """Tell whether a line repeats its criterion, in spite of a Chinese word that it leaves out."""
    if head.strip() == criterion.strip():
        return True
    said, asked = letters(head), letters(criterion)
    left = iter(asked)
    if not said or not all(char in left for char in said):
        return False
    dropped = Counter(asked) - Counter(said)
    meant = any(char.isascii() or char in _TELLING for char in dropped)
    return not meant and dropped.total() * 10 <= len(asked)


def _unnumbered(head: str, criterion: str, number: int) -> str:
    """Leave out the number of a line, where the criterion has none."""
    own = re.match(rf"\s*{number}(?:[.)](?!\d)|[、．:：）])", head)
    return head[own.end() :] if own and not re.match(r"\s*\d", criterion) else head


@dataclass(frozen=True, slots=True)
class CFBench(BuiltIn):
    """CFBench's format: verdicts without explanations, a reference answer where there is one."""

    text: str | None = None

    name = "cfbench"
    parser = 5
    languages = ("zh",)
    explain = False
    response_format = None
    parse = staticmethod(parse)

    def _listed(self, constraints: Sequence[Constraint]) -> str:
        return "\n\n".join(constraint.text for constraint in constraints)

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
        """Write the reply that reads as these verdicts; there is no room for explanations."""
        refuse_undecided(judgments)
        return "\n\n".join(
            f"{constraint.text}\t{int(judgment.status is Status.MET)}"
            for judgment, constraint in zip(judgments, constraints, strict=True)
        )


def declared(text: str, constraints: Sequence[Constraint]) -> dict[str, Any]:
    """Return the scores that the published code computes, and which of its parsers read them."""
    scores, parsing = faithful_scores(text, [constraint.text for constraint in constraints])
    return {"scores": scores, "parsing": parsing}


def faithful_scores(
    text: str, criteria: Sequence[str]
) -> tuple[list[float], Literal["1", "0", "-1"]]:
    r"""Compute the scores that the published code computes, its fallback's quirk included.

    The strict parse takes as many blocks (split at ``"\n\n"``) as there are criteria, each with
    exactly one tab, the criterion word for word before it and 0 or 1 behind it. When it fails,
    lines with exactly one tab count if their value is 1: the fallback drops zeros.

    A value that isn't a number stops the published code with an error; here it is left out.
    """
    blocks = [block.split("\t") for block in text.split("\n\n")]
    values = [_value(block[1]) for block in blocks if len(block) == 2]  # noqa: PLR2004 - one tab
    strict = [value for value in values if value is not None]
    if strict and len(strict) == len(blocks) and [block[0] for block in blocks] == list(criteria):
        return strict, "1"
    lines = [line.split("\t") for line in text.split("\n")]
    ones = [1.0 for line in lines if len(line) == 2 and _value(line[1]) == 1]  # noqa: PLR2004
    return (ones, "0") if ones else ([0.0], "-1")


def _value(word: str) -> float | None:
    """Return 0 or 1, or ``None`` for what is neither."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value in (0, 1) else None
