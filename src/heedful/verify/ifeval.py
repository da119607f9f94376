"""IFEval's 25 verifiers.

Source: Zhou et al. 2023, *Instruction-Following Evaluation for Large Language Models* (arXiv
2311.07911), its data and its public code, whose verdicts these give. Where that code has a defect,
strict scoring mends it and faithful scoring reproduces it; the docstring of the verifier says
which. The words of data, misspellings included (``section_spliter``), are kept.
"""

from __future__ import annotations

import json
import re
import string
from typing import TYPE_CHECKING

from heedful.verify.base import (
    Finding,
    Relation,  # noqa: TC001 - read from the signatures at run time
    amount,
    compare,
    verifier,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.verify.text import Response

__all__: list[str] = []

# --- keywords -----------------------------------------------------------------------------------


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _pattern(response: Response, words: str) -> str:
    """Take words of the data literally; the published code reads them as regular expressions."""
    return re.escape(words) if response.faithful is None else words


@verifier(
    "keywords:existence",
    describe=lambda keywords: f"Include the keywords {_quoted(keywords)}.",
)
def existence(response: Response, *, keywords: list[str]) -> Finding:
    """All keywords occur, in any case, also inside of longer words.

    Faithful: keywords are regular expressions.
    """
    missing = [
        word
        for word in keywords
        if not re.search(_pattern(response, word), response.text, re.IGNORECASE)
    ]
    if missing:
        return Finding(met=False, found=f"missing: {_quoted(missing)}")
    return Finding(met=True, found="all keywords are there")


@verifier("keywords:frequency", describe="Use the word '{keyword}' {relation} {frequency} times.")
def frequency(response: Response, *, keyword: str, frequency: int, relation: Relation) -> Finding:
    """A keyword occurs often enough, or seldom enough, in any case, also inside of longer words.

    Faithful: the keyword is a regular expression.
    """
    pattern = _pattern(response, keyword.strip())
    times = sum(1 for _ in re.finditer(pattern, response.text, re.IGNORECASE))
    return compare(times, relation, frequency, "occurrence")


@verifier(
    "keywords:forbidden_words",
    describe=lambda forbidden_words: f"Do not use the words {_quoted(forbidden_words)}.",
)
def forbidden_words(response: Response, *, forbidden_words: list[str]) -> Finding:
    r"""None of the words occurs as a whole word, in any case.

    Faithful: the words are regular expressions between ``\b``, so that one which starts or ends
    with a sign, such as ``c++``, is overlooked.
    """
    strict = response.faithful is None
    used = [
        word
        for word in forbidden_words
        if re.search(
            rf"(?<!\w){re.escape(word)}(?!\w)" if strict else rf"\b{word}\b",
            response.text,
            re.IGNORECASE,
        )
    ]
    if used:
        return Finding(met=False, found=f"used: {_quoted(used)}")
    return Finding(met=True, found="none of the words is used")


@verifier(
    "keywords:letter_frequency",
    describe="Use the letter '{letter}' {let_relation} {let_frequency} times.",
)
def letter_frequency(
    response: Response, *, letter: str, let_frequency: int, let_relation: Relation
) -> Finding:
    """A letter occurs often enough, or seldom enough, in any case.

    Faithful: for anything but one letter from a to z, such as ``#``, a random letter is counted
    in its place.
    """
    asked = letter.lower()
    if response.faithful is not None and asked not in set(string.ascii_lowercase):
        asked = response.faithful.choice(string.ascii_letters).lower()
    return compare(response.lower.count(asked), let_relation, let_frequency, f"'{asked}'")


# --- language and case --------------------------------------------------------------------------

# The languages of IFEval's prompts; another's code stands for itself.
_LANGUAGES = dict(
    pair.split("=")
    for pair in (
        "ar=Arabic bg=Bulgarian bn=Bengali de=German en=English es=Spanish fa=Persian fi=Finnish "
        "fr=French gu=Gujarati he=Hebrew hi=Hindi it=Italian ja=Japanese kn=Kannada ko=Korean "
        "ml=Malayalam mr=Marathi ne=Nepali pa=Punjabi pl=Polish pt=Portuguese ru=Russian "
        "sw=Swahili ta=Tamil te=Telugu th=Thai uk=Ukrainian ur=Urdu vi=Vietnamese zh=Chinese"
    ).split()
)


def _in_language(response: Response, language: str) -> Finding:
    """Compare the language detected; a text without any counts as met, as in the original."""
    detected = response.language
    if detected is None:
        return Finding(met=True, found="no letters that tell the language")
    met = detected == language
    if response.faithful is None:
        met = met or detected.startswith(f"{language}-")
    name = _LANGUAGES.get(detected, detected)
    return Finding(met=met, found=f"the language is {name}")


@verifier(
    "language:response_language",
    describe=lambda language: f"Respond only in {_LANGUAGES.get(language, language)}.",
)
def response_language(response: Response, *, language: str) -> Finding:
    """The response is in a language, as langdetect finds.

    Faithful: a text all in capitals is given to the detector as it is, and it tells little of
    capitals; and ``zh`` is never met, because the detector answers ``zh-cn`` or ``zh-tw``.
    """
    return _in_language(response, language)


@verifier(
    "change_case:english_capital",
    describe="Respond in English, all in capital letters.",
)
def english_capital(response: Response) -> Finding:
    """No letter is in lower case, and the language is English.

    Faithful: the language is detected on the capitals as they are, where English is often taken
    for German or another language.
    """
    if not response.text.isupper():
        return Finding(met=False, found="not all letters are capitals")
    return _in_language(response, "en")


@verifier(
    "change_case:english_lowercase",
    describe="Respond in English, all in lower-case letters.",
)
def english_lowercase(response: Response) -> Finding:
    """No letter is a capital, and the language is English."""
    if not response.text.islower():
        return Finding(met=False, found="not all letters are in lower case")
    return _in_language(response, "en")


@verifier(
    "change_case:capital_word_frequency",
    describe="Use {capital_relation} {capital_frequency} words all in capital letters.",
)
def capital_word_frequency(
    response: Response, *, capital_frequency: int, capital_relation: Relation
) -> Finding:
    """Enough words, or few enough, are all in capitals; ``DON'T`` is two, ``WELL-KNOWN`` one."""
    return compare(response.capital_words, capital_relation, capital_frequency, "capital word")


# --- length -------------------------------------------------------------------------------------


@verifier(
    "length_constraints:number_sentences", describe="Write {relation} {num_sentences} sentences."
)
def number_sentences(response: Response, *, num_sentences: int, relation: Relation) -> Finding:
    """There are enough sentences, or few enough."""
    return compare(len(response.sentences), relation, num_sentences, "sentence")


@verifier("length_constraints:number_words", describe="Write {relation} {num_words} words.")
def number_words(response: Response, *, num_words: int, relation: Relation) -> Finding:
    """There are enough words, or few enough; ``don't`` is two."""
    return compare(len(response.words), relation, num_words, "word")


@verifier(
    "length_constraints:number_paragraphs",
    describe="Write exactly {num_paragraphs} paragraphs, separated by the divider ***.",
)
def number_paragraphs(response: Response, *, num_paragraphs: int) -> Finding:
    """There are so many paragraphs between dividers, and none inside is empty."""
    first, *inner, last = [piece.strip() for piece in _split_at(_DIVIDER, response.text, 2)]
    if not all(inner):
        return Finding(met=False, found="an empty paragraph between two dividers")
    number = len(inner) + bool(first) + bool(last)
    return Finding(met=number == num_paragraphs, found=_exactly(number, num_paragraphs))
