"""Numbers and measures as answers write them: read exactly, split from their units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

EXPONENT_LIMIT = 400
"""Ten to a larger power is left to those who do not write it out."""

DIGITS_LIMIT = 2000
"""Digits in a number; a longer one is text."""

ROUNDED_DIGITS = 4
"""Significant digits from which a decimal is taken for the rounding of an exact number."""

PERCENT = 100

_WHOLE = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)"
_DECIMAL = re.compile(
    rf"""(?P<sign>[+-]?)(?P<mantissa>{_WHOLE}(?:\.\d*)?|\.\d+)
    (?:(?:\\times|\\cdot|\*)10\^\{{?(?P<ten>[+-]?\d+)\}}?|[eE](?P<e>[+-]?\d+))?(?P<percent>%?)""",
    re.VERBOSE,
)
_POWER_OF_TEN = re.compile(r"(?P<sign>[+-]?)10\^\{?(?P<ten>[+-]?\d+)\}?")
_FRACTION = re.compile(
    rf"""(?P<sign>[+-]?)(?:(?P<whole>\d+)(?=\\frac|\ ))?\ ?
    (?:\\frac\{{(?P<minus>-?)(?P<above>{_WHOLE})\}}\{{(?P<below>{_WHOLE})\}}
    |(?P<over>{_WHOLE})/(?P<under>{_WHOLE}))(?P<percent>%?)""",
    re.VERBOSE,
)
_GROUPED = re.compile(r"[+-]? ?\d{1,3}(?: \d{3})+(?:\.\d+)? ?%?")
_IDLE_SPACE = re.compile(r"(?<![\d,]) +| +(?![\d,])")  # 3 1/2 isn't 31/2, and 32, 349 is a list
_SCALED = re.compile(r"([+-]?[\d.,]+) (dozen|hundred|thousand|million|billion|trillion)")
_WORDS = {
    word: Fraction(value)
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"half": Fraction(1, 2), "a half": Fraction(1, 2), "one half": Fraction(1, 2)}
_SCALES = {
    "dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9,
    "trillion": 10**12,
}  # fmt: skip

_UNITS = {
    # each unit's names; other words are units of their own
    name: names.split()[0]
    for names in (
        "m meter metre", "cm centimeter centimetre", "mm millimeter", "km kilometer kilometre",
        "in inch inche", "ft foot feet", "yd yard", "mi mile", "g gram", "kg kilogram",
        "mg milligram",
        "lb pound", "oz ounce", "s sec second", "min minute", "h hr hour", "day", "week", "month",
        "year yr", "l L liter litre", "mL ml milliliter", "N newton", "J joule", "W watt", "V volt",
        "A amp ampere", "Hz hertz", "Pa pascal", "K kelvin", "C coulomb", "F farad", "mol mole",
        "dollar",
        "cent", "degree deg", "rad radian", "kJ kilojoule", "kW kilowatt", "mph", "ms millisecond",
    )
    for name in names.split()
}  # fmt: skip
_LONGEST = 300
_MEASURED = re.compile(
    r"""(?P<value>.*?[\d})])(?P<space>\s*)
    (?P<unit>(?P<first>[a-zA-Z]+|\\Omega)(?:\s*\^\s*\{?-?\d\}?)?
    (?:[\s/*.-]*(?:\\cdot\s*)?[a-zA-Z]+(?:\s*\^\s*\{?-?\d\}?)?){0,3}|[\u4e00-\u9fff]{1,4})""",
    re.VERBOSE,
)
_FUNCTION = re.compile(
    r"(?:sin|cos|tan|log|ln|exp|max|min\(|mod|and|or|pi|plus|minus|times|squared|repeating|recurring|dozen|quarters?|halves|thirds?)(?![a-z])"
)
_UNIT_WORD = re.compile(r"[a-zA-Z]+|\d|/|[\u4e00-\u9fff]+")
_LETTERS = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_POWERS = {"square": "2", "sq": "2", "squared": "2", "cubic": "3", "cubed": "3", "per": "/"}
_WORD = 4
"""So many letters in a row are a word, and no product of variables."""


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as it was written.

    Attributes:
        value: its exact value, a percent sign left aside.
        percent: whether a percent sign follows.
        step: the value of one unit in a decimal's last place; ``None`` for an exact number.
        digits: significant digits of a decimal.
    """

    value: Fraction
    percent: bool = False
    step: Fraction | None = None
    digits: int = 0


def numeral(text: str) -> Numeral | None:
    r"""Read a number, or return ``None`` where the text is not just a number.

    Understood are ``-3``, ``1,200``, ``0.5``, ``3/4``, ``\frac{3}{4}``, ``1\frac{1}{2}``,
    ``4.5\times10^{33}``, ``4.5e33``, ``10^{-3}``, ``5 million`` and each with a percent sign.
    """
    if len(text) > DIGITS_LIMIT:
        return None
    text = text.strip()
    in_words = _number_in_words(text)
    if in_words is not None:
        return in_words
    if " " in text:
        text = text.replace(" ", "") if _GROUPED.fullmatch(text) else _IDLE_SPACE.sub("", text)
    match = _DECIMAL.fullmatch(text)
    if match:
        return _decimal(match)
    match = _POWER_OF_TEN.fullmatch(text)
    if match and abs(int(match["ten"])) <= EXPONENT_LIMIT:
        value = Fraction(10) ** int(match["ten"])
        return Numeral(-value if match["sign"] == "-" else value)
    match = _FRACTION.fullmatch(text)
    return _fraction(match) if match else None


def _number_in_words(text: str) -> Numeral | None:
    """Read ``five`` and ``5 million``."""
    word = _WORDS.get(text.casefold())
    if word is not None:
        return Numeral(word)
    scaled = _SCALED.fullmatch(text)
    if scaled:
        number, scale = numeral(scaled[1]), _SCALES[scaled[2]]
        return number and Numeral(number.value * scale, number.percent)
    return None


def _decimal(match: re.Match[str]) -> Numeral | None:
    mantissa = match["mantissa"].replace(",", "")
    exponent = int(match["ten"] or match["e"] or 0)
    if abs(exponent) > EXPONENT_LIMIT:
        return None
    scale = Fraction(10) ** exponent
    value = Fraction(mantissa) * scale
    before, _, after = mantissa.partition(".")
    return Numeral(
        -value if match["sign"] == "-" else value,
        bool(match["percent"]),
        Fraction(1, 10 ** len(after)) * scale if after or exponent else None,
        len((before + after).lstrip("0")),
    )


def _fraction(match: re.Match[str]) -> Numeral | None:
    above, below = match["above"] or match["over"], match["below"] or match["under"]
    below = below.replace(",", "")
    if not int(below):
        return None
    value = Fraction(int(above.replace(",", "")), int(below))
    if match["minus"]:
        value = -value
    value += int(match["whole"] or 0)
    return Numeral(-value if match["sign"] == "-" else value, bool(match["percent"]))


def same_number(gold: Numeral, answer: Numeral) -> bool:
    """Check whether two numbers are equal, one of them rounded perhaps.

    Where only one is a percentage, the other may be the share or the figure before the sign:
    ``62.5%`` is 0.625, and is 62.5 where the question has said "per cent".
    """
    if gold.value == answer.value and (gold.percent == answer.percent or abs(gold.value) > 1):
        return True
    if gold.percent != answer.percent:
        with_sign, without = (gold, answer) if gold.percent else (answer, gold)
        step = None if with_sign.step is None else with_sign.step / PERCENT
        share = Numeral(with_sign.value / PERCENT, step=step, digits=with_sign.digits)
        return same_number(without, share)
    return rounds_to(gold.value, answer) or rounds_to(answer.value, gold)


def rounds_to(exact: Fraction, decimal: Numeral) -> bool:
    """Check whether a decimal is an exact number rounded, to four significant digits or more."""
    if decimal.step is None or decimal.digits < ROUNDED_DIGITS:
        return False
    return abs(exact - decimal.value) <= decimal.step / 2


class Quantity(NamedTuple):
    """A value and the unit behind it; all of the text and ``""`` where there is none.

    Attributes:
        value: the text before the unit.
        unit: the unit, each factor by its first name.
        sure: whether the unit can't be a product of variables.
    """

    value: str
    unit: str = ""
    sure: bool = True


def measure(text: str) -> Quantity:
    """Split a value from the unit behind it: ``5 cm^2`` is 5 in ``cm 2``.

    Letters close to a number, or that aren't a known unit, may be variables: ``0.64N``, ``3 x``.
    """
    match = _MEASURED.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None or _FUNCTION.match(match["unit"]):
        return Quantity(text)
    value = match["value"].strip()
    if value.count("{") != value.count("}") or value.count("(") != value.count(")"):
        return Quantity(text)
    if _LETTERS.search(value):
        return Quantity(text)
    names = _UNIT_WORD.findall(match["unit"])
    first = match["first"] or ""
    word = len(first) >= (_WORD - bool(match["space"])) or not first.isascii()
    number, long = numeral(value) is not None, len(first) > 1
    known = _name(first) in _UNITS.values() and (number or (long and bool(match["space"])))
    sure = word or (known and (long or len(names) > 1 or bool(match["space"])))
    if not sure and any(len(name) > 1 for name in names) and not match["space"]:
        return Quantity(text)
    return Quantity(value, " ".join(map(_name, names)), sure)


def _name(word: str) -> str:
    """Return a unit's first name: ``metres`` is ``m``, ``apples`` is ``apple``."""
    if word in _UNITS or len(word) <= 2:  # noqa: PLR2004 - mW isn't MW
        return _UNITS.get(word, word)
    word = word.casefold()
    singular = word.removesuffix("s")
    return _POWERS.get(word) or _UNITS.get(singular) or _UNITS.get(word) or singular
