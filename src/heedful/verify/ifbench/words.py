"""IFBench's verifiers of what words are like: letters, lengths, syllables, repetitions.

Source: as for :mod:`heedful.verify.ifbench.count`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from collections import Counter
from itertools import dropwhile, islice, pairwise
from typing import TYPE_CHECKING, Any

from pydantic import NonNegativeInt  # noqa: TC002 - read at run time

from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, amount, compare, quoted, verifier
from heedful.verify.extras import imported
from heedful.verify.text.tokens import bare_words, treebank_words, without_punctuation

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__: list[str] = []


def _words(response: Response) -> list[str]:
    """Cut into words in lower case."""
    if response.faithful is None:
        return bare_words(response.lower)
    return without_punctuation(response.lower).split()


def _spelled(response: Response) -> list[str]:
    """List the words by their letters alone: without accents, digits and what is inside of them."""
    letters = ("".join(filter(str.isalpha, _plain(word))) for word in response.bare_words)
    return [word for word in letters if word]


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


# --- first letters ------------------------------------------------------------------------------


@verifier(
    "words:alphabet",
    describe="Start each word with the letter of the alphabet that follows the last one's; "
    "after Z comes A.",
)
def alphabet(response: Response) -> Finding:
    """Each word starts with the letter after that of the word before; any letter may come first.

    Words without a letter are passed over.

    Faithful: dashes and curly quotes, which aren't ASCII marks, are taken for letters.
    """
    words = _spelled(response) if response.faithful is None else _words(response)
    if not words or words[0][0] not in string.ascii_lowercase:
        return Finding(met=False, found="the first word does not start with a letter from A to Z")
    expected = string.ascii_lowercase.index(words[0][0])
    for word in words[1:]:
        expected = (expected + 1) % len(string.ascii_lowercase)
        if word[0] != string.ascii_lowercase[expected]:
            letter = string.ascii_uppercase[expected]
            return Finding(met=False, found=f"'{word}', where a word with {letter} was to come")
    return Finding(met=True, found="each word starts with the next letter")


@verifier("words:no_consecutive", describe="Start no two words in a row with the same letter.")
def no_consecutive(response: Response) -> Finding:
    """No two words in a row start with the same letter, in any case.

    Faithful: nor with the same digit or other character.
    """
    for first, second in pairwise(_words(response)):
        if first[0] == second[0] and (response.faithful is not None or first[0].isalpha()):
            return Finding(met=False, found=f"{quoted([first, second])} start with the same letter")
    return Finding(met=True, found="no two words in a row start with the same letter")


# --- letters inside -----------------------------------------------------------------------------

_VOWELS = "aeiou"
_KINDS_OF_VOWELS = 3


@verifier(
    "words:vowel",
    describe="Write one paragraph with no more than three of the vowels a, e, i, o, u.",
)
def vowel(response: Response) -> Finding:
    """There is one paragraph, of three different vowels at most, taken all its words together.

    A vowel with an accent is that vowel.

    Faithful: any line break starts a new paragraph, and letters with accents aren't vowels.
    """
    if response.faithful is None:
        paragraphs = len([part for part in re.split(r"\n\s*\n", response.text) if part.strip()])
        text = _plain(response.text)
    else:
        paragraphs = response.text.strip().count("\n") + 1
        text = response.lower
    if paragraphs != 1:
        return Finding(met=False, found=f"{amount(paragraphs, 'paragraph')}, asked for 1")
    vowels = [vowel for vowel in _VOWELS if vowel in text]
    reason = f"the vowels {', '.join(vowels)}" if vowels else "no vowels"
    return Finding(met=len(vowels) <= _KINDS_OF_VOWELS, found=reason)


_CLUSTER = re.compile("[b-df-hj-np-tv-z]{2}")


@verifier("words:consonants", describe="Use only words that hold two or more consonants in a row.")
def consonants(response: Response) -> Finding:
    """Each word holds two consonants side by side; y is one. Words without letters are passed over.

    Faithful: numbers and marks that stand alone are words without consonants.
    """
    if response.faithful is None:
        words = [_plain(word) for word in response.bare_words if any(map(str.isalpha, word))]
    else:
        words = response.lower.split()
    without = [word for word in words if not _CLUSTER.search(word)]
    if without:
        return Finding(met=False, found=f"without: {quoted(without[:3])}")
    return Finding(met=bool(words), found="each word has two consonants in a row")


_PALINDROMES = 10
_PALINDROME_LENGTH = 5


@verifier("words:palindrome", describe="Use at least 10 palindromes of 5 letters or more.")
def palindrome(response: Response) -> Finding:
    """There are ten words of five letters or more that read the same backwards, repeats included.

    Faithful: numbers (``12321``) count too.
    """
    number = sum(
        len(word) >= _PALINDROME_LENGTH
        and word == word[::-1]
        and (response.faithful is not None or word.isalpha())
        for word in _words(response)
    )
    return compare(number, "at least", _PALINDROMES, "palindrome")


# --- lengths, syllables, repetitions ------------------------------------------------------------


@verifier("words:prime_lengths", describe="Use only words whose length is a prime number.")
def prime_lengths(response: Response) -> Finding:
    """Each word has a prime number of letters and digits; ``don't`` has four.

    Faithful: all that isn't an ASCII mark counts, dashes and curly quotes too; and no length past
    97 is prime.
    """
    if response.faithful is None:
        lengths = {word: sum(map(str.isalnum, word)) for word in response.bare_words}
    else:
        lengths = {word: len(word) for word in _words(response)}
    known = {length: _is_prime(length) for length in set(lengths.values())}
    wrong = [
        word
        for word, length in lengths.items()
        if not known[length] or (response.faithful is not None and length > _LAST_PRIME)
    ]
    if wrong:
        return Finding(met=False, found=f"not of a prime length: {quoted(wrong[:3])}")
    return Finding(met=True, found="the lengths of all words are prime")


_LAST_PRIME = 97


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


@verifier(
    "words:odd_even_syllables",
    describe="Let words with an odd and an even number of syllables take turns.",
)
def odd_even_syllables(response: Response) -> Finding:
    """Of two words in a row, one has an odd number of syllables and the other an even one.

    Syllables are counted by the syllapy package, as in the published code: a list of 6,400 words,
    and the groups of vowels for all others.

    Faithful: a word with a digit has no syllables; strictly it cannot be counted, and where the
    verdict would depend on it, it is undecided.
    """
    count = imported("syllapy").count
    words = _words(response)
    odd = {word: count(word) % 2 for word in set(words)}
    unknown = set() if response.faithful is not None else set(filter(_has_digit, odd))
    for first, second in pairwise(words):
        if odd[first] == odd[second] and not {first, second} & unknown:
            kind = "an odd" if odd[first] else "an even"
            reason = f"{quoted([first, second])} both have {kind} number of syllables"
            return Finding(met=False, found=reason)
    if unknown and len(words) > 1:
        raise VerifierError(
            f"the syllables of {quoted(sorted(unknown)[:3])} cannot be counted",
            hint="let a model decide it: --judge rules,checklist",
        )
    return Finding(met=True, found="odd and even numbers of syllables take turns")


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


@verifier("words:repeats", describe="Use no word more than {small_n} times.")
def repeats(response: Response, *, small_n: NonNegativeInt) -> Finding:
    """No word occurs too often, in any case.

    Faithful: dashes and other marks outside of ASCII are words.
    """
    often = [word for word, number in Counter(_words(response)).items() if number > small_n]
    if often:
        return Finding(met=False, found=f"more than {small_n} times: {quoted(often[:3])}")
    return Finding(met=True, found=f"no word occurs more than {small_n} times")


# --- parts of speech ----------------------------------------------------------------------------

# Past these the tagger would take long over what isn't a sentence.
_MOST_TOKENS = 40
_LONGEST_TOKEN = 40


@verifier("words:start_verb", describe="Start the response with a verb.")
def start_verb(response: Response) -> Finding:
    """The first word is a verb where it stands, as the HanTa package's tagger finds.

    The published code uses NLTK's tagger, whose model must be downloaded. Both scorings use HanTa,
    whose model is part of the package. docs/evidence.md compares them.
    """
    tagger = _tagger(imported("HanTa.HanoverTagger"))
    tokens = treebank_words(response.sentences[:1])
    from_word = dropwhile(lambda token: not any(map(str.isalnum, token)), tokens)
    tagged = [token[:_LONGEST_TOKEN] for token in islice(from_word, _MOST_TOKENS)]
    if not tagged:
        return Finding(met=False, found="the first sentence has no words")
    (word, _, tag), *_ = tagger.tag_sent(tagged)
    # The tags are those of the British National Corpus: VVB, VBZ, VM0 and so on for verbs.
    met = tag.startswith("V")
    return Finding(met=met, found=f"the first word, '{word}', {'is' if met else 'is not'} a verb")


@functools.cache
def _tagger(package: Any) -> Any:
    return package.HanoverTagger("morphmodel_en.pgz")
