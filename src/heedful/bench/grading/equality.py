"""Equality of an answer to an open problem and the gold answer, written in any usual way.

An answer is taken apart as text first (lists, sets, tuples, intervals, matrices, equations), and
only its smallest parts are compared as numbers or as mathematics. What cannot be compared, such as
two sentences that say the same, is not decided.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heedful.bench.grading import latex, symbolic
from heedful.bench.grading.passages import formulas_of
from heedful.bench.grading.quantities import measure, numeral, same_number

if TYPE_CHECKING:
    from collections.abc import Sequence

Method = Literal["letter", "text", "numeric", "symbolic", "set", "unit test"]
"""Method by which an answer was compared with the gold."""

LONGEST = 3_000
"""Characters of an answer; longer ones are compared as text."""

PHRASE_WORDS = 3
"""So many words say something that may also be said in others."""

_NUMBER = re.compile(r"(?<![\w.^])-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+)?(?<=\d)(?:/\d+)?%?")
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[a-z]+\}|\\[a-zA-Z]+")
_RUN = re.compile(r"[a-zA-Z]+")
_VERDICT = re.compile(
    r"(?:(?P<yes>yes|true|correct|是|对|正确)|no|false|incorrect|否|不是|不对|错误?)(?=$|[.,;:!])",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:the|an?|is|are|it|there|of)\b|[^\w\s]|_", re.IGNORECASE)
_SPECIAL = {
    "no solution": re.compile(
        r"(?:(?:equation|system)?(?:has|have)?no(?:real)?(?:solutions?|roots?)(?:exists?)?"
        r"|(?:system)?inconsistent|emptyset|none|(?:方程)?无(?:实数)?解|空集)"
    ),
    "undefined": re.compile(r"(?:limit)?(?:doesnotexist|dne|undefined|notdefined)|不存在"),
}
"""What has no value, or none that is a number, and how answers say so."""

_ATOM = (
    r"(?:\\(?:angle|triangle|Delta|vec|hat|bar|overline|widehat|overrightarrow|dot)(?![a-z])\s*)*"
    r"\{?(?:\\[a-zA-Z]+|[A-Z]{1,6}|d\s?[a-z]|[a-zA-Z])\}?(?:_\{?\w+\}?|'+|\^\{?-1\}?)*(?:\s*\([^()=]*\))?"
)
NAME = re.compile(
    rf"{_ATOM}(?:\s*:\s*{_ATOM})*|\|\s*{_ATOM}\s*\||\(\s*{_ATOM}(?:\s*,\s*{_ATOM})+\s*\)"
    rf"|\\frac\{{\s*{_ATOM}\s*\}}\{{\s*{_ATOM}\s*\}}|[a-zA-Z-]{{3,}}(?:\s[a-zA-Z-]+){{0,5}}"
)
"""Things with a name: a variable, a function, a derivative, a length, a ratio, a tuple of names."""

_OPTION = re.compile(r"\((?P<letter>[A-J])\).*|(?P<bare>[A-J])[.:]\s.*", re.DOTALL)
_REGION = re.compile(
    r"[<>]|\\(?:le|ge|ne|cup|cap|setminus|infty|mathbb|in)(?![a-zA-Z])|^\[[^\[\]]*\)$|^\([^()]*\]$"
)
_DECIMAL_COMMA = re.compile(r"-?\d+[,.]\d+")
_RELATION = re.compile(r"[<>]|\\(?:le|ge|ne)(?![a-zA-Z])")
_LETTER = re.compile("[a-zA-Z]")
_NUMBERED = re.compile(
    r"\d|\b(?:once|twice|half|thirds?|quarters?|dozen|[a-z]+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|(?:hundred|thousand|[a-z]+illion)(?:th)?s?|one|two|three|four|five|six|seven|eight|nine|ten)\b",
    re.IGNORECASE,
)
"""Words with a number, whose value isn't read."""

_BASED = re.compile(r"\(?\d+\)?_\{?\d+\}?")
_BASED_OR_DATED = re.compile(rf"{_BASED.pattern}|\d{{4}}-\d\d?-\d\d?|\d\d?/\d\d?/\d{{4}}")


@dataclass(frozen=True, slots=True)
class EqualityResult:
    """Result of comparing an answer with the gold.

    Attributes:
        equal: whether they are the same; ``None`` where that was not decided.
        method: how they were compared.
        reason: why it was not decided.
    """

    equal: bool | None
    method: Method
    reason: str = ""


def numbers(text: str) -> list[str]:
    """Return the numbers of a text as they are written: ``1,200``, ``-3.5``, ``3/4``, ``62.5%``."""
    return [match.group() for match in _NUMBER.finditer(text) if match.group()]


def compare_quickly(gold: str, answer: str) -> EqualityResult | None:
    """Compare without a computer algebra system: the same text, or two numbers."""
    if max(len(gold), len(answer)) > LONGEST:
        reason = f"longer than {LONGEST:,} characters"
        return EqualityResult(gold.strip() == answer.strip() or None, "text", reason)
    first, second = latex.tidy(gold), latex.tidy(answer)
    if latex.key(first) == latex.key(second):
        return EqualityResult(equal=True, method="text")
    ours, theirs = numeral(first), numeral(second)
    if ours is not None and theirs is not None:
        return EqualityResult(same_number(ours, theirs), "numeric")
    if first.replace(",", ".") == second.replace(",", ".") and _DECIMAL_COMMA.fullmatch(first):
        return EqualityResult(equal=True, method="numeric")
    return None


def compare(gold: str, answer: str) -> EqualityResult:
    """Compare an answer with the gold.

    Equality is of value, not of form: ``2(x+1)`` is ``2x+2``, ``0.5`` is ``1/2``. Lists and sets
    have no order, tuples do; intervals must have the same brackets; a partial list is not equal.
    A decimal of four significant digits or more may be the rounding of an exact number. A name in
    front (``x = 3``), units and fonts do not count, unless both have units: then they must agree.
    Needs the extra ``reasoning``, and may take very long: see
    :mod:`heedful.bench.grading.math_pool`.
    """
    quick = compare_quickly(gold, answer)
    if quick is not None:
        return quick
    first, second = latex.tidy(gold), latex.tidy(answer)
    worded = _option(first, second) or _words(first, second)
    formulas = formulas_of(gold) if worded is not None and worded.equal is None else []
    if formulas and gold.rstrip(" .").endswith("$"):  # a sentence that ends on a formula
        ends_on = compare(formulas[-1].content, answer)
        worded = ends_on if ends_on.equal else worded
    result = worded or _of_mathematics(first, second)
    if result.equal is False and latex.has_condition(gold):
        return EqualityResult(None, result.method, "the gold answer is for all values of a letter")
    return result


def _of_mathematics(gold: str, answer: str) -> EqualityResult:
    """Compare two tidied answers that are not in words."""
    try:
        result = _compared(gold, answer)
    except symbolic.TooLargeError:
        return EqualityResult(None, "symbolic", "a power in it is too large to be written out")
    except RecursionError:
        return EqualityResult(None, "symbolic", "it is nested too deeply")
    spellings = {re.sub(r"\s", "", side).casefold() for side in (gold, answer)}
    if result.equal is False and len(spellings) == 1:
        return EqualityResult(None, "text", "they differ in capitals or spaces")
    return result


def _option(gold: str, answer: str) -> EqualityResult | None:
    """Accept a choice's letter where the other has its words, too: ``(A) 5`` for ``A``."""
    ours, theirs = (_OPTION.fullmatch(side) for side in (gold, answer))
    letters = [
        (match["letter"] or match["bare"]) if match else side
        for match, side in ((ours, gold), (theirs, answer))
    ]
    return EqualityResult(equal=True, method="text") if letters[0] == letters[1] else None


def is_text(text: str) -> bool:
    """Check whether a tidied answer has words in it, and not just letters for variables."""
    return any(len(run) > 3 for run in _runs(text))  # noqa: PLR2004 - three letters may be variables


def _runs(text: str) -> list[str]:
    return _RUN.findall(_COMMAND.sub(" ", text))


def _is_phrase(text: str) -> bool:
    """Check whether a tidied answer is several words, whose meaning code does not compare."""
    several = sum(len(run) > 1 for run in _runs(text)) >= PHRASE_WORDS
    return several and is_text(text) and not measure(text).unit


def _words(gold: str, answer: str) -> EqualityResult | None:
    """Compare answers in words; ``None`` where both are mathematics."""
    verdict = _verdicts(gold, answer)
    if verdict is not None:
        return verdict
    first, second = _plain_words(gold), _plain_words(answer)
    if first and first == second:
        return EqualityResult(equal=True, method="text")
    if {first, second} & _SPECIAL.keys() and not (is_text(gold) and is_text(answer)):
        return EqualityResult(equal=False, method="text")
    if _is_phrase(gold):
        return EqualityResult(None, "text", "the gold answer is in words")
    return _number_in_words(gold, answer) if _is_phrase(answer) else None


def _number_in_words(gold: str, answer: str) -> EqualityResult:
    """Compare the only number of a sentence with the gold."""
    ours, theirs = numeral(gold), {*numbers(answer)}
    number = numeral(theirs.pop()) if len(theirs) == 1 and "\\" not in answer else None
    if ours is not None and number is not None:
        return EqualityResult(same_number(ours, number), "numeric")
    return EqualityResult(None, "text", "the answer is in words")


def _verdicts(gold: str, answer: str) -> EqualityResult | None:
    """Compare by the yes or no with which both begin; what follows the gold's is its reason."""
    ours, theirs = _VERDICT.match(gold), _VERDICT.match(answer)
    if ours is None:
        return None
    if theirs is not None:
        return EqualityResult(bool(ours["yes"]) == bool(theirs["yes"]), "text")
    rest = gold[ours.end() :].strip(" .,;:")
    if rest and not is_text(rest) and not is_text(answer):
        return compare(rest, answer)
    return EqualityResult(None, "text", "only one of them answers yes or no")


def _plain_words(text: str) -> str:
    """Reduce an answer in words to them; no solution has many names."""
    plain = "".join(_ARTICLE.sub(" ", text.casefold()).split())
    for name, pattern in _SPECIAL.items():
        if pattern.fullmatch(plain):
            return f"-{name}" if text.startswith("-") else name
    return plain if is_text(text) and not _COMMAND.search(text) else ""


def _compared(gold: str, answer: str) -> EqualityResult:
    """Compare two tidied answers by their structure."""
    for structure in (_matrices, _lists, _regions, _equations):
        result = structure(gold, answer)
        if result is not None:
            return result
    return _leaves(gold, answer)


def _all(pairs: Sequence[tuple[str, str]]) -> EqualityResult:
    """Compare pairs in order: one that differs decides."""
    results = [_compared(left, right) for left, right in pairs]
    if any(result.equal is False for result in results):
        return EqualityResult(equal=False, method="set")
    undecided = [result.reason for result in results if result.equal is None]
    return EqualityResult(None if undecided else True, "set", *undecided[:1])


def _any_order(gold: Sequence[str], answer: Sequence[str]) -> EqualityResult:
    """Find a counterpart in the answer for each item of the gold."""
    ours, left = _distinct(gold), _distinct(answer)
    if len(ours) != len(left):
        return EqualityResult(equal=False, method="set")
    undecided = ""
    for item in ours:
        results = {other: _compared(item, other) for other in left}
        equal = [other for other, result in results.items() if result.equal]
        if equal:
            left.remove(equal[0])
        elif all(result.equal is False for result in results.values()):
            return EqualityResult(equal=False, method="set")
        else:
            undecided = next(each.reason for each in results.values() if each.equal is None)
    return EqualityResult(None if undecided else True, "set", undecided)


def _distinct(items: Sequence[str]) -> list[str]:
    return list({latex.key(item): item for item in items}.values())


def _matrices(gold: str, answer: str) -> EqualityResult | None:
    first, second = latex.matrix(gold), latex.matrix(answer)
    if first is None and second is None:
        return None
    if first is None or second is None:
        return None
    if 1 in {len(first), len(first[0])} and 1 in {len(second), len(second[0])}:  # vectors
        first, second = ([[cell for row in rows for cell in row]] for rows in (first, second))
    if [len(row) for row in first] != [len(row) for row in second]:
        return EqualityResult(equal=False, method="set")
    rows = zip(first, second, strict=True)
    return _all([pair for ours, theirs in rows for pair in zip(ours, theirs, strict=True)])


def name_of(item: str) -> str:
    """Return the name before the equals sign, as in ``x = 3`` and ``f(x) = 3x``; else ``""``."""
    sides = latex.members(item)
    return latex.key(sides[0]) if len(sides) > 1 and NAME.fullmatch(sides[0]) else ""


def _value_of(item: str) -> str:
    """Return what stands after the name; all of an item without one."""
    return latex.members(item)[-1] if name_of(item) else item


def _lists(gold: str, answer: str) -> EqualityResult | None:
    """Compare lists, sets, tuples and intervals."""
    gold, answer = (_after_names(side) for side in (gold, answer))
    first, second = latex.group(gold), latex.group(answer)
    several = first or second or r"\pm" in gold + answer
    if not several or _RELATION.search(gold + answer):
        return None
    if first is not None and second is not None and (first.ordered or second.ordered):
        brackets = {first.opening + first.closing, second.opening + second.closing}
        if first.ordered and second.ordered and len(brackets) > 1:
            return EqualityResult(equal=False, method="set")
        return _tuples(first, second)
    interval = any(side and side.ordered and side.closing == "]" for side in (first, second))
    if interval or ((first is None or second is None) and r"\infty" in gold + answer):
        return None
    return _unordered(_items(gold, first, second), _items(answer, second, first))


def _unordered(items: list[str], others: list[str]) -> EqualityResult:
    """Compare lists by the names of their items, else in any order."""
    result = _by_name(items, others)
    if result is not None:
        return result
    values = (
        [one for item in side for one in latex.plus_minus(_value_of(item))]
        for side in (items, others)
    )
    result = _any_order(*values)
    if result.equal is False and all("=" in item for item in (*items, *others)):
        return _any_order(items, others)
    return result


def _after_names(text: str) -> str:
    """Return what stands after one name of several values; ``(p, q) = (3, 2)`` with its names."""
    sides = latex.members(text)
    if len(sides) != 2 or not NAME.fullmatch(sides[0]):  # noqa: PLR2004 - name and value
        return text
    names, values = map(latex.group, sides)
    if values is None:
        return text
    if names is None or len(names.items) != len(values.items):
        return sides[1]
    pairs = zip(names.items, values.items, strict=True)
    return f"({', '.join(f'{name} = {value}' for name, value in pairs)})"


def _items(
    text: str, group: latex.BracketGroup | None, other: latex.BracketGroup | None
) -> list[str]:
    """Return the items of a list; ``x = y = 3`` has as many as the other list."""
    if group is not None:
        return _solutions(group.items)
    *names, value = latex.members(text) or [text]
    if other is not None and len(names) == len(other.items) and all(map(NAME.fullmatch, names)):
        return [value] * len(names)
    return [text]


def _solutions(items: Sequence[str]) -> list[str]:
    """Write ``x = 1, y = 2, x = 3, y = 4`` as the two tuples that it lists."""
    names = list(dict.fromkeys(map(name_of, items)))
    size = len(names)
    if not 1 < size < len(items) or [name_of(item) for item in items] != names * (
        len(items) // size
    ):
        return list(items)
    values = [_value_of(item) for item in items]
    return [f"({', '.join(values[at : at + size])})" for at in range(0, len(values), size)]


def _tuples(first: latex.BracketGroup, second: latex.BracketGroup) -> EqualityResult:
    """Compare ``(1, 2)`` with ``x = 1, y = 2``; a bare list stands for a tuple as it is ordered."""
    if len(first.items) != len(second.items) or r"\{" in {first.opening, second.opening}:
        return EqualityResult(equal=False, method="set")
    named = _by_name(first.items, second.items)
    pairs = zip(map(_value_of, first.items), map(_value_of, second.items), strict=True)
    return named or _all(list(pairs))


def _by_name(gold: Sequence[str], answer: Sequence[str]) -> EqualityResult | None:
    """Compare ``a = 1, b = 2`` with ``b = 2, a = 1``; ``None`` where the names aren't the same."""
    ours, theirs = ({name_of(item): _value_of(item) for item in items} for items in (gold, answer))
    if "" in ours or ours.keys() != theirs.keys() or not len(ours) == len(gold) == len(answer):
        return None
    return _all([(value, theirs[name]) for name, value in ours.items()])


def _regions(gold: str, answer: str) -> EqualityResult | None:
    """Compare sets of real numbers: intervals, unions, inequalities of one letter."""
    if not (_REGION.search(gold) or _REGION.search(answer)):
        return None
    first, second = symbolic.region(gold), symbolic.region(answer)
    if first is None or second is None:
        numbers_ = symbolic.read(gold) or symbolic.read(answer)
        if numbers_ is not None and (first or second) is not None:
            return EqualityResult(equal=False, method="set")
        return None
    equal = symbolic.same_region(first, second)
    return EqualityResult(equal, "set", "" if equal is not None else "sets that weren't compared")


def _equations(gold: str, answer: str) -> EqualityResult | None:
    """Compare equations, and an equation or a chain with a value."""
    first, second = latex.members(gold), latex.members(answer)
    if len(first) <= 1 and len(second) <= 1:
        return None
    if len(first) == len(second) == 2:  # noqa: PLR2004 - two sides
        names = name_of(gold), name_of(answer)
        if all(names):
            result = _compared(first[1], second[1])
            if result.equal and not _are_one_thing(*names):
                return EqualityResult(None, result.method, "they are of different things")
            if result.equal or names[0] == names[1]:
                return result
        equal = symbolic.equal_equations((first[0], first[1]), (second[0], second[1]))
        reason = "" if equal is not None else "an equation could not be read as mathematics"
        return EqualityResult(equal, "symbolic", reason)
    if len(first) == 1:
        return _chain(second, gold, flipped=True)
    return _chain(first, second[-1], flipped=False)


def _are_one_thing(first: str, second: str) -> bool:
    """Check whether two names are the same, or the ``y`` and ``f(x)`` of one function."""
    calls = [name.partition(" (") for name in (first, second)]
    functions = {name for name, bracket, _ in calls if bracket}
    return first == second or (
        bool(functions) and {name for name, *_ in calls} <= functions | {"y"}
    )


def _chain(sides: list[str], single: str, *, flipped: bool) -> EqualityResult:
    """Compare a single value with ``name = value`` or with a chain of equal values."""
    named = NAME.fullmatch(sides[0]) is not None
    letters = any(_LETTER.search(_COMMAND.sub("", side)) for side in sides)
    if not named and len(sides) > 1 and letters and not _compared(sides[0], sides[-1]).equal:
        solved = _compared(sides[-1], single)  # an equation, and not an identity
        reason = "an equation, or the value on which it ends"
        if solved.equal and latex.key(single) != "0":
            return EqualityResult(None, "symbolic", reason)
        return EqualityResult(equal=False, method="symbolic")
    values = [side for side in sides if not NAME.fullmatch(side)] or sides[-1:]
    result = EqualityResult(equal=False, method="symbolic")
    for value in reversed(values):
        result = _compared(*((single, value) if flipped else (value, single)))
        if result.equal:
            return result
    return result


def _leaves(gold: str, answer: str) -> EqualityResult:
    """Compare what has no further parts: numbers, ratios, measures, expressions."""
    if latex.key(gold) == latex.key(answer):
        return EqualityResult(equal=True, method="text")
    ours, theirs = numeral(gold), numeral(answer)
    if ours is not None and theirs is not None:
        return EqualityResult(same_number(ours, theirs), "numeric")
    bases = {side.partition("_")[2].strip("{}") for side in (gold, answer)}
    if len(bases) == 1 and all(map(_BASED.fullmatch, (gold, answer))):
        return EqualityResult(equal=False, method="numeric")
    if _BASED_OR_DATED.fullmatch(gold) or _BASED_OR_DATED.fullmatch(answer):
        return EqualityResult(None, "numeric", "a date, or a numeral with its base")
    if gold.count(":") == answer.count(":") == 1:
        ours, theirs = numeral(gold.replace(":", "/")), numeral(answer.replace(":", "/"))
        return EqualityResult(
            ours == theirs if ours and theirs else None, "set", "a ratio, or a time"
        )
    return _measures(gold, answer)


def _measures(gold: str, answer: str) -> EqualityResult:
    """Compare numbers of which at least one has a unit."""
    first, second = measure(gold), measure(answer)
    if not first.unit and not second.unit:
        return _expressions(gold, answer)
    if first.unit == second.unit:
        return _leaves(first.value, second.value)
    if not (first.sure and second.sure):
        return _expressions(gold, answer)
    if (first.unit and second.unit) or "cent" in {first.unit, second.unit}:
        return EqualityResult(None, "numeric", "their units differ")
    return _leaves(first.value, second.value)


def _expressions(gold: str, answer: str) -> EqualityResult:
    """Compare mathematics of which at most one is a number."""
    if is_text(gold) or is_text(answer):
        if any(is_text(side) and _NUMBERED.search(side) for side in (gold, answer)):
            return EqualityResult(None, "text", "words and numbers in one answer")
        return EqualityResult(equal=False, method="text")
    for number, other in ((numeral(gold), answer), (numeral(answer), gold)):
        if number is not None:
            equal = symbolic.value_equal(number, other)
            if equal is not None:
                return EqualityResult(equal, "numeric" if equal else "symbolic")
    equal = symbolic.equal(gold, answer)
    if equal is None:
        equal = symbolic.equal_matrices(gold, answer)
    reason = "" if equal is not None else "one of them could not be read as mathematics"
    return EqualityResult(equal, "symbolic", reason)
