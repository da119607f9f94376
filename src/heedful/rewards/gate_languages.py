"""Gates that look at the words of a response: gibberish, another script, far too short."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from heedful.core.text import amount

_FOLLOWERS = {
    "a": "bcdfghijklmnprstuvwxyz",
    "b": "aeijlorsuy",
    "c": "acehiklorstuy",
    "d": "adegijlnorsuvwy",
    "e": "abcdefghiklmnopqrstuvwxy",
    "f": "aefilortuy",
    "g": "aeghilmnorstuy",
    "h": "aeilmnorstuy",
    "i": "abcdefgklmnopqrstuvxz",
    "j": "aejou",
    "k": "aeilnsy",
    "l": "acdefgiklmopstuvwy",
    "m": "abefilmopsuy",
    "n": "acdefghijklmnorstuvy",
    "o": "abcdefghijklmnoprstuvwxy",
    "p": "adehilmoprstuy",
    "q": "u",
    "r": "abcdefghiklmnoprstuvwy",
    "s": "acefhiklmnopstuwy",
    "t": "acefhilmnorstuwy",
    "u": "abcdefgilmnprst",
    "v": "aeio",
    "w": "aehilnorst",
    "x": "aceipt",
    "y": "acdeilmnopstz",
    "z": "aei",
}
"""Letters that often follow a letter within a word: 99.5 % of the pairs in the words of 9,085 real
responses, which are mostly in English."""

_RARE = 0.2
"""The share of other pairs from which on words of Latin letters are gibberish. In random letters it
is one half."""

_PAIRS = 30
"""Pairs of letters that are enough to tell."""

_FEW_PAIRS = 8
_RARE_OF_FEW = 0.5
"""With fewer pairs, the share must be larger."""


_SAMPLED = 150
"""Characters at the start, in the middle and at the end that tell enough of a text."""

_RARE_PAIRS = frozenset(
    before + after
    for before, often in _FOLLOWERS.items()
    for after in _FOLLOWERS
    if after not in often
)


def _may_be_gibberish(text: str) -> bool:
    """Tell by a part of a text whether its pairs of letters are worth counting."""
    part = "".join(_parts(text))
    rare = sum(map(_RARE_PAIRS.__contains__, map(str.__add__, part, part[1:])))
    return rare >= _FEW_PAIRS * _RARE_OF_FEW and 2 * rare >= _RARE * len(part)


def _parts(text: str) -> tuple[str, ...]:
    """Return the start, the middle and the end of a text, or all of a short one."""
    if len(text) <= 3 * _SAMPLED:
        return (text,)
    middle = len(text) // 2
    return text[:_SAMPLED], text[middle : middle + _SAMPLED], text[-_SAMPLED:]


_NO_WORDS = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|(?<!\S)\S*?[/\\@_=<>{}]\S*", re.DOTALL)
_LATIN_WORD = re.compile(r"(?<![^\W_])[a-z]{2,}(?![^\W_])")


def gibberish(text: str) -> str | None:
    """Find words of no language: letters in an order that words don't have.

    Only words of the letters a to z are looked at, outside of code and addresses.
    """
    lowered = text.lower()
    if not _may_be_gibberish(lowered):
        return None
    words = _LATIN_WORD.findall(_NO_WORDS.sub(" ", lowered))
    pairs = [(word[at], word[at + 1]) for word in words for at in range(len(word) - 1)]
    if len(pairs) < _FEW_PAIRS:
        return None
    least = _RARE
    if len(pairs) < _PAIRS:  # a word of letters in another script's text, such as a key sequence
        least = _RARE_OF_FEW if 2 * len(pairs) > len("".join(text.split())) / 2 else 2.0
    share = sum(after not in _FOLLOWERS[before] for before, after in pairs) / len(pairs)
    return f"{share:.0%} of its letters are in no order of words" if share >= least else None


LOOKED_AT = 4000
"""Characters of a response of which code is left out to tell its script."""

_LETTERS = 15
"""Letters of the instruction and of the response that are enough to tell their script."""

_NAMES_A_LANGUAGE = re.compile(
    r"\blanguages?\b|\btranslat|\btranscri|\bscript\b|\balphabet\b|\bbilingual|\b(?:english|french"
    r"|german|spanish|portuguese|italian|dutch|russian|ukrainian|bulgarian|polish|czech|greek|latin"
    r"|turkish|arabic|hebrew|persian|farsi|urdu|hindi|bengali|punjabi|gujarati|marathi|nepali|tamil"
    r"|telugu|kannada|malayalam|thai|vietnamese|korean|japanese|chinese|mandarin|cantonese"
    r"|indonesian|swahili|finnish|swedish)\b|[语文]言?[写回答翻]|翻译|译[文为成]|英文|英语|中文|汉语"
    r"|代码|函数|程序|编程|脚本|公式|命令|网址|网站|邮箱|\bcode\b|\bfunction\b|\bprogram"
    r"|法语|德语|日语|韩语|俄语|拼音|用.{1,4}[语文]",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def _script(char: str) -> str:
    """Name a letter's script, that of Japanese and Chinese together."""
    if not char.isalpha():
        return ""
    first = unicodedata.name(char, "").partition(" ")[0]
    return "CJK" if first in ("HIRAGANA", "KATAKANA", "KANGXI") else first


def _scripts(text: str) -> Counter[str]:
    part = "".join(_parts(text))
    if part.isascii():  # the usual case, many times faster
        return Counter(LATIN=sum(map(str.isalpha, part)))
    counts = Counter(map(_script, part))
    del counts[""]
    return counts


_LISTED = {
    "English": "the of and to in is that it for with as was on are be this by from or an at which",
    "Spanish": "el la de que y en un una los las por con para su se es del como está más sobre muy",
    "French": "le la les de des et un une est pour que qui dans sur avec par vous je au aux ce pas",
    "German": "der die das und ist in zu den mit von für auf ein eine nicht sich des dem als auch "
    "sie er es wir ich zum zur am im wie bei nach aus einen einem hat wird sind oder",
    "Italian": "il la di che e un una per con del della sono è le gli nel alla anche come più si",
    "Portuguese": "o a de que e um uma para com em do da os as por não se é mais como dos ao",
    "Dutch": "de het een van en is dat op te in voor met niet zijn aan er ook als bij om",
}
"""The words of a text that tell its language, where languages share a script."""

_FUNCTION_WORDS = {name: frozenset(words.split()) for name, words in _LISTED.items()}

_WORDS_TO_TELL, _DIFFERENT = 8, 3
"""Words of a text that are enough to tell its language, and different ones of the listed."""


def _other_latin(text: str, last_turn: str) -> str | None:
    """Find a response in another language of Europe than an instruction in English."""
    counts = {}
    for name, part in (("last_turn", last_turn), ("used", text)):
        words = re.findall(r"[^\W\d_]+", _NO_WORDS.sub(" ", part[:800]).casefold())
        if len(words) < _WORDS_TO_TELL:
            return None
        counts[name] = {
            language: sum(word in listed for word in words) / len(words)
            if len({*words} & listed) >= _DIFFERENT
            else 0.0
            for language, listed in _FUNCTION_WORDS.items()
        }
    best = max(counts["used"], key=lambda language: counts["used"][language])
    wanted = max(counts["last_turn"], key=lambda language: counts["last_turn"][language])
    used, english = counts["used"][best], counts["used"]["English"]
    if wanted != "English" or best == "English" or used < 0.2 or english > 0.05:  # noqa: PLR2004
        return None
    return f"it is in {best}, the instruction in English"


_SCRIPTS, _SHARE = 3, 0.05
"""Scripts, each with this share of the letters, that no text in one language mixes."""


def _mixture(scripts: Counter[str]) -> set[str]:
    return {name for name, count in scripts.items() if count >= _SHARE * scripts.total()}


def other_language(text: str, last_turn: str, instruction: str) -> str | None:
    """Find a response in another language than its instruction, which names no other.

    Told by the script, and between languages of Latin script by common words.
    """
    wanted, used = _scripts(last_turn), _scripts(_NO_WORDS.sub(" ", text[:LOOKED_AT]))
    if wanted.total() < _LETTERS or used.total() < _LETTERS:
        return None
    (script, count), (other, _) = wanted.most_common(1)[0], used.most_common(1)[0]
    if len(_mixture(used)) >= _SCRIPTS and not _mixture(wanted) >= _mixture(used):
        scripts = ", ".join(name.title() for name in sorted(_mixture(used)))
        return None if _NAMES_A_LANGUAGE.search(instruction) else f"it mixes {scripts}"
    same = count < 0.8 * wanted.total() or used[script] > 0.1 * used.total()
    reason = None
    if same and script == other == "LATIN":
        reason = _other_latin(text, last_turn)
    elif not same and not _scripts(instruction)[other]:
        reason = f"it is in another script ({other.title()}) than the instruction"
    return None if reason is None or _NAMES_A_LANGUAGE.search(instruction) else reason


_LEAST = re.compile(
    r"(?:\bat least|\bminimum(?: length)?(?: of)?|\bno (?:less|fewer) than|\bmore than|\bexactly"
    r"|\babout|\baround|\bapproximately|\broughly) (\d{2,5}) words\b|\b(\d{2,5})\+ words\b"
    r"|\b(?:write|compose|create|generate|draft) (?:me )?an? (\d{2,5})[- ]words?\b"
    r"|(?:不少于|至少|不低于|大约|约)(\d{2,5})个?[字词]|(\d{2,5})[字词](?:以上|左右)",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"\b(?:write|compose|draft|explain|describe|summari[sz]e|elaborate|discuss|essay|story|poem|letter"
    r"|e-?mail|note|blog|article|report|review|speech|song|paragraphs?|sentences)\b"
    r"|写一|介绍|描述|解释|说明|总结|作文|文章|故事",
    re.IGNORECASE,
)
"""A task of which the answer is a text."""

_SHORT = re.compile(
    r"\b(?:title|name|slogan|headline|tagline|emoji|acronym|number|numbers|single|symbol|letter|word"
    r"|character|code|function|regex|command|hashtag|caption|synonyms?|phrase|reply|respond|answer"
    r"|say|choose|pick|classif\w+|label|yes|no|equation|formula|only|exactly|how many|one|haiku"
    r"|sentence|line|extract|sentiment|analy[sz]e|hint|guess|json|object|list|table|yaml|html)\b"
    r"|标题|名字|名称|口号|一个|字|词|几个|多少|只|回答|选|是否|吗",
    re.IGNORECASE,
)
"""Words of an instruction that may want a word or two all the same."""

_OF_OTHER_THINGS = (
    r"(?!(?:for|of|to|in|on|about|from|that|with|and|or|one|single|two|three|first|last|opening"
    r"|closing|title|name|headline|subject|sentence|line|word|tweet|list|table|json|code)\b)"
)
_IS_WRITTEN = re.compile(
    r"\b(?:write|compose|draft|create|generate|produce|prepare) (?:me |us )?(?:(?:an?|the|my) )?"
    rf"(?:{_OF_OTHER_THINGS}[\w-]+,? ){{0,3}}"
    r"(?:essay|story|letter|e-?mail|memo|blog ?post|article|report|review|speech|description"
    r"|proposal|biography|announcement|press release|newsletter)\b"
    r"(?![- ](?:title|name|headline|subject|heading|idea|prompt|topic|template|outline|line|word)"
    r"s?\b)",
    re.IGNORECASE,
)
"""A task of which the answer is surely a text, whatever else it mentions."""

_WORDS_OF_A_TEXT = 5
_WORDS_OF_A_LETTER = 8

_SHARE_OF_LEAST = 5
"""A response with fewer words than this fraction of those asked for isn't an attempt."""


_NO_TEXT = re.compile(r"<[^<>\n]{0,80}>|&#?\w{1,8};|\[[^\[\]\n]{0,80}\]|\w{1,8}://\S+")
"""Markup, placeholders and addresses."""

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def wants_text(last_turn: str) -> bool:
    """Tell whether an instruction wants a text, and surely not a word or two."""
    if _WRITTEN.search(last_turn) and not _SHORT.search(last_turn):
        return True
    return asks_to_write(last_turn)


def asks_to_write(last_turn: str) -> bool:
    """Tell whether an instruction asks to write an essay, a letter or the like."""
    return _IS_WRITTEN.search(last_turn) is not None


def far_too_short(text: str, last_turn: str) -> str | None:
    """Find a few words for a text, or less than a fifth of the words that are asked for."""
    tokens = _TOKEN.findall(_NO_TEXT.sub(" ", text))
    words = sum(not token.isdigit() for token in tokens)
    least = _WORDS_OF_A_LETTER if asks_to_write(last_turn) else _WORDS_OF_A_TEXT
    if words < least and wants_text(last_turn):
        return f"it has {amount(words, 'word')} where the instruction asks for a text"
    numbers = [int(number) for match in _LEAST.findall(last_turn) for number in match if number]
    if not numbers:
        return None
    if words * _SHARE_OF_LEAST >= min(numbers):
        return None
    return f"it has {words} words where the instruction asks for {min(numbers):,}"
