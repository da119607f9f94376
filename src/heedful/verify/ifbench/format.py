"""IFBench's verifiers of format: answers from a choice, templates, lists, lines.

Source: as for :mod:`heedful.verify.ifbench.count`, whose rules on strict and faithful scoring hold
here too.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from itertools import pairwise
from typing import TYPE_CHECKING

from heedful.verify.base import Finding, amount, compare, quoted, verifier
from heedful.verify.text.english import splitter
from heedful.verify.text.tokens import ASCII_EDGES, bare_words, unclosed, without_punctuation

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__: list[str] = []

# --- answers and templates ----------------------------------------------------------------------

_OR = re.compile(r"(?<!\s)\s++or\s+|,(?:\s*or\b)?")
_LETTERED = re.compile(r"\W*a\W*b\W*c\W*", re.IGNORECASE)


@verifier("format:options", describe="Answer with nothing but one of these: {options}.")
def options(response: Response, *, options: str) -> Finding:
    """The response is one of the options, in any case and whatever ASCII marks are around it.

    Options are parted by ``/``, else by commas and the word "or". Of lettered ones, such as
    ``a), b), c)``, the marks and the case count.

    Faithful: around a lettered one there may be no white space either; options are parted by
    ``or``, inside of words too, or else by commas.
    """
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
    """The three labels stand in order, the first at the start, each with some text after it.

    Faithful: the labels occur, anywhere and in any order.
    """
    missing = [label for label in _TEMPLATE if label not in response.text]
    if missing:
        return Finding(met=False, found=f"missing: {quoted(missing)}")
    if response.faithful is None:
        start, answer, rest = response.text.partition(_TEMPLATE[0])
        answer, _, rest = rest.partition(_TEMPLATE[1])
        conclusion, _, outlook = rest.partition(_TEMPLATE[2])
        if start.strip() or not all(map(str.strip, (answer, conclusion, outlook))):
            return Finding(met=False, found="the labels are there, but not in the template's form")
    return Finding(met=True, found="the template is followed")


@verifier("format:no_whitespace", describe="Use no spaces, line breaks or other white space.")
def no_whitespace(response: Response) -> Finding:
    """No white space occurs, not even at the ends."""
    number = sum(map(str.isspace, response.text))
    reason = f"{amount(number, 'white-space character')}, none allowed"
    return Finding(met=not number, found=reason if number else "no white space")


# --- lists --------------------------------------------------------------------------------------

_LEAST_ITEMS = 2


@verifier("format:list", describe="Answer with a list that has '{sep}' for its bullets.")
def listed(response: Response, *, sep: str) -> Finding:
    """The mark stands twice or more at the start of a line or after white space.

    Faithful: it occurs twice or more, inside of words (``well-known``) too.
    """
    if response.faithful is not None:
        number = response.text.count(sep)
    else:
        number = len(re.findall(rf"(?<!\S){re.escape(sep.strip())}", response.text))
    return compare(number, "at least", _LEAST_ITEMS, f"'{sep.strip()}'")


@verifier(
    "format:sub-bullets",
    describe="Write bullet points with *, and under each at least one sub-bullet with -.",
)
def sub_bullets(response: Response) -> Finding:
    """There are lines that start with an asterisk, and under each a line that starts with a hyphen.

    Faithful: wherever an asterisk is, some hyphen follows before the next one; so a response
    without asterisks meets it, and with it every response in the loose reading.
    """
    if response.faithful is not None:
        without = sum("-" not in part for part in response.text.split("*")[1:])
        return Finding(met=not without, found=f"{amount(without, 'asterisk')} without a hyphen")
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


@verifier(
    "format:no_bullets_bullets",
    describe="Write two sentences or more with a full stop, then two bullet points or more with *.",
)
def sentences_then_bullets(response: Response) -> Finding:
    """Before the first line with an asterisk there are two sentences with a full stop at least.

    Faithful: any two sentences; and no other line, an empty one included, may stand between them
    and the first asterisk, or after it.
    """
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


@verifier("format:newline", describe="Write each word on a line of its own.")
def newline(response: Response) -> Finding:
    """No line holds more than one word.

    Faithful: there are as many words as lines that are not empty.
    """
    if response.faithful is not None:
        text = without_punctuation(response.text).strip()
        lines, words = len([line for line in text.split("\n") if line]), len(text.split())
        return Finding(met=lines == words, found=f"{amount(words, 'word')} on {lines} lines")
    longer = sum(len(bare_words(line)) > 1 for line in response.text.split("\n"))
    return Finding(met=not longer, found=f"{amount(longer, 'line')} with more than one word")


@verifier("format:line_indent", describe="Indent each line more than the one before it.")
def line_indent(response: Response) -> Finding:
    """There are two lines or more, and each is indented more than the one before; empty ones aside.

    A tab reaches to the next multiple of eight columns.

    Faithful: of empty lines in a row some are taken for lines that are not indented; tabs do not
    indent; a single line meets it.
    """
    lines = response.text.split("\n")
    if response.faithful is None:
        lines = [line.expandtabs() for line in lines if line.strip()]
        if len(lines) == 1:
            return Finding(met=False, found="a single line")
    else:
        lines = _without_some_blanks(lines)
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    flat = sum(line <= before for before, line in pairwise(indents))
    return Finding(met=not flat, found=f"{amount(flat, 'line')} not indented more than the last")


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
