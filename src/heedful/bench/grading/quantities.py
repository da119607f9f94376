r"""Words that change a number: ``5 million``, ``3 halves``, ``at least 5``, ``4 times x``.

Such a word isn't a unit. One that just scales the number is written as a number; an answer with any
other has a value that is not read, so only the same words are known to be equal to it.
"""

from __future__ import annotations

import re

from heedful.bench.grading.spoken import NUMBER_WORDS, SCALES

_COUNTS = rf"""(?:{"|".join(NUMBER_WORDS)}|hundreds|thousands|(?:m|b|tr|quadr)illions?
    |dozens?|scores?|gross|pairs?|couples?|trios?|lakhs?|crores?|myriads?|mille
    |half|halves|thirds?|quarters?|(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf)ths?
    |[a-z]+teenths?|[a-z]+tieths?|(?:hundred|thousand|[a-z]*illion)ths?)"""
_OPERATIONS = r"""(?:plus|minus|times(?=\W+\w)|divided|multiplied|squared|cubed|factorials?
    |to|out|roots?|powers?|raised|twice|thrice|doubled?|tripled?|halved|negative|modulo|modulus
    |remainder|choose|permute|base|percent|sums?|differences?|products?|quotients?|reciprocals?
    |inverse|opposite|conjugate|transpose|repeating|recurring|infinity|infinite|cosine|sine|tangent
    |(?:arc|ar)(?:sin|cos|tan|cot|sec|csc)h?|(?:sin|cos|tan|cot|csc)h?|sech|log|ln|exp|sqrt
    |equals|divides|union|intersect(?:ion)?
    |alpha|beta|gamma|delta|epsilon|zeta|theta|iota|kappa|lambda|sigma|omicron|upsilon|omega)"""
_COMPARISONS = r"""(?:more|less|fewer|greater|smaller|larger|bigger|higher|lower|than|least|most
    |below|above|under|over|beyond|between
    |about|approx(?:imately)?|roughly|around|nearly|almost|circa
    |maximum|minimum|not|except|without|exclusive)"""
_ANY = rf"(?:{_COUNTS}|{_OPERATIONS}|{_COMPARISONS})"
_FLAGS = re.VERBOSE | re.IGNORECASE

_AFTER = re.compile(
    rf"[\d)}}][\s.,\-/()]*+(?:[a-z]+[\s,\-/]+){{0,3}}?(?<![a-z\\]){_ANY}(?![a-z])", _FLAGS
)
_BEFORE = re.compile(rf"(?<![a-z\\]){_ANY}(?![a-z])\W+(?:[a-z]+\W+)?(?=[\d\\])", _FLAGS)
_ONLY_COUNTS = re.compile(
    rf"(?<![a-z\\])(?:{_COUNTS}|plus|minus|times|squared|cubed)(?![a-z])", _FLAGS
)
_CUBIC_METRES = re.compile(
    r"(?<=[a-z])\s+(?:squared|cubed)(?![a-z])|(?<![a-z])(?:squared|cubed)(?=\s+[a-z])",
    re.IGNORECASE,
)
_SCALED = re.compile(
    rf"""(?P<name>[a-zA-Z]\s*=\s*)?(?P<number>[+-]?\s*(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?)\s*-?
    (?P<scale>{"|".join(SCALES)}|dozen|(?-i:K)(?!\s*[a-z]))s?(?P<rest>(?:\s+[a-z]+){{0,4}})""",
    _FLAGS,
)
_THOUSANDS = re.compile(r"[+-]?\d[\d,.]*K")
_LETTERS = re.compile("[a-zA-Z]{2}")


def is_quantified(text: str) -> bool:
    """Check whether a word changes a number, so that its digits are not its value."""
    if _THOUSANDS.fullmatch(text):
        return True
    if not _LETTERS.search(text):
        return False
    if not any(map(str.isdigit, text)):
        return _ONLY_COUNTS.search(text) is not None
    text = _CUBIC_METRES.sub(" ", text)  # of a unit: metres squared
    return bool(_AFTER.search(text) or _BEFORE.search(text))


def written_out(text: str) -> str:
    r"""Write ``5 million dollars`` as ``5 \times 10^{6} dollars``."""
    match = _SCALED.fullmatch(text.strip())
    if match is None:
        return text
    scale, number = match["scale"].casefold(), match["number"].replace(" ", "")
    if scale != "dozen":
        number = rf"{number} \times 10^{{{(SCALES | {'k': 3})[scale]}}}"
    elif "." in number:
        return text
    else:
        number = str(12 * int(number.replace(",", "")))
    return f"{match['name'] or ''}{number}{match['rest']}"


def unscaled(text: str) -> str:
    """Leave out the word that :func:`written_out` writes as a number: a question may say it."""
    match = _SCALED.fullmatch(text.strip())
    return f"{match['name'] or ''}{match['number']}{match['rest']}" if match else text
