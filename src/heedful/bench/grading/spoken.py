"""Numbers in words or in Chinese characters, written with digits.

Only the number that an answer begins with is rewritten: in a sentence a number word need not be the
answer. Words that then still change the number (``4 times x``) are for
:mod:`heedful.bench.grading.quantities`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Words that scale the number before them, as powers of ten."""

_VALUES = (
    {name: value for value, name in enumerate(_ONES)}
    | {name: 10 * ten for ten, name in enumerate(_TENS, start=2)}
    | {name: 10**power for name, power in SCALES.items()}
)
NUMBER_WORDS = tuple(_VALUES)
_IRREGULAR = {"third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
_ORDINALS = _IRREGULAR | {
    re.sub("y$", "ie", name) + "th": value
    for name, value in _VALUES.items()
    if value > 3  # noqa: PLR2004 - first, second, third
}
_PARTS = _ORDINALS | {"half": 2, "halve": 2, "quarter": 4}
_ALTERNATIVES = "|".join(sorted(_VALUES, key=len, reverse=True))
COUNT = re.compile(
    rf"""(?<![\w])(?P<sign>(?:minus|negative)\s)?(?P<number>(?:a\s(?={"|".join(SCALES)}))?
    (?:{_ALTERNATIVES})(?:[\s-](?:and\s)?(?:{_ALTERNATIVES}))*)(?!\w)(?!-(?!\w+(?:\s|$)))""",
    re.IGNORECASE | re.VERBOSE,
)
_FRACTION = re.compile(
    rf"""(?P<sign>(?:minus|negative)\s|-)?(?:(?P<whole>\d+)\s(?:and\s)?)?
    (?P<above>an?|\d+|{"|".join(_ONES[1:])})[\s-](?P<below>{"|".join(_PARTS)})s?(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
SAID_FRACTION = re.compile(
    rf"""(?<!\w)(?:(?:an?|{"|".join(_ONES[1:])})[\s-](?:{"|".join(_PARTS)})s?|half)(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
"""A fraction in words, as a sentence has it."""

_JOINED = re.compile(r"(?<=\d) and (?=\d+/\d+|\\[dt]?frac)")
_ORDINAL = re.compile(
    rf"(?P<word>first|second|{'|'.join(_ORDINALS)})|(?P<digits>\d+)\s*\^?\{{?\s*(?:st|nd|rd|th)\}}?",
    re.IGNORECASE,
)
_DIGITS = "零〇一二两三四五六七八九"
_CHINESE_UNITS = {
    # of units that contain each other the longer one comes first
    "千米": "km", "公里": "km", "厘米": "cm", "毫米": "mm", "分米": "dm", "毫升": "ml",
    "千克": "kg", "公斤": "kg", "毫克": "mg", "千瓦时": "kWh", "千瓦": "kW", "小时": "hours",
    "分钟": "minutes", "美元": "dollars", "摄氏度": "celsius", "华氏度": "fahrenheit",
    "牛顿": "N", "焦耳": "J",
    "瓦特": "W", "公顷": "hectare", "米": "m", "克": "g", "升": "l",
    "吨": "tonnes", "天": "days", "周": "weeks", "时": "hours", "秒": "s", "度": "degrees",
    "年": "years", "元": "元", "角": "角", "牛": "N", "焦": "J", "瓦": "W",
}  # fmt: skip
_MEASURE_WORDS = "个只人本条名辆张块页岁次月日分棵件种位头朵间支枚套双倍组根"
_ONE_UNIT = rf"(?:平方|立方)?(?:{'|'.join(_CHINESE_UNITS)})"
CHINESE_UNIT = rf"{_ONE_UNIT}(?:(?:[/每]|\s*/\s*){_ONE_UNIT})?"
"""A unit in Chinese: 千米/时, 公里每小时, 平方厘米."""

_CHINESE = rf"""(?P<sign>负|零下|-)?(?P<percent>百分之)?(?:(?P<whole>[{_DIGITS}十百千万亿]+|\d+)又)?
    (?:(?P<below>[{_DIGITS}十百千万亿]+|\d+)分之)?
    (?P<number>\d+/\d+|[{_DIGITS}十百千万亿]+|\d+(?:\.\d+)?(?P<scale>(?!千[米克瓦])[百千万亿]+)?)
    (?:点(?P<decimals>[{_DIGITS}]+))?\s*(?P<unit>{CHINESE_UNIT}|[{_MEASURE_WORDS}])?"""
CHINESE_NUMBER = re.compile(_CHINESE, re.VERBOSE)
_HALF = re.compile(
    rf"(?:(?P<whole>[{_DIGITS}十]+|\d+)个)?半(?P<unit>{_ONE_UNIT})"
    rf"|(?P<count>[{_DIGITS}十]+|\d+)(?P<counted>{_ONE_UNIT})半"
)
_TENTHS = re.compile(rf"^(?P<tenths>[{_DIGITS[2:]}]|\d)成(?P<below>[{_DIGITS[2:]}半]?)$")
_PER = re.compile(rf"每(?P<per>{_ONE_UNIT})(?P<rest>.+)")
_CLOCK_PART = re.compile(r"(?<=\d)分(?!钟)|(?<=[一二三四五六七八九十])分(?!钟|之)")
_CHINESE_DATE = re.compile(r"(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]|\d{4}年(?:\d{1,2}月)?")
_CHINESE_WORDS = {"一半": "\\frac{1}{2}", "半": "\\frac{1}{2}"}


def in_digits(text: str) -> str:
    r"""Write the number that an answer begins with in digits.

    >>> in_digits("twenty-one apples"), in_digits("two and a half"), in_digits("三分之二")
    ('21 apples', '2\\frac{1}{2}', '\\frac{2}{3}')
    """
    if not text.isascii():
        text = _from_chinese(text)
    if not re.search("[a-zA-Z]{2}", text):
        return text
    if text.casefold() in {"half", "a half"}:
        return r"\frac{1}{2}"
    count = COUNT.match(text)
    if count:
        text = _with_count(text, count)
    text = re.sub(r"^(?:minus|negative) (?=\d)", "-", _JOINED.sub(" ", text, count=1))
    fraction = _FRACTION.match(text)
    if fraction:
        above = fraction["above"].casefold()
        above = "1" if above in {"a", "an"} else str(_VALUES.get(above, above))
        below = _PARTS[fraction["below"].casefold()]
        sign = "-" if fraction["sign"] else ""
        number = rf"{sign}{fraction['whole'] or ''}\frac{{{above}}}{{{below}}}"
        return number + text[fraction.end() :]
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal:
        places = _ORDINALS | {"first": 1, "second": 2}
        return f"{ordinal['digits'] or places[ordinal['word'].casefold()]} th"
    return text


def _with_count(text: str, count: re.Match[str]) -> str:
    """Write the number in words with digits; a scale at its end stays, as in ``5 million``."""
    sign = "-" if count["sign"] else ""
    for words in (count["number"], count["number"].partition(" and ")[0]):  # three and two thirds
        names = [name.casefold() for name in re.split(r"[\s-]+", words)]
        *values, last = [_VALUES[name] for name in names if name not in {"and", "a"}]
        scale = f" {names[-1]}" if values and names[-1] in SCALES and last > max(values) else ""
        total = _total(values if scale else [*values, last], smallest_scale=100)
        if total is not None:
            return f"{sign}{total}{scale}{text[count.start('number') + len(words) :]}"
    return text


def _total(values: Sequence[int], smallest_scale: int) -> int | None:
    """Add up ``2, 1000, 5``: a scale multiplies the smaller numbers before it."""
    terms: list[int] = []
    for value in values:
        if value >= smallest_scale and str(value).strip("0") == "1":
            scaled = 0
            while terms and terms[-1] < value:
                scaled += terms.pop()
            terms.append((scaled or 1) * value)
        elif not terms or not terms[-1] or value < _room(terms[-1], smallest_scale):
            terms.append(value)
        else:
            return None
    return sum(terms)


def _room(value: int, smallest_scale: int) -> int:
    """Return the power of ten below which a number may follow: a digit after ``twenty``."""
    zeros = len(str(value)) - len(str(value).rstrip("0"))
    no_digit = value < 10 or (value == 10 and smallest_scale > 10)  # noqa: PLR2004 - no "ten one"
    return 0 if no_digit else int(10**zeros)


def _from_chinese(text: str) -> str:
    """Write a number in Chinese, or a measure in one or more units, with digits and symbols."""
    if _CHINESE_DATE.fullmatch(text):
        return text
    if text in _CHINESE_WORDS:
        return _CHINESE_WORDS[text]
    if text.startswith("第"):
        place = _from_chinese(text[1:])
        return f"{place} th" if place.isdigit() else text
    text = _TENTHS.sub(_percentage, text)
    half = _HALF.fullmatch(text)
    if half:  # 一个半小时, 3天半
        whole = _chinese(half["whole"] or half["count"] or "") or "0"
        return rf"\frac{{{2 * int(whole) + 1}}}{{2}} {_unit_of(half['unit'] or half['counted'])}"
    per = _PER.fullmatch(text)
    if per:
        text = f"{per['rest']}/{per['per']}"
    if re.search("时|秒", text):  # of an hour, not of money
        text = _CLOCK_PART.sub("分钟", text)
    parts: list[_Part] = []
    at = 0
    while at < len(text):
        match = CHINESE_NUMBER.match(text, at)
        number = _number_of(match) if match else None
        if match is None or number is None or (parts and not parts[-1].unit):
            return text
        parts.append(_Part(number, _unit_of(match["unit"] or "")))
        at = match.end()
    return " ".join(f"{part.number} {part.unit}".strip() for part in parts)


def _percentage(match: re.Match[str]) -> str:
    """Write tenths as a percentage: 八成五 is 百分之85."""
    below = {"": "0", "半": "5"}.get(match["below"], _chinese(match["below"]))
    return f"百分之{_chinese(match['tenths'])}{below}"


class _Part(NamedTuple):
    number: str
    unit: str


def _unit_of(name: str) -> str:
    name = name.replace("平方", "square ").replace("立方", "cubic ").replace("每", "/")
    for chinese, symbol in _CHINESE_UNITS.items():
        name = name.replace(chinese, symbol)
    return name


def _number_of(match: re.Match[str]) -> str | None:
    number = _chinese(match["number"].removesuffix(match["scale"] or ""))
    scale = _chinese(match["scale"] or "") or "1"
    below, whole = _chinese(match["below"] or ""), _chinese(match["whole"] or "")
    if None in {number, scale, below, whole}:
        return None
    if match["decimals"]:
        number = f"{number}.{''.join(str(_digit(digit)) for digit in match['decimals'])}"
    if scale != "1":
        number = rf"{number} \times 10^{{{len(scale) - 1}}}"
    if below:
        number = rf"\frac{{{number}}}{{{below}}}"
    if whole:
        space = "" if below else " "
        number = f"{whole}{space}{number}"
    return f"{'-' if match['sign'] else ''}{number}{'%' if match['percent'] else ''}"


def _chinese(characters: str) -> str | None:
    """Write a Chinese numeral with digits; ``None`` where it is none."""
    if not characters or characters[0].isdecimal():
        return characters
    values = [_digit(character) for character in characters]
    if len(values) > 1 and max(values) < 10:  # noqa: PLR2004 - digit by digit: a year
        return "".join(map(str, values))
    if len(values) > 1 and values[-1] < 10 and values[-2] > 10:  # noqa: PLR2004 - 250 or 205
        return None
    total = _total(values, smallest_scale=10)
    return None if total is None else str(total)


def _digit(character: str) -> int:
    return 2 if character == "两" else int(numeric(character))


_NO_VALUE = (
    (
        re.compile(
            r"\bno (?:real |integer |such |valid |possible )?(?:solutions?|roots?)\b"
            r"|(?:无|没有)(?:实数?|整数)?[解根]",
            re.IGNORECASE,
        ),
        "no solution",
    ),
    (re.compile(r"\bdoes(?: not|n['’]t) exist\b|不存在", re.IGNORECASE), "does not exist"),
    (re.compile(r"\b(?:is|are|be) undefined\b|无意义", re.IGNORECASE), "undefined"),
    (re.compile(r"\binfinitely many\b|无数(?:个|组)?解", re.IGNORECASE), "infinitely many"),
)
_VERDICT = re.compile(r"\W{0,20}(?P<word>yes|no)\b\s{0,3}(?:[,.!]|$)", re.IGNORECASE)

INTRODUCTION = 60
"""Characters before a number word that are searched for what introduces it."""


def in_words(sentence: str, introduced: re.Pattern[str]) -> str | None:
    """Return the number word that something introduces, or what says that there is no value."""
    for pattern, name in _NO_VALUE:
        if pattern.search(sentence):
            return name
    verdict = _VERDICT.match(sentence)
    if verdict:
        return verdict["word"]
    numbers = [
        match
        for pattern in (COUNT, SAID_FRACTION, CHINESE_NUMBER)
        for match in pattern.finditer(sentence)
        if "分之" in match.group()
        or (
            match.group().casefold() not in {"one", "一", "a", "zero"}
            and introduced.search(sentence[: match.start()][-INTRODUCTION:])
        )
    ]
    return numbers[-1].group().strip() if numbers else None
