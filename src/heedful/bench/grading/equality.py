"""Equality of an answer to an open problem and the gold answer, written in any usual way.

An answer is taken apart as text first (lists, sets, tuples, intervals, matrices, equations), and
only its smallest parts are compared as numbers or as mathematics. What cannot be compared, such as
two sentences that say the same, is not decided.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.bench.grading import latex, symbolic
from heedful.bench.grading.answers import numbers
from heedful.bench.grading.expressions import TooLargeError
from heedful.bench.grading.intervals import NAME, interval
from heedful.bench.grading.leaves import EqualityResult, Method, compare_based, compare_leaves
from heedful.bench.grading.numerals import numeral, same_number
from heedful.bench.grading.quantities import (
    is_compound,
    is_quantified,
    unscaled,
    written_out,
)
from heedful.bench.grading.units import measure
from heedful.bench.grading.words import is_phrase, is_text, same_words, verdict_word

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 4_000
"""Characters; a longer text isn't an answer."""

MOST_ITEMS = 64
"""Items in a list that is compared without order."""


_DECIMAL_COMMA = re.compile(r"\s*,\d")
_MEMBER = re.compile(r"^\s*[a-zA-Z]\s*\\in(?![a-z])\s*")
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)


def compare_quickly(gold: str, answer: str) -> EqualityResult | None:
    """Compare without a computer algebra system: the same text, or two numbers.

    Returns:
        ``None`` where that is not enough; :func:`compare` goes on.
    """
    if max(len(gold), len(answer)) > LONGEST:
        reason = f"longer than {LONGEST:,} characters"
        return EqualityResult(gold.strip() == answer.strip() or None, "text", reason)
    first, second = latex.tidy(gold), latex.tidy(answer)
    if latex.key(first) == latex.key(second):
        return EqualityResult(equal=True, method="text")
    first_number, second_number = numeral(first), numeral(second)
    if first_number is not None and second_number is not None:
        return EqualityResult(same_number(first_number, second_number), "numeric")
    return compare_based(first, second, first_number, second_number)


def compare(gold: str, answer: str) -> EqualityResult:
    """Compare an answer with the gold.

    Equality is of value, not of form: ``2(x+1)`` is ``2x+2``, ``0.5`` is ``1/2``. Lists and sets
    have no order, tuples do; intervals must have the same brackets; a partial list is not equal.
    A decimal of four significant digits or more may be the rounding of an exact number. A name in
    front (``x = 3``), units and fonts do not count, unless both have units: then they must agree.
    Needs the extra ``reasoning``, and may take very long: see
    :mod:`heedful.bench.grading.math_pool`.
    """
    quick = compare_quickly(gold, answer)
    if quick is not None:
        return quick
    first, second = latex.tidy(gold), latex.tidy(answer)
    if _DECIMAL_COMMA.match(first) or _DECIMAL_COMMA.match(second):
        return EqualityResult(None, "text", "one of them begins with a comma")
    if is_quantified(first) or is_quantified(second):
        return _quantified(first, second)
    worded = _worded(gold, first, second)
    return worded if worded is not None else _of_mathematics(first, second)


def _quantified(gold: str, answer: str) -> EqualityResult:
    """Compare answers of which one at least has a word that changes a number."""
    if verdict_word(gold) is not None and verdict_word(answer) is not None:
        return _yes_or_no(gold, answer)
    if same_words(gold, answer):
        return EqualityResult(equal=True, method="text")
    first, second = written_out(gold), written_out(answer)
    if is_quantified(first) or is_quantified(second) or is_phrase(first) or is_phrase(second):
        return EqualityResult(None, "text", "a word in one of them changes a number")
    result = _of_mathematics(first, second)
    if result.equal is False and _of_mathematics(unscaled(gold), unscaled(answer)).equal:
        return EqualityResult(None, result.method, "only one of them says thousand, or the like")
    return result


def _of_mathematics(first: str, second: str) -> EqualityResult:
    """Compare two tidied answers that are not in words."""
    try:
        result = _compared(first, second)
    except TooLargeError:
        return EqualityResult(None, "symbolic", "a power in it is too large to be written out")
    except RecursionError:
        return EqualityResult(None, "symbolic", "it is nested too deeply")
    if result.equal is False and _spelling(first) == _spelling(second):
        return EqualityResult(None, "text", "they differ in capitals or spaces")
    if result.equal is False and (is_compound(first) or is_compound(second)):
        return EqualityResult(None, "text", "one of them is a measure in two units")
    return result


def _spelling(text: str) -> str:
    """Reduce an answer to what is left of it without capitals and spaces."""
    return re.sub(r"\s", "", text).casefold() if numeral(text) is None else text


def _worded(original: str, gold: str, answer: str) -> EqualityResult | None:
    """Compare answers in words; ``None`` where both are mathematics."""
    if verdict_word(gold) is not None:
        return _yes_or_no(gold, answer)
    same = same_words(gold, answer)
    if same is not None:
        return EqualityResult(same, "text")
    if is_phrase(gold) and not measure(gold).unit:
        return _sentence(original, answer)
    if is_phrase(answer) and not measure(answer).unit:
        gold_number, answer_numbers = numeral(gold), numbers(answer)
        plain = answer_numbers and (
            len(set(answer_numbers)) == 1 or answer.lstrip("$ ").startswith(answer_numbers[0])
        )
        answer_number = numeral(answer_numbers[0]) if plain else None
        if gold_number is not None and answer_number is not None:
            return EqualityResult(same_number(gold_number, answer_number), "numeric")
        return EqualityResult(None, "text", "the answer is in words")
    return None


def _yes_or_no(gold: str, answer: str) -> EqualityResult:
    """Compare by the yes or no that the gold begins with, else by the formula after it."""
    word = verdict_word(answer)
    if word is not None:
        return EqualityResult(word == verdict_word(gold), "text")
    rest = re.sub(r"^\w+[.,;:!]?\s*", "", gold)
    if not rest or is_text(rest) or is_text(answer):
        return EqualityResult(None, "text", "only one of them answers yes or no")
    return compare(rest, answer)


def _sentence(original: str, answer: str) -> EqualityResult:
    """Accept the value of the formula on which the gold's sentence ends; decide nothing else."""
    formulas = [next(filter(None, groups)) for groups in _FORMULA.findall(original)]
    if formulas and original.strip().rstrip(".").endswith("$") and not is_text(answer):
        members = latex.members(latex.tidy(formulas[-1]))
        result = compare(members[-1], answer) if members else None
        if result is not None and result.equal:
            return result
    return EqualityResult(None, "text", "the gold answer is in words")


def _compared(gold: str, answer: str) -> EqualityResult:
    """Compare two tidied answers by their structure."""
    for structure in (_matrices, _inequalities, _unions, _lists, _equations):
        result = structure(gold, answer)
        if result is not None:
            return result
    return compare_leaves(gold, answer)


def _all(pairs: Sequence[tuple[str, str]], method: Method = "set") -> EqualityResult:
    """Compare pairs in order: one that differs decides."""
    undecided = ""
    for left, right in pairs:
        result = _compared(left, right)
        if result.equal is False:
            return EqualityResult(equal=False, method=method)
        undecided = undecided or result.reason
    return (
        EqualityResult(None, method, undecided)
        if undecided
        else EqualityResult(equal=True, method=method)
    )


def _any_order(gold: list[str], answer: list[str], *, repeated: bool = False) -> EqualityResult:
    """Compare lists without order: each item of one has its own counterpart in the other.

    Args:
        gold: the items.
        answer: the others.
        repeated: whether an item may count as often as it stands there, as in a list of data.
    """
    if repeated and (len(_distinct(gold)), len(_distinct(answer))) != (len(gold), len(answer)):
        if _matched(gold, answer).equal:
            return EqualityResult(equal=True, method="set")
        result = _matched(_distinct(gold), _distinct(answer))
        if result.equal:
            return EqualityResult(None, "set", "an item stands in one of them more often")
        return result
    return _matched(_distinct(gold), _distinct(answer))


def _matched(gold: list[str], answer: list[str]) -> EqualityResult:
    """Find a counterpart in the answer for each item of the gold."""
    if len(gold) != len(answer):
        return EqualityResult(equal=False, method="set")
    if len(gold) > MOST_ITEMS:
        return _all(list(zip(gold, answer, strict=True)))
    left = list(answer)
    undecided = ""
    for item in gold:
        comparisons = [(_compared(item, other), other) for other in left]
        equal = [other for comparison, other in comparisons if comparison.equal]
        if equal:
            left.remove(equal[0])
            continue
        reasons = [comparison.reason for comparison, _ in comparisons if comparison.equal is None]
        if not reasons:
            return EqualityResult(equal=False, method="set")
        undecided = reasons[0]
    return (
        EqualityResult(None, "set", undecided)
        if undecided
        else EqualityResult(equal=True, method="set")
    )


def _distinct(items: list[str]) -> list[str]:
    return list({latex.key(item): item for item in items}.values())


def _matrices(gold: str, answer: str) -> EqualityResult | None:
    first, second = latex.matrix(gold), latex.matrix(answer)
    if first is None and second is None:
        return None
    first, second = _as_matrix(first, gold), _as_matrix(second, answer)
    if first is None or second is None:
        return None
    if [len(row) for row in first] != [len(row) for row in second]:
        vectors = [
            [cell for row in rows for cell in row]
            for rows in (first, second)
            if 1 in {len(rows), len(rows[0])}
        ]
        if len(vectors) != 2 or len(vectors[0]) != len(vectors[1]):  # noqa: PLR2004 - both
            return EqualityResult(equal=False, method="set")
        return _all(list(zip(*vectors, strict=True)))
    return _all(
        [pair for rows in zip(first, second, strict=True) for pair in zip(*rows, strict=True)]
    )


def _as_matrix(rows: list[list[str]] | None, text: str) -> list[list[str]] | None:
    """Take a tuple for a vector where the other answer is a matrix."""
    if rows is not None:
        return rows
    group = latex.group(text)
    return [list(group.items)] if group is not None and group.ordered else None


def _unions(gold: str, answer: str) -> EqualityResult | None:
    first, second = (re.split(r"\\cup(?![a-z])", _MEMBER.sub("", side)) for side in (gold, answer))
    if len(first) == len(second) == 1:
        return None
    return _any_order([part.strip() for part in first], [part.strip() for part in second])


def _lists(gold: str, answer: str) -> EqualityResult | None:  # noqa: PLR0911 - one kind of list each
    gold, answer = _MEMBER.sub("", gold), _MEMBER.sub("", answer)
    first, second = latex.group(gold), latex.group(answer)
    if first is not None and second is not None and first.ordered and second.ordered:
        if len(first.items) != len(second.items):
            return EqualityResult(equal=False, method="set")
        interval = len(first.items) == 2 and (first.opening, first.closing) != ("(", ")")  # noqa: PLR2004
        if (interval or second.opening == "[" or second.closing == "]") and (
            first.opening,
            first.closing,
        ) != (second.opening, second.closing):
            return EqualityResult(equal=False, method="set")
        return _all(list(zip(first.items, second.items, strict=True)))
    if first is not None and second is not None and (first.ordered or second.ordered):
        return _named_tuple(first, second)
    gold_items = _of_chain(gold, second) or _items(gold, first)
    answer_items = _of_chain(answer, first) or _items(answer, second)
    if len(gold_items) == len(answer_items) == 1 and first is None and second is None:
        return None
    if first is not None and second is not None:
        named = _in_order_of_names(gold_items, answer_items)
        if named is not None:
            return named
    braces = all(side is None or side.opening in {r"\{", "{"} for side in (first, second))
    result = _any_order(gold_items, answer_items, repeated=not braces)
    names = [
        _only_name(side.items) if side else _name(text)
        for side, text in ((first, gold), (second, answer))
    ]
    if result.equal and all(names) and names[0] != names[1]:
        return EqualityResult(None, "set", "they are of different variables")
    return result


def _only_name(items: tuple[str, ...]) -> str | None:
    """Return the one name that a list has, as in ``x = 1, 2``."""
    names = {name for name in map(_name, items) if name}
    return names.pop() if len(names) == 1 else None


def _named_tuple(first: latex.BracketGroup, second: latex.BracketGroup) -> EqualityResult:
    """Compare ``(1, 2)`` with ``x = 1, y = 2``; a bare list stands for a tuple as it is ordered."""
    if len(first.items) != len(second.items) or r"\{" in {first.opening, second.opening}:
        return EqualityResult(equal=False, method="set")
    pairs = zip(map(_value, first.items), map(_value, second.items), strict=True)
    result = _all(list(pairs))
    names = [[name for name in map(_name, side.items) if name] for side in (first, second)]
    if all(names) and names[0] != names[1]:
        return EqualityResult(None, "set", "they are of different variables")
    if any(set(side) <= set("xyz") and side != sorted(side) for side in names):
        return EqualityResult(None, "set", "the variables are in another order")
    return result


def _items(text: str, group: latex.BracketGroup | None) -> list[str]:
    """Return the items of a list, or the two that a plus-minus stands for."""
    given = [text] if group is None else list(group.items)
    names = {name for name in map(_name, given) if name}
    if len(names) == 1 and all(_name(item) or "=" not in item for item in given):  # x = 1, 2
        given = [_value(item) for item in given]
    return [item for part in given for item in latex.plus_minus(part)]


def _of_chain(text: str, other: latex.BracketGroup | None) -> list[str]:
    """Return the values of ``x = y = 3`` where the other answer lists as many."""
    *names, value = latex.members(text) or [""]
    if other is None or len(names) != len(other.items) or not all(map(NAME.fullmatch, names)):
        return []
    return [value] * len(names)


def _in_order_of_names(gold: list[str], answer: list[str]) -> EqualityResult | None:
    """Compare ``a = 1, b = 2`` with ``b = 2, a = 1`` or with ``1, 2``."""
    names, others = [_name(item) for item in gold], [_name(item) for item in answer]
    if len(gold) != len(answer) or not all(names) or len(set(names)) < len(names):
        return None
    if not any(others):
        return _all(
            [(_value(expected), actual) for expected, actual in zip(gold, answer, strict=True)]
        )
    return None


def _name(item: str) -> str | None:
    """Return the name before the equals sign, as in ``x = 3`` and ``f(x) = 3x``."""
    sides = latex.members(item)
    if len(sides) < 2 or not NAME.fullmatch(sides[0]):  # noqa: PLR2004 - two sides
        return None
    return latex.key(sides[0])


def _value(item: str) -> str:
    return latex.members(item)[-1] if _name(item) else item


def _equations(gold: str, answer: str) -> EqualityResult | None:
    first, second = latex.members(gold.lstrip("= ")), latex.members(answer.lstrip("= "))
    if len(first) <= 1 and len(second) <= 1:
        bare = "".join(first), "".join(second)
        return None if bare == (gold, answer) or not all(bare) else _compared(*bare)
    names = _name(gold), _name(answer)
    if len(first) == len(second) == 2 and "=" in gold and "=" in answer:  # noqa: PLR2004 - two sides
        if all(names) and (names[0] == names[1] or any("(" in name for name in names if name)):
            return _of_functions(_compared(first[1], second[1]), names)
        if latex.key(first[0]) == latex.key(second[0]):
            result = _compared(first[1], second[1])
            if result.equal:
                return result
        equal = symbolic.equal_equations((first[0], first[1]), (second[0], second[1]))
        reason = "" if equal is not None else "an equation could not be read as mathematics"
        return EqualityResult(equal, "symbolic", reason)
    if len(second) > 1 and len(first) == 1:
        return _chain(second, answer, gold, flipped=True)
    return _chain(first, gold, second[-1], flipped=False)


def _of_functions(result: EqualityResult, names: tuple[str | None, str | None]) -> EqualityResult:
    """Take ``y = x^2`` for ``f(x) = x^2``, but not for certain ``g(x) = x^2``."""
    if result.equal and names[0] != names[1] and "y" not in names:
        letters = {name.partition("(")[0].strip() for name in names if name}
        if len(letters) > 1:
            return EqualityResult(None, result.method, "they are of different functions")
    return result


def _chain(sides: list[str], chain: str, single: str, *, flipped: bool) -> EqualityResult:
    """Compare a single value with ``name = value`` or with a chain of equal values."""
    if len(sides) == 1:
        values = sides
    elif _name(chain) or r"\approx" in chain:
        values = [side for side in sides if not NAME.fullmatch(side)] or sides[-1:]
    elif _compared(sides[0], sides[-1]).equal:  # an identity, and not an equation to be solved
        values = sides[-1:]
    else:
        return EqualityResult(equal=False, method="symbolic")
    comparisons = [
        _compared(*((single, value) if flipped else (value, single))) for value in values
    ]
    decided = [comparison for comparison in comparisons if comparison.equal]
    return decided[0] if decided else comparisons[-1]


def _inequalities(gold: str, answer: str) -> EqualityResult | None:
    first, second = interval(gold), interval(answer)
    if first is None and second is None:
        return None
    result = _compared(first.text if first else gold, second.text if second else answer)
    if result.equal and first and second and latex.key(first.name) != latex.key(second.name):
        return EqualityResult(None, "set", "they are of different variables")
    return result
