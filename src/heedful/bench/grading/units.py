"""Units after a number: split from the number, and converted where both answers have one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from heedful.bench.grading.numerals import numeral

LONGEST = 300
"""Characters of a measure; a longer text is none, and would take long to search for a unit."""

_LENGTH, _TIME, _MASS = "length", "time", "mass"
_KINDS: dict[tuple[tuple[str, int], ...], dict[str, Fraction | int]] = {
    # what is measured: the units' names, and how many of the base unit each is
    ((_LENGTH, 1),): {
        "mm millimeter millimetre": Fraction(1, 1000),
        "cm CM centimeter centimetre": Fraction(1, 100),
        "m meter metre": 1,
        "km Km KM kilometer kilometre": 1000,
        "in inch": Fraction(254, 10_000),
        "ft foot feet": Fraction(3048, 10_000),
        "yd yard": Fraction(9144, 10_000),
        "mi mile": Fraction(1_609_344, 1000),
    },
    ((_TIME, 1),): {
        "s sec second": 1,
        "min minute": 60,
        "h hr hour": 3600,
        "d day": 86_400,
        "wk week": 604_800,
    },
    ((_MASS, 1),): {
        "mg milligram": Fraction(1, 1000),
        "g gram": 1,
        "kg Kg KG kilogram": 1000,
        "lb lbs pound": Fraction(45_359_237, 100_000),
        "oz ounce": Fraction(45_359_237, 1_600_000),
    },
    ((_LENGTH, 3),): {
        "ml mL milliliter millilitre cc": Fraction(1, 1_000_000),
        "l L liter litre": Fraction(1, 1000),
    },
    ((_LENGTH, 1), (_TIME, -1)): {
        "mph": Fraction(1_609_344, 3_600_000),
        "kmh kph": Fraction(1000, 3600),
    },
    (("dollar", 1),): {"cent": Fraction(1, 100), "dollar usd": 1},
    (("euro", 1),): {"euro": 1},
}
_KNOWN = {
    name: (dict(kind), Fraction(size))
    for kind, sizes in _KINDS.items()
    for names, size in sizes.items()
    for name in names.split()
}
_WHOLE_NAMES = {name for name in _KNOWN if len(name) > 2}  # noqa: PLR2004 - 2 letters: a symbol

_COUNTED = re.compile(
    r"""(?:box|cup|egg|dog|cat|pen|boy|girl|car|hat|toy|bag|row|pie|kid|cow|day|yr|hr|min|sec
    |hen|can|bee|way|unit|pt|mol)s?|men|bus|fish|deg|rad""",
    re.VERBOSE,
)
"""Short names of counted things, which might otherwise be products of variables."""

_UNCLEAR_IF_CLOSE = frozenset({"mg", "ms", "ml", "in", "hr", "mi", "yd", "lb", "oz", "wk", "cc"})
"""Units that are products of variables where no space keeps them from the number: ``2mg``."""

_UNIT_LETTERS = frozenset("mgshlLVJNWKCFd")
_SHORT = 3
"""Letters; a longer run of them is a word."""

_MEASURED = re.compile(
    r"""(?P<value>.*?[\d})])(?P<space>\s*)
    (?P<unit>(?P<first>[a-zA-Z]+)(?:\s*\^\s*\{?-?\d\}?)?
        (?:[\s/*.-]*(?:\\cdot\s*)?[a-zA-Z]+(?:\s*\^\s*\{?-?\d\}?)?){0,3}
      |/)""",
    re.VERBOSE,
)
_FUNCTIONS = re.compile(
    r"(?:sin|cos|tan|cot|csc|log|ln|exp|lim|max|det|gcd|lcm|mod|and|or|pi|sqrt)(?![a-z])",
    re.IGNORECASE,
)
_FACTOR = re.compile(r"(?P<over>/|\bper\b)|(?P<name>[a-zA-Z]+)(?:\s*\^\s*\{?(?P<power>-?\d)\}?)?")
_DEGREES_OF = re.compile(r"degrees?\s+(?=celsius|fahrenheit)", re.IGNORECASE)
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit.

    Attributes:
        value: the text before the unit; all of it where there is none.
        unit: the unit as it was written; ``""`` for none.
        sure: whether it cannot be a product of variables.
    """

    value: str
    unit: str = ""
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of units.

    Attributes:
        dimensions: what is measured, with its power.
        scale: how many of the base units it is.
        known: whether every factor is a unit whose size is known.
    """

    dimensions: frozenset[tuple[str, int]]
    scale: Fraction
    known: bool


def measure(text: str) -> Quantity:
    r"""Split a number from the unit behind it: ``5 cm^2`` is 5 in ``cm^2``.

    A text without a unit comes back whole. A single letter after anything but a plain number and a
    space is a variable, not a unit; so are two or three close to the number, ``3ab``.
    """
    match = _MEASURED.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if match is None:
        return Quantity(text)
    value, name = match["value"].strip(), match["unit"].strip()
    powers = all(word.casefold() in _POWERS for word in name.split())
    if powers:  # 5 squared is 25
        return Quantity(text)
    halved = value.endswith(("{", "\\", "_", "^")) or any(
        value.count(opening) != value.count(closing) for opening, closing in ("{}", "()")
    )
    if halved or _FUNCTIONS.match(name):
        return Quantity(text)
    if name == "/":
        return Quantity(value)
    sure = _surely(value, name, match["first"], close=not match["space"])
    return Quantity(text) if sure is None else Quantity(value, name, sure)


def _surely(value: str, name: str, first: str, *, close: bool) -> bool | None:
    """Check whether letters are a unit for certain; ``None`` where they are none.

    Args:
        value: what stands before them.
        name: all of them.
        first: the first run of letters.
        close: whether no space keeps them from the value.
    """
    if len(first) == 1:
        if close or first not in _UNIT_LETTERS:
            return None
        if numeral(value) is not None:
            return _is_of_symbols(name)
        return unit(name).known if "/" in name else None
    known = first in _KNOWN or _COUNTED.fullmatch(first) is not None
    if close and not known and len(first) <= _SHORT:
        return None
    if close:
        return _is_known(first) and first not in _UNCLEAR_IF_CLOSE
    return known or any(map(_is_word, name.split()))


def _is_of_symbols(name: str) -> bool | None:
    """Check whether a symbol and what follows are a unit: ``m/s``, but not certainly ``m g h``."""
    factors = re.findall("[a-zA-Z]+", name)
    if not all(len(f) > 1 or f in _UNIT_LETTERS for f in factors):
        return None
    if any(map(_FUNCTIONS.fullmatch, factors)):
        return None
    return len(factors) == 1 or "/" in name or "-" in name or any(map(_is_word, factors))


def _is_word(text: str) -> bool:
    return len(text) > _SHORT


def _is_known(name: str) -> bool:
    return name in _KNOWN or _singular(name) in _WHOLE_NAMES


@lru_cache(maxsize=1024)
def unit(name: str) -> Unit:
    """Read a unit: ``square feet per second`` is ``ft^2/s``.

    A factor that is not known is a unit of its own, of size 1.
    """
    powers: dict[str, int] = {}
    scale, known = Fraction(1), True
    sign, ahead, last, last_sign = 1, 1, "", 1
    for factor in _FACTOR.finditer(_DEGREES_OF.sub("", name)):
        if factor["over"]:
            sign = -1
            continue
        word = factor["name"]
        behind = _POWERS.get(word.casefold())
        if behind and not (word.casefold().endswith("ed") and last):
            ahead = behind
            continue
        if behind:  # metres squared
            word, power = last, (behind - 1) * last_sign
        else:
            power = sign * ahead * int(factor["power"] or 1)
            sign, ahead, last, last_sign = 1, 1, word, sign
        dimensions, size = _KNOWN.get(word) or _KNOWN.get(_singular(word)) or (None, Fraction(1))
        known = known and dimensions is not None
        scale *= size**power
        for dimension, exponent in (dimensions or {_singular(word): 1}).items():
            powers[dimension] = powers.get(dimension, 0) + exponent * power
    return Unit(frozenset((d, p) for d, p in powers.items() if p), scale, known)


def _singular(word: str) -> str:
    """Write a word without its case and plural; symbols of one or two letters stay as they are."""
    if len(word) <= 2:  # noqa: PLR2004 - mg is no Mg
        return word
    word = word.casefold()
    if word.endswith("ies") and len(word) > _SHORT + 1:
        return word[:-3] + "y"
    if word.endswith(("xes", "shes", "ches", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
