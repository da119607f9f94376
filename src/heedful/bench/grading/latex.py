r"""Answers in LaTeX as text: one spelling of each thing, and taken apart. No mathematics here."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from heedful.bench.grading.passages import last_boxed

_CHARACTERS = str.maketrans(
    {
        "−": "-", "–": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": "/",
        "π": r"\pi ", "θ": r"\theta ", "Ω": r"\Omega ", "∞": r"\infty ", "∪": r"\cup ",
        "∩": r"\cap ", "∈": r"\in ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
        "±": r"\pm ", "√": r"\sqrt", "∅": r"\emptyset ", "°": r"^\circ ", "º": r"^\circ ",
        "ℝ": r"\mathbb{R}", "、": ", ", "，": ", ", "；": "; ", "。": ".", "或": " or ",
        "和": " and ",
    }
)  # fmt: skip
_RAISED = re.compile("[⁰¹²³⁴-⁹⁺⁻ⁿ]+")
_UNNUMBERED = re.compile("[^①-⑳]+")
"""All but the numbers of statements, which aren't the numbers themselves."""

_DOUBLED = re.compile(r"\\\\(?=[a-zA-Z]{2,}|[%{}])")
_SINGLE = re.compile(r"(?<!\\)\\[a-zA-Z%{}]")
_FUNCTION = r"(?:arc)?(?:sin|cos|tan|cot|sec|csc)|ln|log"
_SIMPLER = tuple(
    (re.compile(pattern), simpler)
    for pattern, simpler in (
        # What only shapes the page goes; of several ways to write one thing, one stays.
        (r"\\(?:left|right|[bB]igg?[lrm]?|middle)(?![a-zA-Z])\s*\.?", ""),
        (r"(?<!\\)\\!\s*", ""),
        (r"(?<!\\)\\(?:[,;: ]|q?quad(?![a-zA-Z]))|\\qquad|(?<!\\)~", " "),
        (r"\\[()\[\]]|\\?\$", ""),
        (r"\\[dtc](frac|binom)(?![a-zA-Z])", r"\\\1"),
        (r"\\(?:leqslant|leq)(?![a-zA-Z])|<=", r"\\le "),
        (r"\\(?:geqslant|geq)(?![a-zA-Z])|>=", r"\\ge "),
        (r"\\lt(?![a-zA-Z])", "<"),
        (r"\\gt(?![a-zA-Z])", ">"),
        (r"\\neq(?![a-zA-Z])|!=", r"\\ne "),
        (r"\\varnothing(?![a-zA-Z])", r"\\emptyset"),
        (r"\\(?:langle|lparen)(?![a-zA-Z])", "("),
        (r"\\(?:rangle|rparen)(?![a-zA-Z])", ")"),
        (r"\\lbrace(?![a-zA-Z])", r"\\{"),
        (r"\\rbrace(?![a-zA-Z])", r"\\}"),
        (r"\^\s*\{?\s*\\(?:circ|degree)(?![a-zA-Z])\s*\}?|\\degree(?![a-zA-Z])", r"^\\circ "),
        (r"\\%|\\text\{\s*\\?%\s*\}|(?<=\d)\s*(?:per\s?cent|pct)\b", "%"),
        (r"\^\s*\{?\s*\\prime\s*\}?|’|′", "'"),
        (r"\\\{\s*\\\}", r"\\emptyset"),
        (r"^(\d+)\s(?:in|out of)\s(\d+)$", r"\\frac{\1}{\2}"),
        (r"\{,\}", ","),
        (
            r"\\(begin|end)\{(?:[bB]?(?:matrix|smallmatrix)|array)\}(?:\s*\{[lcr|]*\})?",
            r"\\\1{pmatrix}",
        ),
        (r"(?<=\d)\s?x\s?(?=10\^)", r"\\times "),
        (
            r"\^\s*\{?\s*\\(?:text|mathrm)\{\s*(?:st|nd|rd|th)\s*\}\s*\}?|(?<=\d)(?:st|nd|rd|th)\b",
            "",
        ),
        (r"(?<![a-zA-Z\\])(?:np\.|math\.)?(sqrt|arcsin|arccos|arctan)\s*\(([^()]*)\)", r"\\\1{\2}"),
        (r"\\sqrt\s*\(([^()]*)\)", r"\\sqrt{\1}"),
    )
)
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf|it|sf|normal)|boldsymbol|bm|mbox|hbox"
    r"|operatorname\*?)\s*\{((?:[^{}]|\{[^{}]*\})*+)\}"
)
_BARE_FRACTION = re.compile(r"\\(frac|binom)\s*(\d|[a-zA-Z]|\{[^{}]*\})\s*(\d|[a-zA-Z]|\{[^{}]*\})")
_BARE_ROOT = re.compile(r"\\sqrt\s*(\d+|[a-zA-Z])")
_PLAIN_FUNCTION = re.compile(rf"(?<![a-zA-Z\\])((?:{_FUNCTION})(?=\s*[\w\\({{^])|pi)(?![a-zA-Z])")
_LEAD_IN = re.compile(
    r"(?:so |thus,? |therefore,? )?(?:the )?(?:final )?answer\s*(?:is\s*:?|:|=)\s*(?=\S)"
    r"|(?:solution is|option|choice)\s*:?\s+(?=\S)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?<=[\w})])[\s,;(]+(?:for (?:all|any|some|every)\b|any integer|where\b|with\b"
    r"|[a-z]\s*\\in\s*\\mathbb).*$"
)

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[^\s]", re.DOTALL)
_COUNTING_SPACE = re.compile(r"(?<=\d)\s+(?=\d)|(?<=\d,)\s+(?=\d{3}(?!\d))")
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())
_SEPARATOR = re.compile(r"\s*(?:,|;|\\?&|\\\\|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z]))\s*")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])")
_MATRIX = re.compile(r"\\begin\{pmatrix\}(?P<body>.*)\\end\{pmatrix\}", re.DOTALL)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?|\\(?=-?\d)")


class BracketGroup(NamedTuple):
    """Items between brackets; the brackets are ``""`` for a bare list."""

    opening: str
    items: tuple[str, ...]
    closing: str

    @property
    def ordered(self) -> bool:
        """Whether the order of the items means something: not in a set or a bare list."""
        return self.opening in {"(", "["}


def tidy(text: str) -> str:
    r"""Write an answer plainly: no spacing commands, no fonts, one spelling of each thing.

    >>> tidy(r"$\left(\dfrac12,\; \text{cm}\right)$.")
    '(\\frac{1}{2}, cm )'
    """
    text = last_boxed(text) or text
    if _DOUBLED.search(text) and not _SINGLE.search(text):
        text = text.replace("\\\\", "\\")
    text = _in_ascii(text)
    for pattern, simpler in _SIMPLER:
        text = pattern.sub(simpler, text)
    while (shorter := _WRAPPER.sub(_unwrapped, text)) != text:
        text = shorter
    text = _CONDITION.sub("", text)
    text = _BARE_FRACTION.sub(lambda m: rf"\{m[1]}{_braced(m[2])}{_braced(m[3])}", text)
    text = _BARE_ROOT.sub(r"\\sqrt{\1}", text)
    text = _PLAIN_FUNCTION.sub(r"\\\1 ", text)
    text = " ".join(text.split()).rstrip("\\")
    lead_in = _LEAD_IN.match(text)
    text = text[lead_in.end() :] if lead_in else text
    text = text.rstrip(" .,;:").lstrip(" ,;:")
    return text if re.match(r"\.\d", text) else text.lstrip(" .,;:")


def has_condition(text: str) -> bool:
    """Check whether an answer holds for all values of a letter, as ``(t, 2t) for all t``."""
    return re.search(r"for (?:all|any|every|some) |any integer", text) is not None


def _in_ascii(text: str) -> str:
    """Write characters that have a spelling in LaTeX or ASCII in it."""
    if text.isascii():
        return text
    text = _RAISED.sub(lambda m: f"^{{{unicodedata.normalize('NFKC', m.group())}}}", text)
    text = text.translate(_CHARACTERS)
    return _UNNUMBERED.sub(lambda m: unicodedata.normalize("NFKC", m.group()), text)


def _unwrapped(match: re.Match[str]) -> str:
    """Return what a font command holds; words keep their distance from what stands beside."""
    inner = match[1]
    return f" {inner} " if len(inner.strip()) > 1 else f" {inner}"


def _braced(part: str) -> str:
    return part if part.startswith("{") else f"{{{part}}}"


def key(text: str) -> str:
    r"""Reduce a tidied answer to what must be the same for two to be the same text.

    Braces count wherever TeX needs them: around one symbol they do not. Spaces count where they
    keep two numbers apart.

    >>> key("x^{2}") == key("x^2"), key("e^{2x}") == key("e^{2}x"), key("3 1/2") == key("31/2")
    (True, False, False)
    """
    text = _COUNTING_SPACE.sub("\N{OPEN BOX}", text.strip())
    open_groups: list[list[str]] = [[]]
    for piece in _TOKEN.findall(text):
        if piece == "{":
            open_groups.append([])
        elif piece == "}" and len(open_groups) > 1:
            inner = open_groups.pop()
            open_groups[-1].append(inner[0] if len(inner) == 1 else " ".join(("{", *inner, "}")))
        else:
            open_groups[-1].append(piece)
    pieces = [piece for tokens in open_groups for piece in tokens]
    if len(pieces) == 1 and pieces[0].startswith("{ "):
        pieces = [pieces[0][2:-2]]
    return " ".join(pieces)


def matrix(text: str) -> list[list[str]] | None:
    r"""Return the rows of a text that is one matrix, or ``None``."""
    match = _MATRIX.fullmatch(text.strip().strip("()[]"))
    if match is None or r"\begin{" in match["body"]:
        return None
    rows = [row for row in _ROW_END.split(match["body"]) if row.strip()]
    return [[cell.strip() for cell in row.split("&")] for row in rows]


def parts(text: str) -> list[str]:
    """Split a text at its top-level commas, semicolons, ``and`` and ``or``.

    A comma that groups thousands does not split: ``1,200`` is one part.
    """
    elements: list[str] = []
    depth = start = at = 0
    while at < len(text):
        if text.startswith((r"\begin{", r"\end{"), at):
            depth += 1 if text.startswith(r"\begin{", at) else -1
        if text[at] in _OPEN:
            depth += 1
        elif text[at] in _CLOSE:
            depth -= 1
        elif depth <= 0:
            number = _THOUSANDS.match(text, at)
            if number and (at == 0 or not text[at - 1].isalnum()):
                at = number.end()
                continue
            separator = _SEPARATOR.match(text, at)
            if separator:
                elements.append(text[start:at])
                start = at = separator.end()
                continue
        at += 1
    elements.append(text[start:])
    return [part.strip() for part in elements if part.strip()]


def group(text: str) -> BracketGroup | None:
    """Take a text apart that is one pair of brackets around several items, or a bare list."""
    opening, inner, closing = _outer(text.strip())
    items = tuple(parts(inner))
    if len(items) > 1 or (items and opening in {r"\{", "{"}):
        return BracketGroup(opening, items, closing)
    return None


def _outer(text: str) -> tuple[str, str, str]:
    """Split off the brackets if one pair holds all of a text; else two empty strings."""
    if text.startswith(r"\{") and text.endswith(r"\}"):
        return r"\{", text[2:-2], r"\}"
    if not text or text[0] not in _OPEN or text[-1] not in ")]}":
        return "", text, ""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in _OPEN) - (character in _CLOSE)
        if not depth and place < len(text) - 1:
            return "", text, ""
    return text[0], text[1:-1], text[-1]


def plus_minus(text: str) -> list[str]:
    r"""Write out ``\pm``: the two readings of a text, or the text alone."""
    if r"\pm" not in text and r"\mp" not in text:
        return [text]
    upper = text.replace(r"\pm", "+").replace(r"\mp", "-")
    lower = text.replace(r"\pm", "-").replace(r"\mp", "+")
    return [part.strip().removeprefix("+").strip() for part in (upper, lower)]


def members(text: str) -> list[str]:
    r"""Split ``a = b = c`` or ``a \approx b`` at the top level; one member where there is none."""
    members = [""]
    depth = 0
    at = 0
    while at < len(text):
        character = text[at]
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0 and character == "=" and text[at - 1 : at] not in ("<", ">", "!"):
            members.append("")
        elif depth == 0 and text.startswith(r"\approx", at):
            members.append("")
            at += len(r"\approx") - 1
        else:
            members[-1] += character
        at += 1
    return [member.strip() for member in members if member.strip()]
