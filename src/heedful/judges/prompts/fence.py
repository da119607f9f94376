"""Fences: text to be judged is data, set between lines that it cannot contain.

A fence is ``<<<LABEL mark>>>`` above the text and ``<<</LABEL mark>>>`` below. No text contains the
mark, so none can open or close a fence, whatever it imitates. The same texts always get the same
mark: a prompt that is rendered again is the same prompt, and a cache finds it. Prompts name their
mark before anything else, so it is made from the text that comes first: prompts that share it, such
as those of several responses to one conversation, begin alike, and a server computes that once.

Control tokens of chat templates inside are escaped (:mod:`heedful.judges.prompts.control_tokens`).

A fence says where text ends. It does not keep a judge from believing what stands inside; the
prompts ask for that.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from heedful.judges.prompts.control_tokens import escape, unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Fence", "unfence"]

_SHORTEST = 8
_OPENING = re.compile(r"^<<<([^\n<>/][^\n<>]*) ([0-9a-f]{8,})>>>\n", re.MULTILINE)


class Fenced(NamedTuple):
    """One text that was fenced, and its label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Fence:
    """The fences of one prompt.

    Attributes:
        mark: hexadecimal digits that none of the prompt's texts contains.
    """

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
