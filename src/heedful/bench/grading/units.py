"""Units after a number: split from the number, and converted where both answers have one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from heedful.bench.grading.numerals import numeral
from heedful.bench.grading.spoken import CHINESE_UNIT

LONGEST = 300
"""Characters of a measure; a longer text is none, and would take long to search for a unit."""

_SIZES = {
    # a unit's names, and its size in others; "" for a base unit
    "m meter metre": "", "g gram gramme": "", "s sec second": "", "K kelvin": "",
    "A amp ampere": "", "mol mole": "", "dollar usd": "", "euro eur": "", "yuan 元 rmb": "",
    "yen": "",
    "celsius": "", "fahrenheit": "", "yensign": "", "rad radian": "", "degree deg": "",
    "in inch": "127/5000 m", "ft foot feet": "381/1250 m", "yd yard": "3 ft", "mi mile": "5280 ft",
    "min minute": "60 s", "h hr hour": "60 min", "d day": "24 h", "wk week": "7 d",
    "l L liter litre": "1/1000 m^3", "cc": "1/1000000 m^3", "lb lbs pound": "45359237/100000 g",
    "oz ounce": "1/16 lb", "N newton": "1000 g m/s^2", "J joule": "N m", "W watt": "J/s",
    "Pa pascal": "N/m^2", "Hz hertz": "1/s", "C coulomb": "A s", "V volt": "W/A",
    "Omega ohm": "V/A", "F farad": "C/V", "kWh": "3600000 J", "mph": "mi/h", "kmh kph": "1000 m/h",
    "cent": "1/100 dollar", "角": "1/10 yuan", "hectare": "10000 m^2", "acre": "43560 ft^2",
    "tonne": "1000000 g", "gal gallon": "473176473/125000000000 m^3", "qt quart": "1/4 gallon",
    "pint": "1/8 gallon", "month": "", "y yr year": "12 month", "decade": "10 year",
    "century centurie": "100 year", "gbp": "",
}  # fmt: skip
_PREFIXES = {
    # their names, the power of ten, and the symbols that they stand before
    "k kilo": (3, "m g N J W Pa Hz V Omega"), "c centi": (-2, "m g l L"), "d deci": (-1, "m l L"),
    "m milli": (-3, "m g s A l L N J W Pa V mol"), "M mega": (6, "g N J W Pa Hz V Omega"),
    "G giga": (9, "J W Pa Hz"), "n nano": (-9, "m s g F"),
    "u micro": (-6, "m s g l L A F C V W"),
}  # fmt: skip
_DEFINED = {name: size for names, size in _SIZES.items() for name in names.split()}
for _names, (_power, _symbols) in _PREFIXES.items():
    _symbol, _long = _names.split()
    for _of in _symbols.split():
        _base = f"{Fraction(10) ** _power} {_of}"
        _words = next(names.split()[1:] for names in _SIZES if _of in names.split())
        _DEFINED |= {
            _symbol + _of: _base,
            **{_long + word: _base for word in _words if len(word) > 1},
        }
_DEFINED |= {"CM": "cm", "Km": "km", "KM": "km", "Kg": "kg", "KG": "kg"}
_WHOLE_NAMES = {name for name in _DEFINED if len(name) > 2}  # noqa: PLR2004 - 2 letters: a symbol

_COUNTED = re.compile(
    r"""(?:box|cup|egg|dog|cat|pen|boy|girl|car|hat|toy|bag|row|pie|kid|cow|day|yr|hr|min|sec
    |hen|can|bee|way|unit|pt|mol)s?|men|bus|fish|deg|rad""",
    re.VERBOSE,
)
"""Short names of counted things, which might otherwise be products of variables."""

_UNCLEAR_IF_CLOSE = frozenset(
    {"mg", "ms", "ml", "in", "hr", "mi", "yd", "lb", "oz", "wk", "cc", "yr", "gal", "qt"}
)
"""Units that are products of variables where no space keeps them from the number: ``2mg``."""

_UNIT_LETTERS = frozenset("mgshlLVJNWKCFd")
_SHORT = 3
"""Letters; a longer run of them is a word."""

_CHINESE_MEASURE = """(?:[个只人本条名辆张块页岁次天年月日周分秒元角米克升度棵件种位头朵间支枚套]
    |[组根吨]|小时|分钟|[厘毫千]米|千克|公[斤里]|美元|人民币|毫升)"""
"""Measure words that don't change the number before them; other words may: 5倍, 5以上, 5个半."""

_MEASURED = re.compile(
    rf"""(?P<value>.*?(?:[\d}})]|\\pi(?![a-zA-Z])))(?P<space>\s*)
    (?P<unit>(?P<first>[a-zA-Z]+|\\Omega)(?:\s*\^\s*\{{?-?\d\}}?)?
        (?:[\s/*.-]*(?:\\cdot\s*)?[a-zA-Z]+(?:\s*\^\s*\{{?-?\d\}}?)?){{0,3}}
      |{_CHINESE_MEASURE}(?:/{_CHINESE_MEASURE})?|/)""",
    re.VERBOSE,
)
_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)\s*+([a-zA-Z]++|元|角)")
_COMPOUND = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:[a-zA-Z]+|元|角)\.?[\s,]*(?:and\s+)?){2,3}")
_FUNCTIONS = re.compile(
    r"(?:sin|cos|tan|cot|csc|log|ln|exp|lim|max|det|gcd|lcm|mod|and|or|pi|sqrt)(?![a-z])",
    re.IGNORECASE,
)
_FACTOR = re.compile(
    r"(?P<over>/|\bper\b)|(?P<name>[a-zA-Z]+|[\u4e00-\u9fff]+)(?:\s*\^\s*\{?(?P<power>-?\d)\}?)?"
)
_DEGREES_OF = re.compile(r"degrees?\s+(?=celsius|fahrenheit)", re.IGNORECASE)
_OF = re.compile(r"(?<![a-z])(?:of|from|to|for|by|and|than|with|without|not)(?![a-z])")
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}


_SPOKEN = "|".join(sorted(filter(str.isascii, _WHOLE_NAMES - {"kph"}), key=len, reverse=True))
_SYMBOLS = "km|cm|mm|dm|kg|mg|ml|mL|kJ|kW|ms|min|hr|ft|lb|oz|m|g|s|h|L|N|J|W|V|K"
_SAID = rf"""(?:(?:square|cubic|sq)\.?\s{{1,3}})?(?:(?i:{_SPOKEN})(?:e?s)?|{_SYMBOLS})(?![a-zA-Z])
    (?:\s{{0,3}}\^\s{{0,3}}\{{?-?\d\}}?|[²³]|\s{{1,3}}(?:squared|cubed))?"""
SAID_UNIT = re.compile(
    rf"(?:\s{{0,3}}-?{_SAID}(?:\s{{0,3}}(?:/|per(?![a-z]))\s{{0,3}}{_SAID})?|{CHINESE_UNIT})",
    re.VERBOSE,
)
"""A known unit, as a sentence goes on with it after a number."""


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
    value, name = match["value"].strip(), match["unit"].strip().replace("\\cdot", " ")
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
    first = match["first"]
    sure = first is None or _surely(value, name, first, close=not match["space"])
    return Quantity(text) if sure is None else Quantity(value, name, sure)


def _surely(value: str, name: str, first: str, *, close: bool) -> bool | None:
    """Check whether letters are a unit for certain; ``None`` where they are none."""
    if len(first) == 1:
        if close or first not in _UNIT_LETTERS:
            return None
        if numeral(value) is not None:
            return _is_of_symbols(name)
        return unit(name).known if "/" in name else None
    known = first in _DEFINED or _COUNTED.fullmatch(first) is not None
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
    return name in _DEFINED or _singular(name) in _WHOLE_NAMES


@lru_cache(maxsize=1024)
def unit(name: str) -> Unit:
    """Read a unit: ``square feet per second`` is ``ft^2/s``.

    A factor that is not known is a unit of its own, of size 1.
    """
    if _OF.search(name):
        return Unit(frozenset({(name, 1)}), Fraction(1), known=False)
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
        factor_unit = _defined(word)
        known = known and factor_unit.known
        scale *= factor_unit.scale**power
        for dimension, exponent in factor_unit.dimensions:
            powers[dimension] = powers.get(dimension, 0) + exponent * power
    return Unit(frozenset((d, p) for d, p in powers.items() if p), scale, known)


def _defined(word: str) -> Unit:
    """Look up one unit by its name; any other name is a unit of its own."""
    name = word if word in _DEFINED else _singular(word)
    size = _DEFINED.get(name)
    if not size:
        base = next((names.split()[0] for names in _SIZES if name in names.split()), name)
        return Unit(frozenset({(base, 1)}), Fraction(1), known=size is not None)
    number, _, others = (
        size.partition(" ") if size[0].isdigit() and " " in size else ("1", "", size)
    )
    of = unit(others)
    return Unit(of.dimensions, Fraction(number) * of.scale, known=True)


def in_one_unit(text: str, *, largest: bool = False) -> str:
    """Write a measure in several units in the last of them: ``1 hour 30 minutes`` in minutes."""
    if not _COMPOUND.fullmatch(text):
        return text
    parts = [(Fraction(number), unit(name), name) for number, name in _PART.findall(text)]
    _, last, name = parts[0] if largest else parts[-1]
    if not all(part.known and part.dimensions == last.dimensions for _, part, _ in parts):
        return text
    total = sum(number * part.scale for number, part, _ in parts) / last.scale
    return rf"\frac{{{total.numerator}}}{{{total.denominator}}} {name}"


def _singular(word: str) -> str:
    """Write a word without its case and plural; symbols of one or two letters stay as they are."""
    if len(word) <= 2:  # noqa: PLR2004 - mg isn't Mg
        return word
    word = word.casefold()
    if word.endswith("ies") and len(word) > _SHORT + 1:
        return word[:-3] + "y"
    if word.endswith(("xes", "shes", "ches", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us")) else word
