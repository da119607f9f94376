"""Readers of what stands in a text without quotes: words, names, topics, affixes, date forms."""

from __future__ import annotations

import re

from heedful.core import scripts

_Phrases = list[tuple[int, tuple[str, ...]]]

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+(?![\w'-])")
_OF_OTHER_WORDS = """count counts limit limits length order choice choices list lists bank usage
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


_NAME = re.compile(r"[A-Z][A-Za-z'-]+(?: [A-Z][A-Za-z'-]+){0,2}")


def names(form: str, written: str, at: int) -> _Phrases:
    """Read at least two names that end the text: ``Paris, Rome and New York``."""
    del form
    rest = written[at:].rstrip(" .;")
    pieces = re.split(r",\s*(?:and\s+)?|\s+and\s+", rest)
    good = len(pieces) > 1 and all(_NAME.fullmatch(piece) for piece in pieces)
    return [(at + len(rest), tuple(pieces))] if good else []


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
    if match is not None:
        return [] if _NO_TOPIC.search(match[0]) else [(match.end(), (match[0],))]
    return [
        (end, words)
        for end, words in word(form, written, at)
        if form[at:end] not in _NO_NAMES.split()
        and (written[at].isupper() or not form[at:end].endswith("s"))
    ]


_OTHER_VERBS = "到及起供出升高醒问示取交前议防案拔携"
"""Letters that make another verb of 提: 提供, 提高."""


def spoken_of(form: str, written: str, at: int) -> _Phrases:
    """Read a topic right after 提: 价格 in 不提价格."""
    return [] if form[at : at + 1] in _OTHER_VERBS else topic(form, written, at)


_NO_NAMES = """it them him her me us you any anything anyone something someone everything everyone
all both either neither none nothing yourself itself that this why how when where what whether if
each every some several many few more one two three at least name evidence data"""

_AFFIX = re.compile(
    r"(?<=letter )(?P<named>[A-Za-z])(?![\w'-])|[\"'“‘]-?(?P<quoted>[A-Za-z]{1,12})-?[\"'”’]"
    r"|-(?P<hyphened>[A-Za-z]{1,6})(?![\w-])"
    r"|(?P<letter>[B-HJ-Zb-hj-z]|ly|ing|ed|er|est|tion|ness|ment|able|ful|less)(?![\w'-])"
)
_OR_AFFIX = re.compile(r"\s*(?:,\s*(?:or\s+)?|\bor\s+)(?=[\"'“‘-]|\w{1,4}\b)")


def affix(form: str, written: str, at: int) -> _Phrases:
    """Read letters that words begin or end with: ``-ly``, ``"un" or "in"``, ``b``.

    Without quotes only those that aren't words: "words starting with a …" names no letter.
    """
    del form
    affixes: list[str] = []
    end = at
    while match := _AFFIX.match(written, at):
        affixes.append(match[match.lastgroup or 0])
        end = match.end()
        gap = _OR_AFFIX.match(written, end)
        if gap is None:
            break
        at = gap.end()
    return [(end, tuple(affixes))] if affixes else []


_DATE_FORM = re.compile(
    r"(?:iso(?:[ -]?8601)? (?:date )?(?:format )?)?[(\"']?(?P<style>yyyy-mm-dd|yyyy/mm/dd"
    r"|yyyy\.mm\.dd|dd/mm/yyyy|mm/dd/yyyy|yyyy年mm月dd日|xxxx年xx月xx日)[)\"']?"
    r"|iso(?:[ -]?8601)?(?! ?\w)"
)


def date_form(form: str, written: str, at: int) -> list[tuple[int, str]]:
    """Read how dates are to be written: ``YYYY-MM-DD``, ``ISO format (YYYY-MM-DD)``."""
    del written
    match = _DATE_FORM.match(form, at)
    if match is None:
        return []
    style = (match["style"] or "yyyy-mm-dd").replace("x", "y").upper()
    if match["style"] and match["style"].startswith("x"):
        style = "YYYY年MM月DD日"
    return [(match.end(), style)]
