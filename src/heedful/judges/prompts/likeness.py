"""Likeness of a judge's words to a criterion that it should have repeated."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST = 0.5
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


def differ(text: str, criterion: str) -> bool:
    """Tell whether a text says another thing than a criterion that it is much alike to.

    It does so if it negates something else, or has other numbers.
    """
    first, second = _folded(text), _folded(criterion)
    return _negated(first) != _negated(second) or _NUMBER.findall(first) != _NUMBER.findall(second)


def _folded(text: str) -> str:
    return _GROUPED.sub("", unicodedata.normalize("NFKC", text).casefold())


def _negated(text: str) -> Counter[str]:
    return Counter(match["of"] or "" for match in _NEGATION.finditer(text))


class Likeness:
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
        return [at for at, value in enumerate(values) if value == best and best[0] >= LEAST]


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
