r"""Sets of real numbers: intervals, unions, inequalities, conditions such as ``x \ne 2``.

They are read into sympy's sets, which are the same however they are written. Where the ends have
letters in them, two sets are the same if they are so for several random values of the letters.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any

from heedful.bench.grading import latex
from heedful.bench.grading.expressions import read

_SIGN = re.compile(r"(<=|>=|<|>|\\(?:le|ge|lt|gt|ne)(?![a-zA-Z])|!=|=)")
_RELATIONS = {
    "<": "Lt", "\\lt": "Lt", ">": "Gt", "\\gt": "Gt", "<=": "Le", "\\le": "Le", ">=": "Ge",
    "\\ge": "Ge", "!=": "Ne", "\\ne": "Ne", "=": "Eq",
}  # fmt: skip
_OR = re.compile(r"\\(?:cup|lor|vee)(?![a-zA-Z])|(?<![a-zA-Z\\])or(?![a-zA-Z])")
_AND = re.compile(r"\\(?:cap|land|wedge)(?![a-zA-Z])|(?<![a-zA-Z\\])and(?![a-zA-Z])")
_COMMA = re.compile("[,;]")
_WITHOUT = re.compile(r"\\(?:setminus|backslash)(?![a-zA-Z])|\\(?=\\\{)|-(?=\s*\\\{)")
_BUILDER = re.compile(
    r"\\?\{\s*([a-zA-Z])\s*(?:\\in\s*(?:\\mathbb\s*\{?\s*)?R\s*\}?)?\s*(?:[|:]|such that)"
    r"(?P<condition>.*?)\\?\}"
)
_MEMBER = re.compile(r"(?P<name>[a-zA-Z])\s*\\in(?![a-z])\s*(?P<set>.+)")
_END = r"(?:[^()\[\]{},;]|\{[^{}]*\}|\([^()]*\))+"
_INTERVAL = re.compile(
    rf"(?P<opening>[(\[\]])(?P<inner>{_END}[,;]{_END})(?P<closing>[)\]\[])(?<!\\[)\]])"
)
_REALS = re.compile(
    r"(?:[a-z]\s*is\s*)?(?:\\mathbb\s*\{?\s*R\s*\}?|(?:for )?(?:all|any) real(?: number)?s?)",
    re.IGNORECASE,
)
_SAYS_REGION = re.compile(
    r"[<>]|\\(?:le|ge|lt|gt|ne|cup|cap|setminus|lor|land|vee|wedge)(?![a-zA-Z])|!="
    rf"|{_REALS.pattern}|\\\{{\s*[a-zA-Z]\s*(?:[|:]|\\in)|^\].*\[$|\[[^\[\]()]*\)|\([^\[\]()]*\]|\([^()]*\\infty\s*\)|\(-\\infty",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"\\emptyset|\\\{\s*\\\}")
_NAME = re.compile(r"[a-zA-Z](?:_\{?\w+\}?)?|\\[a-zA-Z]+(?:_\{?\w+\}?)?")
_VARIABLES = frozenset("xyztuvw")
_ASSIGNMENTS = 6
"""Random values of the letters for which two sets are compared."""

_DENOMINATOR, _MOST = 997, 3000
_ROUNDING = 1e-3
_DIGITS = 30


class _UnreadableError(Exception):
    """A part that isn't a set of real numbers."""


@dataclass
class _Reader:
    """Reads a set for some values of the letters in it."""

    seed: int
    variable: str | None = None
    letters: bool = False

    def set_of(self, text: str) -> Any:
        """Read a set of real numbers."""
        import sympy

        text = text.strip()
        interval = _INTERVAL.fullmatch(text)
        if interval:
            return self._interval(interval)
        member = _MEMBER.fullmatch(text)
        if member:
            self._name(member["name"])
            return sympy.S.Reals if member["set"] == "R" else self.set_of(member["set"])
        for separator, join in ((_OR, sympy.Union), (_AND, sympy.Intersection)):
            parts = _split(separator, text)
            if len(parts) > 1:
                return join(*map(self.set_of, parts))
        if len(_split(_COMMA, text)) > 1:
            return self._conditions(_split(_COMMA, text))
        parts = _split(_WITHOUT, text)
        if len(parts) > 1:
            return reduce(sympy.Complement, map(self.set_of, parts))
        return self._simple(text)

    def _conditions(self, parts: list[str]) -> Any:
        r"""Read ``x > 1, x < 3``, or ``x < 1, x > 3`` for either; ``x \ne 1, 2`` for both."""
        import sympy

        first, *rest = parts
        name, sign, _ = [*_split(_SIGN, first), "", ""][:3]
        if _RELATIONS.get(sign) == "Ne":
            rest = [part if _SIGN.search(part) else rf"{name} \ne {part}" for part in rest]
        sets = [self.set_of(part) for part in (first, *rest)]
        both = sympy.Intersection(*sets)
        return sympy.Union(*sets) if both.is_empty else both

    def _simple(self, text: str) -> Any:
        import sympy

        if _REALS.fullmatch(text) or _EMPTY.fullmatch(text):
            return sympy.S.Reals if _REALS.fullmatch(text) else sympy.S.EmptySet
        sides = _split(_SIGN, text)
        if len(sides) > 1:
            return self._inequality(sides)
        built = _BUILDER.fullmatch(text)
        if built:
            inner = _Reader(self.seed)
            members = inner.set_of(built["condition"])
            self.letters = self.letters or inner.letters
            return members
        if text.startswith(r"\{") and text.endswith(r"\}"):
            return sympy.FiniteSet(*map(self._number, latex.parts(text[2:-2])))
        if text.startswith("(") and text.endswith(")"):
            return self.set_of(text[1:-1])
        raise _UnreadableError(text)

    def _interval(self, interval: re.Match[str]) -> Any:
        import sympy

        ends = map(self._number, latex.parts(interval["inner"]))
        return sympy.Interval(*ends, interval["opening"] != "[", interval["closing"] != "]")

    def _inequality(self, sides: list[str]) -> Any:
        """Solve ``a < x``, ``a < x < b`` or an inequality in one variable."""
        import sympy
        from sympy.solvers.inequalities import solve_univariate_inequality

        terms, signs = sides[::2], [_RELATIONS[sign] for sign in sides[1::2]]
        if len(terms) > 2:  # noqa: PLR2004 - a chain
            return sympy.Intersection(
                *(self._inequality(sides[at : at + 3]) for at in range(0, len(sides) - 2, 2))
            )
        expressions = [self._expression(term) for term in terms]
        variable = self._variable(terms, expressions)
        left, right = (self._valued(expression, but=variable) for expression in expressions)
        relation = getattr(sympy, signs[0])(left, right)
        if relation in {True, False}:
            return sympy.S.Reals if relation else sympy.S.EmptySet
        symbol = sympy.Symbol(variable)
        if relation.free_symbols != {symbol} or (left - right).has(*_periodic()):
            raise _UnreadableError(variable)
        if signs[0] == "Eq":
            return sympy.solveset(relation, symbol, sympy.S.Reals)
        return solve_univariate_inequality(relation, symbol, relational=False)

    def _variable(self, terms: list[str], expressions: list[Any]) -> str:
        """Return the letter that an inequality is about."""
        names = {symbol.name for expression in expressions for symbol in expression.free_symbols}
        bare = [term.strip() for term in terms if _NAME.fullmatch(term.strip())]
        bare = [name for name in bare if name in names]
        if self.variable in names:
            return str(self.variable)
        if len(bare) > 1:  # x < a is about x, and a < b about neither
            bare = [name for name in bare if name in _VARIABLES]
        about = bare or sorted(names)
        if len(about) != 1:
            raise _UnreadableError
        self._name(about[0])
        return about[0]

    def _name(self, name: str) -> None:
        if self.variable not in {None, name}:
            raise _UnreadableError(name)
        self.variable = name

    def _expression(self, text: str) -> Any:
        expression = read(text.strip().removeprefix("+"))
        if expression is None or expression.imaginary:
            raise _UnreadableError(text)
        return expression.expression

    def _valued(self, expression: Any, but: str | None = None) -> Any:
        import sympy

        values = {
            symbol: sympy.Rational(
                random.Random(f"{self.seed} {symbol.name}").randint(-_MOST, _MOST), _DENOMINATOR
            )
            for symbol in expression.free_symbols
            if symbol.name != but
        }
        self.letters = self.letters or bool(values)
        return expression.subs(values)

    def _number(self, text: str) -> Any:
        number = self._valued(self._expression(text))
        if not number.is_extended_real:
            raise _UnreadableError(text)
        return number


def _split(separator: re.Pattern[str], text: str) -> list[str]:
    """Split a text at the separators outside all brackets; a group in the pattern is kept."""
    masked = _INTERVAL.sub(lambda match: "#" * len(match.group()), text)
    depths = list(accumulate((c in "({[") - (c in ")}]") for c in masked))
    pieces, start = [], 0
    for match in separator.finditer(masked):
        if not depths[match.start()]:
            pieces += [text[start : match.start()], *match.groups()]
            start = match.end()
    return [piece.strip() for piece in (*pieces, text[start:])]


def _periodic() -> tuple[Any, ...]:
    import sympy

    return (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc, sympy.floor)


def relation(text: str) -> tuple[str, str, bool] | None:
    r"""Split an inequality: its larger side, the smaller one, and whether it is strict."""
    sides = _split(_SIGN, text)
    kind = _RELATIONS.get(sides[1]) if len(sides) == 3 else None  # noqa: PLR2004 - one sign
    if kind in {"Gt", "Ge"}:
        return sides[0], sides[2], kind == "Gt"
    return (sides[2], sides[0], kind == "Lt") if kind in {"Lt", "Le"} else None


def says_region(text: str) -> bool:
    """Check whether a text can only be a set of real numbers, and not a point or a list."""
    return _SAYS_REGION.search(text) is not None


def same_region(gold: str, answer: str) -> tuple[bool | None, str]:
    """Check whether two texts describe the same set of real numbers."""
    for seed in range(_ASSIGNMENTS):
        first, second = _Reader(seed), _Reader(seed)
        try:
            verdict = _same(first.set_of(gold), second.set_of(answer))
        except (_UnreadableError, NotImplementedError, ValueError, TypeError, AttributeError):
            return None, ""  # sympy raises all of them for sets that it can't handle
        if not verdict:
            return verdict, ""
        if not first.letters and not second.letters:
            break
    if None not in {first.variable, second.variable} and first.variable != second.variable:
        return None, "they are of different variables"
    return True, ""


def _same(gold: Any, answer: Any) -> bool | None:
    """Compare two sets piece by piece; sympy has joined the pieces that touch."""
    if gold == answer:
        return True
    ours, theirs = map(_pieces, (gold, answer))
    if ours is None or theirs is None:
        return None
    if [piece[1::2] for piece in ours] != [piece[1::2] for piece in theirs]:
        return False
    ends = [
        (a, b)
        for x, y in zip(ours, theirs, strict=True)
        for a, b in zip(x[::2], y[::2], strict=True)
    ]
    if all(a == b or abs((a - b).evalf(2 * _DIGITS)) < 10**-_DIGITS for a, b in ends):
        return True
    close = all(math.isclose(float(a), float(b), rel_tol=_ROUNDING) for a, b in ends)
    return None if close else False  # the ends of one may be rounded


def _pieces(region: Any) -> list[tuple[Any, bool, Any, bool]] | None:
    """Return the ends of a set's pieces in order, each with whether it is left out."""
    import sympy

    pieces: list[tuple[Any, bool, Any, bool]] = []
    for piece in region.args if isinstance(region, sympy.Union) else [region]:
        if isinstance(piece, sympy.Interval):
            pieces.append((piece.start, bool(piece.left_open), piece.end, bool(piece.right_open)))
        elif isinstance(piece, sympy.FiniteSet):
            pieces += [(point, False, point, False) for point in piece]
        elif piece is not sympy.S.EmptySet:
            return None
    return sorted(pieces, key=lambda piece: (float(piece[0]), float(piece[2])))
