"""Whether a stop ends a sentence: surely, perhaps, or not at all.

It does or doesn't where no reader would differ. After an abbreviation, a quotation, an ellipsis or
an unknown short word it may end the sentence, and so may a stop of a script whose rules are not
known here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.core import scripts
from heedful.verify.text.abbreviations import (
    BEFORE_NUMBERS,
    COMPANIES,
    FINAL_TOO,
    FINAL_VERBS,
    FUNCTION_WORDS,
    GOING_ON,
    NAMES_WITH_MARKS,
    TITLES,
    WORDS_TOO,
    is_foreign,
)
from heedful.verify.text.english import built_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_CERTAIN = frozenset("。！？｡।॥؟۔܀܁܂։።፧፨။។៕")
"""Full stops, question and exclamation marks that are nothing else, of all scripts known here."""

_URDU_STOP = "۔"
"""It stands behind initials as well."""
_NOTHING_ELSE = _CERTAIN - {_URDU_STOP}

_POSSIBLE = frozenset(
    "．\u037e\u061d\u061e\u07f9\u0f0d\u0f0e\u0f0f\u0f10\u0f11\u0f12\u104a\u1735\u1736\u1803\u1809"
    "\u1944\u1945\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c3d\u1c3e\u1c3f\u1c7e\u1c7f\u2e3c\ua4ff"
    "\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d\uaa5e\uaa5f\uaaf0"
    "\uaaf1\uabeb\ufe52\ufe56\ufe57"
)
"""The other marks that Unicode's property Sentence_Terminal has in living scripts."""

STOPS = frozenset(".!?…‼⁇⁈⁉‽") | _CERTAIN | _POSSIBLE
_STOPS = "".join(sorted(STOPS))
_CLOSERS = "”’»」』）)]}\"'】》›"
_OPENERS = "\"'“‘„‚«‹»「『《（(【[{¿¡*_~<#@$€£¥"
_GOES_ON = "，、；：,;:.)）」』”’»"
_AROUND = frozenset(_GOES_ON + _OPENERS)
_PICTURE = f"[{scripts.PICTOGRAPHS}\U0001f1e6-\U0001f1ff]"
_WITHOUT_STOPS = scripts.THAI + scripts.LAO
"""Spaces part their sentences, and their clauses too."""
_GREEK, _ARMENIAN = "\u0370-\u03ff\u1f00-\u1fff", "\u0531-\u0587"

# A picture behind a stop belongs to the sentence before it, and so does the number of a footnote.
BEHIND = (
    rf"(?:\[\d{{1,3}}\]|[{re.escape(_CLOSERS)}]|“(?!\w)|\s[»”](?!\w)|[¹²³⁰-⁹]|</?[a-zA-Z]\w{{0,9}}>"
    rf"|\s?{_PICTURE}++)"
)
_RUN, _REST = rf"[{_STOPS}]*+(?:[^\S\n]\.+)*+", rf"(?P<behind>{BEHIND}*+)(?P<gap>\s*+)"
# It begins with a set of characters, to which the engine jumps.
_STOP = re.compile(rf"(?P<mark>[{_STOPS}]{_RUN}){_REST}")
_OTHERS = re.compile(f"[{_GREEK}{_ARMENIAN}{_WITHOUT_STOPS}]")
_STOP_OF_OTHERS = re.compile(
    rf"(?P<mark>[{_STOPS}]{_RUN}|(?<=[{_GREEK}]);|(?<=[{_ARMENIAN}]):"
    rf"|(?<=[{_WITHOUT_STOPS}])\s+(?=[{_WITHOUT_STOPS}])){_REST}"
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
_REFERENCE = re.compile(r"\[\d{1,3}\]")
_CLOSING = frozenset(_CLOSERS) | {"“"}


class Boundary(NamedTuple):
    """A place where a sentence may end.

    Attributes:
        end: the end of the sentence, with the quotes and pictures behind its stop.
        start: the start of what follows.
        sure: whether no reader would differ.
    """

    end: int
    start: int
    sure: bool


class Style(NamedTuple):
    """How a text is written: maybe in another language than English, maybe in one case."""

    foreign: bool
    lowercase: bool
    uppercase: bool


def style_of(text: str) -> Style:
    """Tell how a text is written."""
    if not _AMBIGUOUS.search(text):
        return Style(foreign=False, lowercase=False, uppercase=False)  # which makes no difference
    return Style(is_foreign(text), text.islower(), text.isupper())


_AMBIGUOUS = re.compile("[.!?‼⁇⁈⁉‽]")


def boundaries(line: str, style: Style) -> Iterator[Boundary]:
    """Find where sentences of a line may end, but for its own end."""
    begin, size = 0, len(line)
    spans: list[tuple[int, int]] | None = None
    pattern = _STOP if line.isascii() or not _OTHERS.search(line) else _STOP_OF_OTHERS
    for stop in pattern.finditer(line):
        at, end = stop.span()
        if end == size:
            return
        sure: bool | None
        if line[at] in _NOTHING_ELSE and end == at + 1 and line[end] not in _AROUND:
            sure = True
        elif line[at].isspace():
            sure = False
        else:
            ends = _ends(_context(line, stop, begin), style)
            if ends is False:
                continue
            sure = ends is True
        if sure:
            spans = _enclosed(line) if spans is None else spans
            around = bisect_left(spans, (at,)) - 1
            sure = around < 0 or spans[around][1] - 1 <= at
        yield Boundary(end - len(stop["gap"]), end, sure)
        begin = end


def _context(line: str, stop: re.Match[str], begin: int) -> _Context:
    """Take the text around a stop of a sentence that begins there."""
    at, end = stop.span()
    words = line[max(begin, at - _CONTEXT) : at].split()
    before = "" if not words or line[at - 1].isspace() else words.pop()
    return _Context(
        before.lstrip(_OPENERS),
        stop["mark"],
        closed=not _CLOSING.isdisjoint(_REFERENCE.sub("", stop["behind"])),
        gap=bool(stop["gap"]),
        after=line[end : end + _AFTER],
        first=not begin,
        alone=not words and at - begin < _CONTEXT,
        named=len(words) > 1 and not words[-1].islower() and words[-1][-1] not in ".,",
    )


def _enclosed(line: str) -> list[tuple[int, int]]:
    if not _MAY_ENCLOSE.search(line):
        return []
    spans = [match.span() for match in _ENCLOSED.finditer(line)]
    # Of a line that is all in quotes, all sentences are inside.
    return [span for span in spans if span != (0, len(line))]


class _Context(NamedTuple):
    """A stop and the text around it."""

    before: str
    mark: str
    closed: bool
    gap: bool
    after: str
    first: bool
    alone: bool
    named: bool


@lru_cache(maxsize=1 << 14)
def _ends(  # noqa: PLR0911 - one for each kind of mark
    context: _Context, style: Style
) -> bool | None:
    """Say whether a stop ends a sentence; ``None`` where readers may differ."""
    after = context.after.lstrip(_OPENERS)
    if not after:
        return None
    if not _CERTAIN.isdisjoint(context.mark):
        if after[0] in _GOES_ON:
            return False
        short = context.mark == _URDU_STOP and _few_letters(context.before)
        return None if context.closed or short else True
    if _DASHES.match(after):
        return None
    if _TAG.match(context.after) and context.before.lower() not in FINAL_TOO:
        return True
    if _ELLIPSIS.search(context.mark):
        return _after_ellipsis(context, after)
    if context.mark[-1] in "!?‼⁇⁈⁉‽":
        return _after_mark(context, after, style)
    if context.mark[-1] == ".":
        return _after_dot(context, after, style)
    return False if context.before[-1:].isdigit() and after[0].isdigit() else None


_TAG = re.compile(r"#[^\W\d]")
_DASHES = re.compile("[-–—―−]")
_ELLIPSIS = re.compile(r"\.\s?\.|…")
_UNSPACED = re.compile(f"[{scripts.HAN}{scripts.KANA}]")


def _after_ellipsis(context: _Context, after: str) -> bool | None:
    if after[0].islower() or after[0] in _GOES_ON:
        return False
    return None if context.gap or not after[0].isascii() or after[0].isupper() else False


def _after_mark(context: _Context, after: str, style: Style) -> bool | None:
    """Judge an exclamation or question mark."""
    letter = after[0]
    glued = not context.gap and (not context.before or _ADDRESS.search(context.before))
    if letter in _GOES_ON or glued:
        return False
    if letter.islower():
        if context.closed or not context.gap:
            return False if context.closed else None
        return True if style.lowercase else None
    if context.closed or not letter.isalnum():
        return None
    if not context.gap:
        return True if _UNSPACED.match(letter) or _UNSPACED.match(context.before[-1:]) else None
    name = context.before.lower() in NAMES_WITH_MARKS
    first = re.match(r"\w+", after)
    return None if name or (first and first[0].lower() in COMPANIES) else True


# --- full stops ---------------------------------------------------------------------------------

_NEW_SENTENCE = re.compile(r"[^\W\d_a-z](?:[^\W\d_]|\s)")
_FOOTNOTE = re.compile(r"\d{1,3}(?:[ ,–-]\d{1,3})*\s+[^\W\d_a-z]")
_ADDRESS = re.compile(r"//|www\.|@|\w/\w")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
_STREETS = {"dr", "st"}
_FEW_DIGITS = re.compile(r"\d{1,3}")
_ROMAN = re.compile("[IVXLC]+")
_HANGUL = re.compile(f"[{scripts.HANGUL}]")
_VOWEL = re.compile("[aeiouyäöüáéíóúàèìòùâêîôûаеёиоуыэюя]", re.IGNORECASE)
_SHORT, _SHORT_BEFORE_NUMBERS = 4, 6
_SHORT_CASELESS, _SHORT_MARKED = 2, 3
_WITHOUT_CAPITALS = re.compile(
    f"[{scripts.INDIC}{scripts.ARABIC}]$|^[{scripts.HAN}{scripts.KANA}{scripts.HANGUL}]$"
)


def _after_dot(context: _Context, after: str, style: Style) -> bool | None:
    letter = after[0]
    if letter in _GOES_ON or letter in "!?":
        return False
    if not context.gap:
        return _without_space(context, after)
    if letter.islower():
        return _before_small(context, style)
    short = _WITHOUT_CAPITALS.search(context.before) and _few_letters(context.before)
    if not letter.isalnum() or context.closed or short:
        return None
    if letter.isdigit():
        return _before_number(context, after, style)
    return _before_capital(context, after, style)


def _without_space(context: _Context, after: str) -> bool | None:
    """Judge a full stop within a run of signs: a new sentence, a footnote, a name, a number."""
    before, letter = context.before, after[0]
    if _ADDRESS.search(before) or "@" in after.split(None, 1)[0]:
        return False
    if _UNSPACED.match(letter) or _UNSPACED.match(before[-1:]):
        return None if not before[-1:].isdigit() else False
    if context.closed:
        return None if not letter.islower() else False
    if letter.isdigit():
        ended = before[-1:].isalpha() or before[-1:] in {")", "”", '"'}
        return None if ended and _FOOTNOTE.match(after) else False
    long = len(before) > 1 and not _ROMAN.fullmatch(before)
    return None if long and _NEW_SENTENCE.match(after) else False


def _before_small(context: _Context, style: Style) -> bool | None:
    """Judge a full stop before a small letter: of an abbreviation, or of a careless writer."""
    word = context.before.lower()
    if context.closed:
        return False
    known = word in GOING_ON or word in FINAL_TOO or word in TITLES
    if (known and word not in WORDS_TOO) or _DOTTED.fullmatch(word):
        return False
    return True if style.lowercase and len(word) > 1 and word not in WORDS_TOO else None


_LIST_NUMBER = re.compile(r"\d{1,2}[.)]\s+[^\W\d_a-z]")


def _before_number(context: _Context, after: str, style: Style) -> bool | None:
    word = context.before.lower()
    if word in GOING_ON or word in BEFORE_NUMBERS:
        return False
    if word in FINAL_TOO or word in WORDS_TOO or _DOTTED.fullmatch(word):
        return None
    short = _SHORT_BEFORE_NUMBERS if style.foreign else _SHORT
    if len(word) <= short and word.isdigit():
        return None  # "2024. 5. 3." is a date
    return True if len(word) > short or _LIST_NUMBER.match(after) else None


def _before_capital(  # noqa: PLR0911 - one for each kind of word
    context: _Context, after: str, style: Style
) -> bool | None:
    """Judge a full stop before a capital, or before a letter of a script without capitals."""
    word = context.before.lower()
    before = word if style.uppercase else context.before
    next_word = after.split(None, 1)[0]
    starter = next_word.strip(",'’").lower() in built_in().starters
    if not before:
        return True
    if before[-1].isdigit():
        if context.alone:
            return False if context.first else None
        return True if starter or not _FEW_DIGITS.fullmatch(before) else None
    if (len(before) == 1 and before.isalpha()) or _ROMAN.fullmatch(context.before):
        initial = len(next_word) == len("X.") and next_word.endswith(".")
        return False if context.alone or initial else None
    if word in WORDS_TOO:
        return True if before.islower() and not style.foreign else None
    if word in TITLES:
        street = context.named and word in _STREETS
        titled = before.istitle() or style.uppercase
        return False if titled and not (starter or street) else None
    if word in GOING_ON:
        return None if starter or before.isupper() else False
    if word in FINAL_TOO or _DOTTED.fullmatch(before):
        return False if context.alone else None
    return _after_unknown(context._replace(before=before), starter=starter, style=style)


def _few_letters(word: str) -> bool:
    """Say whether a word of Hindi or Urdu is as short as an initial or as डॉ (Dr) is."""
    last = word.rsplit(".", 1)[-1]
    return sum(map(str.isalpha, last)) <= _SHORT_MARKED and last not in FINAL_VERBS


def _after_unknown(context: _Context, *, starter: bool, style: Style) -> bool | None:
    """Judge the full stop after a word that is on no list, by its shape."""
    before = context.before
    if len(before) > _SHORT or not before.isalpha():
        return True
    if not before.islower() and not before[0].isupper():  # a script without capitals
        if _HANGUL.match(before[-1]):
            return True
        return None if len(before) <= _SHORT_CASELESS else True
    if style.foreign:
        # Abbreviations seldom end in a vowel.
        whole = before.islower() and len(before) > _SHORT // 2 and _VOWEL.match(before[-1])
        plain = before.lower() in FUNCTION_WORDS or context.after[0] in "¿¡"
        return True if whole or plain else None
    if not _VOWEL.search(before):
        return None
    name = before[0].isupper() and len(before) < _SHORT and not (context.alone or starter)
    return None if name else True
