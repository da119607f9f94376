"""Verifiers of form for users' own constraints: format, language, case, dates."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any, Literal

from heedful.core import scripts
from heedful.verify.base import Finding, amount, quoted, verifier
from heedful.verify.custom.counting import CountRange, Unit, tally
from heedful.verify.custom.json_schema import BLANKS, fault, parse
from heedful.verify.custom.parts import Outcome, Part, Which, decide, judged, named
from heedful.verify.custom.structure import amounts
from heedful.verify.markup import code_block_alone, code_blocks, has_element, has_tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

# --- JSON ---------------------------------------------------------------------------------------


def _describe_json(keys: list[str] | None, schema: dict[str, Any] | None) -> str:
    what = f" with the keys {quoted(keys)}" if keys else ""
    what += f" that fits the schema {json.dumps(schema, ensure_ascii=False)}" if schema else ""
    return f"Respond with JSON{what}, and nothing else."


@verifier("heedful:json", describe=_describe_json)
def json_value(
    response: Response, *, keys: list[str] | None = None, schema: dict[str, Any] | None = None
) -> Finding:
    """The response is JSON, alone or in one code block.

    Args:
        response: to be judged.
        keys: the object, or each object of the array, has them all.
        schema: a JSON schema; see :func:`heedful.verify.custom.json_schema.fault` for its keywords.

    Raises:
        UndecidedError: there is JSON, but also text around it, a key stands deeper, or a schema is
            given and a number is too large to be compared or a text too long for a pattern.
    """
    text = response.text.strip(BLANKS)
    blocks = code_blocks(text)
    alone = code_block_alone(text) if len(blocks) == 1 else None
    try:
        value, exact = parse(text if alone is None else alone)
    except RecursionError:
        return decide(None, "it is nested too deeply to be read")
    except ValueError as error:
        return _not_json(text, blocks, error)
    if not isinstance(value, dict | list):
        return decide(None, "a bare value, neither object nor array")
    if schema is not None:
        wrong = fault(value, schema) if exact else None
        if wrong is not None or not exact:
            return decide(*_misfit(wrong))
    return decide(*_has_keys(value, keys or []))


def _not_json(text: str, blocks: list[str], error: ValueError) -> Finding:
    if _is_json(text.strip()):
        return Finding(met=False, found="JSON with white space around it that JSON has not")
    if any(map(_is_json, [*blocks, *_embedded(text)])):
        return decide(None, "JSON with other text around it")
    return Finding(met=False, found=f"not JSON: {error}")


def _misfit(wrong: str | None) -> tuple[Outcome, str]:
    if wrong is None:
        return None, "a number that is too large to be compared with the schema"
    return False, f"JSON that does not fit its schema: {wrong}"


def _embedded(text: str) -> list[str]:
    spans = [(text.find(a), text.rfind(b)) for a, b in ("{}", "[]")]
    return [text[start : end + 1] for start, end in spans if 0 <= start < end]


def _is_json(text: str) -> bool:
    try:
        return isinstance(parse(text)[0], dict | list)
    except (ValueError, RecursionError):
        return False


def _has_keys(value: Any, keys: list[str]) -> tuple[Outcome, str]:
    objects = value if isinstance(value, list) else [value]
    missing = [
        key for key in keys if not all(isinstance(each, dict) and key in each for each in objects)
    ]
    if not missing:
        return True, "valid JSON" + (f" with {quoted(keys)}" if keys else "")
    everywhere = _keys(value)
    if all(key in everywhere for key in missing):
        return None, f"the keys {quoted(missing)} stand deeper in the JSON"
    return False, f"JSON without the keys {quoted([k for k in missing if k not in everywhere])}"


def _keys(value: Any) -> set[str]:
    keys: set[str] = set()
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            keys |= each.keys()
            left += each.values()
        elif isinstance(each, list):
            left += each
    return keys


# --- other formats ------------------------------------------------------------------------------

Format = Literal[
    "table",
    "markdown_table",
    "list",
    "bullet_list",
    "numbered_list",
    "points",
    "code_block",
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
]

_NAMES: dict[Format, str] = {
    "markdown_table": "a Markdown table",
    "bullet_list": "a bulleted list",
    "numbered_list": "a numbered list",
    "points": "points, one a line",
    "code_block": "a code block",
    "markdown": "Markdown",
    "plain_text": "text without Markdown's marks",
    "html": "HTML",
    "xml": "XML",
    "yaml": "YAML",
    "csv": "CSV",
    "latex": "LaTeX",
    "quoted": "quotation marks around it",
    "one_paragraph": "a single paragraph",
}


def _named(form: Format) -> str:
    return _NAMES.get(form, f"a {form}")


@verifier(
    "heedful:format",
    describe=lambda **args: f"Respond in this form: {_named(args['format'])}.",
)
def form(response: Response, *, format: Format) -> Finding:  # noqa: A002 - what users call it
    """The response has a form, or holds what has it (a table, a list, a code block).

    Raises:
        UndecidedError: there is something of the kind, but not surely enough.
    """
    return decide(*_FORMS[format](response.layout))


def _there(unit: Unit, least: int = 1) -> Callable[[Layout], tuple[Outcome, str]]:
    def test(layout: Layout) -> tuple[Outcome, str]:
        count = tally(layout, unit) or CountRange(0, 0)
        outcome = True if count.low >= least else None if count.high else False
        return outcome, amounts(count, unit)

    return test


def _markdown(layout: Layout) -> tuple[Outcome, str]:
    sure, maybe = tally(layout, "markdown_marks") or (0, 0)
    if sure:
        return True, f"{sure} of Markdown's marks"
    # Plain text is Markdown too, and a short answer may need no mark.
    return None, "signs that may be Markdown's" if maybe else "none of Markdown's marks"


def _plain(layout: Layout) -> tuple[Outcome, str]:
    sure, maybe = tally(layout, "markdown_marks") or (0, 0)
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


def _html(text: str) -> bool:
    return ("<!" in text and "<!doctype html" in text.lower()) or has_element(text)


def _xml(text: str) -> bool:
    return ("<?" in text and "<?xml" in text.lower()) or has_element(text, prefixed=True)


_LATEX = re.compile(r"\$[^$\n]+\$|\\\[|\\\(|\\begin\{|\\documentclass|\\[a-z]+\{", re.IGNORECASE)
_MAYBE_LATEX = re.compile(r"\\[a-z]|\^|\$", re.IGNORECASE)


def _yaml(layout: Layout) -> tuple[Outcome, str]:
    pairs = re.findall(r"^[^\S\n]*(?:- )?[\w\"'-]+:(?:\s|$)", layout.text, re.MULTILINE)
    return (None, "lines that may be YAML") if pairs else (False, "no YAML")


def _csv(layout: Layout) -> tuple[Outcome, str]:
    blocks = code_blocks(layout.text)
    text = (blocks[0] if blocks else layout.text).strip()
    try:
        widths = {len(row) for row in csv.reader(io.StringIO(text, newline="")) if row}
    except csv.Error as error:
        return False, f"no CSV: {error}"
    if len(widths) == 1 and widths.pop() > 1 and "\n" in text:
        return True, "rows of the same number of fields"
    return (None, "perhaps CSV") if "," in text and "\n" in text else (False, "no CSV")


def _quoted(layout: Layout) -> tuple[Outcome, str]:
    text = layout.text.strip()
    if len(text) > 1 and text[0] + text[-1] in {'""', "“”", "「」", "『』", "«»"}:
        return True, "quotation marks around it"
    single = len(text) > 1 and text[0] in "'‘\"“" and text[-1] in "'’\"”"
    return (None, "other quotation marks") if single else (False, "no quotation marks around it")


def _one_paragraph(layout: Layout) -> tuple[Outcome, str]:
    sizes = {len(each) for each in layout.paragraph_readings}
    outcome = True if sizes == {1} else None if min(sizes) <= 1 else False
    return outcome, f"{min(sizes)} to {max(sizes)} paragraphs"


def _points(layout: Layout) -> tuple[Outcome, str]:
    """Points may be list items, or lines with a heading or an ordinal word."""
    count = tally(layout, "list_items") or (0, 0)
    if count[0] > 1 or count[1] > 1:
        return True, f"{count[0]} to {count[1]} list items"
    lines = len(layout.written_lines[0])
    return (None if lines > 2 else False), "no list items"  # noqa: PLR2004 - an opening, a point


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
    "markdown": _markdown,
    "plain_text": _plain,
    "html": _searched(_html, has_tag, "HTML"),
    "xml": _searched(_xml, has_tag, "XML"),
    "yaml": _yaml,
    "csv": _csv,
    "latex": _searched(_LATEX.search, _MAYBE_LATEX.search, "LaTeX"),
    "quoted": _quoted,
    "one_paragraph": _one_paragraph,
    "title": _title,
}

# --- language and case --------------------------------------------------------------------------

_HAN = re.compile(f"[{scripts.HAN}]")
_KANA = re.compile(f"[{scripts.KANA}]")
_LATIN_WORD = re.compile(f"[A-Za-z{scripts.LATIN_ACCENTED}]+")
_OTHER_LETTER = re.compile(rf"[^\W\d_A-Za-z{scripts.LATIN_ACCENTED}{scripts.KANA}{scripts.HAN}]")
_LATIN_LANGUAGES = frozenset(
    "ca cs da de en es et fi fr hr hu id it lt lv nl no pl pt ro sk sl sv sw tl tr vi".split()  # noqa: SIM905
)
_ALMOST_ALL, _FEW = 0.95, 0.3
_LETTERS_TO_TELL = 40
_LETTERS_TO_REFUSE = 200


@verifier("heedful:language", describe="Respond in the language '{language}'.")
def language(response: Response, *, language: str) -> Finding:
    """The response is in a language, given as ISO 639-1 code.

    Detects Chinese by its characters, and other languages by langdetect and their script.

    Raises:
        UndecidedError: scripts are mixed, or the text is too short to detect its language.
    """
    return decide(*_in_language(response, language))


def _in_language(response: Response, language: str) -> tuple[Outcome, str]:
    text = response.layout.plain
    han, latin = len(_HAN.findall(text)), len(_LATIN_WORD.findall(text))
    other = len(_OTHER_LETTER.findall(text)) // 4  # words of four letters, for a fair comparison
    kana = len(_KANA.findall(text))
    everything = han + kana + latin + other
    if not everything:
        return None, "no letters that tell the language"
    if language == "zh":
        share = 0.0 if kana * 10 > han else han / everything
        reason = f"{share:.0%} of it in Chinese characters"
        return (True if share >= _ALMOST_ALL else False if share < _FEW else None), reason
    script = latin if language in _LATIN_LANGUAGES else kana * 3 if language == "ja" else other
    share = min(script / everything, 1.0)
    if share < _FEW:
        return False, f"{share:.0%} of it in the letters of the language '{language}'"
    letters = sum(map(str.isalpha, text))
    detected = response.language
    reason = f"the language is '{detected}' by langdetect"
    if detected == language and letters >= _LETTERS_TO_TELL and share >= _ALMOST_ALL:
        return True, reason
    refused = detected != language and letters >= _LETTERS_TO_REFUSE
    return (False if refused else None), reason


Case = Literal["upper", "lower", "title"]
_SMALL_WORDS = 4
_STRAY = 0.02


@verifier(
    "heedful:case",
    describe=lambda case, part, which: f"Write {named(part, which)} in {case} case.",
)
def case(
    response: Response, *, case: Case, part: Part = "response", which: Which = "each"
) -> Finding:
    """All letters are capitals, or none is, or each word but small ones starts with one.

    Raises:
        UndecidedError: there are no letters of two cases, or a few stray ones of the other.
    """

    def test(layout: Layout) -> tuple[Outcome, str]:
        upper = sum(map(str.isupper, layout.plain))
        lower = sum(map(str.islower, layout.plain))
        reason = f"{upper} capital and {lower} lower-case letters"
        if not upper + lower:
            return None, "no letters that have a case"
        if case == "title":
            words = re.findall(r"[^\W\d_][\w'’]*", layout.plain)
            small = [word for word in words if word[0].islower()]
            long = [word for word in small if len(word) > _SMALL_WORDS]
            reason = f"not capitalised: {quoted(small)}" if small else "all words are capitalised"
            return (False if long else None if small else True), reason
        wrong = lower if case == "upper" else upper
        if not wrong:
            return True, reason
        return (None if wrong < _STRAY * (upper + lower) else False), reason

    return decide(*judged(response.layout, part, which, test))


# --- dates --------------------------------------------------------------------------------------

DateStyle = Literal[
    "YYYY-MM-DD", "YYYY/MM/DD", "YYYY.MM.DD", "DD/MM/YYYY", "MM/DD/YYYY", "YYYY年MM月DD日"
]
_MONTH, _DAY = "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12]\\d|3[01])"
_DATE_STYLES: dict[DateStyle, str] = {
    "YYYY-MM-DD": rf"\d{{4}}-{_MONTH}-{_DAY}",
    "YYYY/MM/DD": rf"\d{{4}}/{_MONTH}/{_DAY}",
    "YYYY.MM.DD": rf"\d{{4}}\.{_MONTH}\.{_DAY}",
    "DD/MM/YYYY": rf"{_DAY}/{_MONTH}/\d{{4}}",
    "MM/DD/YYYY": rf"{_MONTH}/{_DAY}/\d{{4}}",
    "YYYY年MM月DD日": r"\d{4}年(?:0?[1-9]|1[0-2])月(?:0?[1-9]|[12]\d|3[01])日",
}
_DATE = re.compile(
    r"\d{4}\s*[-/.年]\s*\d{1,2}\s*[-/.月]\s*\d{1,2}日?|(?<!\d)\d{1,2}[-/.]\d{1,2}[-/.]\d{4}(?!\d)"
    r"|\d{1,2}月\d{1,2}日|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+\d{1,2}"
    r"(?:st|nd|rd|th)?,?\s+\d{4}|\d{1,2}(?:st|nd|rd|th)?\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep"
    r"|Oct|Nov|Dec)[a-z]*\.?,?\s+\d{4}"
)


@verifier("heedful:dates", describe="Write dates as {style}.")
def dates(response: Response, *, style: DateStyle) -> Finding:
    """All dates are written in a style.

    Raises:
        UndecidedError: there is no date.
    """
    dates = [match[0] for match in _DATE.finditer(response.text)]
    wrong = [each for each in dates if not re.fullmatch(_DATE_STYLES[style], each)]
    if not dates:
        return decide(None, "no date is found")
    if wrong:
        return Finding(met=False, found=f"otherwise written: {quoted(wrong[:5])}")
    return Finding(met=True, found=f"{amount(len(dates), 'date')}, all as {style}")
