"""Doubts about two answers that compare as equal, and may mean different things.

What is left of ``Tom: 3, Jerry: 4`` without its words is what is left of ``Tom: 4, Jerry: 3``; the
ends of an interval are a list of two numbers. Where one of two equal answers is of such a kind,
and the other of another, equality isn't certain.
"""

from __future__ import annotations

import re
from collections import Counter

from heedful.bench.grading import latex
from heedful.bench.grading.numerals import has_base, numeral
from heedful.bench.grading.tidying import tidy
from heedful.bench.grading.units import SAID_UNIT
from heedful.bench.grading.words import STATEMENT

LONGEST = 4_000
"""Characters; a longer text isn't an answer."""

_NUMBER = r"-?\d+(?:[.,]\d+)*(?:/\d+)?"
_TOKEN = re.compile(rf"{_NUMBER}|[^\W\d_]+|[%°$]")
_ALGEBRA = re.compile(r"[=+*^\\<>|_!]|(?<=[\w)])\s?[-/]")
_PLUS_MINUS = re.compile(r"\\[mp]{2}(?![a-zA-Z])|±|∓")
_MEMBER = re.compile(r"\\in(?![a-z])|∈")
_INTERVAL = re.compile(r"[(\[][^()\[\],;]+[,;][^()\[\]]*[)\]]")
_ENDLESS = re.compile(r"\\infty|∞")
_HELD = re.compile(r"[()\[\]<>]|(?<![_}])\{|\\(?:in|le|ge|cup)(?![a-z])")
_COMMAND = re.compile(r"\\[a-z]+\s*\{")
_VARIABLE = re.compile(
    r"(?<![a-zA-Z\\\d+*/^-])(?<![-+*/] )(?P<letter>[a-zA-Z])(?:_\{?\w+\}?|\d)?\s*=(?!=)"
)
_CROWDED = re.compile(r"=\s*-?\d[\d.]*\s+[a-zA-Z]+\s*=")
_WHOLE = re.compile(r"[,;(]\s*[a-zA-Z]\s*(?:\\in(?![a-z])|∈)\s*(?:\\mathbb\s*\{?\s*[ZN]|[ℤℕZN])")
_PERIODS = re.compile(r"\\pi(?![a-z])|π|\\circ|°")
_RANGE = re.compile(r"(?P<low>\d{3,40})\s?[-–]\s?(?P<high>\d{3,40})")
_LIST = re.compile(r"(?:[a-z]\s*=\s*)?[1-9]\d[05](?:,[1-9]\d[05])+")
_UNGROUPED = re.compile(r"\d{6,}")
_AND = re.compile(r"(?<![a-zA-Z])and(?![a-zA-Z])")

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[a-zA-Z]{3,}")
_DIGIT = re.compile(r"\d")
_HOUR = re.compile(r"\b(?:noon|midnight)\b|正午|中午|午夜", re.IGNORECASE)
_ROMAN = re.compile(r"[IVXLCDM]{2,15}")
_THOUSANDS = re.compile(r"[\d.,]{1,20} ?[kK万千]")
_FLOOR = re.compile(
    r"(?:^|[-+=,;])\s*(?:\[(?!\s*\\begin)[^\[\],;]*[a-zA-Z.\\/][^\[\],;]*\]"
    r"|\\\{[^{},;|:<>=\\]*[a-z][^{},;|:<>=\\]*\\\})\s*(?:$|[-+=,;])"
)
_SIZED = re.compile(r"\d+(?:\s*(?:\\times|-|x|by)\s*\d+)+\s+[a-z]{3,}.*")
_APPLIED = re.compile(r"\\(?:zeta|(?:var)?phi|sigma|tau|mu|eta|Phi)\s*\(\s*\d+\s*\)")
_CHOICES = re.compile(r"[A-F]{2,6}")
_PREPOSITION = re.compile(r"(?:on|in|at|by)\s+", re.IGNORECASE)
_SET = re.compile(r"\\mathbb\s*\{\s*([A-Z])\s*\}")
_POWER = re.compile(r"\d[eE][+-]?\d+\s*[a-zA-Z]")
_INVERSE = re.compile(r"\\(?:sin|cos|tan)\s*\^\s*\{?-1|\\arc(?:sin|cos|tan)")
_DEGREES = re.compile(r"\\circ|°|degree")
_PREFIXED = re.compile(
    r"[\d}]\s*(?:\\?(?:text|mathrm)\{[~\s]*)?[mkMGnpµμ](?P<unit>[AVWJNFCTHgsmlL])\b"
)
_CLOSE = re.compile(r"(?P<number>-?\d[\d,.]*)(?P<unit>[a-zA-Z]\S*)")
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+")
_NUMBER_WORD = re.compile(
    r"(?:none|nil|nothing|nobody|once|twice|thrice|both|single|double|triple)\W*", re.IGNORECASE
)
_TONNES = re.compile(r"[\d.,]{1,20} ?t")
_CONJUGATE = re.compile(r"\\(?:overline|bar)\s*\{[^{}]*i[^{}]*\}")
_WORDS = re.compile(r"(?<![a-zA-Z\\])[a-zA-Z]{3,}(?:\s+[a-zA-Z]+)*")
_APPROXIMATE = re.compile(r"\\approx(?![a-z])|≈")
_LEFT = re.compile(r"[，；,;]\s?(?:还|则)?[剩余]\D{0,4}\d")
_ABOUT = re.compile(r"^[\s$]{0,9}(?:[~∼～]|\\sim(?![a-z]))\s{0,9}\d")
_CODE = re.compile(r"0\d{3,}")
_LETTERS = re.compile(r"[A-Z](?:(?:\s*,|\s+(?P<joint>and|or))\s+[A-Z])+")
_PER = re.compile(r"/\s*\([^()]*\)")


def likeness(gold: str, answer: str) -> str:
    """Say why two answers that compare as different may be equal; nothing where they aren't."""
    return _likeness(gold, answer) or _likeness(answer, gold)


def _likeness(one: str, other: str) -> str:
    worded = _CHINESE.search(one) and not _DIGIT.search(one) and not _DIGIT.search(other)
    number = _DIGIT.search(other) is not None
    prefixed = _PREFIXED.search(one)
    likely = {
        "they are in two languages": (
            worded and _WORD.search(other) and not _CHINESE.search(other)
        ),
        "an hour in words": _HOUR.search(one) and number,
        "a Roman numeral": _ROMAN.fullmatch(one.strip()) and number,
        "thousands, or a variable": _THOUSANDS.fullmatch(one.strip()) and other.isdecimal(),
        "a set of numbers, or a letter": _SET.sub(r"\1", one) == other,
        "a power of ten with a unit": _POWER.search(one),
        "an angle in degrees": _INVERSE.search(one) and _DEGREES.search(other),
        "units that may be converted": (
            prefixed and re.search(rf"(?<![a-zA-Z]){prefixed['unit']}(?![a-zA-Z])", other)
        ),
        "a vector, or a list": "pmatrix" in one and "pmatrix" not in other and "," in other,
        "a list, or a number whose digits are grouped": _is_grouped_list(one, other),
        "a word for a number": _NUMBER_WORD.fullmatch(one.strip()) and number,
        "tonnes, or a variable": _TONNES.fullmatch(one.strip())
        and re.search(r"k?g\b|\bton", other),
        "a conjugate, or a bar": _CONJUGATE.search(one),
        "they differ only in words": (
            _WORD.search(latex.MACRO.sub(" ", one))
            and not _WORD.search(latex.MACRO.sub(" ", other))
            and number
            and latex.key(_WORDS.sub("", one)) == latex.key(other)
        ),
        "a unit, or variables": _has_close_unit(one, other),
        "a statement, or a number": STATEMENT.search(one) and number,
        "a function with a name": _APPLIED.search(one) and not _APPLIED.search(other),
        "letters of several choices": (
            _CHOICES.fullmatch(one) and sorted(one) == sorted(latex.parts(tidy(other)))
        ),
        "they differ in a preposition": (
            _PREPOSITION.match(tidy(one))
            and latex.key(_PREPOSITION.sub("", tidy(one), 1)) == latex.key(tidy(other))
        ),
        "a congruence, or a remainder": (
            r"\equiv" in one and r"\equiv" not in other and "mod" in other
        ),
        "one of them says what is left, too": (
            _LEFT.search(one) and other.isdecimal() and re.search(rf"(?<!\d){other}(?!\d)", one)
        ),
        "a compound unit": _PER.search(one) and other.count("/") > 1,
    }
    return next((reason for reason, is_so in likely.items() if is_so), "")


def doubt(gold: str, answer: str) -> str:
    """Say why two answers that compare as equal may not be; nothing where they are."""
    if gold == answer or max(len(gold), len(answer)) > LONGEST:
        return ""
    if not any(map(_PERIODS.search, (gold, answer))) and _only_one(_WHOLE, gold, answer):
        return "only one of them is restricted to whole numbers"
    if _only_one(_ABOUT, gold, answer):
        return "only one of them says about"
    gold, answer = tidy(gold), tidy(answer)
    if latex.key(gold) == latex.key(answer):
        return ""
    between = _doubt_between(gold, answer) or _doubt_between(answer, gold)
    if between or not _swapped(gold, answer):
        return between
    return "words and numbers that belong together otherwise"


def _is_approximate(one: str, other: str) -> bool:
    r"""Check whether only one says ``\approx``, and not of a number: ``a \approx b``."""
    sides = latex.members(one)
    return bool(
        _APPROXIMATE.search(one)
        and not _APPROXIMATE.search(other)
        and len(sides) > 1
        and numeral(sides[-1]) is None
    )


def _is_grouped_list(one: str, other: str) -> bool:
    """Check whether ``45,135``, which reads as one number, is the list ``135, 45``."""
    if not _GROUPS.fullmatch(one):
        return False
    items = [item.strip() for item in latex.parts(other)]
    return sorted(one.split(",")) == sorted(items)


def _has_close_unit(one: str, other: str) -> bool:
    """Check whether one is the other's number with letters close to it, that may be a unit."""
    match, number = _CLOSE.fullmatch(one.strip()), numeral(other.strip())
    value = numeral(match["number"]) if match and SAID_UNIT.fullmatch(match["unit"]) else None
    return value is not None and number is not None and value.value == number.value


def _is_small_percentage(one: str, other: str) -> bool:
    """Check for ``0.5%`` and ``0.5``, which is a share of its own: half a per cent, or a half."""
    share, number = numeral(one), numeral(other)
    if share is None or number is None or not share.percent or number.percent:
        return False
    return share.value == number.value and 0 < abs(number.value) <= 1


def _only_one(pattern: re.Pattern[str], gold: str, answer: str) -> bool:
    return bool(pattern.search(gold)) != bool(pattern.search(answer))


def _doubt_between(one: str, other: str) -> str:
    """Say why two tidied answers of different kinds may not be equal, in one direction."""
    pair = _INTERVAL.fullmatch(one.strip()) is not None
    names = _variables(one), _variables(other)
    doubts = {
        "a code, or a number": _CODE.fullmatch(one) is not None and other[:1] != "0",
        "and, or or": _joint(one) != _joint(other) and "" not in {_joint(one), _joint(other)},
        "signs that may be chosen apart": len(_PLUS_MINUS.findall(one)) > 1,
        "a part of a number, or brackets": _FLOOR.search(one) and not _FLOOR.search(other),
        "sizes or a score, or a value": _SIZED.fullmatch(one) and not _SIZED.fullmatch(other),
        "only one of them says about": _is_approximate(one, other),
        "a share, or a percentage": _is_small_percentage(one, other),
        "a numeral in a base, and a measure": has_base(one) and _DEGREES.search(other) is not None,
        "several values without anything between them": _CROWDED.search(one) is not None,
        "they are of different variables": (
            len(set(names[0])) > 1
            and other.count("=") == len(names[1]) > 0  # else an equation, 2C = E
            and set(names[0]) != set(names[1])
        ),
        "an interval, or the list of its ends": (_is_interval(one) and _is_bare(other))
        or (pair and _are_values_of_one(other)),
        "a difference, or two numbers with a dash": (
            _is_counted_down(one) and not _is_counted_down(other)
        ),
        "a list, or a number whose digits are grouped": (
            _LIST.fullmatch(one) is not None and _UNGROUPED.fullmatch(other) is not None
        ),
    }
    return next((reason for reason, is_so in doubts.items() if is_so), "")


def _joint(text: str) -> str:
    """Return the word before the last of several letters: ``or`` in ``A or B``."""
    match = _LETTERS.fullmatch(text)
    return (match["joint"] or "") if match else ""


def _is_interval(text: str) -> bool:
    """Check for an interval that can't be a point."""
    if _MEMBER.search(text) and _INTERVAL.search(text):
        return True
    square = "[" in text or "]" in text or _ENDLESS.search(text) is not None
    return square and _INTERVAL.fullmatch(text.strip()) is not None


def _is_bare(text: str) -> bool:
    """Check for a list without brackets."""
    listed = len(latex.parts(text)) > 1 or _PLUS_MINUS.search(text) is not None
    return listed and _HELD.search(_COMMAND.sub("", text)) is None


def _are_values_of_one(text: str) -> bool:
    """Check for two values of one variable: with a sign for both, or each with its name."""
    names = _variables(text)
    return _PLUS_MINUS.search(text) is not None or (len(names) > 1 and len(set(names)) == 1)


def _variables(text: str) -> list[str]:
    return [match["letter"] for match in _VARIABLE.finditer(text)]


def _is_counted_down(text: str) -> bool:
    match = _RANGE.fullmatch(text.strip())
    return match is not None and int(match["low"]) < int(match["high"])


def _swapped(gold: str, answer: str) -> bool:
    """Check whether both have the same words and numbers, but other ones stand together."""
    if _ALGEBRA.search(gold) or _ALGEBRA.search(answer):
        return False
    ours, theirs = map(_together, (gold, answer))
    if ours == theirs or len(ours) != len(theirs):
        return False
    if len(ours) == 1 and [t[-1].isdigit() for t in ours[0]] != [
        t[-1].isdigit() for t in theirs[0]
    ]:
        return False  # 4 March, and March 4
    tokens = [Counter(token for part in each for token in part) for each in (ours, theirs)]
    numbers = [token for token in tokens[0] if token[-1].isdigit()]
    return tokens[0] == tokens[1] and 1 < len(numbers) < len(tokens[0])


def _together(text: str) -> list[tuple[str, ...]]:
    """Return the words and numbers of each part of a list, the parts in one order."""
    text = _AND.sub(",", text.casefold())
    return sorted(tuple(_TOKEN.findall(part)) for part in latex.parts(text))
