r"""Chains of equations: the side on which ``3 \cdot 4 = 12`` and aligned steps end."""

from __future__ import annotations

import re

from heedful.bench.grading import latex
from heedful.bench.grading.names import NAME

_ALIGNED = re.compile(
    r"\\(?:begin|end)\{(?:align(?:ed)?|gather(?:ed)?|equation|multline|split)\*?\}"
)
_RELATION = re.compile(
    r"[<>≤≥≠≈≡]|\\(?:leq?|geq?|lt|gt|neq?|in|to|approx|equiv|mapsto|leqslant|geqslant|iff"
    r"|[a-z]*arrow|implies)(?![a-z])",
    re.IGNORECASE,
)
_MACRO = re.compile(r"\\(?:text|mathrm)\{[^{}]*\}|\\[a-zA-Z]+")
_SIDES = 2


def settled(formula: str) -> str:
    r"""Return what a formula ends on: the last side of arithmetic and of chains.

    An equation in letters is left whole, since it may be the answer itself.

    >>> settled(r"3 \cdot 4 = 12"), settled("x + y = 3"), settled("ab = 2b = 6")
    ('12', 'x + y = 3', '6')
    """
    formula = formula.strip()
    last = ""
    if _ALIGNED.search(formula):
        rows = [row for row in re.split(r"\\\\", _ALIGNED.sub("", formula)) if row.strip(" .,")]
        formula = last = rows[-1].replace("&", "").strip(" .,") if rows else formula
    if _RELATION.search(formula) or len(latex.parts(formula)) > 1:
        return formula
    sides = latex.members(formula)
    if len(sides) > 1 and last.startswith("="):
        return sides[-1]
    if last.startswith("="):
        return last.lstrip("= ")
    if len(sides) < _SIDES or any(map(NAME.fullmatch, sides[: 1 if len(sides) > _SIDES else None])):
        return formula
    letters = re.search("[a-zA-Z]", _MACRO.sub("", sides[0]))
    return formula if len(sides) == _SIDES and letters else sides[-1]
