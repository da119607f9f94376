"""Verifiers of language, case and dates for users' own constraints."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from heedful.core import scripts
from heedful.verify.base import Finding, quoted, verifier
from heedful.verify.custom.parts import Decision, decide, of_part
from heedful.verify.text.words import word_set

if TYPE_CHECKING:
    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

# --- language and case --------------------------------------------------------------------------

_KANA = re.compile(f"[{scripts.KANA}]")
_LATIN_WORD = re.compile(f"[A-Za-z{scripts.LATIN_ACCENTED}]+")
_OTHER_LETTER = re.compile(rf"[^\W\d_A-Za-z{scripts.LATIN_ACCENTED}{scripts.KANA}{scripts.HAN}]")
_LATIN_LANGUAGES = frozenset(
    "ca cs da de en es et fi fr hr hu id it lt lv nl no pl pt ro sk sl sv sw tl tr vi".split()  # noqa: SIM905
)
_ALMOST_ALL, _FEW = 0.95, 0.3
_LETTERS_TO_TELL = 40
_LETTERS_TO_REFUSE = 200


@verifier("heedful:language")
def language(response: Response, *, language: str) -> Finding:
    """Respond in the language '{language}'.

    Given as ISO 639-1 code. Chinese is told by its characters, other languages by their script and
    by how often they use which letters together.
    """
    return decide(*_in_language(response, language))


def _in_language(response: Response, language: str) -> Decision:
    text = response.layout.plain
    han, latin = len(scripts.HAN_CHARACTER.findall(text)), len(_LATIN_WORD.findall(text))
    other = len(_OTHER_LETTER.findall(text)) // 4  # words of four letters, for a fair comparison
    kana = len(_KANA.findall(text))
    everything = han + kana + latin + other
    if not everything:
        return None, "no letters that tell the language"
    if language == "zh":
        share = 0.0 if kana * 10 > han else han / everything
        reason = f"{share:.0%} of it in Chinese characters"
        return (True if share >= _ALMOST_ALL else False if share < _FEW else None), reason
    script = latin if language in _LATIN_LANGUAGES else kana * 3 if language == "ja" else other
    share = min(script / everything, 1.0)
    if share < _FEW:
        return False, f"{share:.0%} of it in the letters of the language '{language}'"
    letters = sum(map(str.isalpha, text))
    detected = response.likeliest_language
    reason = f"the language is '{detected}' by its letters"
    if detected == language and letters >= _LETTERS_TO_TELL and share >= _ALMOST_ALL:
        return True, reason
    if detected != language and letters >= _LETTERS_TO_REFUSE:
        return False, reason
    return None, f"{reason}, but not surely: {letters} letters"


# --- Chinese script -----------------------------------------------------------------------------

ChineseScript = Literal["traditional", "simplified"]
_FEWEST_TO_TELL = 3
"""Characters of a script alone, from which on a text is surely in it."""


@lru_cache(maxsize=4096)
def _script_of(sign: str) -> ChineseScript | None:
    """Check the script of a character: GB 2312 encodes simplified ones, Big5 traditional ones."""
    coded = []
    for encoding in ("gb2312", "big5"):
        try:
            coded.append(bool(sign.encode(encoding)))
        except UnicodeEncodeError:
            coded.append(False)
    if coded[0] == coded[1]:
        return None
    return "simplified" if coded[0] else "traditional"


@verifier("heedful:chinese_script", describe="Write in {script} Chinese characters.")
def chinese_script(response: Response, *, script: ChineseScript) -> Finding:
    """The response is in traditional or in simplified Chinese characters."""
    text = response.layout.plain
    signs = scripts.HAN_CHARACTER.findall(text)
    if not signs or _KANA.search(text):
        other_language = not signs and any(map(str.isalpha, text))
        return decide(False if other_language else None, "no Chinese characters, or Japanese ones")
    known = [_script_of(sign) for sign in signs]
    own = known.count(script)
    other = len(known) - known.count(None) - own
    sure = max(own, other) >= _FEWEST_TO_TELL and not min(own, other)
    found = f"{own} characters of that script alone, {other} of the other"
    return decide(own > other if sure else None, found)


_SMALL_WORDS = 4
_MINOR_WORDS = word_set("prepositions")
_TITLE_WORD = re.compile(r"(?<![\w'’])[^\W\d_][\w'’]*")
_STRAY = 0.02
_CASED = re.compile("[^\\W\\d_ßªº]")
_CASELESS = re.compile(f"[{scripts.HAN}{scripts.KANA}{scripts.HANGUL}{scripts.THAI}]")


def _in_title_case(text: str) -> Decision:
    """Say whether all words start with a capital; small ones, and names like iPhone, need not."""
    small = [match for match in _TITLE_WORD.finditer(text) if match[0][0].islower()]
    if not small:
        return (None if text.isupper() or _CASELESS.search(text) else True), "all are capitalised"
    surely = any(
        len(match[0]) > _SMALL_WORDS
        and match[0] not in _MINOR_WORDS
        and match[0].islower()
        and text[match.start() - 1 : match.start()] != "-"  # a small letter is usual there
        for match in small
    )
    found = f"not capitalised: {quoted([match[0] for match in small[:5]])}"
    return (False if surely else None), found


@of_part("heedful:case")
def case(layout: Layout, *, case: Literal["upper", "lower", "title"]) -> Decision:
    """Write {what} in {case} case."""
    upper = sum(map(str.isupper, layout.plain))
    lower = sum(map(str.islower, layout.plain))
    if len(layout.plain.upper()) > len(layout.plain):  # "ß" has no capital that is in use
        lower -= sum(sign.islower() and len(sign.upper()) > 1 for sign in layout.plain)
    reason = f"{upper} capital and {lower} lower-case letters"
    if not upper + lower:
        return None, "no letters that have a case"
    if case == "title":
        return _in_title_case(layout.plain)
    wrong = lower if case == "upper" else upper
    if not wrong:
        # Chinese has no cases, and isn't all in capitals for that.
        return (True if not _CASELESS.search(layout.plain) else None), reason
    stray = wrong < _STRAY * (upper + lower) or not _CASED.search(layout.plain)
    return (None if stray else False), reason
