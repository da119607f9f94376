"""Sentences as users mean them, in the narrowest and in the widest reading.

A stop ends a sentence where no reader would differ. After an abbreviation, a quotation, an ellipsis
or an unknown short word it may end one. Benchmarks' own counts are another matter:
:mod:`heedful.verify.text.sentences` has Punkt's.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.core import scripts
from heedful.verify.text.sentences import built_in
from heedful.verify.text.words import word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

# --- what stands around a stop ------------------------------------------------------------------

_CERTAIN = frozenset("。！？｡।॥؟۔܀܁܂։።፧፨။។៕")
"""Full stops, question and exclamation marks that are nothing else."""
STOPS = frozenset(".!?…‼⁇⁈⁉‽．") | _CERTAIN
_STOPS = "".join(sorted(STOPS))
_CLOSERS = "”’»」』）)]}\"'】》›"
_OPENERS = "\"'“‘„‚«‹»「『《（(【[{¿¡*_~<#@$€£¥"
_GOES_ON = "，、；：,;:.)）」』”’»"
_AROUND = frozenset(_GOES_ON + _OPENERS)
_PICTURE = f"[{scripts.PICTOGRAPHS}\U0001f1e6-\U0001f1ff]"
_THAI = scripts.THAI + scripts.LAO
"""Spaces part their sentences, and their clauses too."""
# A picture behind a stop belongs to the sentence before it, and so does the number of a footnote.
_BEHIND = (
    rf"(?:\[\d{{1,3}}\]|[{re.escape(_CLOSERS)}]|“(?!\w)|\s[»”](?!\w)|[¹²³⁰-⁹]|</?[a-zA-Z]\w{{0,9}}>"
    rf"|\s?{_PICTURE}++)"
)
_STOP = re.compile(
    rf"(?P<mark>[{_STOPS}][{_STOPS}]*+(?:[^\S\n]\.+)*+|(?<=[{_THAI}])\s+(?=[{_THAI}]))"
    rf"(?P<behind>{_BEHIND}*+)(?P<gap>\s*+)"
)
_CONTEXT = 40
"""Characters before a stop; a longer word isn't an abbreviation."""
_AFTER = 16
"""Characters after it."""
# What is between these may be a sentence of its own, or part of the one around it.
_ENCLOSED = re.compile(
    r"“[^“”]*”|„[^„“”]*[“”]|\"[^\"]*\"|«[^«»]*»|»[^«»]*«|‘[^‘]*?’(?!\w)|「[^「」]*」|『[^『』]*』"
    r"|《[^《》]*》|\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]|【[^【】]*】"
    r"|(?<!\w)['`](?=\w)(?:[^']|(?<=\w)'(?=\w))*+'(?!\w)"
)
_MAY_ENCLOSE = re.compile("[“„\"«»‘「『《(（\\[【'`]")
_CLOSING = frozenset(_CLOSERS) | {"“"}


_FOLLOWED = word_set("followed_by_a_name")
"""A name or an example follows these."""
_FINAL_TOO = built_in().abbreviations | word_set("abbreviations_that_may_end")
"""These may end a sentence."""
# --- whether a stop ends a sentence -------------------------------------------------------------


class _Boundary(NamedTuple):
    """A place where a sentence may end, the start of what follows, and whether it surely ends."""

    end: int
    start: int
    sure: bool


class _Stop(NamedTuple):
    """A stop and the text around it."""

    before: str
    mark: str
    closed: bool
    gap: bool
    after: str
    alone: bool


def _boundaries(line: str, *, lowercase: bool) -> Iterator[_Boundary]:
    """Find where sentences of a line may end, but for its own end."""
    begin, size = 0, len(line)
    spans: list[tuple[int, int]] | None = None
    for match in _STOP.finditer(line):
        at, end = match.span()
        if end == size:
            return
        ends: bool | None
        if line[at] in _CERTAIN and end == at + 1 and line[end] not in _AROUND:
            ends = True
        elif line[at].isspace():
            ends = None
        else:
            ends = _ends(_around(line, match, begin), lowercase)
        if ends is False:
            continue
        if ends:
            spans = _enclosed(line) if spans is None else spans
            around = bisect_left(spans, (at,)) - 1
            ends = around < 0 or spans[around][1] - 1 <= at
        yield _Boundary(end - len(match["gap"]), end, ends is True)
        begin = end


def _around(line: str, match: re.Match[str], begin: int) -> _Stop:
    at, end = match.span()
    words = line[max(begin, at - _CONTEXT) : at].split()
    before = "" if not words or line[at - 1].isspace() else words.pop()
    return _Stop(
        before.lstrip(_OPENERS),
        match["mark"],
        closed=not _CLOSING.isdisjoint(re.sub(r"\[\d{1,3}\]", "", match["behind"])),
        gap=bool(match["gap"]),
        after=line[end : end + _AFTER],
        alone=not words,
    )


def _enclosed(line: str) -> list[tuple[int, int]]:
    """Find what is in quotes or brackets; of a line that is all in quotes, nothing."""
    if not _MAY_ENCLOSE.search(line):
        return []
    spans = [match.span() for match in _ENCLOSED.finditer(line)]
    return [span for span in spans if span != (0, len(line))]


_ADDRESS = re.compile(r"//|www\.|@|\w/\w")
_UNSPACED = re.compile(f"[{scripts.HAN}{scripts.KANA}]")
_NEW_SENTENCE = re.compile(r"[^\W\d_a-z](?:[^\W\d_]|\s)|\d{1,3}\s+[^\W\d_a-z]")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
_ROMAN = re.compile("[IVXLC]+")
_VOWEL = re.compile(r"[aeiouyäöüáéíóúàèìòùâêîôûаеёиоуыэюя]|[^\W_a-zа-яё]")
_FEW_DIGITS = 3


@lru_cache(maxsize=1 << 14)
def _ends(  # noqa: PLR0911 - one for each kind of mark
    stop: _Stop,
    lowercase: bool,  # noqa: FBT001 - the cache takes no keywords
) -> bool | None:
    """Say whether a stop ends a sentence; ``None`` where readers may differ."""
    after = stop.after.lstrip(_OPENERS)
    if not after:
        return None
    if after[0] in _GOES_ON:
        return False
    if not _CERTAIN.isdisjoint(stop.mark):
        return None if stop.closed else True
    if after[0] in "-–—−":
        return None
    if re.match(r"#[^\W\d]", stop.after):
        return True
    if re.search(r"\.\s?\.|…", stop.mark):
        return False if after[0].islower() else None
    if not stop.gap:
        return _without_space(stop, after)
    if stop.mark[-1] != ".":
        return _after_mark(stop, after, lowercase=lowercase)
    return _after_dot(stop, after, lowercase=lowercase)


def _without_space(stop: _Stop, after: str) -> bool | None:
    """Judge a stop within a run of signs: a new sentence, a name, an address, a number."""
    if not stop.before or _ADDRESS.search(stop.before) or "@" in after.split(None, 1)[0]:
        return False
    if stop.mark[-1] != ".":
        return True if _UNSPACED.match(after[0]) else None
    begins = len(stop.before) > 1 and _NEW_SENTENCE.match(after)
    return None if begins or _UNSPACED.match(after[0]) else False


def _after_mark(stop: _Stop, after: str, *, lowercase: bool) -> bool | None:
    """Judge an exclamation or question mark before a space."""
    if after[0].islower():
        return False if stop.closed else True if lowercase else None
    return None if stop.closed else True


def _after_dot(  # noqa: PLR0911 - one for each kind of word
    stop: _Stop, after: str, *, lowercase: bool
) -> bool | None:
    """Judge a full stop before a space."""
    word = stop.before.lower()
    if after[0].islower():
        return _before_small(stop, word, lowercase=lowercase)
    if not after[0].isalnum() or stop.closed:
        return None
    numbered = after[0].isdigit() and (word in _FINAL_TOO or word == "no")
    if numbered or word in _FOLLOWED:
        return False
    if word[-1:].isdigit():
        if stop.alone:
            return False  # the number of an item
        return True if len(word) > _FEW_DIGITS else None
    if len(word) == 1 or _ROMAN.fullmatch(stop.before) or _DOTTED.fullmatch(word):
        return False if stop.alone else None
    return None if word in _FINAL_TOO or not _VOWEL.search(word) else True


def _before_small(stop: _Stop, word: str, *, lowercase: bool) -> bool | None:
    """Judge a full stop before a small letter: of an abbreviation, or of a careless writer."""
    if stop.closed or word in _FOLLOWED or word in _FINAL_TOO or _DOTTED.fullmatch(word):
        return False
    return True if lowercase else None


# --- pieces of a text ---------------------------------------------------------------------------

_TERMINATED = re.compile(rf"[{_STOPS}~～](?:{_BEHIND}|[\s*])*+$")
# The number of a list item isn't a sentence, whatever it ends with.
_MARKER = re.compile(
    r"^(?:[•●▪◦‣·⁃○]\s*)?(?:\(?\d{1,3}(?:\.\d{1,3})*[.)](?:\s+|$)|\d{1,3}(?:[、．]|\.(?!\d)\s*)"
    r"|[a-zA-Z]\)\s+)?"
)
_LONGEST_CACHED = 1000
_LETTER = re.compile(r"[^\W_]")


def readings(text: str) -> tuple[list[str], list[str]]:
    """Split a text into the finished sentences that surely end, and into all that may end.

    >>> readings("1. It rains. 下雨了！真的")
    (['It rains.', '下雨了！'], ['It rains.', '下雨了！', '真的'])
    """
    lowercase = text.islower()
    narrow: list[str] = []
    wide: list[str] = []
    for line in map(str.strip, text.split("\n")):
        if line:
            split = _split_line if len(line) <= _LONGEST_CACHED else _split_line.__wrapped__
            finished, all_pieces = split(line, lowercase)
            narrow += finished
            wide += all_pieces
    return narrow, wide


@lru_cache(maxsize=2048)  # the parts of a response are split after it, line by line
def _split_line(
    line: str,
    lowercase: bool,  # noqa: FBT001 - the cache takes no keywords
) -> tuple[list[str], list[str]]:
    places = list(_boundaries(line, lowercase=lowercase))
    pieces = all_pieces = list(_pieces(line, places))
    sure = [each for each in places if each.sure]
    if len(sure) < len(places):
        pieces = list(_pieces(line, sure))
    return list(filter(_TERMINATED.search, pieces)), all_pieces


def _pieces(line: str, places: list[_Boundary]) -> Iterator[str]:
    """Cut a line at its boundaries, without pieces that have no letter or digit."""
    start = 0
    for place in [*places, _Boundary(len(line), len(line), sure=True)]:
        piece = line[start : place.end].strip()
        if piece and (not piece[0].isalpha() or piece[1:2] == ")"):  # most have no marker
            piece = _MARKER.sub("", piece, count=1)
        if _LETTER.search(piece):
            yield piece
        start = place.start
