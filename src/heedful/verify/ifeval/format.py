"""IFEval's verifiers of content, format, start and end, and combinations.

Source: as for :mod:`heedful.verify.ifeval.content`, whose rules on strict and faithful scoring hold
here too. The words of the data, misspellings included (``section_spliter``), stay.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from heedful.verify.base import Finding, amount, compare, exactly, quoted, verifier

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__: list[str] = []

# --- content and format -------------------------------------------------------------------------


@verifier(
    "detectable_content:number_placeholders",
    describe="Include at least {num_placeholders} placeholders in square brackets, as [address].",
)
def number_placeholders(response: Response, *, num_placeholders: int) -> Finding:
    """There are enough pairs of square brackets, each on one line."""
    # Each closing bracket with an opening one since the last makes a pair; a regular expression
    # would search the rest of the line for each opening bracket again.
    number = sum(
        "[" in piece
        for line in response.text.split("\n")
        if "]" in line
        for piece in line.split("]")[:-1]
    )
    return compare(number, "at least", num_placeholders, "placeholder")


_POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}


@verifier(
    "detectable_content:postscript",
    describe="End with a postscript that starts with {postscript_marker}",
)
def postscript(response: Response, *, postscript_marker: str) -> Finding:
    """The marker occurs, in any case and anywhere; IFEval's own two may hold spaces.

    Faithful: a marker other than ``P.S.`` and ``P.P.S`` is a regular expression.
    """
    marker = postscript_marker.strip()
    literal = marker not in _POSTSCRIPTS and response.faithful is None
    pattern = re.escape(marker.lower()) if literal else _POSTSCRIPTS.get(marker, marker.lower())
    met = re.search(pattern, response.lower) is not None
    return Finding(met=met, found=f"{'a' if met else 'no'} postscript '{marker}'")


# A bullet and the rest of its line, or else the whole line, so that no line is tried twice, blank
# ones before it included.
_STAR_BULLET = re.compile(r"^\s*+(?:(\*)[^*])?.*", re.MULTILINE)
_DASH_BULLET = re.compile(r"^\s*+(-)?.*", re.MULTILINE)


@verifier(
    "detectable_format:number_bullet_lists",
    describe="Write exactly {num_bullets} bullet points in markdown: '* ' or '- ' and the point.",
)
def number_bullet_lists(response: Response, *, num_bullets: int) -> Finding:
    """The given number of lines start with one asterisk or with a hyphen."""
    number = sum(
        1
        for bullet, pattern in (("*", _STAR_BULLET), ("-", _DASH_BULLET))
        if bullet in response.text
        for line in pattern.finditer(response.text)
        if line[1]
    )
    return exactly(number, num_bullets, "bullet point")


_HIGHLIGHTS = (re.compile(r"\*([^\n*]*)\*"), re.compile(r"\*\*([^\n*]*)\*\*"))


@verifier(
    "detectable_format:number_highlighted_sections",
    describe="Highlight at least {num_highlights} sections in markdown: *highlighted section*.",
)
def number_highlighted_sections(response: Response, *, num_highlights: int) -> Finding:
    """There are enough stretches of a line between asterisks, single or double, with some text."""
    number = sum(
        1
        for pattern in _HIGHLIGHTS
        for highlight in pattern.finditer(response.text)
        if highlight[1].strip()
    )
    return compare(number, "at least", num_highlights, "highlighted section")


@verifier(
    "detectable_format:multiple_sections",
    describe="Write at least {num_sections} sections, each starting with '{section_spliter} X'.",
)
def multiple_sections(response: Response, *, section_spliter: str, num_sections: int) -> Finding:
    """There are enough section marks: the word, in that case, and a number.

    Faithful: the word is a regular expression.
    """
    mark = section_spliter.strip()
    pattern = rf"\s?{re.escape(mark) if response.faithful is None else mark}\s?\d+\s?"
    return compare(len(re.split(pattern, response.text)) - 1, "at least", num_sections, "section")


_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


@verifier(
    "detectable_format:constrained_response",
    describe=f"Answer with one of the following: {quoted(_OPTIONS)}.",
)
def constrained_response(response: Response) -> Finding:
    """One of IFEval's three answers occurs, word for word, anywhere."""
    for option in _OPTIONS:
        if option in response.text:
            return Finding(met=True, found=f"'{option}'")
    return Finding(met=False, found="none of the answers allowed")


@verifier(
    "detectable_format:json_format",
    describe="Respond with JSON and nothing else; markdown's ``` around it is fine.",
)
def json_format(response: Response) -> Finding:
    """The response, without a markdown fence around it, is JSON.

    Faithful: NaN, Infinity and -Infinity are accepted, as by Python's parser, and all of Unicode's
    white space around the JSON.
    """
    from heedful.verify.custom.json_format import BLANKS, refuse_constant

    blanks = BLANKS if response.faithful is None else None
    text = response.text.strip(blanks)
    for fence in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(fence)
    try:
        json.loads(
            text.removesuffix("```").strip(blanks),
            parse_constant=refuse_constant if response.faithful is None else None,
        )
    except RecursionError:
        return Finding(met=False, found="JSON nested too deeply to be read")
    except ValueError as error:
        return Finding(met=False, found=f"not JSON: {error}")
    return Finding(met=True, found="valid JSON")


@verifier(
    "detectable_format:title",
    describe="Give a title in double angular brackets, such as <<poem of joy>>.",
)
def title(response: Response) -> Finding:
    """A line holds some text between ``<<`` and ``>>``."""
    for line in response.text.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if start >= 0 and end - start > len("<<"):
            name = line[start : end + 2].lstrip("<").rstrip(">").strip()
            if name:
                return Finding(met=True, found=f"the title '{name}'")
    return Finding(met=False, found="no title in double angular brackets")


# --- combinations, start and end, punctuation ---------------------------------------------------


@verifier(
    "combination:two_responses",
    describe="Give two different responses, separated by six asterisks: ******.",
)
def two_responses(response: Response) -> Finding:
    """There are two different responses; a divider may also stand before and after them."""
    pieces = [piece.strip() for piece in response.text.split("******")]
    if not all(pieces[1:-1]):
        return Finding(met=False, found="an empty response between two dividers")
    responses = [piece for piece in pieces if piece]
    if len(responses) != 2:  # noqa: PLR2004 - the constraint's own number
        return Finding(met=False, found=f"{amount(len(responses), 'response')}, asked for 2")
    first, second = responses
    if first == second:
        return Finding(met=False, found="twice the same response")
    return Finding(met=True, found="two different responses")


@verifier(
    "combination:repeat_prompt",
    describe="First repeat the request word for word, then answer it: {prompt_to_repeat}",
)
def repeat_prompt(response: Response, *, prompt_to_repeat: str) -> Finding:
    """The response starts with the request, in any case."""
    met = response.lower.strip().startswith(prompt_to_repeat.strip().lower())
    return Finding(met=met, found=f"it {'starts' if met else 'does not start'} with the request")


@verifier("startend:end_checker", describe="End with exactly this phrase: '{end_phrase}'.")
def end_checker(response: Response, *, end_phrase: str) -> Finding:
    """The response ends with the phrase, in any case, quotation marks after it aside."""
    text = response.text.strip().strip('"')
    met = text.lower().endswith(end_phrase.strip().lower())
    end = " ".join(text[-max(len(end_phrase), 20) :].split())
    return Finding(met=met, found=f"it ends with '{end}'")


@verifier("startend:quotation", describe="Wrap the whole response in double quotation marks.")
def quotation(response: Response) -> Finding:
    """The response starts and ends with a double quotation mark."""
    text = response.text.strip()
    met = len(text) > 1 and text[0] == text[-1] == '"'
    return Finding(met=met, found=f"it {'is' if met else 'is not'} in double quotation marks")


@verifier("punctuation:no_comma", describe="Use no commas.")
def no_comma(response: Response) -> Finding:
    """No comma occurs."""
    number = response.text.count(",")
    reason = f"{amount(number, 'comma')}, none allowed" if number else "no commas"
    return Finding(met=not number, found=reason)
