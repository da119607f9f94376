"""IFBench's verifiers of what stands where: in which sentence, at which end, in what order.

Source: as for :mod:`heedful.verify.ifbench.count`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt  # noqa: TC002 - read at run time

from heedful.verify.base import Finding, amount, verifier
from heedful.verify.text.tokens import (
    ASCII_EDGES,
    bare_words,
    treebank_words,
    whole_word,
    without_punctuation,
)

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

# --- a word at a place --------------------------------------------------------------------------


@verifier("sentence:keyword", describe="Use the word '{word}' in sentence {N}.")
def keyword(response: Response, *, word: str, N: PositiveInt) -> Finding:
    """The Nth sentence holds the word, in any case and not as a part of a longer one."""
    number = len(response.sentences)
    if number < N:
        return Finding(met=False, found=f"{amount(number, 'sentence')}, asked for a word in {N}")
    met = whole_word(word).search(response.sentences[N - 1]) is not None
    return Finding(met=met, found=f"sentence {N} {'has' if met else 'does not have'} '{word}'")


@verifier(
    "words:keywords_specific_position",
    describe="Let word {m} of sentence {n} be '{keyword}'.",
)
def keywords_specific_position(
    response: Response, *, keyword: str, n: PositiveInt, m: PositiveInt
) -> Finding:
    """The mth word of the nth sentence is the keyword, in any case.

    Faithful: punctuation and clitics (the ``n't`` of ``don't``) are words.
    """
    cut = bare_words if response.faithful is None else lambda sentence: treebank_words([sentence])
    return word_in_sentence(list(map(cut, response.sentences[:n])), keyword, n, m)


def word_in_sentence(
    sentences: list[list[str]], word: str, n: int, m: int, *, cased: bool = False
) -> Finding:
    """Compare the mth word of the nth sentence with a required one, in any case by default."""
    if len(sentences) < n:
        return Finding(met=False, found=f"{amount(len(sentences), 'sentence')}, no sentence {n}")
    words = sentences[n - 1]
    if len(words) < m:
        return Finding(
            met=False, found=f"sentence {n} has {amount(len(words), 'word')}, no word {m}"
        )
    actual, expected = words[m - 1], word.strip()
    met = actual == expected if cased else actual.lower() == expected.lower()
    return Finding(met=met, found=f"word {m} of sentence {n} is '{actual}'")


@verifier(
    "words:words_position",
    describe="Let the second word and the last but one be '{keyword}'.",
)
def words_position(response: Response, *, keyword: str) -> Finding:
    """The second word and the last but one are the keyword, in any case.

    Faithful: punctuation and clitics are words, so that before a final full stop the last word is
    compared.
    """
    words = response.bare_words if response.faithful is None else response.tokens
    if len(words) < 2:  # noqa: PLR2004 - the second word must be there
        return Finding(met=False, found=amount(len(words), "word"))
    there = words[1], words[-2]
    met = all(word.lower() == keyword.strip().lower() for word in there)
    return Finding(met=met, found=f"the second word is '{there[0]}', the last but one '{there[1]}'")


# --- first and last words -----------------------------------------------------------------------


@verifier(
    "words:last_first",
    describe="Start each sentence with the last word of the sentence before it.",
)
def last_first(response: Response) -> Finding:
    """Each sentence starts with the last word of the one before, in any case.

    A single sentence meets it.

    Faithful: of marks around a word only those of ASCII are left out of account.
    """
    for first, second in pairwise(response.sentences):
        if response.faithful is None:
            before, after = bare_words(first)[-1:], bare_words(second)[:1]
        else:
            before, after = (
                first.rstrip(ASCII_EDGES).split()[-1:],
                second.lstrip(ASCII_EDGES).split()[:1],
            )
        if not before or not after or before[0].lower() != after[0].lower():
            shown = [word for pair in (before, after) for word in pair or ["nothing"]]
            return Finding(met=False, found=f"'{shown[0]}' is followed by '{shown[1]}'")
    number = len(response.sentences)
    if number == 1:
        return Finding(met=True, found="a single sentence, which none follows")
    return Finding(met=True, found="each sentence starts with the last word of the one before")


@verifier(
    "words:paragraph_last_first",
    describe="End each paragraph (one line each) with the word it starts with.",
)
def paragraph_last_first(response: Response) -> Finding:
    """Each line with words ends with the word it starts with, in any case.

    Faithful: marks between the first or last word and the next one belong to it, so that
    ``Go, now go.`` fails.
    """
    for line in response.lower.split("\n"):
        words = (
            bare_words(line)
            if response.faithful is None
            else line.strip().strip(ASCII_EDGES).split()
        )
        if words and words[0] != words[-1]:
            reason = f"a paragraph starts with '{words[0]}' and ends with '{words[-1]}'"
            return Finding(met=False, found=reason)
    return Finding(met=True, found="each paragraph ends with the word it starts with")


# --- from sentence to sentence ------------------------------------------------------------------


@verifier(
    "sentence:increment",
    describe="Give each sentence exactly {small_n} more words than the one before it.",
)
def increment(response: Response, *, small_n: NonNegativeInt) -> Finding:
    """Each sentence is longer by the given number of words; a single sentence meets it.

    Faithful: dashes and other marks outside of ASCII are words.
    """
    if response.faithful is None:
        counts = [len(bare_words(sentence)) for sentence in response.sentences]
    else:
        counts = [len(without_punctuation(sentence).split()) for sentence in response.sentences]
    for at, (first, second) in enumerate(pairwise(counts), 2):
        if second != first + small_n:
            words = amount(second, "word")
            reason = f"sentence {at} has {words} after {first}, asked for {first + small_n}"
            return Finding(met=False, found=reason)
    return Finding(met=True, found=f"{amount(len(counts), 'sentence')}, each longer by {small_n}")


@verifier(
    "sentence:alliteration_increment",
    describe="Give each sentence a longer run of words with the same first letter than the last.",
)
def alliteration_increment(response: Response) -> Finding:
    """The longest run of words with the same first letter grows from sentence to sentence.

    Faithful: the words of all runs in a sentence are added up.
    """
    before = -1
    for at, sentence in enumerate(response.sentences, 1):
        runs = _alliterations(sentence, faithful=response.faithful is not None)
        length = max(runs, default=0) if response.faithful is None else sum(runs)
        if length <= before:
            return Finding(met=False, found=f"sentence {at} alliterates {length}, after {before}")
        before = length
    return Finding(met=True, found="each sentence alliterates more than the one before")


def _alliterations(sentence: str, *, faithful: bool) -> list[int]:
    """Find the lengths of the runs of two or more words with the same first letter."""
    if faithful:
        words = [word for piece in sentence.lower().split() if (word := piece.lstrip(ASCII_EDGES))]
    else:
        words = bare_words(sentence.lower())
    runs = [len(list(run)) for _, run in groupby(words, key=lambda word: word[0])]
    return [run for run in runs if run > 1]
