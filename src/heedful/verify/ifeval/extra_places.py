"""IFEvalG's verifiers of what stands where, and of how words and sentences are joined.

Source: as for :mod:`heedful.verify.ifeval.extra`, whose rules on strict and faithful scoring
hold here too. Faithful scoring splits sentences by :mod:`heedful.verify.ifeval.splitting`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import PositiveInt  # noqa: TC002 - read at run time

from heedful.verify.base import Finding, amount, exactly, quoted, verifier
from heedful.verify.ifbench.places import word_in_sentence
from heedful.verify.ifeval.splitting import sentences, split_by_rules, words_of
from heedful.verify.text.english import splitter
from heedful.verify.text.tokens import bare_words

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__: list[str] = []

# --- a word at a place --------------------------------------------------------------------------


@verifier(
    "keywords:keyword_specific_position", describe="Let word {m} of sentence {n} be '{keyword}'."
)
def keyword_specific_position(
    response: Response, *, keyword: str, n: PositiveInt, m: PositiveInt
) -> Finding:
    """The mth word of the nth sentence is the keyword, in any case.

    Faithful: in the same case; punctuation and clitics (the ``n't`` of ``don't``) are words.
    """
    cased = response.faithful is not None
    words = [words_of(response, sentence) for sentence in sentences(response)[:n]]
    return word_in_sentence(words, keyword, n, m, cased=cased)


def _first(text: str, *, faithful: bool) -> str:
    """Take the first word, in lower case; faithfully, with the marks around it."""
    words = text.split()[:1] if faithful else bare_words(text)[:1]
    return words[0].lower() if words else ""


def _last(text: str, *, faithful: bool) -> str:
    """Take the last word, in lower case; faithfully, less the marks around and inside it."""
    if faithful:
        return re.sub(r"[^\w\s]", "", "".join(text.split()[-1:])).lower()
    return (bare_words(text)[-1:] or [""])[0].lower()


@verifier(
    "first_word:first_word_sent", describe="Start each sentence with the word '{first_word}'."
)
def first_word_sent(response: Response, *, first_word: str) -> Finding:
    """Each sentence starts with the word, in any case.

    Faithful: marks next to it, as in ``"So`` and ``So,``, belong to the word.
    """
    faithful = response.faithful is not None
    starts = [_first(sentence, faithful=faithful) for sentence in sentences(response)]
    return _all_are(starts, first_word, "start")


@verifier("last_word:last_word_sent", describe="End each sentence with the word '{last_word}'.")
def last_word_sent(response: Response, *, last_word: str) -> Finding:
    """Each sentence ends with the word, in any case, marks after it aside.

    Faithful: marks inside of the last word are dropped too, so ``don't`` is ``dont``.
    """
    faithful = response.faithful is not None
    ends = [_last(sentence, faithful=faithful) for sentence in sentences(response)]
    return _all_are(ends, last_word, "end")


def _all_are(words: list[str], required: str, verb: str) -> Finding:
    other = [word for word in words if word != required.strip().lower()]
    counted = (
        f"{len(words) - len(other)} of {amount(len(words), 'sentence')} {verb} with '{required}'"
    )
    return Finding(met=not other, found=f"{counted}; one with '{other[0]}'" if other else counted)


@verifier(
    "first_word:first_word_answer", describe="Start the response with the word '{first_word}'."
)
def first_word_answer(response: Response, *, first_word: str) -> Finding:
    """The response starts with the word, in any case.

    Faithful: marks next to it belong to the word.
    """
    word = _first(response.text, faithful=response.faithful is not None)
    return Finding(met=word == first_word.strip().lower(), found=f"it starts with '{word}'")


@verifier("last_word:last_word_answer", describe="End the response with the word '{last_word}'.")
def last_word_answer(response: Response, *, last_word: str) -> Finding:
    """The response ends with the word, in any case, marks after it aside.

    Faithful: marks inside of the last word are dropped too, so ``don't`` is ``dont``.
    """
    word = _last(response.text, faithful=response.faithful is not None)
    return Finding(met=word == last_word.strip().lower(), found=f"it ends with '{word}'")


@verifier(
    "keywords:start_end",
    describe="Start and end the response with the same word, and put nothing after it.",
)
def start_end(response: Response) -> Finding:
    """There are two words or more; the last is the first one, in any case, and nothing follows it.

    Faithful: marks and clitics are words, so that a response in quotes starts and ends with
    different ones, and one between two hyphens with the same.
    """
    if response.faithful is None:
        words, end = response.bare_words, response.text.split()[-1]
    else:
        words = response.tokens
        end = words[-1]
    if len(words) < 2:  # noqa: PLR2004 - a first and a last one
        return Finding(met=False, found=amount(len(words), "word"))
    met = words[0].lower() == end.lower()
    return Finding(met=met, found=f"it starts with '{words[0]}' and ends with '{end}'")


# --- from word to word --------------------------------------------------------------------------


@verifier(
    "keywords:no_adjacent_consecutive",
    describe="Start no word with the letter of the alphabet that follows the last word's.",
)
def no_adjacent_consecutive(response: Response) -> Finding:
    """No word starts with the letter after that of the word before it, in any case.

    Faithful: marks and digits are letters, by the numbers of their characters.
    """
    strict = response.faithful is None
    words = bare_words(response.lower) if strict else response.lower.split()
    for first, second in pairwise(words):
        lettered = first[0].isalpha() and second[0].isalpha()
        if ord(second[0]) - ord(first[0]) == 1 and (lettered or not strict):
            reason = f"{quoted([first, second])} start with letters that follow each other"
            return Finding(met=False, found=reason)
    return Finding(met=True, found="no two words in a row start with letters that do")


_SHORTEST_PALINDROME = 3


@verifier("keywords:palindrome", describe="Use a palindrome.")
def palindrome(response: Response) -> Finding:
    """Some word of three letters or more reads the same backwards, in any case.

    Palindromes of several words are not checked.

    Faithful: in the same case and with the marks around it; any length will do, so ``a`` and ``I``
    are palindromes.
    """
    if response.faithful is None:
        words = [
            word
            for word in bare_words(response.lower)
            if len(word) >= _SHORTEST_PALINDROME and word.isalpha()
        ]
    else:
        words = response.text.split()
    word = next((word for word in words if word == word[::-1]), None)
    return Finding(met=word is not None, found=f"'{word}'" if word else "no palindrome")


# --- how words and sentences are joined ---------------------------------------------------------


_BRACKETED = re.compile(r"[^\w\[\]]*(?:\[[^][]+\][^\w\[\]]*)+")


@verifier("detectable_format:square_brackets", describe="Put each word in square brackets.")
def square_brackets(response: Response) -> Finding:
    """Each word stands in brackets of its own; marks may stand outside of them: ``[So], [it] …``.

    Faithful: nothing may stand outside, and what is between the brackets is not checked.
    """
    pieces = response.text.split()
    if response.faithful is None:
        bare = [piece for piece in pieces if not _BRACKETED.fullmatch(piece)]
        bare = [piece for piece in bare if any(map(str.isalnum, piece))]
    else:
        bare = [piece for piece in pieces if not (piece.startswith("[") and piece.endswith("]"))]
    if bare:
        return Finding(met=False, found=f"not in brackets of its own: {quoted(bare[:3])}")
    return Finding(met=True, found="each word is in brackets")


@verifier(
    "detectable_format:bigram_wrapping",
    describe="Put each pair of words in double angular brackets: <<I am>> <<at home>>.",
)
def bigram_wrapping(response: Response) -> Finding:
    """The words stand in pairs between ``<<`` and ``>>``; an odd last one may stand alone.

    Faithful: the same, but a single word, and what the last one looks like, is not checked.
    """
    words = response.text.split()
    pairs = list(zip(words[::2], words[1::2], strict=False))
    wrong = [pair for pair in pairs if not (pair[0].startswith("<<") and pair[1].endswith(">>"))]
    if response.faithful is None:
        wrong = [pair for pair in pairs if not _WRAPPED.fullmatch(" ".join(pair))]
        if len(words) == 1:
            return Finding(met=False, found="a single word")
    if wrong:
        return Finding(met=False, found=f"not a pair in brackets: '{' '.join(wrong[0])}'")
    return Finding(met=True, found=f"{amount(len(pairs), 'pair')} in brackets")


_WRAPPED = re.compile(r"<<[^<>\s]+ [^<>\s]+>>[^\w<>]*")


@verifier(
    "detectable_format:sentence_hyphens",
    describe="Join the sentences by hyphens, without spaces between them.",
)
def sentence_hyphens(response: Response) -> Finding:
    """Between all sentences stands a hyphen and no white space; hyphens inside of them are fine.

    Faithful: the pieces between hyphens are compared, one by one, with the sentences that there are
    without hyphens; so a hyphen inside of a sentence fails.
    """
    if response.faithful is not None:
        pieces = response.text.split("-")
        pairs = zip(pieces, split_by_rules(response.text.replace("-", " ")), strict=False)
        met = all(piece == sentence for piece, sentence in pairs)
        reason = "sentences joined by hyphens" if met else "a sentence not joined by a hyphen"
        return Finding(met=met, found=reason)
    joined, number = _JOINT.subn(r"\1 ", response.text.strip())
    return exactly(number, len(splitter().split(joined)) - 1, "hyphen between sentences")


# A hyphen next to the end of a sentence, and no white space on either side.
_JOINT = re.compile(r"([.!?][\"'”’)\]]?)-(?=[^\s-])")

# --- paragraphs ---------------------------------------------------------------------------------


def _two(pieces: list[str]) -> Finding:
    """See that there are two paragraphs, and none between two dividers is empty."""
    if not all(map(str.strip, pieces[1:-1])):
        return Finding(met=False, found="an empty paragraph between two dividers")
    return exactly(sum(bool(piece.strip()) for piece in pieces), 2, "paragraph")


@verifier("paragraphs:paragraphs", describe="Write 2 paragraphs, separated by the divider ***.")
def paragraphs(response: Response) -> Finding:
    """Between dividers are two paragraphs; one divider may stand before and after them."""
    return _two(re.split(r"\s?\*\*\*\s?", response.text))


@verifier("paragraphs:paragraphs2", describe="Write 2 paragraphs, separated by an empty line.")
def paragraphs2(response: Response) -> Finding:
    """There are two paragraphs with an empty line between them.

    Faithful: not with more than one.
    """
    if response.faithful is None:
        return exactly(len(response.paragraphs), 2, "paragraph")
    return _two(response.text.split("\n\n"))
