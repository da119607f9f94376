"""IFBench's verifiers of words: how many, which share of them, what they are like.

Source: Pyatkin et al. 2025, *Generalizing Verifiable Instruction Following* (arXiv 2507.02833), its
data and its public code (allenai/IFBench at 6fffd61), whose verdicts faithful scoring gives. Strict
scoring gives what the constraint's text means. Where they differ, docs/reference/verdicts.md says
how.
"""

from __future__ import annotations

import functools
import importlib
import re
import string
import unicodedata
from collections import Counter
from itertools import dropwhile, islice, pairwise
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le
from pydantic import NonNegativeInt, PositiveInt  # noqa: TC002 - read at run time

from heedful.core import scripts
from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, amount, compare, exactly, quoted, unless, verifier
from heedful.verify.text.prepared import Response
from heedful.verify.text.words import (
    ASCII_EDGES,
    bare_words,
    treebank_words,
    unclosed,
    whole_word,
    without_punctuation,
    word_list,
    word_set,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


@functools.cache
def imported(module: str) -> Any:
    """Import a module of heedful's extra ``ifbench``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        broken = "" if error.name in {package, module} else f", which cannot be imported: {error}"
        raise VerifierError(
            f"this constraint needs the package {package}{broken}",
            hint="pip install 'heedful[ifbench]'",
        ) from error


@verifier("count:word_count_range")
def word_count_range(
    response: Response, *, min_words: NonNegativeInt, max_words: NonNegativeInt
) -> Finding:
    """Write at least {min_words} and at most {max_words} words."""
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


@verifier("count:unique_word_count")
def unique_word_count(response: Response, *, N: NonNegativeInt) -> Finding:
    """Use at least {N} different words."""
    words: Iterable[str] = bare_words(response.lower)
    if response.faithful is not None:
        words = (piece.strip(ASCII_EDGES) for piece in response.lower.split())
    return compare(len(set(words)), "at least", N, "different word")


_CONJUNCTIONS = word_set("conjunctions")


@verifier(
    "count:conjunctions",
    describe=f"Use at least {{small_n}} different ones of {quoted(sorted(_CONJUNCTIONS))}.",
)
def conjunctions(response: Response, *, small_n: NonNegativeInt) -> Finding:
    """Enough of English's seven coordinating conjunctions occur.

    Whether ``for``, ``so`` and ``yet`` are conjunctions where they stand is not checked.
    """
    if response.faithful is None:
        number = len(_CONJUNCTIONS.intersection(bare_words(response.lower)))
    else:
        pieces = set(response.text.split())
        number = sum(piece.strip(ASCII_EDGES).lower() in _CONJUNCTIONS for piece in pieces)
    return compare(number, "at least", small_n, "different coordinating conjunction")


_NAMES = word_list("first_names")
_NAME = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b")


@verifier(
    "count:person_names",
    describe=f"Mention at least {{N}} different ones of these names: {', '.join(_NAMES)}.",
)
def person_names(response: Response, *, N: NonNegativeInt) -> Finding:
    """Enough of the fifty names that the prompts list occur, as whole words with a capital."""
    return compare(len(set(_NAME.findall(response.text))), "at least", N, "different name")


_NUMBER = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?")


@verifier("count:numbers")
def numbers(response: Response, *, N: NonNegativeInt) -> Finding:
    """Include exactly {N} numbers, written in digits."""
    if response.faithful is None:
        numbers = _NUMBER.findall(response.text)
    else:
        numbers = re.findall(r"\d+", without_punctuation(response.text))
    return exactly(len(numbers), N, "number")


_JAPANESE = re.compile(f"[々{scripts.KANA}{scripts.HAN}{scripts.HALFWIDTH_KANA}]")
_JAPANESE_FAITHFUL = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@verifier("count:words_japanese")
def words_japanese(response: Response, *, N: PositiveInt) -> Finding:
    """Write one word in {N} in Japanese: the {N}th, and every {N}th after it."""
    if response.faithful is None:
        wrong = [word for word in response.bare_words[N - 1 :: N] if not _JAPANESE.search(word)]
    else:
        words = [piece.strip(ASCII_EDGES) for piece in response.text.split()[N - 1 :: N]]
        wrong = [
            word
            for word in words
            if word and not word.isdigit() and not _JAPANESE_FAITHFUL.search(word)
        ]
    return unless(wrong, "not in Japanese", f"each word in {N} is in Japanese")


_PRONOUNS = word_set("pronouns")


@verifier("count:pronouns")
def pronouns(response: Response, *, N: NonNegativeInt) -> Finding:
    """Use at least {N} personal, possessive or reflexive pronouns."""
    tokens = Response(response.lower.replace("/", " ")).tokens
    return compare(sum(token in _PRONOUNS for token in tokens), "at least", N, "pronoun")


@verifier(
    "count:keywords_multiple",
    describe="Use '{keyword1}' once, '{keyword2}' twice, '{keyword3}' three times, '{keyword4}' "
    "five times, '{keyword5}' seven times.",
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
    """The keywords occur once, twice, three, five and seven times, as whole words, in any case."""
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


@verifier("count:punctuation")
def punctuation(response: Response) -> Finding:
    """Use each of . , ! ? ; : and the interrobang (?!) at least once."""
    text = response.text
    if not _INTERROBANG.search(text):
        return Finding(met=False, found="no interrobang")
    # One interrobang is set aside, ?! before !?; its marks do not count for themselves.
    rest = text.replace("?!", "", 1) if "?!" in text else text.replace("!?", "", 1)
    return unless(sorted(_PUNCTUATION.difference(rest)), "missing", "all marks are there")


Percentage = Annotated[float, Ge(0), Le(100)]

# --- words --------------------------------------------------------------------------------------

# English's function words by the classes of grammar; these are NLTK's stop words, less those with
# an apostrophe, which the published code cannot find among runs of word characters. The last lines
# are what it does find of contractions, such as the t of don't.
_STOP_WORDS = word_set("stop_words")


@verifier("ratio:stop_words")
def stop_words(response: Response, *, percentage: Percentage) -> Finding:
    """Use stop words for at most {percentage:g} % of all words."""
    words = response.words
    if not words:
        return Finding(met=False, found="no words")
    share = 100 * sum(word.lower() in _STOP_WORDS for word in words) / len(words)
    reason = f"{share:.1f} % stop words, asked for at most {percentage:g} %"
    return Finding(met=share <= percentage, found=reason)


_OVERLAP_TOLERANCE = 2


@verifier(
    "ratio:overlap",
    describe=f"Take {{percentage:g}} % (±{_OVERLAP_TOLERANCE} %) of the trigrams from this text: "
    "{reference_text}",
)
def overlap(response: Response, *, reference_text: str, percentage: Percentage) -> Finding:
    """Of the response's different trigrams of words, the right share occurs in the reference."""
    if response.faithful is None:
        ours = _trigrams(bare_words(response.lower))
        theirs = _trigrams(bare_words(reference_text.lower()))
    else:
        ours, theirs = _trigrams(response.text), _trigrams(reference_text)
    if not ours:
        return Finding(met=False, found="too short for a trigram")
    share = 100 * len(ours & theirs) / len(ours)
    met = percentage - _OVERLAP_TOLERANCE <= share <= percentage + _OVERLAP_TOLERANCE
    return Finding(met=met, found=f"{share:.1f} % overlap, asked for {percentage:g} %")


def _trigrams(items: str | list[str]) -> set[tuple[str, ...]]:
    return set(zip(items, items[1:], items[2:], strict=False))


# --- sentences ----------------------------------------------------------------------------------


def _kinds(response: Response) -> dict[str, int]:
    """Count the sentences that end in ``.``, ``?`` and ``!``."""
    sentences = response.sentences
    if response.faithful is None:
        sentences = [unclosed(sentence) for sentence in sentences]
    return {mark: sum(each.endswith(mark) for each in sentences) for mark in ".?!"}


@verifier("ratio:sentence_type")
def sentence_type(response: Response) -> Finding:
    """Write twice as many declarative sentences as questions."""
    kinds = _kinds(response)
    met = kinds["."] == 2 * kinds["?"]
    if response.faithful is None:
        met = met and kinds["?"] > 0
    return Finding(met=met, found=f"{kinds['.']} declarative, {kinds['?']} interrogative")


@verifier("ratio:sentence_balance")
def sentence_balance(response: Response) -> Finding:
    """Write as many declarative sentences as questions and as exclamations."""
    kinds = _kinds(response)
    met = len(set(kinds.values())) == 1
    if response.faithful is None:
        met = met and kinds["."] > 0
    reason = f"{kinds['.']} declarative, {kinds['?']} interrogative, {kinds['!']} exclamatory"
    return Finding(met=met, found=reason)


_SENTENCES = 3


@verifier("ratio:sentence_words")
def sentence_words(response: Response) -> Finding:
    """Write three sentences of the same number of characters, no word twice."""
    lengths = [len(sentence) for sentence in response.sentences]
    if len(lengths) != _SENTENCES:
        return exactly(len(lengths), _SENTENCES, "sentence")
    if len(set(lengths)) > 1:
        return Finding(met=False, found=f"{', '.join(map(str, lengths))} characters")
    counts = Counter(bare_words(response.lower) if response.faithful is None else ())
    again = (word for word, number in counts.items() if number > 1)
    return unless(again, "more than once", f"three sentences of {lengths[0]} characters each")


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
    """Each word starts with the letter after that of the word before; any letter may come first."""
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


@verifier("words:no_consecutive")
def no_consecutive(response: Response) -> Finding:
    """Start no two words in a row with the same letter."""
    for first, second in pairwise(_words(response)):
        if first[0] == second[0] and (response.faithful is not None or first[0].isalpha()):
            return Finding(met=False, found=f"{quoted([first, second])} start with the same letter")
    return Finding(met=True, found="no two words in a row start with the same letter")


# --- letters inside -----------------------------------------------------------------------------

_VOWELS = "aeiou"
_KINDS_OF_VOWELS = 3


@verifier("words:vowel")
def vowel(response: Response) -> Finding:
    """Write one paragraph with no more than three of the vowels a, e, i, o, u."""
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


@verifier("words:consonants")
def consonants(response: Response) -> Finding:
    """Use only words that hold two or more consonants in a row."""
    if response.faithful is None:
        words = [_plain(word) for word in response.bare_words if any(map(str.isalpha, word))]
    else:
        words = response.lower.split()
    if not words:
        return Finding(met=False, found="no words")
    without = (word for word in words if not _CLUSTER.search(word))
    return unless(without, "without", "each word has two consonants in a row")


_PALINDROMES = 10
_PALINDROME_LENGTH = 5


@verifier("words:palindrome")
def palindrome(response: Response) -> Finding:
    """Use at least 10 palindromes of 5 letters or more."""
    number = sum(
        len(word) >= _PALINDROME_LENGTH
        and word == word[::-1]
        and (response.faithful is not None or word.isalpha())
        for word in _words(response)
    )
    return compare(number, "at least", _PALINDROMES, "palindrome")


# --- lengths, syllables, repetitions ------------------------------------------------------------


@verifier("words:prime_lengths")
def prime_lengths(response: Response) -> Finding:
    """Use only words whose length is a prime number."""
    if response.faithful is None:
        lengths = {word: sum(map(str.isalnum, word)) for word in response.bare_words}
    else:
        lengths = {word: len(word) for word in _words(response)}
    last = len(response.text) if response.faithful is None else _LAST_PRIME
    prime = set(filter(_is_prime, {length for length in lengths.values() if length <= last}))
    wrong = (word for word, length in lengths.items() if length not in prime)
    return unless(wrong, "not of a prime length", "the lengths of all words are prime")


_LAST_PRIME = 97


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


@verifier("words:odd_even_syllables")
def odd_even_syllables(response: Response) -> Finding:
    """Let words with an odd and an even number of syllables take turns.

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


@verifier("words:repeats")
def repeats(response: Response, *, small_n: NonNegativeInt) -> Finding:
    """Use no word more than {small_n} times."""
    often = (word for word, number in Counter(_words(response)).items() if number > small_n)
    return unless(often, f"more than {small_n} times", f"no word more than {small_n} times")


# --- parts of speech ----------------------------------------------------------------------------

# Past these the tagger would take long over what isn't a sentence.
_MOST_TOKENS = 40
_LONGEST_TOKEN = 40


@verifier("words:start_verb")
def start_verb(response: Response) -> Finding:
    """Start the response with a verb."""
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
