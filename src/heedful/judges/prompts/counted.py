"""Counts beside their bounds in an explanation: "39 words, asked for at least 300"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.nouns import Status
from heedful.core.scripts import HAN_CHARACTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.core.nouns import Check

_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = rf"(?:\d{{1,15}}(?:,\d{{3}}){{0,4}}|(?:{_WORDS})\b)"
_BEGIN = r"(?<![\w.,])"
_NOUN = r"(?:[^\W\d_]{1,30} ){0,3}[^\W\d_]{1,30}"
_BOUND = r"(?P<bound>(?:[^.,;:!?()\n]|(?<=\d),(?=\d{3})){1,60}?)"
_STOP = r"(?=[.,;:!?\n](?!\d)|$)"
_ZH_NUMBER = r"(?:\d{1,15}|[一二两三四五六七八九十百千]{1,9})"

# As code says it, and critics trained on code do: any number of times in an explanation.
_CODES = re.compile(rf"{_BEGIN}(?P<count>{_NUMBER}) (?P<noun>{_NOUN}), asked for {_BOUND}{_STOP}")
# As others say it: read only where the explanation speaks of no other number.
_SUBJECT = (
    r"(?:(?:the |this )?(?:response|answer|reply|text|output|it|there) "
    r"(?:has|have|contains|is|are|uses|includes) (?:only |just |exactly |a total of )?)?"
)
_COUNTED = (
    rf"{_SUBJECT}(?:{_BEGIN}(?P<count>{_NUMBER}) (?P<noun>{_NOUN})"
    rf"|(?P<noun2>[^\W\d_]{{1,30}}) count(?: is|:) (?P<count2>{_NUMBER}))"
)
_BUT = r"(?:but |while |whereas |yet |and )?"
_WANTED = r"(?:asked for|requested|required|needed|expected)"
_SAID = (
    rf"(?:[,;.]? {_BUT}(?:{_WANTED}|the (?:requirement|constraint|instruction) "
    rf"(?:is|was|asks for|asked for|calls for|requires)|(?:requirement|limit|target):) {_BOUND}"
    rf"|[,;.]? {_BUT}(?P<bound2>(?:[^.,;:!?()\n]|(?<=\d),(?=\d{{3}})){{1,60}}?) "
    rf"(?:were|was|are|is) {_WANTED}"
    rf"|[,;.]? {_BUT}the (?P<bound3>(?:minimum|maximum) (?:is|was|of) {_NUMBER}(?: {_NOUN})?))"
)
_PROSE = re.compile(rf"(?:^|(?<=[.!?\n]) {{0,4}}){_COUNTED}{_SAID}{_STOP}")
_CHINESE = re.compile(
    r"(?:^|(?<=[。！？\n])[ \u3000]{0,4})(?:回复|回答|全文|文章|文本|内容|本文)?"
    r"(?:一?共|总共|共计|仅|只)?(?:有|包含|为)?"
    rf"(?P<count>{_ZH_NUMBER})个?(?P<noun>字|词|句话?|段|行|条|点|项)"
    r"[，,；;。]?(?:但|而|但是)?(?:题目|指令|约束|用户)?(?:要求|需要|规定)(?:是|为)?"
    r"(?P<bound>[^。，,；;！\n]{1,20}?)(?=[。，,；;！\n]|$)"
)
_NOTHING = re.compile(rf"\s*{_SUBJECT}[\s.!。！]*")
_MAY = re.compile(r"\d|(?:^|\s)(?:" + _WORDS + r")\s|[一二两三四五六七八九十]")
_MAY_ASK = re.compile(
    r"asked|request|requir|need|expect|minimum|maximum|limit|target|要求|需要|规定"
)
_LOOSE = re.compile(
    r"\b(?:give or take|or so|roughly|about|approximately|more or less|tolerance)\b|±"
)
_LENGTHS = re.compile(r"words?|characters?|letters?")
_LONGEST = 2000
"""Characters that are read; bounds the time that a hostile explanation can take."""


class Counted(NamedTuple):
    """A count and what it was to be.

    Attributes:
        number: the count, as a judge states it.
        ranges: least and greatest that were asked for, in each reading of the bound; None is open.
        alone: nothing else is said.
        loose: what stands beside it may widen the bound.
    """

    number: int
    ranges: tuple[tuple[int | None, int | None], ...]
    alone: bool
    loose: bool

    @property
    def keeps(self) -> bool | None:
        """Whether the count keeps the bound; ``None`` where readings differ."""
        within = {
            (low is None or low <= self.number) and (high is None or self.number <= high)
            for low, high in self.ranges
        }
        return within.pop() if len(within) == 1 else None


def miscounts(explanation: str, status: Status, hedged: re.Pattern[str]) -> bool:
    """Tell whether a verdict isn't what follows from a count and the bound beside it.

    A bound is read as the compiler reads a constraint ("3 or more", "300–500", "不超过300字"), and
    what it can't read is not compared. "100 words" are 90 to 110; other numbers of these than 100
    contradict neither verdict. A count outside of its bound
    contradicts *met*. A count within it contradicts *unmet* only where nothing else is said.
    """
    said = explanation.strip().casefold()[:_LONGEST]
    # The second is sought in half the time of the first, and rarer.
    if not status.decided or not _MAY_ASK.search(said) or not _MAY.search(said):
        return False
    for claim in _claims(said, hedged):
        if status is Status.MET and claim.keeps is False and not claim.loose:
            return True
        if status is Status.UNMET and claim.keeps and claim.alone:
            return True
    return False


def _claims(said: str, hedged: re.Pattern[str]) -> Iterator[Counted]:
    found = list(_CODES.finditer(said))
    if not found:
        first = _PROSE.search(said) or _CHINESE.search(said)
        found = [first] if first else []
    for match in found:
        groups = {name.rstrip("23"): text for name, text in match.groupdict().items() if text}
        rest = f"{said[: match.start()]}\n{said[match.end() :]}"
        coded = match.re is _CODES
        if not coded and _MAY.search(rest):
            continue
        ranges = _ranges(groups["bound"], groups["noun"])
        count = _value(groups["count"])
        if ranges and count is not None:
            alone = _NOTHING.fullmatch(rest) is not None
            loose = bool(hedged.search(rest) or _LOOSE.search(rest))
            yield Counted(count, ranges, alone, loose)


def _value(number: str) -> int | None:
    from heedful.verify.compiler.numerals import number_at

    read = number_at(number, 0)
    return read[0] if read is not None and read[1] == len(number) else None


@lru_cache(1024)
def _ranges(bound: str, noun: str) -> tuple[tuple[int | None, int | None], ...]:
    """Read a bound as the compiler does; nothing where it can't."""
    from heedful.verify.compiler.compile import compile_constraint

    if HAN_CHARACTER.search(noun):
        unit = "字" if noun == "字" else "句"
        named = re.sub(r"个?(?:字|词|句话?|段|行|条|点|项)", unit, bound)
        check = compile_constraint(f"全文{named}{'' if unit in named else unit}").check
    else:
        # Any unit may be meant, and a number stands for the same beside all but lengths.
        unit = "words" if _LENGTHS.fullmatch(noun.rsplit(maxsplit=1)[-1]) else "sentences"
        last = noun.rsplit(maxsplit=1)[-1].removesuffix("s")
        numbers = re.sub(r"\b(minimum|maximum) (?:is|was)\b", r"a \1 of", bound)
        numbers = re.sub(rf" {last}s?$", "", numbers).removeprefix("the ").strip()
        numbers = re.sub(rf"\b{last}s?\b", unit, numbers)
        ending = "" if unit in numbers else f" {unit}"
        check = compile_constraint(f"Write {numbers}{ending}.").check
    ranges = tuple(_read(check)) if check is not None else ()
    # "100 words", "about 100": what lies near is neither plainly right nor plainly wrong.
    plain = bound.replace(",", "")
    near = [
        ((low + high) // 2,) * 2
        for low, high in ranges
        if low and high and low != high and str(high) not in plain
    ]
    return (*ranges, *near)


def _read(check: Check) -> Iterator[tuple[int | None, int | None]]:
    if check.id == "heedful:either_reading":
        from heedful.core.nouns import Check

        for each in check.args["checks"]:
            yield from _read(Check.model_validate(each))
    elif check.id == "heedful:count":
        yield check.args.get("at_least"), check.args.get("at_most")
