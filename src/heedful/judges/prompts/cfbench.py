r"""CFBench's reply: ``criterion<TAB>0|1`` for each criterion, in order, a blank line between.

Source: the judge's prompt and parser in CFBench's public code (arXiv 2408.01122, appendix).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.core.nouns import Constraint, Judgment, Message, Sample, Status
from heedful.core.text import amount, unix_lines
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import readings, refuse_undecided, undecided
from heedful.judges.prompts.quotation import NOTHING, QUOTED, Shown, letters
from heedful.judges.prompts.template import shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARSER = 4
_TELLING = "不没无非未勿莫别零二两三四五六七八九十百千万"
"""Characters without which a criterion says something else."""
_VERDICTS = {"0": 0.0, "0.0": 0.0, "1": 1.0, "1.0": 1.0}


@dataclass(frozen=True, slots=True)
class CFBench:
    """CFBench's format: verdicts without explanations, a reference answer where there is one.

    Attributes:
        text: a prompt text of the user's own.
    """

    text: str | None = None

    name = "cfbench"
    explain = False
    response_format = None

    @property
    def version(self) -> str:
        """Of the prompt and the parser."""
        return version(_PARSER, self._template())

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt; see :class:`heedful.judges.prompts.base.JudgePrompt`.

        The criteria stand as the reply must repeat them; what code has counted is a list apart.
        """
        return layout.messages(
            self._template(),
            sample,
            "\n\n".join(constraint.text for constraint in constraints),
            "zh",
            counted=layout.facts(constraints, measurements),
        )

    def parse(
        self, text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING
    ) -> list[Judgment]:
        """Read a reply; see :func:`parse`."""
        return parse(text, constraints, shown)

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
        """Write the reply that reads as these verdicts; there is no room for explanations."""
        refuse_undecided(judgments)
        return "\n\n".join(
            f"{constraint.text}\t{int(judgment.status is Status.MET)}"
            for judgment, constraint in zip(judgments, constraints, strict=True)
        )

    def _template(self) -> str:
        return with_format(self.text or shipped("cfbench.txt"), "cfbench.format.txt")


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a reply strictly: all constraints are decided, or none.

    What the published strict parse accepts is accepted, and every reply that a person can read:
    as many lines as criteria, each ending in a tab and 0 or 1, and each with the letters and digits
    of the criterion in its place. Judges trim spaces, change quotation marks, drop a full stop;
    leaving such rows out is not neutral, because the published fallback hides what they hold.

    A criterion that itself has line ends, blank lines or tabs does no harm, nor do Windows line
    ends, reasoning before the reply or code fences around it.
    """
    criteria = [unix_lines(constraint.text) for constraint in constraints]
    reason = ""
    # The reply as it stands comes first: a criterion may itself begin like reasoning or code.
    for reply in dict.fromkeys((unix_lines(text), *readings(text))):
        read = _values(reply.strip("\n"), criteria)
        if isinstance(read, str):
            reason = reason or read
        elif shown.holds(reply):
            return undecided(constraints, QUOTED)
        else:
            return [_judgment(value) for value in read]
    return undecided(constraints, reason)


def _values(reply: str, criteria: Sequence[str]) -> list[float] | str:
    values = _verbatim(reply, criteria)
    if values and None not in values:
        return [value for value in values if value is not None]
    return _legible(reply, criteria)


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


def _judgment(value: float | None) -> Judgment:
    return Judgment(status=Status.MET if value == 1 else Status.UNMET)


def _verbatim(reply: str, criteria: Sequence[str]) -> list[float | None]:
    """Read a reply that repeats every criterion word for word; empty where one does not."""
    if not criteria:
        return []
    pattern = r"\n\n".join(re.escape(criterion) + r"\t([^\t\n]*)\n?" for criterion in criteria)
    match = re.fullmatch(pattern, reply)
    return [_value(group) for group in match.groups()] if match else []


class _Line(NamedTuple):
    """One criterion as the reply repeats it, and the verdict behind it."""

    head: str
    value: float


def _legible(reply: str, criteria: Sequence[str]) -> list[float] | str:
    """Read a reply whose lines are not quite the criteria, or say why it cannot be read."""
    lines, rest = _lines(reply)
    if (
        len(lines) != len(criteria)
        or rest
        or any(
            _height(line.head) not in (1, _height(criterion))
            for line, criterion in zip(lines, criteria, strict=True)
        )
    ):
        return _malformed(reply, criteria)
    for number, (line, criterion) in enumerate(zip(lines, criteria, strict=True), start=1):
        if not _repeats(_unnumbered(line.head, criterion, number), criterion):
            return f"line {number} does not repeat its criterion"
    return [line.value for line in lines]


def _repeats(head: str, criterion: str) -> bool:
    """Tell whether a line repeats its criterion, in spite of a Chinese word that it leaves out."""
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


def _lines(reply: str) -> tuple[list[_Line], str]:
    """Divide a reply behind each verdict; return also what follows the last one."""
    lines: list[_Line] = []
    pending: list[str] = []
    for line in reply.split("\n"):
        head, value = _divided(line)
        pending.append(head)
        if value is not None:
            lines.append(_Line("\n".join(pending), value))
            pending = []
    return lines, "".join(pending).strip()


def _divided(line: str) -> tuple[str, float | None]:
    """Divide a line at its last tab if 0 or 1 stands behind that."""
    head, tab, value = line.rstrip().rpartition("\t")
    verdict = _VERDICTS.get(value.strip()) if tab else None
    return (line if verdict is None else head.rstrip()), verdict


def _height(text: str) -> int:
    """Count the lines of a text that are not blank."""
    return sum(bool(line.strip()) for line in text.split("\n"))


def _malformed(reply: str, criteria: Sequence[str]) -> str:
    """Say which line is missing or has no verdict."""
    if not reply.strip():
        return "the reply is empty"
    blocks = [block for block in reply.split("\n\n") if block.strip()]
    lines = [line for line in reply.split("\n") if line.strip()]
    parts = lines if len(lines) == len(criteria) else blocks
    if len(parts) != len(criteria):
        given = amount(len(parts), "line")
        return f"{given} for {amount(len(criteria), 'criterion', 'criteria')}"
    for number, part in enumerate(parts, start=1):
        tab, value = part.rpartition("\t")[1:]
        if not tab:
            return f"line {number} has no tab between criterion and verdict"
        if _divided(part)[1] is None:
            return f"line {number} ends in {value.strip()[:40]!r}, not in 0 or 1"
    return "the reply cannot be divided by the criteria"
