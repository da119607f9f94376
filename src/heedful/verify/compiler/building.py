"""From what the grammar bound to a check: each verifier's own, and several clauses as one."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import combinations, pairwise, starmap
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from heedful.core.nouns import Check
from heedful.verify.custom.counting import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heedful.verify.compiler.grammar import Grammar, Values
    from heedful.verify.custom.parts import Part

# --- the check of one clause --------------------------------------------------------------------

_ABOUT = (9, 11)
"""Tenths: "X字" and "about X words" are met from 90 to 110 % (IF-Critic, arXiv 2511.01014)."""
_LENGTHS = frozenset(unit for unit in get_args(Unit) if unit.startswith(("zi", "char"))) | {
    "words",
    "han_characters",
    "letters",
}
"""Units of which a bare number means about that many."""
_IN_EVERY_TEXT = _LENGTHS | {"paragraphs", "sentences", "lines"}
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
_PREVIOUS = "previous"
"""The part of a clause that speaks of what the clause before it counts."""


def _is_few(bounds: _Range) -> bool:
    return max(number or 0 for number in bounds) in range(1, _FEW + 1)


def _is_of_page(bound: dict[str, Any]) -> bool:
    """Check whether it is up to the page, as how many lines a paragraph fills."""
    whole = {None, "stanza", "passage", "body", "section", "copy", _PREVIOUS}
    return bound["unit"] == "lines" and bound.get("part") not in whole


def _count_check(bound: dict[str, Any], *, named: bool) -> Check | None:
    """Make the check of a count; ``None`` where unit or number is ambiguous."""
    if bound.get("part") == "heading" and bound.get("unit") not in _LENGTHS:
        bound["part"] = "section"  # what stands below it is meant
    if "unit" not in bound or _is_of_page(bound):
        return None
    limits = [name for name in _NUMBERS if name in bound]
    ranges = _ranges(bound, bound["unit"] in _LENGTHS and bound.get("part") not in _WITHOUT_A_STORY)
    if ranges and ranges[0][1] == 0 and bound["unit"] in _IN_EVERY_TEXT:
        return None
    ambiguous = bound["unit"] in _AMBIGUOUS and bound.get("part") not in _WITHOUT_A_STORY
    if not ranges or (ambiguous and _is_few(ranges[0])):
        return None
    rest = {key: value for key, value in bound.items() if key not in {*limits, "mention"}}
    short = bound["unit"] in _LENGTHS and (ranges[0][1] or _SHORT + 1) <= _SHORT
    if short and not named and "part" not in rest:
        rest["part"] = "passage"
    return _readings("heedful:count", rest, ranges)


def _phrase_check(id_: str, bound: dict[str, Any]) -> Check | None:
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
    return Check(id="heedful:either_reading", args={"checks": [*map(_plain, checks)]})


def _plain(check: Check) -> dict[str, Any]:
    """Write a check as the argument of another."""
    return {"id": check.id, "args": dict(sorted(check.args.items()))}


def _json_schema(bound: dict[str, Any]) -> dict[str, Any]:
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


def _as_bound(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make a check of what was bound, as it is."""
    for key in ("words", "text", "mark", "sign"):
        if key in bound:
            bound[key] = bool(bound[key]) if key == "words" else _single(bound[key])
    return Check(id=id_, args=bound)


def _single(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else value[0]


_OTHERWISE = {1: "heedful:starts_with", 2: "heedful:contains_any", 3: "heedful:contains"}
"""By what is bound as ``loose``: what else than to be a phrase, or at an edge, may be enough."""


def _loosely(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make a check by two readings; "answer yes or no" may allow an explanation after it."""
    loose = bound.pop("loose", None)
    check = _as_bound(id_, bound)
    other = _OTHERWISE.get(loose)
    return either([check, Check(id=other, args=bound)]) if other and check else check


def _at_end(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of what stands at the end; beside one emoji there, others may stand before."""
    return None if bound.get("holds") == 1 else _phrase_check(id_, bound)


def _listed(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of what is listed; one thing is no list."""
    few = any(bound.get(name) == 1 for name in _NUMBERS)
    return None if few else _phrase_check(id_, bound)


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


def _headed(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of headings, maybe of a level."""
    unit = bound.pop("unit", None)  # level_2_headings
    for name in _NUMBERS:
        bound.pop(name, None)
    return Check(id=id_, args=bound | ({"level": int(unit.split("_")[1])} if unit else {}))


def _neither(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of phrases that are listed, or of two: "neither “a” nor “b”"."""
    if bound.pop("instead", None):
        instead = Check(id="heedful:mentions", args={"phrases": [*bound["first"]]})
        without = Check(id=id_, args={"phrases": [*bound["second"]]})
        return Check(id="heedful:all", args={"checks": [_plain(without), _plain(instead)]})
    if "first" in bound:
        return Check(id=id_, args={"phrases": [*bound["first"], *bound["second"]]})
    return _phrase_check(id_, bound)


_MAKERS = {
    **dict.fromkeys(("heedful:contains", "heedful:excludes"), _phrase_check),
    "heedful:wrapped": _wrapped,
    **dict.fromkeys(("heedful:table", "heedful:letters"), _phrase_check),
    "heedful:listed": _listed,
    "heedful:at_end": _at_end,
    "heedful:headed": _headed,
    "heedful:json": _json,
    **dict.fromkeys(("heedful:equals", "heedful:starts_with"), _loosely),
    "heedful:excludes": _neither,
}


# --- several clauses as one -----------------------------------------------------------------------

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
    f"heedful:{name}" for name in ("language", "case", "excludes", "does_not_mention", "each_word")
)
"""Checks of all that is written."""
_LISTING = "listing"
"""Bound where things are listed, whatever they are: the unit that they would be."""
_ANYTHING = re.compile(
    "tips|points|items|ideas|suggestions|examples|options|things|entries"
    "|建议|要点|例子|选项|想法|观点|意见|方法|理由|原因|步骤",
    re.IGNORECASE,
)
"""Kinds of things that whatever is listed is of."""
_PASSED_OVER = frozenset(
    {"shown", _COPIES, _SPREAD, _ANSWERS, _ALONE, _BARE, _LEANS, _NONE, _VERSE, _LISTING}
)
"""Values of parts that require nothing more, such as an example."""
_LISTED = frozenset({"phrases", "keys", "letters", "headers", "marks", "starts", "ends"})
_MAY_BE_ALL = frozenset({"emojis", "different_emojis", "numbers", "links", "hashtags", "questions"})
"""Units of which a response may consist: "respond with one emoji"."""
_MAY_NOT_COUNT = frozenset({"punctuation_marks", "headings"})


_BODY = "body"
_OF_BODY = _LENGTHS | {"paragraphs", "sentences", "lines"}
"""Units counted with and without a title; for all others, a title isn't part of the body."""


class Clause(NamedTuple):
    """One constraint of a text: the rule that covers it and what that bound."""

    rule: str
    values: Values


def together(grammar: Grammar, clauses: Iterable[Clause]) -> Check | None:
    """Join the checks of clauses."""
    clauses = _with_parts(list(clauses))
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
    return Check(id="heedful:all", args={"checks": [*map(_plain, distinct)]})


def _is_open(grammar: Grammar, clauses: list[Clause]) -> bool:
    """Check whether it is open what a clause speaks of, or whether it is a condition."""
    if any(dict(clause.values).get("part") == _PREVIOUS for clause in clauses):
        return True
    if _count_verses(clauses):
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
    if _unit_of(earlier) not in _COUNTED_PARTS.keys() - {unit} or {"of", "part"} & later.keys():
        return False
    number = max((earlier[key] for key in _LIMITS & earlier.keys()), default=0)
    if number <= 1 or unit not in {*_LENGTHS, "sentences", "lines"}:
        return False
    most = number * (_USUAL_LENGTH if unit in _LENGTHS else _USUAL_NUMBER)
    return any(0 < later[key] < most for key in _LIMITS & later.keys())


def _unit_of(values: dict[str, Any]) -> str:
    """Name what a clause counts, or lists."""
    return str(values.get("unit", values.get(_LISTING, "")))


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
    if forbidden & _MAY_NOT_COUNT and {earlier.get("unit"), later.get("unit")} & _LENGTHS:
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


def _with_parts(clauses: list[Clause]) -> list[Clause]:
    """Say of what "each" is: in "3 paragraphs, each of 50 words" of the paragraphs."""
    for at, (before, clause) in enumerate(pairwise(clauses), start=1):
        part = _COUNTED_PARTS.get(_unit_of(dict(before.values)))
        if part is not None and ("part", _PREVIOUS) in clause.values:
            values = (pair for pair in clause.values if pair != ("part", _PREVIOUS))
            clauses[at] = clause._replace(values=(*values, ("part", part)))
    return clauses


_LONGEST_VERSE = 10
"""字. A 句 of more, required exactly, may be a sentence of prose."""


def _count_verses(clauses: list[Clause]) -> bool:
    """Check whether 句 that are counted may be verses, which a comma ends: 四句，每句七字."""
    counted = [values for each in clauses if (values := dict(each.values)).get("unit")]
    verses = any(_VERSE in values and _length_of_verses(values) for values in counted)
    return any(values["unit"] == "sentences" and (verses or _VERSE in values) for values in counted)


def _length_of_verses(bound: dict[str, Any]) -> Check | None:
    """Make the check of each verse's length, 每句七字: unmet only where no verse has it."""
    number = bound.get("plain", bound.get("exactly", _LONGEST_VERSE + 1))
    if bound.get("unit") not in {"zi", "han_characters"} or number > _LONGEST_VERSE:
        return None
    length = {"unit": "han_characters", "at_least": number, "at_most": number, "part": "verse"}
    return either(
        [Check(id="heedful:count", args=length | {"which": each}) for each in ("each", "some")]
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
        bound["schema"] = _json_schema(bound)
    for key in _LISTED & bound.keys():
        bound[key] = [bound[key]] if isinstance(bound[key], str) else list(bound[key])
    if "kind" in bound:
        (kind,) = bound.pop("kind")
        bound |= {} if _ANYTHING.fullmatch(kind) else {"kind": kind}
    if listed is not None and any(listed != len(bound[key]) for key in _LISTED & bound.keys()):
        return None
    if id_ == "heedful:count":
        verses = _length_of_verses(bound) if (_VERSE, 1) in values and "part" in bound else None
        sentences = bound.get("part") != _VERSE
        return verses or (_count_check(bound, named=subject is not None) if sentences else None)
    return None if _is_of_letters(id_, bound) else _MAKERS.get(id_, _as_bound)(id_, bound)


def _placed(id_: str, bound: dict[str, Any], values: dict[str, Any]) -> bool:
    """Bind the part that is meant by a body; say whether it may be meant."""
    only = {"exactly", "plain"} & bound.keys() or (bound.get("at_least") == bound.get("at_most"))
    answers = _ANSWERS in values or (_LEANS in values and "of" in values)
    if answers and only and bound.get("unit") in _MAY_BE_ALL:
        return False
    if _COPIES in values and bound.get("unit") in _LENGTHS:
        bound.setdefault("part", "copy")
    if bound.get("of") == _BODY and id_ in _OF_PHRASES and "part" not in bound:
        bound["part"] = _BODY
    elif bound.get("of") == _BODY and bound.get("unit") not in _OF_BODY:
        return False
    return True


def _depends_on_place(id_: str, values: dict[str, Any]) -> bool:
    """Check whether the things must stand all over the text."""
    most = "at_most" in values and "at_least" not in values
    everywhere = most or id_ in _EVERYWHERE or values.get("unit") in _LENGTHS
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
