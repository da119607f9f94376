"""Gates that look at the words of a response: gibberish, another script, far too short."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.bool_]

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


@cache
def _rare_pairs() -> Bytes:
    """Tabulate by two letters' codes whether the second seldom follows the first."""
    import numpy as np

    table = np.zeros((256, 256), dtype=bool)
    letters = [ord(letter) for letter in _FOLLOWERS]
    for before, after in _FOLLOWERS.items():
        table[ord(before), letters] = True
        table[ord(before), [ord(letter) for letter in after]] = False
    return table


def _counts_rare(text: str) -> int:
    """Count the rare pairs in a text, a quick bound from above."""
    import numpy as np

    codes = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)
    return int(_rare_pairs()[codes[:-1], codes[1:]].sum())


_NO_WORDS = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|(?<!\S)\S*?[/\\@_=<>{}]\S*", re.DOTALL)
_LATIN_WORD = re.compile(r"(?<![^\W_])[a-z]{2,}(?![^\W_])")


def gibberish(text: str) -> str | None:
    """Find words that are no language's: letters in an order that words don't have.

    Only words of the letters a to z are looked at, outside of code and addresses.
    """
    lowered = text.lower()
    if _counts_rare(lowered) < _PAIRS * _RARE:
        return None
    words = _LATIN_WORD.findall(_NO_WORDS.sub(" ", lowered))
    pairs = [(word[at], word[at + 1]) for word in words for at in range(len(word) - 1)]
    if len(pairs) < _PAIRS:
        return None
    share = sum(after not in _FOLLOWERS[before] for before, after in pairs) / len(pairs)
    return f"{share:.0%} of its letters are in no order of words" if share >= _RARE else None


_SAMPLED = 150
"""Characters at the start, in the middle and at the end that tell a text's script."""

_LETTERS = 15
"""Letters of the instruction and of the response that are enough to tell their script."""

_NAMES_A_LANGUAGE = re.compile(
    r"\blanguages?\b|\btranslat|\btranscri|\bscript\b|\balphabet\b|\bbilingual|\b(?:english|french"
    r"|german|spanish|portuguese|italian|dutch|russian|ukrainian|bulgarian|polish|czech|greek|latin"
    r"|turkish|arabic|hebrew|persian|farsi|urdu|hindi|bengali|punjabi|gujarati|marathi|nepali|tamil"
    r"|telugu|kannada|malayalam|thai|vietnamese|korean|japanese|chinese|mandarin|cantonese"
    r"|indonesian|swahili|finnish|swedish)\b|[语文]言?[写回答翻]|翻译|译[文为成]|英文|英语|中文|汉语"
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
    middle = len(text) // 2
    parts = text[:_SAMPLED], text[middle : middle + _SAMPLED], text[-_SAMPLED:]
    counts = Counter(map(_script, "".join(parts)))
    del counts[""]
    return counts


def other_script(text: str, asked: str, instruction: str) -> str | None:
    """Find a response in another script than its instruction, which names no other language.

    Args:
        text: the response.
        asked: the last user turn.
        instruction: all that was asked for.
    """
    wanted, used = _scripts(asked), _scripts(text)
    if wanted.total() < _LETTERS or used.total() < _LETTERS:
        return None
    (script, count), (other, _) = wanted.most_common(1)[0], used.most_common(1)[0]
    if count < 0.8 * wanted.total() or used[script] > 0.1 * used.total():
        return None
    if _scripts(instruction)[other] or _NAMES_A_LANGUAGE.search(instruction):
        return None
    return f"it is in another script ({other.title()}) than the instruction ({script.title()})"


_LEAST = re.compile(
    r"(?:\bat least|\bminimum(?: length)?(?: of)?|\bno (?:less|fewer) than|\bmore than|\bexactly"
    r"|\babout|\baround|\bapproximately|\broughly) (\d{2,5}) words\b|\b(\d{2,5})\+ words\b"
    r"|\b(?:write|compose|create|generate|draft) (?:me )?an? (\d{2,5})[- ]words?\b"
    r"|(?:不少于|至少|不低于|大约|约)(\d{2,5})个?[字词]|(\d{2,5})[字词](?:以上|左右)",
    re.IGNORECASE,
)
_SHARE_OF_LEAST = 5
"""A response with fewer words than this fraction of those asked for is no attempt."""


def far_too_short(text: str, asked: str) -> str | None:
    """Find a response of less than a fifth of the words that the last user turn asks for."""
    numbers = [int(number) for match in _LEAST.findall(asked) for number in match if number]
    if not numbers:
        return None
    words = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+", text))
    if words * _SHARE_OF_LEAST >= min(numbers):
        return None
    return f"it has {words} words where the instruction asks for {min(numbers):,}"
