"""Numbers in a response: in digits, in words, in other forms."""

from __future__ import annotations

import re
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


def numbers(layout: Layout) -> list[int]:
    """Count numbers in digits; those of a list, in words, in "H2O", of other forms may count."""
    text = layout.text
    whole, single = len(_NUMBER.findall(text)), len(re.findall(r"\d+", text))
    others = sum(
        len(each.findall(text)) for each in (_WORDS, _ROMAN, _SIGNS, DIGIT_OF_ANOTHER_FORM)
    )
    in_words = len(_IN_WORD.findall(text))
    return [max(0, whole - len(LIST_NUMBER.findall(text)) - in_words), single + others]
