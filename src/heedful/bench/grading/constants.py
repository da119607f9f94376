"""Arbitrary constants and integers: which names may stand for each other.

A general solution is the same whatever its constants are called, but a letter is not an arbitrary
constant because it could be one: ``B`` is not ``C``, and ``mgh`` is not ``ngh``. So a renaming
counts only where an expression shows that the letter is arbitrary; else it leaves two expressions
undecided, at best.
"""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any, NamedTuple

from heedful.bench.grading.expressions import Expression

MOST = 4
"""So many constants are tried under each other's names (4! = 24 ways)."""

VARIABLES = frozenset({*"xyztuvswr", "theta", "phi"})
"""Variables of a general solution or an antiderivative."""

_INDEXED = re.compile(r"[cC]_\{?\d+\}?")
_LETTER = re.compile(r"[cCkKnmABDabd](?:_\{?\d+\}?)?")
"""Names that arbitrary constants and integers go by."""

_INTEGERS = frozenset("knml")


class Renaming(NamedTuple):
    """An answer under the gold's names.

    Attributes:
        expression: the answer.
        proven: whether the names that were exchanged are arbitrary for certain.
    """

    expression: Expression
    proven: bool


def renamings(gold: Expression, answer: Expression) -> list[Renaming]:
    """Return the answer as it is, and under the names that the gold has for constants."""
    renamings = [Renaming(answer, proven=True)]
    ours = sorted(gold.symbols - answer.symbols, key=str)
    theirs = sorted(answer.symbols - gold.symbols, key=str)
    common = [s for s in gold.symbols & answer.symbols if _INDEXED.fullmatch(s.name)]
    if len(common) > 1 or ours:
        ours, theirs = ours + sorted(common, key=str), theirs + sorted(common, key=str)
    if len(ours) != len(theirs) or not 0 < len(ours) <= MOST:
        return renamings
    if not all(_LETTER.fullmatch(symbol.name) for symbol in ours + theirs):
        return renamings
    variables = (gold.symbols - set(ours)) | (answer.symbols - set(theirs))
    proven = _are_integers(gold, ours) and _are_integers(answer, theirs)
    if not variables and not proven:
        return renamings
    for order in permutations(ours):
        pairs = list(zip(order, theirs, strict=True))
        renamed = answer.expression.subs([(t, o) for o, t in pairs], simultaneous=True)
        certain = proven or all(_is_pair(gold, one, answer, two) for one, two in pairs)
        renamings.append(Renaming(Expression(renamed, gold.symbols, answer.imaginary), certain))
    return renamings


def arbitrary_addend(gold: Expression, answer: Expression) -> Any:
    """Return the constant ``C`` that both just add, as an antiderivative does, or ``None``."""
    for symbol in sorted(gold.symbols & answer.symbols, key=str):
        if (symbol.name == "C" or _INDEXED.fullmatch(symbol.name)) and all(
            _is_of_variables(given, symbol) and _is_added(given, symbol) for given in (gold, answer)
        ):
            return symbol
    return None


def _is_pair(gold: Expression, first: Any, answer: Expression, second: Any) -> bool:
    """Check whether two constants are arbitrary, each in its own expression."""
    if first == second:
        return True
    if not (_is_of_variables(gold, first) and _is_of_variables(answer, second)):
        return False
    indexed = [bool(_INDEXED.fullmatch(symbol.name)) for symbol in (first, second)]
    if any(indexed):
        return (
            not all(indexed) or first.name.casefold() == second.name.casefold() or _are_many(gold)
        )
    if "C" not in {first.name, second.name}:
        return False
    if _is_added(gold, first) and _is_added(answer, second):
        return True
    variables = list(gold.symbols - {first})
    return not gold.expression.is_rational_function(*variables)


def _are_many(given: Expression) -> bool:
    return sum(bool(_INDEXED.fullmatch(symbol.name)) for symbol in given.symbols) > 1


def _is_of_variables(given: Expression, constant: Any) -> bool:
    """Check whether the other symbols are only variables of a function, one at least."""
    names = {symbol.name for symbol in given.symbols if symbol != constant}
    constants = {name for name in names if _LETTER.fullmatch(name)}
    if not constants < names or not names - constants <= VARIABLES:
        return False
    if constant.name in {"C", "c"}:
        return not constants
    if _INDEXED.fullmatch(constant.name):
        return all(map(_INDEXED.fullmatch, constants))
    return constants <= set("ABDabdkK")


def _is_added(given: Expression, symbol: Any) -> bool:
    """Check whether a constant is just added."""
    if not given.expression.is_Add:
        return False
    with_it = [term for term in given.expression.args if term.has(symbol)]
    return with_it in ([symbol], [-symbol])


def _are_integers(given: Expression, symbols: list[Any]) -> bool:
    r"""Check whether a letter counts turns, as in ``\pi/2 + 2k\pi``: alone, times a part of pi."""
    import sympy

    if len(symbols) != 1 or given.symbols != set(symbols) or symbols[0].name not in _INTEGERS:
        return False
    slope = sympy.diff(given.expression, symbols[0])
    return bool((slope / sympy.pi).is_Rational and slope != 0)
