"""Comparing what has no further parts: numbers, ratios, numbers with units, expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from heedful.bench.grading import latex, symbolic
from heedful.bench.grading.numerals import Numeral, based, has_base, numeral, same_number
from heedful.bench.grading.units import Quantity, Unit, measure, unit
from heedful.bench.grading.words import is_text

Method = Literal["letter", "text", "numeric", "symbolic", "set", "unit test"]
"""Method by which an answer was compared with the gold."""


@dataclass(frozen=True, slots=True)
class EqualityResult:
    """Result of comparing an answer with the gold.

    Attributes:
        equal: whether they are the same; ``None`` where that was not decided.
        method: how they were compared.
        reason: why it was not decided.
    """

    equal: bool | None
    method: Method
    reason: str = ""


_UNCLEAR = (
    # what may be read in two ways, and the way in which the parser doesn't read it
    (re.compile(r"(/\s*\d+)\s*(?=[a-zA-Z]|\\[a-zA-Z])"), r"\1 \\cdot "),
    (re.compile(r"(/\s*[a-zA-Z])\s*(?=[a-zA-Z(])"), r"\1 \\cdot "),
    (
        re.compile(
            r"(\\(?:sin|cos|tan|cot|sec|csc|ln|log))\s*(\d+(?:\s*[a-zA-Z])?|[a-zA-Z]|\d*\s*\\[a-z]+)\s*(?=/)"
        ),
        r"\1(\2)",
    ),
)
_RATIO = re.compile(r"[^:{}\\]+(?::[^:{}\\]+)+")
_TEMPERATURES = {
    # a degree's size in kelvins, and zero kelvins on the scale
    "celsius": (Fraction(1), Fraction("-273.15")),
    "fahrenheit": (Fraction(5, 9), Fraction("-459.67")),
    "K": (Fraction(1), Fraction(0)),
}
_SYMBOLS = {"C": {"celsius"}, "F": {"fahrenheit"}, "yensign": {"yuan", "yen"}}
"""Other meanings of a unit's symbol, where the other answer says so."""

_SEVERAL_SIZES = {"month": "s", "ton": "g", "cup": "g"}
"""Units that aren't always the same in others: a month in days, a ton in pounds."""

_CLOCK = re.compile(r"\d{1,2}:[0-5]\d(?::[0-5]\d)?")


def compare_leaves(gold: str, answer: str) -> EqualityResult:
    """Compare what has no further parts."""
    if latex.key(gold) == latex.key(answer):
        return EqualityResult(equal=True, method="text")
    gold_number, answer_number = numeral(gold), numeral(answer)
    if gold_number is not None and answer_number is not None:
        return EqualityResult(same_number(gold_number, answer_number), "numeric")
    for structure in (_ratios, _angles, _measures):
        result = structure(gold, answer)
        if result is not None:
            return result
    result = compare_based(gold, answer, gold_number, answer_number)
    if result is not None:
        return result
    if is_text(gold) or is_text(answer):
        return EqualityResult(equal=False, method="text")
    return _expressions(gold, answer, gold_number, answer_number)


def compare_based(
    gold: str, answer: str, gold_number: Numeral | None, answer_number: Numeral | None
) -> EqualityResult | None:
    """Compare numerals by their value, if one has a base: ``101_2`` is 5, and perhaps 101."""
    first, second = based(gold), based(answer)
    if (first is None and has_base(gold)) or (second is None and has_base(answer)):
        return EqualityResult(None, "numeric", "one of them has a base that it can't be in")
    if first is not None and second is not None:
        return EqualityResult(first[2] == second[2], "numeric")
    with_base, other, text = (
        (first, answer_number, answer) if first is not None else (second, gold_number, gold)
    )
    if with_base is None or other is None:
        return None
    if with_base[0] == text:
        return EqualityResult(None, "numeric", "only one of them names its base")
    return EqualityResult(with_base[2] == other.value and not other.percent, "numeric")


def _ratios(gold: str, answer: str) -> EqualityResult | None:
    """Compare ``3:1`` part by part; it isn't a quotient or a number."""
    ours, theirs = (_RATIO.fullmatch(side) is not None for side in (gold, answer))
    if not ours and not theirs:
        return None
    first, second = gold.split(":"), answer.split(":")
    if ours and theirs and len(first) == len(second):
        pairs = zip(map(str.strip, first), map(str.strip, second), strict=True)
        verdicts = [compare_leaves(*pair).equal for pair in pairs]
        times = all(_CLOCK.fullmatch(side.strip()) for side in (gold, answer))
        if all(verdicts) or (_are_proportional(first, second) and not times):
            return EqualityResult(equal=True, method="set")
        if False in verdicts and not _are_proportional(first, second):
            return EqualityResult(equal=False, method="set")
    return EqualityResult(None, "set", "a ratio in other terms, or a time")


def _are_proportional(first: list[str], second: list[str]) -> bool:
    ours, theirs = [list(map(numeral, parts)) for parts in (first, second)]
    start, end = ours[0], theirs[0]
    return all(
        our and their and start and end and our.value * end.value == their.value * start.value
        for our, their in zip(ours, theirs, strict=True)
    )


def _measures(gold: str, answer: str) -> EqualityResult | None:
    """Compare numbers of which at least one has a unit."""
    first, second = measure(gold), measure(answer)
    if not first.unit and not second.unit:
        bare = first.value, second.value
        return None if bare == (gold, answer) else compare_leaves(*bare)
    if first.unit and second.unit:
        return _converted(first, second)
    if not (first.sure and second.sure):
        result = _expressions(gold, answer, numeral(gold), numeral(answer))
        if result.equal:
            return result
    result = compare_leaves(first.value, second.value)
    number = numeral(first.value if second.unit else second.value)
    if result.equal and not (first.sure and second.sure):
        return EqualityResult(None, result.method, "one of them may have a unit, or variables")
    if result.equal and number is not None and number.percent:
        return EqualityResult(
            None, result.method, "one of them has a unit, the other is a percentage"
        )
    return result


def _angles(gold: str, answer: str) -> EqualityResult | None:
    """Compare an angle in degrees with one in radians."""
    first, second = measure(gold), measure(answer)
    if _is_angle(first, second) or _is_angle(second, first):
        return EqualityResult(equal=True, method="symbolic")
    return None


def _is_angle(degrees: Quantity, radians: Quantity) -> bool:
    r"""Check whether one angle in degrees is another in radians: ``90^\circ`` and ``\pi/2``."""
    if unit(degrees.unit).dimensions != unit("degree").dimensions:
        return False
    if unit(radians.unit).dimensions != unit("rad").dimensions and (
        radians.unit or r"\pi" not in radians.value
    ):
        return False
    in_radians = rf"\frac{{\pi}}{{180}} \cdot ({degrees.value})"
    return bool(_expressions(in_radians, radians.value, None, numeral(radians.value)).equal)


def _converted(first: Quantity, second: Quantity) -> EqualityResult:
    """Compare two measures: in the same unit, or in units that can be converted."""
    ours, theirs = unit(first.unit), unit(second.unit)
    if _SYMBOLS.get(first.unit, set()) & {*dict(theirs.dimensions)}:  # 20 C isn't 20 coulombs then
        ours = theirs
    if _SYMBOLS.get(second.unit, set()) & {*dict(ours.dimensions)}:
        theirs = ours
    if ours.dimensions == theirs.dimensions:
        return _scaled(first.value, second.value, theirs.scale / ours.scale)
    if _is_temperature(ours) and _is_temperature(theirs):
        return _temperatures((first.value, ours), (second.value, theirs))
    sizes = [next(iter(dict(each.dimensions)), "") for each in (ours, theirs)]
    if _SEVERAL_SIZES.get(sizes[0]) == sizes[1] or _SEVERAL_SIZES.get(sizes[1]) == sizes[0]:
        return EqualityResult(None, "numeric", "a unit of several sizes")
    if ours.known and theirs.known:
        return EqualityResult(equal=False, method="numeric")
    result = compare_leaves(first.value, second.value)
    return EqualityResult(None, result.method, "their units differ") if result.equal else result


def _scaled(first: str, second: str, ratio: Fraction) -> EqualityResult:
    """Compare a value with ``ratio`` times another."""
    if ratio == 1:
        return compare_leaves(first, second)
    first_number, second_number = numeral(first), numeral(second)
    if first_number is None or second_number is None:
        scale = rf"\frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
        return compare_leaves(first, rf"{scale} \cdot ({second})")
    step = None if second_number.step is None else second_number.step * ratio
    scaled = Numeral(second_number.value * ratio, second_number.percent, step, second_number.digits)
    return EqualityResult(same_number(first_number, scaled), "numeric")


def _is_temperature(given: Unit) -> bool:
    return len(given.dimensions) == 1 and dict(given.dimensions).keys() <= _TEMPERATURES.keys()


def _temperatures(first: tuple[str, Unit], second: tuple[str, Unit]) -> EqualityResult:
    """Compare temperatures on two scales; a difference of temperatures is left undecided."""
    numbers = [numeral(value) for value, _ in (first, second)]
    ours, theirs = (_TEMPERATURES[next(iter(dict(of.dimensions)))] for _, of in (first, second))
    if numbers[0] is None or numbers[1] is None:
        return EqualityResult(None, "numeric", "their units differ")
    ratio = theirs[0] / ours[0]
    converted = (numbers[1].value - theirs[1]) * ratio + ours[1]
    step = None if numbers[1].step is None else numbers[1].step * ratio
    if same_number(numbers[0], Numeral(converted, step=step, digits=numbers[1].digits)):
        return EqualityResult(equal=True, method="numeric")
    if numbers[1].value * ratio == numbers[0].value:
        return EqualityResult(None, "numeric", "a temperature, or a difference of temperatures")
    return EqualityResult(equal=False, method="numeric")


def _expressions(
    gold: str, answer: str, gold_number: Numeral | None, answer_number: Numeral | None
) -> EqualityResult:
    """Compare mathematics of which at most one is a number, in both readings if it has two."""
    result = _read_expressions(gold, answer, gold_number, answer_number)
    others = _otherwise_read(gold), _otherwise_read(answer)
    if result.equal is None or others == (gold, answer):
        return result
    other = _read_expressions(others[0], others[1], gold_number, answer_number)
    if other.equal is not result.equal:
        return EqualityResult(None, "symbolic", "one of them can be read in two ways, as 1/2x")
    return result


def _otherwise_read(text: str) -> str:
    for pattern, replacement in _UNCLEAR:
        text = pattern.sub(replacement, text)
    return text


def _read_expressions(
    gold: str, answer: str, gold_number: Numeral | None, answer_number: Numeral | None
) -> EqualityResult:
    """Compare mathematics of which at most one is a number."""
    for number, other in ((gold_number, answer), (answer_number, gold)):
        if number is not None:
            equal = symbolic.value_equal(number, other)
            if equal is not None:
                return EqualityResult(equal, "numeric" if equal else "symbolic")
    equal = symbolic.equal(gold, answer)
    if equal is None:
        equal = symbolic.equal_relations(gold, answer)
    reason = "" if equal is not None else "one of them could not be read as mathematics"
    return EqualityResult(equal, "symbolic", reason)
