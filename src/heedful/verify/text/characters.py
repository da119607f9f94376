"""Counting signs: emojis, punctuation, digits, capitals, Markdown's marks.

Each function gives the counts of a text under the readings that people have of the sign; those of
one reading give one count. :mod:`heedful.verify.custom.counting` says what they are called.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

import regex

from heedful.verify.text.lines import without_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.layout import Layout

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


LIST_NUMBER = re.compile(r"^[^\S\n]*\d+[.)、．]", re.MULTILINE)

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


# --- punctuation and digits ---------------------------------------------------------------------


def counted(signs: str, doubt: str, maybe: str) -> Callable[[Layout], list[int]]:
    """Make the count of a sign."""
    doubtful, possible = re.compile(doubt), re.compile(maybe)
    of_ascii = "".join(filter(str.isascii, signs))
    only_beyond = not any(map(str.isascii, maybe.strip("[]")))

    def count(layout: Layout) -> list[int]:
        text = layout.text
        simple = text.isascii()
        number = sum(map(text.count, of_ascii if simple else signs))
        sure = number - len(doubtful.findall(text)) if number else 0
        more = 0 if simple and only_beyond else len(possible.findall(text))
        return [sure, number + more]

    return count


commas = counted(",，،﹐", r",(?<=\d,)\d{3}", "[、﹑]")
"""A comma within a number may not count, and a Chinese mark between the items of a list may."""

colons = counted(":：", r"[:：](?:(?=//)|(?<=\d.)(?=\d))", "[︰∶]")
"""A colon of a time or an address may not count."""

semicolons = counted(";；؛", ";(?<=&lt.|&gt.)|;(?<=&amp.)|;(?<=&quot.|&nbsp.)", "·")
"""That of a character reference may not count."""

question_marks = counted("?？؟", r"\?[\w=&]", "[¿⁇⁈⁉‽\u037e]")
"""A question mark within an address may not count."""

exclamation_marks = counted("!！", r"![\[=]", "[¡‼⁈⁉‽]")
"""That of a picture in Markdown, or of code, may not count."""

quotation_marks = counted(
    '"“”„‟«»「」『』＂', r'"(?<=\d.)(?:(?=[^\S\n])|$)', r"[‹›‚‛'’‘`](?!(?<=\w['’‘`])\w)"
)
"""Single ones may count, and the sign for inches may not; apostrophes never do."""

_DASH = re.compile("[—⸺⸻]+")
_MAYBE_DASH = re.compile(
    r"[—⸺⸻﹘―]|–(?!(?<=\d.)\d)|-(?<![-|\s]-)(?<![-|]\s-)-{1,2}(?![-|])(?=[^\S\n]?\S)"
    r"|[^\S\n](?<=[^-|\s].)-{2,3}(?![-|])(?=[^\S\n]?\S)"
)


def dashes(layout: Layout) -> list[int]:
    """Count em dashes: a Chinese one of two signs is one or two; others may be meant."""
    return [len(_DASH.findall(layout.text)), len(_MAYBE_DASH.findall(layout.text))]


_HASHTAG = re.compile(
    r"#(?<![\w#&/\\\"'=]#)(?<!\]\(#)(?![0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?\b)"
    r"(?!(?:include|define|ifn?def|endif|region|endregion|pragma|undef|elif|import)\b)[^\W\d_]\w*#?"
)
_MAYBE_HASHTAG = re.compile(r"[#＃](?<![\w&/].)(?<!\]\(.)[^\W_][^\s#,.，。;；!！?？]*#?")


def hashtags(layout: Layout) -> list[int]:
    """Count hashtags; those in code, and a colour or a number after the sign, may not be one."""
    sure = len(_HASHTAG.findall(without_code(layout.text)))
    return [sure, len(_MAYBE_HASHTAG.findall(layout.text))]


_CONTRACTION = re.compile(
    r"\b(?:[a-z]+n['’]t|[a-z]+['’](?:re|ve|ll|m|d)|(?:it|that|what|he|she|there|here|where|who|how"
    r"|let)['’]s|y['’]all|o['’]clock)\b",
    re.IGNORECASE,
)
_MAYBE_CONTRACTION = re.compile(
    r"\w['’ʼ`´]\w|\B['’](?:[a-z]|\d)|\w['’](?!\w)|\b(?:cannot|gonna|wanna|gotta|kinda|sorta|lemme|gimme"
    r"|dunno|ain|dont|cant|wont|isnt|didnt|doesnt|im|ive|youre|theyre|thats|whats)\b",
    re.IGNORECASE,
)


def contractions(layout: Layout) -> list[int]:
    """Count contracted words; of "Ann's" it is open whether it is one."""
    sure = len(_CONTRACTION.findall(layout.text))
    return [sure, max(sure, len(_MAYBE_CONTRACTION.findall(layout.text)))]


_INSIDE_WORD = re.compile(r"(?<=\w)[^\w\s](?=\w)")
_FULL_STOP = re.compile(r"[。．]|(?<!\.)\.(?!\S)")
_DOT = re.compile(r"[。．.｡।۔։።]")
_DIGIT = re.compile(r"\d")
DIGIT_OF_ANOTHER_FORM = re.compile("[¹²³⁰⁴-⁹₀-₉①-⓿¼-¾⅐-⅞]")


@lru_cache(maxsize=4096)
def _is_punctuation(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "P"


def punctuation(layout: Layout) -> list[int]:
    """Count punctuation; Markdown's marks, list numbers' stops and signs in words may not count."""
    between = _INSIDE_WORD.sub("", LIST_NUMBER.sub("", layout.plain))
    return [sum(map(_is_punctuation, text)) for text in (layout.text, between)]


def full_stops(layout: Layout) -> list[int]:
    """Count full stops; a dot in a number, or after a list's, may not count."""
    ends = _FULL_STOP.findall(LIST_NUMBER.sub("", layout.text))
    return [len(ends), len(_DOT.findall(layout.text))]


def digits(layout: Layout) -> list[int]:
    """Count digits; those of a list's numbers, and raised or circled ones, may not count."""
    number = len(_DIGIT.findall(layout.text))
    of_items = len(_DIGIT.findall("".join(LIST_NUMBER.findall(layout.text))))
    return [number - of_items, number + len(DIGIT_OF_ANOTHER_FORM.findall(layout.text))]


def brackets(layout: Layout) -> list[int]:
    """Count brackets; those of Markdown's links and of a list's numbers may not count."""
    prose = LIST_NUMBER.sub("", layout.plain)
    return [len(_BRACKET.findall(prose)), len(_ANY_BRACKET.findall(layout.text))]


def parentheses(layout: Layout) -> list[int]:
    """Count parentheses in pairs and sign by sign; those of links and numbers may not count."""
    prose = LIST_NUMBER.sub("", layout.plain)
    return [len(re.findall("[(（]", prose)), len(re.findall("[()（）]", layout.text))]


_BRACKET = re.compile(r"[()（）\[\]【】{}]")
_ANY_BRACKET = re.compile(r"[()（）\[\]【】{}〔〕［］｛｝〈〉⟨⟩]|<(?=[^<>\s])|>(?<=[^<>\s-]>)")

_ELLIPSIS = re.compile(r"…+|\.{3,}")
_MAYBE_ELLIPSIS = re.compile(r"…+|\.{3,}|(?:\.[^\S\n]){2,}\.|。{3,}|⋯+")


def ellipses(layout: Layout) -> list[int]:
    """Count ellipses: …… is one, as is a row of full stops; with spaces between it may be none."""
    return [len(each.findall(layout.text)) for each in (_ELLIPSIS, _MAYBE_ELLIPSIS)]


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


# --- Markdown -----------------------------------------------------------------------------------

_HIGHLIGHT = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])[^*\n]*[^\s*]?\1(?!\*)")
_MAYBE_HIGHLIGHT = re.compile(
    r"\*[^\n*]+\*|(?<!\w)_[^\n_]+_(?!\w)|`[^\n`]+`|==[^\n=]+==|^#+ ", re.MULTILINE
)
_PLACEHOLDER = re.compile(r"\[(?=[^\[\]\n]*[^\W\d_])[^\[\]\n]*+\](?![(\[])")
_BRACKETED = re.compile(r"\[[^\[\]\n]*\]")


def highlights(layout: Layout) -> list[int]:
    """Count passages between asterisks; those between other marks, and headings, may count."""
    sure = len(_HIGHLIGHT.findall(without_code(layout.text)))
    return [sure, len(_MAYBE_HIGHLIGHT.findall(layout.text))]


_ITALIC = re.compile(
    r"(?<![\w*])\*(?![*\s])[^*\n]+(?<![\s*])\*(?![\w*])|(?<![\w_])_(?![_\s])[^_\n]+(?<![\s_])_(?![\w_])"
    r"|<(?:i|em)>(?=[^<\n])"
)
_MAYBE_ITALIC = re.compile(
    r"(?<!\*)\*++[^*\n]+\*|(?<!_)_++[^_\n]+_|<(?:i|em)\b|[\U0001d434-\U0001d467]+"
)


def italics(layout: Layout) -> list[int]:
    """Count passages in italics, but in code; bold ones and other marks may be meant to be some."""
    text = without_code(layout.text)
    return [len(each.findall(text)) for each in (_ITALIC, _MAYBE_ITALIC)]


def headings(level: int) -> Callable[[Layout], list[int]]:
    """Make the count of headings of a level; what only looks like a heading may be one of any."""

    def count(layout: Layout) -> list[int]:
        levels = [line.depth for line in layout.lines if line.kind == "heading"]
        html = len(re.findall(rf"<h{level}\b", layout.text, re.IGNORECASE))
        maybe = 0 if levels else max(map(len, layout.heading_readings))
        return [levels.count(level) + html, max(levels.count(level), maybe) + html]

    return count


def placeholders(layout: Layout) -> list[int]:
    """Count words in square brackets; links, and brackets without a word, may count."""
    return [len(_PLACEHOLDER.findall(layout.text)), len(_BRACKETED.findall(layout.text))]


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
