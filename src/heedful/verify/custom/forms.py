"""The verifier of formats other than JSON for users' own constraints: tables, lists, XML, CSV."""

from __future__ import annotations

import csv
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


def _matched(what: str, sure: str, maybe: str) -> Callable[[Layout], Decision]:
    """Make the test by patterns: one that surely shows the form, one that may."""
    surely, possibly = re.compile(sure), re.compile(maybe, re.MULTILINE)

    def test(layout: Layout) -> Decision:
        document = layout.document
        if surely.search(document):
            return True, what
        return (None, f"perhaps {what}") if possibly.search(document) else (False, f"no {what}")

    return test


def _html(layout: Layout) -> Decision:
    document = layout.document
    if document[:14].lower() == "<!doctype html" or (
        document.startswith("<") and _has_element(document)
    ):
        return True, "HTML"
    return (None, "perhaps HTML") if _has_tag(layout) else (False, "no HTML")


def _has_tag(layout: Layout) -> bool:
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
    if not _has_tag(layout):
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
_HTML_TAGS = word_set("html_tags")

_PAIRS = dict(zip('"＂“「『«„”»', ['"', "＂", "”", "」", "』", "»", "“”", "”", "«"], strict=True))
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


def _numbered(layout: Layout) -> Decision:
    """No list has bullets, but those within a numbered one."""
    bullets, numbers = (max(map(len, layout.items(kind))) for kind in ("bullet", "number"))
    outcome = None if numbers or not bullets else False
    return outcome if bullets else True, f"{bullets} bullet points, {numbers} numbered items"


def _code(layout: Layout) -> Decision:
    """One block of code is all; without its fences, code isn't told from text."""
    kinds = {line.kind for line in layout.lines} - {"blank"}
    alone = layout.document != layout.text.strip()
    outcome = True if alone else False if "code" in kinds and len(kinds) > 1 else None
    return outcome, "code alone" if alone else "other text"


def _csv(layout: Layout) -> Decision:
    """Rows have as many commas each, more than prose; other signs may part fields too."""
    text = layout.document
    rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    widths = {len(row) for row in rows}
    if len(rows) > 1 and len(widths) == 1 and max(widths) > 1 + (", " in text):
        return True, f"{len(rows)} rows of {len(rows[0])} fields"
    return (None if re.search("[,;\t]", text) else False), f"rows of {sorted(widths)[:5]} fields"


def _dates(form: str) -> Callable[[Layout], Decision]:
    """Make the test that all dates have a form; without any, it stays open."""
    pattern = re.compile(form)

    def test(layout: Layout) -> Decision:
        dates = _DATE.findall(layout.text)
        wrong = [date for date in dates if not pattern.fullmatch(date)]
        found = f"dates: {', '.join((wrong or dates)[:5]) or 'none'}"
        return (False if wrong else True if dates else None), found

    return test


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?<![A-Za-z0-9/.-])(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}})(?![A-Za-z0-9/-])"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b|\d{{4}}年\d{{1,2}}月\d{{1,2}}日"
)
_DAY, _MONTH_NUMBER = "(?:0[1-9]|[12][0-9]|3[01])", "(?:0[1-9]|1[0-2])"
_SHORT = r"\A(?s:.{0,40})\Z"
"""Of this length may be a number with its unit, or a letter with its option."""

_FORMS: dict[str, tuple[str, Callable[[Layout], Decision]]] = {
    "table": ("a table", _there("tables")),
    "list": ("a list", _there("list_items", 2)),
    "bullet_list": ("a bulleted list", _there("bullet_points", 2)),
    "numbered_list": ("a numbered list", _there("numbered_items", 2)),
    "points": ("points, one a line", _points),
    "code_block": ("a code block", _there("code_blocks")),
    "markdown": ("Markdown", _markdown),
    "plain_text": ("text without Markdown's marks", _plain),
    "html": ("HTML", _html),
    "xml": ("XML", _xml),
    "latex": (
        "LaTeX",
        _matched(
            "LaTeX",
            # Pandoc's rule, by which prices aren't formulas: no space within, no digit after.
            r"(?<!\\)\$(?![\s$])[^$\n]*(?<![\s\\])\$(?!\d)|\\\[|\\\(|\\documentclass|(?i:\\[a-z]+\{)",
            r"(?i:\\[a-z\[(])|\^|\$",
        ),
    ),
    "number": (
        "a number, and nothing else",
        _matched("number alone", r"\A\**[-+−]?[$€£¥]?\d[\d,]*(?:\.\d+)?\s?%?[.。]?\**\Z", _SHORT),
    ),
    "letter": (
        "a letter, and nothing else",
        _matched("letter alone", r"\A[\W_]{0,3}[A-Za-z][\W_]{0,3}\Z", _SHORT),
    ),
    "yaml": (
        "YAML",
        _matched(
            "YAML",
            # At least one key, and nothing but keys, items of lists and comments.
            r"\A(?=.*\n)(?=(?s:.*?)(?m:^)[^\S\n]*+(?:- ++)?[\w\"'][\w\"' -]*+:(?:\s|\Z))"
            r"(?:[^\S\n]*+(?:- +.+|[\w\"'][\w\"' -]*+:(?: .*)?|#.*|-{3})?(?:\n|\Z))++\Z",
            r"^\s*(?:- |[\w-]+:(?:\s|$))|\A[{\[]",
        ),
    ),
    "csv": ("CSV", _csv),
    "code": ("a code block, and nothing else", _code),
    "numbered_lists": ("numbers, not bullets, in any list", _numbered),
    "YYYY-MM-DD": ("dates as YYYY-MM-DD", _dates(rf"\d{{4}}-{_MONTH_NUMBER}-{_DAY}")),
    "DD/MM/YYYY": ("dates as DD/MM/YYYY", _dates(rf"{_DAY}/{_MONTH_NUMBER}/\d{{4}}")),
    "MM/DD/YYYY": ("dates as MM/DD/YYYY", _dates(rf"{_MONTH_NUMBER}/{_DAY}/\d{{4}}")),
    "YYYY年M月D日": ("dates as YYYY年M月D日", _dates(r"\d{4}年\d{1,2}月\d{1,2}日")),
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
