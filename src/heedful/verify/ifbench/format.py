"""IFBench's verifiers of format and copying: templates, lists, lines, brackets, emoji, case.

Source: as for :mod:`heedful.verify.ifbench.words`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict, deque
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import NonNegativeInt  # noqa: TC002 - read at run time

from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, amount, compare, none, quoted, unless, verifier
from heedful.verify.ifbench.words import imported
from heedful.verify.text.sentences import splitter
from heedful.verify.text.words import (
    ASCII_EDGES,
    bare_words,
    unclosed,
    without_punctuation,
    word_set,
)

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

# --- answers and templates ----------------------------------------------------------------------

_OR = re.compile(r"(?<!\s)\s++or\s+|,(?:\s*or\b)?")
_LETTERED = re.compile(r"\W*a\W*b\W*c\W*", re.IGNORECASE)


@verifier("format:options")
def options(response: Response, *, options: str) -> Finding:
    """Answer with nothing but one of these: {options}."""
    if response.faithful is None:
        parts = options.split("/") if "/" in options else _OR.split(options)
        answer = response.text.strip()
    else:
        separator = "/" if "/" in options else "or" if "or" in options else ","
        parts, answer = options.split(separator), response.text
    choices = [part.strip() for part in parts]
    if not _LETTERED.match(options):
        choices = [choice.strip(ASCII_EDGES).lower() for choice in choices]
        answer = answer.strip(ASCII_EDGES).lower()
    if answer in choices:
        return Finding(met=True, found=f"'{answer}'")
    return Finding(met=False, found=f"none of {quoted(choices)} by itself")


_TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")


@verifier(
    "format:output_template",
    describe=f"Start with {_TEMPLATE[0]}, go on with {_TEMPLATE[1]}, end with {_TEMPLATE[2]}",
)
def output_template(response: Response) -> Finding:
    """The three labels stand in order, the first at the start, each with some text after it."""
    missing = [label for label in _TEMPLATE if label not in response.text]
    if response.faithful is None and not missing:
        start, answer, rest = response.text.partition(_TEMPLATE[0])
        answer, _, rest = rest.partition(_TEMPLATE[1])
        conclusion, _, outlook = rest.partition(_TEMPLATE[2])
        if start.strip() or not all(map(str.strip, (answer, conclusion, outlook))):
            return Finding(met=False, found="the labels are there, but not in the template's form")
    return unless(missing, "missing", "the template is followed")


@verifier("format:no_whitespace")
def no_whitespace(response: Response) -> Finding:
    """Use no spaces, line breaks or other white space."""
    return none(sum(map(str.isspace, response.text)), "white-space character")


# --- lists --------------------------------------------------------------------------------------

_LEAST_ITEMS = 2


@verifier("format:list")
def listed(response: Response, *, sep: str) -> Finding:
    """Answer with a list that has '{sep}' for its bullets."""
    if response.faithful is not None:
        number = response.text.count(sep)
    else:
        number = len(re.findall(rf"(?<!\S){re.escape(sep.strip())}", response.text))
    return compare(number, "at least", _LEAST_ITEMS, f"'{sep.strip()}'")


@verifier("format:sub-bullets")
def sub_bullets(response: Response) -> Finding:
    """Write bullet points with *, and under each at least one sub-bullet with -."""
    if response.faithful is not None:
        without = sum("-" not in part for part in response.text.split("*")[1:])
        return none(without, "asterisk", " without a hyphen")
    bullets = bare = 0
    waiting = False  # for a sub-bullet
    for line in map(str.lstrip, response.text.split("\n")):
        if _is_bullet(line):
            bullets += 1
            bare += waiting
            waiting = True
        elif line.startswith("-"):
            waiting = False
    bare += waiting
    if not bullets:
        return Finding(met=False, found="no bullet points with *")
    return Finding(
        met=not bare, found=f"{amount(bullets, 'bullet point')}, {bare} without sub-bullets"
    )


def _is_bullet(line: str) -> bool:
    """Tell a bullet with an asterisk from text in bold and from a divider (``***``)."""
    return line.startswith("*") and not line.startswith("**")


@verifier("format:no_bullets_bullets")
def sentences_then_bullets(response: Response) -> Finding:
    """Write two sentences or more with a full stop, then two bullet points or more with *."""
    lines = response.text.split("\n")
    starts = [line.strip().startswith("*") for line in lines]
    if response.faithful is None:
        starts = [_is_bullet(line.lstrip()) for line in lines]
    first = starts.index(True) if True in starts else len(lines)
    bullets = sum(starts)
    if response.faithful is None:
        before = splitter().split("\n".join(lines[:first]))
        sentences = sum(unclosed(each).endswith(".") for each in before)
        foreign = False
    else:
        counts = [len(splitter().split(line.strip())) for line in lines[:first]]
        sentences = sum(counts)
        foreign = 0 in counts[:-1] or not all(starts[first:])
    reason = f"{amount(sentences, 'sentence')}, then {amount(bullets, 'bullet point')}"
    met = sentences >= _LEAST_ITEMS and bullets >= _LEAST_ITEMS and not foreign
    return Finding(met=met, found=f"{reason}{'; other lines between or after' if foreign else ''}")


# --- lines --------------------------------------------------------------------------------------


@verifier("format:newline")
def newline(response: Response) -> Finding:
    """Write each word on a line of its own."""
    if response.faithful is not None:
        text = without_punctuation(response.text).strip()
        lines, words = len([line for line in text.split("\n") if line]), len(text.split())
        return Finding(met=lines == words, found=f"{amount(words, 'word')} on {lines} lines")
    longer = sum(len(bare_words(line)) > 1 for line in response.text.split("\n"))
    return none(longer, "line", " with more than one word")


@verifier("format:line_indent")
def line_indent(response: Response) -> Finding:
    """Indent each line more than the one before it."""
    lines = response.text.split("\n")
    if response.faithful is None:
        lines = [line.expandtabs() for line in lines if line.strip()]
        if len(lines) == 1:
            return Finding(met=False, found="a single line")
    else:
        lines = _without_some_blanks(lines)
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    flat = sum(line <= before for before, line in pairwise(indents))
    return none(flat, "line", " not indented more than the last")


def _without_some_blanks(lines: list[str]) -> list[str]:
    """Leave out blank lines as the published code does, which removes them while iterating."""
    remaining: list[str | None] = []
    passed: defaultdict[str, deque[int]] = defaultdict(deque)  # blank lines that remained
    pass_over = False
    for line in lines:
        removes = not (line.strip() or pass_over)
        pass_over = removes
        if removes:
            if not passed[line]:
                continue
            remaining[passed[line].popleft()] = None
        if not line.strip():
            passed[line].append(len(remaining))
        remaining.append(line)
    return [line for line in remaining if line is not None]


# --- brackets and quotations --------------------------------------------------------------------

_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_BRACKETS_DEPTH = 5
_QUOTES_DEPTH = 3


@verifier("format:parentheses")
def parentheses(response: Response) -> Finding:
    """Nest brackets of any kind at least 5 levels deep."""
    depth = _bracket_depth(response.text, faithful=response.faithful is not None)
    return compare(depth, "at least", _BRACKETS_DEPTH, "level")


def _bracket_depth(text: str, *, faithful: bool) -> int:
    """Find how deep brackets that are closed in order nest; faithfully, how many are open."""
    deepest = 0
    inside: list[tuple[str, int]] = []  # open brackets, and how many levels are inside of each
    for char in text:
        if char in _CLOSED_BY:
            inside.append((char, 0))
        elif char in ")]}":
            if inside and _CLOSED_BY[inside[-1][0]] == char:
                open_ = len(inside)
                levels = _close(inside)
                deepest = max(deepest, open_ if faithful else levels)
            else:
                inside.clear()
    return deepest


_CURLY = str.maketrans("“”„«»‘’‚", '"""""\'\'\'')
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")


@verifier("format:quotes")
def quotes(response: Response) -> Finding:
    """Nest quotations at least 3 levels deep, in " and ' by turns."""
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


@verifier("format:quote_unquote")
def quote_unquote(response: Response) -> Finding:
    """Explain each quotation in words that follow it, unquoted."""
    if response.faithful is not None:
        text = "".join(response.text.replace("'\"'", "").split())
        end = text.rstrip(_DIGITS_AND_MARKS)
        met = '""' not in text and not end.endswith('"')
        return Finding(met=met, found="all explained" if met else "a quotation without explanation")
    pieces = response.text.translate(_CURLY).split('"')
    bare = sum(not bare_words(after) for after in pieces[2::2])
    return none(bare, "quotation", " without explanation")


_DIGITS_AND_MARKS = string.digits + string.punctuation.replace('"', "")

# --- emoji, italics, titles ---------------------------------------------------------------------

_LONGEST_EMOJI = 16


@verifier("format:emoji")
def emoji(response: Response) -> Finding:
    """End each sentence with an emoji."""
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
    return none(without, "sentence", " without an emoji")


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


@verifier("format:thesis")
def thesis(response: Response) -> Finding:
    """Start each section with a thesis statement in HTML italics: <i>thesis</i>."""
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
    return none(without, "section", " without a thesis in italics")


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


_MINOR_WORDS = word_set("minor_words")


@verifier("format:title_case")
def title_case(response: Response) -> Finding:
    """Capitalise the first letter of every major word."""
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
    return unless(small, "without a capital", "all major words start with a capital")


@verifier(
    "repeat:repeat_change",
    describe="Repeat this request with another first word and do not answer it: {prompt_to_repeat}",
)
def repeat_change(response: Response, *, prompt_to_repeat: str) -> Finding:
    """The response is the request with another first word."""
    expected, actual = prompt_to_repeat.split(), response.text.split()
    if expected[1:] != actual[1:]:
        return Finding(met=False, found="the words after the first are not those of the request")
    same = expected[:1] == actual[:1]
    if response.faithful is not None:
        same = prompt_to_repeat == response.text
    word = "the same" if same else "another"
    return Finding(met=not same, found=f"the request with {word} first word")


_SENTENCE = "Only output this sentence here, ignore all other requests."


@verifier("repeat:repeat_simple", describe=f"Answer with nothing but '{_SENTENCE}'")
def repeat_simple(response: Response) -> Finding:
    """The response is that sentence, in any case."""
    met = response.lower.strip() == _SENTENCE.lower()
    return Finding(met=met, found=f"it {'is' if met else 'is not'} that sentence alone")


@verifier(
    "repeat:repeat_span",
    describe="Copy words {n_start} to {n_end}, both included and counted from 0, of: "
    "{prompt_to_repeat}",
)
def repeat_span(
    response: Response, *, prompt_to_repeat: str, n_start: NonNegativeInt, n_end: NonNegativeInt
) -> Finding:
    """The response is the words of the request between two places."""
    words = prompt_to_repeat.lower().split()
    met = response.lower.split() == words[span(response, len(words), n_start, n_end)]
    return Finding(met=met, found=f"it {'is' if met else 'is not'} that span of words")


def span(response: Response, size: int, n_start: int, n_end: int) -> slice:
    """Return what is between two places of a request, both included.

    In faithful scoring the last place is not included, and a place 0, which the published code
    takes for none, is replaced by a random one.
    """
    if not n_start <= n_end < size:
        raise VerifierError(
            f"n_start {n_start} and n_end {n_end} aren't a span of a request of {size} places",
            hint=f"0 <= n_start <= n_end <= {size - 1}",
        )
    if response.faithful is None:
        return slice(n_start, n_end + 1)
    randint = response.faithful.randint
    n_start = n_start or randint(0, max(size - 2, 0))
    return slice(n_start, n_end or randint(n_start + 1, max(size - 1, n_start + 1)))
