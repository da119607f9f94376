"""Scripts as ranges of characters, for use inside the brackets of a regular expression.

>>> import re
>>> re.findall(f"[{HAN}{KANA}]+", "ひらがなと漢字 and Latin")
['ひらがなと漢字']

Code that reproduces a published metric keeps that metric's own ranges.
"""

from __future__ import annotations

import re

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, with extensions and compatibility forms; without 々, 〆 and 〇."""

HAN_CHARACTER = re.compile(f"[{HAN}]")

KANA = "\u3040-\u30ff"
"""Hiragana and katakana, with their marks."""

HALFWIDTH_KANA = "\uff66-\uff9f"

KANA_LETTERS = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
"""Kana of any width, without marks such as the middle dot."""

HANGUL = "\uac00-\ud7af"

THAI = "\u0e00-\u0e7f"
LAO = "\u0e80-\u0eff"
BURMESE = "\u1000-\u109f"
KHMER = "\u1780-\u17ff"

UNSPACED = THAI + LAO + BURMESE + KHMER + KANA + HAN
"""Scripts that don't separate words by spaces."""

DEVANAGARI_TO_GURMUKHI = "\u0900-\u0a7f"
"""Devanagari, Bengali, Gurmukhi: a danda ends their sentences."""

LATIN_ACCENTED = "\u00c0-\u024f"

PICTOGRAPHS = "\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d"
"""Emoji and symbols shown as such, with the characters that join or colour them."""
