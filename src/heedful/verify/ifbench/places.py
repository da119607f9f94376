"""IFBench's verifiers of what stands where, and of the tasks whose constraint is all of the prompt.

Source: as for :mod:`heedful.verify.ifbench.words`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

import csv
import io
import re
import string
import unicodedata
from datetime import date
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt  # noqa: TC002 - read at run time

from heedful.verify.base import Finding, amount, exactly, none, verifier
from heedful.verify.text.words import (
    ASCII_EDGES,
    bare_words,
    treebank_words,
    whole_word,
    without_punctuation,
    word_list,
)

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

# --- a word at a place --------------------------------------------------------------------------


@verifier("sentence:keyword")
def keyword(response: Response, *, word: str, N: PositiveInt) -> Finding:
    """Use the word '{word}' in sentence {N}."""
    number = len(response.sentences)
    if number < N:
        return Finding(met=False, found=f"{amount(number, 'sentence')}, asked for a word in {N}")
    met = whole_word(word).search(response.sentences[N - 1]) is not None
    return Finding(met=met, found=f"sentence {N} {'has' if met else 'does not have'} '{word}'")


@verifier("words:keywords_specific_position")
def keywords_specific_position(
    response: Response, *, keyword: str, n: PositiveInt, m: PositiveInt
) -> Finding:
    """Let word {m} of sentence {n} be '{keyword}'."""
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


@verifier("words:words_position")
def words_position(response: Response, *, keyword: str) -> Finding:
    """Let the second word and the last but one be '{keyword}'."""
    words = response.bare_words if response.faithful is None else response.tokens
    if len(words) < 2:  # noqa: PLR2004 - the second word must be there
        return Finding(met=False, found=amount(len(words), "word"))
    there = words[1], words[-2]
    met = all(word.lower() == keyword.strip().lower() for word in there)
    return Finding(met=met, found=f"the second word is '{there[0]}', the last but one '{there[1]}'")


# --- first and last words -----------------------------------------------------------------------


@verifier("words:last_first")
def last_first(response: Response) -> Finding:
    """Start each sentence with the last word of the sentence before it."""
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


@verifier("words:paragraph_last_first")
def paragraph_last_first(response: Response) -> Finding:
    """End each paragraph (one line each) with the word it starts with."""
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


@verifier("sentence:increment")
def increment(response: Response, *, small_n: NonNegativeInt) -> Finding:
    """Give each sentence exactly {small_n} more words than the one before it."""
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


@verifier("sentence:alliteration_increment")
def alliteration_increment(response: Response) -> Finding:
    """Give each sentence a longer run of words with the same first letter than the last."""
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


# --- lists --------------------------------------------------------------------------------------

_MULTIPLES = [str(number) for number in range(14, 51, 7)]


@verifier("custom:multiples")
def multiples(response: Response) -> Finding:
    """Print the multiples of 7 from 10 to 50, and no other numbers."""
    numbers = re.findall(r"\d+", response.text)
    return Finding(met=numbers == _MULTIPLES, found=f"the numbers {', '.join(numbers[:10])}")


def _ascii(text: str) -> str:
    """Drop accents and everything else outside of ASCII."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


_LEAST_COUNTRIES = 52


@verifier("custom:reverse_newline")
def reverse_newline(response: Response) -> Finding:
    """List the countries of Africa in reverse alphabetical order, one a line."""
    lines = [bare for line in response.text.split("\n") if (bare := line.strip(ASCII_EDGES))]
    start = next((at for at, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    names = [_ascii(line) for line in lines[start:]]
    if response.faithful is None:
        names = [name.lower() for name in names]
    if len(names) < _LEAST_COUNTRIES:
        return Finding(met=False, found=f"{amount(len(names), 'line')} from Zimbabwe on")
    disorder = sum(before < name for before, name in pairwise(names))
    reason = f"{amount(len(names), 'line')}, {disorder} of them out of order"
    return Finding(met=not disorder, found=reason)


# From north to south. The published list lacks Kyiv, at 50.45 degrees.
_CAPITALS = word_list("capitals_of_europe")
_OTHER_NAMES = {"Kiev": "Kyiv", "Luxembourg City": "Luxembourg", "Berne": "Bern"}


@verifier("custom:european_capitals_sort")
def european_capitals_sort(response: Response) -> Finding:
    """List Europe's capitals north of 45 degrees of latitude, with commas, from north to south."""
    capitals = _CAPITALS
    text = _ascii(response.text).strip()
    if response.faithful is None:
        text = text.removesuffix(".")
    names = [name.strip() for name in text.split(",") if name.strip()]
    if response.faithful is None:
        names = [_OTHER_NAMES.get(name, name) for name in names]
    else:
        capitals = tuple(name for name in _CAPITALS if name != "Kyiv")
    if len(names) != len(capitals):
        return exactly(len(names), len(capitals), "name")
    for at, (name, expected) in enumerate(zip(names, capitals, strict=True), 1):
        if name != expected:
            return Finding(met=False, found=f"name {at} is '{name}', not '{expected}'")
    return Finding(met=True, found="all capitals, in order")


_NAPOLEON = range(1769, 1822)
_LEAP_YEAR = 1804


@verifier("custom:date_format_list")
def date_format_list(response: Response) -> Finding:
    """List the dates of Napoleon's battles as YYYY-MM-DD, with commas and nothing else."""
    for piece in map(str.strip, response.text.strip().split(",")):
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", piece):
            return Finding(met=False, found=f"'{piece[:40]}' isn't a date in that form")
        year, month, day = map(int, piece.split("-"))
        if year not in _NAPOLEON or not _is_date(
            year, month, day, faithful=response.faithful is not None
        ):
            return Finding(met=False, found=f"'{piece}' isn't a date of Napoleon's lifetime")
    return Finding(met=True, found="nothing but dates in that form")


def _is_date(year: int, month: int, day: int, *, faithful: bool) -> bool:
    if faithful:
        if not month:
            return True
        year, day = _LEAP_YEAR, day or 1
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


# --- sentences ----------------------------------------------------------------------------------


@verifier("custom:word_reverse")
def word_reverse(response: Response) -> Finding:
    """Name the national symbol of the US in a sentence with the order of words reversed."""
    words = without_punctuation(response.lower).split()
    met = "bald eagle" in " ".join(reversed(words))
    return Finding(met=met, found=f"read backwards, {'a' if met else 'no'} bald eagle")


@verifier("custom:character_reverse")
def character_reverse(response: Response) -> Finding:
    """Name the national symbol of the US in a sentence with the order of letters reversed."""
    met = "bald eagle"[::-1] in response.lower
    return Finding(met=met, found=f"read backwards, {'a' if met else 'no'} bald eagle")


@verifier("custom:sentence_alphabet")
def sentence_alphabet(response: Response) -> Finding:
    """Write 26 sentences whose first words start with the letters from A to Z, in order."""
    sentences = response.sentences
    if len(sentences) != len(string.ascii_lowercase):
        return exactly(len(sentences), len(string.ascii_lowercase), "sentence")
    for sentence, letter in zip(sentences, string.ascii_lowercase, strict=True):
        words = bare_words(sentence) if response.faithful is None else sentence.split()
        if not words or words[0][0].lower() != letter:
            reason = f"'{words[0] if words else sentence}', where {letter.upper()} was to come"
            return Finding(met=False, found=reason)
    return Finding(met=True, found="26 sentences from A to Z")


_QUESTION = re.compile(r"Question\b(?:[ \t]+\d+)?[.|):;]?")
_QUESTION_FAITHFUL = re.compile(r"(?:(?<!\n)\n++)?Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_QUESTIONS, _OPTIONS = 4, 5


@verifier("custom:mcq_count_length")
def mcq_count_length(response: Response) -> Finding:
    """Write 4 questions labelled 'Question', each longer than the last and with 5 options."""
    text = response.text if response.faithful is not None else response.text.strip()
    if not text.startswith("Question"):
        return Finding(met=False, found="it does not start with the label 'Question'")
    if response.faithful is None:
        questions = _labelled(text)
    else:
        questions = [each for each in _QUESTION_FAITHFUL.split(text) if each.strip()]
    if len(questions) != _QUESTIONS:
        return exactly(len(questions), _QUESTIONS, "question")
    lengths = []
    for question in questions:
        lines = [line.strip() for line in question.strip().split("\n")]
        options = [at for at, line in enumerate(lines) if _OPTION.match(line)]
        if len(options) != _OPTIONS:
            return exactly(len(options), _OPTIONS, "option")
        lengths.append(len(" ".join(lines[: options[0]]).strip()))
    met = all(before < length for before, length in pairwise(lengths))
    return Finding(met=met, found=f"questions of {', '.join(map(str, lengths))} characters")


def _labelled(text: str) -> list[str]:
    """Cut a text at the lines that start with the label."""
    questions: list[list[str]] = []
    for line in text.split("\n"):
        label = _QUESTION.match(line.lstrip())
        if label:
            questions.append([line.lstrip()[label.end() :]])
        elif questions:
            questions[-1].append(line)
    return ["\n".join(lines) for lines in questions]


# --- tables -------------------------------------------------------------------------------------


def _table(text: str, delimiter: str, *, quotes: bool = False) -> list[list[str]]:
    """Read delimited rows, empty ones too; with ``quotes``, fields keep the quotes around them."""
    if quotes:
        text = text.replace('"', '"""')
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        return []


def _shaped(rows: list[list[str]], header: list[str], count: int) -> Finding | None:
    """Say what is wrong with the size or the header of a table, if anything."""
    if not rows or [name.strip().strip('"') for name in rows[0]] != header:
        return Finding(met=False, found=f"the first row is not {', '.join(header)}")
    if len(rows) != count + 1:
        return exactly(len(rows) - 1, count, "row")
    if any(len(row) != len(header) for row in rows):
        return Finding(met=False, found=f"a row without {len(header)} fields")
    return None


def _body(response: Response) -> str:
    """Return the text; strictly, without white space around it, which would count as a row."""
    return response.text if response.faithful is not None else response.text.strip()


_CITY = ["ID", "Country", "City", "Year", "Count"]


@verifier("custom:csv_city")
def csv_city(response: Response) -> Finding:
    """Write CSV with commas: the columns ID, Country, City, Year, Count, and 7 rows."""
    rows = _table(_body(response), ",")
    wrong = _shaped(rows, _CITY, 7)
    if not wrong and response.faithful is not None and rows[0] != _CITY:
        return Finding(met=False, found="spaces in the header")
    return wrong or Finding(met=True, found="7 rows of 5 fields")


@verifier(
    "custom:csv_special_character",
    describe="Write CSV with commas: the columns ProductID, Category, Brand, Price, Stock, and 14 "
    "rows; one field with a special character, in double quotes.",
)
def csv_special_character(response: Response) -> Finding:
    """The response is the header and 14 rows of five fields, one of them quoted and special."""
    rows = _table(_body(response), ",", quotes=True)
    wrong = _shaped(rows, ["ProductID", "Category", "Brand", "Price", "Stock"], 14)
    if wrong:
        return wrong
    special = any(re.match(r'".*[^\w\s].*"', field) for row in rows[1:] for field in row)
    return Finding(met=special, found=f"{'a' if special else 'no'} special character in quotes")


@verifier(
    "custom:csv_quotes",
    describe="Write CSV with tabs: the columns StudentID, Subject, Grade, Semester, Score, and 3 "
    "rows; every field in double quotes.",
)
def csv_quotes(response: Response) -> Finding:
    """The response is the header and three rows of five fields, all of them in double quotes."""
    rows = _table(_body(response), "\t", quotes=True)
    wrong = _shaped(rows, ["StudentID", "Subject", "Grade", "Semester", "Score"], 3)
    if wrong:
        return wrong
    bare = sum(not re.fullmatch(r'\s*".*"\s*', field) for row in rows for field in row)
    return none(bare, "field", " without quotes")
