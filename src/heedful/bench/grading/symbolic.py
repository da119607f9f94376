"""Equality of two mathematical expressions as functions, by evaluating them.

math-verify's parser reads LaTeX; the comparison is ours. Simplifying with a computer algebra system
takes unbounded time and still misses equalities; two analytic expressions that agree to a hundred
digits at several random points are the same, for all that an answer can be (Schwartz–Zippel, in
spirit: a difference that is not zero vanishes at a random point with probability zero). Which
points that takes, :mod:`heedful.bench.grading.points` says.

sympy may not come back from what a model has written, so this runs in a process that can be ended
(:mod:`heedful.bench.grading.math_pool`).
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.bench.grading.constants import arbitrary_addend, renamings
from heedful.bench.grading.expressions import Expression, is_expression, parsed, read
from heedful.bench.grading.numerals import Numeral, rounds_to
from heedful.bench.grading.points import (
    NEAR_ZERO,
    RANGES,
    has_endless_product,
    has_jumps,
    has_long_power,
    integer_points,
    is_infinite_sum,
    pieces,
    points,
)
from heedful.bench.grading.syntax import ordered_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Same = Callable[[list[Any], list[Any], "_Precision"], bool]


class _Precision(NamedTuple):
    """Tolerances of a comparison of two values."""

    digits: int
    most_digits: int
    agreeing: float
    zero: float


_EXACT = _Precision(120, 400, 1e-100, 1e-108)
_FINE = _Precision(15, 1000, 1e-10, 1e-300)
_SERIES = _Precision(30, 200, 1e-20, 1e-28)

SERIES_TRIES = 15
"""Points that are tried for a series, which is slow to evaluate."""

WHOLE = frozenset("nkmjlN")
"""Names that whole numbers go by."""

POINTS = 8
"""Random points at which two expressions must agree."""

LEAST_POINTS = 3
"""With fewer, nothing is said."""

TERMS = 600
"""Terms of a series that are added up."""

TERMS_LEFT_OUT = 4
"""So many terms in a row that make no difference end a series: odd powers alone may be missing."""

TRIES = 40
"""Points that are tried; at many a root or a logarithm may not be real."""


def equal(gold: str, answer: str) -> bool | None:
    """Check whether two expressions are equal wherever both are real.

    Arbitrary constants may go by other names (``c_1``, ``C``, ``k``), and an antiderivative's
    ``+ C`` may differ by a constant.
    """
    first, second = read(gold), read(answer)
    if first is None or second is None:
        return None
    agrees = _any_agrees(first, second, _difference)
    return None if agrees and ordered_names(gold) != ordered_names(answer) else agrees


def value_equal(gold: Numeral, answer: str) -> bool | None:
    """Check whether an expression without variables has the value of a number, rounded perhaps."""
    other = read(answer)
    if other is None or other.symbols:
        return None
    import sympy

    value = _value(other.expression, {}, _EXACT)
    if value is None or not value.is_real:
        return None if value is None else False
    ratio = sympy.Rational(value)
    exact = Fraction(int(ratio.p), int(ratio.q))
    if rounds_to(exact, gold):
        return True
    if value.is_Rational:
        return exact == gold.value
    if abs(exact - gold.value) > max(abs(exact), abs(gold.value)) * Fraction(_EXACT.agreeing):
        return False
    number = Expression(sympy.Rational(gold.value), frozenset(), imaginary=False)
    return _same_value(number, other, _difference)  # tanh(200) isn't 1


def equal_equations(gold: tuple[str, str], answer: tuple[str, str]) -> bool | None:
    """Check whether one equation is the other times a number that is not zero."""
    sides = [read(side) for side in (*gold, *answer)]
    if any(side is None for side in sides):
        return None
    first, second = _subtracted(sides[0], sides[1]), _subtracted(sides[2], sides[3])
    agrees = _any_agrees(first, second, _proportional)
    names = [ordered_names(" = ".join(pair)) for pair in (gold, answer)]
    return None if agrees and names[0] != names[1] else agrees


def equal_inequalities(gold: tuple[str, str, bool], answer: tuple[str, str, bool]) -> bool | None:
    """Check whether two inequalities say the same: one is the other times a positive number."""
    sides = [read(side) for side in (*gold[:2], *answer[:2])]
    if any(side is None for side in sides):
        return None
    first, second = _subtracted(sides[0], sides[1]), _subtracted(sides[2], sides[3])
    agrees = _any_agrees(first, second, _positively_proportional)
    return agrees and gold[2] == answer[2]


def equal_relations(gold: str, answer: str) -> bool | None:
    """Compare what is neither a number nor an expression (sets, relations), by math-verify."""
    from math_verify import verify

    first, second = parsed(gold), parsed(answer)
    if first is None or second is None or (is_expression(first) and is_expression(second)):
        return None
    try:
        return bool(verify(first, second, timeout_seconds=None, raise_on_error=True))
    except Exception:  # noqa: BLE001 - sympy raises anything
        return None


def _subtracted(left: Any, right: Any) -> Expression:
    return Expression(
        left.expression - right.expression,
        left.symbols | right.symbols,
        left.imaginary or right.imaginary,
    )


def _difference(gold: list[Any], answer: list[Any], precision: _Precision) -> bool:
    return all(
        _close(expected, actual, precision) for expected, actual in zip(gold, answer, strict=True)
    )


def _proportional(gold: list[Any], answer: list[Any], precision: _Precision) -> bool:
    """Check whether one list of values is the other times a constant that is not zero."""
    ratios = []
    for expected, actual in zip(gold, answer, strict=True):
        if not expected or not actual:
            if expected or actual:
                return False
            continue
        ratios.append(expected / actual)
    return bool(ratios) and all(_close(ratio, ratios[0], precision) for ratio in ratios)


def _positively_proportional(gold: list[Any], answer: list[Any], precision: _Precision) -> bool:
    return _proportional(gold, answer, precision) and all(
        not actual or bool((expected / actual).is_extended_positive)
        for expected, actual in zip(gold, answer, strict=True)
    )


def _parallel(gold: list[Any], answer: list[Any], precision: _Precision) -> bool:
    """Check whether two lists of values differ by a constant."""
    gaps = [expected - actual for expected, actual in zip(gold, answer, strict=True)]
    size = max(1, *map(abs, gold), *map(abs, answer))
    return all(abs(gap - gaps[0]) <= precision.agreeing * size for gap in gaps)


def _close(expected: Any, actual: Any, precision: _Precision) -> bool:
    if expected.is_Rational and actual.is_Rational:
        return bool(expected == actual)
    if not expected or not actual:  # zero, or what is left of it after cancellation
        return bool(max(abs(expected), abs(actual)) <= precision.zero)
    return bool(abs(expected - actual) <= precision.agreeing * max(abs(expected), abs(actual)))


def _any_agrees(gold: Expression, answer: Expression, same: _Same) -> bool | None:
    """Compare the gold with the answer under each set of names."""
    undecided = False
    for renamed, proven in renamings(gold, answer):
        verdict = _agree(gold, renamed, same)
        if verdict and proven:
            return True
        undecided = undecided or verdict is not False
    return None if undecided else False


def _agree(gold: Expression, answer: Expression, same: _Same) -> bool | None:
    """Evaluate both at points of all their pieces and compare the values."""
    symbols = sorted(gold.symbols | answer.symbols, key=str)
    if not symbols:
        return _same_value(gold, answer, same)
    if same is _difference:
        free = arbitrary_addend(gold, answer)
        if free is not None:
            gold, answer = _without(gold, free), _without(answer, free)
            symbols.remove(free)
            same = _parallel
    precision = _SERIES if _is_series(gold) or _is_series(answer) else _EXACT
    count = LEAST_POINTS if precision is _SERIES else POINTS  # a series is slow to evaluate
    verdict = _agree_at(_random_points(symbols, precision), (gold, answer), same, precision, count)
    if not verdict:
        return verdict if verdict is None else _unless_whole(gold, answer, symbols, same)
    if precision is _SERIES:
        return True
    return _agree_piecewise(gold, answer, symbols, same)


def _agree_piecewise(
    gold: Expression, answer: Expression, symbols: list[Any], same: _Same
) -> bool | None:
    """Compare on all pieces what is analytic only piece by piece."""
    both = [gold.expression, answer.expression]
    if any(map(has_jumps, both)):
        return True if (both[0] - both[1]).expand() == 0 else None
    further = pieces(both, symbols, random.Random(1))
    verdict = _agree_at(further, (gold, answer), same, _EXACT, len(further))
    return verdict is not False


def _unless_whole(
    gold: Expression, answer: Expression, symbols: list[Any], same: _Same
) -> bool | None:
    """Leave undecided what differs, but not for whole numbers, which may be meant."""
    if not all(symbol.name in WHOLE for symbol in symbols):
        return False
    verdict = _agree_at(integer_points(symbols), (gold, answer), same, _EXACT, POINTS)
    return None if verdict else False


def _same_value(gold: Expression, answer: Expression, same: _Same) -> bool | None:
    """Compare two expressions without variables."""
    if gold.expression.is_infinite or answer.expression.is_infinite:
        return bool(gold.expression == answer.expression)
    gold_value, answer_value = (
        _value(gold.expression, {}, _EXACT),
        _value(answer.expression, {}, _EXACT),
    )
    if gold_value is None or answer_value is None:
        return None
    if not same([gold_value], [answer_value], _EXACT):
        return False
    if same is not _difference or (gold_value.is_Rational and answer_value.is_Rational):
        return True
    # two large numbers may agree to all of the digits that were taken
    gap = _value(gold.expression - answer.expression, {}, _FINE)
    return None if gap is None else bool(abs(gap) <= _FINE.zero * max(1, abs(gold_value)))


def _without(given: Expression, constant: Any) -> Expression:
    left = given.symbols - {constant}
    return Expression(given.expression.subs(constant, 0), left, given.imaginary)


def _random_points(symbols: list[Any], precision: _Precision) -> Iterable[dict[Any, Any]]:
    rng = random.Random(0)  # the same verdict at every run
    if precision is _SERIES:
        return islice(points(symbols, NEAR_ZERO, rng), SERIES_TRIES)
    return islice(points(symbols, RANGES, rng), TRIES)


def _agree_at(
    places: Iterable[dict[Any, Any]],
    both: tuple[Expression, Expression],
    same: _Same,
    precision: _Precision,
    count: int,
) -> bool | None:
    """Compare two expressions at places where both have a value; ``None`` with too few of them."""
    gold, answer = both
    complex_ = gold.imaginary or answer.imaginary
    ours, theirs = [], []
    for at in places:
        gold_value = _value(gold.expression, at, precision)
        answer_value = None if gold_value is None else _value(answer.expression, at, precision)
        if (
            gold_value is None
            or answer_value is None
            or not (complex_ or (gold_value.is_real and answer_value.is_real))
        ):
            continue
        ours.append(gold_value)
        theirs.append(answer_value)
        if len(ours) == LEAST_POINTS and not same(ours, theirs, precision):
            return False  # most pairs differ, and a few points show it
        if len(ours) == count:
            break
    return same(ours, theirs, precision) if len(ours) >= LEAST_POINTS else None


def _is_series(given: Expression) -> bool:
    import sympy

    return any(node.has(sympy.oo) for node in given.expression.atoms(sympy.Sum))


def _summed(series: Any) -> Any:
    """Add up a series term by term, which at a point is much faster than in closed form."""
    import mpmath
    import sympy

    index, first, _ = series.limits[0]
    term = sympy.lambdify(index, series.function, "mpmath")
    with mpmath.workdps(2 * _SERIES.digits):
        total, small = mpmath.mpf(0), 0
        for place in range(int(first), int(first) + TERMS):
            value = term(mpmath.mpf(place))
            total += value
            small = small + 1 if abs(value) <= _SERIES.zero**2 * max(1, abs(total)) else 0
            if small == TERMS_LEFT_OUT:
                return sympy.Float(total, 2 * _SERIES.digits)
    raise ArithmeticError(series)


def _value(expression: Any, at: dict[Any, Any], precision: _Precision) -> Any:
    """Evaluate at a point; ``None`` where there is no finite value."""
    import sympy

    try:
        if has_long_power(expression, at):
            at = {name: sympy.Float(at[name], 2 * precision.digits) for name in at}
        here = expression.subs(at)
        if at:
            here = here.replace(is_infinite_sum, _summed)
        here = here.doit() if not has_endless_product(here) else sympy.nan
        if here.is_Rational:
            return here
        value = sympy.N(here, precision.digits, maxn=precision.most_digits)
        real, imaginary = value.as_real_imag()
    except Exception:  # noqa: BLE001 - sympy raises anything
        return None
    if not (real.is_Number and imaginary.is_Number and real.is_finite and imaginary.is_finite):
        return None
    return real if abs(imaginary) <= precision.agreeing * abs(real) else real + imaginary * sympy.I
