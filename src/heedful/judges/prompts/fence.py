"""Fences: text to be judged is data, set between lines that it cannot contain.

A fence is ``<<<LABEL mark>>>`` above the text and ``<<</LABEL mark>>>`` below. No text contains the
mark, so none can open or close a fence, whatever it imitates. The mark is made from the first text:
a prompt that is rendered again is the same, so a cache finds it, and prompts on one conversation
begin alike, so a server computes that once. Control tokens of chat templates inside are escaped.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

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
