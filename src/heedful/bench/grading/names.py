r"""Names before a value: ``x = 3``, ``f(x) = 2x``, ``|AB| = 1``, ``(x, y) = (1, 2)``."""

from __future__ import annotations

import re

from heedful.bench.grading import latex

_INDEX = r"(?:_\{?\w+\}?)?"
_WORDS = r"(?=[a-zA-Z\s-]*[a-z]{3})[a-zA-Z-]++(?:\s++[a-zA-Z-]++){0,5}+"
_THING = rf"""(?:
    (?:\\Delta\s*)?(?:[a-zA-Z]|\\[a-zA-Z]+){_INDEX}(?:'+|\^\{{?-1\}}?)?
        (?:\s*\([a-zA-Z](?:,\s*[a-zA-Z])*\))?
    |P\s*\([^()]*\)|\\(?:sin|cos|tan|cot)\s*(?:\\(?:theta|alpha|beta|gamma|phi|varphi|angle)\s*\w*|[A-C])
    |(?:[f-hF-HPESTV]|Var|Cov){_INDEX}\s*(?:\([^()=]*\)|\[[^\[\]=]*\])
    |\\(?:bar|hat|vec|dot|tilde|overline|overrightarrow|widehat)\s*\{{?\w+\}}?
    |m?\s*\\(?:angle|triangle|odot)\s*\w+|[A-Z][a-zA-Z]{{1,2}}{_INDEX}|[A-Z]{{2,6}}{_INDEX}
    |\|\s*(?:[A-Z]{{1,3}}|[zw]|\\(?:vec|overrightarrow)\s*\{{?\w+\}}?)\s*\|
    |\\frac\{{\s*d\w*\}}\{{\s*d\w+\s*\}}|\\frac\{{\s*[A-Z]{{1,3}}{_INDEX}\s*\}}\{{\s*[A-Z]{{1,3}}{_INDEX}\s*\}}
    |d\s?[a-z]|\(\)|\w\(\))"""
NAME = re.compile(
    rf"{_THING}(?:\s*:\s*{_THING})*|\(\s*{_THING}(?:\s*,\s*{_THING})+\s*\)|{_WORDS}", re.VERBOSE
)
"""Things with a name: a variable, a function, a derivative, a length, a ratio, a tuple of names."""

_WORDS_BEFORE = re.compile(
    rf"(?!(?:yes|no|true|false)\b)(?P<name>{_WORDS})\s*:\s*(?=\S)", re.IGNORECASE
)
_LABEL = re.compile(r"^(?P<name>[a-zA-Z][a-zA-Z -]{1,40}[a-zA-Z])\s*[:=]\s*(?=\S)")
_POINT = re.compile(r"(?P<name>[A-Z]'*(?:_\{?\w+\}?)?)\s*(?P<place>\([^()]*[^()\w][^()]*\))")
_MEMBER = re.compile(r"\s*(?P<letter>[a-zA-Z])\s*\\in(?![a-z])\s*(?P<set>.+)")
_OF_ONE_LETTER = re.compile(r"(?P<function>[a-zA-Z]+)\s*\((?P<letter>[a-z])\)")


def name_of(item: str) -> str | None:
    """Return the name before the equals sign, as in ``x = 3`` and ``f(x) = 3x``."""
    sides = latex.members(item)
    if len(sides) < 2 or not NAME.fullmatch(sides[0]):  # noqa: PLR2004 - two sides
        return None
    return latex.key(sides[0])


def value_of(item: str) -> str:
    """Return what stands after the name; all of an item without one."""
    return latex.members(item)[-1] if name_of(item) else item


def spread(text: str) -> str:
    """Write out names that stand before several values, and words or a point's name as names.

    >>> spread("(p,q)=(3,2)"), spread("Area: 12"), spread("P(3,4)")
    ('(p = 3, q = 2)', 'Area = 12', 'P = (3,4)')
    """
    words = _WORDS_BEFORE.match(text)
    text = f"{words['name']} = {text[words.end() :]}" if words else text
    parts = latex.parts(text)
    if len(parts) > 1 and all(map(_LABEL.match, parts)):  # Tom: 3, Jerry: 4
        text = ", ".join(_LABEL.sub(r"\g<name> = ", part) for part in parts)
    groups = [group for group in text.split(";") if group.strip()]
    if len(groups) > 1 and all(len(latex.parts(group)) > 1 and "=" in group for group in groups):
        return ", ".join(f"({group.strip()})" for group in groups)  # p=5,q=2; p=7,q=2
    point = _POINT.fullmatch(text)
    if point and point["place"].count(",") and not point["name"].startswith(("C", "P_", "A_")):
        return f"{point['name']} = {point['place']}"
    sides = latex.members(text)
    if len(sides) != 2:  # noqa: PLR2004 - names and values
        return text
    names, values = latex.group(sides[0]), latex.group(sides[1])
    if names is None or values is None or len(names.items) != len(values.items):
        return text
    if not all(map(NAME.fullmatch, names.items)) or not values.opening:
        return text
    pairs = zip(names.items, values.items, strict=True)
    return f"({', '.join(f'{thing} = {number}' for thing, number in pairs)})"


def of_same_letter(gold: str, answer: str) -> str:
    """Write ``f(t) = t^2`` as a function of the gold's letter: ``f(x) = x^2``."""
    ours, theirs = map(_OF_ONE_LETTER.match, (gold, answer))
    if not ours or not theirs or ours["letter"] == theirs["letter"]:
        return answer
    if re.search(rf"(?<![a-zA-Z\\]){ours['letter']}(?![a-zA-Z])", answer):
        return answer
    return re.sub(rf"(?<![a-zA-Z\\]){theirs['letter']}(?![a-zA-Z])", ours["letter"], answer)


def memberships(text: str) -> dict[str, str]:
    r"""Return the set of each letter in ``x \in A, y \in B``; empty where there is more in it."""
    found = [_MEMBER.fullmatch(part) for part in latex.parts(text)]
    sets = {match["letter"]: match["set"] for match in found if match}
    return sets if len(sets) == len(found) else {}
