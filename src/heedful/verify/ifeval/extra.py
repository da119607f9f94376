"""IFEvalG's verifiers of copying, keywords, counts and marks.

Source: Pyatkin et al. 2025 (arXiv 2507.02833), who made these 29 constraints for training, and the
public code (allenai/open-instruct at 14146d7). Strict scoring gives what the constraint's text
means; faithful scoring what that code computes. Where they differ, the docstring of the verifier
says how.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt  # noqa: TC002 - read at run time

from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, Relation, amount, compare, exactly, quoted, verifier
from heedful.verify.ifbench.copying import span
from heedful.verify.ifeval.content import letter_frequency
from heedful.verify.ifeval.splitting import sentences, words_of
from heedful.verify.text.tokens import bare_words, whole_word

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__: list[str] = []

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
    return Finding(met=not wrong, found=f"{amount(wrong, 'part')} other than the request")


@verifier(
    "new:copy_span_idx",
    describe="Copy characters {n_start} to {n_end}, both included and counted from 0, of: "
    "{prompt_to_repeat}",
)
def copy_span_idx(
    response: Response, *, prompt_to_repeat: str, n_start: NonNegativeInt, n_end: NonNegativeInt
) -> Finding:
    """The response is the characters of the request between two places, in any case.

    White space at the ends of either does not matter.

    Faithful: the last of these characters is left out, and instead of the place 0 a random one is
    taken.
    """
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

    Faithful: from each first word on up to the next last word is a repetition, in that case, and
    must be no longer; all may have one word replaced, the last one must.
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
    unchanged = close.count(0)
    return Finding(met=not unchanged, found=f"{amount(unchanged, 'repetition')} unchanged")


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


@verifier("keywords:word_once", describe="Use the word '{keyword}' exactly once.")
def word_once(response: Response, *, keyword: str) -> Finding:
    """The keyword occurs once, as a whole word, in any case.

    Faithful: it is a regular expression, and found inside of longer words too.
    """
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
    """The keyword occurs exactly the given number of times, as a whole word, in any case.

    Faithful: less often, or at least as often, by a relation that the constraint's text does not
    mention; and as a regular expression, inside of longer words too.
    """
    number = _occurrences(response, keyword)
    if response.faithful is None:
        return exactly(number, frequency, "occurrence")
    return compare(number, relation, frequency, "occurrence")


@verifier("keywords:exclude_word_harder", describe="Do not use the word '{keyword}'.")
def exclude_word_harder(response: Response, *, keyword: str) -> Finding:
    """The keyword does not occur, as a whole word, in any case.

    Faithful: only between two spaces and in that case.
    """
    if response.faithful is None:
        number = _occurrences(response, keyword)
    else:
        number = response.text.count(f" {keyword.strip()} ")
    return Finding(met=not number, found=f"{amount(number, 'occurrence')}, none allowed")


@verifier(
    "count:count_increment_word", describe="Use '{keyword1}' exactly once and '{keyword2}' twice."
)
def count_increment_word(response: Response, *, keyword1: str, keyword2: str) -> Finding:
    """One keyword occurs once, the other twice, as whole words, in any case.

    Faithful: they are regular expressions, and found inside of longer words too.
    """
    once, twice = _occurrences(response, keyword1), _occurrences(response, keyword2)
    reason = (
        f"'{keyword1.strip()}' {amount(once, 'time')}, '{keyword2.strip()}' {amount(twice, 'time')}"
    )
    return Finding(met=(once, twice) == (1, 2), found=reason)


# --- counts -------------------------------------------------------------------------------------


@verifier("count:count_unique", describe="Use no word twice.")
def count_unique(response: Response) -> Finding:
    """No word occurs twice, in any case.

    Faithful: ``The`` and ``the`` are two words; a mark, such as a full stop, may not occur twice.
    """
    words = bare_words(response.lower) if response.faithful is None else response.tokens
    again = [word for word, number in Counter(words).items() if number > 1]
    if again:
        return Finding(met=False, found=f"more than once: {quoted(again[:3])}")
    return Finding(met=True, found="each word occurs once")


_LOWERCASE = re.compile(r"\b[a-z]+\b")


@verifier("count:lowercase_counting", describe="Use at most {N} words in lower case.")
def lowercase_counting(response: Response, *, N: NonNegativeInt) -> Finding:
    """At most the given number of words are all in lower case.

    Faithful: words are runs of the letters a to z; ``don't`` is two, ``café`` none.
    """
    if response.faithful is None:
        number = sum(map(str.islower, response.bare_words))
    else:
        number = len(_LOWERCASE.findall(response.text))
    return Finding(
        met=number <= N, found=f"{amount(number, 'word')} in lower case, at most {N} allowed"
    )


@verifier("letters:letter_counting", describe="Write {relation} {N} letters.")
def letter_counting(response: Response, *, N: NonNegativeInt, relation: Relation) -> Finding:
    """There are enough letters, or few enough.

    Faithful: only a to z are letters, so ``é`` is none.
    """
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
    """Three paragraphs between dividers have the given numbers of sentences and of words in each.

    A divider is three asterisks, with or without spaces; one may stand before and after all.

    Faithful: the asterisks stand together, and none before or after all; punctuation and clitics
    are words.
    """
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


def _without(response: Response, mark: str, name: str) -> Finding:
    number = response.text.count(mark)
    return Finding(met=not number, found=f"{amount(number, name)}, none allowed")


@verifier("punctuation:punctuation_dot", describe="Use no dots.")
def punctuation_dot(response: Response) -> Finding:
    """No dot occurs, not even inside of a number."""
    return _without(response, ".", "dot")


@verifier("punctuation:punctuation_exclamation", describe="Use no exclamation marks.")
def punctuation_exclamation(response: Response) -> Finding:
    """No exclamation mark occurs."""
    return _without(response, "!", "exclamation mark")
