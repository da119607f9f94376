"""Equality of two mathematical expressions as functions, by evaluating them.

math-verify's parser reads LaTeX; the comparison is ours. Simplifying with a computer algebra system
takes unbounded time and still misses equalities; two analytic expressions that agree to many digits
at several random points are the same, for all that an answer can be (Schwartz-Zippel, in spirit: a
difference that is not zero vanishes at a random point with probability zero).

sympy may not come back from what a model has written, so this runs in a process that can be ended
(:mod:`heedful.bench.grading.math_pool`), and sympy is imported where it is used.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, permutations, repeat
from typing import TYPE_CHECKING, Any

from heedful.bench.grading.quantities import Numeral, rounds_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _Same = Callable[[list[Any], list[Any]], bool]

BITS = 20_000
"""The longest power that is written out; larger ones are compared as text."""

DIGITS = 30
"""Digits to which expressions are evaluated."""

AGREEING = 1e-22
"""Relative difference of two values that are the same."""

RANGES = ((0, 1), (-1, 0), (0, 3), (-3, 3), (0, 20), (-20, 20), (0, 500), (-500, 500))
"""Ranges to sample points from, in turn: roots and logarithms are real for positive numbers, the
root of a square is not its base for negative ones, and absolute values may change sign far out."""

PARTS = 997
"""A prime denominator, so that no point is special."""

POINTS = 8
"""Random points at which two expressions must agree."""

LEAST_POINTS = 3
"""With fewer, nothing is said."""

TRIES = 48
"""Points that are tried; at many a root or a logarithm may not be real."""

LEAST_TRIES = 12
"""Points that are tried for a sum without end, which is slow to evaluate."""

MOST_CONSTANTS = 4
"""So many arbitrary constants are tried under each other's names (4! = 24 ways)."""

_PRIMES = re.compile(r"([a-zA-Z])('+)")
_CONSTANT = re.compile(r"[cCkKnmABD](?:_\{?\d+\}?)?")
_NUMBERED = re.compile(r"[cC]_\{?\d+\}?")
_INTEGERS = frozenset("knm")
_MEMBER = re.compile(r"^\s*[a-zA-Z]\s*\\in(?![a-z])")
_PLUS_MINUS = re.compile(r"(?P<name>[a-zA-Z])\s*\\ne\s*\\pm\s*(?P<value>[\w.]+)$")


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
    """Parse LaTeX with sympy; ``None`` where that fails."""
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig, latex2sympy

    text = _PRIMES.sub(lambda m: f"{m[1]}_{{prime{len(m[2])}}}", text)  # the parser drops them
    try:
        return latex2sympy(text, conversion_config=ConversionConfig(lowercase_symbols=False))
    except Exception:  # noqa: BLE001 - the parser raises bare exceptions, and sympy any
        return None


@lru_cache(maxsize=256)
def read(text: str) -> Expression | None:
    """Read an expression, and refuse the powers that must not be written out."""
    import sympy
    from sympy.core.function import AppliedUndef

    tree = parsed(text)
    if not isinstance(tree, sympy.Expr) or tree.has(*_unevaluable()):
        return None
    _refuse_large(tree)
    expression = tree.replace(
        lambda node: isinstance(node, sympy.Float), lambda node: sympy.Rational(str(node))
    )
    units = {symbol for symbol in expression.free_symbols if symbol.name == "i"}
    expression = expression.subs(dict.fromkeys(units, sympy.I))
    calls = expression.atoms(AppliedUndef)
    expression = expression.subs({call: sympy.Symbol(f"call {call}") for call in calls})
    imaginary = bool(units) or expression.has(sympy.I)
    return Expression(expression, frozenset(expression.free_symbols), imaginary)


def _unevaluable() -> tuple[Any, ...]:
    import sympy

    return (sympy.Derivative, sympy.MatrixBase, sympy.MatrixExpr)


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
        return 1 << min(base.bit_length() * exponent, BITS)
    if not expression.is_number:
        return 0  # a variable's power is not written out
    if not (expression.is_Mul or expression.is_Add):
        return 2
    sizes = [_size(part) for part in expression.args]
    total = math.prod(map(max, sizes, repeat(1))) if expression.is_Mul else sum(sizes)
    return min(total, 1 << BITS)


def equal(gold: str, answer: str) -> bool | None:
    """Check whether two expressions are equal wherever both are real.

    Arbitrary constants may go by other names (``c_1``, ``C``, ``k``).
    """
    first, second = read(gold), read(answer)
    if first is None or second is None:
        return None
    return _any_agrees(first, second, _equal_values)


def equal_equations(gold: tuple[str, str], answer: tuple[str, str]) -> bool | None:
    """Check whether one equation is the other times a number that is not zero."""
    sides = [read(side) for side in (*gold, *answer)]
    if None in sides:
        return None
    return _any_agrees(
        _subtracted(sides[0], sides[1]), _subtracted(sides[2], sides[3]), _proportional
    )


def value_equal(gold: Numeral, answer: str) -> bool | None:
    """Check whether an expression without variables has the value of a number, rounded perhaps."""
    import sympy

    other = read(answer)
    if other is None or other.symbols:
        return None
    value = _value(other.expression, {})
    if value is None or not value.is_real:
        return None if value is None else False
    exact = sympy.Rational(value)
    number = sympy.Rational(gold.value.numerator, gold.value.denominator)
    if rounds_to(gold.value.__class__(int(exact.p), int(exact.q)), gold):
        return True
    return bool(abs(exact - number) <= AGREEING * max(abs(exact), abs(number)))


def _subtracted(left: Any, right: Any) -> Expression:
    difference = left.expression - right.expression
    return Expression(difference, left.symbols | right.symbols, left.imaginary or right.imaginary)


def _close(expected: Any, actual: Any) -> bool:
    return bool(abs(expected - actual) <= AGREEING * max(abs(expected), abs(actual), AGREEING))


def _equal_values(gold: list[Any], answer: list[Any]) -> bool:
    return all(map(_close, gold, answer))


def _proportional(gold: list[Any], answer: list[Any]) -> bool:
    """Check whether one list of values is the other times a constant that is not zero."""
    if any((not expected) != (not actual) for expected, actual in zip(gold, answer, strict=True)):
        return False
    ratios = [a / b for a, b in zip(gold, answer, strict=True) if b]
    return bool(ratios) and all(_close(ratio, ratios[0]) for ratio in ratios)


def _any_agrees(gold: Expression, answer: Expression, same: _Same) -> bool | None:
    """Compare the gold with the answer under each set of names for arbitrary constants."""
    verdicts = []
    for renamed in _renamings(gold, answer):
        verdicts.append(_agree(gold, renamed, same))
        if verdicts[-1]:
            return True
    return None if None in verdicts else False


def _renamings(gold: Expression, answer: Expression) -> Iterator[Expression]:
    """Give the answer as it is, and with the gold's names for constants of a general solution."""
    yield answer
    ours = sorted((s for s in gold.symbols if _CONSTANT.fullmatch(s.name)), key=str)
    theirs = sorted((s for s in answer.symbols if _CONSTANT.fullmatch(s.name)), key=str)
    if len(ours) != len(theirs) or not 0 < len(ours) <= MOST_CONSTANTS:
        return
    if gold.symbols - {*ours} != answer.symbols - {*theirs}:
        return
    variables = bool(gold.symbols - {*ours})
    integers = all(symbol.name in _INTEGERS for symbol in (*ours, *theirs))
    arbitrary = any(s.name in {"c", "C"} or _NUMBERED.fullmatch(s.name) for s in (*ours, *theirs))
    if not (variables and arbitrary) and not (integers and not variables):
        return
    for order in permutations(ours):
        names = dict(zip(theirs, order, strict=True))
        if any(old != new for old, new in names.items()):
            renamed = answer.expression.subs(names, simultaneous=True)
            yield Expression(renamed, gold.symbols, answer.imaginary)


def _agree(gold: Expression, answer: Expression, same: _Same) -> bool | None:
    """Evaluate both at random points and compare the values."""
    symbols = sorted(gold.symbols | answer.symbols, key=str)
    if not symbols and (gold.expression.is_infinite or answer.expression.is_infinite):
        return bool(gold.expression == answer.expression)
    slow = _is_series(gold) or _is_series(answer)
    tries, needed = (LEAST_TRIES, LEAST_POINTS) if slow else (TRIES, POINTS)
    ours, theirs = [], []
    for at in islice(_points(symbols), tries if symbols else 1):
        expected = _value(gold.expression, at)
        actual = None if expected is None else _value(answer.expression, at)
        if actual is None:
            continue
        if not (gold.imaginary or answer.imaginary or (expected.is_real and actual.is_real)):
            continue
        ours.append(expected)
        theirs.append(actual)
        if len(ours) == LEAST_POINTS and not same(ours, theirs):
            return False  # most pairs differ, and a few points show it
        if len(ours) == needed:
            break
    return same(ours, theirs) if len(ours) >= (LEAST_POINTS if symbols else 1) else None


def _is_series(given: Expression) -> bool:
    import sympy

    return any(series.has(sympy.oo) for series in given.expression.atoms(sympy.Sum))


def _points(symbols: list[Any]) -> Iterator[dict[Any, Any]]:
    """Give random points without end, in each range in turn, the same at every run."""
    import sympy

    rng = random.Random(0)
    while True:
        for low, high in RANGES:
            yield {
                symbol: sympy.Rational(rng.randint(low * PARTS + 1, high * PARTS - 1), PARTS)
                for symbol in symbols
            }


def _value(expression: Any, at: dict[Any, Any]) -> Any:
    """Evaluate at a point; ``None`` where there is no finite value."""
    import sympy

    try:
        value = expression.evalf(DIGITS, subs=at) if at else expression.doit().evalf(DIGITS)
        real, imaginary = value.as_real_imag()
    except Exception:  # noqa: BLE001 - sympy raises anything
        return None
    if not (real.is_Number and imaginary.is_Number and real.is_finite and imaginary.is_finite):
        return None
    return real if abs(imaginary) <= AGREEING * abs(real) else real + imaginary * sympy.I


def equal_matrices(gold: str, answer: str) -> bool | None:
    """Compare two sums or products of matrices entry by entry; ``None`` for anything else."""
    import sympy

    trees = [parsed(gold), parsed(answer)]
    try:
        first, second = (sympy.Matrix(tree.doit()) for tree in trees)
    except Exception:  # noqa: BLE001 - no matrices; sympy raises anything
        return None
    if first.shape != second.shape:
        return False
    pairs = [
        tuple(Expression(each, frozenset(each.free_symbols), each.has(sympy.I)) for each in entries)
        for entries in zip(first, second, strict=True)
    ]
    return all(_agree(one, other, _equal_values) for one, other in pairs)


def region(text: str) -> Any:
    r"""Read a set of real numbers: intervals, inequalities of one letter; else ``None``."""
    import sympy
    from sympy.core.function import AppliedUndef

    text = _PLUS_MINUS.sub(r"\g<name> \\ne \g<value>, \g<name> \\ne -\g<value>", text)
    tree = parsed(_MEMBER.sub("", text))
    try:
        tree = tree.xreplace({call: sympy.Symbol("call") for call in tree.atoms(AppliedUndef)})
        return _as_set(tree) if len(tree.free_symbols) <= 1 else None
    except Exception:  # noqa: BLE001 - sympy raises anything
        return None


def _as_set(tree: Any) -> Any:
    """Read what the parser gives for a set, an inequality, or several of them."""
    import sympy

    if isinstance(tree, (sympy.And, sympy.Or)) or getattr(tree, "is_Relational", False):
        return None if isinstance(tree, sympy.Eq) else tree.as_set()
    if isinstance(tree, sympy.FiniteSet) and not any(isinstance(part, sympy.Expr) for part in tree):
        sets = [_as_set(part) for part in tree]
        both = sympy.Intersection(*sets)
        return sympy.Union(*sets) if both.is_empty else both  # x < 1, x > 3 is either
    return tree if isinstance(tree, sympy.Set) else None


def same_region(gold: Any, answer: Any) -> bool | None:
    """Check whether two sets of real numbers are the same."""
    try:
        return bool(gold == answer or gold.symmetric_difference(answer).simplify().is_empty)
    except Exception:  # noqa: BLE001 - sympy raises anything
        return None
