"""Responses without substance: fillers, hulls of JSON or code, strings without words, echoes.

Each function looks at a text in normal form and at what its instruction asks for, and says what it
found; ``None`` where it didn't plainly find anything.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.rewards.gate_patterns import patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILLER_UP_TO = 300
"""Characters of a filler: a longer text says something."""

_PLACEHOLDERS = re.compile(r"[\[<({【][^\]>)}】\n\d,:\"]{0,80}[\]>)}】]")
_SENTENCE_END = re.compile(r"[.!?。！？:：¡\n]+")
_POLITE = re.compile(r"hello|hi|hey|dear \w+|thank you|thanks", re.IGNORECASE)
"""Words that come with fillers, and may be an answer by themselves."""

_TALK = re.compile(
    r"\bquestion|\bask|interview|survey|\bhelp|\bhi\b|\bhello\b|\bthank|\berror|帮|你好|谢",
    re.IGNORECASE,
)


def filler(text: str, last_turn: str) -> str | None:
    """Find a text that only announces an answer, in any of ten languages."""
    if len(text) > FILLER_UP_TO:
        return None
    sentences = [part.strip(" \t¡¿*") for part in _SENTENCE_END.split(_PLACEHOLDERS.sub("", text))]
    said = [
        sentence
        for sentence in sentences
        if any(map(str.isalnum, sentence)) and not _POLITE.fullmatch(sentence)
    ]
    if not said or not all(map(_fillers().fullmatch, said)) or _TALK.search(last_turn):
        return None
    return f"it only says {text.strip()[:40]!r}"


@cache
def _fillers() -> re.Pattern[str]:
    """Join the expressions of ``filler.txt``: one search is several times as fast as twenty."""
    joined = "|".join(pattern.pattern for _, pattern in patterns("filler"))
    return re.compile(joined, re.IGNORECASE)


HULL_UP_TO = 2000
"""Characters of JSON that is parsed."""

_FENCES = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_WANTS_JSON = re.compile(
    r"json|\blists?\b|\barray|extract|\bfind\b|identif|schema|template|\bkeys?\b|\bfields?\b"
    r"|object|\bdict|\byaml|\btools?\b|function|\bcall\b|\bapi\b|\bempty\b"
    r"|列表|提取|键|字段|空|模板|工具|函数",
    re.IGNORECASE,
)
_TOOL = frozenset({"arguments", "parameters", "tool_calls", "function_call"})


def unasked_json(text: str, instruction: str) -> Any:
    """Parse a text that is JSON, which its instruction doesn't ask for; else ``None``."""
    body = _FENCES.sub("", text).strip()
    if body[:1] not in ("{", "[") or len(body) > HULL_UP_TO or _WANTS_JSON.search(instruction):
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def leaves(data: Any) -> Iterator[Any]:
    """Yield what JSON holds that is neither an object nor an array."""
    if isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from leaves(value)
    else:
        yield data


def is_blank(value: Any) -> bool:
    """Tell whether a value of JSON is null or blank."""
    return value is None or (isinstance(value, str) and not value.strip())


def hull(text: str, instruction: str) -> str | None:
    """Find JSON without a value, a tool call, or code of comments alone, that nobody asked for."""
    data = unasked_json(text, instruction)
    if data is not None:
        if isinstance(data, dict) and _TOOL & data.keys():
            return "it only calls a tool"
        return "it is JSON without a value" if all(map(is_blank, leaves(data))) else None
    body = _FENCES.sub("", text).strip()
    if body == text.strip() or re.search(
        r"comment|stub|skeleton|placeholder|template|注释|模板", instruction, re.IGNORECASE
    ):
        return None
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    outside = re.split(_FENCES, text)[::2]
    if lines and not any(map(str.strip, outside)) and all(map(_NO_CODE.match, lines)):
        return "its code has only comments"
    return None


_NO_CODE = re.compile(r"(?:#|//|--|/\*|\*|<!--|pass$|\.\.\.$|\{\}$)")


ENCODED_FROM = 40
"""Characters from which on one string of letters and digits isn't a word."""

_ENCODED = re.compile(rf"[\w+/=-]{{{ENCODED_FROM},}}", re.ASCII)
_WANTS_STRING = re.compile(
    r"encod|base.?64|encrypt|cipher|\bhash|digest|token|\bkeys?\b|password|string|\burl|sequence"
    r"|\bcode\b|\bhex|\bdna\b|binary|编码|加密|哈希|密|字符串|序列",
    re.IGNORECASE,
)


def encoded(text: str, instruction: str) -> str | None:
    """Find a response that is one string of letters and digits, such as base64."""
    whole = "".join(text.split())
    if not _ENCODED.fullmatch(whole) or 10 * len(text.split()) > len(whole):
        return None
    mixed = any(map(str.isdigit, whole)) and any(map(str.isalpha, whole))
    return None if not mixed or _WANTS_STRING.search(instruction) else "it is an encoded string"


_DUMMY = re.compile(r"\blorem ipsum dolor\b", re.IGNORECASE)
_WANTS_DUMMY = re.compile(r"lorem|placeholder|dummy|filler|template|mock|html", re.IGNORECASE)


def dummy(text: str, instruction: str) -> str | None:
    """Find the printers' dummy text."""
    found = _DUMMY.search(text) and not _WANTS_DUMMY.search(instruction)
    return "it is dummy text" if found else None


SPELLED_FROM = 10
_SPELLS = re.compile(r"spell|\bletters\b|alphabet|spaced|acronym|\bcode|字母", re.IGNORECASE)


def spelled(text: str, instruction: str) -> str | None:
    """Find letters that stand alone, such as the alphabet, and words that only count."""
    words = re.findall(r"[^\W_]+", text.casefold())
    if len(words) < SPELLED_FROM or _SPELLS.search(instruction):
        return None
    if sum(len(word) == 1 and "a" <= word <= "z" for word in words) >= LISTED * len(words):
        return "its letters stand alone"
    counted = Counter(word.rstrip("0123456789") for word in words if word[-1].isdigit())
    return (
        "its words only count"
        if max(counted.values(), default=0) >= LISTED * len(words) and "" not in counted
        else None
    )


LISTED_FROM = 25
LISTED = 0.7
"""A text of this many words, of which this share stands alone between commas, is a list."""

_WANTS_LIST = re.compile(
    r"\blists?\b|\bwords\b|synonym|adjective|keyword|\btags?\b|ingredient|\bnames?\b|vocabular"
    r"|\bterms?\b|comma|separated|列|词|逗号",
    re.IGNORECASE,
)


def word_list(text: str, last_turn: str) -> str | None:
    """Find a list of single words where a text was asked for."""
    words = text.count(" ") + 1
    parts = text.split(",")
    if words < LISTED_FROM or len(parts) < LISTED * words or _WANTS_LIST.search(last_turn):
        return None
    alone = sum(" " not in part.strip() for part in parts)
    return "it is a list of words" if alone >= LISTED * words else None


_LEAD_IN = re.compile(
    r"\W*(?:(?:as (?:you )?(?:requested|asked)|sure|certainly|of course|okay|ok|here (?:is|you go)"
    r"|i(?: wi|['’])ll(?: now)?|i am going to|let me|my task is to|as asked"
    r"|q|question|task|user|human|prompt|instructions?|好的|我会|我将)\b\W*){1,3}",
    re.IGNORECASE,
)


def without_lead_in(text: str) -> str:
    """Drop the words that introduce a copy of an instruction."""
    match = _LEAD_IN.match(text)
    return text if match is None else text[match.end() :]


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")


_TICK = re.compile(
    r"✓|✔|✅|☑|\[x\]|[:=(–—-] ?(?:done|yes|true|met|ok)\W*$", re.IGNORECASE | re.MULTILINE
)
_LETTERS = re.compile(r"[^\W\d_]+")


def ticks(text: str, checklist: Sequence[str]) -> str | None:
    """Find a checklist ticked off: items with a tick whose words all stand in the checklist."""
    if len(checklist) < 2 or not _TICK.search(text):  # noqa: PLR2004 - a list
        return None
    known = {_stem(word) for each in checklist for word in _LETTERS.findall(each)}
    ticked = []
    for part in re.split(r"[\n;,|•]", text):
        if _TICK.search(part) and len(part) <= FILLER_UP_TO:
            words = [_stem(word) for word in _LETTERS.findall(_TICK.sub(" ", part))]
            if words and known.issuperset(words):
                ticked.append(part.strip())
    return f"it ticks off the checklist: {ticked[0][:40]!r}" if len(ticked) > 1 else None


RESTATED = 0.75
"""A text restates its instruction if this share of its words of content stands there."""

RESTATED_UP_TO = 60
"""Words of an instruction without material to work on, and of a response that restates it; twenty
characters a word are looked at."""

_LISTED = (
    "the of and to in is that it for with as was on are be this by from or an at which a i my me "
    "you your we our ha had have do doe not no so if then there here can will would should please "
    "dear following now all about also very just keep kept mention write written been its they "
    "these those"
)
_GLUE = frozenset(map(_stem, _LISTED.split()))
"""Words that say nothing by themselves, as :func:`_stem` leaves them."""


_MAY_RESTATE = re.compile(
    r"prompt|\bgiven\b|combin|merg|\bjoin|rewrit|rephras|paraphras|reword|correct|edit|improv|better|shorten|summar|改写|润色|总结",
    re.IGNORECASE,
)


def restated(text: str, asked: str, checklist: Sequence[str]) -> str | None:
    """Find a text whose words of content mostly stand in its instruction or its checklist."""
    words = _LETTERS.findall(text[: RESTATED_UP_TO * 20])
    content, given = _content(words), _content(_LETTERS.findall(" ".join((asked, *checklist))))
    if not content or len(words) > RESTATED_UP_TO or len(content & given) < RESTATED * len(content):
        return None
    if len(_LETTERS.findall(asked)) > RESTATED_UP_TO or _MAY_RESTATE.search(asked):
        return None
    return "it only restates what was asked"


OFF_TOPIC_FROM = 4
"""Words of content, of a text and of its instruction, of which one should be the same."""

_MAY_LEAVE_THE_TOPIC = re.compile(
    r"riddle|poe[mt]|\brap|song|joke|lyric|verse|limerick|\bads?\b|advert|\bstory|\btale\b|fiction"
    r"|describing|creative|language|translat|\bscript|dialog|conversation|introduc",
    re.IGNORECASE,
)


def off_topic(text: str, asked: str, checklist: Sequence[str]) -> str | None:
    """Find a text that shares no word of content with its instruction or its checklist."""
    if not text.isascii() or not asked.isascii() or _MAY_LEAVE_THE_TOPIC.search(asked):
        return None
    content = _content(_LETTERS.findall(text))
    given = _content(_LETTERS.findall(" ".join((asked, *checklist))))
    if len(content) < OFF_TOPIC_FROM or len(given) < OFF_TOPIC_FROM or content & given:
        return None
    return "it has no word of what was asked"


_BEGINNING = 4
"""Letters by which words are the same: apology and apologises."""


def _content(words: Sequence[str]) -> set[str]:
    """Return the beginnings of the words that say something."""
    stems = (_stem(word) for word in words if len(word) > 1)
    return {stem[:_BEGINNING] for stem in stems if stem not in _GLUE}


def backwards(words: Sequence[str], asked: Sequence[str]) -> bool:
    """Tell whether words are those of an instruction from its end, or its letters are."""
    if len(asked) < 5 or len(words) < len(asked):  # noqa: PLR2004 - a few words may be chance
        return False
    letters, wanted = "".join(words), "".join(asked)
    return wanted[::-1] in letters or " ".join(reversed(asked)) in " ".join(words)
