"""What a solution says beside its answer: under which circumstances, for what purpose, a check.

``The maximum is 9, when x = 3.`` settles on 9, and ``40 hours to earn $600`` on 40 hours. A
circumstance is left out only where a value stands before it.
"""

from __future__ import annotations

import re

_VALUE = re.compile(r"\d|\\[a-z]|π|√")
_THOUGHT = "</think>"
_CALCULATED = re.compile(r"<<[^<>\n]{0,200}>>")
_ROOT = re.compile(r"根号(?=\s{0,3}[\d(（a-z])")
_CHECK = re.compile(
    r"""(?:^|(?<=[.!。\n$]))[\s*#_]{0,9}(?:(?:let\ (?:us|me)\ )?
    (?:check|verify|verification|verifying)
    |(?:substitut|plugg)ing\ (?:\w+\ ){0,3}back|to\ (?:check|verify)|(?:经?检验|验证|验算))
    (?![a-z])[\s\S]{0,2000}""",
    re.IGNORECASE | re.VERBOSE,
)
_CONCLUDES = re.compile(r"\b(?:so|thus|hence|therefore|answer)\b|所以|因此|答案|故", re.IGNORECASE)
_EXTREME = r"(?:max(?:imum|imal)?|min(?:imum|imal)?|largest|smallest|greatest|least|highest|lowest)"
_VERB = (
    r"(?:earn|reach|get|buy|make|pay|read|finish|complete|cover|save|raise|win|travel"
    r"|experience|fill|break)"
)
_TRAILING = (
    re.compile(
        r"""[,;]?\ (?:(?:and|which|it|this)\ ){0,2}(?:is\ )?
        (?:occurs|occurring|attained|achieved|reached|obtained|with\ equality|equality\ holds)
        \ (?:only\ )?(?:when|at|if|for|iff)\b""",
        re.VERBOSE | re.IGNORECASE,
    ),
    re.compile(r",? (?:when|where|at|for)(?: and only when)? \$?\\?\(?[a-zA-Z](?:\s?=|_)"),
    re.compile(r",\s(?:(?:who|whose|since|because)\b|which\sis\s\d[\d.]{0,9}\\?%)"),
    re.compile(rf"\sto\s{_VERB}\b"),
    re.compile(r"\s(?:for|by|among|between|from|over|in)\s(?:the\s|all\s)?\d+\s[a-z]+\W{0,3}$"),
    re.compile(r"\s(?:for|by|over)\sthe\s\d+\s"),
    re.compile(r"\sby\sthe\send\sof\b|\sfor\swhich\b"),
    re.compile(r"\sat\s\\?\$?\d[\d.]{0,9}\s?(?:each|per\b|km/h|mph|[ap]\.?m\b)"),
    re.compile(
        r"，?(?:此时|占|当且仅当|当[^，。]{1,40}时(?:取到|取得|成立|等号成立)?\W{0,3}$|才能|才可以|(?<=元)买)"
    ),
)
_EXTREMES = re.compile(rf"\b{_EXTREME}\b[^.]{{0,60}}?(?:is|of|be)\b|最[大小]值", re.IGNORECASE)
_NEEDS_EXTREME = 1
_LEADING = re.compile(
    r"(?:当且仅当|当)[^，。]{1,60}?时[，,]?|在\s?\$?[a-z]\s?=[^，。处]{1,30}处|^.{1,60}?其中(?=\d)"
)
_SUBJECT = re.compile(
    r"(?:so|thus|hence|therefore)?\W{0,6}(?P<value>\\?\$?-?\d[\d,./]{0,30}%?)\sis\s(?:the|how|what)\b",
    re.IGNORECASE,
)
_SUM = r"-?\d[\d.,/]{0,20}"
_PARALLEL = re.compile(
    rf"(?P<verb>为|是|有|行|得)\s?(?P<first>{_SUM})[^\d，。；、]{{0,6}}[，；、]\s?"
    rf"[^\d，。；]{{1,16}}?(?P=verb)\s?(?P<second>{_SUM})[^\d，。；]{{0,6}}[。.]?\W{{0,3}}$"
)
_QUESTION = re.compile(
    r"\W{0,9}(?:is|are|was|could|can|does|do|would|should)\b[^?？]{0,300}[?？]\W{0,9}$",
    re.IGNORECASE,
)
_REFUTED = re.compile(r"\b(?:absurd|contradiction)\b|矛盾", re.IGNORECASE)
_NONE = re.compile(r"\bno\b|\bexist|无", re.IGNORECASE)
_EXCLAIMED = re.compile(r"(?<=[a-z] )(?P<number>\d{2,20})!\s{0,3}$")
_CONTRAST = re.compile("[不而]")
_LEFT = re.compile(
    rf"{_SUM}[^\d，。；、]{{0,6}}[，；]\s?(?:还|则)?[剩余][下余]?\s?{_SUM}[^\d，。；]{{0,6}}[。.]?\s?$"
)


def as_concluded(text: str) -> str:
    """Leave out thoughts between tags, a calculator's annotations, and a check at the end."""
    before, tag, after = text.rpartition(_THOUGHT)
    text = after if tag and after.strip() else before + after
    text = _ROOT.sub("√", _CALCULATED.sub("", text))
    check = _CHECK.search(text)
    if check and _VALUE.search(text[: check.start()]) and not _CONCLUDES.search(check.group()):
        return text[: check.start()]
    return text


def without_circumstances(sentence: str) -> str:
    """Leave out what a sentence says after its value: when, for what, in which time.

    >>> without_circumstances("The maximum is 9, when x = 3.")
    'The maximum is 9'
    """
    sentence = _EXCLAIMED.sub(r"\g<number>", sentence)
    subject = _SUBJECT.match(sentence)
    if subject:
        return subject["value"]
    rest = _LEADING.sub("", sentence)
    sentence = rest if _VALUE.search(rest) else sentence
    extreme = _EXTREMES.search(sentence)
    for place, pattern in enumerate(_TRAILING):
        found = pattern.search(sentence)
        if found is None or not _VALUE.search(sentence[: found.start()]):
            continue
        if place != _NEEDS_EXTREME or extreme:
            sentence = sentence[: found.start()]
    return sentence


def is_no_claim(sentence: str) -> bool:
    """Check for a question, and for what a sentence leads to absurdity."""
    refuted = _REFUTED.search(sentence) and not _NONE.search(sentence)
    return bool(_QUESTION.match(sentence) or refuted)


def both_values(sentence: str) -> str | None:
    """Return the two values that a sentence gives side by side, each of its own thing."""
    left = _LEFT.search(sentence)
    if left:
        return left.group().strip(" 。.")
    parallel = _PARALLEL.search(sentence)
    if parallel is None or _CONTRAST.search(parallel.group()):
        return None
    return f"{parallel['first']}, {parallel['second']}"
