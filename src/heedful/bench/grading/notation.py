r"""Notations of schools, of programs and of sets in plain braces, respelled as LaTeX.

``C_6^2`` and ``6C2`` are ``\binom{6}{2}``, ``2 cis 60°`` is a sum of a cosine and a sine,
``i + 2j`` is a vector, ``sqrt(2)`` is ``\sqrt{2}``. What may mean something else stays.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_N = r"(?:\d{1,4}|[nmkNM])"
_INDEX = rf"(?:\{{\s*{_N}\s*\}}|\d|[nmkNM])"
_LETTER = r"(?P<letter>\\mathrm\s*\{\s*[CAP]\s*\}|[CAP])"
_COMBINATIONS = tuple(
    re.compile(rf"(?<![a-zA-Z\d}}\\]){pattern}(?![\w^_(])")
    for pattern in (
        rf"{_LETTER}\s*_\s*(?P<below>{_INDEX})\s*\^\s*(?P<above>{_INDEX})",
        rf"{_LETTER}\s*\^\s*(?P<above>{_INDEX})\s*_\s*(?P<below>{_INDEX})",
        rf"(?:\{{\s*\}}\s*)?[\^_]\s*(?P<below>{_INDEX})\s*{_LETTER}\s*_\s*(?P<above>{_INDEX})",
        rf"(?P<below>{_N}){_LETTER}_?(?P<above>{_N})",
        rf"(?P<letter>C)\s*\(\s*(?P<below>{_N})\s*,\s*(?P<above>{_N})\s*\)",
        rf"(?P<below>{_N})\s+(?P<letter>choose)\s+(?P<above>{_N})",
    )
)
_FRACTION = r"\\d?frac\s*\{[^{}]*\}\s*\{[^{}]*\}"
_ROOT = r"\\sqrt\s*\{[^{}]*\}"
_ARGUMENT = rf"""(?:\((?P<brackets>[^()]{{1,80}})\)|\{{(?P<braces>[^{{}}]{{1,80}})\}}
    |(?P<bare>-?(?:{_FRACTION}|[\d.]*\s*(?:\\pi|\\theta|π|θ|[a-zA-Z])?(?:\s*/\s*\d+)?)
    \s*(?:\^\s*\{{?\s*\\circ\s*\}}?|°)?))"""
_CIS = re.compile(
    rf"""(?:(?P<factor>[\w)}}])\s{{0,3}})?(?:\\(?:operatorname|text|mathrm)\s*\{{\s*cis\s*\}}
    |(?<![a-zA-Z\\])cis(?![a-zA-Z]))\s*{_ARGUMENT}""",
    re.VERBOSE,
)
_BASIS = r"""\\(?:mathbf|hat|vec|boldsymbol|bm|widehat)\s*\{?\s*(?:\\(?:hat|vec)\s*\{?\s*)?
    \\?(?P<bold>[ijk])(?:math)?\s*\}{0,2}"""
_TERM = re.compile(
    rf"""\s{{0,3}}(?P<sign>[+-]?)\s{{0,3}}(?P<size>(?:[\d./]+|[\d.]*[a-z](?=\s*\\)|{_FRACTION}|\d*\s{{0,3}}{_ROOT}|\([^()]*\))?)
    \s{{0,3}}(?:\\cdot\s{{0,3}})?(?:{_BASIS}|(?P<plain>[ijk])(?![a-zA-Z]))\s{{0,3}}""",
    re.VERBOSE,
)
_ANGLES = re.compile(r"<([^<>=]*,[^<>=]*)>")
_CASES = re.compile(
    r"(?:\\left\s*)?(?:\\\{\s*\\begin\{array\}\s*\{[^{}]*\}|\\begin\{(?:cases|dcases)\})(?P<rows>[^&]*?)"
    r"\\end\{(?:array|cases|dcases)\}\s*(?:\\right\s*\.)?"
)
_FONT = r"\\(?:text|mathrm)\s*\{\s*"


def _ungrouped(match: re.Match[str]) -> str:
    """Write ``1'234'567`` and ``1_234_567`` without the marks between groups of digits."""
    return match[1] + re.sub(r"\D", "", match[2])


def _priced(match: re.Match[str]) -> str:
    """Write a currency's code behind its sum: ``USD 5`` is ``5 usd``."""
    return f"{match[3]} {(match[1] or 'yuan').casefold()}"


_SPELLED: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"∛\s*(\d+|\([^()]*\))"), r"\\sqrt[3]{\1}"),
    (re.compile(r"(?<![a-zA-Z\\])sqrt\s*(\d+)"), r"\\sqrt{\1}"),
    (re.compile(r"(?:(?<![a-zA-Z])\\?sqrt|√)\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![a-zA-Z\\])log_?(2|10)\s*(?=\()"), r"\\log_{\1}"),
    (re.compile(r"(?<![a-zA-Z\\])lg(?![a-zA-Z])"), r"\\lg "),
    (re.compile(r"(?<![a-zA-Z\\])exp\s*(?=\()"), r"\\exp"),
    (re.compile(r"(?<![a-zA-Z\\])abs\s*\(([^()]*)\)"), r"|\1|"),
    (re.compile(r"\^\s*\(([^()]{1,40})\)(?!\s*[\d^(])"), r"^{\1}"),
    (re.compile(r"((?:\d\u0305)+)"), lambda m: rf"\overline{{{m[1].replace(chr(0x305), '')}}}"),
    (re.compile(r"∶"), ":"),
    (re.compile(r"^([+-]?\d{1,3})((?:['’]\d{3})+|(?:_\d{3})+)$"), _ungrouped),
    (re.compile(r"^(?:(USD|EUR|GBP)|(RMB|CNY))\s*(?=\d)(.*)$"), _priced),
    (
        re.compile(rf"(?<=\d)(?:\s|~|\\,)*(?:\\mu|[µμ])\s*(?:{_FONT}\s*)?([mgslLAFCVW])\}}?$"),
        r" u\1",
    ),
    (
        re.compile(rf"(?<!\s)\s*(?:{_FONT})?\(\s*mod(?:ulo)?\s+([a-zA-Z]|\d+)\s*\)\}}?"),
        r" \\pmod{\1}",
    ),
    (re.compile(r"\\pmod\s*([a-zA-Z\d])"), r"\\pmod{\1}"),
    (
        re.compile(
            rf"(?:\\lcm|\\operatorname\{{lcm\}}|{_FONT}lcm\}}|\blcm)\s*[(\[]([\d,\s]{{3,40}})[)\]]"
        ),
        lambda m: str(math.lcm(*map(int, re.findall(r"\d+", m[1])))),
    ),
    (
        re.compile(r"\\det\s*\(?\s*\\begin\{[pb]matrix\}([^()]{0,400}?)\\end\{[pb]matrix\}\s*\)?"),
        r"\\begin{vmatrix}\1\\end{vmatrix}",
    ),
    (
        re.compile(
            r"^(?:all real numbers?|全体实数)(?: x)? (?:except|excluding|other than|but)"
            r"(?: for)? (?:x ?= ?)?(-?[\w./]+)\.?$",
            re.IGNORECASE,
        ),
        r"\\mathbb{R} \\setminus \\{\1\\}",
    ),
    (re.compile(r"^(?:全体|所有|任意)实数$"), r"\\mathbb{R}"),
    (re.compile(r"^half a dozen\b(?!\s+(?:and|or)\b)", re.IGNORECASE), "6"),
    (re.compile(r"^an? dozen\b(?!\s+(?:and|or)\b)", re.IGNORECASE), "12"),
    (re.compile(r"(?<=\d)( years?) old\b"), r"\1"),
    (re.compile(r"^(\d{1,2})\s?['′’]\s?((?:\d|1[01])(?:\.\d+)?)\s?(?:[\"″”]|'')$"), r"\1 ft \2 in"),
    (re.compile(r"^(\d+) (?:in|out of) (\d+)\.?$"), r"\\frac{\1}{\2}"),
    (re.compile(r"^(\d[\d.]*) ?(?:to|比) ?(\d[\d.]*)$"), r"\1:\2"),
)
_EMPTY = re.compile(r"\\(?:emptyset|varnothing)(?![a-zA-Z])|∅")


def respelled(text: str) -> str:
    r"""Write notations as LaTeX does.

    >>> respelled("C_6^2"), respelled("i + 2j"), respelled("{1,{2}}")
    ('\\binom{6}{2}', '(1,2)', '\\{1,\\{2\\}\\}')
    """
    for pattern, spelling in _SPELLED:
        text = pattern.sub(spelling, text)
    text = _CASES.sub(_listed, text)
    text = _CIS.sub(_polar, text)
    angles = _ANGLES.fullmatch(text)
    if angles:
        text = f"({angles[1]})"
    for pattern in _COMBINATIONS:
        text = pattern.sub(_counted, text)
    return _vector(text) or _with_sets(text)


def _counted(match: re.Match[str]) -> str:
    """Write a number of combinations or arrangements; letters count only in combinations."""
    below, above = (match[name].strip("{} ") for name in ("below", "above"))
    kind = match["letter"].strip("\\mathr{} ") if match["letter"] != "choose" else "C"
    numbers = below.isdigit() and above.isdigit()
    if numbers and not (int(below) > int(above) or (below == above and int(below) > 2)):  # noqa: PLR2004 - C_2^2 is a constant's square
        return match.group()
    if kind == "C":
        return rf"\binom{{{below}}}{{{above}}}"
    return rf"\frac{{{below}!}}{{{int(below) - int(above)}!}}" if numbers else match.group()


def _listed(match: re.Match[str]) -> str:
    rows = [row.strip(" ,;.") for row in re.split(r"\\\\(?:\[[^\]]*\])?", match["rows"])]
    return ", ".join(filter(None, rows))


def _polar(match: re.Match[str]) -> str:
    r"""Write ``r cis t`` with a cosine and a sine."""
    argument = (match["brackets"] or match["braces"] or match["bare"] or "").strip()
    if not argument:
        return match.group()
    times = rf"{match['factor']} \cdot " if match["factor"] else ""
    return rf"{times}(\cos({argument})+i \sin({argument}))"


def _vector(text: str) -> str | None:
    """Write a sum of unit vectors as a tuple; ``None`` where the text is none."""
    parts: dict[str, str] = {}
    at, plain = 0, False
    body = text.strip().strip("$").strip().rstrip(".")
    while at < len(body):
        term = _TERM.match(body, at)
        if term is None or (at and not term["sign"]):
            return None
        name = term["bold"] or term["plain"]
        if name in parts:
            return None
        plain = plain or term["plain"] is not None
        parts[name] = term["sign"].replace("+", "") + (term["size"] or "1")
        at = term.end()
    if not parts or (plain and not {"i", "j"} <= parts.keys()):
        return None
    names = "ijk" if "k" in parts else "ij"
    return f"({','.join(parts.get(name, '0') for name in names)})"


def _with_sets(text: str) -> str:
    r"""Write braces that can only be those of a set as ``\{`` and ``\}``."""
    if "{" not in text or not ("," in text or _EMPTY.search(text)):
        return text
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        if character == "{":
            opened.append(place)
        elif character == "}" and opened:
            pairs.append((opened.pop(), place))
    sets: set[int] = set()
    for start, end in sorted(pairs):
        before, after = text[:start].rstrip()[-8:], text[end + 1 :].lstrip()[:1]
        item = before[-1:] in {"", ",", "=", "{", "$"} or before.endswith(("\\in", "∈"))
        if not item or after not in {"", ",", "}", "$", "."} or before[-1:] == after == "{":
            continue
        inner = text[start + 1 : end]
        outermost = before[-1:] not in {",", "{"}
        inside = any(first in sets and last >= end for first, last in pairs if first < start)
        if (outermost and ("," in inner.replace("{,}", "") or _EMPTY.search(inner))) or inside:
            sets.add(start)
    ends = {end for start, end in pairs if start in sets}
    places = [0, *sorted(sets | ends), len(text)]
    pieces = [text[low:high] for low, high in pairwise(places)]
    return pieces[0] + "".join("\\" + piece for piece in pieces[1:])
