r"""CFBench's reply: ``criterion<TAB>0|1`` for each criterion, in order, a blank line between.

Source: the judge's prompt and parser in CFBench's public code (arXiv 2408.01122, appendix).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.core.nouns import Constraint, Judgment, Message, Sample, Status
from heedful.core.text import amount, unix_lines
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import readings, refuse_undecided, undecided
from heedful.judges.prompts.quotation import NOTHING, QUOTED, Shown
from heedful.judges.prompts.template import shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARSER = 4
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
    as many lines as criteria, each ending in a tab and 0 or 1, and each nearest to the criterion
    in its place. Judges trim spaces, change quotation marks, drop a full stop; leaving such rows
    out is not neutral, because the published fallback already hides what they hold.

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
    likeness = _Likeness(criteria)
    nearest = [likeness.nearest(line.head) for line in lines]
    for own, (line, places) in enumerate(zip(lines, nearest, strict=True)):
        if own not in places:
            other = f" (it is nearer to criterion {places[0] + 1})" if places else ""
            return f"line {own + 1} does not repeat its criterion{other}"
        if _differ(_unnumbered(line.head, criteria[own], own + 1), criteria[own]):
            return f"line {own + 1} differs from its criterion in a negation or a number"
        if _may_end_in_its_criterion(line, likeness, own):
            return f"line {own + 1} leaves open whether it ends in a verdict or in its criterion"
        # Criteria that cannot be told apart need one verdict: nobody knows which line is whose.
        if len({lines[place].value for place in places}) > 1:
            return f"line {own + 1} repeats criteria that are alike, and their verdicts differ"
    return [line.value for line in lines]


def _unnumbered(head: str, criterion: str, number: int) -> str:
    """Leave out the number of a line, where the criterion has none."""
    own = re.match(rf"\s*{number}(?:[.)](?!\d)|[、．:：）])", head)
    return head[own.end() :] if own and not re.match(r"\s*\d", criterion) else head


def _may_end_in_its_criterion(line: _Line, likeness: _Likeness, own: int) -> bool:
    """Tell whether the digit may be the criterion's own ("the sum is 1"), or a second verdict."""
    likes = likeness.to(line.head, own)
    before, second = _divided(line.head)
    return likeness.to(f"{line.head}\t{int(line.value)}", own) >= likes or (
        second is not None and likeness.to(before, own) >= likes
    )


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


_LEAST = 0.5
"""Of two texts of which one repeats the other; below it, it is another text."""


_NEGATION = re.compile(
    r"(?:[不没無无非未勿莫别]|(?<![^\W_])(?:not|no|none|never|neither|nor|without|cannot)(?![^\W_])"
    r"|n['’‘`´]?t(?![^\W_])(?<=[odsern]n['’‘`´]t))[\W_]*(?P<of>[a-z]+|\w)?"
)
"""A negation and what it negates."""
_NUMBER = re.compile(
    r"\d+(?:\.\d+)?|[零一二两三四五六七八九十百千万]{2,9}|[零二两三四五六七八九十百千万]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice)\b"
)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3})")


def _differ(text: str, criterion: str) -> bool:
    """Tell whether a text negates or counts otherwise than a criterion that it resembles.

    It does so if it negates something else, or has other numbers.
    """
    first, second = _folded(text), _folded(criterion)
    return _negated(first) != _negated(second) or _NUMBER.findall(first) != _NUMBER.findall(second)


def _folded(text: str) -> str:
    return _GROUPED.sub("", unicodedata.normalize("NFKC", text).casefold())


def _negated(text: str) -> Counter[str]:
    return Counter(match["of"] or "" for match in _NEGATION.finditer(text))


class _Likeness:
    """Compares texts with criteria by the pairs of neighbouring characters that they share.

    Dice's coefficient, in time linear in the texts, so that no reply can make it slow. Letters and
    digits come first; white space, punctuation, width and case decide only between criteria that
    these leave equal.
    """

    def __init__(self, criteria: Sequence[str]) -> None:
        """Take in the criteria."""
        self._places: dict[str, list[int]] = {}
        for at, criterion in enumerate(criteria):
            self._places.setdefault(criterion.strip(), []).append(at)
        self._criteria = [_pairs(criterion) for criterion in criteria]

    def to(self, text: str, position: int) -> tuple[float, float]:
        """Say how alike a text is to the criterion at a position, from 0 to 1."""
        return _alike(_pairs(text), self._criteria[position])

    def nearest(self, text: str) -> list[int]:
        """Return the positions of the criteria that a text is most alike to; none if to no one."""
        if text.strip() in self._places:  # the usual case; comparing with all is for the rest
            return self._places[text.strip()]
        pairs = _pairs(text)
        values = [_alike(pairs, criterion) for criterion in self._criteria]
        best = max(values, default=(0.0, 0.0))
        return [at for at, value in enumerate(values) if value == best and best[0] >= _LEAST]


_Pairs = tuple[Counter[str], Counter[str]]


def _pairs(text: str) -> _Pairs:
    """Count the pairs of neighbouring characters: of letters and digits alone, and of all."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")
    return _counted(bare), _counted(text.strip())


def _counted(text: str) -> Counter[str]:
    framed = f"\n{text}\n"
    return Counter(framed[at : at + 2] for at in range(len(framed) - 1))


def _alike(first: _Pairs, second: _Pairs) -> tuple[float, float]:
    return _dice(first[0], second[0]), _dice(first[1], second[1])


def _dice(first: Counter[str], second: Counter[str]) -> float:
    return 2 * (first & second).total() / (first.total() + second.total())
