"""Finding the final answer in a solution's text: the last box, what is stated, a conclusion.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading.passages import (
    MATH,
    boxed,
    first_sentence,
    formula_end,
    formulas_of,
    joined,
    last_boxed,
    on_one_line,
    sentences,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.core.delimited import Passage

BEFORE = 60
"""Characters before a value that are searched for what introduces it."""

_ANSWER = r"""(?:(?:final\ |correct\ |right\ |best\ )?answer(?:s(?=\ are))?|答案
    |réponse|respuesta|resposta|risposta|antwort|ответ|答え|정답)"""
_STATED = re.compile(
    rf"""(?:{_ANSWER}|\banswer\ (?:to|for)\ [^.:\n]{{1,80}})\**\s*
    (?:(?:is|are|would\ be|should\ be|must\ be|will\ be|comes\ out\ to|was|est|es|é|è|ist)
    (?![a-zé])\s*:?
    |[为是は은]|[:：=]|[-–—](?=\s))[\s*}}]*(?P<answer>[^\n]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_FINAL = re.compile(
    r"final answer is:?\s*(?P<answer>\$[^$\n]*\d[^$\n]*\$[^\n]*|-?\d[^\n]*)", re.IGNORECASE
)
_MARKED = re.compile(
    r"<answer>\s*(?P<tagged>.*?)\s*</answer>|####\s*(?P<last>[^\n]+)\s*$", re.DOTALL
)
_EMPHASIZED = re.compile(r"\*\*\s*(?P<value>\$?-?\d[\d,.]*(?:/\d+)?%?(?:\s[a-z]+){0,2})\.?\s*\*\*")
_NAMED = re.compile(r"[\s$)\\\]]*(?:is|are|equals)\b")
_CLAUSE = re.compile(
    r"(?<=[\w)\]}$%°!])(?:,?\s+(?:because|since|as(?!\s+well)|which|where|when|given|namely|not|but)\b"
    r"|;|:\s+(?=[a-z]{3})).*",
    re.DOTALL,
)
_LEADING = re.compile(r"(?:[ *$`\"'_]|\.(?!\d))+")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
_FULL_WIDTH.pop(ord("，"))
_FULL_WIDTH.pop(ord("？"))

_MASK = "\N{OBJECT REPLACEMENT CHARACTER}"
_VALUE = re.compile(r"[\d=<>]|\\[a-z]")
_HELD = re.compile(rf"[\d{_MASK}√π∞]")
_NUMBER = (
    r"(?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+,\d\d?(?![\d,])|\d+)?"
    r"(?:(?<=\d)\.\d+|(?<![\d.])\.\d+)?(?<=\d)"
)
_SIGN = r"(?:[-−]|[±√|]\s?)?"
_OPERATOR = r"(?:\s?[-−–+*^/=<>≤≥≠≈×·÷±∪∩∈]\s?)?"
_PLAIN = rf"""(?>(?:{_MASK}++
    |(?:\\?\$\s?)?[-−]?(?:\\?\$\s?)?(?=\.?\d)(?>{_NUMBER})
    (?:(?<=\d)\s\d+/\d+|\s?/\s?\d+(?!\d|\.\d))?
    (?:\s?\\?%|\s(?:dozen|hundred|thousand|million|billion)(?![a-z]))?
    |(?:sqrt|pi|arcsin|arccos|arctan|sin|cos|tan|log|ln)(?![a-zA-Z])
    |(?<![a-zA-Z])[a-zA-Z](?:_\{{?\w+\}}?|'(?=\s?[(=]))?(?![a-zA-Z'’])|[π∞])[%°²³!|]*)"""
_ITEM = rf"{_SIGN}{_PLAIN}"
_BRACKETED = rf"[(\[{{]\s?{_ITEM}(?:(?:{_OPERATOR}|,\s?){_ITEM})*+\s?[)\]}}][%°²³!]*"
_TERM = rf"{_SIGN}(?:{_PLAIN}|{_BRACKETED})"
_RUN = re.compile(rf"{_TERM}(?:{_OPERATOR}{_TERM})*+", re.VERBOSE)
"""What may be a value, where it has a number or a formula: ``x = 3``, ``(2, -3)``, ``4!/2!``."""

_INTRODUCED = re.compile(
    r"""(?:[=<>≤≥≈:：]|\b(?:is|are|was|were|be|equals?|only|so|gives?|giving|leaves?|leaving|get
    |makes?|made|earns?|costs?|pays?|takes?|took|spends?|needs?|has|have|had|left|but|total\ of
    |sum\ of)\b[,:]?
    |[为是得有共剩选即故于])\s{0,3}(?:(?!and\b|or\b)[a-zA-Z]+\s+){0,2}$""",
    re.IGNORECASE | re.VERBOSE,
)
_LISTING = re.compile(
    r"(?:^[\s*•-]*|[=:：]|\b(?:is|are|be|equals?|either)\b|[为是得即故于])\s{0,3}$", re.IGNORECASE
)
_CONNECTOR = re.compile(r"\s{0,3}(?:[,，、或和;；]|,?\s{0,3}(?:and|or)(?![a-zA-Z]))\s{0,3}")
_CIRCUMSTANCE = re.compile(r",?\s(?:that|which|who)\s(?:costs?|has|have|weighs?|earns?|pays?)\s")
"""What a sentence says of other things after its value."""


class _Run(NamedTuple):
    """A value in a sentence, and whether it is a formula between marks."""

    start: int
    end: int
    formula: bool


def final_answer(text: str) -> str | None:
    """Return the answer that a solution of an open problem ends on.

    In turn: the last box, after ``####`` (as GSM8K ends) or between tags, after ``the answer is``,
    a value in bold, the value on which the last sentence settles. ``None`` where there is none.

    >>> final_answer("So she pays $1,200 in all."), final_answer("The largest $n$ is 34.")
    ('1,200', '34')
    """
    _, tag, said = text.rpartition("</think>")
    text = said if tag and said.strip() else text
    boxes = list(boxed(text))
    if boxes:
        final = _FINAL.search(text, boxes[-1].end)
        return _core(final["answer"]) if final else last_boxed(text)
    text = on_one_line(text.translate(_FULL_WIDTH))
    *_, marked = [None, *_MARKED.finditer(text)]
    if marked is not None:
        return (marked["tagged"] or marked["last"] or "").strip()
    stated = stated_answer(text)
    if stated is not None:
        return stated
    *_, emphasized = [None, *_EMPHASIZED.finditer(text)]
    if emphasized is not None:
        return emphasized["value"]
    values = map(conclusion, reversed(sentences(text)))
    return next((value for value in values if value is not None), None)


def stated_answer(text: str) -> str | None:
    """Return the answer that a text states last: ``the answer is``."""
    *_, statement = [None, *_STATED.finditer(text)]
    if statement is None:
        return None
    answer = statement["answer"]
    while inner := _STATED.search(answer):
        answer = inner["answer"]
    return _core(answer)


def _core(stated: str) -> str:
    """Cut a stated answer to its formulas, else to its first sentence without remarks."""
    formulas = formulas_of(stated)
    if formulas and formulas[0].start <= len("approximately "):
        named = _NAMED.match(stated[formula_end(stated, formulas[0]) :])
        return (conclusion(sentences(stated)[0]) if named else None) or joined(stated, formulas)
    core = first_sentence(_CLAUSE.sub("", stated)).rstrip(" *.$`\"'_")
    opening = _LEADING.match(core)
    return core[opening.end() :] if opening else core


def conclusion(sentence: str) -> str | None:
    """Return the value on which a sentence settles.

    A formula between marks that no introduced number follows, else the last value that a verb or
    sign introduces, else the last one. ``None`` where it has no value.
    """
    sentence = _without_circumstance(sentence)
    formulas = formulas_of(sentence)
    masked = _masked(sentence, formulas)
    runs = list(_runs(masked))
    if not runs:
        return None
    valued = [run for run in runs if run.formula and _VALUE.search(sentence, run.start, run.end)]
    after = valued[-1].end if valued else 0
    plain = [run for run in runs if not run.formula]
    said = [run for run in plain if run.start >= after and _is_introduced(masked, run)]
    chosen = (said or valued or plain or runs)[-1]
    return _written(sentence, masked, runs, chosen)


def _without_circumstance(sentence: str) -> str:
    found = _CIRCUMSTANCE.search(sentence)
    if found is None or not _VALUE.search(sentence, 0, found.start()):
        return sentence
    return sentence[: found.start()]


def _masked(sentence: str, formulas: list[Passage]) -> str:
    masked = list(sentence)
    for each in formulas:
        start = sentence.index(each.content, each.start)
        end = start + len(each.content)
        masked[each.start : start] = " " * (start - each.start)
        masked[start:end] = _MASK * (end - start)
        mark = len(MATH[next(m for m in MATH if sentence.startswith(m, each.start))])
        masked[end : end + mark] = " " * mark
    return "".join(masked)


def _runs(masked: str) -> Iterator[_Run]:
    """Give the values in a sentence whose formulas are masked."""
    at = 0
    while run := _RUN.search(masked, at):
        at = run.end()
        if _HELD.search(run.group()):
            yield _Run(run.start(), run.end(), not run.group().strip(_MASK))


def _before(masked: str, run: _Run) -> str:
    return masked[max(0, run.start - BEFORE) : run.start].rstrip(" $\\")


def _is_introduced(masked: str, run: _Run) -> bool:
    inner = masked[run.start : run.end]
    return bool(re.search(r"[=<>≤≥≈]", inner) or _INTRODUCED.search(_before(masked, run)))


def _written(sentence: str, masked: str, runs: list[_Run], chosen: _Run) -> str:
    """Write a value as an answer, with those that only ``and`` keeps from it."""
    first = last = runs.index(chosen)
    while first and _CONNECTOR.fullmatch(masked, runs[first - 1].end, runs[first].start):
        first -= 1
    while last + 1 < len(runs) and _CONNECTOR.fullmatch(
        masked, runs[last].end, runs[last + 1].start
    ):
        last += 1
    group = runs[first : last + 1]
    listed = (
        _LISTING.search(_before(masked, group[0])) or "=" in masked[group[0].start : chosen.end]
    )
    if not listed and not all(run.formula for run in group):
        group = [chosen]
    return ", ".join(_simple(sentence[run.start : run.end]) for run in group)


def _simple(text: str) -> str:
    """Write ``2 + 3 = 5`` as 5; a name before the last equals sign stays."""
    sides = [side.strip() for side in text.split("=")] if "=" in text else [text]
    if len(sides) > 1 and not re.search(r"[<>\\]|!=", text):
        text = f"{sides[0]} = {sides[-1]}" if re.search("[a-zA-Z]", sides[0]) else sides[-1]
    return re.sub(r"^\\?\$\s*", "", text.strip())
