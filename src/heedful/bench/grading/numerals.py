"""Numbers as answers write them, compared exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_LOCALIZED = re.compile(
    r"""(?P<sign>[+-]?)(?:(?P<dots>\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+(?=,))
    |(?P<groups>\d{1,2}(?:,\d{2})+,\d{3})|(?P<whole>\d+)(?=,))(?:,(?P<decimals>\d+))?(?P<percent>%?)""",
    re.VERBOSE,
)
_GROUPED = re.compile(r"[+-]? ?\d{1,3}(?: \d{3})+(?:\.\d+)? ?%?")
_IDLE_SPACE = re.compile(r"(?<![\d,]) +| +(?![\d,])")  # 3 1/2 isn't 31/2, and 32, 349 is a list
_BASED = re.compile(
    r"""(?P<open>\()?(?P<digits>\d[\da-fA-F]*|[A-F]{2,}(?=_\{?16))(?(open)\))
    _\(?\{?(?:\\text\{)?(?P<base>\d{1,2}|two|eight|ten|sixteen)\}?\)?|0(?P<prefix>[xXbBoO])(?P<rest>[\da-fA-F]+)""",
    re.VERBOSE,
)
_INDEXED = re.compile(r"\(?\d{1,100}\)?_(?:\d{1,9}|\{\d{1,9}\})")
_BASES = {"two": 2, "eight": 8, "ten": 10, "sixteen": 16, "x": 16, "b": 2, "o": 8}


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
    ``4.5\times10^{33}``, ``4.5e33``, ``10^{-3}`` and each with a percent sign.
    """
    if len(text) > DIGITS_LIMIT:
        return None
    spaceless = text.strip()
    if " " in spaceless:
        spaceless = (
            spaceless.replace(" ", "")
            if _GROUPED.fullmatch(spaceless)
            else _IDLE_SPACE.sub("", spaceless)
        )
    match = _DECIMAL.fullmatch(spaceless)
    if match:
        return _decimal(match)
    match = _POWER_OF_TEN.fullmatch(spaceless)
    if match and abs(int(match["ten"])) <= EXPONENT_LIMIT:
        value = Fraction(10) ** int(match["ten"])
        return Numeral(-value if match["sign"] == "-" else value)
    match = _FRACTION.fullmatch(spaceless)
    return _fraction(match) if match else None


def localized(text: str) -> tuple[Numeral, bool] | None:
    """Read a number in local notation: ``0,5``, ``1.234,56``, ``1.000.000``, ``1,00,000``."""
    match = _LOCALIZED.fullmatch(text.strip())
    if match is None:
        return None
    plain = match["dots"] or match["groups"] or match["whole"]
    point = f".{match['decimals']}" if match["decimals"] else ""
    number = numeral(f"{match['sign']}{re.sub('[.,]', '', plain)}{point}{match['percent']}")
    return (
        (number, bool(match["dots"]) or match["whole"] == "0" or ",0" in (match["groups"] or ""))
        if number
        else None
    )


def _decimal(match: re.Match[str]) -> Numeral | None:
    mantissa = match["mantissa"].replace(",", "")
    exponent = int(match["ten"] or match["e"] or 0)
    if abs(exponent) > EXPONENT_LIMIT:
        return None
    scale = Fraction(10) ** exponent
    value = Fraction(mantissa if mantissa.strip(".") else "0") * scale
    before, point, after = mantissa.partition(".")
    digits = len((before + after).lstrip("0"))
    return Numeral(
        -value if match["sign"] == "-" else value,
        bool(match["percent"]),
        Fraction(1, 10 ** len(after)) * scale if (point and after) or exponent else None,
        digits,
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
    if gold.value == answer.value and gold.percent == answer.percent:
        return True
    if gold.percent != answer.percent:
        with_sign, without = (gold, answer) if gold.percent else (answer, gold)
        step = None if with_sign.step is None else with_sign.step / PERCENT
        share = Numeral(with_sign.value / PERCENT, step=step, digits=with_sign.digits)
        return without.value == with_sign.value or same_number(without, share)
    return rounds_to(gold.value, answer) or rounds_to(answer.value, gold)


def rounds_to(exact: Fraction, decimal: Numeral) -> bool:
    """Check whether a decimal is an exact number rounded, to four significant digits or more."""
    if decimal.step is None or decimal.digits < ROUNDED_DIGITS:
        return False
    return abs(exact - decimal.value) <= decimal.step / 2


def are_one_number(texts: Sequence[str]) -> bool:
    """Check whether texts write one number in several forms: ``3/8`` and ``0.375``."""
    values = [
        numeral(re.sub(r"[\s\\$](?!frac)", "", text.replace(r"\dfrac", r"\frac"))) for text in texts
    ]
    shares = {v.value / (PERCENT if v.percent else 1) if v else None for v in values}
    return len(set(texts)) > 1 and len(shares) == 1 and None not in shares


def has_base(text: str) -> bool:
    """Check whether a text is digits with an index, whether or not that can be their base."""
    return _INDEXED.fullmatch(text.replace(" ", "")) is not None


def based(text: str) -> tuple[str, int, int] | None:
    r"""Read a numeral with its base: ``101_2`` is ``("101", 2, 5)``, the value last."""
    match = _BASED.fullmatch(text.replace(" ", "")) if len(text) <= DIGITS_LIMIT else None
    if match is None:
        return None
    written, name = match["rest"] or match["digits"], match["base"] or match["prefix"].casefold()
    base = _BASES.get(name) or int(name)
    try:
        return written, base, int(written, base)
    except ValueError:
        return None
