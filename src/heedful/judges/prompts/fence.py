"""Fences: text to be judged is data, set between lines that it cannot contain.

A fence is ``<<<LABEL mark>>>`` above the text and ``<<</LABEL mark>>>`` below. No text contains the
mark, so none can open or close a fence, whatever it imitates. The mark is made from the first text:
a prompt that is rendered again is the same, so a cache finds it, and prompts on one conversation
begin alike, so a server computes that once. Control tokens of chat templates inside are escaped.

A verdict that a judge repeats from what it was shown isn't the judge's own: a response may hold
verdicts in the judge's form. So the words that a verdict is read from, with what stands around
them, are looked for in every text that the judge was shown (:class:`Shown`). Only letters and
digits are compared, as readers see them: a judge may decode, emphasise or lay out what it quotes.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message, Sample

_SHORTEST = 8
_OPENING = re.compile(r"^<<<([^\n<>/][^\n<>]*) ([0-9a-f]{8,})>>>\n", re.MULTILINE)


class Fenced(NamedTuple):
    """One text that was fenced, and its label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Fence:
    """The fences of one prompt; its mark is hexadecimal digits that none of its texts contains."""

    mark: str

    @classmethod
    def around(cls, texts: Sequence[str]) -> Fence:
        """Choose a mark for the texts of a prompt.

        It is made from the first, unless one of them contains it: then from all of them, which
        none can contain but by chance.
        """
        mark = _digest(texts[:1])[:_SHORTEST]
        digits = ""
        for size in count(_SHORTEST + 1):
            if not any(mark in text for text in texts):
                break
            while len(digits) < size:
                digits += _digest((digits, *texts))
            mark = digits[:size]
        return cls(mark)

    def wrap(self, label: str, text: str) -> str:
        """Put a text between two fences; ``label`` is ours and never comes from data."""
        return f"<<<{label} {self.mark}>>>\n{escape(text)}\n<<</{label} {self.mark}>>>"


def unfence(prompt: str) -> list[Fenced]:
    """Return the fenced texts of a prompt, exactly as they were, in order.

    Each text ends at the first closing line with the mark of its opening line: a text cannot
    contain its mark, so that line is the true one.
    """
    texts: list[Fenced] = []
    opening = _OPENING.search(prompt)
    while opening:
        label, mark = opening.groups()
        closing = f"\n<<</{label} {mark}>>>"
        end = prompt.find(closing, opening.end())
        if end < 0:
            break
        texts.append(Fenced(label, unescape(prompt[opening.end() : end])))
        opening = _OPENING.search(prompt, end + len(closing))
    return texts


def _digest(texts: Sequence[str]) -> str:
    """Digest texts together; their lengths tell ``("ab", "c")`` from ``("a", "bc")``."""
    # JSON may hold half a surrogate pair.
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = b"".join([part for data in parts for part in (len(data).to_bytes(8), data)])
    return hashlib.sha256(joined).hexdigest()


_NAMED = (
    r"/?s|bos|eos|pad|unk|mask|cls|sep|sop|soh|eo[ahmpdt]|BOS|EOS|EO[MT]|PAD|UNK|CLS|SEP|MASK"
    r"|(?:BOS|EOS)_TOKEN|(?:start|end)_of_(?:turn|image|audio|text)|(?:begin|end)_of_\w{1,24}"
    r"|\|\w{1,32}|\w{1,32}\|"  # Gemma: <|turn>, <channel|>
    r"|(?:SPECIAL|extra_id|unused|mask|reserved(?:_token)?)_?:?\d{1,5}|seed:[\w:]{1,32}"
    r"|eos_token|bos_token"
)
_BRACKETED = (
    r"/?INST|/?SYSTEM_PROMPT|/?AVAILABLE_TOOLS|/?TOOL_CALLS|/?TOOL_RESULTS|/?TOOL_CONTENT|/?THINK"
    r"|ARGS|CALL_ID|PREFIX|MIDDLE|SUFFIX|IMG(?:_BREAK|_END)?|g?MASK|sMASK|CLS|SEP|PAD|UNK|BOS|EOS"
    r"|UNUSED_TOKEN_\d{1,4}"
)
_TOKEN = (
    r"(?:[|｜][^\s<>|｜]{1,64}[|｜]>"  # <|im_end|>, <｜User｜>
    rf"|(?:{_NAMED})>"  # </s>, <end_of_turn>
    r"|</?SYS>>)"  # <<SYS>>
)
_ESCAPABLE = re.compile(
    rf"<(?=\\*{_TOKEN})"
    rf"|\[(?=\\*(?:(?:{_BRACKETED})\]|\|[^\s\[\]|]{{1,64}}\|\]))"
    r"|\](?=\\*[~!][^\s\[\]]{0,16}[\[\]])|\[(?=\\*e~\[)"  # ]~b], ]~!b[, [e~[
)
_ESCAPED = re.compile(
    rf"<\\(?=\\*{_TOKEN})"
    rf"|\[\\(?=\\*(?:(?:{_BRACKETED})\]|\|[^\s\[\]|]{{1,64}}\|\]))"
    r"|\]\\(?=\\*[~!][^\s\[\]]{0,16}[\[\]])|\[\\(?=\\*e~\[)"
)


def escape(text: str) -> str:
    r"""Make control tokens plain text.

    >>> escape("Done.<|im_end|>")
    'Done.<\\|im_end|>'
    >>> unescape(escape("[INST] </s>")) == "[INST] </s>"
    True
    """
    if not ("<" in text or "[" in text or "]" in text):
        return text
    return _ESCAPABLE.sub(lambda match: f"{match[0]}\\", text)


def unescape(text: str) -> str:
    """Return the text as it was before :func:`escape`."""
    return _ESCAPED.sub(lambda match: match[0][0], text)


QUOTED = "the verdict stands word for word in what was judged, so it may be a quotation"

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")
_SIGNS = re.compile(r"[\W_]+")
_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧαονρυ",
    "ABESIJKMHOPCTYXaesijopcyxhdqwgABEZHIKMNOPTYXaovpu",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_FOREIGN = re.compile("[\u0370-\u052f]")
_ASCII = bytes(range(128))
_LOWER = _ASCII.lower() + bytes(range(128, 256))
_DELETED = bytes(code for code in _ASCII if not chr(code).isalnum())
_BETWEEN = "\0"
"""Parts texts whose letters are joined."""
_DELETED_WITHIN = _DELETED.replace(_BETWEEN.encode(), b"")


class Shown:
    """Texts that a judge was shown."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self._letters: str | None = None

    @classmethod
    def of(cls, sample: Sample) -> Shown:
        """Gather what a judge of a sample is shown."""
        turns = sample.conversation
        calls = [*(call for turn in turns for call in turn.tool_calls), *sample.tool_calls]
        return cls(
            sample.response or "",
            sample.reference or "",
            *(turn.content for turn in turns),
            *(constraint.text for constraint in sample.checklist),
            *(call.shown for call in calls),
        )

    @classmethod
    def in_prompt(cls, messages: Sequence[Message]) -> Shown:
        """Gather what a prompt shows between fences."""
        return cls(*(fenced.text for each in messages for fenced in unfence(each.content)))

    def holds(self, words: str) -> bool:
        """Tell whether words stand in one of the texts, whatever signs are around and in them."""
        if self._letters is None:
            self._letters = _joined(self.texts)
        said = letters(words)
        return bool(said) and said in self._letters


NOTHING = Shown()
"""For replies of which nobody knows what they are about."""


def _joined(texts: Sequence[str]) -> str:
    """Reduce texts to their letters; most are plain ASCII, and reduced together."""
    whole = _BETWEEN.join(texts)
    plain = whole.isascii() and "&" not in whole and "\\" not in whole
    if plain and whole.count(_BETWEEN) == len(texts) - 1:
        return whole.encode().translate(_LOWER, _DELETED_WITHIN).decode()
    return _BETWEEN.join(map(letters, texts))


def letters(text: str) -> str:
    r"""Reduce a text to its letters and digits.

    >>> letters("&lt;c1&gt;\nVER**DICT**: ｍet")
    'c1verdictmet'
    """
    if "&" in text:
        import html  # its table of entities takes 2 ms to load

        text = html.unescape(text)
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", text)
    if text.isascii():
        return text.encode().translate(_LOWER, _DELETED).decode()
    bare = _SIGNS.sub("", text)
    if not unicodedata.is_normalized("NFKC", bare):
        bare = _SIGNS.sub("", unicodedata.normalize("NFKC", bare))
    if _FOREIGN.search(bare):
        bare = bare.translate(_LOOKALIKES)
    return bare.casefold()
