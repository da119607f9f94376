"""IF-Critic's checklists and critiques: one block between markers for each constraint.

Source: IF-Critic (arXiv 2511.01014) and its released data. A checklist's block is ``[要求k-开始]``,
``要求：…``, ``[要求k-结束]``; a critique's has ``分析：…`` and ``结论：…`` below the constraint.

The markers are the published ones, so the released IF-Critic-14B can judge as it is. The words
around them are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.core.errors import InputError
from heedful.core.if_critic_blocks import CONSTRAINT, MARKER, blocks, write_checklist
from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.text import amount, unix_lines
from heedful.judges.prompts.base import (
    BuiltIn,
    decided,
    quote,
    readings,
    refuse_undecided,
    undecided,
    unquote,
)
from heedful.judges.prompts.fence import NOTHING, QUOTED, Shown

if TYPE_CHECKING:
    from collections.abc import Sequence


MET = "[[人工智能助手的回复满足了该要求]]"
UNMET = "[[人工智能助手的回复没有满足该要求]]"

_ANALYSIS = re.compile(r"[^\S\n]*\n\s*分析：")
_CONCLUSION = re.compile(r"^[ \t]*结论：", re.MULTILINE)


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a critique strictly: all constraints are decided, or none.

    A block must repeat its constraint (outer white space aside), analyse it and end in exactly one
    of the two conclusions. A marker or a second conclusion at the start of a line of an analysis
    leaves two readings, and so none; put ``> `` before such a line to quote it. Reasoning before
    the critique and code fences around it are left out.
    """
    reason = ""
    for reply in readings(text):
        try:
            judgments = _judgments(reply, constraints)
        except InputError as error:
            reason = reason or error.what
        else:
            return undecided(constraints, QUOTED) if shown.holds(reply) else judgments
    return undecided(constraints, reason)


def _judgments(reply: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    parts = blocks(reply)
    if len(parts) != len(constraints):
        given = amount(len(parts), "block")
        raise InputError(f"{given} for {amount(len(constraints), 'constraint')}")
    return [
        _judgment(block, constraint.text, number)
        for number, (block, constraint) in enumerate(zip(parts, constraints, strict=True), start=1)
    ]


def _judgment(block: str, constraint: str, number: int) -> Judgment:
    """Read one block of a critique."""
    start = CONSTRAINT.match(block)
    if start is None:
        raise InputError(f"block {number} has no 要求：")
    # The constraint is known, so one that contains 分析： or 结论： itself does no harm.
    rest = block[start.end() :].lstrip()
    words = unix_lines(constraint).strip()
    if not rest.startswith(words):
        raise InputError(f"block {number} does not repeat its constraint")
    analysis = _ANALYSIS.match(rest, len(words))
    if analysis is None:
        raise InputError(f"block {number} has no 分析： behind its constraint")
    body = rest[analysis.end() :]
    conclusions = list(_CONCLUSION.finditer(body))
    if len(conclusions) != 1:
        raise InputError(f"block {number} has {len(conclusions)} lines 结论：, not one")
    conclusion = body[conclusions[0].end() :].strip()
    if conclusion not in (MET, UNMET):
        raise InputError(f"block {number} concludes {conclusion[:40]!r}, which isn't a verdict")
    status = Status.MET if conclusion == MET else Status.UNMET
    return decided(status, unquote(body[: conclusions[0].start()].strip(), _is_marker))


def _is_marker(line: str) -> bool:
    """Tell whether a line of an analysis would be taken for a part of the structure."""
    return bool(MARKER.match(line) or _CONCLUSION.match(line))


@dataclass(frozen=True, slots=True)
class IFCritic(BuiltIn):
    """IF-Critic's format: the whole checklist in one critique, in Chinese."""

    text: str | None = None

    name = "if_critic"
    parser = 4
    languages = ("zh",)
    response_format = None
    parse = staticmethod(parse)

    def _listed(self, constraints: Sequence[Constraint]) -> str:
        return write_checklist([constraint.text for constraint in constraints])

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
        """Write the critique that reads as these judgments.

        It does so unless a constraint holds a marker on a line of its own: the format has no way
        to say that.
        """
        refuse_undecided(judgments)
        blocks = []
        for number, (judgment, constraint) in enumerate(
            zip(judgments, constraints, strict=True), start=1
        ):
            analysis = quote(judgment.explanation.strip(), _is_marker)
            conclusion = MET if judgment.status is Status.MET else UNMET
            body = f"要求：{constraint.text.strip()}\n分析：{analysis}\n结论：{conclusion}"
            blocks.append(f"[要求{number}-开始]\n{body}\n[要求{number}-结束]")
        return "\n\n".join(blocks)
