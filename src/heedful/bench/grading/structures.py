"""Comparing answers by their structure: matrices, sets, lists, tuples, equations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.bench.grading import latex, symbolic
from heedful.bench.grading.leaves import EqualityResult, Method, compare_leaves
from heedful.bench.grading.names import NAME, memberships, name_of, of_same_letter, spread, value_of
from heedful.bench.grading.numerals import numeral
from heedful.bench.grading.regions import relation, same_region, says_region

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_ITEMS = 64
"""Items in a list that is compared without order."""

_DOTS = re.compile(r"\.\.\.|\\[lcd]?dots")
_OR = re.compile(r"(?<![a-zA-Z\\])or(?![a-zA-Z])")
_LETTERS = re.compile("[a-zA-Z]")
_LETTER = re.compile("[A-Z]")
_MEMBER = re.compile(r"^\s*[a-zA-Z]\s*\\in(?![a-z])\s*")


def compared(gold: str, answer: str) -> EqualityResult:
    """Compare two tidied answers by their structure."""
    gold, answer = spread(gold), spread(answer)
    for structure in (_matrices, _regions, _memberships, _lists, _equations):
        result = structure(gold, answer)
        if result is not None:
            return result
    return compare_leaves(gold, answer)


def _all(pairs: Sequence[tuple[str, str]], method: Method = "set") -> EqualityResult:
    """Compare pairs in order: one that differs decides."""
    undecided = ""
    for left, right in pairs:
        result = compared(left, right)
        if result.equal is False:
            return EqualityResult(equal=False, method=method)
        undecided = undecided or result.reason
    return (
        EqualityResult(None, method, undecided)
        if undecided
        else EqualityResult(equal=True, method=method)
    )


def _any_order(gold: list[str], answer: list[str], *, repeated: bool = False) -> EqualityResult:
    """Compare lists without order: each item of one has its own counterpart in the other."""
    if repeated and (len(_distinct(gold)), len(_distinct(answer))) != (len(gold), len(answer)):
        if _matched(gold, answer).equal:
            return EqualityResult(equal=True, method="set")
        result = _matched(_distinct(gold), _distinct(answer))
        if result.equal:
            return EqualityResult(None, "set", "an item stands in one of them more often")
        return result
    return _matched(_distinct(gold), _distinct(answer))


def _matched(gold: list[str], answer: list[str]) -> EqualityResult:
    """Find a counterpart in the answer for each item of the gold."""
    if any(map(_DOTS.fullmatch, (*gold, *answer))):
        ours, theirs = _without_dots(gold), _without_dots(answer)
        if ours and theirs and _matched(ours, theirs).equal:
            return EqualityResult(equal=True, method="set")
        return EqualityResult(None, "set", "a list with dots")
    if len(gold) != len(answer):
        return EqualityResult(equal=False, method="set")
    if len(gold) > MOST_ITEMS:
        return _all(list(zip(gold, answer, strict=True)))
    left = list(answer)
    undecided = ""
    for item in gold:
        comparisons = [(_of_items(item, other), other) for other in left]
        equal = [other for comparison, other in comparisons if comparison.equal]
        if equal:
            left.remove(equal[0])
            continue
        reasons = [comparison.reason for comparison, _ in comparisons if comparison.equal is None]
        if not reasons:
            return EqualityResult(equal=False, method="set")
        undecided = reasons[0]
    return (
        EqualityResult(None, "set", undecided)
        if undecided
        else EqualityResult(equal=True, method="set")
    )


def _without_dots(items: list[str]) -> list[str] | None:
    r"""Write out ``1, 3, \ldots, 9``; ``None`` where that isn't whole numbers in equal steps."""
    places = [place for place, item in enumerate(items) if _DOTS.fullmatch(item)]
    if not places:
        return items
    numbers = [numeral(item) for place, item in enumerate(items) if place not in places]
    values = [int(n.value) for n in numbers if n and n.value.denominator == 1]
    if len(places) > 1 or len(values) < len(numbers) or places[0] < 2 or len(items) < 4:  # noqa: PLR2004
        return None  # two terms before the dots at least, and one behind
    step, last = values[1] - values[0], values[-1]
    if not step or (last - values[0]) // step > MOST_ITEMS:
        return None
    terms = list(range(values[0], last + (1 if step > 0 else -1), step))
    known = values[: places[0]], values[places[0] :]
    fits = terms[: len(known[0])] == known[0] and terms[-len(known[1]) :] == known[1]
    return list(map(str, terms)) if fits else None


def _of_items(gold: str, answer: str) -> EqualityResult:
    """Compare two items of lists: a set in a list isn't what the set holds."""
    groups = map(latex.group, (gold, answer))
    sets = {group is not None and group.opening in {r"\{", "{"} for group in groups}
    if len(sets) > 1:
        return EqualityResult(None, "set", "a set is an item of only one of them")
    return compared(gold, answer)


def _distinct(items: list[str]) -> list[str]:
    return list({latex.key(item): item for item in items}.values())


def _matrices(gold: str, answer: str) -> EqualityResult | None:
    first, second = latex.matrix(gold), latex.matrix(answer)
    if first is None and second is None:
        return None
    first, second = _as_matrix(first, gold), _as_matrix(second, answer)
    if first is None or second is None:
        return None
    if [len(row) for row in first] != [len(row) for row in second]:
        both = latex.matrix(gold) is not None and latex.matrix(answer) is not None
        vectors = [
            [cell for row in rows for cell in row]
            for rows in (first, second)
            if 1 in {len(rows), len(rows[0])}
        ]
        if len(vectors) != 2 or len(vectors[0]) != len(vectors[1]):  # noqa: PLR2004 - both
            return EqualityResult(equal=False, method="set")
        result = _all(list(zip(*vectors, strict=True)))
        if both and result.equal:
            return EqualityResult(None, "set", "one of them is a row, the other a column")
        return result
    return _all(
        [pair for rows in zip(first, second, strict=True) for pair in zip(*rows, strict=True)]
    )


def _as_matrix(rows: list[list[str]] | None, text: str) -> list[list[str]] | None:
    """Take a tuple for a vector where the other answer is a matrix."""
    if rows is not None:
        return rows
    group = latex.group(text)
    return [list(group.items)] if group is not None and group.ordered else None


def _regions(gold: str, answer: str) -> EqualityResult | None:
    """Compare sets of real numbers, and inequalities in several variables."""
    if not (says_region(gold) or says_region(answer)):
        return None
    equal, reason = same_region(gold, answer)
    if equal is None and not reason:
        first, second = relation(gold), relation(answer)
        if first is not None and second is not None:
            equal = symbolic.equal_inequalities(first, second)
    return None if equal is None and not reason else EqualityResult(equal, "set", reason)


def _memberships(gold: str, answer: str) -> EqualityResult | None:
    ours, theirs = memberships(gold), memberships(answer)
    if not ours or not theirs:
        return None
    if ours.keys() != theirs.keys():
        return EqualityResult(None, "set", "they are of different variables")
    return _all([(held, theirs[letter]) for letter, held in ours.items()])


def _lists(gold: str, answer: str) -> EqualityResult | None:  # noqa: PLR0911 - one kind of list each
    gold, answer = _MEMBER.sub("", gold), _MEMBER.sub("", answer)
    ours, theirs = name_of(gold), name_of(answer)
    values = value_of(gold), value_of(answer)
    simple = max(len(latex.members(gold)), len(latex.members(answer))) == 2  # noqa: PLR2004 - name and value
    if (ours or theirs) and simple and all(map(latex.group, values)):
        result = compared(*values)
        return _of_things(result, ours or theirs or "", theirs or ours or "")
    first, second = latex.group(gold), latex.group(answer)
    alternatives = _alternatives(gold, answer)
    if alternatives is not None:
        return alternatives
    if first is not None and second is not None and (first.ordered or second.ordered):
        brackets = [(side.opening, side.closing) for side in (first, second)]
        interval = len(first.items) == 2 and brackets[0] != ("(", ")")  # noqa: PLR2004 - two ends
        square = interval or "[" in brackets[1] or "]" in brackets[1]
        if first.ordered and second.ordered and square and brackets[0] != brackets[1]:
            return EqualityResult(equal=False, method="set")
        result = _named_tuple(first, second)
        if result.equal is False and not first.opening and _is_reordered(first, second):
            return EqualityResult(None, "set", "a tuple, or a list in another order")
        return result
    gold_items = _of_chain(gold, second) or _items(gold, first)
    answer_items = _of_chain(answer, first) or _items(answer, second)
    if len(gold_items) == len(answer_items) == 1 and first is None and second is None:
        return None
    named = _in_order_of_names(gold_items, answer_items) if first and second else None
    if named is not None:
        return named
    braces = all(side is None or side.opening in {r"\{", "{"} for side in (first, second))
    points = any(map(latex.group, (*gold_items, *answer_items)))
    result = _any_order(gold_items, answer_items, repeated=not braces and not points)
    if result.equal and _differently_named(
        *(side.items if side else (text,) for side, text in ((first, gold), (second, answer)))
    ):
        return EqualityResult(None, "set", "they are of different variables")
    if result.equal and gold_items != answer_items and _is_ranking(gold_items):
        return EqualityResult(None, "set", "a list of names in another order")
    return result


def _differently_named(gold: Sequence[str], answer: Sequence[str]) -> bool:
    """Check whether lists are of the values of one letter each, or of things with other names."""
    only = [_only_name(items) for items in (gold, answer)]
    names = [{name_of(item) or "" for item in items} for items in (gold, answer)]
    named = "" not in names[0] | names[1] and len(names[0]) == len(names[1]) > 1
    return (all(only) and only[0] != only[1]) or (named and names[0] != names[1])


def _is_reordered(first: latex.BracketGroup, second: latex.BracketGroup) -> bool:
    """Check whether two groups without names have the same items in another order."""
    items = [*first.items, *second.items]
    return not any(map(name_of, items)) and bool(
        _any_order(list(first.items), list(second.items)).equal
    )


def _is_ranking(items: list[str]) -> bool:
    """Check whether a list is of three names or more, whose order may be a ranking."""
    return len(items) > 2 and all(map(_LETTER.fullmatch, items))  # noqa: PLR2004 - A and B is a pair


def _alternatives(gold: str, answer: str) -> EqualityResult | None:
    """Compare ``x = 1 or y = 3``, which is neither a pair of values nor ``x = 1 and y = 3``."""
    texts = [(len(_OR.findall(text)), latex.group(text)) for text in (gold, answer)]
    groups = [group for ors, group in texts if ors and group is not None]
    if not groups:
        return None
    apart = any(any(map(name_of, g.items)) and _only_name(g.items) is None for g in groups)
    named = all(group and all(map(name_of, group.items)) for _, group in texts)
    if apart and named and all(group and ors == len(group.items) - 1 for ors, group in texts):
        return _any_order(list(groups[0].items), list(groups[1].items))
    tuples = any(group is not None and group.ordered for _, group in texts)
    if apart or tuples:
        return EqualityResult(None, "set", "one of them gives alternatives")
    return None


def _only_name(items: Sequence[str]) -> str | None:
    """Return the one name that a list has, as in ``x = 1, 2`` and ``x_1 = 1, x_2 = 2``."""
    names = [name_of(item) for item in items]
    letters = {name.partition(" _ ")[0] for name in names if name}
    numbered = len(items) == 1 or all(
        name is None or name in letters or "_" in name for name in names
    )
    return letters.pop() if len(letters) == 1 and numbered else None


def _named_tuple(first: latex.BracketGroup, second: latex.BracketGroup) -> EqualityResult:
    """Compare ``(1, 2)`` with ``x = 1, y = 2``; a bare list stands for a tuple as it is ordered."""
    if len(first.items) != len(second.items) or r"\{" in {first.opening, second.opening}:
        return EqualityResult(equal=False, method="set")
    named = _by_name(first.items, second.items)
    if named is not None:
        return named
    pairs = zip(map(value_of, first.items), map(value_of, second.items), strict=True)
    result = _all(list(pairs))
    names = [list(filter(None, map(name_of, side.items))) for side in (first, second)]
    if all(names) and names[0] != names[1]:
        return EqualityResult(None, "set", "they are of different variables")
    if any(set(side) <= set("xyz") and side != sorted(side) for side in names):
        return EqualityResult(None, "set", "the variables are in another order")
    return result


def _by_name(gold: Sequence[str], answer: Sequence[str]) -> EqualityResult | None:
    """Compare ``a = 1, b = 2`` with ``b = 2, a = 1``; ``None`` where the names aren't the same."""
    ours, theirs = ({name_of(item): value_of(item) for item in items} for items in (gold, answer))
    if None in ours or ours.keys() != theirs.keys() or not len(ours) == len(gold) == len(answer):
        return None
    return _all([(value, theirs[name]) for name, value in ours.items()])


def _items(text: str, group: latex.BracketGroup | None) -> list[str]:
    """Return the items of a list, or the two that a plus-minus stands for."""
    items = [text] if group is None else list(group.items)
    if _only_name(items) and all(name_of(item) or "=" not in item for item in items):  # x = 1, 2
        items = [value_of(item) for item in items]
    return [item for part in items for item in latex.plus_minus(part)]


def _of_chain(text: str, other: latex.BracketGroup | None) -> list[str]:
    """Return the values of ``x = y = 3`` where the other answer lists as many."""
    *names, value = latex.members(text) or [""]
    if other is None or len(names) != len(other.items) or not all(map(NAME.fullmatch, names)):
        return []
    return [value] * len(names)


def _in_order_of_names(gold: list[str], answer: list[str]) -> EqualityResult | None:
    """Compare ``a = 1, b = 2`` with ``b = 2, a = 1`` or with ``1, 2``."""
    if len(gold) != len(answer):
        return None
    for named, bare in ((gold, answer), (answer, gold)):
        names = [name_of(item) for item in named]
        if all(names) and len(set(names)) == len(names) and not any(map(name_of, bare)):
            return _all(
                [
                    (value_of(left), value_of(right))
                    for left, right in zip(gold, answer, strict=True)
                ]
            )
    return _by_name(gold, answer)


def _equations(gold: str, answer: str) -> EqualityResult | None:
    answer = of_same_letter(gold, answer)
    first, second = latex.members(gold.lstrip("= ")), latex.members(answer.lstrip("= "))
    if len(first) <= 1 and len(second) <= 1:
        bare = "".join(first), "".join(second)
        return None if bare == (gold, answer) or not all(bare) else compared(*bare)
    names = name_of(gold), name_of(answer)
    if len(first) == len(second) == 2 and "=" in gold and "=" in answer:  # noqa: PLR2004 - two sides
        if names[0] and names[1] and (names[0] == names[1] or " " in names[0] + names[1]):
            return _of_things(compared(first[1], second[1]), names[0], names[1])
        if latex.key(first[0]) == latex.key(second[0]):
            result = compared(first[1], second[1])
            if result.equal:
                return result
        return _two_equations((first[0], first[1]), (second[0], second[1]))
    if len(second) > 1 and len(first) == 1:
        return _chain(second, answer, gold, flipped=True)
    return _chain(first, gold, second[-1], flipped=False)


def _two_equations(gold: tuple[str, str], answer: tuple[str, str]) -> EqualityResult:
    """Compare equations; those without letters say what comes out of a calculation."""
    if not any(_LETTERS.search(latex.MACRO.sub("", side)) for side in (*gold, *answer)):
        result = compared(gold[1], answer[1])
        if result.equal and not compared(gold[0], answer[0]).equal:
            return EqualityResult(None, "symbolic", "what comes out of different calculations")
        return result
    equal = symbolic.equal_equations(gold, answer)
    reason = "" if equal is not None else "an equation could not be read as mathematics"
    return EqualityResult(equal, "symbolic", reason)


def _of_things(result: EqualityResult, gold: str, answer: str) -> EqualityResult:
    """Take ``y = x^2`` for ``f(x) = x^2``, but not for certain ``AB = 2`` for ``CD = 2``."""
    if (
        not result.equal
        or gold == answer
        or _is_function(gold, answer)
        or _is_function(answer, gold)
    ):
        return result
    return EqualityResult(None, result.method, "they are of different things")


def _is_function(call: str, name: str) -> bool:
    """Check whether a name is that of a function, or the ``y`` of its graph."""
    return call.partition(" (")[1] != "" and name in {"y", call.partition(" (")[0]}


def _chain(sides: list[str], chain: str, single: str, *, flipped: bool) -> EqualityResult:
    """Compare a single value with ``name = value`` or with a chain of equal values."""
    if len(sides) == 1:
        values = sides
    elif name_of(chain) or r"\approx" in chain:
        values = [side for side in sides if not NAME.fullmatch(side)] or sides[-1:]
    elif compared(sides[0], sides[-1]).equal:  # an identity, and not an equation to be solved
        values = sides[-1:]
    elif compared(sides[-1], single).equal and latex.key(single) != "0":
        return EqualityResult(None, "symbolic", "an equation, or the value on which it ends")
    else:
        return EqualityResult(equal=False, method="symbolic")
    if any(NAME.fullmatch(each) and " " in latex.key(each) for each in values):
        return EqualityResult(None, "symbolic", "one of them says that two things are equal")
    comparisons = [compared(*((single, value) if flipped else (value, single))) for value in values]
    decided = [comparison for comparison in comparisons if comparison.equal]
    return decided[0] if decided else comparisons[-1]
