"""The verifier of formats other than JSON for users' own constraints: tables, lists, XML, CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Literal

from heedful.core import scripts
from heedful.verify.base import Finding, amount, verifier
from heedful.verify.custom.counting import CountRange, count_units
from heedful.verify.custom.parts import Outcome, decide
from heedful.verify.custom.structure import amounts, bounds
from heedful.verify.markup import (
    code_block_alone,
    code_blocks,
    has_element,
    has_tag,
    xml_fault,
)
from heedful.verify.text.tokens import word_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.custom.units import Unit
    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

Format = Literal[
    "table",
    "markdown_table",
    "list",
    "bullet_list",
    "numbered_list",
    "points",
    "code_block",
    "code",
    "markdown",
    "plain_text",
    "html",
    "xml",
    "yaml",
    "csv",
    "latex",
    "quoted",
    "one_paragraph",
    "title",
    "number",
    "integer",
    "ascii",
]

_NAMES: dict[Format, str] = {
    "markdown_table": "a Markdown table",
    "bullet_list": "a bulleted list",
    "numbered_list": "a numbered list",
    "points": "points, one a line",
    "code_block": "a code block",
    "code": "code and nothing else",
    "markdown": "Markdown",
    "plain_text": "text without Markdown's marks",
    "html": "HTML",
    "xml": "XML",
    "yaml": "YAML",
    "csv": "CSV",
    "latex": "LaTeX",
    "quoted": "quotation marks around it",
    "one_paragraph": "a single paragraph",
    "number": "a number and nothing else",
    "integer": "an integer and nothing else",
    "ascii": "ASCII characters alone",
}


def _named(form: Format) -> str:
    return _NAMES.get(form, f"a {form}")


@verifier(
    "heedful:format",
    describe=lambda **args: f"Respond in this form: {_named(args['format'])}.",
)
def form(response: Response, *, format: Format) -> Finding:  # noqa: A002 - what users call it
    """The response has a form, or holds what has it (a table, a list, a code block)."""
    return decide(*_FORMS[format](response.layout))


def _there(unit: Unit, least: int = 1) -> Callable[[Layout], tuple[Outcome, str]]:
    def test(layout: Layout) -> tuple[Outcome, str]:
        count = count_units(layout, unit) or CountRange(0, 0)
        outcome = True if count.low >= least else None if count.high else False
        return outcome, amounts(count, unit)

    return test


def _markdown(layout: Layout) -> tuple[Outcome, str]:
    sure, maybe = count_units(layout, "markdown_marks") or (0, 0)
    if sure:
        return True, f"{sure} of Markdown's marks"
    # Plain text is Markdown too, and a short answer may need no mark.
    return None, "signs that may be Markdown's" if maybe else "none of Markdown's marks"


def _plain(layout: Layout) -> tuple[Outcome, str]:
    sure, maybe = count_units(layout, "markdown_marks") or (0, 0)
    if sure:
        return False, f"{sure} of Markdown's marks"
    return (None, "signs that may be Markdown's") if maybe else (True, "none of Markdown's marks")


def _searched(
    sure: Callable[[str], object], maybe: Callable[[str], object], what: str
) -> Callable[[Layout], tuple[Outcome, str]]:
    def test(layout: Layout) -> tuple[Outcome, str]:
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


def _xml(layout: Layout) -> tuple[Outcome, str]:
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
_HTML_TAGS = frozenset(
    word_list(
        """
        a article aside b blockquote body button code dd div dl dt em figure footer form h1 h2 h3 h4
        h5 h6 head header html i label li main nav ol option p pre script section select small span
        strong style sub sup svg table tbody td textarea th thead title tr u ul
        """
    )
)
# Pandoc's rule, by which prices aren't formulas: no space within the dollars, no digit after.
_LATEX = re.compile(
    r"(?<!\\)\$(?![\s$])[^$\n]*(?<![\s\\])\$(?!\d)|\\\[|\\\(|\\begin\{|\\documentclass|\\[a-z]+\{",
    re.IGNORECASE,
)
_MAYBE_LATEX = re.compile(r"\\[a-z\[(]|\^|\$", re.IGNORECASE)


_SENTENCE = re.compile(
    rf"[{scripts.HAN}]{{3}}[，。！？]|[A-Za-z'’](?: [A-Za-z'’,]{{1,40}}){{5}}[.!?](?:\s|$)"
)
_SIGN_OF_CODE = re.compile(r"[={}\[\];<>#$@\\|&]|^[^\S\n]+\S|\w\(", re.MULTILINE)
_LETTERS = re.compile(r"[^\W\d_]")


def _code(layout: Layout) -> tuple[Outcome, str]:
    """Code blocks and nothing else; without a block code and words look alike."""
    if code_blocks(layout.text):
        outside = re.sub(r"(```|~~~)[^\n]*\n.*?\n\s*\1", "", layout.text, flags=re.DOTALL)
        if "```" in outside or "~~~" in outside:
            return None, "a code block that is not closed, or within another"
        words = bool(_LETTERS.search(outside))
        return not words, "text beside the code" if words else "code alone"
    words_alone = _SENTENCE.search(layout.text) and not _SIGN_OF_CODE.search(layout.text)
    return (False if words_alone else None), "no code block"


def _latex(text: str) -> bool:
    """Say whether a text has LaTeX whose braces and environments are all closed, in order."""
    if not _LATEX.search(text):
        return False
    awaited: list[str] = []
    for mark in _LATEX_MARK.finditer(text):
        closing = _LATEX_CLOSING.get(mark[0])
        if closing or mark["part"] == "begin":
            awaited.append(closing or mark[0].replace("begin", "end", 1))
            continue
        closes = mark["part"] == "end" or mark[0] in _LATEX_CLOSING.values()
        if closes and (not awaited or awaited.pop() != mark[0]):
            return False
    return not awaited


# An escaped brace is a sign of the text, and what stands behind % is a comment.
_LATEX_MARK = re.compile(r"\\(?P<part>begin|end)\{[^{}\n]*\}|\\.|%.*|[{}]")
_LATEX_CLOSING = {"{": "}", r"\[": r"\]", r"\(": r"\)"}


def _yaml(layout: Layout) -> tuple[Outcome, str]:
    # JSON and a list of bare items are YAML too.
    pairs = re.search(
        r"^[^\S\n]*(?:- |[{\[]|[\w\"'][\w\"' -]*:(?:\s|$))", layout.text, re.MULTILINE
    )
    return (None, "lines that may be YAML") if pairs else (False, "no YAML")


def _csv(layout: Layout) -> tuple[Outcome, str]:
    return _csv_of(layout, lambda _: (True, "rows of the same number of fields"))


def _csv_of(
    layout: Layout, test: Callable[[list[list[str]]], tuple[Outcome, str]]
) -> tuple[Outcome, str]:
    blocks = code_blocks(layout.text)
    text = (blocks[0] if blocks else layout.text).strip()
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        return False, f"no CSV: {error}"
    widths = set(map(len, rows))
    prose = re.search(r", |[.!?。]$", text, re.MULTILINE)
    if len(widths) == 1 and widths.pop() > 1 and "\n" in text and not prose:
        return test(rows)
    return (None, "perhaps CSV") if "," in text and "\n" in text else (False, "no CSV")


@verifier(
    "heedful:csv",
    describe=lambda columns, at_least, at_most: (
        f"Respond with CSV of {amount(columns, 'column') if columns else 'columns'}"
        + (f" and {bounds(at_least, at_most)} rows." if at_least or at_most else ".")
    ),
)
def csv_table(
    response: Response,
    *,
    columns: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
) -> Finding:
    """The response is CSV with so many columns and rows."""

    def test(rows: list[list[str]]) -> tuple[Outcome, str]:
        shape = f"{amount(len(rows), 'line')} of {amount(len(rows[0]), 'field')}"
        if columns is not None and len(rows[0]) != columns:
            return False, shape
        most = len(rows) if at_most is None else at_most
        fits = {(at_least or 0) <= number <= most for number in (len(rows) - 1, len(rows))}
        return fits.pop() if len(fits) == 1 else None, shape

    return decide(*_csv_of(response.layout, test))


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


def _quoted(layout: Layout) -> tuple[Outcome, str]:
    text = layout.text.strip()
    bare = layout.plain.strip().strip(".。!！?？,，")
    opening, inside, closing = text[:1], text[1:-1], text[-1:]
    wrapped = len(text) > 1 and opening in _PAIRS and closing in _PAIRS[opening]
    if wrapped and inside.strip() and opening not in inside and closing not in inside:
        return True, "quotation marks around it"
    if wrapped or (bare and bare[0] in _QUOTES and bare[-1] in _QUOTES):
        return None, "other quotation marks, or some inside"
    return False, "no quotation marks around it"


def _one_paragraph(layout: Layout) -> tuple[Outcome, str]:
    sizes = {len(each) for each in layout.paragraph_readings}
    outcome = True if sizes == {1} else None if min(sizes) <= 1 else False
    return outcome, f"{min(sizes)} to {max(sizes)} paragraphs"


def _points(layout: Layout) -> tuple[Outcome, str]:
    """Points may be list items, or lines with a heading or an ordinal word."""
    count = count_units(layout, "list_items") or (0, 0)
    if count[0] > 1 or count[1] > 1:
        return True, f"{count[0]} to {count[1]} list items"
    lines = len(layout.written_lines[0])
    return (None if lines > 2 else False), "no list items"  # noqa: PLR2004 - an opening, a point


_DIGITS = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)")
_NUMBER = re.compile(rf"{_DIGITS.pattern}(?:\.\d+)?")


def _number(pattern: re.Pattern[str]) -> Callable[[Layout], tuple[Outcome, str]]:
    def test(layout: Layout) -> tuple[Outcome, str]:
        text = layout.plain.strip()
        reason = f"it is '{text[:_SHOWN]}'"
        if pattern.fullmatch(text) and text.isascii():
            return True, reason
        # A unit, a full stop or a number in words may do; a sentence doesn't.
        count = count_units(layout, "numbers")
        long = len(text.split()) > _MOST_PIECES or len(text) > _SHOWN
        return (False if long or (count and not count.high) else None), reason

    return test


_SHOWN = 40
_MOST_PIECES = 3
"""Pieces between spaces: 1 000 000, twenty five percent."""


def _title(layout: Layout) -> tuple[Outcome, str]:
    if layout.title is None:
        return None, "no title is found"
    marked = any(line.kind == "heading" for line in layout.lines)
    return (True if marked else None), f"the title '{layout.title}'"


_FORMS: dict[Format, Callable[[Layout], tuple[Outcome, str]]] = {
    "table": _there("tables"),
    "markdown_table": _there("markdown_tables"),
    "list": _there("list_items", 2),
    "bullet_list": _there("bullet_points", 2),
    "numbered_list": _there("numbered_items", 2),
    "points": _points,
    "code_block": _there("code_blocks"),
    "code": _code,
    "markdown": _markdown,
    "plain_text": _plain,
    "html": _searched(_html, has_tag, "HTML"),
    "xml": _xml,
    "yaml": _yaml,
    "csv": _csv,
    "latex": _searched(_latex, _MAYBE_LATEX.search, "LaTeX"),
    "quoted": _quoted,
    "one_paragraph": _one_paragraph,
    "title": _title,
    "number": _number(_NUMBER),
    "integer": _number(_DIGITS),
    "ascii": lambda layout: (layout.text.isascii(), "signs beyond ASCII, or none"),
}
