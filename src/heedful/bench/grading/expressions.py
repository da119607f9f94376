"""Formulas in LaTeX, read into sympy's expressions as answers mean them.

sympy and the parser are imported when they are used: only the workers of
:mod:`heedful.bench.grading.math_pool` should.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

from heedful.bench.grading.syntax import faithful

BITS = 20_000
"""The longest power that is written out; larger ones are compared as text."""


_MIXED = re.compile(
    r"(?<![\w.^}])(?P<whole>\d+)\s*(?P<part>\\frac\{(?P<above>\d+)\}\{(?P<below>\d+)\})"
)
_FACTORS = re.compile(
    r"(?P<first>\)|(?<![_^\d.])\d+)\s*(?=\((?:[\d\s+\-*/.^{}!]|\\frac|\\sqrt|\\cdot)+\))"
)
"""Between numbers in brackets, which the parser would take for a mixed number: (4)(9) for 13."""


class TooLargeError(Exception):
    """A power that must not be written out."""


@dataclass(frozen=True)
class Expression:
    """An expression as sympy has it: its own names, ``i`` as the imaginary unit."""

    expression: Any
    symbols: frozenset[Any]
    imaginary: bool


@lru_cache(maxsize=256)  # the parser takes most of the time, and gold answers come again
def parsed(text: str) -> Any:
    """Parse LaTeX with sympy; ``None`` where sympy would not read all of it."""
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig, latex2sympy

    if not faithful(text):
        return None
    try:
        text = _FACTORS.sub(_product, _MIXED.sub(_sum, text))
        return latex2sympy(text, conversion_config=ConversionConfig(lowercase_symbols=False))
    except Exception:  # noqa: BLE001 - the parser raises bare exceptions, and sympy any
        return None


def _sum(match: re.Match[str]) -> str:
    """Write a mixed number as a sum: a whole number before a proper fraction."""
    proper = int(match["above"]) < int(match["below"])
    return f"({match['whole']}+{match['part']})" if proper else match.group()


def _product(match: re.Match[str]) -> str:
    return rf"{match['first']} \cdot "


@lru_cache(maxsize=256)
def read(text: str) -> Expression | None:
    """Read an expression, and refuse the powers that must not be written out."""
    import sympy

    tree = parsed(text)
    if not is_expression(tree) or _is_unevaluable(tree):
        return None
    _refuse_large(tree)
    expression = tree.replace(
        lambda node: isinstance(node, sympy.Float), lambda node: sympy.Rational(str(node))
    )
    expression = expression.replace(_is_odd_root, _real_root)
    units = {symbol for symbol in expression.free_symbols if symbol.name == "i"}
    expression = expression.subs(dict.fromkeys(units, sympy.I))
    applied = expression.atoms(sympy.core.function.AppliedUndef)
    expression = expression.subs(
        {call: sympy.Symbol(f"call {call}") for call in applied}  # f(x) is a name here
    )
    imaginary = bool(units) or expression.has(sympy.I)
    return Expression(expression, frozenset(expression.free_symbols), imaginary)


def is_expression(tree: Any) -> bool:
    """Check whether the parser read an expression: not a set, a relation, a point or a matrix."""
    import sympy

    return isinstance(tree, sympy.Expr) and not _holds_tuple(tree)


def _holds_tuple(expression: Any) -> bool:
    """Check whether it holds a point or a matrix; limits of sums or integrals don't count."""
    import sympy
    from sympy.concrete.expr_with_limits import ExprWithLimits

    bare = expression.replace(lambda node: isinstance(node, ExprWithLimits), lambda _: sympy.S.One)
    return bool(bare.has(sympy.Tuple, sympy.MatrixBase))


def _is_unevaluable(expression: Any) -> bool:
    """Check whether it has a derivative, limit, sum or integral of an unknown function."""
    import sympy
    from sympy.core.function import AppliedUndef

    bound = (sympy.Limit, sympy.Integral, sympy.Sum, sympy.Product)
    return bool(
        expression.has(sympy.Derivative)
        or (expression.has(*bound) and expression.has(AppliedUndef))
    )


def _is_odd_root(node: Any) -> bool:
    return bool(node.is_Pow and node.exp.is_Rational and node.exp.q % 2 and node.exp.q > 1)


def _real_root(node: Any) -> Any:
    """Take the cube root of -8 for -2, as answers mean it, and not for the principal root."""
    import sympy

    sign = sympy.sign(node.base) if node.exp.p % 2 else sympy.S.One
    return sign * sympy.Abs(node.base) ** node.exp


def _refuse_large(expression: Any) -> None:
    import sympy

    for node in sympy.preorder_traversal(expression):
        if isinstance(node, sympy.factorial) and _size(node.args[0]) > BITS:
            raise TooLargeError
        if isinstance(node, sympy.Pow):
            base, exponent = (_size(part) for part in node.args)
            if base > 1 and exponent * max(1, base).bit_length() > BITS:
                raise TooLargeError


def _size(expression: Any) -> int:
    """Bound the absolute value of a number from above without writing out a large power."""
    import sympy

    if expression.is_Integer:
        return int(abs(expression.p))
    if isinstance(expression, sympy.Pow):
        base, exponent = (_size(part) for part in expression.args)
        bits = base.bit_length() * exponent
        return 1 << min(bits, BITS)
    if not expression.is_number:
        return 0  # a variable's power is not written out
    if not (expression.is_Mul or expression.is_Add):
        return 2
    sizes = [_size(part) for part in expression.args]
    return min(
        math.prod(map(max, sizes, repeat(1))) if expression.is_Mul else sum(sizes), 1 << BITS
    )
