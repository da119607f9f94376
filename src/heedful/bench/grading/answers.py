"""Finding the final answer in a solution's text: the last box, what is stated, a conclusion.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading import latex
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
_EMPHASIZED = re.compile(
    r"\*\*\s*(?P<value>\$?-?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?:\s[a-z]+){0,2})\s*(?:\.?\s*\*\*(?!\s+\w)|\*\*)"
)
_NAMED = re.compile(r"[\s$)\\\]]*(?:is|are|equals)\b")
_CLAUSE = re.compile(r"(?<=[\w)\]}$%°!]),?\s+(?:because|since|which|where|when)\b.*", re.DOTALL)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
_FULL_WIDTH.pop(ord("，"))
_FULL_WIDTH.pop(ord("？"))

_MASK = "\N{OBJECT REPLACEMENT CHARACTER}"
_NUMBER = (
    r"(?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+,\d\d?(?![\d,])|\d+)?"
    r"(?:(?<=\d)\.\d+|(?<![\d.])\.\d+)?(?<=\d)"
)
_PIECE = re.compile(
    rf"""(?P<formula>{_MASK}+)
    |(?P<number>(?:\\?\$\s?)?[-−]?(?:\\?\$\s?)?{_NUMBER}
        (?:\s?/\s?\d+(?!\d|\.\d))?(?:\s?\\?%|\s(?:dozen|hundred|thousand|million|billion)(?![a-z]))?)
    |(?P<function>(?:sqrt|pi|arcsin|arccos|arctan|sin|cos|tan|log|ln)(?![a-zA-Z]))
    |(?P<letter>(?<![a-zA-Z])[a-zA-Z](?:_\{{?\w+\}}?|'(?=\s?[(=]))?(?![a-zA-Z'’]))
    |(?P<sign>[-−–+*^/=<>≤≥≠≈×·÷±√∞πθ°²³!|∪∩∈]|\\?%)
    |(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<comma>,(?=\s?[-\d(√π]))|(?P<word>[a-zA-Z]+|\S)""",
    re.VERBOSE,
)
_ATOMS = {"formula", "number", "function", "letter"}
_ENDS_WITH = set("%°²³∞πθ|!")
_BEGINS_WITH = set("-−√±π∞|")
_PAIRS = {"(": ")]", "[": ")]", "{": "}"}
_CONNECTOR = re.compile(r"\s{0,3}(?:[,，、或和;；]|,?\s{0,3}(?:and|or)(?![a-zA-Z]))\s{0,3}")
_RELATION = re.compile(
    r"[<>≤≥≠≈≡]|\\(?:leq?|geq?|lt|gt|neq?|in|to|approx|equiv|leqslant|geqslant)(?![a-z])"
)
_LISTING = re.compile(r"(?:\bare|[=:])\s{0,3}$")
_EXCLAIMED = re.compile(r"(?<=\d)!(?=\s*(?:\n|$))")  # "so it is 5!"
_QUESTION = re.compile(r"[?？]\W{0,9}$")
_CIRCUMSTANCE = re.compile(
    r"\s(?:(?:to|than|that|which|who)\s(?=[a-z])|(?:out\s)?of\s(?:the\s)?(?=\d))"
    r"(?!.*(?:\b(?:is|are|was|equals|gives)\b|[=:]))"
)
"""What a sentence adds to its value: ``$16 to buy 5 pounds``, ``18 out of 36``."""


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
    text = _EXCLAIMED.sub(".", on_one_line(text.translate(_FULL_WIDTH)))
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
    """Cut a stated answer to its formulas, else to its first sentence."""
    formulas = formulas_of(stated)
    if formulas and formulas[0].start <= len("approximately "):
        named = _NAMED.match(stated[formula_end(stated, formulas[0]) :])
        return (conclusion(sentences(stated)[0]) if named else None) or joined(stated, formulas)
    return first_sentence(_CLAUSE.sub("", stated)).strip(" *$`\"'_").rstrip(".")


def conclusion(sentence: str) -> str | None:
    """Return the value on which a sentence settles: its last. ``None`` where it has no value."""
    if _QUESTION.search(sentence):
        return None
    masked = _masked(sentence, formulas_of(sentence))
    runs = list(_runs(masked))
    *_, added = [None, *_CIRCUMSTANCE.finditer(masked, runs[0].end if runs else 0)]
    if added is not None:
        runs = [run for run in runs if run.start < added.start()]
    return _written(sentence, masked, runs) if runs else None


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
    """Give the runs of pieces that belong together and have a value, as ``x = 3``."""
    run: list[re.Match[str]] = []
    depth = 0
    pieces = [piece for piece in _PIECE.finditer(masked) if piece.group()]
    for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
        kind = piece.lastgroup
        if kind == "word" or (kind == "comma" and not depth) or not _belongs(run, piece, following):
            yield from _trimmed(run)
            run, depth = [], 0
        if kind == "word" or (kind == "comma" and not depth):
            continue
        run.append(piece)
        depth += (kind == "open") - (kind == "close")
    yield from _trimmed(run)


def _belongs(
    run: list[re.Match[str]], piece: re.Match[str], following: re.Match[str] | None
) -> bool:
    """Check whether a piece goes on with a run, or may begin one."""
    kind = piece.lastgroup
    last = run[-1] if run else None
    if kind == "letter" and (last is None or last.end() < piece.start()):
        signed = last is not None and last.lastgroup in {"sign", "open", "comma"}
        return signed or (following is not None and following.lastgroup == "sign")
    if (
        last is None
        or last.lastgroup in {"sign", "open", "comma"}
        or kind in {"sign", "close", "comma"}
    ):
        return True
    if last.lastgroup == kind == "number":  # 2 1/2
        return last.group().isdigit() and "/" in piece.group()
    return last.end() == piece.start()


def _trimmed(run: list[re.Match[str]]) -> Iterator[_Run]:
    """Cut signs off that say nothing at an end, and brackets that are not closed."""
    start, end = 0, len(run)
    opened: list[int] = []
    for place, piece in enumerate(run):
        if piece.lastgroup == "open":
            opened.append(place)
        elif piece.lastgroup == "close":
            if not opened or piece.group() not in _PAIRS[run[opened[-1]].group()]:
                start = place + 1
                opened = []
                continue
            opened.pop()
    if opened and opened[0] < end:
        start, end = (opened[0] + 1, end) if opened[0] == 0 else (0, opened[0])
    while start < end and not _may_begin(run, start, end):
        start += 1
    while start < end and not (
        run[end - 1].lastgroup in {*_ATOMS, "close"} or run[end - 1].group() in _ENDS_WITH
    ):
        end -= 1
    kept = run[start:end]
    if any(piece.lastgroup in {"formula", "number"} or piece.group() in "√π∞" for piece in kept):
        formula = len(kept) == 1 and kept[0].lastgroup == "formula"
        yield _Run(kept[0].start(), kept[-1].end(), formula)


def _may_begin(run: list[re.Match[str]], start: int, end: int) -> bool:
    piece = run[start]
    if piece.lastgroup in _ATOMS or piece.lastgroup == "open":
        return True
    close = start + 1 < end and piece.end() == run[start + 1].start()
    return piece.group() in _BEGINS_WITH and (close or piece.group() not in "-−")


def _written(sentence: str, masked: str, runs: list[_Run]) -> str:
    """Write the last value as an answer, with those that are listed beside it."""
    first = last = len(runs) - 1
    while first and _CONNECTOR.fullmatch(masked, runs[first - 1].end, runs[first].start):
        first -= 1
    formulas = all(run.formula for run in runs[first:])
    listed = formulas or _LISTING.search(masked, 0, runs[first].start)
    return ", ".join(
        _simple(sentence[run.start : run.end]) for run in runs[first if listed else last :]
    )


def _simple(text: str) -> str:
    """Write ``2 + 3 = 5`` as 5; a name before the last equals sign stays."""
    sides = [side.strip() for side in text.split("=")] if "=" in text else [text]
    if len(sides) > 1 and not re.search(r"[<>\\]|!=", text):
        text = f"{sides[0]} = {sides[-1]}" if re.search("[a-zA-Z]", sides[0]) else sides[-1]
    return re.sub(r"^\\?\$\s*", "", settled(text) if "\\" in text else text.strip())


def settled(formula: str) -> str:
    r"""Return what a formula ends on: the last side of arithmetic and of chains.

    An equation in letters is left whole, since it may be the answer itself.

    >>> settled(r"3 \cdot 4 = 12"), settled("x + y = 3"), settled("ab = 2b = 6")
    ('12', 'x + y = 3', '6')
    """
    sides = latex.members(formula.strip())
    if len(sides) <= 1 or _RELATION.search(formula) or len(latex.parts(formula)) > 1:
        return formula.strip()
    letters = re.search("[a-zA-Z]", latex.MACRO.sub("", sides[0]))
    return formula.strip() if len(sides) == 2 and letters else sides[-1]  # noqa: PLR2004 - an equation
