"""From what the grammar bound to a check: bounds, parts, and several clauses as one."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from heedful.core.nouns import Check
from heedful.verify.custom.counting import Unit
from heedful.verify.custom.verse import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.verify.compiler.grammar import Grammar, Values
    from heedful.verify.custom.parts import Part

_CACHE_SIZE = 1 << 14

_ABOUT = (9, 11)
"""Tenths: "X字" and "about X words" are met from 90 to 110 % (IF-Critic, arXiv 2511.01014)."""
_LENGTHS = frozenset(unit for unit in get_args(Unit) if unit.startswith(("zi", "char"))) | {
    "words",
    "han_characters",
    "letters",
}
"""Units of which a bare number means about that many."""
_IN_EVERY_TEXT = _LENGTHS | {"paragraphs", "sentences", "lines"}
"""Units that no response is free of: "no lines" must mean something else."""
_AMBIGUOUS = frozenset({"characters", "letters"})
"""Units whose names also mean something else: the characters of a story, letters to a friend."""
_FEW = 20
_SHORT = 30
"""A length up to this, of nothing that is named, may be meant of a passage such as a slogan."""
_NUMBERS = (
    "at_least", "at_most", "more", "less", "exactly", "about", "plain", "holds", "limit", "exact",
    "several", "next",
)  # fmt: skip
_EDGES = frozenset({"heedful:starts_with", "heedful:ends_with"})
_OF_PHRASES = frozenset({"heedful:contains", "heedful:excludes", "heedful:contains_any"})
_NOT_AT_EDGES = frozenset({"heedful:does_not_start_with", "heedful:does_not_end_with"})
_OF_WORDS = _EDGES | _NOT_AT_EDGES | _OF_PHRASES
_PREVIOUS = "previous"
_COUNTED_PARTS: dict[str, Part] = {
    "paragraphs": "paragraph",
    "sentences": "sentence",
    "lines": "line",
    "bullet_points": "list_item",
    "numbered_items": "list_item",
    "list_items": "list_item",
    "headings": "heading",
    "stanzas": "stanza",
    "points": "list_item",
}
_OF_THE_WHOLE = ("heedful:language", "heedful:case", "heedful:json")
_PHRASED = frozenset({"heedful:contains", "heedful:excludes", "heedful:letters"})
_ALONE = "alone"
"""Bound where a clause would be a condition if another clause followed."""
_LEANS = "leans"
"""Bound where a clause may speak of each of the things that the clause before it counts."""
_SINGLE = "single"
"""Bound where a clause says of what size the one thing is that the clause before it requires."""
_VERSE = "verse"
"""Bound where 句 may be a verse."""
_NONE = "none"
"""Bound where a clause goes on with what the clause before it forbids."""
_BARE = "bare"
"""Bound where a number stands without a verb, so that a bound named before may reach it."""
_AFTER = "after"
"""Bound where a bound follows its number, so that it may reach a bare one before that."""
_LETTER = "letter"
"""Bound where the response is a letter, whose greeting and sign-off may count or not."""
_SPREAD = "spread"
"""Bound where something holds throughout, so that its being there once is not enough."""
_EVERYWHERE = frozenset(
    f"heedful:{name}"
    for name in ("language", "case", "dates", "excludes", "does_not_mention", "no_repetition")
)
"""Checks of all that is written."""
_PASSED_OVER = frozenset(
    {"shown", _LETTER, _SPREAD, _AFTER, _ALONE, _BARE, _LEANS, _NONE, _SINGLE, _VERSE}
)
"""Values of parts that require nothing more, such as an example."""
_LISTED = frozenset({"phrases", "keys", "letters", "headers", "marks"})
_MAY_NOT_COUNT = frozenset({"punctuation_marks", "headings", "spaces"})


_BODY = "body"
_OF_BODY = _LENGTHS | {"paragraphs", "sentences", "lines"}
"""Units counted with and without a title; for all others, a title isn't part of the body."""


class Clause(NamedTuple):
    """One constraint of a text: the rule that covers it and what that bound."""

    rule: str
    values: Values


def together(grammar: Grammar, clauses: Iterable[Clause]) -> Check | None:
    """Join the checks of clauses.

    Args:
        grammar: that the clauses were matched by.
        clauses: of one text, in order.

    Returns:
        One check; ``None`` where it is open what a later clause speaks of, or where no text could
        do all that they say.
    """
    clauses = _with_verses(_with_parts(list(clauses)))
    if _is_open(grammar, clauses):
        return None
    checks = [check for clause in clauses if (check := build(grammar, *clause)) is not None]
    if len(checks) < len(clauses):
        return None
    distinct = _merged(checks)
    if _contradict(distinct):
        return None
    if len(distinct) == 1:
        return distinct[0]
    return Check(id="heedful:all", args={"checks": [_plain(each) for each in distinct]})


def _is_open(grammar: Grammar, clauses: list[Clause]) -> bool:
    """Check whether it is open what a clause speaks of, or whether it is a condition."""
    if any(dict(clause.values).get("part") == _PREVIOUS for clause in clauses):
        return True
    if len(clauses) > 1 and any((_ALONE, 1) in clause.values for clause in clauses):
        return True
    return any(_is_open_between(grammar, *pair) for pair in pairwise(clauses))


def _is_open_between(grammar: Grammar, before: Clause, after: Clause) -> bool:
    """Check whether a clause may speak of a part that the one before it names, or of the whole."""
    earlier, later = dict(before.values), dict(after.values)
    if "part" in earlier and "part" not in later:
        return True
    # "3 bullet points, at most 10 words": each of them, or all together?
    items = _COUNTED_PARTS.get(earlier.get("unit", "")) == "list_item"
    bare = after.rule == "count" and not {"of", "part"} & later.keys()
    leans = earlier.get("unit") in _COUNTED_PARTS and _LEANS in later
    if leans or (items and bare and later.get("unit") in _LENGTHS):
        return True
    single = (earlier.get("at_least"), earlier.get("at_most")) == (1, 1)
    if (
        (_NONE in later and not _forbids(before))
        or (_BARE in later and _reaches_on(earlier, later))
        or (_BARE in earlier and _AFTER in later)
        or (_SINGLE in later and not single)
    ):
        return True
    # "不含标点，100字以内" may say how to count.
    if any(
        limit.get("at_most") == 0
        and limit.get("unit") in _MAY_NOT_COUNT
        and other.get("unit") in _LENGTHS
        for limit, other in ((earlier, later), (later, earlier))
    ):
        return True
    # "Ends with “Thanks”, no punctuation" may speak of the end alone.
    return grammar.rules[before.rule] in _EDGES and later.get("at_most") == 0


def _reaches_on(earlier: dict[str, Any], later: dict[str, Any]) -> bool:
    """Check whether what is said of one number may hold for the bare one that follows.

    "At most 3 emojis and 2 hashtags", "3 emojis and 2 hashtags per paragraph".
    """
    part = later.get("part")
    if "unit" in earlier and part not in {None, _COUNTED_PARTS.get(earlier["unit"])}:
        return True
    bounds = {"at_least", "at_most", "more", "less", "about", "limit", "next"} & earlier.keys()
    return len(bounds) == 1 and earlier.get("at_most") != 0


def _forbids(clause: Clause) -> bool:
    """Check whether a clause forbids something in the whole response."""
    values = dict(clause.values)
    return values.get("at_most") == 0 and "unit" in values and "part" not in values


def _contradict(checks: list[Check]) -> bool:
    """Check whether no text can meet all: crossed bounds, or two languages for the whole text."""
    numbers = [
        (each.args.get("at_least", 0), each.args.get("at_most", math.inf)) for each in checks
    ]
    if any(least > most for least, most in numbers):
        return True
    ids = [check.id for check in checks]
    return any(ids.count(id_) > 1 for id_ in _OF_THE_WHOLE)


def _with_parts(clauses: list[Clause]) -> list[Clause]:
    """Say of what "each" is: in "3 paragraphs, each of 50 words" of the paragraphs."""
    for at, (before, clause) in enumerate(pairwise(clauses), start=1):
        part = _COUNTED_PARTS.get(dict(before.values).get("unit", ""))
        if part is not None and ("part", _PREVIOUS) in clause.values:
            values = (pair for pair in clause.values if pair != ("part", _PREVIOUS))
            clauses[at] = clause._replace(values=(*values, ("part", part)))
    return clauses


def _with_verses(clauses: list[Clause]) -> list[Clause]:
    """Take 句 for verses where each has so many 字 exactly: 四句，每句七字."""
    if not any(map(_is_of_verses, clauses)):
        return clauses
    return [clause._replace(values=tuple(map(_of_verses, clause.values))) for clause in clauses]


def _is_of_verses(clause: Clause) -> bool:
    values = dict(clause.values)
    number = values.get("plain", values.get("exactly", LONGEST + 1))
    return _VERSE in values and values.get("unit") in {"zi", "han_characters"} and number <= LONGEST


def _of_verses(value: tuple[str, Any]) -> tuple[str, Any]:
    verses = {("part", "sentence"): ("part", "verse"), ("unit", "sentences"): ("unit", "verses")}
    return verses.get(value, value) if isinstance(value[1], str) else value


def _merged(checks: Iterable[Check]) -> list[Check]:
    """Drop what is said twice, and make one count of a lower and an upper bound."""
    merged: dict[str, Check] = {}
    for check in checks:
        bounds = {"at_least", "at_most"} & check.args.keys()
        rest = {name: value for name, value in check.args.items() if name not in bounds}
        same = merged.get(key := repr((check.id, rest)))
        if same is None:
            merged[key] = check
        elif bounds and not bounds & same.args.keys():
            merged[key] = Check(id=check.id, args=same.args | check.args)
        elif check != same:
            merged[repr(check)] = check
    return list(merged.values())


def _plain(check: Check) -> dict[str, Any]:
    return {"id": check.id, "args": check.args}


@lru_cache(maxsize=_CACHE_SIZE)
def build(grammar: Grammar, rule: str, values: Values) -> Check | None:
    """Make the check of one clause; ``None`` where what was bound does not go together.

    Args:
        grammar: says which verifier a rule names.
        rule: that matched.
        values: that it bound.
    """
    bound = {key: value for key, value in values if key not in _PASSED_OVER}
    id_ = grammar.rules[rule]
    conflict = any(bound.get(key, value) != value for key, value in values)
    if conflict or _depends_on_place(id_, dict(values)) or _is_of_letters(id_, bound):
        return None
    listed, subject = bound.pop("listed", None), bound.pop("of", None)
    if subject == _BODY and id_ in _OF_PHRASES and "part" not in bound:
        bound["part"] = _BODY
    elif subject == _BODY and bound.get("unit") not in _OF_BODY:
        return None
    if "shape" in bound:
        bound["schema"] = {"type": bound.pop("shape")}
    for key in _LISTED & bound.keys():
        bound[key] = [bound[key]] if isinstance(bound[key], str) else list(bound[key])
    if listed is not None and any(listed != len(bound[key]) for key in _LISTED & bound.keys()):
        return None
    if id_ == "heedful:count":
        return _count(bound, named=subject is not None)
    if id_ in _PHRASED:
        return _phrased(id_, bound)
    return _if_json(bound["keys"]) if "may_be" in bound else Check(id=id_, args=bound)


def _depends_on_place(id_: str, values: dict[str, Any]) -> bool:
    """Check whether it matters where the things stand: all over the text, beside a greeting."""
    blocks = {"paragraphs", "lines", "paragraph", "line"}
    if _LETTER in values and {values.get("unit"), values.get("part")} & blocks:
        return True
    most = "at_most" in values and "at_least" not in values
    everywhere = most or id_ in _EVERYWHERE or values.get("unit") in _LENGTHS
    return _SPREAD in values and not everywhere


def _is_of_letters(id_: str, bound: dict[str, Any]) -> bool:
    """Check whether a phrase is a letter, with which a word may begin, or which it may hold."""
    words = {"I"} if id_ in _NOT_AT_EDGES else {"I", "a", "A"} if id_ in _OF_PHRASES else set()
    return id_ in _OF_WORDS and any(
        len(each) == 1 and each.isascii() and each.isalpha() and each not in words
        for each in bound.get("phrases", ())
    )


def _if_json(keys: list[str]) -> Check:
    """Make the check of keys that may be those of JSON, or of a keyboard: only JSON can meet it."""
    readings = (
        Check(id="heedful:json", args={"keys": keys}),
        Check(id="heedful:contains", args={"phrases": keys, "at_least": 0}),
    )
    return Check(id="heedful:either_reading", args={"checks": [_plain(each) for each in readings]})


def _is_few(bounds: _Range) -> bool:
    return max(number or 0 for number in bounds) in range(1, _FEW + 1)


def _is_of_page(bound: dict[str, object]) -> bool:
    """Check whether it is up to the width of the page, as how many lines a paragraph fills."""
    return bound["unit"] == "lines" and bound.get("part") not in {None, "stanza", _PREVIOUS}


def _count(bound: dict[str, Any], *, named: bool) -> Check | None:
    if "unit" not in bound or _is_of_page(bound):
        return None
    limits = [name for name in _NUMBERS if name in bound]
    ranges = _ranges(bound, bound["unit"] in _LENGTHS)
    if ranges and ranges[0][1] == 0 and bound["unit"] in _IN_EVERY_TEXT:
        return None
    if not ranges or (bound["unit"] in _AMBIGUOUS and _is_few(ranges[0])):
        return None
    rest = {key: value for key, value in bound.items() if key not in {*limits, "mention"}}
    short = bound["unit"] in _LENGTHS and (ranges[0][1] or _SHORT + 1) <= _SHORT
    if short and not named and "part" not in rest:
        rest["part"] = "passage"
    return _readings("heedful:count", rest, ranges)


def _phrased(id_: str, bound: dict[str, Any]) -> Check | None:
    phrases = bound.get("phrases", ())
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


_Range = tuple[int | None, int | None]


def _ranges(bound: dict[str, Any], lengths: bool) -> list[_Range]:  # noqa: FBT001 - a kind of unit
    """Work out the bounds that a number stands for; several where it has several readings.

    None at all where it stays open which.
    """
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
    if len(checks) == 1:
        return checks[0]
    args = {"checks": [_plain(each) for each in checks]}
    return Check(id="heedful:either_reading", args=args)
