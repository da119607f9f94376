"""Counting signs: emojis, punctuation, digits, capitals, links, Markdown's marks.

Each function gives the counts of a text under the readings that people have of the sign; those of
one reading give one count. :mod:`heedful.verify.custom.counting` says what they are called. A
response may open thousands of links and close none, as a policy that collapses does; all of this
takes time in proportion to its length.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.layout import Layout

    Count = Callable[[Layout], list[int]]

# --- characters as readers see them -------------------------------------------------------------

_GRAPHEME = regex.compile(r"\X")


def graphemes(text: str) -> int:
    r"""Count the characters that a reader sees: a letter with its marks, an emoji, a line end.

    >>> graphemes("cafe\u0301"), graphemes("\U0001f468\u200d\U0001f469"), graphemes("हिन्दी")
    (4, 1, 2)
    """
    text = text.replace("\r\n", "\n")
    return len(text) if text.isascii() else len(_GRAPHEME.findall(text))


def unspaced(text: str) -> str:
    """Take the white space away."""
    return "".join(text.split())


# --- what patterns find -------------------------------------------------------------------------

LIST_NUMBER = re.compile(r"^[^\S\n]*\d+[.)、．]", re.MULTILINE)


def _text(layout: Layout) -> str:
    return layout.text


def _prose(layout: Layout) -> str:
    return layout.prose


def _unnumbered(layout: Layout) -> str:
    """Take Markdown's marks and the numbers of lists away."""
    return LIST_NUMBER.sub("", layout.plain)


def _found(
    sure: str,
    maybe: str,
    where: Callable[[Layout], str] = _text,
    elsewhere: Callable[[Layout], str] = _text,
) -> Count:
    """Make the count of what one pattern surely finds, and of what another one may find."""
    surely, possibly = (re.compile(each, re.MULTILINE) for each in (sure, maybe))

    def count(layout: Layout) -> list[int]:
        low = len(surely.findall(where(layout)))
        return [low, max(low, len(possibly.findall(elsewhere(layout))))]

    return count


def _counted(signs: str, doubt: str, maybe: str) -> Count:
    """Make the count of a sign: where a pattern finds a doubt, it may not count."""
    doubtful, possible = re.compile(doubt), re.compile(maybe)
    beyond_ascii = not any(map(str.isascii, maybe.strip("[]")))

    def count(layout: Layout) -> list[int]:
        text = layout.text
        number = sum(map(text.count, signs))
        sure = number - len(doubtful.findall(text)) if number else 0
        more = 0 if beyond_ascii and text.isascii() else len(possible.findall(text))
        return [sure, number + more]

    return count


commas = _counted(",，،﹐", r",(?<=\d,)\d{3}", "[、﹑]")
"""A comma within a number may not count, and a Chinese mark between the items of a list may."""

colons = _counted(":：", r"[:：](?:(?=//)|(?<=\d.)(?=\d))", "[︰∶]")
"""A colon of a time or an address may not count."""

semicolons = _counted(";；؛", ";(?<=&lt.|&gt.)|;(?<=&amp.)|;(?<=&quot.|&nbsp.)", "·")
"""That of a character reference may not count."""

question_marks = _counted("?？؟", r"\?[\w=&]", "[¿⁇⁈⁉‽\u037e]")
"""A question mark within an address may not count."""

exclamation_marks = _counted("!！", r"![\[=]", "[¡‼⁈⁉‽]")
"""That of a picture in Markdown, or of code, may not count."""

quotation_marks = _counted(
    '"“”„‟«»「」『』＂', r'"(?<=\d.)(?:(?=[^\S\n])|$)', r"[‹›‚‛'’‘`](?!(?<=\w['’‘`])\w)"
)
"""Single ones may count, and the sign for inches may not; apostrophes never do."""

dashes = _found(
    "[—⸺⸻]+",
    r"[—⸺⸻﹘―]|–(?!(?<=\d.)\d)|-(?<![-|\s]-)(?<![-|]\s-)-{1,2}(?![-|])(?=[^\S\n]?\S)"
    r"|[^\S\n](?<=[^-|\s].)-{2,3}(?![-|])(?=[^\S\n]?\S)",
)
"""A Chinese dash of two signs is one or two; others than em dashes may be meant."""

ellipses = _found(r"…+|\.{3,}", r"…+|\.{3,}|(?:\.[^\S\n]){2,}\.|。{3,}|⋯+")
"""…… is one, as is a row of full stops; with spaces between it may be none."""

full_stops = _found(r"[。．]|(?<!\.)\.(?!\S)", r"[。．.｡।۔։።]", _unnumbered)
"""A dot in a number, or after a list's, may not count."""

brackets = _found(
    r"[()（）\[\]【】{}]",
    r"[()（）\[\]【】{}〔〕［］｛｝〈〉⟨⟩]|<(?=[^<>\s])|>(?<=[^<>\s-]>)",
    _unnumbered,
)
"""Those of Markdown's links and of a list's numbers may not count."""

parentheses = _found("[(（]", "[()（）]", _unnumbered)
"""They count in pairs or sign by sign; those of links and numbers may not."""

hashtags = _found(
    r"#(?<![\w#&/\\\"'=]#)(?<!\]\(#)(?![0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?\b)"
    r"(?!(?:include|define|ifn?def|endif|region|endregion|pragma|undef|elif|import)\b)[^\W\d_]\w*#?",
    r"[#＃](?<![\w&/].)(?<!\]\(.)[^\W_][^\s#,.，。;；!！?？]*#?",
    _prose,
)
"""Those in code, and a colour or a number after the sign, may not be one."""

contractions = _found(
    r"(?i:\b(?:[a-z]+n['’]t|[a-z]+['’](?:re|ve|ll|m|d)|(?:it|that|what|he|she|there|here|where|who|how"
    r"|let)['’]s|y['’]all|o['’]clock)\b)",
    r"(?i:\w['’ʼ`´]\w|\B['’](?:[a-z]|\d)|\w['’](?!\w)|\b(?:cannot|gonna|wanna|gotta|kinda|sorta|lemme"
    r"|gimme|dunno|ain|dont|cant|wont|isnt|didnt|doesnt|im|ive|youre|theyre|thats|whats)\b)",
)
"""Of "Ann's" it is open whether it is one."""

placeholders = _found(r"\[(?=[^\[\]\n]*[^\W\d_])[^\[\]\n]*+\](?![(\[])", r"\[[^\[\]\n]*\]")
"""Words in square brackets; links, and brackets without a word, may count."""

highlights = _found(
    r"(?<![\w*])(\*{1,3})(?=[^\s*])[^*\n]*[^\s*]?\1(?!\*)",
    r"\*[^\n*]+\*|(?<!\w)_[^\n_]+_(?!\w)|`[^\n`]+`|==[^\n=]+==|^#+ ",
    _prose,
)
"""Passages between asterisks; those between other marks, and headings, may count."""

italics = _found(
    r"(?<![\w*])\*(?![*\s])[^*\n]+(?<![\s*])\*(?![\w*])"
    r"|(?<![\w_])_(?![_\s])[^_\n]+(?<![\s_])_(?![\w_])|<(?:i|em)>(?=[^<\n])",
    r"(?<!\*)\*++[^*\n]+\*|(?<!_)_++[^_\n]+_|<(?:i|em)\b|[\U0001d434-\U0001d467]+",
    _prose,
    _prose,
)
"""Passages in italics, but in code; bold ones and other marks may be meant to be some."""

_NAMES_OF_CODE = "init|main|name|call|str|repr|file|doc|all|new|del|len|iter|next|enter|exit|dict"
bold_passages = _found(
    r"(?<![A-Za-z0-9])\*\*(?=[^\s*])[^*\n]+(?<!\s)\*\*(?![A-Za-z0-9])|<(?:b|strong)>(?=[^<\n])"
    rf"|(?<!\w)__(?!\s|(?:{_NAMES_OF_CODE})__)[^_\n]+(?<!\s)__(?!\w)",
    r"\*\*(?=\S)(?:[^*\n]|\*(?!\*))++\*\*|(?<!\w)__(?=\S)[^_\n]+__(?!\w)|<(?:b|strong)>(?=[^<\n])",
    _prose,
    _prose,
)
"""Passages in bold, but in code; marks within words may count."""

_MARK = (
    r"\*\*(?=\S)[^*\n]+\*\*|^(?:\s{0,3}#{1,6}\s+\S|[^\S\n]*(?:```|~~~)"
    r"|[^\S\n]*(?:\|\s*)?:?-{2,}+:?(?:\s*+\|\s*+:?-{2,}+:?)+\s*(?:\|\s*)?$)"
    r"|\[[^\[\]\n]++\]\([^()\n]+\)"
)
markdown_marks = _found(
    _MARK,
    rf"{_MARK}|^[^\S\n]*(?:[-*+]|\d+\.)\s+\S|^[^\S\n]*>|`[^`\n]+`|(?<![\w*])\*(?=\S)[^*\n]+\*"
    r"|^[^\S\n]*(?:-{3,}|\*{3,})\s*$",
)
"""What nobody writes but in Markdown: headings, bold, fences, links, tables; lists may count."""

# --- links --------------------------------------------------------------------------------------

# Of Markdown's links the target is found, together with the bracket that closes it.
_TARGET = re.compile(r"\]\([^)\s]++(\))?|(?i:https?|ftp)://[^\s)\]>，。）】]++")
_IMAGE = re.compile(r"!\[[^\]\n]{0,200}\]\(")
_ADDRESS_AS_LABEL = re.compile(r"\[(?:https?://|www\.)[^\]\s]{0,1000}\]\(")
_DOMAINS = "ai app cn co com de dev edu eu fr gov info io jp me net org tv uk us xyz"
# What some call a link although it isn't one that can be followed as it stands.
_POSSIBLE = re.compile(
    rf"(?<![\w@/.-])(?:[\w-]{{1,63}}\.){{1,4}}(?:{'|'.join(_DOMAINS.split())})(?!\w)"
    r"|(?<!\S)www\.\S|(?<![\w-])mailto:|[\w.-]{1,64}@[\w-]{1,63}\.|\]\[|\]\(\)|\]\([^\S\n]|^\[[^\]\n]{1,99}\]:"
    r"|<a\s|(?<![:/\w])//\w",
    re.MULTILINE | re.IGNORECASE,
)


def links(layout: Layout) -> list[int]:
    """Count addresses and targets; images, domains, mail addresses, links of HTML may count."""
    text = layout.text
    targets = sum(1 for each in _TARGET.finditer(text) if each[1] or "://" in each[0])
    others = len(_IMAGE.findall(text)) + len(_ADDRESS_AS_LABEL.findall(text))
    return [max(targets - others, 0), targets + len(_POSSIBLE.findall(text))]


# --- emojis -------------------------------------------------------------------------------------

_EMOJI = regex.compile(
    r"(?=[\p{Emoji_Presentation}\U0001f300-\U0001faff❤☀☁☎☺♥✈✌✏✔]|\p{Emoji}\ufe0f|[0-9#*]\ufe0f?\u20e3)\X"
)
_SYMBOL = re.compile("[\u2600-\u27bf]")
"""Some fonts show these as emojis."""
_TONE = re.compile("[\ufe0f\U0001f3fb-\U0001f3ff]")


def emojis(layout: Layout) -> list[int]:
    """Count emojis; symbols that only some fonts show as emojis may not count."""
    sure = len(_EMOJI.findall(layout.text))
    return [sure, sure + len(_SYMBOL.findall(_EMOJI.sub("", layout.text)))]


def emoji_at_end(text: str) -> bool | None:
    """Say whether a text ends with an emoji; ``None`` where only some fonts show it as one."""
    text = text.rstrip()
    if text and _SYMBOL.match(text[-1]) and not _EMOJI.match(text[-1]):
        return None
    return any(match.end() == len(text) for match in _EMOJI.finditer(text))


def different_emojis(layout: Layout) -> list[int]:
    """Count emojis once each; one in several tones of skin may be one or several."""
    shown = _EMOJI.findall(layout.text)
    symbols = _SYMBOL.findall(_EMOJI.sub("", layout.text))
    sure = {_TONE.sub("", each) for each in shown}
    return [len(sure), len({each.replace("\ufe0f", "") for each in [*shown, *symbols]})]


# --- punctuation, digits, numbers ---------------------------------------------------------------

_INSIDE_WORD = re.compile(r"(?<=\w)[^\w\s](?=\w)")
_DIGIT = re.compile(r"\d")
_DIGIT_OF_ANOTHER_FORM = re.compile("[¹²³⁰⁴-⁹₀-₉①-⓿¼-¾⅐-⅞]")


@lru_cache(maxsize=4096)
def _is_punctuation(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "P"


def punctuation(layout: Layout) -> list[int]:
    """Count punctuation; Markdown's marks, list numbers' stops and signs in words may not count."""
    between = _INSIDE_WORD.sub("", _unnumbered(layout))
    return [sum(map(_is_punctuation, text)) for text in (layout.text, between)]


def digits(layout: Layout) -> list[int]:
    """Count digits; those of a list's numbers, and raised or circled ones, may not count."""
    number = len(_DIGIT.findall(layout.text))
    of_items = len(_DIGIT.findall("".join(LIST_NUMBER.findall(layout.text))))
    return [number - of_items, number + len(_DIGIT_OF_ANOTHER_FORM.findall(layout.text))]


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
        len(each.findall(text)) for each in (_WORDS, _ROMAN, _SIGNS, _DIGIT_OF_ANOTHER_FORM)
    )
    in_words = len(_IN_WORD.findall(text))
    return [max(0, whole - len(LIST_NUMBER.findall(text)) - in_words), single + others]


# --- letters ------------------------------------------------------------------------------------

_NOT_PROSE = re.compile(r"```\w*|https?://\S+")
_LATIN_LETTERS = re.compile("[A-Za-zＡ-Ｚａ-ｚ]+")
# Of a word that counts, from its first letters that show it to its end.
_LATIN_WORD = re.compile("(?:[a-z][A-Za-z]{2}|[A-Za-z][a-z]{2})[A-Za-z]*")
_CAPITALS = re.compile(r"(?<![^\W_])[^\W\d_]+(?:['’&-][^\W\d_]+)*(?![^\W_])")


def english_words(layout: Layout) -> list[int]:
    """Count English words; abbreviations, single letters and full-width ones may not count."""
    text = _NOT_PROSE.sub("", layout.text)
    return [len(_LATIN_WORD.findall(text)), len(_LATIN_LETTERS.findall(text))]


def capital_words(layout: Layout) -> list[int]:
    """Count words of capitals alone; single letters such as "I", and parts of "A-B", may count."""
    words = [word for word in _CAPITALS.findall(layout.plain) if word.isupper()]
    parts = sum(len(re.split("['’&-]", word)) for word in words)
    mixed = re.findall(r"\b(?=\w*\d)(?=\w*[A-Z])[A-Z\d]+\b", layout.plain)
    return [sum(1 for word in words if len(word) > 1), parts + len(mixed)]


# --- headings -----------------------------------------------------------------------------------


def headings(level: int) -> Count:
    """Make the count of headings of a level; what only looks like a heading may be one of any."""

    def count(layout: Layout) -> list[int]:
        levels = [each.level for each in layout.headings]
        return [levels.count(level), levels.count(level if any(levels) else 0)]

    return count


def heading_levels(layout: Layout) -> list[int]:
    """Count levels of headings; what only looks like a heading may be of one of its own."""
    levels = [each.level for each in layout.headings]
    marked = len({level for level in levels if level})
    return [marked, marked + levels.count(0)]
