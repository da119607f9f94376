"""Verdicts that may be quotations: those that stand word for word in what was judged.

A judge that answers in a form of its own and quotes a response with forged verdicts leaves a reply
in which only the forged ones can be read. No parser can tell, but what was judged is known.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from heedful.core.nouns import Constraint, Judgment, Recording, Status
from heedful.judges import prompts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Sample, Scoring

__all__ = ["read_recording", "without_quotations"]

QUOTED = "the verdict stands word for word in what was judged, so it may be a quotation"
"""Why a verdict that can be read decides nothing."""

_UNSEEN = (
    r"\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0001-\U000e007f"
)
_WORD = re.compile(rf"[\w{_UNSEEN}]+")
_DISGUISE = re.compile(
    rf"[{_UNSEEN}\u1d2c-\u1d6a\u2070-\u209c\u2100-\u214f\u24b6-\u24e9\uff21-\uff5a"
    r"\U0001d400-\U0001d7ff]"
)
"""Characters that nobody sees, or that NFKC turns into ASCII's letters."""

_OTHER = Constraint(text="-")
_CLUES = {"verdict": "v", "结论": "论", "rubrics_check": "_", "\t": "\t", "\\u": "\\"}
"""Some of these stand in every text that a prompt of ours reads as a verdict: ``\\u`` may write any
letter in JSON. With its rarest character, which is looked for in a tenth of the time."""


class ReplyReader(Protocol):
    """Reads replies: a prompt, or what stands for the one that a file names."""

    @property
    def name(self) -> str:
        """The prompt's name."""

    def parse(self, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
        """Read a reply: one judgment for each constraint."""


@dataclass(frozen=True, slots=True)
class _NamedPrompt:
    """Reads replies as those of the prompt that a recording names."""

    name: str

    def parse(self, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
        return prompts.read(Recording(prompt=self.name, text=text), constraints)


def read_recording(
    recording: Recording, sample: Sample, scoring: Scoring = "strict"
) -> list[Judgment]:
    """Read a recording on a sample, without verdicts that may be quotations.

    Verdicts that are data aren't quoted, and faithful scoring believes what published codes do.
    """
    judgments = prompts.read(recording, sample.checklist, scoring)
    if scoring == "faithful" or recording.text is None or recording.verdicts is not None:
        return judgments
    reader = _NamedPrompt(recording.prompt)
    return without_quotations(judgments, recording.text, sample.checklist, sample, reader)


def without_quotations(
    judgments: list[Judgment],
    reply: str,
    constraints: Sequence[Constraint],
    sample: Sample,
    prompt: ReplyReader,
) -> list[Judgment]:
    """Leave open each verdict that only a passage of the judged texts gives a reply.

    A passage is as long as each two words in a row also stand in a row in the response or the
    conversation, whatever signs are around them. A verdict may be a quotation if a passage by
    itself reads as it, and the reply without such passages doesn't. Takes time linear in the texts,
    as parsing does.
    """
    parse = prompt.parse
    known = prompt.name in prompts.NAMES
    turns = sample.conversation
    texts = [sample.response or "", *[turn.content for turn in turns]]
    texts += [call.shown for turn in turns for call in turn.tool_calls]
    texts += [call.shown for call in sample.tool_calls]
    suspects = [text for text in texts if not known or _has_clue(text)]
    if not suspects or not any(judgment.status.decided for judgment in judgments):
        return judgments
    strict = [*constraints, _OTHER]  # a verdict of the only constraint needs no structure
    structured = len(constraints) == 1 and parse(reply, strict)[0].status.decided
    quoted: set[tuple[int, Status]] = set()
    rest: list[str] = []
    done = 0
    for start, end in _passages(reply, suspects):
        passage = reply[start:end]
        if known and not _has_clue(passage):
            continue
        lines = passage.partition("\n")[2]  # without signs that end another line
        read = [found for text in (passage, lines) if (found := _decided(parse(text, constraints)))]
        if read and structured:
            read = [_decided(parse(text, strict)) for text in (passage, lines)]
        if any(read):
            quoted = quoted.union(*read)
            rest.append(reply[done:start])
            done = end
    if not quoted:
        return judgments
    own = parse("\n".join([*rest, reply[done:]]), constraints)
    return [
        Judgment(status=Status.UNPARSED, explanation=QUOTED)
        if (at, judgment.status) in quoted and own[at].status is not judgment.status
        else judgment
        for at, judgment in enumerate(judgments)
    ]


def _decided(judgments: Sequence[Judgment]) -> set[tuple[int, Status]]:
    return {(at, each.status) for at, each in enumerate(judgments) if each.status.decided}


def _has_clue(text: str) -> bool:
    if not text.isascii() and _DISGUISE.search(text):
        text = _narrow(text)
    lower = text.lower()
    for clue, rarest in _CLUES.items():  # noqa: SIM110 - every row comes by; a generator is slow
        if rarest in lower and clue in lower:
            return True
    return False


def _narrow(text: str) -> str:
    """Write a text as the parsers read it: in lower case, ASCII's letters and no invisible ones."""
    if text.isascii():
        return text.lower()
    narrow = unicodedata.normalize("NFKC", text)
    return "".join(char for char in narrow if unicodedata.category(char) != "Cf").casefold()


def _passages(reply: str, texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find where a reply repeats the texts, with the signs up to the next words."""
    pairs: set[tuple[str, str]] = set()
    for text in texts:
        words = [_narrow(word) for word in _WORD.findall(text)]
        pairs.update(pairwise(words))
    found = list(_WORD.finditer(reply))
    words = [_narrow(match[0]) for match in found]
    at = 0
    while at < len(found) - 1:
        last = at
        while last < len(found) - 1 and (words[last], words[last + 1]) in pairs:
            last += 1
        if last > at:
            before = found[at - 1].end() if at else 0
            after = found[last + 1].start() if last + 1 < len(found) else len(reply)
            yield before, after
        at = last + 1
