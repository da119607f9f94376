"""Our own prompt: plain text, a tagged block for each constraint, its verdict last.

A reply is, for each constraint k::

    <ck>
    explanation
    VERDICT: MET
    </ck>

with ``UNMET`` where it is not met; in Chinese ``结论：满足`` or ``结论：不满足``. Both languages
are always read. A line that starts with ``>`` is a quotation and never part of this structure.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import (
    BuiltIn,
    ReplyPart,
    answer,
    decided,
    judged,
    quote,
    refuse_undecided,
    undecided,
    unquote,
)
from heedful.judges.prompts.fence import NOTHING, Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.judges.prompts.block_layout import Language

_OPEN = re.compile(r"[ \t*]*[<＜]\s*[cC](\d{1,6})\s*[>＞][ \t*]*")
_CLOSE = re.compile(r"[<＜]\s*[/／]\s*[cC](\d{1,6})\s*[>＞][ \t*]*$")
_TAG = re.compile(r"[<＜]\s*[cC]\d{1,6}\s*[>＞]")
_EXACT = re.compile(
    r"<c(\d{1,6})>\n([^<＜\r]*\n)?(VERDICT: MET|VERDICT: UNMET|结论：满足|结论：不满足)\n</c\1>"
    r"[ \t]*(?:\n[ \t\n]*|\Z)"
)
"""A block exactly as the prompt requests it."""
_COLON = re.compile("[:︓﹕：⩴]")
"""Characters that NFKC turns into a colon: every line of the structure but the tags has one."""
_SAYS = re.compile("verdict|constraint", re.IGNORECASE)
# Read from lines in their NFKC form, where full-width punctuation is ASCII's.
_VERDICT = re.compile(
    r"[\s*_#`-]*(?:verdict|结论)[\s*_`]*:[\s*_`\[【]*(\w+(?: \w+)?)[\s*_`\]】.。!]*", re.IGNORECASE
)
_REQUIREMENT = re.compile(r"了?该?要求$")  # 满足该要求 is 满足
_LONGEST_VERDICT = 80
"""Characters; bounds the time that a hostile line can take."""
_NAME = re.compile(r"[\s*_#`-]*(?:constraint|要求)(?: ?\d+)?[\s*_`]*:(.+)", re.IGNORECASE)
_WORDS = {
    "met": Status.MET,
    "satisfied": Status.MET,
    "满足": Status.MET,
    "unmet": Status.UNMET,
    "not met": Status.UNMET,
    "unsatisfied": Status.UNMET,
    "not satisfied": Status.UNMET,
    "不满足": Status.UNMET,
    "未满足": Status.UNMET,
    "没有满足": Status.UNMET,
}
_WRITTEN: dict[Language, dict[Status, str]] = {
    "en": {Status.MET: "VERDICT: MET", Status.UNMET: "VERDICT: UNMET"},
    "zh": {Status.MET: "结论：满足", Status.UNMET: "结论：不满足"},
}
_READ = {line: status for lines in _WRITTEN.values() for status, line in lines.items()}


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a reply; each constraint stands for itself.

    Prose between the blocks, code fences, reasoning, full-width punctuation, emphasis and a
    missing closing tag are read through. A block whose first line repeats a constraint's text
    (``Constraint: …``) belongs to it, whatever its number. With a single constraint, the tags may
    be missing altogether. Several blocks for one constraint: see
    :func:`~heedful.judges.prompts.base.judged`.

    A block's verdict is its last line. A block whose tags do not pair has none. If a line outside
    the blocks states one, no constraint has, since that line may correct any of them.
    """
    exact = _exact(text, len(constraints), shown)
    if exact is not None:
        return exact
    reply = answer(text)
    if not reply.strip():
        return undecided(constraints, "the reply is empty")
    blocks, prose = _blocks(reply)
    stray = next((line for line in prose if _stated(line) and not shown.holds(line)), "")
    if blocks and stray:
        return undecided(constraints, f"a verdict stands outside the blocks: {stray.strip()}")
    if not blocks and len(constraints) == 1:
        lines = reply.split("\n")
        verdict = next((line for line in lines[::-1] if _stated(line)), None)
        if verdict is None:
            return undecided(constraints, "the reply states no verdict")
        blocks = [_Block(1, lines)]
    parts = [block.part(shown) for block in blocks]
    return judged(parts, constraints, shown, "block <c{}>")


def _exact(text: str, count: int, shown: Shown) -> list[Judgment] | None:
    """Read a reply that has exactly the requested form, as most do; ``None`` for any other."""
    judgments = []
    at = 0
    quoted: dict[str, bool] = {}
    for number in range(1, count + 1):
        block = _EXACT.match(text, at)
        if block is None or int(block[1]) != number:
            return None
        verdict = block[3]
        if verdict not in quoted:
            quoted[verdict] = shown.holds(verdict)
        if quoted[verdict] and shown.holds(block[0][block.start(3) - at :]):
            return None
        explanation = (block[2] or "").strip()
        if explanation.isascii():
            if ":" in explanation and _SAYS.search(explanation):
                return None
        elif _COLON.search(explanation):
            return None
        judgments.append(decided(_READ[verdict], explanation))
        at = block.end()
    return judgments if judgments and at == len(text) else None


@dataclass(slots=True)
class _Block:
    """The lines between two tags, and the closing one."""

    number: int
    lines: list[str] = field(default_factory=list)
    closing: str = ""
    sound: bool = True

    def part(self, shown: Shown) -> ReplyPart:
        """Read the block; its verdict and its end tell a quotation, whatever stands before."""
        verdict = next((line for line in self.lines[::-1] if line.strip()), "")
        judgment = self._judgment(shown)
        words = f"{verdict}\n{self.closing}"
        return ReplyPart(words, lambda _: judgment, self.number, self._name())

    def _name(self) -> str | None:
        """Return the constraint's text, where the first line repeats it."""
        first = next((line for line in self.lines if line.strip()), "")
        match = _NAME.fullmatch(_narrow(first))
        return match[1] if match else None

    def _judgment(self, shown: Shown) -> Judgment:
        """Read the verdict; of lines that state different ones, those not quoted count."""
        lines = "\n".join(self.lines).strip().split("\n")
        stated = [(line, word) for line in lines if (word := _stated(line))]
        if len({word for _, word in stated}) > 1:
            stated = [(line, word) for line, word in stated if not shown.holds(line)]
        reason = ""
        if not self.sound:
            reason = f"the tags of block {self.number} do not pair"
        elif not stated:
            reason = f"block {self.number} states no verdict"
        elif not _stated(lines[-1]):
            reason = f"block {self.number} goes on behind its verdict"
        elif stated[-1][1] not in _WORDS:
            reason = f"block {self.number} concludes {stated[-1][1]!r}, which isn't a verdict"
        else:
            explanation = unquote("\n".join(lines[:-1]).strip(), _is_marker)
            return decided(_WORDS[stated[-1][1]], explanation)
        return Judgment(status=Status.UNPARSED, explanation=reason)


def _blocks(reply: str) -> tuple[list[_Block], list[str]]:
    """Divide a reply into blocks and the lines outside them, which are prose."""
    blocks: list[_Block] = []
    prose: list[str] = []
    current: _Block | None = None
    for line in reply.split("\n"):
        if line.startswith(">"):
            if current:
                current.lines.append(line)
            continue
        opening = _OPEN.match(line)
        if opening:
            current = _Block(int(opening[1]))
            blocks.append(current)
            line = line[opening.end() :]  # noqa: PLW2901 - the rest of it is as any line
        closing = _CLOSE.search(line)
        lines = current.lines if current else prose
        lines.append(line[: closing.start()] if closing else line)
        if closing:
            if current is None or current.number != int(closing[1]):
                blocks.append(_Block(int(closing[1]), closing=closing[0], sound=False))
                if current:
                    current.sound = False
            else:
                current.closing = closing[0]
            current = None
    return blocks, prose


def _narrow(line: str) -> str:
    """Write full-width characters as ASCII's and leave out those without width."""
    if line.isascii():
        return line
    narrow = unicodedata.normalize("NFKC", line)
    return "".join(char for char in narrow if unicodedata.category(char) != "Cf")


def _stated(line: str) -> str | None:
    """Return the word that a line states as the verdict, if it states one."""
    narrow = _narrow(line)
    match = _VERDICT.fullmatch(narrow) if len(narrow) <= _LONGEST_VERDICT else None
    return _REQUIREMENT.sub("", match[1].casefold()) if match else None


def _is_marker(line: str) -> bool:
    """Tell whether a line of an explanation would be taken for a part of the structure."""
    return bool(
        _OPEN.match(line) or _CLOSE.search(line) or _stated(line) or _NAME.fullmatch(_narrow(line))
    )


@dataclass(frozen=True, slots=True)
class Plain(BuiltIn):
    """Plain text, parsed tolerantly; in Chinese where the last user message is mostly Chinese."""

    explain: bool = True
    text: str | None = None

    name = "plain"
    parser = 5
    parse = staticmethod(parse)
    response_format = None
    languages = ("en", "zh")
    shows_parts: ClassVar[bool] = True
    """Whether tool calls and images are shown."""

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
        """Write the reply that reads as these judgments, in the language of the constraints."""
        refuse_undecided(judgments)
        language = layout.language_of("\n".join(constraint.text for constraint in constraints))
        blocks = []
        for number, judgment in enumerate(judgments, start=1):
            explanation = quote(judgment.explanation.strip(), _is_marker) if self.explain else ""
            verdict = _WRITTEN[language][judgment.status]
            lines = [f"<c{number}>", explanation, verdict, f"</c{number}>"]
            blocks.append("\n".join(line for line in lines if line))
        return "\n\n".join(blocks)


class Short(Plain):
    """Plain in few words, for a small model that is trained to answer it."""

    __slots__ = ()

    name = "short"


# --- blocks of other replies: checklists, answers about constraints ---

_OPENING = re.compile(r"^[ \t*]*<\s*[cC](\d{1,6})\s*>[ \t*]*", re.MULTILINE)
_CLOSING = re.compile(r"(?:\n|(?<![ \t*]))[ \t*]*+<\s*/\s*[cC]\d{1,6}\s*>[ \t*]*$", re.MULTILINE)


class _TaggedBlock(NamedTuple):
    """What stands behind an opening tag, up to the next one."""

    number: int
    text: str
    ends: list[int]

    @property
    def words(self) -> str:
        """Those of the block itself, from the last opening tag, wherever that stands."""
        inside = f"<c{self.number}>{self.text[: self.ends[0]] if self.ends else self.text}"
        return inside[max(tag.start() for tag in _TAG.finditer(inside)) :]


def tagged(reply: str) -> list[_TaggedBlock]:
    """Read a reply's blocks; prose around them, reasoning and code fences are read through."""
    text = answer(reply)
    openings = list(_OPENING.finditer(text))
    stops = [*(opening.start() for opening in openings[1:]), len(text)]
    blocks = []
    for opening, stop in zip(openings, stops, strict=False):  # without an opening there is one stop
        inside = text[opening.end() : stop]
        ends = [closing.start() for closing in _CLOSING.finditer(inside)]
        blocks.append(_TaggedBlock(int(opening[1]), inside, ends))
    return blocks
