"""The verifier of formats other than JSON for users' own constraints: tables, lists, XML, CSV."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.verify.base import Finding, verifier
from heedful.verify.custom.counting import CountRange, amounts, count_units
from heedful.verify.custom.parts import Decision, decide
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
    outcome, reason = _there("markdown_marks")(layout)
    # Plain text is Markdown too, and a short answer may need no mark.
    return outcome or None, reason


def _plain(layout: Layout) -> Decision:
    outcome, reason = _there("markdown_marks")(layout)
    return (None if outcome is None else not outcome), reason


def _searched(
    sure: Callable[[Layout], object], maybe: Callable[[Layout], object], what: str
) -> Callable[[Layout], Decision]:
    def test(layout: Layout) -> Decision:
        if sure(layout):
            return True, what
        return (None, f"perhaps {what}") if maybe(layout) else (False, f"no {what}")

    return test


def _html(layout: Layout) -> bool:
    document = layout.document
    return document[:14].lower() == "<!doctype html" or (
        document.startswith("<") and _has_element(document)
    )


def _maybe_html(layout: Layout) -> bool:
    """Check whether there is something like a tag, opening or empty."""
    return bool(_TAG_NAME.search(layout.text, 0, max(layout.text.rfind(">"), 0)))


_OPENING = re.compile(r"<(\w+)[^<>]*+>")
_CLOSING = re.compile(r"</(\w+)>")
_TAG_NAME = re.compile(r"<\w")


def _has_element(text: str) -> bool:
    """Check whether one of HTML's tags is opened and closed, in any case of letters."""
    lower = text.lower()
    closings = {each[1]: each.start() for each in _CLOSING.finditer(lower) if each[1] in _HTML_TAGS}
    return any(each.end() <= closings.get(each[1], -1) for each in _OPENING.finditer(lower))


def _xml(layout: Layout) -> Decision:
    document = layout.document
    fault = _xml_fault(document)
    if fault is None:
        return True, "a well-formed document"
    if not _maybe_html(layout):
        return False, "no XML"
    if not (document.startswith("<") and document.endswith(">")):
        return None, "XML with other text around it"
    # Fragments, and documents that declare a type of their own, aren't parsed here.
    if "<!" in document or _xml_fault(f"<all>{_DECLARATION.sub('', document)}</all>") is None:
        return None, f"perhaps XML: {fault}"
    return False, f"not well-formed: {fault}"


def _xml_fault(text: str) -> str | None:
    """Say why a text isn't a well-formed document of XML, or ``None`` where it is."""
    from xml.parsers import expat

    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise ValueError("it declares a type of its own")  # whose entities could grow at will

    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)  # noqa: FBT003 - takes no name
    except (expat.ExpatError, ValueError) as error:
        return str(error)
    return None


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


def _latex(layout: Layout) -> object:
    return _LATEX.search(layout.text)


def _maybe_latex(layout: Layout) -> object:
    return _MAYBE_LATEX.search(layout.text)


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
    marked = any(each.level for each in layout.headings)
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
    "html": ("HTML", _searched(_html, _maybe_html, "HTML")),
    "xml": ("XML", _xml),
    "latex": ("LaTeX", _searched(_latex, _maybe_latex, "LaTeX")),
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
