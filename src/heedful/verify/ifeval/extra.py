"""IFEvalG's verifiers of copying, keywords, counts, marks and places.

Source: Pyatkin et al. 2025 (arXiv 2507.02833), who made these 29 constraints for training, and the
public code (allenai/open-instruct at 14146d7). Strict scoring gives what the constraint's text
means; faithful scoring what that code computes. Where they differ,
docs/reference/verdicts.md says how.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt  # noqa: TC002 - read at run time

from heedful.core.errors import VerifierError
from heedful.verify.base import (
    Finding,
    Relation,
    amount,
    compare,
    exactly,
    none,
    quoted,
    unless,
    verifier,
)
from heedful.verify.ifbench.format import span
from heedful.verify.ifbench.places import word_in_sentence
from heedful.verify.ifeval.content import letter_frequency
from heedful.verify.text.sentences import splitter
from heedful.verify.text.words import bare_words, treebank_words, whole_word

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.prepared import Response

# --- copying ------------------------------------------------------------------------------------


@verifier(
    "copy:copying_simple",
    describe="Repeat this request unchanged and do not answer it: {prompt_to_repeat}",
)
@verifier(
    "copy:copy", describe="Copy this request word for word and do nothing else: {prompt_to_repeat}"
)
def copy(response: Response, *, prompt_to_repeat: str) -> Finding:
    """The response is the request, in any case."""
    met = response.lower.strip() == prompt_to_repeat.strip().lower()
    return Finding(met=met, found=f"it {'is' if met else 'is not'} the request, word for word")


@verifier(
    "copy:copying_multiple",
    describe="Repeat this request unchanged {N} times, parted by ******, and do not answer it: "
    "{prompt_to_repeat}",
)
def copying_multiple(response: Response, *, prompt_to_repeat: str, N: PositiveInt) -> Finding:
    """The request occurs as often as given between dividers of six asterisks, in any case."""
    copies = [copy.strip() for copy in response.lower.split("******")]
    if len(copies) != N:
        return exactly(len(copies), N, "part")
    wrong = sum(copy != prompt_to_repeat.strip().lower() for copy in copies)
    return none(wrong, "part", " other than the request")


@verifier(
    "new:copy_span_idx",
    describe="Copy characters {n_start} to {n_end}, both included and counted from 0, of: "
    "{prompt_to_repeat}",
)
def copy_span_idx(
    response: Response, *, prompt_to_repeat: str, n_start: NonNegativeInt, n_end: NonNegativeInt
) -> Finding:
    """The response is the characters of the request between two places, in any case."""
    span_text = prompt_to_repeat[span(response, len(prompt_to_repeat), n_start, n_end)]
    met = response.lower.strip() == span_text.strip().lower()
    return Finding(met=met, found=f"it {'is' if met else 'is not'} that span of characters")


_SHORTEST_PHRASE = 3


@verifier(
    "copy:repeat_phrase",
    describe="Repeat the phrase '{phrase}' exactly {small_n} times, each time with one word in its "
    "middle replaced.",
)
def repeat_phrase(response: Response, *, phrase: str, small_n: PositiveInt) -> Finding:
    """The phrase occurs the given number of times, each with one inner word replaced, in any case.

    Only what is as long as the phrase and has its first and last word is a repetition.
    """
    words = phrase.split()
    if len(words) < _SHORTEST_PHRASE:
        raise VerifierError(
            f"the phrase '{phrase}' has no word in its middle", hint="give one of three words"
        )
    if response.faithful is not None:
        return _repeated_faithfully(response, words, small_n)
    words = bare_words(phrase.lower())
    there = bare_words(response.lower)
    changes = [
        sum(theirs != ours for theirs, ours in zip(words, there[at:], strict=False))
        for at in range(len(there) - len(words) + 1)
        if there[at] == words[0] and there[at + len(words) - 1] == words[-1]
    ]
    # A repetition shares more than its ends with the phrase: all words but one, or but none.
    close = [number for number in changes if number <= 1]
    if len(close) != small_n:
        return exactly(len(close), small_n, "repetition")
    return none(close.count(0), "repetition", " unchanged")


def _repeated_faithfully(response: Response, words: list[str], required: int) -> Finding:
    pattern = f"{words[0]} .*? {words[-1]}"
    repetitions = [each.split() for each in re.findall(pattern, response.text)]
    if len(repetitions) != required:
        return exactly(len(repetitions), required, "repetition")
    changes = [
        sum(expected != actual for expected, actual in zip(each, words, strict=False))
        for each in repetitions
    ]
    longer = any(len(each) > len(words) for each in repetitions)
    met = not longer and max(changes, default=0) <= 1 and changes[-1:] == [1]
    return Finding(met=met, found=f"words changed: {', '.join(map(str, changes))}")


# --- keywords -----------------------------------------------------------------------------------


def _occurrences(response: Response, keyword: str) -> int:
    """Count a keyword as a whole word; faithfully, as a regular expression, anywhere."""
    if response.faithful is None:
        return len(whole_word(keyword.strip()).findall(response.text))
    return len(re.findall(keyword.strip(), response.text, re.IGNORECASE))


@verifier("keywords:word_once")
def word_once(response: Response, *, keyword: str) -> Finding:
    """Use the word '{keyword}' exactly once."""
    return exactly(_occurrences(response, keyword), 1, "occurrence")


@verifier(
    "keywords:word_count_different_numbers",
    describe=lambda keyword, frequency, relation: (  # noqa: ARG005 - the text does not say it
        f"Use the word '{keyword}' exactly {frequency} times."
    ),
)
def word_count_different_numbers(
    response: Response, *, keyword: str, frequency: NonNegativeInt, relation: Relation
) -> Finding:
    """The keyword occurs exactly the given number of times, as a whole word, in any case."""
    number = _occurrences(response, keyword)
    if response.faithful is None:
        return exactly(number, frequency, "occurrence")
    return compare(number, relation, frequency, "occurrence")


@verifier("keywords:exclude_word_harder")
def exclude_word_harder(response: Response, *, keyword: str) -> Finding:
    """Do not use the word '{keyword}'."""
    if response.faithful is None:
        number = _occurrences(response, keyword)
    else:
        number = response.text.count(f" {keyword.strip()} ")
    return none(number, "occurrence")


@verifier("count:count_increment_word")
def count_increment_word(response: Response, *, keyword1: str, keyword2: str) -> Finding:
    """Use '{keyword1}' exactly once and '{keyword2}' twice."""
    once, twice = _occurrences(response, keyword1), _occurrences(response, keyword2)
    reason = (
        f"'{keyword1.strip()}' {amount(once, 'time')}, '{keyword2.strip()}' {amount(twice, 'time')}"
    )
    return Finding(met=(once, twice) == (1, 2), found=reason)


# --- counts -------------------------------------------------------------------------------------


@verifier("count:count_unique")
def count_unique(response: Response) -> Finding:
    """Use no word twice."""
    words = bare_words(response.lower) if response.faithful is None else response.tokens
    again = (word for word, number in Counter(words).items() if number > 1)
    return unless(again, "more than once", "each word occurs once")


_LOWERCASE = re.compile(r"\b[a-z]+\b")


@verifier("count:lowercase_counting")
def lowercase_counting(response: Response, *, N: NonNegativeInt) -> Finding:
    """Use at most {N} words in lower case."""
    if response.faithful is None:
        number = sum(map(str.islower, response.bare_words))
    else:
        number = len(_LOWERCASE.findall(response.text))
    return Finding(
        met=number <= N, found=f"{amount(number, 'word')} in lower case, at most {N} allowed"
    )


@verifier("letters:letter_counting")
def letter_counting(response: Response, *, N: NonNegativeInt, relation: Relation) -> Finding:
    """Write {relation} {N} letters."""
    number = sum(map(str.isalpha, response.text))
    if response.faithful is not None:
        number = len(re.findall("[a-zA-Z]", response.text))
    return compare(number, relation, N, "letter")


verifier(
    "letters:letter_counting2",
    describe="Use the letter '{letter}' {let_relation} {let_frequency} times.",
)(letter_frequency)

_PARAGRAPHS = 3


@verifier(
    "count:counting_composition",
    describe="Write 3 paragraphs, parted by * * *, of exactly {n_sent} sentences with exactly "
    "{n_words} words each.",
)
def counting_composition(
    response: Response, *, n_sent: PositiveInt, n_words: PositiveInt
) -> Finding:
    """Three paragraphs between dividers have so many sentences, each of so many words."""
    if response.faithful is None:
        pieces = [part for part in re.split(r"\*[ \t]*\*[ \t]*\*", response.text) if part.strip()]
    else:
        pieces = re.split(r"\s?\*\*\*\s?", response.text)
    if len(pieces) != _PARAGRAPHS:
        return exactly(len(pieces), _PARAGRAPHS, "paragraph")
    for piece in pieces:
        inside = sentences(response, piece)
        if len(inside) != n_sent:
            return exactly(len(inside), n_sent, "sentence")
        for sentence in inside:
            number = len(words_of(response, sentence))
            if number != n_words:
                return exactly(number, n_words, "word")
    return Finding(met=True, found=f"3 paragraphs of {n_sent} sentences of {n_words} words")


# --- marks --------------------------------------------------------------------------------------


@verifier("punctuation:punctuation_dot")
def punctuation_dot(response: Response) -> Finding:
    """Use no dots."""
    return none(response.text.count("."), "dot")


@verifier("punctuation:punctuation_exclamation")
def punctuation_exclamation(response: Response) -> Finding:
    """Use no exclamation marks."""
    return none(response.text.count("!"), "exclamation mark")


# --- a word at a place --------------------------------------------------------------------------


@verifier("keywords:keyword_specific_position")
def keyword_specific_position(
    response: Response, *, keyword: str, n: PositiveInt, m: PositiveInt
) -> Finding:
    """Let word {m} of sentence {n} be '{keyword}'."""
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


@verifier("first_word:first_word_sent")
def first_word_sent(response: Response, *, first_word: str) -> Finding:
    """Start each sentence with the word '{first_word}'."""
    faithful = response.faithful is not None
    starts = [_first(sentence, faithful=faithful) for sentence in sentences(response)]
    return _all_are(starts, first_word, "start")


@verifier("last_word:last_word_sent")
def last_word_sent(response: Response, *, last_word: str) -> Finding:
    """End each sentence with the word '{last_word}'."""
    faithful = response.faithful is not None
    ends = [_last(sentence, faithful=faithful) for sentence in sentences(response)]
    return _all_are(ends, last_word, "end")


def _all_are(words: list[str], required: str, verb: str) -> Finding:
    other = [word for word in words if word != required.strip().lower()]
    counted = (
        f"{len(words) - len(other)} of {amount(len(words), 'sentence')} {verb} with '{required}'"
    )
    return Finding(met=not other, found=f"{counted}; one with '{other[0]}'" if other else counted)


@verifier("first_word:first_word_answer")
def first_word_answer(response: Response, *, first_word: str) -> Finding:
    """Start the response with the word '{first_word}'."""
    word = _first(response.text, faithful=response.faithful is not None)
    return Finding(met=word == first_word.strip().lower(), found=f"it starts with '{word}'")


@verifier("last_word:last_word_answer")
def last_word_answer(response: Response, *, last_word: str) -> Finding:
    """End the response with the word '{last_word}'."""
    word = _last(response.text, faithful=response.faithful is not None)
    return Finding(met=word == last_word.strip().lower(), found=f"it ends with '{word}'")


@verifier("keywords:start_end")
def start_end(response: Response) -> Finding:
    """Start and end the response with the same word, and put nothing after it."""
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


@verifier("keywords:no_adjacent_consecutive")
def no_adjacent_consecutive(response: Response) -> Finding:
    """Start no word with the letter of the alphabet that follows the last word's."""
    strict = response.faithful is None
    words = bare_words(response.lower) if strict else response.lower.split()
    for first, second in pairwise(words):
        lettered = first[0].isalpha() and second[0].isalpha()
        if ord(second[0]) - ord(first[0]) == 1 and (lettered or not strict):
            reason = f"{quoted([first, second])} start with letters that follow each other"
            return Finding(met=False, found=reason)
    return Finding(met=True, found="no two words in a row start with letters that do")


_SHORTEST_PALINDROME = 3


@verifier("keywords:palindrome")
def palindrome(response: Response) -> Finding:
    """Use a palindrome."""
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


@verifier("detectable_format:square_brackets")
def square_brackets(response: Response) -> Finding:
    """Put each word in square brackets."""
    pieces = response.text.split()
    if response.faithful is None:
        bare = [piece for piece in pieces if not _BRACKETED.fullmatch(piece)]
        bare = [piece for piece in bare if any(map(str.isalnum, piece))]
    else:
        bare = [piece for piece in pieces if not (piece.startswith("[") and piece.endswith("]"))]
    return unless(bare, "not in brackets of its own", "each word is in brackets")


@verifier("detectable_format:bigram_wrapping")
def bigram_wrapping(response: Response) -> Finding:
    """Put each pair of words in double angular brackets: <<I am>> <<at home>>."""
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


@verifier("detectable_format:sentence_hyphens")
def sentence_hyphens(response: Response) -> Finding:
    """Join the sentences by hyphens, without spaces between them."""
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


@verifier("paragraphs:paragraphs")
def paragraphs(response: Response) -> Finding:
    """Write 2 paragraphs, separated by the divider ***."""
    return _two(re.split(r"\s?\*\*\*\s?", response.text))


@verifier("paragraphs:paragraphs2")
def paragraphs2(response: Response) -> Finding:
    """Write 2 paragraphs, separated by an empty line."""
    if response.faithful is None:
        return exactly(len(response.paragraphs), 2, "paragraph")
    return _two(response.text.split("\n\n"))


_INSIDE, _BOUNDARY = "\ue000", "\ue001"
"""Stand for a full stop inside of a sentence, and for the end of one."""

_BEGINNINGS = (
    r"Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|Wherever"
    r"|(?:He|She|It|They|Their|Our|We|But|However|That|This)\s"
)
_RULES: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"(Mr|St|Mrs|Ms|Dr)\.", rf"\1{_INSIDE}"),
    (r"\.(com|net|org|io|gov|edu|me)", rf"{_INSIDE}\1"),
    (r"([0-9])\.([0-9])", rf"\1{_INSIDE}\2"),
    (r"\.{2,}", lambda dots: _INSIDE * len(dots[0]) + _BOUNDARY),
    (r"Ph\.D\.", f"Ph{_INSIDE}D{_INSIDE}"),
    (r"\s([A-Za-z])\. ", rf" \1{_INSIDE} "),
    (rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) ({_BEGINNINGS})", rf"\1{_BOUNDARY} \2"),
    (r"([A-Za-z])\.([A-Za-z])\.([A-Za-z])\.", rf"\1{_INSIDE}\2{_INSIDE}\3{_INSIDE}"),
    (r"([A-Za-z])\.([A-Za-z])\.", rf"\1{_INSIDE}\2{_INSIDE}"),
    (rf" (Inc|Ltd|Jr|Sr|Co)\. ({_BEGINNINGS})", rf" \1{_BOUNDARY} \2"),
    (r" (Inc|Ltd|Jr|Sr|Co)\.", rf" \1{_INSIDE}"),
    (r" ([A-Za-z])\.", rf" \1{_INSIDE}"),
    (r"\.”", "”."),
    (r'\."', '".'),
    (r'!"', '"!'),
    (r'\?"', '"?'),
    (r"[.?!]", rf"\g<0>{_BOUNDARY}"),
]
_COMPILED_RULES = [(re.compile(pattern), replacement) for pattern, replacement in _RULES]


def split_by_rules(text: str) -> list[str]:
    """Split English text into sentences by the rules that IFEvalG's code has beside Punkt's."""
    text = f" {text}  ".replace("\n", " ")
    for pattern, replacement in _COMPILED_RULES:
        text = pattern.sub(replacement, text)
    *pieces, last = map(str.strip, text.replace(_INSIDE, ".").split(_BOUNDARY))
    return [*pieces, last] if last else pieces


def sentences(response: Response, text: str | None = None) -> list[str]:
    """Split a response, or a part of it, into sentences; by rules where scoring is faithful."""
    if response.faithful is not None:
        return split_by_rules(response.text if text is None else text)
    return response.sentences if text is None else splitter().split(text)


def words_of(response: Response, sentence: str) -> list[str]:
    """Cut a sentence into words: as readers do, or faithfully, as NLTK does."""
    if response.faithful is None:
        return bare_words(sentence)
    return treebank_words(splitter().split(sentence))
