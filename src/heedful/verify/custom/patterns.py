"""Regular expressions of users, run only where they surely end soon.

Python's engine backtracks: an expression such as ``^(a+)+$`` takes time exponential in the text.
The expression comes from a data file and the text from a policy, so how many ways there are at
most to try is worked out before, from the expression's tree and the text's length.
"""

from __future__ import annotations

import importlib
import re
import string
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_STEPS = 5_000_000
"""Of the engine, in the worst case: less than half a second."""

_DOLLAR = re.compile(r"(?<!\\)\$")


class BoundedPattern:
    """An expression as JSON Schema has it: ASCII classes, and ``$`` is the very end.

    Args:
        pattern: as it is written.

    Raises:
        re.error: it isn't an expression.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        written = "(?a)" + _DOLLAR.sub(r"\\Z", pattern)
        self._compiled = re.compile(written)
        # The tree has no public name; `sre_parse`, which had one, is deprecated.
        self._tree: Any = importlib.import_module("re._parser").parse(written)

    def __call__(self, text: str) -> bool:
        """Say whether the expression is found in a text.

        Raises:
            UndecidedError: to find out may take too long.
        """
        if self.steps(len(text)) > _MOST_STEPS:
            raise UndecidedError(
                f"cannot be decided by code: the pattern {self.pattern} may take too long on a "
                f"text of {len(text)} characters"
            )
        return self._compiled.search(text) is not None

    def steps(self, length: int) -> int:
        """Bound the steps that a search takes in any text of a length, up to the most allowed.

        >>> BoundedPattern("^a+$").steps(100) < 1000, BoundedPattern("^(a+)+$").steps(100)
        (True, 5000001)
        """
        return _least(_cost(self._tree, length, 0)[1] * (1 if self._anchored() else length + 1))

    def _anchored(self) -> bool:
        first = self._tree[0] if len(self._tree) else None
        return first is not None and str(first[0]) == "AT" and str(first[1]) in _BEGINNINGS


_BEGINNINGS = {"AT_BEGINNING", "AT_BEGINNING_STRING"}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def _least(number: int) -> int:
    return min(number, _MOST_STEPS + 1)


def _cost(tree: Any, length: int, follow: int) -> tuple[int, int]:
    """Bound the ways in which a part of an expression matches from one place, and their steps.

    Args:
        tree: the part.
        length: of the text.
        follow: the characters that may come next after the part; none where it ends the search.
    """
    ways, steps = 1, 1
    parts = list(tree)
    for place, (op, value) in enumerate(parts):
        after = _first(parts[place + 1 :], follow)
        inner_ways, inner_steps = _cost_of(str(op), value, length, after)
        steps = _least(steps + ways * inner_steps)
        ways = _least(ways * inner_ways)
    return ways, steps


def _cost_of(  # noqa: PLR0911 - one for each kind of element
    op: str, value: Any, length: int, follow: int
) -> tuple[int, int]:
    if op in _REPEATS:
        low, high, body = value
        high = min(high, low + length)
        single = _single(body)
        if single is not None and not single & follow:
            return 1, 2 + 2 * high  # a shorter run is followed by what cannot follow it
        return _repeated(low, high, _cost(body, length, _first(body, 0) | follow))
    if op == "BRANCH":
        costs = [_cost(each, length, follow) for each in value[1]]
        return _least(sum(ways for ways, _ in costs)), _least(sum(steps for _, steps in costs))
    if op == "GROUPREF_EXISTS":
        costs = [_cost(each, length, _ALL) for each in value[1:] if each is not None]
        return _least(sum(ways for ways, _ in costs)), _least(sum(steps for _, steps in costs))
    if op in {"ASSERT", "ASSERT_NOT"}:
        return _cost(value[-1], length, _ALL)
    if op == "SUBPATTERN":
        return _cost(value[-1], length, _ALL if value[1] or value[2] else follow)
    if op == "ATOMIC_GROUP":
        return _cost(value, length, _ALL)
    return 1, {"GROUPREF": length, "IN": 1 + len(value) // 8 if op == "IN" else 1}.get(op, 1)


_OTHER = 1 << 128
"""Sets of characters are bits: one for each of ASCII, and one for all others together."""

_ALL = (_OTHER << 1) - 1


def _bits(characters: str) -> int:
    return sum(1 << ord(character) for character in characters)


_CATEGORIES = {
    "CATEGORY_DIGIT": _bits(string.digits),
    "CATEGORY_WORD": _bits(string.ascii_letters + string.digits + "_"),
    "CATEGORY_SPACE": _bits(" \t\n\r\f\v"),
}


def _first(parts: Sequence[Any], follow: int) -> int:
    """Return what a match of the parts, and then of what follows them, may begin with."""
    begun = 0
    for op, value in parts:
        characters, may_be_empty = _beginning(str(op), value)
        begun |= characters
        if not may_be_empty:
            return begun
    return begun | follow


def _beginning(op: str, value: Any) -> tuple[int, bool]:
    single = _of_one(op, value)
    if single is not None:
        return single, False
    if op == "AT":
        return 0, str(value) != "AT_END_STRING"
    if op in _REPEATS:
        low, _, body = value
        begun, empty = _first(body, 0), _may_be_empty(body)
        return begun, low == 0 or empty
    if op == "SUBPATTERN" and not value[1] and not value[2]:
        return _first(value[-1], 0), _may_be_empty(value[-1])
    if op == "BRANCH":
        begun = 0
        for each in value[1]:
            begun |= _first(each, 0)
        return begun, any(map(_may_be_empty, value[1]))
    return _ALL, True


def _may_be_empty(parts: Sequence[Any]) -> bool:
    return all(_beginning(str(op), value)[1] for op, value in parts)


def _single(body: Any) -> int | None:
    """Return the set of a part that is one character, within a group or not."""
    if len(body) != 1:
        return None
    op, value = body[0]
    if str(op) == "SUBPATTERN" and not value[1] and not value[2]:
        return _single(value[-1])
    return _of_one(str(op), value)


def _of_one(op: str, value: Any) -> int | None:
    """Return the characters that an element of one character matches, or a few more."""
    if op == "LITERAL":
        return 1 << value if value < 128 else _OTHER  # noqa: PLR2004 - ASCII
    if op == "NOT_LITERAL":
        return _ALL & ~(1 << value) if value < 128 else _ALL  # noqa: PLR2004 - ASCII
    if op == "ANY":
        return _ALL
    if op != "IN":
        return None
    members, negated = 0, False
    for kind, member in value:
        match str(kind):
            case "NEGATE":
                negated = True
            case "RANGE":
                low, high = member
                members |= sum(1 << each for each in range(low, min(high, 127) + 1))
                members |= _OTHER if high > 127 else 0  # noqa: PLR2004 - ASCII
            case "CATEGORY" if str(member) in _CATEGORIES:
                members |= _CATEGORIES[str(member)]
            case "CATEGORY":
                inverse = _CATEGORIES.get(str(member).replace("_NOT", ""))
                # What an unknown class leaves out of a negated set is not known either.
                members |= _ALL & ~inverse if inverse is not None else 0 if negated else _ALL
            case _:
                members |= _of_one(str(kind), member) or 0
    return _ALL & ~(members & ~_OTHER) if negated else members


def _repeated(low: int, high: int, body: tuple[int, int]) -> tuple[int, int]:
    """Bound a repetition: after each round it may stop, or go on in as many ways as its body."""
    ways, steps = body
    if ways == 1:
        return _least(high - low + 1), _least(1 + high * steps)
    # Each round has at least twice as many ways as the one before it, so few rounds reach the most.
    total = rounds = 0
    each = 1
    for done in range(high + 1):
        rounds += each if done < high else 0
        total += each if done >= low else 0
        if rounds > _MOST_STEPS:
            return _MOST_STEPS + 1, _MOST_STEPS + 1
        each *= ways
    return _least(total), _least(1 + rounds * steps)
