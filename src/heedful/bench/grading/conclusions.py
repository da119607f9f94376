"""Values on which a sentence settles: a formula, a number with its unit, several of them, or words.

A sentence is taken apart into tokens, and tokens that belong together into runs (``x = 3``,
``(2, -3)``, ``2 hours 30 minutes``). Of the runs one is chosen, and those that only ``and`` or
``or`` separates from it. What is negated, asked, or said in a remark isn't a candidate.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading import latex
from heedful.bench.grading.chains import settled
from heedful.bench.grading.circumstances import (
    concluded,
    is_no_claim,
    leaves_open,
    several_values,
    without_circumstances,
)
from heedful.bench.grading.numerals import are_one_number
from heedful.bench.grading.prose import MATH, formulas_of, without_remarks
from heedful.bench.grading.spoken import in_words
from heedful.bench.grading.units import SAID_UNIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.core.delimited import Passage

BEFORE = 60
"""Characters before a value that are searched for what introduces it."""

_MASK = "\N{OBJECT REPLACEMENT CHARACTER}"
_VALUE = re.compile(r"[\d=<>]|\\[a-z]")
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_AMOUNT = r"""(?:\d{1,3}(?:\.\d{3})+,\d\d?(?!\d)
    |\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+,\d\d?(?![\d,])|\d+)?
    (?:(?<=\d)\.\d+|(?<!\d)\.\d+)?(?<=\d)"""
_SCALE = r"""\s?(?:[百千万亿]{1,4}(?![米克瓦])
    |(?:dozen|hundred|thousand|million|billion|trillion)(?![a-z]))"""
_TOKEN = re.compile(
    rf"""(?P<formula>{_MASK}+)
    |(?P<date>{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?
        |\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}})?(?![a-z])|\d{{4}}-\d\d-\d\d
        |(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号])
    |(?P<time>(?:[上下]午|晚上|凌晨|早上|中午)\d{{1,2}}[点时](?:\d{{1,2}}分)?
        |(?<![\d:])\d{{1,2}}(?::[0-5]\d)?\s?[ap]\.?m\b\.?|(?<![\d:])\d+(?:\ ?:\ ?\d+)+
        |\d+\s?小?时\s?\d+\s?分钟?(?:\s?\d+\s?秒)?|\d+\s?分钟?\s?\d+\s?秒|\d+\s?元\s?\d+\s?角
        |\d+\s?比\s?\d+|[①-⑳]+(?:[和、，,][①-⑳]+)*|<\s{{0,3}}[-−\w./√π]+(?:\s{{0,3}},\s{{0,3}}[-−\w./√π]+)+\s{{0,3}}>
        |(?<!from\ )\d+\ (?:to|out\ of)\ \d+(?![\d.,]*\d))
    |(?P<number>(?:(?<![\d)]\ )(?:negative|minus)\ |负|零下)?(?:\\?\$\s{{0,3}})?[-−]?{_AMOUNT}
            (?:\s{{0,3}}/\s{{0,3}}\d+(?!\d|\.\d))?(?:\s{{0,3}}\\?%|{_SCALE})?
        |(?:\\?\$\s{{0,3}}){_AMOUNT}(?:{_SCALE})?)
    |(?P<function>(?:sqrt|pi|arcsin|arccos|arctan|sin|cos|tan|log|ln|exp)(?![a-zA-Z]))
    |(?P<letter>(?<![a-zA-Z])[a-zA-Z](?:_\{{\w+\}}|_[a-zA-Z\d]|\d+|[₀-₉]+|'+(?=\s{{0,3}}[(=]))?(?![a-zA-Z\d]))
    |(?P<word>[a-zA-Z]+(?:['’-][a-zA-Z]+)*)
    |(?P<sign>[-−–+*^/=<>≤≥≠≈×·÷±_√∞πθ°²³!|∪∩∈]|\\?%)
    |(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<other>\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_ATOMS = {"formula", "date", "time", "number", "function", "letter"}
_ENDS_WITH = set("!%°²³∞πθ|") | {"\\%"}
_BEGINS_WITH = set("-−–√+±|π∞θ≈")
_VALUED = {"formula", "date", "time", "number"}
_VALUED_SIGNS = set("√π∞")
_PAIRS = {"(": ")]", "[": ")]", "{": "}"}
_ARITHMETIC = re.compile(r"\s*\d[\d.\s]*(?:(?:[-+*/]|\\cdot|\\times)\s*\d[\d.\s]*)+")
_FRACTION = re.compile(r"\d{1,40}\s{0,3}/\s{0,3}\d{1,40}")
_INTRODUCED = re.compile(
    r"""(?:[=<>≤≥≈]|\b(?:is|are|was|were|be|equals?|only|so|gives?|giving|leaves?|leaving|get|makes?|made|earns?|costs?|pays?
    |takes?|took|spends?|needs?|has|have|had|left|but|total\ of|sum\ of|interval|set|point
    |wait|leaving\ \w+\ with)\b[,:]?
    |\b(?:giving|leaving|making)\s(?:an?|the)\s[a-z]+\sof\b|:
    |[为是得有共剩选即故于])\s{0,3}[:：]?\s{0,3}(?:(?!and\b|or\b)[a-zA-Z]+\s+){0,2}$""",
    re.IGNORECASE | re.VERBOSE,
)
_LISTING = re.compile(
    r"(?:[=:：]|\b(?:is|are|be|equals?|either)\b|[为是得即故于])\s{0,3}[:：]?\s{0,3}$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:not|cannot|never|instead\ of|rather\ than)|n['’]t|不是|不为|不等于|而非|不)"
    r"\s{0,3}(?:be|equal\sto|exactly)?\s{0,3}$",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\s{0,3}[吗?？]")
_CLAUSES = re.compile(r"[\u4e00-\u9fff][，；][^，；]*[\u4e00-\u9fff]")
_FAILS = re.compile(r"\s{1,3}(?:(?:does|do|is|are|can|will)(?:n['’]t|\snot)|fails?)\b")
_RANGE = re.compile(r"\bbetween\s+$", re.IGNORECASE)
_CONNECTOR = re.compile(
    r"\s{0,3}(?:[,，、或和;；]|,?\s{0,3}(?:and|or)(?![a-zA-Z]))\s{0,3}(?:[a-z] (?:is|equals) )?"
)
_NAME = re.compile(r"\s{0,3}[a-zA-Z](?:_?\{?\w+\}?|[₀-₉]+|'*\s{0,3}\([a-zA-Z]\))?\s{0,3}")
_HAS_NAME = re.compile(r"(?<![a-zA-Z])(?!x\s*\d)[a-zA-Z](?![a-zA-Z])")


_SIGNED = re.compile(r"(?:\b(?:is|are|get|equals)|[为是得])\s{1,3}$")
_CHANCE = re.compile(
    r"(?:\b(?:probability|chances?|odds|likelihood)\b[^.\d]{0,60}|^\W{0,20})"
    r"(?P<odds>\d{1,9} (?:in|out of) \d{1,9})\W{0,20}$",
    re.IGNORECASE,
)
_PER = re.compile("每(小时|分钟|秒|时|天)$")
_GOES_ON = re.compile(r"\s{0,3}[-−+*/=^(<>≤≥]|\w")


class TokenRun(NamedTuple):
    """Tokens that belong together.

    Attributes:
        start: where it starts in its sentence.
        end: where it ends.
        formula: whether it is one formula between marks.
        valued: whether there is a number or formula in it, and not only names.
    """

    start: int
    end: int
    formula: bool
    valued: bool


def conclusion(sentence: str, *, introduced_only: bool = False) -> str | None:
    """Return the value on which a sentence settles.

    A formula between marks that no introduced number follows, else the last value that a verb or
    sign introduces, else the last one. ``None`` where it has no value.
    """
    sentence = concluded(sentence)
    several = several_values(sentence)
    if several is not None or is_no_claim(sentence) or leaves_open(without_remarks(sentence)):
        return several
    sentence = without_circumstances(without_remarks(sentence))
    formulas = formulas_of(sentence)
    masked = _masked(sentence, formulas)
    chance = _CHANCE.search(masked)
    if chance:
        return chance["odds"]
    runs = [run for run in _runs(masked, sentence) if run.valued]
    affirmed = [run for run in runs if not _is_denied(masked, run)]
    if not affirmed:
        return None if runs else in_words(masked, _INTRODUCED)
    valued = [r for r in affirmed if r.formula and _VALUE.search(sentence[r.start : r.end])]
    plain = [run for run in affirmed if not run.formula]
    after = valued[-1].end if valued else 0
    said = [run for run in plain if run.start >= after and _is_introduced(masked, run)]
    if introduced_only and not said and not valued:
        return None
    choices = said or valued or plain or affirmed
    if _CLAUSES.search(masked[choices[-1].end : affirmed[-1].start]):
        return None  # 3天共60个，平均每天20个
    return _written(sentence, masked, affirmed, choices[-1])


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


def _runs(masked: str, sentence: str) -> Iterator[TokenRun]:
    """Give the runs of tokens that belong together, trimmed to what makes sense."""
    run: list[re.Match[str]] = []
    depth = 0
    tokens = [match for match in _TOKEN.finditer(masked) if match.group()]
    cells = sentence.lstrip().startswith("|") and sentence.rstrip().endswith("|")
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        kind = token.lastgroup
        apart = kind in {"word", "other"} or (cells and token.group() == "|")
        if (apart and token.group() in {",", ";", "，"} and depth > 0) or (
            kind == "word" and _is_product(run, token)
        ):
            run.append(token)
            continue
        if apart or (run and not _belong(run, token, following)):
            yield from _trimmed(run)
            run, depth = [], 0
        if not apart:
            run.append(token)
            depth += (kind == "open") - (kind == "close")
    yield from _trimmed(run)


def _is_product(run: list[re.Match[str]], word: re.Match[str]) -> bool:
    """Check whether two or three letters close to a number are variables: ``3ab``."""
    close = bool(run) and run[-1].end() == word.start() and run[-1].lastgroup == "number"
    letters = word.group()
    return (
        close
        and len(letters) <= 3  # noqa: PLR2004 - a longer run is a word
        and SAID_UNIT.match(letters) is None
        and (letters.casefold() not in {"st", "nd", "rd", "th"})
    )


def _belong(
    run: list[re.Match[str]], token: re.Match[str], following: re.Match[str] | None
) -> bool:
    """Check whether a token goes on with a run."""
    last = run[-1]
    kinds, close = (last.lastgroup, token.lastgroup), last.end() == token.start()
    if kinds[0] in {"sign", "open", "other"} or kinds[1] in {"sign", "close"}:
        return True
    if kinds[1] == "open" or kinds[0] == "close":
        return close
    if kinds == ("number", "number"):  # 2 1/2
        return last.group().isdigit() and _FRACTION.fullmatch(token.group()) is not None
    if kinds == ("number", "letter") and close and _is_unit(token):
        return False
    if "letter" in kinds and not close:
        return _is_apart_but_joined(run, token, following)
    return "function" in kinds or close


def _is_apart_but_joined(
    run: list[re.Match[str]], token: re.Match[str], following: re.Match[str] | None
) -> bool:
    """Check whether a letter goes on with a formula over a space: ``3 x 4``, ``2 x + 1``."""
    if token.lastgroup != "letter":
        return run[-1].group() == "x" and token.lastgroup == "number" and len(run) > 1
    ahead = following.lastgroup if following is not None else None
    times = token.group() == "x" and ahead == "number"
    return times or (ahead == "sign" and token.group() not in "aIA")


def _is_unit(letter: re.Match[str]) -> bool:
    """Check whether a letter close to a number is a unit: in ``5m``, but not in ``5m+1``."""
    unit = SAID_UNIT.match(letter.string, letter.start())
    return unit is not None and _GOES_ON.match(letter.string, unit.end()) is None


def _trimmed(run: list[re.Match[str]]) -> Iterator[TokenRun]:
    """Cut signs off that say nothing at an end, and brackets that are not closed."""
    start, end = 0, len(run)
    opened: list[int] = []
    for place, token in enumerate(run):
        if token.lastgroup == "open":
            opened.append(place)
        elif token.lastgroup == "close":
            if not opened or token.group() not in _PAIRS[run[opened[-1]].group()]:
                end = place
                break
            opened.pop()
    while opened and opened[-1] < end:
        if opened[-1] > start and opened[0] > start:
            end = opened[0]
            break
        start = opened.pop(0) + 1
    while start < end and not _may_begin(run, start, end):
        start += 1
    while start < end and not _may_end(run[end - 1]):
        end -= 1
    kept = run[start:end]
    if kept:
        valued = any(t.lastgroup in _VALUED or t.group() in _VALUED_SIGNS for t in kept)
        formula = len(kept) == 1 and kept[0].lastgroup == "formula"
        yield TokenRun(kept[0].start(), kept[-1].end(), formula, valued)


def _may_begin(run: list[re.Match[str]], start: int, end: int) -> bool:
    token = run[start]
    if token.lastgroup in _ATOMS or token.lastgroup == "open":
        return True
    if token.group() not in _BEGINS_WITH or start + 1 >= end:
        return token.group() in _VALUED_SIGNS
    if token.group() not in "-−–" or token.end() == run[start + 1].start():
        return True
    return _SIGNED.search(token.string, 0, token.start()) is not None


def _may_end(token: re.Match[str]) -> bool:
    return token.lastgroup in {*_ATOMS, "close", "word"} or token.group() in _ENDS_WITH


def _before(masked: str, run: TokenRun) -> str:
    return masked[max(0, run.start - BEFORE) : run.start].rstrip(" $\\")


def _is_denied(masked: str, run: TokenRun) -> bool:
    """Check whether a value is negated, or only asked for."""
    asked = _ASKED.match(masked, run.end) and masked[run.end :].strip(" ?？吗.。*")
    return bool(asked or _FAILS.match(masked, run.end) or _NEGATED.search(_before(masked, run)))


def _is_introduced(masked: str, run: TokenRun) -> bool:
    inner = masked[run.start : run.end]
    return bool(re.search(r"[=<>≤≥≈]", inner) or _INTRODUCED.search(_before(masked, run)))


def _written(sentence: str, masked: str, runs: list[TokenRun], chosen: TokenRun) -> str:
    """Write a run as an answer, with its unit or with those that only ``and`` separates from it."""
    if _RANGE.search(masked[max(0, chosen.start - BEFORE) : chosen.start]) or (
        len(runs) > 1 and re.search(r"\bbetween\b[^.]*\band\s+$", masked[: chosen.start][-BEFORE:])
    ):
        at = masked.rindex("between", 0, chosen.start) if "between" in masked else chosen.start
        return sentence[at : chosen.end].strip()
    measured = _with_unit(sentence, masked, runs, chosen)
    if measured is not None:
        return measured
    place = runs.index(chosen)
    first = last = place
    while first and _CONNECTOR.fullmatch(masked, runs[first - 1].end, runs[first].start):
        first -= 1
    while last + 1 < len(runs) and _CONNECTOR.fullmatch(
        masked, runs[last].end, runs[last + 1].start
    ):
        last += 1
    group = runs[first : last + 1]
    if len(group) > 1 and _are_listed(sentence, masked, group):
        texts = [sentence[run.start : run.end] for run in group]
        if are_one_number(texts):
            return _simple(texts[0])
        if _is_derived(texts, masked[: group[0].start], masked[group[0].end : group[-1].start]):
            return _simple(texts[-1])
        separator = (
            " or " if re.search(r"\bor\b|或", masked[group[0].end : group[-1].start]) else ", "
        )
        return separator.join(_simple(sentence[run.start : run.end]) for run in group)
    return _simple(sentence[chosen.start : chosen.end])


def _are_listed(sentence: str, masked: str, group: list[TokenRun]) -> bool:
    """Check whether values that stand beside each other are one answer."""
    if all(run.formula for run in group):
        return True
    texts = [sentence[run.start : run.end] for run in group]
    named = ["=" in text and _NAME.fullmatch(text.partition("=")[0]) is not None for text in texts]
    relations = [re.search(r"[<>≤≥≠]", text) is not None for text in texts]
    if any("=" in text and not name for text, name in zip(texts, named, strict=True)):
        return False
    start = masked[max(0, group[0].start - BEFORE) : group[0].start]
    return named[0] or all(relations) or bool(_LISTING.search(start)) or not start.strip(" *-•")


def _is_derived(texts: list[str], before: str, between: str) -> bool:
    """Check whether the last value follows from those before it: ``1 - 4k = 0, or k = 1/4``."""
    if re.search(r"\bof\s{1,3}$", before) and "or" in between:  # half of 1, or 1/2
        return True
    if "or" in between and _ARITHMETIC.fullmatch(texts[0]) and "=" not in texts[0]:
        return True
    sides = [latex.members(text) for text in texts]
    if not all(len(each) > 1 for each in sides):
        return False
    names = [_NAME.fullmatch(each[0]) is not None for each in sides]
    bare = (latex.MACRO.sub("", text) for text in texts)
    shared = set.intersection(*({*re.findall("[a-z]", text)} for text in bare))
    return not all(names) and (names[0] or names[-1]) and bool(shared)


def _with_unit(sentence: str, masked: str, runs: list[TokenRun], chosen: TokenRun) -> str | None:
    """Write a value with the unit that follows it; ``None`` where none does."""
    unit = SAID_UNIT.match(masked, chosen.end)
    if unit is None or chosen.formula or "=" in masked[chosen.start : chosen.end]:
        return None
    place = runs.index(chosen)
    measure = _measure(sentence, chosen, unit)
    before = runs[place - 1] if place else None
    former = SAID_UNIT.match(masked, before.end) if before else None
    if before and former and _is_joint(masked[former.end() : chosen.start]):
        return f"{_measure(sentence, before, former)} and {measure}"
    later = runs[place + 1] if place + 1 < len(runs) else None
    latter = SAID_UNIT.match(masked, later.end) if later else None
    if later and latter and _is_joint(masked[unit.end() : later.start]):
        return f"{measure} and {_measure(sentence, later, latter)}"
    return measure


def _is_joint(between: str) -> bool:
    """Check whether two measures are one, as ``2 hours and 30 minutes``."""
    return "or" not in between and "或" not in between and not _CONNECTOR.sub("", between).strip()


def _measure(sentence: str, run: TokenRun, unit: re.Match[str]) -> str:
    per = _PER.search(sentence[max(0, run.start - BEFORE) : run.start])
    value = _simple(sentence[run.start : run.end])
    if re.match(r"\s*[\u4e00-\u9fff]", unit.group()):
        return f"{value}{unit.group().strip()}{'/' + per[1] if per else ''}"
    return f"{value} {unit.group().strip(' -')}"


def _simple(text: str) -> str:
    """Write ``2 + 3 = 5`` as 5; a name before the last equals sign stays."""
    sides = [side.strip() for side in text.split("=")] if "=" in text else [text]
    if len(sides) > 1 and not re.search(r"[<>!\\]", text):
        text = f"{sides[0]} = {sides[-1]}" if _HAS_NAME.search(sides[0]) else sides[-1]
    text = settled(text) if "\\" in text else text
    return re.sub(r"^\\?\$\s*", "", re.sub(r"^(?:negative|minus) |^(?:负|零下)", "-", text.strip()))
