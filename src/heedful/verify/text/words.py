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

_PICTOGRAPH = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e"
    "\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640"
    "\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699"
    "\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce"
    "\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d"
    "\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755"
    "\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50"
    "\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf\U0001f170\U0001f171\U0001f17e\U0001f17f"
    "\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f202\U0001f21a\U0001f22f\U0001f232-\U0001f23a"
    "\U0001f250\U0001f251\U0001f300-\U0001f321\U0001f324-\U0001f393\U0001f396\U0001f397"
    "\U0001f399-\U0001f39b\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5\U0001f3f7-\U0001f4fd"
    "\U0001f4ff-\U0001f53d\U0001f549-\U0001f54e\U0001f550-\U0001f567\U0001f56f\U0001f570"
    "\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590\U0001f595\U0001f596\U0001f5a4"
    "\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3"
    "\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3"
    "\U0001f5fa-\U0001f64f\U0001f680-\U0001f6c5\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6e5"
    "\U0001f6e9\U0001f6eb\U0001f6ec\U0001f6f0\U0001f6f3-\U0001f6fc\U0001f7e0-\U0001f7eb\U0001f7f0"
    "\U0001f90c-\U0001f93a\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa70-\U0001faff]"
)
"""The characters that Unicode calls emoji (UTS #51), digits and the like aside."""

_ONE_EMOJI = f"{_PICTOGRAPH}[\U0001f3fb-\U0001f3ff]?\ufe0f?[\U000e0020-\U000e007f]*"
EMOJI = re.compile(
    rf"{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*\u200d?"  # a family is one emoji
    "|[\U0001f1e6-\U0001f1ff]{2}"  # a flag
    "|[0-9#*]\ufe0f?\u20e3"  # a keycap
)
"""One emoji as a reader sees it."""


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
