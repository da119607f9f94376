r"""Answers in LaTeX taken apart as text: no mathematics is done here."""

from __future__ import annotations

import re
from typing import NamedTuple

MACRO = re.compile(r"\\[a-zA-Z]+")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[^\s]", re.DOTALL)
_COUNTING_SPACE = re.compile(r"(?<=\d)\s+(?=\d)|(?<=\d,)\s+(?=\d{3}(?!\d))")
_SPACED_COMMA = re.compile(r"(?<=\d)\s+,\s*(?=\d{3}(?!\d))")

_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())
_SEPARATOR = re.compile(
    r"\s*(?:,|;|\\?&|\\\\|(?<![a-zA-Z\\])(?:and|or|\\text\{and\})(?![a-zA-Z]))\s*"
)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])")
_CLOSE_LIST = re.compile(r"-?\d+(?:,-?\d+)+")
_LISTED_ROWS = re.compile(r"\[(?P<rows>(?:\s*\[[^\[\]]*\]\s*,?){2,})\]")
_NOT_EQUAL = re.compile(r"(?:[<>]|(?<![\d)])!)\Z")
_MATRIX = re.compile(r"\\begin\{pmatrix\}(?P<body>.*)\\end\{pmatrix\}", re.DOTALL)


class BracketGroup(NamedTuple):
    """Items between brackets: a tuple, an interval, a set, a list.

    Attributes:
        opening: the bracket; ``""`` for a bare list.
        items: what stands between the commas.
        closing: the other bracket.
    """

    opening: str
    items: tuple[str, ...]
    closing: str

    @property
    def ordered(self) -> bool:
        """Whether the order of the items means something: not in a set or a bare list."""
        return self.opening in {"(", "["}


def key(text: str) -> str:
    r"""Reduce a tidied answer to what must be the same for two to be the same text.

    Braces count wherever TeX needs them: around one symbol they do not. Spaces count where they
    keep two numbers apart.

    >>> key("x^{2}") == key("x^2"), key("e^{2x}") == key("e^{2}x"), key("3 1/2") == key("31/2")
    (True, False, False)
    """
    text = _SPACED_COMMA.sub(", ", text)
    text = _COUNTING_SPACE.sub("\N{OPEN BOX}", text.strip())
    open_groups: list[list[str]] = [[]]
    depth = 0
    for piece in _TOKEN.findall(text):
        depth += (piece in "([") - (piece in ")]")
        if piece == "{":
            open_groups.append([])
        elif piece == "}" and len(open_groups) > 1:
            inner = open_groups.pop()
            open_groups[-1].append(inner[0] if len(inner) == 1 else " ".join(("{", *inner, "}")))
        elif piece != "\N{OPEN BOX}" or not (
            open_groups[-1][-1:] == [","] and (depth > 0 or len(open_groups) > 1)
        ):
            open_groups[-1].append(piece)
    pieces = [piece for tokens in open_groups for piece in tokens]
    if len(pieces) == 1 and pieces[0].startswith("{ "):
        pieces = [pieces[0][2:-2]]
    return " ".join(pieces)


def matrix(text: str) -> list[list[str]] | None:
    r"""Return the rows of a text that is one matrix, or ``None``."""
    listed = _LISTED_ROWS.fullmatch(text.strip())
    if listed:
        return [parts(row) for row in re.findall(r"\[([^\[\]]*)\]", listed["rows"])]
    match = _MATRIX.fullmatch(text.strip().removeprefix("[").removesuffix("]").strip())
    if match is None or r"\begin{" in match["body"]:
        return None
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", match["body"]) if row.strip()]
    return [[cell.strip() for cell in row.split("&")] for row in rows]


def parts(text: str) -> list[str]:
    """Split a text at its top-level commas, semicolons, ``and`` and ``or``.

    A comma that groups thousands does not split: ``1,200`` is one part.
    """
    if _CLOSE_LIST.fullmatch(text) and not _THOUSANDS.fullmatch(text):
        return text.split(",")  # 27,63,99,135
    elements: list[str] = []
    depth = start = at = 0
    inside = text.count(r"\begin{")
    while at < len(text):
        if inside and text.startswith((r"\begin{", r"\end{"), at):
            opens = text.startswith(r"\begin{", at)
            depth += 1 if opens else -1
            at += len(r"\begin" if opens else r"\end") - 1
        elif text[at] in _OPEN:
            depth += 1
        elif text[at] in _CLOSE:
            depth -= 1
        elif depth <= 0:
            number = _THOUSANDS.match(text, at)
            if number and (at == 0 or not text[at - 1].isalnum()):
                at = number.end()
                continue
            separator = _SEPARATOR.match(text, at)
            if separator and separator.end() > at and separator.group().strip():
                elements.append(text[start:at])
                start = at = separator.end()
                continue
        at += 1
    elements.append(text[start:])
    return [part.strip() for part in elements if part.strip()]


def group(text: str) -> BracketGroup | None:
    """Take a text apart that is one pair of brackets around several items, or a bare list."""
    text = text.strip()
    opening, inner, closing = _outer(text)
    if opening:
        items = tuple(parts(inner))
        if len(items) > 1 or opening == r"\{" or (opening == "{" and items):
            return BracketGroup(opening, items, closing)
        return None
    items = tuple(parts(text))
    return BracketGroup("", items, "") if len(items) > 1 else None


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
        if depth == 0 and character == "=" and not _NOT_EQUAL.search(text[max(0, at - 2) : at]):
            members.append("")
        elif depth == 0 and text.startswith(r"\approx", at):
            members.append("")
            at += len(r"\approx") - 1
        else:
            members[-1] += character
        at += 1
    return [member.strip() for member in members if member.strip()]
