"""Equality of an answer to an open problem and the gold answer, written in any usual way.

An answer is taken apart as text first (lists, sets, tuples, intervals, matrices, equations), and
only its smallest parts are compared as numbers or as mathematics. What cannot be compared, such as
two sentences that say the same, is not decided.
"""

from __future__ import annotations

import re

from heedful.bench.grading import latex
from heedful.bench.grading.alike import LONGEST, doubt, likeness
from heedful.bench.grading.answers import numbers
from heedful.bench.grading.congruences import same_residues
from heedful.bench.grading.dates import same_moment
from heedful.bench.grading.expressions import TooLargeError
from heedful.bench.grading.leaves import EqualityResult, compare_based
from heedful.bench.grading.numerals import localized, numeral, same_number
from heedful.bench.grading.quantities import is_quantified, unscaled, written_out
from heedful.bench.grading.structures import compared
from heedful.bench.grading.tidying import tidy
from heedful.bench.grading.units import in_one_unit, measure
from heedful.bench.grading.words import is_phrase, is_text, same_words, verdict_word

LONGEST_SENTENCE = 15
"""Words of a sentence whose only number is taken for its answer."""

_DECIMAL_COMMA = re.compile(r"\s*,\d")
_AFTER_VERDICT = re.compile(r"^\w+[.,;:!]?\s*")
_MODULO = re.compile(r"(?<![a-zA-Z])[pb]?mod(?![a-z])")
_BAR = re.compile(r"\\(?:overline|bar|vec|hat|overrightarrow)\s*\{(\w+)\}")
_COUNT = re.compile(r"\s*[ACP]\s*\((\d{1,4}),\s*(\d{1,4})\)\s*")
_OPTION = re.compile(r"\((?P<letter>[A-J])\)\s+(?P<value>(?:-?\d|\\(?:frac|sqrt)).*)")
_FORMAL = re.compile(r"[\d=\\]")
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)


def compare_quickly(gold: str, answer: str) -> EqualityResult | None:
    """Compare without a computer algebra system: the same text, or two numbers."""
    quick = _quickly(gold, answer)
    return None if quick is None else _unless_doubtful(quick, gold, answer)


def _unless_doubtful(result: EqualityResult, gold: str, answer: str) -> EqualityResult:
    """Leave undecided what compares as equal, and may mean something else."""
    reason = doubt(gold, answer) if result.equal else ""
    return EqualityResult(None, result.method, reason) if reason else result


def _quickly(gold: str, answer: str) -> EqualityResult | None:
    if max(len(gold), len(answer)) > LONGEST:
        reason = f"longer than {LONGEST:,} characters"
        return EqualityResult(gold.strip() == answer.strip() or None, "text", reason)
    first, second = tidy(gold), tidy(answer)
    if latex.key(first) == latex.key(second):
        return EqualityResult(equal=True, method="text")
    first_number, second_number = numeral(first), numeral(second)
    if first_number is not None and second_number is not None:
        return EqualityResult(same_number(first_number, second_number), "numeric")
    moments = same_moment(first, second)
    if moments is not None:
        return EqualityResult(moments[0], "text", moments[1])
    based = compare_based(first, second, first_number, second_number)
    return based or _localized(first, second)


def _localized(gold: str, answer: str) -> EqualityResult | None:
    """Compare two numbers of which one is written as in another place; only equality is certain."""
    first, second = localized(gold), localized(answer)
    ours = numeral(gold) or (first and first[0])
    theirs = numeral(answer) or (second and second[0])
    if not (first or second) or ours is None or theirs is None or not same_number(ours, theirs):
        return None
    if first and second and not (first[1] or second[1]):
        return None  # they may be lists
    if first and not first[1] and not second:
        return EqualityResult(None, "numeric", "the gold is a list, or has a decimal comma")
    return EqualityResult(equal=True, method="numeric")


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
    return quick if quick is not None else _unless_doubtful(_slowly(gold, answer), gold, answer)


def _slowly(gold: str, answer: str) -> EqualityResult:
    first, second = in_one_unit(tidy(gold)), in_one_unit(tidy(answer))
    if _DECIMAL_COMMA.match(first) or _DECIMAL_COMMA.match(second):
        return EqualityResult(None, "text", "one of them begins with a comma")
    if is_quantified(first) or is_quantified(second):
        return _quantified(first, second)
    same = same_residues(first, second)
    if same is not None:
        return EqualityResult(same, "set")
    chosen = _chosen(first, second)
    if chosen is not None:
        return chosen
    worded = _worded(gold, first, second)
    result = worded if worded is not None else _of_mathematics(first, second)
    if result.equal is False and (first, second) != (tidy(gold), tidy(answer)):
        larger = [in_one_unit(tidy(text), largest=True) for text in (gold, answer)]
        result = _of_mathematics(larger[0], larger[1])
    if result.equal is False:
        reason = "one of them is in words" if _is_mentioned(first, second) else ""
        if _is_count(gold) != _is_count(answer):
            reason = "a number of combinations, or a point"
        if not reason and result.method != "numeric":
            reason = likeness(gold, answer)
        return EqualityResult(None, result.method, reason) if reason else result
    return result


def _chosen(gold: str, answer: str) -> EqualityResult | None:
    """Accept the letter, or the value, of a choice with both: ``(A) 5``."""
    for choice, other in ((gold, answer), (answer, gold)):
        option = _OPTION.fullmatch(choice)
        if option and _OPTION.fullmatch(other) is None:
            if other.strip("() ") == option["letter"]:
                return EqualityResult(equal=True, method="text")
            result = _of_mathematics(option["value"], other)
            return result if result.equal else None
    return None


def _is_mentioned(first: str, second: str) -> bool:
    """Check whether one of two answers has words, and the number that the other is."""
    for words, other in ((first, second), (second, first)):
        number = numeral(other)
        if number is not None and is_text(words):
            said = (numeral(each) for each in numbers(words))
            return any(each is not None and each.value == number.value for each in said)
    return False


def _is_count(text: str) -> bool:
    """Check whether a text may be a number of combinations as well as a point with a name."""
    match = _COUNT.fullmatch(text)
    return match is not None and int(match[1]) >= int(match[2])


def _quantified(gold: str, answer: str) -> EqualityResult:
    """Compare answers of which one at least has a word that changes a number."""
    if verdict_word(gold) is not None and verdict_word(answer) is not None:
        return _yes_or_no(gold, answer)
    if same_words(gold, answer):
        return EqualityResult(equal=True, method="text")
    first, second = written_out(gold), written_out(answer)
    if is_quantified(first) or is_quantified(second) or is_phrase(first) or is_phrase(second):
        return EqualityResult(None, "text", "a word in one of them changes a number")
    result = _of_mathematics(first, second)
    if result.equal is False and _of_mathematics(unscaled(gold), unscaled(answer)).equal:
        return EqualityResult(None, result.method, "only one of them says thousand, or the like")
    return result


def _of_mathematics(first: str, second: str) -> EqualityResult:
    """Compare two tidied answers that are not in words."""
    try:
        result = compared(first, second)
    except TooLargeError:
        return EqualityResult(None, "symbolic", "a power in it is too large to be written out")
    except RecursionError:
        return EqualityResult(None, "symbolic", "it is nested too deeply")
    if result.equal is False and bool(_MODULO.search(first)) != bool(_MODULO.search(second)):
        return EqualityResult(None, result.method, "only one of them names a modulus")
    if result.equal is False and _spelling(first) == _spelling(second):
        return EqualityResult(None, "text", "they differ in capitals or spaces")
    if result.equal is False and _BAR.sub(r"\1", first) == _BAR.sub(r"\1", second):
        return EqualityResult(None, "text", "they differ in a bar or an arrow")
    return result


def _spelling(text: str) -> str:
    """Reduce an answer to what is left of it without capitals and spaces."""
    return re.sub(r"\s", "", text).casefold() if numeral(text) is None else text


def _worded(original: str, gold: str, answer: str) -> EqualityResult | None:
    """Compare answers in words; ``None`` where both are mathematics."""
    if verdict_word(gold) is not None:
        return _yes_or_no(gold, answer)
    same = same_words(gold, answer)
    if same is not None:
        return EqualityResult(same, "text")
    if is_phrase(gold) and not measure(gold).unit:
        return _sentence(original, answer)
    if is_phrase(answer) and not measure(answer).unit:
        gold_number, answer_numbers = numeral(gold), numbers(answer)
        short = len(answer.split()) <= LONGEST_SENTENCE and "\\" not in answer
        plain = answer_numbers and (
            (short and len(set(answer_numbers)) == 1) or answer.startswith(answer_numbers[0])
        )
        answer_number = numeral(answer_numbers[0]) if plain else None
        if gold_number is not None and answer_number is not None:
            return EqualityResult(same_number(gold_number, answer_number), "numeric")
        return EqualityResult(None, "text", "the answer is in words")
    return None


def _yes_or_no(gold: str, answer: str) -> EqualityResult:
    """Compare by the yes or no that the gold begins with, else by the formula after it."""
    word = verdict_word(answer)
    rest, others = (_AFTER_VERDICT.sub("", text) for text in (gold, answer))
    if word is not None:
        both = word == verdict_word(gold) and _FORMAL.search(rest) and _FORMAL.search(others)
        if both and not compare(rest, others).equal:
            return EqualityResult(None, "text", "what follows the yes or no differs")
        return EqualityResult(word == verdict_word(gold), "text")
    if not rest or is_text(rest) or is_text(answer):
        return EqualityResult(None, "text", "only one of them answers yes or no")
    return compare(rest, answer)


def _sentence(original: str, answer: str) -> EqualityResult:
    """Accept the value of the formula on which the gold's sentence ends; decide nothing else."""
    formulas = [next(filter(None, groups)) for groups in _FORMULA.findall(original)]
    if formulas and original.strip().rstrip(".").endswith("$") and not is_text(answer):
        members = latex.members(tidy(formulas[-1]))
        result = compare(members[-1], answer) if members else None
        if result is not None and result.equal:
            return result
    return EqualityResult(None, "text", "the gold answer is in words")
