"""Numbers as people write them: digits, English words, Chinese numerals."""

from __future__ import annotations

import re

# A number may stand right behind a Chinese character, but not inside of a word or a decimal.
_DIGITS = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.0)?(?![.,]?\d)(?:\s?(k(?![a-z])|千|万))?")
_GOES_ON = re.compile(r"[a-z0-9_.]")
_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
_UNITS = {word: number for number, word in enumerate(_SMALL.split())}
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * number for number, word in enumerate(_TENS_WORDS.split(), start=2)}
_SCALES = {"hundred": 100, "thousand": 1000}
_A_SCALE = re.compile(r"a (?=(?:hundred|thousand)\b)")
_DOZENS = re.compile(r"(half )?a dozen(?![\w-])|(one|two|three|four|five) dozen(?![\w-])")
_ENGLISH_WORD = re.compile(r"[a-z]+")
_CHINESE = re.compile("[零〇一二两三四五六七八九十百千万]+")
_CHINESE_DIGITS = {digit: number for number, digit in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000}


def number_at(text: str, start: int) -> tuple[int, int] | None:
    """Read the whole number that starts at a position.

    >>> number_at("1,200 words", 0), number_at("twenty-five", 0), number_at("三百五十字", 0)
    ((1200, 5), (25, 11), (350, 4))
    """
    sign = text[start : start + 1]
    if sign.isdigit():
        return _digits(text, start)
    if sign.isascii():
        return _english(text, start)
    return _chinese(text, start)


def _digits(text: str, start: int) -> tuple[int, int] | None:
    match = _DIGITS.match(text, start)
    if match is None or (start and _GOES_ON.match(text, start - 1)):
        return None
    scale = {"k": 1000, "千": 1000, "万": 10_000}.get(match[2] or "", 1)
    return int(match[1].replace(",", "")) * scale, match.end()


def _english(text: str, start: int) -> tuple[int, int] | None:
    """Read "two hundred and fifty", also with hyphens."""
    if start and text[start - 1].isascii() and text[start - 1].isalnum():
        return None
    if dozens := _DOZENS.match(text, start):
        return 6 if dozens[1] else 12 * _UNITS.get(dozens[2] or "one", 1), dozens.end()
    article = _A_SCALE.match(text, start)
    total, current, end = 0, int(bool(article)), article.end() if article else start
    at = end
    while match := _ENGLISH_WORD.match(text, at):
        word = match[0]
        if word in _UNITS and (current % 10 == 0 or end == start):
            current += _UNITS[word]
        elif word in _TENS and current % 100 == 0:
            current += _TENS[word]
        elif word in _SCALES and end > start:
            current *= _SCALES[word]
            if word == "thousand":
                total, current = total + current, 0
        elif word == "and" and end > start and current % 100 == 0 and current + total:
            at = _after_gap(text, match.end())
            continue
        else:
            break
        end = match.end()
        at = _after_gap(text, end)
        if at == end:
            break
    return (total + current, end) if end > start else None


def _after_gap(text: str, at: int) -> int:
    return at + 1 if text[at : at + 1] in {" ", "-"} else at


def _chinese(text: str, start: int) -> tuple[int, int] | None:
    match = _CHINESE.match(text, start)
    if match is None:
        return None
    value = _chinese_value(match[0])
    return None if value is None else (value, match.end())


def _chinese_value(numeral: str) -> int | None:
    """Work out a numeral; ``None`` where it is none, as 一一 or 十百."""
    if "万" in numeral:
        high, _, low = numeral.partition("万")
        above, below = _chinese_value(high), _chinese_value(low) if low else 0
        return None if above is None or below is None or not high else above * 10_000 + below
    total, digit, last = 0, None, 10_000
    for sign in numeral:
        if sign in _CHINESE_SCALES:
            scale = _CHINESE_SCALES[sign]
            if scale >= last or digit == 0:
                return None
            total += (1 if digit is None else digit) * scale
            digit, last = None, scale
        elif digit not in {None, 0} or (digit == 0 and sign in "零〇"):
            return None
        else:
            digit = _CHINESE_DIGITS[sign]
    # 三百五 is 350: the place after a scale is the next smaller one.
    if digit and last > 10 and last < 10_000 and "零" not in numeral and "〇" not in numeral:  # noqa: PLR2004
        return total + digit * last // 10
    return total + (digit or 0)
