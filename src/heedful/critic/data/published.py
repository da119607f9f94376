"""IF-Critic's critiques as its public pair code reads and writes them.

Source: the data and the pair code that IF-Critic (arXiv 2511.01014) published. That reading is
looser than the prompt's parser: text around the blocks counts for nothing, blocks may carry any
numbers, and a critique's constraints are those it states, whether or not the checklist has them. It
is stricter in one way: nothing but a block's own markers may end in ``-开始]`` or ``-结束]``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core.errors import InputError
from heedful.core.nouns import Constraint, Judgment, Status
from heedful.judges.prompts.if_critic import MET, UNMET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARKER = re.compile(r"\[要求(\d+)-(开始|结束)\]")
_CONSTRAINT = re.compile(r"\s*\n要求：")
_VERDICTS = {MET: Status.MET, UNMET: Status.UNMET}


def read(text: str) -> tuple[list[Constraint], list[Judgment]]:
    """Read a critique: the constraints it states and its judgments, without outer white space."""
    constraints, judgments = [], []
    for number, block in enumerate(_blocks(text), start=1):
        constraint, analysed, rest = block.partition("\n分析：")
        analysis, concluded, conclusion = rest.partition("\n结论：")
        start = _CONSTRAINT.match(constraint)
        if not (start and analysed and concluded and block.endswith("\n")):
            raise InputError(f"block {number} is not 要求：, 分析： and 结论：, each on a new line")
        status = _VERDICTS.get(conclusion.strip())
        if status is None:
            raise InputError(f"block {number} does not end in one of the two conclusions")
        constraints.append(Constraint(text=constraint[start.end() :].strip()))
        judgments.append(Judgment(status=status, explanation=analysis.strip()))
    return constraints, judgments


def write(judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
    """Write a critique, its blocks numbered from 1 and a blank line between them."""
    return "\n\n".join(
        f"[要求{number}-开始]\n要求：{constraint.text}\n分析：{judgment.explanation}\n"
        f"结论：{MET if judgment.status is Status.MET else UNMET}\n[要求{number}-结束]"
        for number, (judgment, constraint) in enumerate(
            zip(judgments, constraints, strict=True), start=1
        )
    )


def _blocks(text: str) -> Iterator[str]:
    """Yield what stands between each opening marker and the closing one of the same number."""
    markers = list(_MARKER.finditer(text))
    openings, closings = markers[::2], markers[1::2]
    paired = len(openings) == len(closings) and all(
        (opening[2], closing[2]) == ("开始", "结束") and opening[1] == closing[1]
        for opening, closing in zip(openings, closings, strict=True)
    )
    if not paired or {text.count("-开始]"), text.count("-结束]")} != {len(openings)}:
        raise InputError("the markers [要求k-开始] and [要求k-结束] do not pair")
    if not openings:
        raise InputError("no block [要求1-开始] … [要求1-结束]")
    for opening, closing in zip(openings, closings, strict=True):
        yield text[opening.end() : closing.start()]
