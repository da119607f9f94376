"""Verdicts that only files hold, of judges that nobody can ask: as data, or as published replies.

IF-RewardBench's critiques have a block for each item of the checklist: ``[检查项k-开始]``,
``要求：…``, ``分析：…``, ``结论：…``, ``[检查项k-结束]``; the conclusion says whether the response
满足了 (meets) or 没有满足 (does not meet) the item. ProfBench's ratings of one criterion begin with
"Yes" or "No". SysBench's verdicts are 是 (met) and 否 (unmet), each under its criterion's number.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.rubric import judgment_at
from heedful.core.text import amount
from heedful.judges.prompts.base import ReplyPart, answer, decided, judged, undecided

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.judges.prompts.fence import Shown

    Verdicts = Sequence[Mapping[str, Any]]

TEXTS = ("if_rewardbench", "profbench")
"""Names of the forms that are text."""


def read_verdicts(
    name: str, verdicts: Verdicts, constraints: Sequence[Constraint], *, faithful: bool
) -> list[Judgment]:
    """Read verdicts that are data: SysBench's, or objects as heedful writes them in its results."""
    if name == "sysbench":
        return _sysbench(verdicts, constraints)
    if faithful:  # ``published`` holds the benchmark's own reading, where that is another
        verdicts = [
            {**each, "status": each.get("published", each.get("status"))} for each in verdicts
        ]
    return _native(verdicts, constraints)


def read_text(
    name: str, text: str, constraints: Sequence[Constraint], shown: Shown, *, faithful: bool
) -> list[Judgment]:
    """Read a reply in one of the forms :data:`TEXTS`."""
    if name == "profbench":
        return _profbench(text, constraints, faithful=faithful)
    if faithful:
        return _by_place(text, constraints)
    return _if_rewardbench(text, constraints, shown)


def _native(verdicts: Verdicts, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read verdicts in checklist order."""
    if len(verdicts) != len(constraints):
        given, asked = amount(len(verdicts), "verdict"), amount(len(constraints), "constraint")
        return undecided(constraints, f"{given} for {asked}")
    read = map(_judgment, verdicts)
    return [_at_its_level(each, of) for each, of in zip(read, constraints, strict=True)]


def _judgment(verdict: Mapping[str, Any]) -> Judgment:
    fields = {name: value for name, value in verdict.items() if name != "published"}
    status = fields.get("status")
    if isinstance(status, bool):
        status = Status.MET if status else Status.UNMET
    try:
        return Judgment.model_validate({**fields, "status": status})
    except ValidationError:
        return _unparsed(f"the verdict is {dict(verdict)!r}")


def _at_its_level(judgment: Judgment, constraint: Constraint) -> Judgment:
    """Leave a verdict undecided whose level the scale doesn't have, or that says otherwise."""
    if constraint.scale is None or judgment.level is None or not judgment.status.settled:
        return judgment
    try:
        status = judgment_at(constraint.scale, judgment.level).status
    except KeyError:
        return _unparsed(f"the scale has no level {judgment.level!r}")
    if status is judgment.status:
        return judgment
    return _unparsed(
        f"the verdict is {judgment.status.value}, and its level {judgment.level!r} isn't"
    )


def _unparsed(reason: str) -> Judgment:
    return Judgment(status=Status.UNPARSED, explanation=reason)


_NUMBER = re.compile(r"\s*(\d+)")
_VERDICTS = {"是": Status.MET, "否": Status.UNMET}


def _sysbench(verdicts: Verdicts, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read verdicts, matched by the number in ``crit``; without numbers, by their order."""
    matches = [_NUMBER.match(str(verdict.get("crit", ""))) for verdict in verdicts]
    numbers = [int(match[1]) for match in matches if match]
    if len(numbers) == len(verdicts) and len(set(numbers)) == len(numbers):
        numbered = dict(zip(numbers, verdicts, strict=True))
    elif len(verdicts) == len(constraints) and not numbers:
        numbered = dict(enumerate(verdicts, start=1))
    else:
        reason = f"the numbers of {len(verdicts)} verdicts do not say which criterion each is for"
        return undecided(constraints, reason)
    return [_on_criterion(numbered.get(at), at) for at in range(1, len(constraints) + 1)]


def _on_criterion(verdict: Mapping[str, Any] | None, number: int) -> Judgment:
    if verdict is None:
        return _unparsed(f"no verdict on criterion {number}")
    word = str(verdict.get("v")).strip()
    status = _VERDICTS.get(word)
    return _unparsed(f"the verdict is {word!r}") if status is None else Judgment(status=status)


_FIRST = re.compile(r"[\s*_`\"'(]*(yes|no)\b", re.IGNORECASE)


def _profbench(text: str, constraints: Sequence[Constraint], *, faithful: bool) -> list[Judgment]:
    """Read a rating by its first word; the published code takes all but "Yes" for unmet."""
    word = _FIRST.match(text)
    if word is None and not faithful:
        return undecided(constraints, f"the rating is {text[:40]!r}, neither yes nor no")
    met = text.strip().startswith("Yes") if word is None or faithful else word[1].lower() == "yes"
    status = Status.MET if met else Status.UNMET
    return [Judgment(status=status, explanation=text.strip()) for _ in constraints]


_MARKER = re.compile(r"\[检查项(\d{1,6})-(开始|结束)\]")
_BEGIN, _END = "-开始]", "-结束]"
_PARTS = ("要求：", "分析：", "结论：")
_MET = ("人工智能助手的回复满足了该要求", "[[满足该要求]]")
_DENIED = re.compile(r"(?:没有|没|未|不)(?:能|完全)?满足")


class _ItemBlock(NamedTuple):
    number: int
    asked: str
    reasons: str
    conclusion: str


def _if_rewardbench(text: str, constraints: Sequence[Constraint], shown: Shown) -> list[Judgment]:
    """Read a critique; each item stands for itself, and reasoning before it is left out."""
    reply = answer(text)
    blocks = _blocks(reply)
    if not blocks:
        return undecided(constraints, "no block 检查项 in the reply")
    if not _all_paired(reply, blocks):
        return undecided(constraints, "the markers of the blocks don't match")
    parts = [
        ReplyPart("".join(map(str, block)), partial(_on_item, block), block.number, block.asked)
        for block in blocks
    ]
    return judged(parts, constraints, shown, "block 检查项{}")


def _by_place(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read IF-RewardBench's critique as the published code does: by place, in the reasoning too.

    Where a marker has no counterpart nothing is read. An item that isn't said to be met is unmet.
    """
    blocks = _blocks(text)
    judgments = [
        Judgment(
            status=Status.MET if _says_met(block.conclusion) else Status.UNMET,
            explanation=block.reasons,
        )
        for block in (blocks[: len(constraints)] if _all_paired(text, blocks) else ())
    ]
    return judgments + undecided(constraints[len(judgments) :], "no block for this item")


def _all_paired(text: str, blocks: Sequence[_ItemBlock]) -> bool:
    return text.count(_BEGIN) == len(blocks) == text.count(_END)


def _blocks(text: str) -> list[_ItemBlock]:
    """Find the beginnings that are followed by their ends, with all three parts between."""
    blocks = []
    begun: re.Match[str] | None = None
    for marker in _MARKER.finditer(text):
        if marker[2] == "开始":
            begun = marker
        elif begun is not None and begun[1] == marker[1]:
            parts = _divided(text[begun.end() : marker.start()])
            if parts is not None:
                blocks.append(_ItemBlock(int(marker[1]), *parts))
            begun = None
    return blocks


def _divided(text: str) -> tuple[str, str, str] | None:
    """Divide a block into its three parts, each at the beginning of a line."""
    lead = text[: len(text) - len(text.lstrip())]
    if "\n" not in lead or not text.endswith("\n"):
        return None
    rests: list[str] = []
    for part in _PARTS:
        before, named, text = text.partition(f"\n{part}")
        if not named or (not rests and before.strip()):
            return None
        rests.append(text)
    asked, reasons, conclusion = rests
    return (
        asked.partition(f"\n{_PARTS[1]}")[0].strip(),
        reasons.partition(f"\n{_PARTS[2]}")[0].strip(),
        conclusion.strip(),
    )


def _says_met(conclusion: str) -> bool:
    return any(words in conclusion.rpartition("</think>")[2] for words in _MET)


def _on_item(block: _ItemBlock, _constraint: Constraint) -> Judgment:
    met, denied = _says_met(block.conclusion), _DENIED.search(block.conclusion) is not None
    if met == denied:
        return _unparsed(f"the conclusion is {block.conclusion[:40]!r}")
    return decided(Status.MET if met else Status.UNMET, block.reasons)
