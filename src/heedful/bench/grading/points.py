"""Points at which two expressions are evaluated to see whether they are the same function.

Two analytic expressions that agree at several random points are the same. Absolute values, roots,
minima and the like are analytic only piece by piece, so that each piece needs points of its own.
The pieces' ends are the zeros of what stands inside. What jumps at every whole number (floors,
remainders) isn't settled by points at all.
"""

from __future__ import annotations

from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

RANGES = ((0, 1), (-1, 0), (0, 3), (-3, 0), (-3, 3))
"""Ranges to sample points from, in turn: roots and logarithms are real for positive numbers,
and the root of a square is not its base for negative ones."""

NEAR_ZERO = ((0, 1), (-1, 0))
"""Range in which a power series converges."""

WIDE = (20, 200, 2_000)
"""Distances of further points where two expressions may differ from some number on."""

BEYOND = 10
"""So many times the largest number in two expressions is further out than what they do there."""

MOST_CELLS = 30
"""Pieces along one line."""

PARTS = 997
"""A prime denominator, so that no point is special."""

INTEGERS = tuple(range(1, 13))


def points(
    symbols: list[Any], ranges: tuple[tuple[int, int], ...], rng: random.Random
) -> Iterator[dict[Any, Any]]:
    """Give random points without end, in each range in turn."""
    while True:
        for low, high in ranges:
            yield {symbol: _between(low, high, rng) for symbol in symbols}


def wide_points(
    expressions: list[Any], symbols: list[Any], rng: random.Random
) -> list[dict[Any, Any]]:
    """Return random points far out, on both sides, beyond any number in the expressions."""
    import sympy

    numbers = [
        abs(number)
        for expression in expressions
        for number in expression.atoms(sympy.Rational)
        if number
    ]
    largest = int(max([1, *numbers, *(1 / number for number in numbers)]))
    reaches = [*WIDE, min(BEYOND * largest, 10**9)]
    ranges = [(0, reach) for reach in reaches] + [(-reach, 0) for reach in reaches]
    return list(islice(points(symbols, tuple(ranges), rng), 2 * len(ranges)))


def integer_points(symbols: list[Any]) -> list[dict[Any, Any]]:
    """Return points of whole numbers, different ones for each symbol."""
    import sympy

    return [
        {
            symbol: sympy.Integer(number + 3 * place % 5 + place)
            for place, symbol in enumerate(symbols)
        }
        for number in INTEGERS
    ]


def has_long_power(expression: Any, at: dict[Any, Any]) -> bool:
    """Check for an exponent with a long denominator, of which sympy would search exact roots."""
    import sympy

    powers = [power for power in expression.atoms(sympy.Pow) if power.exp.free_symbols]
    if at and any(power.base.has(sympy.Pow) for power in powers):
        return True  # their exponents are multiplied
    exponents = {power.exp for power in powers}
    values = [exponent.subs(at) for exponent in exponents if not exponent.is_Symbol]
    return any(value.is_Rational and value.q > PARTS for value in values)


def has_jumps(expression: Any) -> bool:
    """Check whether an expression jumps at whole numbers, or is put together from cases."""
    import sympy

    jumps = (sympy.floor, sympy.ceiling, sympy.frac, sympy.Mod, sympy.Piecewise, sympy.Heaviside)
    return bool(expression.has(*jumps))


def has_endless_product(expression: Any) -> bool:
    """Check for a product without end, of which sympy would evaluate thousands of factors."""
    import sympy

    return any(product.has(sympy.oo) for product in expression.atoms(sympy.Product))


def is_infinite_sum(node: Any) -> bool:
    """Check for one sum without end."""
    import sympy

    return isinstance(node, sympy.Sum) and len(node.limits) == 1 and node.limits[0][2] is sympy.oo


def pieces(expressions: list[Any], symbols: list[Any], rng: random.Random) -> list[dict[Any, Any]]:
    """Return points in all pieces on which the expressions are analytic."""
    import sympy

    inside = {part for expression in expressions for part in _insides(expression)}
    inside = {part for part in inside if not _is_monomial(part)}  # points of all signs are tried
    if not inside or not symbols:
        return []
    along = sympy.Dummy("t")
    chosen: list[dict[Any, Any]] = []
    for reach in (3, *WIDE[:2]) * 2:
        # with several variables, the pieces along some lines through their space
        line = {symbol: _line(along, reach, rng) for symbol in symbols}
        if len(symbols) == 1:
            line = {symbols[0]: along}
        ends = sorted({end for part in inside for end in _zeros(part.subs(line), along)})
        chosen += [
            {symbol: value.subs(along, place) for symbol, value in line.items()}
            for place in _between_ends(ends[:MOST_CELLS], rng)
        ]
        if len(symbols) == 1:
            break
    return chosen + wide_points(expressions, symbols, rng)


def _insides(expression: Any) -> Iterator[Any]:
    """Give what changes its sign where an expression goes from one analytic piece to the next."""
    import sympy

    for node in sympy.preorder_traversal(expression):
        if isinstance(node, (sympy.Abs, sympy.sign)):
            yield node.args[0]
        elif isinstance(node, (sympy.Min, sympy.Max)):
            yield from (left - right for left, right in combinations(node.args, 2))
        elif node.is_Pow and node.exp.is_Rational and not node.exp.is_Integer:
            if node.base.free_symbols and not node.base.is_Symbol:
                yield node.base
        elif isinstance(node, _inverse_functions()) and node.free_symbols:
            yield node.args[0]


def _is_monomial(part: Any) -> bool:
    factors = part.as_ordered_factors()
    return all(factor.is_number or factor.as_base_exp()[0].is_Symbol for factor in factors)


def _inverse_functions() -> tuple[Any, ...]:
    import sympy

    return sympy.asin, sympy.acos, sympy.atan, sympy.acot


def _zeros(part: Any, along: Any) -> list[Any]:
    """Return a number near each zero and pole of a rational function; none of any other."""
    import sympy

    ends: list[Any] = []
    try:
        for polynomial in sympy.fraction(sympy.together(part)):
            if polynomial.has(along):
                rational = sympy.Poly(polynomial, along, domain="QQ")
                roots = rational.intervals(eps=sympy.Rational(1, PARTS))
                ends += [(low + high) / 2 for (low, high), _ in roots]
    except Exception:  # noqa: BLE001 - no polynomial over the rationals; sympy raises anything
        return []
    return ends


def _between_ends(ends: list[Any], rng: random.Random) -> Iterator[Any]:
    """Give two points in each cell between zeros, and beyond the outermost."""
    import sympy

    if not ends:
        return
    cells = [(ends[0] - 7, ends[0]), *pairwise(ends), (ends[-1], ends[-1] + 7)]
    for low, high in cells:
        for _ in range(2):
            share = sympy.Rational(rng.randint(PARTS // 4, 3 * PARTS // 4), PARTS)
            yield low + (high - low) * share


def _line(along: Any, reach: int, rng: random.Random) -> Any:
    return _between(-reach, reach, rng) + _between(-3, 3, rng) * along


def _between(low: int, high: int, rng: random.Random) -> Any:
    import sympy

    return sympy.Rational(rng.randint(low * PARTS + 1, high * PARTS - 1), PARTS)
