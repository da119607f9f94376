"""Splitting English text into sentences, as Punkt does, with or without Punkt's trained data.

Source of the rules: Kiss and Strunk (2006), *Unsupervised Multilingual Sentence Boundary
Detection*, Computational Linguistics 32, section 4; where the paper leaves open what a token is,
the answers are those of NLTK 3.10. Whether a full stop ends a sentence depends on what is known
of the words around it, and that comes from one of two places
(:func:`splitter`): the trained parameters, where NLTK keeps them, so that sentences are NLTK's; or
heedful's own short word lists, which aim at Punkt's decisions. Nothing is ever downloaded.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core.errors import VerifierError
from heedful.verify.text.words import word_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet

# How a word has been seen: capitalised or not; at a sentence's start, inside one, or unclear. The
# numbers are those of the trained parameters.
UPPER_AT_START, UPPER_INSIDE, UPPER_UNCLEAR = 1 << 1, 1 << 2, 1 << 3
LOWER_AT_START, LOWER_INSIDE, LOWER_UNCLEAR = 1 << 4, 1 << 5, 1 << 6
UPPER = UPPER_AT_START | UPPER_INSIDE | UPPER_UNCLEAR
LOWER = LOWER_AT_START | LOWER_INSIDE | LOWER_UNCLEAR

NUMBER = "##number##"
"""Stands for every number among the words."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is known of a language's words, all in lower case.

    Abbreviations lack their full stop (``dr``, ``u.s``), ``collocations`` stay together over one,
    and ``seen`` gives the sum of the flags above, 0 for a word that has not been seen.
    """

    source: str
    abbreviations: AbstractSet[str]
    collocations: AbstractSet[tuple[str, str]]
    starters: AbstractSet[str]
    seen: Callable[[str], int]


# Marks that may follow a full stop without a space, because they are never part of a word.
_APART = r")\";}\]*:@'({\[‘’“”«»?!"

# A run of marks up to the last that has something after it, or else the whole run: so that no run
# is searched twice, or a text of nothing but full stops would take quadratic time.
_MARK = re.compile(
    rf"[.?!](?:[.?!]*(?=(?P<after>[{_APART}]|\s+(?P<next>\S+)))|[.?!]*+)",
)
_BLANKS = " \t\n\r\x0b\x0c"
_CLOSING = re.compile(r"[\"')\]}‘’“”«»]++(?:\s+|(?=--)|$)", re.MULTILINE)

_SPACED_DOTS = r"\.\s\.\s\."
_TOKEN = re.compile(
    r"-{2,}|\.{2,}|(?:\.\s){2,}\."
    r"|[^\s(\"`{\[:;&#*@)}\],-]"  # what a word may start with, and how it goes on
    rf"(?:[^\s.,{_APART}-]|-(?!-)|\.(?!\.|{_SPACED_DOTS[2:]})"
    rf"|,(?!\s|\Z|[{_APART}]|--|\.\.|{_SPACED_DOTS}))*"
    r"|\S"
)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
_INITIAL = re.compile(r"[^\W\d]\.")
_LONGEST_CACHED_CONTEXT = 80


class _Kind(Enum):
    """Class of a token by itself, without looking at its neighbour."""

    WORD = auto()
    END = auto()
    ABBREVIATION = auto()
    ELLIPSIS = auto()


class Splitter:
    """Splits texts into sentences by what is known of the words."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # The variants of a response have most of their sentences in common.
        self._ends_here_cached = functools.lru_cache(maxsize=1 << 14)(self._ends_here)

    def split(self, text: str) -> list[str]:
        """Split a text into its sentences, without the white space between them."""
        return [text[start:end] for start, end in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Find where the sentences of a text start and end.

        Closing quotes and brackets go to the sentence before them.
        """
        spans = []
        pieces = list(self._pieces(text))
        taken = 0
        for (begin, end), following in zip_longest(pieces, pieces[1:]):
            start = begin + taken
            closing = _CLOSING.match(text, *following) if following else None
            if closing:
                taken = len(closing[0])
                spans.append((start, closing.start() + len(closing[0].rstrip())))
            else:
                taken = 0
                if start < end:
                    spans.append((start, end))
        return spans

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        """Cut a text after each mark that ends a sentence."""
        start = 0
        for end, resume, context in _candidates(text):
            short = len(context) <= _LONGEST_CACHED_CONTEXT
            if self._ends_here_cached(context) if short else self._ends_here(context):
                yield start, end
                start = resume
        yield start, len(text.rstrip())

    def _ends_here(self, context: str) -> bool:
        """Say whether a sentence ends between the words around a mark."""
        tokens = (token[0] for line in context.split("\n") for token in _TOKEN.finditer(line))
        return any(self._ends(token, following) for token, following in pairwise(tokens))

    def _ends(self, token: str, following: str) -> bool:
        """Say whether a token ends a sentence, given the next (sections 4.1 to 4.3)."""
        kind = self._kind(token)
        if not token.endswith("."):
            return kind is _Kind.END
        known = self.parameters
        word = _without_stop(_word(token))
        next_word = _word(following)
        if self._kind(following) is _Kind.END:
            next_word = _without_stop(next_word)
        if (word, next_word) in known.collocations:
            return False
        initial = _INITIAL.fullmatch(token) is not None
        ends = kind is _Kind.END
        if ends and not initial and word != NUMBER:
            return True
        starts = self._starts(following, next_word)
        if kind in {_Kind.ABBREVIATION, _Kind.ELLIPSIS} and not initial:
            listed = following[0].isupper() and next_word in known.starters
            ends = starts is True or listed
        if initial or word == NUMBER:
            # A name follows its initial: J. Bach.
            name = initial and following[0].isupper() and not known.seen(next_word) & LOWER
            if starts is False or (starts is None and name):
                return False
        return ends

    def _kind(self, token: str) -> _Kind:
        if token in {".", "?", "!"}:
            return _Kind.END
        if not token.endswith("."):
            return _Kind.WORD
        if token.endswith(".."):
            return _Kind.WORD if token.strip(".") else _Kind.ELLIPSIS
        stem = token[:-1].lower()
        abbreviations = self.parameters.abbreviations
        if stem in abbreviations or stem.rpartition("-")[2] in abbreviations:
            return _Kind.ABBREVIATION
        return _Kind.END

    def _starts(self, token: str, word: str) -> bool | None:
        """Judge by its case whether a token starts a sentence; ``None`` where that is unclear."""
        if token in {";", ":", ",", ".", "!", "?"}:
            return False
        seen = self.parameters.seen(word)
        if token[0].isupper() and seen & LOWER and not seen & UPPER_INSIDE:
            return True
        if token[0].islower() and (seen & UPPER or not seen & LOWER_AT_START):
            return False
        return None


def _candidates(text: str) -> Iterator[tuple[int, int, str]]:
    """Find the marks that may end a sentence, each with the words around it."""
    held: re.Match[str] | None = None
    begin = last = 0
    blanks = [each for each in _BLANKS if each in text]
    for mark in _MARK.finditer(text):
        if mark["after"] is None:
            continue
        first, at = mark.start(), mark.end() - 1
        blank = max([text.rfind(each, last + 1, at) for each in blanks], default=-1)
        before, begin = begin, blank + 1 if blank >= 0 else begin
        if held and last <= begin:
            yield _candidate(held, text, before)
        if first == begin < at and text[first + 1] in "?!":
            yield first + 1, first + 1, text[first : first + 2]
        held, last = mark, at
    if held:
        yield _candidate(held, text, begin)


def _candidate(mark: re.Match[str], text: str, begin: int) -> tuple[int, int, str]:
    resume = mark.end() if mark["next"] is None else mark.start("next")
    return mark.end(), resume, text[begin : mark.end("after")]


def _word(token: str) -> str:
    lower = token.lower()
    return NUMBER if _NUMBER.fullmatch(lower) else lower


def _without_stop(word: str) -> str:
    return word[:-1] if len(word) > 1 and word.endswith(".") else word


# --- data on English words: Punkt's parameters, or our own lists ----------------------------------


def sentence_rules() -> str:
    """Say what sentences are split by: ``"built in"`` or ``"punkt_tab at <folder>"``."""
    return splitter().parameters.source


@functools.cache
def splitter() -> Splitter:
    """Return the splitter for English, the same one as long as the process runs."""
    return Splitter(punkt() or built_in())


def punkt() -> Parameters | None:
    """Read the trained parameters where NLTK looks for them; ``None`` where there are none."""
    for folder in _places():
        try:
            present = all((folder / name).is_file() for name in _FILES)
        except OSError:  # a folder that may not be looked into
            continue
        if present:
            return _read(folder)
    return None


_FILES = ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab")
_MODEL = "tokenizers/punkt_tab"


def _places() -> Iterator[Path]:
    """List the folders where NLTK looks, in its order."""
    prefix = Path(sys.prefix)
    roots = [Path(each) for each in os.environ.get("NLTK_DATA", "").split(os.pathsep) if each]
    with contextlib.suppress(RuntimeError):  # a user without a home
        roots.append(Path.home() / "nltk_data")
    roots += [prefix / "nltk_data", prefix / "share" / "nltk_data", prefix / "lib" / "nltk_data"]
    shared = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
    for root in (*roots, *(Path(each) / "nltk_data" for each in shared)):
        yield root / _MODEL / "english"


def _read(folder: Path) -> Parameters:
    try:
        lines = {name: (folder / name).read_text(encoding="utf-8").split("\n") for name in _FILES}
        pairs = [line.split("\t") for line in lines["collocations.tab"] if line]
        contexts = [line.split("\t") for line in lines["ortho_context.tab"] if line]
        flags = {word: int(number) for word, number in contexts}
        return Parameters(
            source=f"punkt_tab at {folder}",
            abbreviations=frozenset(filter(None, lines["abbrev_types.txt"])),
            collocations=frozenset((first, second) for first, second in pairs),
            starters=frozenset(filter(None, lines["sent_starters.txt"])),
            seen=lambda word: flags.get(word, 0),
        )
    except (OSError, ValueError) as error:
        raise VerifierError(
            f"Punkt's data cannot be read: {error}",
            where=str(folder),
            hint="install it again with nltk.download('punkt_tab', force=True), or remove it",
        ) from error


# --- our own lists ------------------------------------------------------------------------------


# Words that are more often abbreviations than sentence ends, and are written with a full stop.
_ABBREVIATIONS = word_set("abbreviations") | {
    ". . "
}  # an ellipsis of three spaced dots, less the last

# Words of every kind of text that are capitalised where a sentence starts and nowhere else.
_STARTERS = word_set("sentence_starters")

# Endings of common nouns and adjectives, which also stand capitalised inside of names.
_COMMON_ENDINGS = (
    "tion", "sion", "tions", "ment", "ments", "ance", "ence", "ness", "ity", "ing", "ings",
    "ship", "ism", "ogy", "ive", "ful", "ous", "ical", "ary", "ges", "ors", "ies",
)  # fmt: skip


def _seen(word: str) -> int:
    """Guess how a word is written by what word it is, or by its ending."""
    if word in _STARTERS:
        return UPPER_AT_START | LOWER_INSIDE
    if word.endswith(_COMMON_ENDINGS):
        return UPPER_AT_START | UPPER_INSIDE | LOWER_INSIDE
    return 0


def built_in() -> Parameters:
    """Return heedful's own word lists."""
    return Parameters(
        source="built in",
        abbreviations=_ABBREVIATIONS,
        collocations=frozenset(),
        starters=_STARTERS,
        seen=_seen,
    )
