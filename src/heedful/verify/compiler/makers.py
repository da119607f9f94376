"""From what a clause bound to its check: what "about 100" stands for, and each verifier's own."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, get_args

from heedful.core.nouns import Check
from heedful.verify.custom.counting import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

_ABOUT = (9, 11)
"""Tenths: "X字" and "about X words" are met from 90 to 110 % (IF-Critic, arXiv 2511.01014)."""
LENGTHS = frozenset(unit for unit in get_args(Unit) if unit.startswith(("zi", "char"))) | {
    "words",
    "han_characters",
    "letters",
}
"""Units of which a bare number means about that many."""
_IN_EVERY_TEXT = LENGTHS | {"paragraphs", "sentences", "lines"}
"""Units that no response is free of, so that "no lines" must mean something else; or whose absence
has a check of its own, as lower case is."""
_AMBIGUOUS = frozenset({"characters", "letters"})
"""Units whose names also mean something else: the characters of a story, letters to a friend."""
_WITHOUT_A_STORY = frozenset({"line", "title", "heading"})
"""Parts that have no characters of a story."""
_FEW = 20
_SHORT = 30
"""A length up to this, of nothing that is named, may be meant of a passage such as a slogan."""
_NUMBERS = (
    "at_least", "at_most", "more", "less", "exactly", "about", "plain", "holds", "limit", "exact",
    "several", "next",
)  # fmt: skip
PREVIOUS = "previous"
"""The part of a clause that speaks of what the clause before it counts."""


def _is_few(bounds: _Range) -> bool:
    return max(number or 0 for number in bounds) in range(1, _FEW + 1)


_APART = frozenset({"headings", "tables", "code_blocks", "paragraphs", "stanzas"})
"""Units that stand above or beside a paragraph rather than inside of it."""


def _is_of_page(bound: dict[str, Any]) -> bool:
    """Check whether it is up to the page: how many lines a paragraph fills, what stands above."""
    part, unit = bound.get("part"), bound["unit"]
    if part in {None, "stanza", "passage", "body", "section", "copy", PREVIOUS}:
        return False
    return unit == "lines" or unit in _APART or unit.endswith(("headings", "tables"))


def count_check(bound: dict[str, Any], *, named: bool) -> Check | None:
    """Make the check of a count; ``None`` where unit or number is ambiguous."""
    if bound.get("part") == "heading" and bound.get("unit") not in LENGTHS:
        bound["part"] = "section"  # what stands below it is meant
    if "unit" not in bound or _is_of_page(bound):
        return None
    limits = [name for name in _NUMBERS if name in bound]
    ranges = _ranges(bound, bound["unit"] in LENGTHS and bound.get("part") not in _WITHOUT_A_STORY)
    if ranges and ranges[0][1] == 0 and bound["unit"] in _IN_EVERY_TEXT:
        return None
    ambiguous = bound["unit"] in _AMBIGUOUS and bound.get("part") not in _WITHOUT_A_STORY
    if not ranges or (ambiguous and _is_few(ranges[0])):
        return None
    rest = {key: value for key, value in bound.items() if key not in {*limits, "mention"}}
    short = bound["unit"] in LENGTHS and (ranges[0][1] or _SHORT + 1) <= _SHORT
    if short and not named and "part" not in rest:
        rest["part"] = "passage"
    return _readings("heedful:count", rest, ranges)


def phrase_check(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make a check of phrases, letters or words, with what their numbers stand for."""
    phrases = bound.get("phrases", ())
    if phrases:
        phrases = bound["phrases"] = [
            _STOP_INSIDE_QUOTES.sub(r"\1\2", phrase) for phrase in phrases
        ]
    limits = [name for name in _NUMBERS if name in bound]
    rest = {key: value for key, value in bound.items() if key not in limits}
    if not limits:
        return Check(id=id_, args=rest)
    # "“a” and “b” at most twice": each of them, or both together?
    if id_ == "heedful:contains" and len(phrases) > 1 and bound.get("at_least") == 0:
        return None
    # An occurrence of 公鸡 may or may not be one of 鸡.
    if any(phrase != other and phrase in other for phrase in phrases for other in phrases):
        return None
    exact = bound.pop("exact", None)
    ranges = [(exact, exact), (exact, None)] if exact else _ranges(bound, lengths=False)
    return _readings(id_, rest, ranges)


_STOP_INSIDE_QUOTES = re.compile(r"^(.*[^\W\d_])[.,]$|^(\w{1,8})[。，]$")
"""Some put the sentence's own stop inside: the keyword 'Halloween.'"""

_Range = tuple[int | None, int | None]


def _ranges(bound: dict[str, Any], lengths: bool) -> list[_Range]:  # noqa: FBT001 - a kind of unit
    """Work out the bounds that a number stands for; several where it has several readings."""
    if "limit" in bound:
        return [_around(bound["limit"]), (None, bound["limit"])]
    number = bound.get("about") or (lengths and (bound.get("plain") or bound.get("holds")))
    if number:
        low, high = _around(number)
        # "About three paragraphs" leaves open how far from three they may be.
        return [] if "about" in bound and low == high else [(low, high)]
    if "several" in bound:
        return [(1, None), (2, None)]
    if "holds" in bound:
        return [(bound["holds"], bound["holds"]), (bound["holds"], None)]
    # "3 or 4" is a range; "3 or 5" leaves out what lies between.
    if "next" in bound and bound["next"] != bound["at_least"] + 1:
        return []
    exact = bound.get("exactly", bound.get("plain"))
    at_least = bound["more"] + 1 if "more" in bound else bound.get("at_least", exact)
    at_most = bound["less"] - 1 if "less" in bound else bound.get("at_most", exact)
    return [(at_least, bound.get("next", at_most))]


def _around(number: int) -> tuple[int, int]:
    least, most = _ABOUT
    return math.ceil(number * least / 10), math.floor(number * most / 10)


def _readings(id_: str, rest: dict[str, Any], ranges: list[_Range]) -> Check | None:
    checks = []
    for at_least, at_most in ranges:
        if at_least is None and at_most is None:
            return None
        if (at_least or 0) > (at_most if at_most is not None else math.inf) or at_most == -1:
            return None
        if at_least == 0 and at_most is None:
            return None
        numbers = {"at_least": at_least, "at_most": at_most}
        args = rest | {name: number for name, number in numbers.items() if number is not None}
        if id_ == "heedful:count" and at_least == 0:
            args.pop("at_least")
        checks.append(Check(id=id_, args=args))
    return either(checks)


def either(checks: Sequence[Check]) -> Check:
    """Join readings of a text: what they agree on is decided."""
    if len(checks) == 1:
        return checks[0]
    return Check(id="heedful:either_reading", args={"checks": [*map(plain, checks)]})


def plain(check: Check) -> dict[str, Any]:
    """Write a check as the argument of another."""
    return {"id": check.id, "args": check.args}


def json_schema(bound: dict[str, Any]) -> dict[str, Any]:
    """Take what is bound of the shape of JSON: its type, and an array's items and their number."""
    schema: dict[str, Any] = {"type": bound.pop("shape")}
    if "items" in bound:
        schema["items"] = {"type": bound.pop("items")}
    ranges = _ranges(bound, lengths=False)
    limits = [name for name in _NUMBERS if name in bound]
    for name in limits:
        del bound[name]
    if limits and ranges:
        sizes = zip(("minItems", "maxItems"), ranges[0], strict=True)
        schema |= {name: size for name, size in sizes if size is not None}
    return schema


def as_bound(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make a check of what was bound, as it is."""
    for key in ("words", "text", "mark", "sign"):
        if key in bound:
            bound[key] = bool(bound[key]) if key == "words" else _single(bound[key])
    return Check(id=id_, args=bound)


def _single(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else value[0]


_OTHERWISE = {1: "heedful:starts_with", 2: "heedful:contains_any"}
"""By what is bound as ``loose``: what else than to be a phrase may be enough."""


def _equals(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of a whole response; "answer yes or no" may allow an explanation after it."""
    loose = bound.pop("loose", None)
    check = Check(id=id_, args=bound)
    other = _OTHERWISE.get(loose)
    return either([check, Check(id=other, args=bound)]) if other else check


def _at_end(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of what stands at the end; beside one emoji there, others may stand before."""
    return None if bound.get("holds") == 1 else phrase_check(id_, bound)


def _wrapped(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of marks; where two pairs bear one name, either may be meant."""
    marks = bound.pop("marks")
    pairs = (marks[at : at + 2] for at in range(0, len(marks), 2))
    return either([Check(id=id_, args=bound | {"marks": pair}) for pair in pairs])


def _json(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of JSON, maybe with some keys, maybe with these alone."""
    if exact := bound.pop("exact", None):
        return _only_keys(id_, bound, open_=exact != 1)
    return Check(id=id_, args=bound)


def _only_keys(id_: str, bound: dict[str, Any], *, open_: bool) -> Check:
    """Make the check of JSON with keys and no others; where that is open, by both readings."""
    keys = bound["keys"]
    only = {
        "type": "object",
        "required": keys,
        "properties": {key: {} for key in keys},
        "additionalProperties": False,
    }
    array = {"type": "array", "minItems": 1, "items": only}
    strict = Check(id=id_, args={"schema": {"anyOf": [only, array]}})
    return either([Check(id=id_, args=bound), strict]) if open_ else strict


def _any_of(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of phrases of which one is asked for, or so many."""
    if bound.get("at_least") == 1:
        del bound["at_least"]
    return Check(id=id_, args=bound)


def _neither(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of phrases that are listed, or of two: "neither “a” nor “b”"."""
    if bound.pop("instead", None):
        instead = Check(id="heedful:mentions", args={"phrases": [*bound["first"]]})
        without = Check(id=id_, args={"phrases": [*bound["second"]]})
        return Check(id="heedful:all", args={"checks": [plain(without), plain(instead)]})
    if "first" in bound:
        return Check(id=id_, args={"phrases": [*bound["first"], *bound["second"]]})
    return phrase_check(id_, bound)


def _each_word(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of each word's first letter."""
    return Check(id=id_, args={"capitals": True}) if "capital" in bound else None


MAKERS = {
    **dict.fromkeys(("heedful:contains", "heedful:excludes"), phrase_check),
    "heedful:wrapped": _wrapped,
    **dict.fromkeys(("heedful:table", "heedful:letters"), phrase_check),
    "heedful:at_end": _at_end,
    "heedful:json": _json,
    "heedful:equals": _equals,
    "heedful:excludes": _neither,
    "heedful:contains_any": _any_of,
    "heedful:each_word": _each_word,
}
