"""Abbreviations whose full stop need not end a sentence."""

from __future__ import annotations

import re

from heedful.verify.text.english import built_in


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GOING_ON = _words("approx ca cf ch chap chaps chs e.g eq eqs figs i.e nos pp secs viz vol vols vs")
"""Something always follows these."""

_FINAL_TOO = _words(
    """
    a.k.a al appx assn assoc avg cap chem cm dist div ed.d eds encl esp etc excl ext fig ft fwd hr
    hrs hwy ibid incl intl kg km lb lbs lit mins misc natl oz p para paras pl plc pop pt pts qty
    rd resp sec sect sects ser sq subsec suppl tbsp tel trans tsp univ viz wt yd yds yr yrs
    """
) | {word for word in built_in().abbreviations if len(word) > 1 and word[-1].isalpha()}
"""These may end a sentence, but surely do only before a word that begins sentences."""

_WORDS_TOO = _words("add art ave col cos ed est gal in mar mass max min no rep sat sun")
"""These are words as well, and abbreviations before numbers and small letters at the most."""

_ALL = sorted((_GOING_ON | _FINAL_TOO | _WORDS_TOO), key=len, reverse=True)
ABBREVIATION = rf"(?<![^\W_])(?i:{'|'.join(map(re.escape, _ALL))})\.\s"
COMPANY = r"(?:Inc|Corp|Co|Ltd|LLC|LLP|PLC|AG|GmbH|SA)\b"
"""Follows a company's name, such as Yahoo!"""


def stays_open(before: str, after: str) -> bool:
    """Say whether a sentence may go on after an abbreviation that ends its first piece.

    >>> stays_open("See Fig.", "3."), stays_open("He said no.", "They left.")
    (True, False)
    """
    if not before.endswith("."):
        return False
    word = before.rsplit(None, 1)[-1][:-1].lower()
    word = word[next((at for at, sign in enumerate(word) if sign.isalnum()), 0) :]
    sign = next(filter(str.isalnum, after), "")
    small = not sign.isupper()
    if word in _WORDS_TOO:
        return small
    if word in _FINAL_TOO:
        first = re.match(r"\W*(\w+)", after)
        return small or (first is not None and first[1].lower() not in built_in().starters)
    return word in _GOING_ON
