"""Formulas and sentences of a text, without what is only said in passing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core.delimited import delimited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.delimited import Passage

MATH = {"$$": "$$", r"\[": r"\]", "$": "$", r"\(": r"\)"}
"""Marks around formulas, with what closes each."""

DISPLAYS = {"$$": "$$", r"\[": r"\]"}
"""Marks around formulas on lines of their own."""

_SUM = re.compile(r"\d[^$]*[\s(]$")
_ENVIRONMENT = re.compile(
    r"(?<!\[)(?<!\$\$)(?<!\[\s)(?<!\$\$\s)\\begin\{(?P<name>align|equation|gather|multline)(?P<star>\*?)\}"
    r"(?:(?!\\(?:begin|end)\{(?P=name)).){1,4000}\\end\{(?P=name)(?P=star)\}",
    re.DOTALL,
)
_PROSE = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}[ ,]+[a-zA-Z]+[ ,]")
JOINT = re.compile(
    r"""(?:[\s,;.$&]|\\(?:quad|qquad)(?![a-zA-Z])|\\[,;:()\[\]]|(?:and|or)(?![a-zA-Z])|[或和、，]
    |\\(?:text|mathrm)\{[^{}]*(?:\b(?:and|or)\b|,|[或和])[^{}]*\}|[a-zA-Z](?:_\{?\w+\}?)?\s*=)*+""",
    re.VERBOSE,
)
"""Text that may stand between boxes or formulas that hold one answer in pieces."""

_REMARK = re.compile(
    r"(?<=[^\s=])\s{0,3}[(\[（](?!\s*(?:in|mod|if|for)\b)"
    r"(?=[^()\[\]（）\\$]*(?:[a-zA-Z]{3,}[ .,)\]）]"
    r"|[a-z]{2,} \d|\d+ ?(?:d\.?p|s\.?f|not)\b|[\u4e00-\u9fff]{2}))[^()\[\]（）\\$]{1,300}[)\]）]"
    r"|(?<=\S)\s{1,3}\[\d+\]|\s{1,3}\((?:since|because)\b[^()]{1,200}\)",
)
_SENTENCE_END = re.compile(
    r"(?<![ap]\.m)[.!](?=\s|$|\*)|[?？！。\n]|(?<=\$\$)\s+(?=[A-Z])|(?<=\\\])\s+(?=[A-Z])"
)
_ASIDE = re.compile(
    r"\W{0,20}(?:I hope|hope this|let me know|feel free|please|if you|thank|note\b|remark|see\b"
    r"|where\b|(?:this|it|that|equality)\s(?:occurs|happens|holds|is\s(?:attained|achieved|reached))\b"
    r"|\d{1,3}\.\s{0,3}$)",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(r"[,;\s](?:so|thus|hence|therefore)\s[^.]*[\d$\\]", re.IGNORECASE)
_BRACKETED = re.compile(
    r"\s{0,9}[(（][A-Z]?[a-z\u4e00-\u9fff]+[ \u4e00-\u9fff][^()（）]*[)）]?\W{0,9}"
)


def formulas_of(text: str) -> list[Passage]:
    """Return the formulas of a text; what stands between two sums of dollars isn't one."""
    return [
        each
        for each in delimited(text, MATH)
        if "**" not in each.content
        and (
            text.startswith(("$$", "\\"), each.start)
            or not (_PROSE.search(each.content + " ") or _SUM.match(each.content))
        )
    ]


def on_one_line(text: str) -> str:
    r"""Write each displayed formula on one line, and on that of the words that lead to it.

    A stop at a formula's end is moved behind it, so that it ends the sentence.

    >>> on_one_line("The answer is:\n\n\\[\nx = 3.\n\\]\nDone.")
    'The answer is: \\[x = 3\\].\nDone.'
    """
    text = _ENVIRONMENT.sub(r"\n\\[\g<0>\\]\n", text) if r"\begin{" in text else text
    pieces, at = [], 0
    for each in formulas_of(text):
        mark = next(mark for mark in MATH if text.startswith(mark, each.start))
        before = text[at : each.start]
        content = each.content.strip()
        stop = content[-1:] if content[-1:] in {".", ",", ";"} and content[-2:-1] != "\\" else ""
        end = formula_end(text, each) + len(mark)
        if mark in DISPLAYS:
            lead = before.rstrip()
            if lead[-1:].isalpha() or lead[-1:] in {":", "：", ","}:
                before = f"{lead} "
            content = " ".join(content.removesuffix(stop).split())
        elif stop:
            content = content.removesuffix(stop)
        else:
            content = each.content
        space = " " if (stop or mark in DISPLAYS) and text[end : end + 1].isalpha() else ""
        pieces += [before, mark, content, MATH[mark], stop, space]
        at = end
    return "".join(pieces) + text[at:]


def formula_end(text: str, formula: Passage) -> int:
    """Return where a formula's content ends."""
    return text.index(formula.content, formula.start) + len(formula.content)


def joined(text: str, formulas: Sequence[Passage]) -> str:
    """Return the first of some formulas, with those that only ``and`` separates from it."""
    pieces = [formulas[0]]
    for formula in formulas[1:]:
        if not JOINT.fullmatch(text[formula_end(text, pieces[-1]) : formula.start]):
            break
        pieces.append(formula)
    return ", ".join(piece.content.strip() for piece in pieces)


def sentences(text: str) -> list[str]:
    """Split a text at full stops and line ends that aren't in a formula; asides are left out."""
    inside = [(each.start, formula_end(text, each)) for each in formulas_of(text)]
    found, start, at = [], 0, 0
    for match in _SENTENCE_END.finditer(text):
        while at < len(inside) and inside[at][1] <= match.end():
            at += 1
        if at < len(inside) and inside[at][0] <= match.end() < inside[at][1]:
            continue
        found.append(text[start : match.end()])
        start = match.end()
    found.append(text[start:])
    return [each for each in found if each.strip() and not _is_aside(each)]


def first_sentence(text: str) -> str:
    """Return what stands before the first sentence end, formulas or not."""
    end = _SENTENCE_END.search(text)
    return text[: end.start()] if end else text


def without_remarks(text: str) -> str:
    """Leave out remarks in brackets that have words in them, as ``(see step 2)``."""
    return _REMARK.sub("", text) or text


def _is_aside(sentence: str) -> bool:
    if _ASIDE.match(sentence):
        return _CONCLUDES.search(sentence) is None
    return _BRACKETED.fullmatch(sentence) is not None
