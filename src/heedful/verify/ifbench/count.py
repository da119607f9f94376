"""IFBench's verifiers of counts: words, names, numbers, keywords, marks.

Source: Pyatkin et al. 2025, *Generalizing Verifiable Instruction Following* (arXiv 2507.02833), its
data and its public code (allenai/IFBench at 6fffd61), whose verdicts faithful scoring gives. Strict
scoring gives what the constraint's text means. Where they differ, the docstring of the verifier
says how; else they are the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt  # noqa: TC002 - read at run time

from heedful.core import scripts
from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, amount, compare, exactly, quoted, verifier
from heedful.verify.text.prepared import Response
from heedful.verify.text.tokens import (
    ASCII_EDGES,
    bare_words,
    whole_word,
    without_punctuation,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__: list[str] = []


@verifier(
    "count:word_count_range", describe="Write at least {min_words} and at most {max_words} words."
)
def word_count_range(
    response: Response, *, min_words: NonNegativeInt, max_words: NonNegativeInt
) -> Finding:
    """The number of words, counted as IFEval does, is in the range, its ends included."""
    if min_words > max_words:
        raise VerifierError(
            f"min_words {min_words} is more than max_words {max_words}",
            hint="no response can meet it: see which of them is wrong",
        )
    number = len(response.words)
    return Finding(
        met=min_words <= number <= max_words,
        found=f"{amount(number, 'word')}, asked for {min_words} to {max_words}",
    )


@verifier("count:unique_word_count", describe="Use at least {N} different words.")
def unique_word_count(response: Response, *, N: NonNegativeInt) -> Finding:
    """There are enough different words, in any case.

    Faithful: what is cut off at white space and isn't a word, such as a dash, counts as one.
    """
    words: Iterable[str] = bare_words(response.lower)
    if response.faithful is not None:
        words = (piece.strip(ASCII_EDGES) for piece in response.lower.split())
    return compare(len(set(words)), "at least", N, "different word")


_CONJUNCTIONS = frozenset(word_list("and but for nor or so yet"))


@verifier(
    "count:conjunctions",
    describe=f"Use at least {{small_n}} different ones of {quoted(sorted(_CONJUNCTIONS))}.",
)
def conjunctions(response: Response, *, small_n: NonNegativeInt) -> Finding:
    """Enough of English's seven coordinating conjunctions occur.

    Whether ``for``, ``so`` and ``yet`` are conjunctions where they stand is not checked.

    Faithful: ``and``, ``And`` and ``and,`` are three different ones.
    """
    if response.faithful is None:
        number = len(_CONJUNCTIONS.intersection(bare_words(response.lower)))
    else:
        pieces = set(response.text.split())
        number = sum(piece.strip(ASCII_EDGES).lower() in _CONJUNCTIONS for piece in pieces)
    return compare(number, "at least", small_n, "different coordinating conjunction")


_NAMES = word_list(
    """
    Abigail Alexander Amelia Andrew Aria Audrey Ava Benjamin Charlotte Chloe Christopher Claire
    Daniel David Elijah Ella Emma Ethan Gabriel Grace Hannah Harper Isabella Jackson Jacob
    Jonathan Joseph Layla Leo Liam Lily Lucas Mason Matthew Mia Nathan Nicholas Noah Nora Olivia
    Owen Penelope Ryan Samuel Scarlett Sophia Stella Thomas Victoria Zoe
    """
)
_NAME = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b")


@verifier(
    "count:person_names",
    describe=f"Mention at least {{N}} different ones of these names: {', '.join(_NAMES)}.",
)
def person_names(response: Response, *, N: NonNegativeInt) -> Finding:
    """Enough of the fifty names that the prompts list occur, as whole words with a capital."""
    return compare(len(set(_NAME.findall(response.text))), "at least", N, "different name")


_NUMBER = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?")


@verifier("count:numbers", describe="Include exactly {N} numbers, written in digits.")
def numbers(response: Response, *, N: NonNegativeInt) -> Finding:
    """As many numbers occur in digits as given; ``3.5`` and ``1,000`` are one each, ``10-20`` two.

    Faithful: all punctuation is deleted first, so that ``10-20`` and ``1/2`` are one number each.
    """
    if response.faithful is None:
        numbers = _NUMBER.findall(response.text)
    else:
        numbers = re.findall(r"\d+", without_punctuation(response.text))
    return exactly(len(numbers), N, "number")


_JAPANESE = re.compile(f"[々{scripts.KANA}{scripts.HAN}{scripts.HALFWIDTH_KANA}]")
_JAPANESE_FAITHFUL = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@verifier(
    "count:words_japanese",
    describe="Write one word in {N} in Japanese: the {N}th, and every {N}th after it.",
)
def words_japanese(response: Response, *, N: PositiveInt) -> Finding:
    """Every Nth word, as cut at white space, holds a Japanese character (kana or kanji).

    A response of fewer words meets it.

    Faithful: marks that stand alone count as words; an Nth word that is a number or no word need
    not be Japanese.
    """
    if response.faithful is None:
        wrong = [word for word in response.bare_words[N - 1 :: N] if not _JAPANESE.search(word)]
    else:
        words = [piece.strip(ASCII_EDGES) for piece in response.text.split()[N - 1 :: N]]
        wrong = [
            word
            for word in words
            if word and not word.isdigit() and not _JAPANESE_FAITHFUL.search(word)
        ]
    if wrong:
        return Finding(met=False, found=f"not in Japanese: {quoted(wrong[:3])}")
    return Finding(met=True, found=f"each word in {N} is in Japanese")


_PRONOUNS = frozenset(
    word_list(
        """
        i me my mine myself we us our ours ourselves you your yours yourself yourselves
        he him his himself she her hers herself it its itself they them their theirs themselves
        """
    )
)


@verifier("count:pronouns", describe="Use at least {N} personal, possessive or reflexive pronouns.")
def pronouns(response: Response, *, N: NonNegativeInt) -> Finding:
    """There are enough pronouns, each occurrence counted; of ``she/her``, both.

    Demonstrative, relative and indefinite pronouns (``this``, ``who``, ``someone``) do not count:
    the published code counts none, and many of them are other words as well.
    """
    tokens = Response(response.lower.replace("/", " ")).tokens
    return compare(sum(token in _PRONOUNS for token in tokens), "at least", N, "pronoun")


_TIMES = ("once", "twice", "three times", "five times", "seven times")


@verifier(
    "count:keywords_multiple",
    describe=lambda **keywords: (
        "Use "
        + ", ".join(
            f"'{word}' {times}" for word, times in zip(keywords.values(), _TIMES, strict=True)
        )
        + "."
    ),
)
def keywords_multiple(
    response: Response,
    *,
    keyword1: str,
    keyword2: str,
    keyword3: str,
    keyword4: str,
    keyword5: str,
) -> Finding:
    """The keywords occur once, twice, three, five and seven times, as whole words, in any case.

    Faithful: a keyword inside of a longer word (``paradoxical``) counts too.
    """
    wrong = []
    for keyword, required in zip(
        (keyword1, keyword2, keyword3, keyword4, keyword5), (1, 2, 3, 5, 7), strict=True
    ):
        number = _occurrences(response, keyword.strip())
        if number != required:
            wrong.append(f"'{keyword.strip()}' {amount(number, 'time')}, asked for {required}")
    return Finding(met=not wrong, found="; ".join(wrong) or "each as often as asked for")


def _occurrences(response: Response, keyword: str) -> int:
    if response.faithful is not None:
        return response.lower.count(keyword.lower())
    return len(whole_word(keyword).findall(response.text))


_PUNCTUATION = frozenset(".,!?;:")
_INTERROBANG = re.compile(r"\?!|!\?|‽")


@verifier(
    "count:punctuation", describe="Use each of . , ! ? ; : and the interrobang (?!) at least once."
)
def punctuation(response: Response) -> Finding:
    """An interrobang (``?!``, ``!?`` or ``‽``) occurs, and also each of ``. , ! ? ; :``."""
    text = response.text
    if not _INTERROBANG.search(text):
        return Finding(met=False, found="no interrobang")
    # One interrobang is set aside, ?! before !?; its marks do not count for themselves.
    rest = text.replace("?!", "", 1) if "?!" in text else text.replace("!?", "", 1)
    missing = sorted(_PUNCTUATION.difference(rest))
    if missing:
        return Finding(met=False, found=f"missing: {' '.join(missing)}")
    return Finding(met=True, found="all marks are there")
