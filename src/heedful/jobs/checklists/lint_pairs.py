"""Pairs of constraints that say the same, or what no response can meet both of."""

from __future__ import annotations

import math
import re
import unicodedata
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.nouns import Check
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from heedful.core.nouns import Constraint

ALIKE = 0.9
"""Share of words in common from which two constraints with equal numbers are the same."""

_NOT = re.compile(
    r"\b(?:not|no|never|without|none|cannot|fail(?:s|ed|ing)?\s+to)\b|n['’]t\b"
    r"|[不勿]要|不[得能可准许]|[不没未勿无]",
    re.IGNORECASE,
)
_SMALL_WORDS = (
    "a an the it its is are be to of in on at and or does do did response must should that this "
    "with for has have any"
)
_SMALL = frozenset(_SMALL_WORDS.split())


class _Read(NamedTuple):
    """A constraint, ready to be compared."""

    plain: str
    words: frozenset[str]
    numbers: tuple[str, ...]
    negations: int
    penalty: bool
    readings: tuple[Check, ...]


def alike_or_opposite(checklist: Sequence[Constraint]) -> Iterator[tuple[int, bool, str]]:
    """Find pairs that say the same, or the opposite."""
    for (at, first), (to, second) in combinations(enumerate(map(_read, checklist), start=1), 2):
        if not (first.plain and second.plain):
            continue
        penalties = first.penalty + second.penalty
        negated = (first.negations + second.negations) % 2 == 1
        same_words = first.plain == second.plain and first.negations == second.negations
        near = first.numbers == second.numbers and _share(first.words, second.words) >= ALIKE
        same = same_words or (near and not negated) or _same(first.readings, second.readings)
        opposite = (near and negated and not same) or _clash(first.readings, second.readings)
        if penalties == 1 and (same or (near and negated)):
            reason = (
                "it takes points for what constraint {} gives them"
                if same
                else "it takes points for the opposite of constraint {}: that counts twice"
            )
            yield to, same, reason.format(at)
        elif opposite and not penalties:
            yield to, True, f"no response can meet it and constraint {at}"
        elif opposite and penalties == 2 and near:  # noqa: PLR2004 - both
            yield to, True, f"each response makes the mistake of it or of constraint {at}"
        elif same:
            yield to, False, f"it says the same as constraint {at}, and counts twice"


def _read(constraint: Constraint) -> _Read:
    folded = unicodedata.normalize("NFKC", constraint.text).casefold()
    bare = _NOT.sub(" ", folded)
    words = re.findall(r"[^\W\d_]+", bare)
    spread = (
        word if word.isascii() else part
        for word in words
        for part in ((word,) if word.isascii() else word)
    )
    check = constraint.check or compile_constraint(constraint.text).check
    return _Read(
        " ".join(re.findall(r"\w+", folded)),
        # "mentions" and "does not mention": one ending is enough to tell.
        frozenset(word.removesuffix("s") for word in spread if word not in _SMALL),
        tuple(re.findall(r"\d+(?:\.\d+)?", folded)),
        len(_NOT.findall(folded)),
        constraint.is_penalty,
        () if check is None else tuple(_readings(check)),
    )


def _readings(check: Check) -> Iterator[Check]:
    if check.id != "heedful:either_reading":
        yield check
        return
    for each in check.args.get("checks", ()):
        if isinstance(each, dict) and isinstance(each.get("id"), str):
            yield Check(id=each["id"], args=each.get("args", {}))


def _share(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 0.0


def _same(first: Sequence[Check], second: Sequence[Check]) -> bool:
    return bool(first) and [_key(each) for each in first] == [_key(each) for each in second]


def _key(check: Check) -> tuple[str, str]:
    return check.id, repr(sorted(check.args.items()))


def _clash(first: Sequence[Check], second: Sequence[Check]) -> bool:
    """Tell whether nothing meets both, however each is read."""
    pairs = list(product(first, second))
    return bool(pairs) and all(_exclude(*pair) or _exclude(*pair[::-1]) for pair in pairs)


def _exclude(one: Check, other: Check) -> bool:
    a, b = one.args, other.args
    if (one.id, other.id) == ("heedful:mentions", "heedful:does_not_mention"):
        wanted = _phrases(a)
        return bool(wanted) and {*wanted} <= {*_phrases(b)}
    if one.id != other.id:
        return False
    if one.id in _ONE_OF:
        name = _ONE_OF[one.id]
        # A dialect (zh-TW) is its language, too.
        values = {str(args.get(name)).casefold().partition("-")[0] for args in (a, b)}
        return len(values) > 1 and a.keys() == b.keys() == {name}
    if one.id in _EDGES:
        within = _EDGES[one.id]
        pairs = list(product(_phrases(a), _phrases(b)))
        return bool(pairs) and not any(within(x, y) or within(y, x) for x, y in pairs)
    return _no_number_suits_both(a, b)


_ONE_OF = {"heedful:language": "language", "heedful:case": "case"}
"""Checks that hold of a response for one value of an argument alone."""

_EDGES: dict[str, Callable[[str, str], bool]] = {
    "heedful:starts_with": str.startswith,
    "heedful:ends_with": str.endswith,
}


def _phrases(args: dict[str, Any]) -> list[str]:
    """Return phrases as they are compared: letters and digits, in small letters."""
    given = args.get("phrases")
    folded = (
        " ".join(re.findall(r"\w+", each.casefold()))
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, str)
    )
    phrases = list(folded)
    return phrases if all(phrases) else []  # signs alone may be markup, which stands before all


def _no_number_suits_both(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Tell whether two count the same thing, and their bounds have no number in common."""
    bounds = {"at_least", "at_most"}
    if not (bounds & a.keys() and bounds & b.keys()):
        return False
    if {k: v for k, v in a.items() if k not in bounds} != {
        k: v for k, v in b.items() if k not in bounds
    }:
        return False
    ends = (
        [args.get("at_least", 0) for args in (a, b)],
        [args.get("at_most", math.inf) for args in (a, b)],
    )
    if not all(isinstance(end, int | float) for side in ends for end in side):
        return False
    return bool(max(ends[0]) > min(ends[1]))
