"""Readers of the grammar's slots: numbers, ordinals, quoted phrases, words without quotes, names.

Each takes the text in matching form, the text as written (sign by sign the same) and a position,
and gives the ends and values of what it reads there.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any, NamedTuple

from heedful.core import scripts
from heedful.verify.compiler.numerals import number_at

_Phrases = list[tuple[int, tuple[str, ...]]]
Reader = Callable[[str, str, int], list[tuple[int, Any]]]
"""(text in matching form, text as written, position) to pairs of an end and a value."""


class Slot(NamedTuple):
    """Reader of values that no list of words can hold, such as numbers."""

    read: Reader
    starts: frozenset[str] | None = None
    """The signs, in matching form, that it can start with; ``None``: any."""


_LONGEST_PHRASE = 200

_QUOTES = {
    "“": '”“"', "”": '“”"', '"': '"”“', "「": "」", "『": "』", "‘": "’", "'": "'’", "`": "`",
}  # fmt: skip
# A name to be filled in, an ellipsis, a pattern: what is quoted so is not meant word for word.
_PLACEHOLDER = re.compile(
    r"[xX]{2,}|(?<![A-Za-z])[XNn](?![A-Za-z])|…|\.{3}|_{2,}|[（(][^（(\n]*[）)]|[\[\]{}<>【】]|某|○{2}|\*{2,}|/|\|"
)
_LIST = re.compile("[、；;]")
"""In a quoted phrase: it lists what is asked for, in words that need not be these."""
_AND = re.compile(
    r"(?<!\s)\s*(?:(?:、|,|，)\s*(?:and\s+|以及|和|与|及)?|and\s+|&\s*|和|与|以及|及|;\s*)\s*|"
)
_OR = re.compile(r"(?<!\s)\s*(?:(?:、|,|，|/)\s*(?:or\s+|或者|或)?|or\s+|或者|或是|或)\s*")


def number(form: str, written: str, at: int) -> list[tuple[int, int]]:
    """Read a number in digits or words."""
    del written
    number = number_at(form, at)
    return [] if number is None else [(number[1], number[0])]


def _quotation(written: str, at: int) -> tuple[int, str] | None:
    """Read a phrase in quotes; marks of emphasis may stand around it."""
    opening = written[at : at + 1]
    closers = _QUOTES.get(opening, "")
    if not closers or (opening == "'" and at and written[at - 1].isalnum()):
        return None
    for end in range(at + 1, min(len(written), at + 2 + _LONGEST_PHRASE)):
        if written[end] in closers:
            after = written[end + 1 : end + 2]
            if written[end] in "'’" and after.isalnum() and not scripts.HAN_CHARACTER.match(after):
                continue  # an apostrophe
            phrase = written[at + 1 : end]
            return (end + 1, phrase) if phrase.strip() else None
    return None


def quoted(form: str, written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    """Read one quoted phrase that is meant word for word."""
    del form
    quotation = _quotation(written, at)
    if quotation is None or _PLACEHOLDER.search(quotation[1]):
        return []
    return [(quotation[0], (quotation[1].strip(),))]


def _series(separator: re.Pattern[str], written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    phrases: list[str] = []
    while (quotation := _quotation(written, at)) is not None:
        if _PLACEHOLDER.search(quotation[1]):
            return []
        phrases.append(quotation[1].strip())
        end = quotation[0]
        gap = separator.match(written, end)
        if gap is None or _quotation(written, gap.end()) is None:
            return [(end, tuple(phrases))]
        at = gap.end()
    return []


def phrases(form: str, written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    """Read quoted phrases that are all meant: “a”、“b”和“c”, ["a", "b"], ""a", "b""."""
    del form
    closing = {"[": "]", '"': '"' * (written[at + 1 : at + 2] == '"')}.get(written[at : at + 1], "")
    return [
        (end + len(closing), values)
        for end, values in _series(_AND, written, at + len(closing))
        if not any(map(_LIST.search, values)) and written.startswith(closing, end)
    ]


def choices(form: str, written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    """Read at least two quoted phrases of which one is meant: "a" or "b"."""
    del form
    series = _series(_OR, written, at)
    # A series without any "or" is one of which all are meant.
    return [
        (end, values)
        for end, values in series
        if len(values) > 1 and re.search(r"[\"”’'」』]\s*,?\s*(?:or\s|或)", written[at:end])
    ]


# --- words without quotes -------------------------------------------------------------------------

_WORD = re.compile(
    r"(?!(?:counts?|limits?|length|order|choices?|lists?|bank|usage|above|below|given|provided|following"
    r"|processor|cloud|that|which|who|is|are|must|should|appears?|and|or|not|in|of|for|to|the|an?)"
    r"(?![\w'-]))[A-Za-z][A-Za-z'-]+(?![\w'-])",
    re.IGNORECASE,
)
"""One word, as in "the word ocean"; "the word count" names none."""
_TOPIC = re.compile(
    rf"(?![{scripts.HAN}]*(?:[的了吗呢和与或及等其几些每该这那哪何]|任何|自己|以[下上]|相关|关于|所有|至少|原因"
    "|[优缺]点|例子|方法|名[字称]|姓名|人|次|遍|内容|具体|[除若视]|如果|最好|更好|为宜|左右|情况|例外|尽量))"
    rf"[{scripts.HAN}]{{2,6}}(?=$|[\s，。；！,.;!])|[A-Z][A-Za-z]*(?:\+\+|#|\.js)(?![\w+#])"
    r"|(?!(?i:it|them|him|her|me|us|you|any(?:thing|one)?|some(?:thing|one)|every(?:thing|one)?|all|both"
    r"|either|neither|no(?:ne|thing)|yourself|itself|this|why|how|when|where|what|whether|if|each"
    r"|several|many|few|more|one|two|three|at|least|name|evidence|data)(?![\w'-]))"
    rf"(?:[A-Z][A-Za-z'-]+|(?![a-z'-]*s(?![\w'-])){_WORD.pattern})(?![\w'-])"
)
"""A topic, one word without quotes: "melatonin", 断桥."""
_ZH_TERM = re.compile(
    r"(?![^、]{0,60}(?:等|之类|etc|并|且|必须|需|要|应|不|其|各|都|每|出现|加粗|次|个|以及|和|与|或"
    r"|除|如果|若|最好|更好|为宜|左右|情况|的话))[^\s、，,。.；;：:！!？?（）()\"“”'‘’「」/<>\[\]【】…]{1,12}"
)
_TERM = re.compile(
    r"(?!(?:etc|such|so on|like|please|ideally|if|and|or)\b)[A-Za-z][A-Za-z'-]{1,20}"
    r"(?: (?!(?:and|or|please|if|etc)\b)[A-Za-z][A-Za-z'-]{1,20})?(?![\w'-])"
)
_NAME = re.compile(
    r"[A-Z](?:[A-Za-z'-]+|[A-Za-z0-9]*(?:\+\+|#)|[A-Za-z]+\.js)(?: [A-Z][A-Za-z'-]+){0,2}"
)
_LETTER = re.compile(
    rf"[\"'“‘]([A-Za-z])[\"'”’](?![^\W{scripts.HAN}])|([A-Za-z])(?![^\W{scripts.HAN}])"
)
_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_AND_GAP = re.compile(r",\s*(?:and\s+)?|(?<!\s)\s+and\s+")
_OR_GAP = re.compile(r",\s*(?:or\s+)?|(?<!\s)\s+or\s+")
_ZH_GAP = re.compile(r"(?<!\s)\s*、\s*")
_KEY_GAP = re.compile(r"(?<!\s)\s*(?:(?:、|,|，)\s*(?:and\s)?|和|与|以及|\sand\s)\s*")
_LETTER_GAP = re.compile(
    r"(?<!\s)\s*(?:(?:,|、|/|，)\s*(?:and\s+|or\s+)?|(?<=\s)(?:and|or)\s+|[和或与]\s*)"
)


def _listed(
    piece: re.Pattern[str], gap: re.Pattern[str], least: int = 1, *, at_end: bool = False
) -> Reader:
    """Make the reader of what is listed without quotes, at the end of the text or anywhere."""

    def read(form: str, written: str, at: int) -> _Phrases:
        del form
        pieces: list[str] = []
        end = at
        while match := piece.match(written, at):
            pieces.append(match[match.lastindex or 0])
            end = match.end()
            if not (separator := gap.match(written, end)):
                break
            at = separator.end()
        ends = not written[end:].strip(" 。.；;")
        good = len(pieces) >= least and (ends or not at_end)
        return [(len(written.rstrip(" 。.；;")) if at_end else end, tuple(pieces))] if good else []

    return read


def _joined(gap: re.Pattern[str], last: str) -> Reader:
    """Make the reader of words that "and" or "or" joins: "the words rain, sea and wind"."""
    listed = _listed(_WORD, gap, 2)

    def read(form: str, written: str, at: int) -> _Phrases:
        return [
            (end, words)
            for end, words in listed(form, written, at)
            if last in form[at:end].split() or (len(words) > 2 and not form[end:].strip(" ."))  # noqa: PLR2004 - a, b, c
        ]

    return read


_SIGN = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff][\ufe0f\u200d\U0001f300-\U0001faff]*")
"""One emoji or symbol."""
_ONE_NAME = re.compile(r"[A-Z][A-Za-z'-]+(?: [A-Z][A-Za-z'-]+)?(?![\w'-])")


def _matched(pattern: re.Pattern[str]) -> Reader:
    """Make the reader of what a pattern, or its one group, matches, word for word."""

    def read(form: str, written: str, at: int) -> _Phrases:
        del form
        match = pattern.match(written, at)
        return [(match.end(), (match[match.lastindex or 0],))] if match else []

    return read


_ENGLISH_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"


def ordinal(form: str, written: str, at: int) -> list[tuple[int, int]]:
    """Read an ordinal: ``first``, ``3rd``, ``第三``, ``last``, ``倒数第二``, ``最后一``."""
    del written
    if form.startswith("倒数第", at):
        number = number_at(form, at + 3)
        return [(number[1], -number[0])] if number and number[0] else []
    if form.startswith("第", at):
        number = number_at(form, at + 1)
        return [(number[1], number[0])] if number and number[0] else []
    for name, value in (
        ("最后一", -1),
        ("最后", -1),
        ("最末", -1),
        ("首", 1),
        ("末", -1),
        ("尾", -1),
    ):
        if form.startswith(name, at):
            return [(at + len(name), value)]
    match = re.match(r"(?:(\d+)-?(?:st|nd|rd|th)|([a-z]+))(?![a-z0-9])", form[at:])
    if match is None:
        return []
    if match[1]:
        return [(at + match.end(), int(match[1]))] if int(match[1]) else []
    names = {name: place for place, name in enumerate(_ENGLISH_ORDINALS.split(), start=1)}
    names |= {"last": -1, "final": -1, "opening": 1, "closing": -1}
    return [(at + match.end(), names[match[2]])] if match[2] in names else []


def keys(form: str, written: str, at: int) -> _Phrases:
    """Read the names of JSON keys: quoted, or bare names of Latin letters, listed."""
    return _series(_AND, written, at) or _listed(_KEY, _KEY_GAP)(form, written, at)


def terms(form: str, written: str, at: int) -> _Phrases:
    """Read unquoted words that end the text: ``拥抱、理解、真实`` or ``apple, pear and plum``."""
    if scripts.HAN_CHARACTER.search(written, at):
        return _listed(_ZH_TERM, _ZH_GAP, at_end=True)(form, written, at)
    # "sun, sea, rain twice": only the last has a second word, which may be no part of it.
    return [
        (end, words)
        for end, words in _listed(_TERM, _AND_GAP, at_end=True)(form, written, at)
        if " " not in words[-1] or any(" " in word for word in words[:-1])
    ]


_PAIRS = (
    *(("<<", ">>"), ("**", "**"), ("[[", "]]"), ("【", "】"), ("《", "》"), ("〖", "〗")),
    *(("「", "」"), ("『", "』")),
)
_PAIR = re.compile(
    "|".join(rf"{re.escape(a)}[^<>【】《》「」*\n]{{0,40}}{re.escape(b)}" for a, b in _PAIRS)
)


_NAMES_ITS_PLACE = re.compile(
    "(?:文章|诗歌|作品|故事|你的)?(?:标题|题目|书名|诗名|名称|内容|答案|名字)"
)


def pair(form: str, written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    """Read a pair of marks, maybe in quotes or around an example: ``【】``, ``<<my title>>``."""
    del form
    quote = written[at : at + 1] if written[at : at + 1] in _QUOTE - {"「", "『"} else ""
    match = _PAIR.match(written, at + len(quote))
    if match is None:
        return []
    marks = next(each for each in _PAIRS if match[0].startswith(each[0]))
    inside = match[0][len(marks[0]) : -len(marks[1])].strip()
    if re.search(f"[{scripts.HAN}]", inside) and not _NAMES_ITS_PLACE.fullmatch(inside):
        return []  # "《春》" is a title, and no example of marks
    end = match.end()
    if quote:
        if written[end : end + 1] not in _QUOTES[quote] or not written[end : end + 1]:
            return []
        end += 1
    return [(end, marks)]


_ELEMENT = re.compile(r"<(\w+)>(?:\s*(?:(?:and|…|\.\.\.)\s*)?</\1>)?")


def element(form: str, written: str, at: int) -> _Phrases:
    """Read the name of a pair of tags: ``<answer>``, ``<answer></answer>``."""
    del form
    match = _ELEMENT.match(written, at)
    return [(match.end(), (f"<{match[1]}>", f"</{match[1]}>"))] if match else []


_FOREIGN = re.compile(
    rf"(?!(?:emoji|hashtag|markdown|json|html)s?)(?:[^\W\d_{scripts.HAN}][\u0300-\u036f\u064b-\u0652]*){{2,30}}",
    re.IGNORECASE,
)
"""A word of another script, which needs no quotation marks in a Chinese text."""
_NOT_OF_A_PART = (
    "[不没未无非别勿莫禁偶谁若]|可以|可能|允许|尽[量可]|最好|有时|时候|情况|如果|假如|要是|或许|也许"
    "|通常|一般|原则|[很极]少|只[有要]|万一|凡是|宁可|什么|难道|几乎|基本|必要"
)
"""A negation, a hedge or a condition, which names no part of a response."""
_KEYWORD_ZH = re.compile(
    rf"(?![{scripts.HAN}]*(?:[词语句字号法段图表]是否|修辞|比喻|拟人|排比|夸张|对[偶仗比]|数字|标题|颜色|人称|拼音))"
    rf"[{scripts.HAN}]{{1,6}}?(?=是否(?:出现\d{{2,}}|不出现超过)[次\d])"
)
"""A word that is to occur so often that no kind of thing can be meant: 成长是否出现30次."""
_SQUARE = re.compile(r"\[[^\[\]\n]{1,40}\](?:(?:, (?:and |or )?| and | or )\[[^\[\]\n]{1,40}\])*")
"""Examples of placeholders: [price], [address]."""
_GLOSS = re.compile(r"[（(][^（()）\n]{1,40}[）)]")
"""What the thing before it is called in another language."""
_NOT_LISTED = """words characters letters sentences paragraphs lines sections headings headers
subheadings tables links urls hashtags emojis questions bullets items points stanzas verses levels
columns rows blocks parts pages chapters times placeholders commas citations sources references
quotes quotations digits numbers marks minutes hours days steps syllables versions responses answers
texts lists this is as does has"""
_THINGS = re.compile(
    r"(?:(?!(?:and|or|with|of|in|to|for|per|each|every|that|which|the|an?|more|less|main)\b)"
    r"[a-z][a-z'-]+ ){0,2}"
    rf"(?!(?:{'|'.join(_NOT_LISTED.split())})(?![\w'-]))[a-z'-]+s(?=\s*(?:$|[.,;]))",
    re.IGNORECASE,
)
"""What there are several of, named by a plural: "movies", "short titles"."""
_THINGS_ZH = re.compile(
    rf"(?![{scripts.HAN}]*(?:{_NOT_OF_A_PART}|[以及和或与的用给并且都每按把将由让含带长短男女段]|作为|对话|表情|符号|数字|方面|角度|版本"
    rf"|回[答复]|文档|修辞|比喻|(?:句子?|(?<!名)字|行|小标题|[图表]格?|链接|标签|部分|章|节)(?![{scripts.HAN}])))"
    rf"[{scripts.HAN}]{{1,8}}?(?=数量|总数|个数|$|[，。；,.;])"
)
_RESTRICTING = r"""\d|["“”「」『』《》【】\[\](){}]|(?<!\w)['‘]
    |\b(?:except|unless|only|if|when|but|not|no|nor|without|instead|rather|other\ than|must|should
    |least|most|exactly|than|limit\w*|maximum|minimum|avoid\w*|excluding|apart|besides|where\w*
    |possible|optional\w*|ideally|preferably|sometimes|or\ so|outside)\b
    |(?:,|;|\band)\s+(?:then\s+|please\s+)?(?:use|include|write|add|keep|start|begin|end|conclude
    |mention|respond|answer|put|provide|present|give|format|place|do|make|ensure|with|using|containing
    |also)\b
    |除|只|仅|不|如果|若|每|至少|最多|超过|必须|[一二三四五六七八九十两]"""
"""What makes a tail more than a purpose: an exception, a bound, another requirement."""
_COUNTABLE = r"""
    |\b(?:each|every|any|two|three|four|five|six|seven|eight|nine|ten|bullets?|headings?|tables?
    |emojis?|lists?|hashtags?|links?|titles?|json|bold|italics?|paragraphs?|sentences|words
    |introductions?|conclusions?|summar(?:y|ies)|sections?|parts?|captions?|abstracts?|examples?
    |steps?)\b"""
"""What a purpose may be of, but not the thing that a requirement speaks of."""
_PAUSE = re.compile(r"[,.;，。；]|$")


def _up_to_pause(refused: str) -> Reader:
    """Make the reader of words up to a pause that say nothing of what is refused."""
    pattern = re.compile(refused, re.VERBOSE)

    def read(form: str, written: str, at: int) -> list[tuple[int, Any]]:
        del written
        ends = [pause.start() for pause in _PAUSE.finditer(form, at)]
        good = [end for end in ends if form[at:end].strip() and not pattern.search(form, at, end)]
        return [(end, None) for end in good]

    return read


_EXAMPLES = re.compile(
    r"(?!.*\b(?:not|no|never|must|should|exactly|only|except|at least|at most|also|ensure|each)\b)"
    r"[^.;\n]+"
)


def examples(form: str, written: str, at: int) -> list[tuple[int, None]]:
    """Read examples that end the text: ``'Overview', 'Details'``."""
    del written
    match = _EXAMPLES.match(form, at)
    return [(match.end(), None)] if match else []


_MATTER_WORD = re.compile(r"[a-z][a-z'-]*")
_NO_MATTER = """sentence sentences paragraph paragraphs line lines bullet bullets item items point
points word words letter letters heading headings header section stanza verse title table tables row
column response responses reply output text content answer answers it them this that each every all
any must should shall will is are be has have not no never only can may does do contain contains
include includes exceed first second third last final word's total number length maximum minimum
limit same following list and or"""
_LONGEST_MATTER = 5


def matter(form: str, written: str, at: int) -> list[tuple[int, None]]:
    """Read the name of a thing that only a reader finds, by each of its ends: ``book review``."""
    del written
    ends: list[int] = []
    while len(ends) < _LONGEST_MATTER and (match := _MATTER_WORD.match(form, at)):
        if match[0] in _NO_MATTER.split():
            break
        ends.append(match.end())
        at = match.end() + (form[match.end() : match.end() + 1] == " ")
    return [(end, None) for end in ends]


_INSIDE_ZH = (
    rf"(?![第除全每各以引标次用使写给请加含包将把让]|汉字|字[数符]|列[出举])(?:(?!{_NOT_OF_A_PART})[{scripts.HAN}]){{2,8}}?"
    "(?=[的都不要应需中（(]|是否|必须|字数|词数|长度"
)
_BRACKETED = re.compile("【([^【】\n]{1,20})】")
_FIGURE = re.compile(r"[$€£¥]?\d(?:[\d,./:-]*\d)?%?")
_WEB_ADDRESS = re.compile(r"https?://[^\s，。,]+[^\s，。,.;]")
_SALUTATION = re.compile(
    r"(?:Dear [A-Z][\w.-]*(?: [A-Z][\w-]*){0,2}|Hello|Hi|Greetings|(?:Best|Kind|Warm) regards"
    r"|Sincerely|Yours (?:sincerely|truly|faithfully)|Cheers|Thank you|Thanks)(?=$|[.;])"
)

_POSTSCRIPT = re.compile(r"([\"'“]?)(p\.?\s?)?p\.?\s?s\b\.?([\"'”]?)")


def marker(form: str, written: str, at: int) -> list[tuple[int, str]]:
    """Read the marker of a postscript: ``P.S.``, ``"P.P.S"``."""
    del written
    match = _POSTSCRIPT.match(form, at)
    return [(match.end(), "P.P.S" if match[2] else "P.S")] if match else []


_QUOTE = frozenset(_QUOTES)
_LETTERS = frozenset(string.ascii_lowercase)

SLOTS: dict[str, Slot] = {
    "number": Slot(number, frozenset("0123456789零〇一二两三四五六七八九十百千万zotfsenha")),
    "ordinal": Slot(ordinal, frozenset("0123456789第倒最首末尾") | _LETTERS),
    "quoted": Slot(quoted, _QUOTE),
    "phrases": Slot(phrases, _QUOTE | {"["}),
    "choices": Slot(choices, _QUOTE),
    "terms": Slot(terms),
    "sign": Slot(_matched(_SIGN)),
    "tag": Slot(_matched(re.compile(r"[#@][A-Za-z]\w*")), frozenset("#@")),
    "name": Slot(_matched(_ONE_NAME), _LETTERS),
    "letters": Slot(_listed(_LETTER, _LETTER_GAP), _QUOTE | _LETTERS),
    "word": Slot(_matched(_WORD), _LETTERS),
    "topic": Slot(_matched(_TOPIC)),
    "reason": Slot(_up_to_pause(_RESTRICTING + _COUNTABLE)),
    "target": Slot(_up_to_pause(_RESTRICTING)),
    "examples_of": Slot(examples),
    "matter": Slot(matter, _LETTERS),
    "inside_zh": Slot(_matched(re.compile(f"{_INSIDE_ZH})"))),
    "part_of_zh": Slot(_matched(re.compile(f"{_INSIDE_ZH}|控制|限制|最多|至少)"))),
    "bracketed": Slot(_matched(_BRACKETED), frozenset("【")),
    "figure": Slot(_matched(_FIGURE)),
    "address": Slot(_matched(_WEB_ADDRESS), frozenset("h")),
    "salutation": Slot(_matched(_SALUTATION), frozenset("dhgbkwsyct")),
    "foreign": Slot(_matched(_FOREIGN)),
    "keyword_zh": Slot(_matched(_KEYWORD_ZH)),
    "gloss": Slot(_matched(_GLOSS)),
    "square": Slot(_matched(_SQUARE), frozenset("[")),
    "things_of_a_kind": Slot(_matched(_THINGS), _LETTERS),
    "things_of_a_kind_zh": Slot(_matched(_THINGS_ZH)),
    "wordlist": Slot(_joined(_AND_GAP, "and"), _LETTERS),
    "columns": Slot(_listed(_NAME, _AND_GAP, 2, at_end=True), _LETTERS),
    "wordchoices": Slot(_joined(_OR_GAP, "or"), _LETTERS),
    "pair": Slot(pair, _QUOTE | frozenset("<*【《「『〖[")),
    "element": Slot(element, frozenset("<")),
    "marker": Slot(marker, _QUOTE | {"p"}),
    "keys": Slot(keys, _QUOTE | _LETTERS | {"_"}),
}
"""By the names that the grammar gives them."""
