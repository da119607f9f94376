"""Inequalities and conditions, written as the intervals that they describe."""

from __future__ import annotations

import re
from typing import NamedTuple

NAME = re.compile(
    r"(?:\\Delta\s*)?(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_\{?\w+\}?)?(?:'+|\^\{?-1\}?)?(?:\s*\([a-zA-Z](?:,\s*[a-zA-Z])*\))?"
    r"|\\(?:bar|hat|vec|dot|tilde)\s*\{?\w+\}?|[a-zA-Z]{2,3}|\\frac\{d\w*\}\{d\w+\}|\(\)|\w\(\)"
)
"""Things with a name: a variable, a function of variables, a derivative."""

_RELATION = re.compile(r"(<=|>=|<|>|\\le(?![a-z])|\\ge(?![a-z])|\\lt(?![a-z])|\\gt(?![a-z]))")
_SET_BUILDER = re.compile(r"\\?\{\s*[a-zA-Z]\s*[|:](?P<condition>[^,]*?)\\?\}")
_FLIPPED = {"<": ">", ">": "<", "le": "ge", "ge": "le"}


class Interval(NamedTuple):
    """An inequality as an interval.

    Attributes:
        name: the variable that lies in it.
        text: the interval.
    """

    name: str
    text: str


def interval(text: str) -> Interval | None:
    r"""Write ``a < x \le b`` or ``x > a`` as an interval; ``None`` where it isn't one."""
    built = _SET_BUILDER.fullmatch(text)
    pieces = [piece.strip() for piece in _RELATION.split(built["condition"] if built else text)]
    signs = [sign.replace("<=", "le").replace(">=", "ge").lstrip("\\") for sign in pieces[1::2]]
    signs = [{"lt": "<", "gt": ">"}.get(sign, sign) for sign in signs]
    sides = pieces[::2]
    if len(sides) == 2:  # noqa: PLR2004 - one sign
        if NAME.fullmatch(sides[1]) and not NAME.fullmatch(sides[0]):
            sides, signs = sides[::-1], [_FLIPPED[signs[0]]]
        if not NAME.fullmatch(sides[0]):
            return None
        end = sides[1]
        low = {">": f"({end}, \\infty)", "ge": f"[{end}, \\infty)"}
        high = {"<": f"(-\\infty, {end})", "le": f"(-\\infty, {end}]"}
        return Interval(sides[0], (low | high)[signs[0]])
    if len(sides) != 3 or not NAME.fullmatch(sides[1]):  # noqa: PLR2004 - two signs
        return None
    if signs[0] in {">", "ge"}:
        sides, signs = sides[::-1], [_FLIPPED[sign] for sign in reversed(signs)]
    if signs[0] not in {"<", "le"} or signs[1] not in {"<", "le"}:
        return None
    opening, closing = "[" if signs[0] == "le" else "(", "]" if signs[1] == "le" else ")"
    return Interval(sides[1], f"{opening}{sides[0]}, {sides[2]}{closing}")
