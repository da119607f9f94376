"""Readers of what stands without quotes: words, names, letters, affixes, date forms."""

from __future__ import annotations

import re

from heedful.core import scripts

_Phrases = list[tuple[int, tuple[str, ...]]]

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+(?![\w'-])")
_OF_OTHER_WORDS = """count counts limit limits length order choice choices list lists bank usage
above below given provided following
processor cloud that which who is are must should appear appears and or not in of for to the a an"""


def word(form: str, written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    """Read one word without quotes, as in ``the word ocean``; ``the word count`` names none."""
    match = _WORD.match(written, at)
    if match is None or form[at : match.end()] in _OF_OTHER_WORDS.split():
        return []
    return [(match.end(), (match[0],))]


def _words_joined(gap: re.Pattern[str], last: str, form: str, written: str, at: int) -> _Phrases:
    """Read at least two bare words, the last one after ``and`` or ``or``."""
    words: list[str] = []
    joined = False
    while readings := word(form, written, at):
        end, value = readings[0]
        words += value
        separator = gap.match(form, end)
        if joined or separator is None:
            return [(end, tuple(words))] if joined and len(words) > 1 else []
        joined = last in separator[0]
        at = separator.end()
    return []


_AND_GAP = re.compile(r",\s*(?:and\s+)?|\s+and\s+")
_OR_GAP = re.compile(r",\s*(?:or\s+)?|\s+or\s+")
_ANY_GAP = re.compile(r",\s*(?:(?:and|or)\s+)?|\s+(?:and|or)\s+")


def word_list(form: str, written: str, at: int) -> _Phrases:
    """Read bare words that are all meant, as in ``the words ocean, sea and wind``."""
    return _words_joined(_AND_GAP, "and", form, written, at)


def word_choices(form: str, written: str, at: int) -> _Phrases:
    """Read bare words of which one is meant, as in ``the words ocean or sea``."""
    return _words_joined(_OR_GAP, "or", form, written, at)


def word_series(form: str, written: str, at: int) -> _Phrases:
    """Read bare words between commas, as in ``one of the words sea, wind, sun``."""
    words: list[str] = []
    end = at
    while readings := word(form, written, at):
        end, value = readings[0]
        words += value
        gap = _ANY_GAP.match(form, end)
        if gap is None:
            break
        at = gap.end()
    return [(end, tuple(words))] if len(words) > 1 else []


_NAME = re.compile(
    r"[A-Z](?:[A-Za-z'-]+|[A-Za-z0-9]*(?:\+\+|#)|[A-Za-z]+\.js)(?: [A-Z][A-Za-z'-]+){0,2}"
)


def names(form: str, written: str, at: int) -> _Phrases:
    """Read at least two names that end the text: ``Paris, Rome and New York``."""
    del form
    rest = written[at:].rstrip(" .;")
    pieces = re.split(r",\s*(?:and\s+)?|\s+and\s+", rest)
    good = len(pieces) > 1 and all(_NAME.fullmatch(piece) for piece in pieces)
    return [(at + len(rest), tuple(pieces))] if good else []


_LABEL_GAP = re.compile(
    r"\s*(?:[,、，/|]\s*(?:or\s+|and\s+|或者?|和)?|\s(?:or|and)\s+|或者?|和)\s*"
)
_LABEL = re.compile(rf"[A-Za-z0-9][\w+-]*(?: [A-Za-z][\w-]*)?|[{scripts.HAN}]{{1,6}}")
_NO_LABEL = re.compile(
    r"(?:^|.* )(?:please|etc|only|thanks|others?|so on|then|with|without|followed|based|depending"
    r"|unless|if|when|where|each|no|not|nothing|more|less|sorted|too|all|both|as|in|on|by|for|to"
    r"|the|an|of|is|are|be|use|\w{2,}(?:ly|ed|ing))(?: .*)?$|.*[等其请并且不每须须应要]",
    re.IGNORECASE,
)


def labels(form: str, written: str, at: int) -> _Phrases:
    """Read at least two short names that end the text: ``low, medium or high``, ``A/B``."""
    del form
    rest = written[at:].rstrip(" .。;；")
    pieces = _LABEL_GAP.split(rest)
    good = len(pieces) > 1 and all(
        _LABEL.fullmatch(piece) and not _NO_LABEL.match(piece) for piece in pieces
    )
    return [(at + len(rest), tuple(pieces))] if good else []


_OF_TABLE = re.compile(r"rows?|headers?|borders?|cells?|lines?|captions?|totals?|footers?")
_COLUMN_GAP = re.compile(r",\s*(?:and\s+)?|\s+and\s+")


def columns(form: str, written: str, at: int) -> _Phrases:
    """Read at least two names of columns that end the text: ``Name, Unit Price and City``."""
    del form
    rest = written[at:].rstrip(" .;")
    pieces = _COLUMN_GAP.split(rest)
    good = len(pieces) > 1 and all(
        _NAME.fullmatch(piece)
        or (
            _WORD.fullmatch(piece) and not _NO_LABEL.match(piece) and not _OF_TABLE.fullmatch(piece)
        )
        for piece in pieces
    )
    return [(at + len(rest), tuple(pieces))] if good else []


_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏"
    "吕丁沈任姚卢傅钟姜崔谭廖范汪陆石戴贾韦夏邱方侯邹熊孟秦白江阎薛尹段雷黎史龙陶贺顾毛郝龚邵"
    "万钱严赖覃洪武莫孔"
)
_PERSON = re.compile(
    f"[{_SURNAMES}][{scripts.HAN}]{{1,2}}(?![{scripts.HAN}])|小[{scripts.HAN}](?![{scripts.HAN}])"
)
_NO_PERSON = re.compile("时间|日期|单位|地点|方式|[名称人者司校门处等]|小组")


def person(form: str, written: str, at: int) -> _Phrases:
    """Read the name of a person, by its surname: ``王芳``, ``小明``."""
    del form
    match = _PERSON.match(written, at)
    if match is None or _NO_PERSON.search(match[0]):
        return []
    return [(match.end(), (match[0],))]


def topics(form: str, written: str, at: int) -> _Phrases:
    """Read at least two Chinese topics that end the text: ``北京、上海和广州``."""
    del form
    rest = written[at:].rstrip(" 。；;")
    pieces = re.split(r"\s*、\s*|[和与及]|以及", rest)
    good = len(pieces) > 1 and all(
        _TOPIC.fullmatch(each) and not _NO_TOPIC.search(each) for each in pieces
    )
    return [(at + len(rest), tuple(pieces))] if good else []


_TOPIC = re.compile(f"[{scripts.HAN}]{{2,6}}(?=$|[\\s，。；！,.;!])")
_NO_TOPIC = re.compile(
    "[的了吗呢和与或及等其几些每该这那哪何]|任何|自己|以[下上]|相关|关于|所有|至少|原因|[优缺]点|例子|方法|名[字称]|姓名|人|次|遍|内容|具体"
)


def topic(form: str, written: str, at: int) -> _Phrases:
    """Read a topic that ends a clause, one word without quotes: ``melatonin``, ``断桥``."""
    match = _TOPIC.match(written, at)
    if match is None and (match := _TECHNICAL.match(written, at)):
        return [(match.end(), (match[0],))]
    if match is not None:
        return [] if _NO_TOPIC.search(match[0]) else [(match.end(), (match[0],))]
    return [
        (end, words)
        for end, words in word(form, written, at)
        if form[at:end] not in _NO_NAMES.split()
        and (written[at].isupper() or not form[at:end].endswith("s"))
    ]


_TECHNICAL = re.compile(r"[A-Z][A-Za-z]*(?:\+\+|#|\.js)(?![\w+#])")
_OTHER_VERBS = "到及起供出升高醒问示取交前议防案拔携"
"""Letters that make another verb of 提: 提供, 提高."""


def spoken_of(form: str, written: str, at: int) -> _Phrases:
    """Read a topic right after 提: 价格 in 不提价格."""
    return [] if form[at : at + 1] in _OTHER_VERBS else topic(form, written, at)


_NO_NAMES = """it them him her me us you any anything anyone something someone everything everyone
all both either neither none nothing yourself itself that this why how when where what whether if
each every some several many few more one two three at least name evidence data"""


_LETTER = re.compile(r"([\"'“‘]?)([A-Za-z])([\"'”’]?)(?![\w])")
_LETTER_GAP = re.compile(r"\s*(?:,|、|/|，)\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+|\s*[和或与]\s*")


def letters(form: str, written: str, at: int) -> list[tuple[int, tuple[str, ...]]]:
    """Read single letters, quoted or not: ``e``, "x" and "z"."""
    del form
    words: list[str] = []
    end = at
    while (match := _LETTER.match(written, at)) and bool(match[1]) == bool(match[3]):
        words.append(match[2])
        end = match.end()
        gap = _LETTER_GAP.match(written, end)
        if gap is None:
            break
        at = gap.end()
    return [(end, tuple(words))] if words else []
