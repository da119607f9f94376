"""Find the words of a constraint in the instruction that they were copied from.

Words are looked for as they are; then with all white space alike; then with width, case, quotes
and white space beside Chinese characters alike, which models correct of their own accord. The
result is always the stretch of the instruction itself, never the copy.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from heedful.verify.compiler.numerals import number_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_QUOTES = str.maketrans("“”„‟«»「」『』‘’‚‛", '""""""""""' + "''''")
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|(?<!\w)[‘'][^’']*[’'](?!\w)")
_AROUND = " \"'*`"
"""Characters that models put around a quotation."""

_SPACED_SCRIPTS_END = 0x590
"""Latin, Greek, Cyrillic and Armenian, which set spaces between words, lie below."""


class Place(NamedTuple):
    """Where a stretch of text stands: the turn, and its first and last character + 1 there."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text with some differences of spelling taken away."""

    text: str
    origin: Sequence[int]

    def find(self, words: str, begin: int = 0) -> tuple[int, int] | None:
        """Return where words stand in the text as it was, at a place or behind it.

        Stretches that begin or end within a word do not count: "use 10" is not in "use 100".
        """
        at = self.text.find(words, bisect_left(self.origin, begin))
        while at >= 0:
            end = at + len(words)
            if not _within_word(self.text, at) and not _within_word(self.text, end):
                return self.origin[at], self.origin[end - 1] + 1
            at = self.text.find(words, at + 1)
        return None


class Instruction:
    """The turns in which constraints may stand."""

    def __init__(self, turns: Sequence[str]) -> None:
        """Prepare to find words."""
        self.turns = turns
        self._readings: dict[tuple[Callable[[str], _Reading], int], _Reading] = {}

    def find(self, words: str, after: Place | None = None) -> Place | None:
        """Find words."""
        if not any(character.isalnum() for character in words):
            return None
        for read in (_as_it_is, _spaces_alike, _spelling_alike):
            wanted = read(words).text.strip(_AROUND if read is _spelling_alike else None)
            if not wanted:
                continue
            if after is not None:
                place = self._search(read, wanted, after.turn, after.end)
                if place:
                    return place
            place = self._search(read, wanted)
            if place:
                return place
        return None

    def text(self, place: Place) -> str:
        """Return the text at a place."""
        return self.turns[place.turn][place.start : place.end]

    def _search(
        self, read: Callable[[str], _Reading], wanted: str, turn: int = 0, begin: int = 0
    ) -> Place | None:
        for number in range(turn, len(self.turns)):
            span = self._reading(read, number).find(wanted, begin if number == turn else 0)
            if span:
                return Place(number, *span)
        return None

    def _reading(self, read: Callable[[str], _Reading], turn: int) -> _Reading:
        """Read a turn once, and only in the ways that are needed."""
        if (read, turn) not in self._readings:
            self._readings[read, turn] = read(self.turns[turn])
        return self._readings[read, turn]


def invents(question: str, turns: Sequence[str]) -> bool:
    """Tell whether a question has a number or quoted words that no turn has.

    Numbers count by value, in digits and in words. One is left out: "a" and "one" change places.
    """
    instruction = "\n".join(turns)
    spelled = _spelling_alike(instruction).text
    quoted = (_spelling_alike(match[0][1:-1]).text.strip() for match in _QUOTED.finditer(question))
    if any(words not in spelled for words in quoted):
        return True
    return not _numbers(_QUOTED.sub(" ", question)) - {1} <= _numbers(instruction)


def _numbers(text: str) -> set[int]:
    form = unicodedata.normalize("NFKC", text).casefold()
    numbers, at = set(), 0
    while at < len(form):
        number = None if at and _within_word(form, at) else number_at(form, at)
        if number is not None:
            numbers.add(number[0])
        at = max(at + 1, number[1] if number else 0)
    return numbers


def _within_word(text: str, at: int) -> bool:
    """Tell whether a place parts a word or a number of a script with spaces between words."""
    if not 0 < at < len(text):
        return False
    beside = text[at - 1 : at + 1]
    return beside.isalnum() and all(ord(character) < _SPACED_SCRIPTS_END for character in beside)


def _as_it_is(text: str) -> _Reading:
    return _Reading(text, range(len(text)))


def _spaces_alike(text: str) -> _Reading:
    return _gathered(text, lambda character: character)


def _spelling_alike(text: str) -> _Reading:
    reading = _gathered(text, _plain)
    # Judged by what is written: a full-width colon is wide, the plain one it is read as is not.
    wide = [unicodedata.east_asian_width(text[place]) in "WF" for place in reading.origin]
    places = [
        place
        for place, character in enumerate(reading.text)
        if character != " " or not any(wide[max(place - 1, 0) : place + 2])
    ]
    return _Reading(
        "".join(reading.text[place] for place in places),
        [reading.origin[place] for place in places],
    )


def _gathered(text: str, spell: Callable[[str], str]) -> _Reading:
    """Respell each character, and make one space of each stretch of white space."""
    characters: list[str] = []
    origin: list[int] = []
    for place, written in enumerate(text):
        for character in " " if written.isspace() else spell(written):
            if character == " " and characters[-1:] == [" "]:
                continue
            characters.append(character)
            origin.append(place)
    return _Reading("".join(characters), origin)


def _plain(character: str) -> str:
    """Spell a character in its plain width and in lower case; what has no width goes."""
    if character.isascii():
        return character.lower()
    if unicodedata.category(character) == "Cf":
        return ""
    return unicodedata.normalize("NFKC", character.translate(_QUOTES)).casefold()
