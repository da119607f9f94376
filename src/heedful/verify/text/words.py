"""Counting words in any script: what a word is depends on how its script is written.

Scripts that part words by spaces are counted by them; Chinese and Japanese by the character, as
length limits in these languages are meant (300字); Thai, which has words and no spaces, by a
dictionary (``pip install 'heedful[thai]'``). Lao, Khmer and Burmese are written like Thai, but
for want of a dictionary they are refused rather than counted wrongly.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core import scripts
from heedful.core.errors import VerifierError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CJK = re.compile(f"[々〆〇{scripts.KANA_LETTERS}{scripts.HAN}]")
"""A Chinese character or a kana; not their punctuation, nor Korean, which has spaces."""

THAI = re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59]+")
"""A run of Thai letters, marks and digits."""

_NO_DICTIONARY = re.compile(
    f"(?P<Lao>[{scripts.LAO}])|(?P<Burmese>[{scripts.BURMESE}])|(?P<Khmer>[{scripts.KHMER}])"
)

# A sign between two letters does not end a word (don't, well-known, U.S, AT&T), nor does one
# between two digits (1,000 or 12:30 or 3/4).
_WORD = re.compile(r"\w+(?:(?:['’.·&@\-‐‑]|(?<=\d)[,:/](?=\d))\w+)*")


def count_words(text: str) -> int:
    """Count the words of a text in any script or mixture of scripts.

    - Where spaces part words (Latin, Cyrillic, Arabic, Devanagari, Hangul, …): a run of letters,
      their marks, digits and underscores. Signs inside of it do not part it: ``don't``,
      ``well-known``, ``U.S``, ``3.5`` and ``1,000`` are one word each.
    - Chinese characters and kana: each is one. Their punctuation is not counted.
    - Thai: by PyThaiNLP's dictionary.

    Emoji and punctuation aren't words. IFEval and its family count by rules of their own; see
    :attr:`heedful.verify.Response.words`.

    >>> count_words("It's a well-known fact: 3.5 > 2"), count_words("我有3只cat。")
    (6, 5)
    """
    if text.isascii():
        return _count_spaced(text)
    refused = _NO_DICTIONARY.search(text)
    if refused:
        raise VerifierError(
            f"words of {refused.lastgroup}, which are written without spaces, cannot be counted",
            hint="limit the number of characters or sentences instead",
        )
    characters = len(CJK.findall(text))
    thai = sum(len(thai_words(run)) for run in THAI.findall(text))
    spaced = THAI.sub(" ", CJK.sub(" ", text))
    return characters + thai + _count_spaced(without_marks(spaced))


def _count_spaced(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


class _Unmarked(dict[int, str]):
    """Drops combining marks and joiners, for ``str.translate``; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        # Joiners, the soft hyphen and marks of direction are inside of words, and no letters.
        bare = "" if unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"} else char
        self[code] = bare
        return bare


_UNMARKED = _Unmarked()


def without_marks(text: str) -> str:
    r"""Drop combining marks, which ``\w`` does not match: they cut Hindi words to pieces."""
    return text if text.isascii() else text.translate(_UNMARKED)


# --- Thai ---------------------------------------------------------------------------------------


def thai_words(text: str) -> list[str]:
    """Split a Thai text into words, spaces and punctuation included, by PyThaiNLP's dictionary."""
    split, _ = _thai()
    return split(text)


def thai_sentences(line: str) -> list[str]:
    """Split a line of Thai into sentences, by PyThaiNLP's trained model."""
    _, split = _thai()
    return split(line)


@functools.cache
def _thai() -> tuple[Callable[[str], list[str]], Callable[[str], list[str]]]:
    try:
        import pycrfsuite  # noqa: F401 - PyThaiNLP asks for it only when it splits sentences
        from pythainlp.tokenize import sent_tokenize, word_tokenize
    except ImportError as error:
        raise VerifierError(
            f"Thai is written without spaces, and its dictionary is not installed ({error})",
            hint="pip install 'heedful[thai]'",
        ) from error
    return word_tokenize, sent_tokenize


# --- cutting English into words, as benchmarks and their prompts mean -----------------------------


ASCII_EDGES = f"{string.punctuation} "
"""Characters that IFBench's code strips from words: ASCII marks and spaces, no curly quotes."""

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def bare_words(text: str) -> list[str]:
    """Cut at white space and drop what isn't a letter or digit from both ends of each piece.

    These are words as a reader counts them: ``don't`` and ``well-known`` are one each, and a dash
    that stands alone is none.
    """
    return [word for piece in text.split() if (word := EDGES.sub("", piece))]


@functools.cache
def _word_lists() -> dict[str, tuple[str, ...]]:
    text = Path(__file__).with_name("word_lists.txt").read_text(encoding="utf-8")
    lists = re.findall(r"^(\w+):\n((?: +.*\n)+)", text, re.MULTILINE)
    return {name: tuple(words.split()) for name, words in lists}


def word_list(name: str) -> tuple[str, ...]:
    """Return a list of words of ``word_lists.txt``, in its order."""
    return _word_lists()[name]


def word_set(name: str) -> frozenset[str]:
    """Return the words of such a list."""
    return frozenset(word_list(name))


def without_punctuation(text: str) -> str:
    """Delete the marks of ASCII, wherever they are: ``don't`` becomes ``dont``."""
    return text.translate(_WITHOUT_PUNCTUATION)


UNSPACED = re.compile(f"[{scripts.UNSPACED}]")


def unclosed(sentence: str) -> str:
    """Drop the quotes, brackets and emphasis after a sentence's last mark."""
    return sentence.rstrip("\"'”’»)]}*_ ")


def whole_word(word: str) -> re.Pattern[str]:
    """Make the pattern that finds a word in any case, but no part of a longer word.

    In scripts that do not part words by spaces, such as Chinese, any occurrence is found. An empty
    word is never found.
    """
    if not word:
        return re.compile("(?!)")
    before = "" if UNSPACED.match(word[0]) else r"(?<!\w)"
    after = "" if UNSPACED.match(word[-1]) else r"(?!\w)"
    return re.compile(f"{before}{re.escape(word)}{after}", re.IGNORECASE)


# --- the Penn Treebank's conventions ------------------------------------------------------------

_APART = re.compile(
    r"``|''"
    r"|[][?!;@#$%&*(){}<>\"`«»“”„‘’‒–—―]"  # always a token of its own
    r"|--|\.{2,}"
    r"|[:,](?!\d)"
    # An apostrophe that opens a quotation, as in 'HERE, not a clitic, as in 'S.
    r"|(?<!\w)'(?!(?i:re|ve|ll|m|t|s|d|n)\b)(?=\w)"
)
_OPENING = re.compile(r"^\"|(?<=[ (\[{<`«“„‘])(?:\"|'')")
_CLOSING_APOSTROPHE = re.compile(r"(?<=[^' ])'(?= )")
# In this order: DON'T'S comes apart into DO, N'T and 'S.
_SHORT_CLITIC = re.compile(r"(?<=[^' ])(?='[sSmMdD] )")
_LONG_CLITIC = re.compile(r"(?<=[^' ])(?=(?:'(?:ll|LL|re|RE|ve|VE)|n't|N'T) )")
_FUSED = re.compile(
    r"\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na))\b",
    re.IGNORECASE,
)
_SPACED = r" \g<0> "
_CLOSERS = "])}>\"'»”’ "


def treebank_words(sentences: Sequence[str]) -> list[str]:
    """Cut sentences into tokens by the Penn Treebank's English conventions, as NLTK does.

    Punctuation stands apart and counts as a token, clitics too, and straight double quotes become
    pairs of single ones.

    >>> treebank_words(['"I know," he said.'])
    ['``', 'I', 'know', ',', "''", 'he', 'said', '.']
    """
    apart = []
    for sentence in sentences:
        body, stop, closers = _final_stop(_OPENING.sub("``", sentence))
        apart.append(f"{body} {stop} {closers}")
    text = f" {' '.join(_APART.sub(_SPACED, ' '.join(apart)).split())} "
    for edge in (_CLOSING_APOSTROPHE, _SHORT_CLITIC, _LONG_CLITIC):
        text = edge.sub(_SPACED, text)
    text = _FUSED.sub(lambda match: f" {' '.join(filter(None, match.groups()))} ", text)
    return ["''" if each == '"' else each for each in text.split()]


def _final_stop(sentence: str) -> tuple[str, str, str]:
    """Part the full stop that ends a sentence from what is before and after it."""
    body = sentence.rstrip()
    core = body.rstrip(_CLOSERS)
    if core.endswith(".") and not core.endswith(".."):
        return core[:-1], ".", body[len(core) :]
    return body, "", ""
