"""Numbers in a response: in digits, in words, in other forms."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from heedful.verify.text.characters import DIGIT_OF_ANOTHER_FORM, LIST_NUMBER

if TYPE_CHECKING:
    from heedful.verify.text.layout import Layout

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_IN_WORD = re.compile(r"(?<=[A-Za-z])\d+")
_WORDS = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six"
    r"|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million"
    r"|billion|trillion|dozen|half|third|quarter|first|second|fourth|fifth"
    r"|(?:six|seven|eigh|nin|ten|eleven|twelf)th)s?\b",
    re.IGNORECASE,
)
_ROMAN = re.compile(
    r"\b(?=[IVXLCDM]{2})M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b"
)
_SIGNS = re.compile(
    # 一 in 一起 and 十 in 十分 count nothing.
    "(?<![统唯万之进])一(?![些定样起直切般旦边面致方向时])|十(?!分)"
    "|[零〇二两三四五六七八九百千万亿兆半廿卅壹贰叁肆伍陆柒捌玖拾佰仟\u2160-\u217f]"
)
_START = re.compile(r"\d|第|其|[一十]")


def numbers(layout: Layout) -> list[int]:
    """Count numbers in digits; those of a list, in words, in "H2O", of other forms may count."""
    text = layout.text
    whole, single = len(_NUMBER.findall(text)), len(re.findall(r"\d+", text))
    others = sum(
        len(each.findall(text)) for each in (_WORDS, _ROMAN, _SIGNS, DIGIT_OF_ANOTHER_FORM)
    )
    in_words = len(_IN_WORD.findall(text))
    return [max(0, whole - len(LIST_NUMBER.findall(text)) - in_words), single + others]


_PHONE = re.compile(
    r"(?<![\w.,/+-])(?:\(\d{3}\) ?|\d{3}[.-])\d{3}[.-]\d{4}(?![\w/-])"
    r"|(?<!\w)\+\d(?:[ .-]?\d){6,13}(?![\w/-])"
)
_MAYBE_PHONE = re.compile(
    r"\d(?:[ ().-]{0,3}\d){2,}|\[[^\[\]\n]{0,60}(?:phone|number)", re.IGNORECASE
)


def phone_numbers(layout: Layout) -> list[int]:
    """Count phone numbers: +1 555 123 4567, (555) 123-4567; other runs of digits may be one."""
    sure = len(_PHONE.findall(layout.text))
    return [sure, sure + len(_MAYBE_PHONE.findall(_PHONE.sub("", layout.text)))]


def may_be_number(text: str) -> bool:
    """Say whether a text may start with a number: in digits, in words, or past other signs.

    >>> may_be_number("(1) Rain"), may_be_number("One, rain"), may_be_number("Rain 1")
    (True, True, False)
    """
    start = re.sub(r"^[\W_]+", "", text)[:20]
    if any(each.match(start) for each in (_START, _WORDS, _ROMAN, _SIGNS)):
        return True
    return any(unicodedata.numeric(sign, None) is not None for sign in text[:3])
