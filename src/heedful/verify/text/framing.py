"""Lines around a text that some count as part of it and others do not: a greeting, a signature.

A letter's "Dear Ann," and "Kind regards, Bob", a poem's "— Li Bai", a closing "(40 words)" or "Let
me know if you need more!". Which they are is not known for certain, so whoever counts should count
with and without them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core import scripts

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 60
"""Characters of a greeting, or of a line of a signature."""
_MOST_LINES = 6
"""Lines of a sign-off with the signature below it."""
_MOST_GREETINGS = 3
_MOST_REMARKS = 3
"""Lines that speak of the text or to its reader."""
_LONGEST_REMARK = 300
_LONGEST_OPENING = 100
FIRST_LINES = _MOST_GREETINGS + 1
LAST_LINES = _MOST_LINES + 2 * _MOST_REMARKS + 1
"""Lines at the ends of a text that say all about what frames it."""

_AROUND = " \t*_>"
_GREETING = re.compile(
    r"(?:dear|hi|hello|hey|greetings|good (?:morning|afternoon|evening|day)"
    r"|to whom it may concern|to (?:my|the|all)|sure|certainly|of course|absolutely|okay|ok|great"
    r"|here(?:'s|’s| is| are))\b.*"
    r"|(?:subject|re|from|to|cc|date)\s*:.*"
    r"|(?:主题|发件人|收件人|日期|致)\s*[:：].*|(?:尊敬的|亲爱的|敬爱的).*"
    r"|.{0,20}(?:您|你|你们|大家)好[!！,，。]?|(?:好的|当然|没问题|以下是).*",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(
    r"(?:(?:and|with|many|kind|kindest|best|warm|warmest|all|my|our|very|yours?|much|in|deepest)\s+)*"
    r"(?:regards|wishes|sincerely|truly|faithfully|respectfully|cordially|cheers|thanks|thank you"
    r"|love|best|yours?|take care|gratitude|hugs|xoxo|signed|talk soon|see you soon)"
    r"(?:\s+(?:again|so much|very much|a lot|yours|always|forever|truly|in advance|and regards))?"
    r"\s*[,.!:~—-]*"
    r"|(?:此致|敬礼|祝好|谢谢|感谢|敬上|顺祝|顺颂|祝你|祝您|祝愿|恭祝|谨上|敬启|致敬)[^。？?]{0,12}[!！。,，:：]?",
    re.IGNORECASE,
)
_ATTRIBUTION = re.compile(r"(?:—|–|―|--|-|~|～|by\s|作者|署名|出自)\s*\S.*", re.IGNORECASE)
_REMARK = re.compile(
    r"[(（\[【].*[)）\]】][.。]?|\d+ words\.?"
    r"|(?:total )?(?:word|character|sentence|line|syllable)s?(?: count| total)?\s*[:=].*"
    r"|(?:total )?(?:word|character) count\b.*|(?:全文)?(?:共|字数|总字数|总计)[^。]{0,15}"
    r"|(?:please )?(?:let me know|feel free)\b.*|(?:i )?hope (?:this|that|it|these)\b.*"
    r"|(?:would you like|do you want|want me|is there anything)\b.*"
    r"|if you(?:['’]d| would| want| need| have)\b.*|(?:note|disclaimer|p\.?\s?s\.?)\b.*"
    r"|.{0,12}(?:希望.{0,12}(?:帮助|满意|喜欢)|请(?:随时)?告诉我|需要我).*"
    r"|(?:注|备注|说明|附)[:：].*|如果[您你]?(?:还|需要|有|想).*",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:sure|certainly|of course|absolutely|okay|ok|great|got it|no problem|happy to"
    r"|i(?:['’]d| would| can)|thank(?:s| you)|here(?:['’]s| is| are))\b"
    r"|好的|当然|没问题|以下是|下面是|收到|明白",
    re.IGNORECASE,
)
_PICTURE = re.compile(f"[{scripts.PICTOGRAPHS}\u200d\ufe0f\U0001f3fb-\U0001f3ff]")


def greetings(lines: Sequence[str]) -> int:
    """Count the lines at the start that greet, or stand above a text as "Subject: …" does."""
    number = 0
    for line in lines[:-1][:_MOST_GREETINGS]:
        bare = line.strip(_AROUND)
        if len(bare) > _LONGEST or not _GREETING.fullmatch(bare):
            break
        number += 1
    return number


def is_remark(line: str) -> bool:
    """Check whether a line leads to what follows: "Here is the summary:"."""
    bare = _PICTURE.sub("", line).rstrip()
    if bare.endswith((":", "：")):
        return True
    ended = len(bare) <= _LONGEST_OPENING and bare.endswith(tuple(".!。！~～"))
    return ended and bool(_OPENING.match(bare))


def remarks(lines: Sequence[str]) -> int:
    """Count the lines at the end that speak of the text or to its reader: "(40 words)"."""
    number = 0
    for line in reversed(lines[1:][-_MOST_REMARKS:]):
        if len(line) > _LONGEST_REMARK or not _REMARK.fullmatch(line.strip(_AROUND)):
            break
        number += 1
    return number


def closings(lines: Sequence[str]) -> int:
    """Count the lines at the end that may be no part of the text."""
    last = remarks(lines)
    rest = lines[: len(lines) - last]
    signed = _signature(rest)
    above = remarks(rest[: len(rest) - signed]) if signed else 0
    return last + signed + above


def _signature(lines: Sequence[str]) -> int:
    """Count the lines of a sign-off and of what stands below it, or of an attribution."""
    number = 0
    bare = [line.strip(_AROUND) for line in lines[1:][-_MOST_LINES:]]
    for up, line in enumerate(reversed(bare), start=1):
        if len(line) > _LONGEST:
            break
        if _SIGN_OFF.fullmatch(line):
            number = up
    if number or not bare or len(bare[-1]) > _LONGEST:
        return number
    # A bullet below other bullets belongs to the list.
    above = lines[-2].strip(_AROUND)
    return int(bool(_ATTRIBUTION.fullmatch(bare[-1])) and not _ATTRIBUTION.fullmatch(above))
