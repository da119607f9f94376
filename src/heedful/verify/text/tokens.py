"""Cutting text into words, in the ways that benchmarks and their prompts mean.

The runs of word characters that IFEval counts are
:attr:`heedful.verify.text.prepared.Response.words`.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from heedful.core import scripts

if TYPE_CHECKING:
    from collections.abc import Sequence

ASCII_EDGES = f"{string.punctuation} "
"""Characters that IFBench's code strips from words: ASCII marks and spaces, no curly quotes."""

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def bare_words(text: str) -> list[str]:
    """Cut at white space and drop what isn't a letter or digit from both ends of each piece.

    These are words as a reader counts them: ``don't`` and ``well-known`` are one each, and a dash
    that stands alone is none.

    >>> bare_words("So: don't — 3.5 (well-known)!")
    ['So', "don't", '3.5', 'well-known']
    """
    return [word for piece in text.split() if (word := EDGES.sub("", piece))]


def word_list(text: str) -> tuple[str, ...]:
    """Read the words that a module lists in a text, for the eye, cut at white space."""
    return tuple(text.split())


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
    tokens = _tokens(" ".join(apart), marks=r" \g<0> ")
    return ["''" if each == '"' else each for each in tokens]


def count_capital_words(sentences: Sequence[str]) -> int:
    """Count the tokens of :func:`treebank_words` that are all in capitals.

    ``DON'T`` is two (``DO``, ``N'T``) and ``WELL-KNOWN`` one. Only tokens with letters matter here,
    so punctuation is dropped.
    """
    text = " ".join(_final_stop(sentence)[0] for sentence in sentences)
    text = " ".join(chunk for chunk in text.split() if not chunk.islower())
    return sum(map(str.isupper, _tokens(text, marks=" ")))


def _tokens(text: str, marks: str) -> list[str]:
    """Cut into tokens, after replacing the marks that always stand apart."""
    text = f" {' '.join(_APART.sub(marks, text).split())} "
    for edge in (_CLOSING_APOSTROPHE, _SHORT_CLITIC, _LONG_CLITIC):
        text = edge.sub(r" \g<0> ", text)
    return _FUSED.sub(lambda match: f" {' '.join(filter(None, match.groups()))} ", text).split()


def _final_stop(sentence: str) -> tuple[str, str, str]:
    """Part the full stop that ends a sentence from what is before and after it."""
    body = sentence.rstrip()
    core = body.rstrip(_CLOSERS)
    if core.endswith(".") and not core.endswith(".."):
        return core[:-1], ".", body[len(core) :]
    return body, "", ""
