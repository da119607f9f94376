"""The verifier of formats other than JSON for users' own constraints: tables, lists, XML, CSV."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.verify.base import Finding, verifier
from heedful.verify.custom.counting import CountRange, amounts, count_units
from heedful.verify.custom.parts import Decision, decide
from heedful.verify.markup import (
    code_block_alone,
    code_blocks,
    has_element,
    has_tag,
    xml_fault,
)
from heedful.verify.text.words import word_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.custom.counting import Unit
    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response


def _there(unit: Unit, least: int = 1) -> Callable[[Layout], Decision]:
    def test(layout: Layout) -> Decision:
        count = count_units(layout, unit) or CountRange(0, 0)
        outcome = True if count.low >= least else None if count.high else False
        return outcome, amounts(count, unit)

    return test


def _markdown(layout: Layout) -> Decision:
    sure, maybe = count_units(layout, "markdown_marks") or (0, 0)
    if sure:
        return True, f"{sure} of Markdown's marks"
    # Plain text is Markdown too, and a short answer may need no mark.
    return None, "signs that may be Markdown's" if maybe else "none of Markdown's marks"


def _plain(layout: Layout) -> Decision:
    sure, maybe = count_units(layout, "markdown_marks") or (0, 0)
    if sure:
        return False, f"{sure} of Markdown's marks"
    return (None, "signs that may be Markdown's") if maybe else (True, "none of Markdown's marks")


def _searched(
    sure: Callable[[str], object], maybe: Callable[[str], object], what: str
) -> Callable[[Layout], Decision]:
    def test(layout: Layout) -> Decision:
        if sure(layout.text):
            return True, what
        return (None, f"perhaps {what}") if maybe(layout.text) else (False, f"no {what}")

    return test


def _document(text: str) -> str:
    """Take the content of a code block that is the whole text, or else the text."""
    text = text.strip()
    block = code_block_alone(text) if len(code_blocks(text)) == 1 else None
    return (text if block is None else block).strip()


def _html(text: str) -> bool:
    document = _document(text)
    return document[:14].lower() == "<!doctype html" or (
        document.startswith("<") and has_element(document, names=_HTML_TAGS)
    )


def _xml(layout: Layout) -> Decision:
    document = _document(layout.text)
    fault = xml_fault(document)
    if fault is None:
        return True, "a well-formed document"
    if not has_tag(layout.text):
        return False, "no XML"
    if not (document.startswith("<") and document.endswith(">")):
        return None, "XML with other text around it"
    # Fragments, and documents that declare a type of their own, aren't parsed here.
    if "<!" in document or xml_fault(f"<all>{_DECLARATION.sub('', document)}</all>") is None:
        return None, f"perhaps XML: {fault}"
    return False, f"not well-formed: {fault}"


_DECLARATION = re.compile(r"^<\?xml[^>]*\?>")
_HTML_TAGS = word_set(
    """
    a article aside b blockquote body button code dd div dl dt em figure footer form h1 h2 h3 h4
    h5 h6 head header html i label li main nav ol option p pre script section select small span
    strong style sub sup svg table tbody td textarea th thead title tr u ul
    """
)
# Pandoc's rule, by which prices aren't formulas: no space within the dollars, no digit after.
_LATEX = re.compile(
    r"(?<!\\)\$(?![\s$])[^$\n]*(?<![\s\\])\$(?!\d)|\\\[|\\\(|\\begin\{|\\documentclass|\\[a-z]+\{",
    re.IGNORECASE,
)
_MAYBE_LATEX = re.compile(r"\\[a-z\[(]|\^|\$", re.IGNORECASE)


_PAIRS = {
    '"': '"',
    "＂": "＂",
    "“": "”",
    "「": "」",
    "『": "』",
    "«": "»",
    "„": "“”",
    "”": "”",
    "»": "«",
}
_QUOTES = "\"＂“”„‟«»「」『』'‘’‚‹›`"


def _quoted(layout: Layout) -> Decision:
    text = layout.text.strip()
    bare = layout.plain.strip().strip(".。!！?？,，")
    opening, inside, closing = text[:1], text[1:-1], text[-1:]
    wrapped = len(text) > 1 and opening in _PAIRS and closing in _PAIRS[opening]
    if wrapped and inside.strip() and opening not in inside and closing not in inside:
        return True, "quotation marks around it"
    if wrapped or (bare and bare[0] in _QUOTES and bare[-1] in _QUOTES):
        return None, "other quotation marks, or some inside"
    return False, "no quotation marks around it"


def _points(layout: Layout) -> Decision:
    """Points may be list items, or lines with a heading or an ordinal word."""
    count = count_units(layout, "list_items") or (0, 0)
    if count[0] > 1 or count[1] > 1:
        return True, f"{count[0]} to {count[1]} list items"
    lines = len(layout.written_lines[0])
    return (None if lines > 2 else False), "no list items"  # noqa: PLR2004 - an opening, a point


def _title(layout: Layout) -> Decision:
    if layout.title is None:
        return None, "no title is found"
    marked = any(line.kind == "heading" for line in layout.lines)
    return (True if marked else None), f"the title '{layout.title}'"


_NUMBER = re.compile(r"[-+−]?[$€£¥]?\d[\d,]*(?:\.\d+)?\s?%?")


def _number(layout: Layout) -> Decision:
    """A number alone; a unit behind it, or one in words, may do."""
    text = layout.plain.strip()
    if _NUMBER.fullmatch(text.rstrip(".。")):
        return True, f"'{text}'"
    long = len(text) > _LONGEST_NUMBER
    return (False if long else None), "more than a number" if long else "perhaps a number"


_LONGEST_NUMBER = 40
"""Characters. A longer text is more than a number with its unit."""

_FORMS: dict[str, tuple[str, Callable[[Layout], Decision]]] = {
    "table": ("a table", _there("tables")),
    "markdown_table": ("a Markdown table", _there("markdown_tables")),
    "list": ("a list", _there("list_items", 2)),
    "bullet_list": ("a bulleted list", _there("bullet_points", 2)),
    "numbered_list": ("a numbered list", _there("numbered_items", 2)),
    "points": ("points, one a line", _points),
    "code_block": ("a code block", _there("code_blocks")),
    "markdown": ("Markdown", _markdown),
    "plain_text": ("text without Markdown's marks", _plain),
    "html": ("HTML", _searched(_html, has_tag, "HTML")),
    "xml": ("XML", _xml),
    "latex": ("LaTeX", _searched(_LATEX.search, _MAYBE_LATEX.search, "LaTeX")),
    "number": ("a number, and nothing else", _number),
    "quoted": ("quotation marks around it", _quoted),
    "title": ("a title", _title),
}

if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[tuple(_FORMS)]


@verifier(
    "heedful:format",
    describe=lambda **args: f"Respond in this form: {_FORMS[args['format']][0]}.",
)
def form(response: Response, *, format: Format) -> Finding:  # noqa: A002 - what users call it
    """The response has a form, or holds what has it (a table, a list, a code block)."""
    return decide(*_FORMS[format][1](response.layout))
