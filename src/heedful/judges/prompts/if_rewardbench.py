"""IF-RewardBench's recorded critiques: one block between markers for each item of the checklist.

A block is ``[检查项k-开始]``, ``要求：…``, ``分析：…``, ``结论：…``, ``[检查项k-结束]``; the
conclusion says whether the response 满足了 (meets) or 没有满足 (does not meet) the item.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.nouns import Judgment, Status
from heedful.judges.prompts.base import ReplyPart, answer, decided, judged, undecided
from heedful.judges.prompts.quotation import NOTHING, Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint

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


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a critique; each item stands for itself, and reasoning before it is left out."""
    reply = answer(text)
    blocks = _blocks(reply)
    if not blocks:
        return undecided(constraints, "no block 检查项 in the reply")
    if reply.count(_BEGIN) != len(blocks) or reply.count(_END) != len(blocks):
        return undecided(constraints, "the markers of the blocks don't match")
    parts = [
        ReplyPart("".join(map(str, block)), partial(_judgment, block), block.number, block.asked)
        for block in blocks
    ]
    return judged(parts, constraints, shown, "block 检查项{}")


def faithful(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a critique as the published code does: by place, in the reasoning too.

    Where a marker has no counterpart nothing is read. An item that isn't said to be met is unmet.
    """
    blocks = _blocks(text)
    if text.count(_BEGIN) != len(blocks) or text.count(_END) != len(blocks):
        blocks = []
    judgments = [
        Judgment(
            status=Status.MET if _says_met(block.conclusion) else Status.UNMET,
            explanation=block.reasons,
        )
        for block in blocks[: len(constraints)]
    ]
    return judgments + undecided(constraints[len(judgments) :], "no block for this item")


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


def _judgment(block: _ItemBlock, _constraint: Constraint) -> Judgment:
    met, denied = _says_met(block.conclusion), _DENIED.search(block.conclusion) is not None
    if met == denied:
        reason = f"the conclusion is {block.conclusion[:40]!r}"
        return Judgment(status=Status.UNPARSED, explanation=reason)
    return decided(Status.MET if met else Status.UNMET, block.reasons)
