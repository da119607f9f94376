"""Finding the final answer in a solution's text: the last box, what is stated, a conclusion.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re

from heedful.bench.grading.boxes import boxed, boxed_answer
from heedful.bench.grading.circumstances import all_but, as_concluded, leaves_open
from heedful.bench.grading.conclusions import conclusion
from heedful.bench.grading.prose import (
    first_sentence,
    formula_end,
    formulas_of,
    joined,
    on_one_line,
    sentences,
    without_remarks,
)
from heedful.bench.grading.units import SAID_UNIT

_NUMBER = re.compile(
    r"""(?<![A-Za-z0-9_.^])[-−]?(?:\\?\$\s*)?[-−]?
    (?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+,\d\d?(?![\d,])|\d+)?(?:(?<=\d)\.\d+|(?<!\d)\.\d+)?
    (?<=\d)(?:\s*/\s*\d+(?!\d|\.\d))?(?:\s*\\?%)?""",
    re.VERBOSE,
)
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
_MARKED = re.compile(r"<answer>\s*(?P<marked>.*?)\s*</answer>|####\s*(?P<answer>[^\n]+)", re.DOTALL)
_NAMED = re.compile(r"[\s$)\\\]]*(?:is|are|equals)\b")
_DENIED = re.compile(r"(?:n['’]t|not|neither|不是)\b|不是", re.IGNORECASE)
_RETRACTED = re.compile(
    r"""\b(?:wait|correction|scratch\ that|no,|but\ (?:actually|in\ fact|no
    |(?:it\ )?should|it\ (?:is|must))
    |I\ made\ an?\ (?:mistake|error)
    |(?:that|this|it|which)(?:['’]s|\ is|\ was)\ (?:wrong|incorrect|not\ right|a\ mistake))\b
    |不对|错了|更正|错误的|应[为是该]|[?？吗]\s*不""",
    re.IGNORECASE | re.VERBOSE,
)
_MISTAKEN = re.compile(
    r"\b(?:mistake|error|wrong|incorrect|correction|scratch\sthat)\b|不对|错了|更正", re.IGNORECASE
)
_DOUBTED = re.compile(
    r"(?:^|[.!?\n。]|\$)\W{0,9}(?:(?:but|oh|hmm+|no|ah),?\s+){0,2}(?:wait|actually|hold\son|hmm+|oops|let\sme\s(?:re|double|check))\b",
    re.IGNORECASE,
)
_ADMITTED = re.compile(
    r"""\bI(?:['’]ve|\shave)?\s(?:also\s)?(?:made|forgot|missed|mis[a-z]+|overlooked|double-counted)\b
    |\b(?:that|this|it|which)(?:['’]s|\sis|\swas)\s(?:wrong|incorrect|not\sright|a\smistake)\b
    |\b(?:oops|correction|scratch\sthat)\b|不对|错了|更正""",
    re.IGNORECASE | re.VERBOSE,
)
_OPENS_VALUE = re.compile(r"[-−$\\\d(\[]")
_HEADING = re.compile(
    r"(?:the\s)?(?:final\s)?(?:answer|solution|result|conclusion)\W*$|(?:step|part|case)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"""(?<=[\w)\]}}$%°²³!])(?:,?\s+with\s+(?:\w+\s+)?\d+\s?%\s+(?:confidence|certainty)\b
    |,?\s+(?:because|since|as(?!\ well)|which|where|when|i\.e\.
    |that\ is|given|namely|[–—]|-\ (?=[a-z])|rather\ than|instead\ of|and\ not|not|but)\b
    |;|:\s+(?=[a-z]{3})|,?\s+i\.e\.|，(?:因为|不是|而不是|其中|而非)).*""",
    re.VERBOSE | re.DOTALL,
)
_COPULA = re.compile(r"(?:です|だ|입니다|이다)\s{0,3}$")
_FILLER = re.compile(
    r"""(?:(?:approximately|about|roughly|around|nearly|exactly|simply|just|only|therefore|thus|then
    |hence|indeed|still|also|clearly|probably|equal\ to|given\ by
    |the\ (?:number|value)(?:\ of)?)\s{1,3}){1,4}(?=[\d\\$(.√-])""",
    re.IGNORECASE | re.VERBOSE,
)
_CLOSE_UNIT = re.compile(r"(-?\d[\d,.]*)([a-zA-Z]\S*)")
_COUNTED = re.compile(
    r"(-?\d[\d,.]*[个只人本条名辆张块棵件支枚])(?!.*[半多余几倍以上下内左右])[\u4e00-\u9fff]{1,4}|(-?\d[\d,.]*)\s?[(（][\u4e00-\u9fff]{1,2}[)）]"
)
_BULLET = re.compile(r"[-*•]\s+")
_TWICE = re.compile(r"[a-zA-Z-]+ \((-?\d[\d,.]*)\)")
_SENTENCE_WORDS = 6
_LEADING = re.compile(r"(?:[ *$`\"'_]|\.(?!\d))+")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
_FULL_WIDTH.pop(ord("，"))
_FULL_WIDTH.pop(ord("？"))


def numbers(text: str) -> list[str]:
    """Return the numbers of a text as they are written: ``1,200``, ``-3.5``, ``3/4``, ``62.5%``."""
    matches = (match.group() for match in _NUMBER.finditer(text))
    return [_plain_number(number) for number in matches if number]


def _plain_number(number: str) -> str:
    return re.sub(r"[\s\\$]", "", number).replace("−", "-")


def final_answer(text: str) -> str | None:
    """Return the answer that a solution of an open problem ends on.

    In turn: the last box, after ``####`` (as GSM8K ends) or between tags, after ``the answer is``,
    the value on which the last sentence settles. ``None`` where there is none of them.

    >>> final_answer("So she pays $1,200 in all."), final_answer("The largest $n$ is 34.")
    ('1,200', '34')
    """
    _, tag, said = text.rpartition("</think>")
    text = said if tag and said.strip() else text
    if any(box.content for box in boxed(text)):
        return _of_box(text)
    text = on_one_line(as_concluded(text.translate(_FULL_WIDTH)))
    marked = [each for each in _MARKED.finditer(text) if not _is_heading(each)]
    if marked:
        return (marked[-1]["marked"] or marked[-1]["answer"] or "").strip()
    if _STATED.search(text):
        return stated_answer(text)
    for passage in (_PARAGRAPHS.split(text.strip())[-1], text):
        for sentence in reversed(sentences(passage)):
            settled = conclusion(sentence)
            if settled is not None:
                return settled
            if leaves_open(sentence, text):
                return None
    return None


def _of_box(text: str) -> str | None:
    """Return the answer in the last box, or what the text says in its place later."""
    *_, last = boxed(text)
    final = _FINAL.search(text, last.end)
    if final:
        return _core(final["answer"])
    box, rest = boxed_answer(text), text[last.end :]
    mistake, doubted = _MISTAKEN.search(rest), _DOUBTED.search(rest)
    if not (mistake or doubted):
        return box
    after = rest[min(found.end() for found in (mistake, doubted) if found) :]
    later = stated_answer(after)
    if later is not None:
        return later
    admitted = _ADMITTED.search(rest)
    if not (admitted or doubted):
        return box
    settled = (conclusion(each, introduced_only=True) for each in reversed(sentences(after)))
    value = next(filter(None, settled), None)
    if box is None or value is None or _ends_on(value, box):
        return None if admitted and value is None else box
    return value if admitted else None


def _ends_on(value: str, box: str) -> bool:
    """Check whether a later value ends on the numbers of the box."""
    ours, theirs = numbers(value), numbers(box)
    return bool(theirs) and ours[-len(theirs) :] == theirs


def _is_heading(marked: re.Match[str]) -> bool:
    """Check whether what follows ``####`` is the title of a passage, and no answer."""
    title = marked["answer"] or ""
    goes_on = marked.string[marked.end() :].strip()
    return bool(title and goes_on) and (
        _HEADING.match(title) is not None or _OPENS_VALUE.match(title) is None
    )


def stated_answer(text: str) -> str | None:
    """Return the answer that a text states last (``the answer is``), or says in its place later."""
    *_, statement = [None, *_STATED.finditer(text)]
    if statement is None:
        return None
    answer = statement["answer"]
    if text[statement.start("answer") - 1] == "\n":
        answer = _BULLET.sub("", answer)
    while inner := _STATED.search(answer):
        answer = inner["answer"]
    rest = answer + text[statement.end() :]
    retraction = _RETRACTED.search(rest)
    if retraction is not None:
        for sentence in reversed(sentences(rest[retraction.start() :])):
            settled = conclusion(sentence, introduced_only=True)
            if settled is not None:
                return settled
        return None
    if _DENIED.match(answer):
        return conclusion("is " + answer)
    return _core(answer)


def _core(stated: str) -> str | None:
    """Cut a stated answer to its formulas, else to its first sentence without remarks."""
    without = all_but(first_sentence(stated))
    if without is not None:
        return without
    stated = _FILLER.sub("", without_remarks(stated), count=1)
    formulas = formulas_of(stated)
    if formulas and formulas[0].start <= len("approximately "):
        named = _NAMED.match(stated[formula_end(stated, formulas[0]) :])
        value = conclusion(sentences(stated)[0]) if named else None
        return value or joined(stated, formulas)
    return _plain_core(first_sentence(_CLAUSE.sub("", stated)).rstrip(" *.$`\"'_"))


def _plain_core(core: str) -> str:
    """Cut a stated answer without formulas to its value, if it has a single one."""
    close = _CLOSE_UNIT.fullmatch(core)
    if close and SAID_UNIT.fullmatch(close[2]):  # 5m²
        return f"{close[1]} {close[2]}"
    counted = _COUNTED.fullmatch(core)
    if counted:  # 15个苹果, 20（个）
        return counted[1] or counted[2]
    twice = _TWICE.fullmatch(core)
    if twice:  # three (3)
        return twice[1]
    core = _COPULA.sub("", core)
    if len(core.split()) >= _SENTENCE_WORDS and len(numbers(core)) == 1:
        return numbers(core)[0]
    opening = _LEADING.match(core)
    return core[opening.end() :] if opening else core
