"""From what the grammar bound to a check: bounds, parts, and several clauses as one."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations, pairwise, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.nouns import Check
from heedful.verify.compiler.makers import (
    LENGTHS,
    MAKERS,
    PREVIOUS,
    as_bound,
    count_check,
    json_schema,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.verify.compiler.grammar import Grammar, Values
    from heedful.verify.custom.parts import Part

_CACHE_SIZE = 1 << 14

_EDGES = frozenset({"heedful:starts_with", "heedful:ends_with"})
_OF_PHRASES = frozenset({"heedful:contains", "heedful:excludes", "heedful:contains_any"})
_NOT_AT_EDGES = frozenset({"heedful:does_not_start_with", "heedful:does_not_end_with"})
_OF_WORDS = _EDGES | _NOT_AT_EDGES | _OF_PHRASES
_COUNTED_PARTS: dict[str, Part] = {
    "paragraphs": "paragraph",
    "sentences": "sentence",
    "lines": "line",
    "bullet_points": "list_item",
    "numbered_items": "list_item",
    "list_items": "list_item",
    "headings": "heading",
    "subheadings": "heading",
    "stanzas": "stanza",
    "points": "list_item",
}
_OF_THE_WHOLE = ("heedful:language", "heedful:case", "heedful:json")
_ALONE = "alone"
"""Bound where a clause would be a condition if another clause followed."""
_LEANS = "leans"
"""Bound where a clause may speak of each of the things that the clause before it counts."""
_VERSE = "verse"
"""Bound where 句 may be a verse."""
_NONE = "none"
"""Bound where a clause goes on with what the clause before it forbids."""
_BARE = "bare"
"""Bound where a number stands without a verb, so that a bound named before may reach it."""
_COPIES = "copies"
"""Bound where the subject is of a kind of which a response may hold several: 文案."""
_LIMITS = frozenset({"at_least", "at_most", "more", "less", "exactly", "plain", "holds", "limit"})
_BOUNDS = frozenset({"at_least", "at_most", "more", "less", "about", "limit", "next"})
_ANSWERS = "answers"
"""Bound after "respond with", so that what follows may be all of the response."""
_SPREAD = "spread"
"""Bound where something holds throughout, so that its being there once is not enough."""
_EVERYWHERE = frozenset(
    f"heedful:{name}" for name in ("language", "case", "excludes", "does_not_mention")
)
"""Checks of all that is written."""
_PASSED_OVER = frozenset(
    {"shown", _COPIES, _SPREAD, _ANSWERS, _ALONE, _BARE, _LEANS, _NONE, _VERSE}
)
"""Values of parts that require nothing more, such as an example."""
_LISTED = frozenset({"phrases", "keys", "letters", "headers", "marks", "starts", "ends"})
_MAY_BE_ALL = frozenset({"emojis", "different_emojis", "numbers", "links", "hashtags", "questions"})
"""Units of which a response may consist: "respond with one emoji"."""
_MAY_NOT_COUNT = frozenset({"punctuation_marks", "headings"})


_BODY = "body"
_OF_BODY = LENGTHS | {"paragraphs", "sentences", "lines"}
"""Units counted with and without a title; for all others, a title isn't part of the body."""


class Clause(NamedTuple):
    """One constraint of a text: the rule that covers it and what that bound."""

    rule: str
    values: Values


def together(grammar: Grammar, clauses: Iterable[Clause]) -> Check | None:
    """Join the checks of clauses."""
    clauses = _with_parts(_with_open_numbers(list(clauses)))
    if _is_open(grammar, clauses):
        return None
    checks = [check for clause in clauses if (check := build(grammar, *clause)) is not None]
    if len(checks) < len(clauses):
        return None
    distinct = _merged(checks)
    if _contradict(distinct) or any(starmap(_are_of_two_texts, combinations(distinct, 2))):
        return None
    if len(distinct) == 1:
        return distinct[0]
    return Check(id="heedful:all", args={"checks": [*map(plain, distinct)]})


def _is_open(grammar: Grammar, clauses: list[Clause]) -> bool:
    """Check whether it is open what a clause speaks of, or whether it is a condition."""
    if any(dict(clause.values).get("part") == PREVIOUS for clause in clauses):
        return True
    if any(map(_is_of_verses, clauses)):
        return True
    if len(clauses) > 1 and any((_ALONE, 1) in clause.values for clause in clauses):
        return True
    if any(starmap(_may_be_of_each, combinations(clauses, 2))):
        return True
    return any(_is_open_between(grammar, *pair) for pair in pairwise(clauses))


_USUAL_LENGTH = 30
"""Words or 字 of a part: of so many or fewer, each part may be meant."""
_USUAL_NUMBER = 4
"""Sentences or lines of a part, likewise."""


def _may_be_of_each(before: Clause, after: Clause) -> bool:
    """Check whether a number may be of each thing counted before: "3 points, at most 10 words"."""
    earlier, later = dict(before.values), dict(after.values)
    unit = later.get("unit")
    if earlier.get("unit") not in _COUNTED_PARTS.keys() - {unit} or {"of", "part"} & later.keys():
        return False
    number = max((earlier[key] for key in _LIMITS & earlier.keys()), default=0)
    if number <= 1 or unit not in {*LENGTHS, "sentences", "lines"}:
        return False
    most = number * (_USUAL_LENGTH if unit in LENGTHS else _USUAL_NUMBER)
    return any(0 < later[key] < most for key in _LIMITS & later.keys())


def _is_open_between(grammar: Grammar, before: Clause, after: Clause) -> bool:
    """Check whether a clause may speak of a part that the one before it names, or of the whole."""
    earlier, later = dict(before.values), dict(after.values)
    if "part" in earlier and "part" not in later:
        # "Each sentence has at most 9 words, 4 sentences": no sentence holds four.
        return bool(earlier["part"] != _COUNTED_PARTS.get(later.get("unit", "")))
    if earlier.get("unit") in _COUNTED_PARTS and _LEANS in later:
        return True
    # "No more than 3 paragraphs, 5 lists": no more than five?
    if _BARE in later and earlier.get("at_most") != 0 and len(_BOUNDS & earlier.keys()) == 1:
        return True
    forbids = earlier.get("at_most") == 0 and "unit" in earlier and "part" not in earlier
    # "分点作答，标题加粗": the title of each point?
    of_points = earlier.get("format") == "points" and later.get("part") == "title"
    if of_points or (_NONE in later and not forbids):
        return True
    # "不含标点，100字以内" may say how to count.
    forbidden = {each.get("unit") for each in (earlier, later) if each.get("at_most") == 0}
    if forbidden & _MAY_NOT_COUNT and {earlier.get("unit"), later.get("unit")} & LENGTHS:
        return True
    # "Ends with “Thanks”, no punctuation" may speak of the end alone.
    return grammar.rules[before.rule] in _EDGES and later.get("at_most") == 0


def _contradict(checks: list[Check]) -> bool:
    """Check whether no text can meet all: crossed bounds, or two languages for the whole text."""
    numbers = [
        (each.args.get("at_least", 0), each.args.get("at_most", math.inf)) for each in checks
    ]
    if any(least > most for least, most in numbers):
        return True
    ids = [check.id for check in checks]
    return any(ids.count(id_) > 1 for id_ in _OF_THE_WHOLE)


_WHOLE = frozenset({None, "passage", "copy"})
_LISTED_UNITS = frozenset(unit for unit, part in _COUNTED_PARTS.items() if part == "list_item")


def _are_of_two_texts(one: Check, other: Check) -> bool:
    """Check whether two counts are of two texts: a 200-word story and a 50-word summary."""
    (first, part), (second, other_part) = map(_counted, (one, other))
    if not {part, other_part} <= _WHOLE or not (first and second):
        return False
    units = {first, second}
    return len(units) == 1 or bool("sentences" in units and units & _LISTED_UNITS)


def _counted(check: Check) -> tuple[str | None, str | None]:
    """Name the unit that a check counts, by each of its readings, and in which part."""
    first = Check.model_validate(check.args["checks"][0]) if "checks" in check.args else check
    return first.args.get("unit"), first.args.get("part")


def _with_open_numbers(clauses: list[Clause]) -> list[Clause]:
    """Let a verb before reach the bare number of a later clause: 包含标题和四个句子."""
    return [
        clause._replace(values=tuple(map(_held, clause.values)))
        if at and clause.rule == "count_zh" and (_BARE, 1) in clause.values
        else clause
        for at, clause in enumerate(clauses)
    ]


def _held(value: tuple[str, Any]) -> tuple[str, Any]:
    return ("holds", value[1]) if value[0] == "plain" else value


def _with_parts(clauses: list[Clause]) -> list[Clause]:
    """Say of what "each" is: in "3 paragraphs, each of 50 words" of the paragraphs."""
    for at, (before, clause) in enumerate(pairwise(clauses), start=1):
        part = _COUNTED_PARTS.get(dict(before.values).get("unit", ""))
        if part is not None and ("part", PREVIOUS) in clause.values:
            values = (pair for pair in clause.values if pair != ("part", PREVIOUS))
            clauses[at] = clause._replace(values=(*values, ("part", part)))
    return clauses


_LONGEST_VERSE = 10
"""字. A 句 of more, required exactly, may be a sentence of prose."""


def _is_of_verses(clause: Clause) -> bool:
    """Check whether 句 may be a verse, which a comma ends: 四句，每句七字."""
    values = dict(clause.values)
    number = values.get("plain", values.get("exactly", _LONGEST_VERSE + 1))
    return (
        _VERSE in values
        and values.get("unit") in {"zi", "han_characters"}
        and number <= _LONGEST_VERSE
    )


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


@lru_cache(maxsize=_CACHE_SIZE)
def build(grammar: Grammar, rule: str, values: Values) -> Check | None:
    """Make the check of one clause; ``None`` where what was bound does not go together."""
    bound = {key: value for key, value in values if key not in _PASSED_OVER}
    id_ = grammar.rules[rule]
    conflict = any(bound.get(key, value) != value for key, value in values)
    if conflict or _depends_on_place(id_, dict(values)) or not _placed(id_, bound, dict(values)):
        return None
    listed, subject = bound.pop("listed", None), bound.pop("of", None)
    strictly = bound.pop("strictly", None)
    if strictly and id_ == "heedful:json":
        bound["alone"] = True
    if "shape" in bound:
        bound["schema"] = json_schema(bound)
    for key in _LISTED & bound.keys():
        bound[key] = [bound[key]] if isinstance(bound[key], str) else list(bound[key])
    if listed is not None and any(listed != len(bound[key]) for key in _LISTED & bound.keys()):
        return None
    if id_ == "heedful:count":
        return count_check(bound, named=subject is not None)
    return None if _is_of_letters(id_, bound) else MAKERS.get(id_, as_bound)(id_, bound)


def _placed(id_: str, bound: dict[str, Any], values: dict[str, Any]) -> bool:
    """Bind the part that is meant by a body; say whether it may be meant."""
    only = {"exactly", "plain"} & bound.keys() or (bound.get("at_least") == bound.get("at_most"))
    answers = _ANSWERS in values or (_LEANS in values and "of" in values)
    if answers and only and bound.get("unit") in _MAY_BE_ALL:
        return False
    if _COPIES in values and bound.get("unit") in LENGTHS:
        bound.setdefault("part", "copy")
    if bound.get("of") == _BODY and id_ in _OF_PHRASES and "part" not in bound:
        bound["part"] = _BODY
    elif bound.get("of") == _BODY and bound.get("unit") not in _OF_BODY:
        return False
    return True


def _depends_on_place(id_: str, values: dict[str, Any]) -> bool:
    """Check whether the things must stand all over the text."""
    most = "at_most" in values and "at_least" not in values
    everywhere = most or id_ in _EVERYWHERE or values.get("unit") in LENGTHS
    return _SPREAD in values and not everywhere


def _is_of_letters(id_: str, bound: dict[str, Any]) -> bool:
    """Check whether a phrase is a letter, with which a word may begin, or which it may hold."""
    words = {"I"} if id_ in _NOT_AT_EDGES else {"I", "a", "A"} if id_ in _OF_PHRASES else set()
    return (
        id_ in _OF_WORDS
        and "words" not in bound
        and any(
            len(each) == 1 and each.isascii() and each.isalpha() and each not in words
            for each in bound.get("phrases", ())
        )
    )
