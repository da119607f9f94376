"""Dates and times of day, however they are written."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_YEARLESS = ("%B %d", "%d %B", "%b %d", "%d %b", "%m月%d日")
_NUMERIC = ("%Y-%m-%d", "%Y/%m/%d", "%Y年%m月%d日", "%m/%d/%Y", "%d/%m/%Y")
_FORMATS = (*_NUMERIC, *(f"{written} %Y" for written in _YEARLESS))
_NO_YEAR = 4  # a leap year that nobody means
_LIKELY = re.compile(
    r"\d{4}[-/年]\d|\d/\d{1,2}/\d{4}|\d月\d"
    r"|[a-zA-Z]{3}\.? \d|\d(?:[snrt][tdh])?(?: of)? [a-zA-Z]{3}"
)
_FILLING = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b|\bthe\b|[,.]|^(?:on|[a-z]+day)\b")
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d))?(?::00)?\s*(?P<half>[ap]\.?\s*m\.?)?", re.IGNORECASE
)
_RATIO = re.compile(r"\d+(?::\d+)+")
_DIGITS = re.compile(r"\d{4}[-/]\d\d[-/]\d\d|\d\d?/\d\d?/\d{4}")


_CHINESE_TIME = re.compile(
    r"(?P<half>[上下]午|早上|凌晨|晚上)?(?P<hour>\d{1,2})点(?:(?P<minute>\d{1,2})分?|(?P<thirty>半))?$"
)


_NOON = re.compile(r"^(?:12(?::00)?\s?)?noon$|^正午$", re.IGNORECASE)


def same_moment(gold: str, answer: str) -> tuple[bool | None, str] | None:
    """Check whether two texts are the same date, or the same time of day."""
    ours, theirs = _moments(gold), _moments(answer)
    if not ours or not theirs or (_RATIO.fullmatch(gold) and _RATIO.fullmatch(answer)):
        in_digits = _DIGITS.fullmatch(gold) or _DIGITS.fullmatch(answer)
        return (None, "one of them is a date") if in_digits else None
    if ours == theirs and len(ours) == 1:
        return True, ""
    without_years = {moment[-2:] for moment in ours} & {moment[-2:] for moment in theirs}
    yearless = _NO_YEAR in {moment[0] for moment in ours | theirs if len(moment) > 2}  # noqa: PLR2004 - a date
    if ours & theirs or (without_years and yearless):
        return None, "the year, the order of day and month, or the half of the day isn't known"
    return False, ""


def _in_digits(match: re.Match[str]) -> str:
    """Write ``下午3点半`` as ``3:30 pm``."""
    minute = "30" if match["thirty"] else f"{int(match['minute'] or 0):02}"
    half = match["half"] or ""
    return f"{match['hour']}:{minute}" + (
        f" {'p' if half in {'下午', '晚上'} else 'a'}m" if half else ""
    )


def _moments(text: str) -> frozenset[tuple[int, ...]]:
    """Return the dates or times that a text may mean: ``3/4/2024`` is one of two days."""
    text = _CHINESE_TIME.sub(_in_digits, _NOON.sub("12:00 pm", text.strip()))
    clock = _TIME.fullmatch(text)
    if clock:
        hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
        if not (clock["minute"] or clock["half"]) or hour >= 24:  # noqa: PLR2004 - hours of a day
            return frozenset()
        if clock["half"]:
            return frozenset({(hour % 12 + (12 if clock["half"][0] in "pP" else 0), minute)})
        return frozenset({(hour, minute), *([((hour + 12) % 24, minute)] if hour <= 12 else [])})  # noqa: PLR2004
    if not _LIKELY.search(text):
        return frozenset()
    words = " ".join(_FILLING.sub(" ", text.casefold()).split()).replace("sept ", "sep ")
    dates = set()
    for written in _FORMATS:
        for dated in (words, f"{words} {_NO_YEAR:04}"):
            try:
                day = datetime.strptime(dated, written).replace(tzinfo=UTC)
            except ValueError:
                continue
            dates.add((day.year, day.month, day.day))
    return frozenset(dates)
