"""IFBench's verifiers of marks in and around the text: brackets, quotations, emoji, italics, case.

Source: as for :mod:`heedful.verify.ifbench.count`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

import re
import string
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.verify.base import Finding, amount, compare, quoted, verifier
from heedful.verify.extras import imported
from heedful.verify.text.tokens import ASCII_EDGES, bare_words, without_punctuation, word_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.verify.text.prepared import Response

__all__: list[str] = []

# --- brackets and quotations --------------------------------------------------------------------

_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_BRACKETS_DEPTH = 5
_QUOTES_DEPTH = 3


@verifier("format:parentheses", describe="Nest brackets of any kind at least 5 levels deep.")
def parentheses(response: Response) -> Finding:
    """Brackets of the three kinds stand five deep inside of each other, each properly closed.

    Faithful: the outer ones need not be closed.
    """
    depth = _closed_depth(response.text)
    if response.faithful is not None:
        depth = _opened_depth(response.text)
    return compare(depth, "at least", _BRACKETS_DEPTH, "level")


def _closed_depth(text: str) -> int:
    """Find how deep brackets are nested at most, counting those that are closed in order."""
    deepest = 0
    inside: list[tuple[str, int]] = []  # open brackets, and how many levels are inside of each
    for char in text:
        if char in _CLOSED_BY:
            inside.append((char, 0))
        elif char in ")]}":
            if not inside or _CLOSED_BY[inside[-1][0]] != char:
                inside.clear()
                continue
            deepest = max(deepest, _close(inside))
    return deepest


def _opened_depth(text: str) -> int:
    """Find how many brackets are open at most where one is closed in order."""
    deepest = 0
    inside: list[str] = []
    for char in text:
        if char in _CLOSED_BY:
            inside.append(char)
        elif char in ")]}":
            if inside and _CLOSED_BY[inside[-1]] == char:
                deepest = max(deepest, len(inside))
                inside.pop()
            else:
                inside.clear()
    return deepest


_CURLY = str.maketrans("“”„«»‘’‚", '"""""\'\'\'')
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")


@verifier("format:quotes", describe="Nest quotations at least 3 levels deep, in \" and ' by turns.")
def quotes(response: Response) -> Finding:
    """Quotations of double and single marks stand three deep inside of each other, all closed.

    Curly marks are as good as straight ones, and apostrophes inside of words are none.

    Faithful: only straight marks, apostrophes included.
    """
    text = response.text
    if response.faithful is None:
        text = _APOSTROPHE.sub("", text).translate(_CURLY)
    return compare(_quoted_depth(text), "at least", _QUOTES_DEPTH, "level")


def _quoted_depth(text: str) -> int:
    """Find how deep quotations are nested at most, counting those that are closed."""
    deepest = 0
    inside: list[tuple[str, int]] = []  # open marks, and how many levels are inside of each
    for mark in re.findall("[\"']", text):
        if inside and inside[-1][0] == mark:
            deepest = max(deepest, _close(inside))
        else:
            inside.append((mark, 0))
    return deepest


def _close(inside: list[tuple[str, int]]) -> int:
    """Close the mark that was opened last; return how many levels it makes."""
    levels = inside.pop()[1] + 1
    if inside:
        opening, most = inside[-1]
        inside[-1] = (opening, max(most, levels))
    return levels


@verifier(
    "format:quote_unquote", describe="Explain each quotation in words that follow it, unquoted."
)
def quote_unquote(response: Response) -> Finding:
    """After each quotation in double marks come words outside of quotations.

    A response without quotations meets it. Curly marks are as good as straight ones.

    Faithful: only straight marks; no two may be neighbours, white space aside, and none the last
    character but for digits and punctuation.
    """
    if response.faithful is not None:
        text = "".join(response.text.replace("'\"'", "").split())
        end = text.rstrip(_DIGITS_AND_MARKS)
        met = '""' not in text and not end.endswith('"')
        return Finding(met=met, found="all explained" if met else "a quotation without explanation")
    pieces = response.text.translate(_CURLY).split('"')
    bare = sum(not bare_words(after) for after in pieces[2::2])
    return Finding(met=not bare, found=f"{amount(bare, 'quotation')} without explanation")


_DIGITS_AND_MARKS = string.digits + string.punctuation.replace('"', "")

# --- emoji, italics, titles ---------------------------------------------------------------------

_LONGEST_EMOJI = 16


@verifier("format:emoji", describe="End each sentence with an emoji.")
def emoji(response: Response) -> Finding:
    """Each sentence with words ends with an emoji, or is followed by one; by the emoji package.

    Faithful: an emoji is a single character, so that flags and keycaps are none; it may be the last
    but one; and a piece of nothing but marks counts as a sentence.
    """
    package = imported("emoji")
    if response.faithful is None:
        ends = [
            _Ends(*_emoji_at_ends(package, sentence), any(map(str.isalpha, sentence)))
            for sentence in response.sentences
        ]
    else:
        bare = [without_punctuation(sentence).strip() for sentence in response.sentences]
        if not all(bare):
            return Finding(met=False, found="a sentence of nothing but marks")
        ends = [
            _Ends(package.is_emoji(each[0]), any(map(package.is_emoji, each[-2:])), needs=True)
            for each in bare
        ]
    without = sum(
        this.needs and not this.end and not (following and following.start)
        for this, following in zip_longest(ends, ends[1:])
    )
    return Finding(met=not without, found=f"{amount(without, 'sentence')} without an emoji")


class _Ends(NamedTuple):
    """Whether a sentence starts and ends with an emoji, and whether it needs one."""

    start: bool
    end: bool
    needs: bool


def _emoji_at_ends(package: Any, sentence: str) -> tuple[bool, bool]:
    """Look for an emoji at the start and at the end of a sentence, punctuation aside."""
    text = sentence.strip(ASCII_EDGES)
    head, tail = text[:_LONGEST_EMOJI], text[-_LONGEST_EMOJI:]
    start = any(each["match_start"] == 0 for each in package.emoji_list(head))
    return start, any(each["match_end"] == len(tail) for each in package.emoji_list(tail))


_HEADING = re.compile(r"[ \t]*(?:#+ .*|<h[1-6]\b.*|(?:\*\*|__)[^*_]+(?:\*\*|__):?)[ \t]*")
_THESIS = re.compile(r"\s*<(i|em)>\s*[^\s<].*?</\1>(.*)", re.DOTALL)


@verifier(
    "format:thesis",
    describe="Start each section with a thesis statement in HTML italics: <i>thesis</i>.",
)
def thesis(response: Response) -> Finding:
    """Each section starts with text in ``<i>`` or ``<em>``, and goes on after it.

    Headings (markdown's, HTML's, or a line all in bold) start sections; what is before the first
    is none. Without headings, the response is one section.

    Faithful: some text in italics occurs, anywhere, and something after it.
    """
    if response.faithful is not None:
        return _some_italics(response.text)
    sections: list[list[str]] = [[]]
    for line in response.text.split("\n"):
        if _HEADING.fullmatch(line):
            sections.append([])
        else:
            sections[-1].append(line)
    sections = sections[1:] or sections
    texts = [text for lines in sections if (text := "\n".join(lines)).strip()]
    without = sum(not (match := _THESIS.match(text)) or not match[2].strip() for text in texts)
    if not texts:
        return Finding(met=False, found="nothing but headings")
    return Finding(
        met=not without, found=f"{amount(without, 'section')} without a thesis in italics"
    )


def _some_italics(text: str) -> Finding:
    """Look for italics as the published code does, which takes ``<em>`` for three characters."""
    opening = "<i>" if "<i>" in text else "<em>"
    start = text.find(opening)
    text = text[start:]
    end = text.find("</i>") if "</i>" in text else text.find("</em>")
    if start < 0 or end < 0:
        return Finding(met=False, found="no italics")
    met = bool(text[3:end].strip() and text[end + 4 :].strip())
    return Finding(met=met, found="italics" if met else "nothing in italics, or nothing after them")


_MINOR_WORDS = frozenset(
    word_list(
        """
        a an the and but or nor for so yet as if vs
        at by in of off on per to up via with from into onto over than upon
        """
    )
)


@verifier("format:title_case", describe="Capitalise the first letter of every major word.")
def title_case(response: Response) -> Finding:
    """All words start with a capital, but for articles, conjunctions and short prepositions.

    The first word of a sentence is never one of these. Words that start with no letter are passed
    over.

    Faithful: those must start with a capital too, and so must the ``n't`` of ``Don't``; a word of
    small and capital letters, such as ``iPhone``, need not.
    """
    if response.faithful is not None:
        small = [
            word
            for word in response.tokens
            if word[0].islower() and (len(word) == 1 or word[1:].islower() or word[1:].isupper())
        ]
    else:
        small = [
            word
            for sentence in response.sentences
            for at, word in enumerate(bare_words(sentence))
            if word[0].islower() and (at == 0 or word not in _MINOR_WORDS)
        ]
    if small:
        return Finding(met=False, found=f"without a capital: {quoted(_first(small))}")
    return Finding(met=True, found="all major words start with a capital")


def _first(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))[:3]
