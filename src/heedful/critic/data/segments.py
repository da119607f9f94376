"""A critique in segments, one for each constraint, and where they stand in its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heedful.core.errors import InputError
from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.text import common_prefix
from heedful.judges.prompts.if_critic import MET, UNMET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from heedful.judges.prompts import JudgePrompt

Reading = Literal["published", "strict"]
READINGS: tuple[Reading, ...] = ("published", "strict")
"""How IF-Critic's format is read: as its public pair code does, or as the prompt's parser does."""

SEGMENTED = ("if_critic", "plain", "short", "structured")
"""The prompts whose critiques are segments and nothing else. AdvancedIF's also sum up the whole,
and CFBench's have no explanations."""

Span = tuple[int, int]
"""Where something starts and ends, in characters of a text; the end is behind it."""

_MARK = "\ue000", "\ue001"
"""Explanations that differ from their first character on."""


@dataclass(frozen=True, slots=True)
class Segmented:
    """A critique that was read."""

    constraints: tuple[Constraint, ...]  # as the critique states them
    judgments: tuple[Judgment, ...]  # one for each, all decided

    @property
    def statuses(self) -> list[Status]:
        """The verdicts."""
        return [judgment.status for judgment in self.judgments]

    def alone(self, position: int) -> Segmented:
        """Return the critique on one of the constraints."""
        return Segmented((self.constraints[position],), (self.judgments[position],))

    def same_constraints(self, other: Segmented) -> bool:
        """Tell whether both judge the same constraints, word for word."""
        return [constraint.text for constraint in self.constraints] == [
            constraint.text for constraint in other.constraints
        ]

    def disagreements(self, other: Segmented) -> list[int]:
        """Return the positions on which the verdicts differ."""
        both = zip(self.statuses, other.statuses, strict=True)
        return [at for at, (mine, theirs) in enumerate(both) if mine is not theirs]


def read(
    text: str, prompt: JudgePrompt, checklist: Sequence[Constraint], reading: Reading
) -> Segmented:
    """Read a critique in which every constraint is decided."""
    if prompt.name == "if_critic" and reading == "published":
        constraints, judgments = read_published(text)
        return Segmented(tuple(constraints), tuple(judgments))
    parsed = prompt.parse(text, checklist)
    for judgment in parsed:
        if not judgment.status.decided:
            raise InputError(judgment.explanation)
    return Segmented(tuple(checklist), tuple(parsed))


def write(critique: Segmented, prompt: JudgePrompt, reading: Reading) -> str:
    """Write a critique as it is read."""
    published = prompt.name == "if_critic" and reading == "published"
    writer = write_published if published else prompt.write
    return writer(critique.judgments, critique.constraints)


def spans(
    critique: Segmented, positions: Sequence[int], write: Callable[[Segmented], str]
) -> list[Span]:
    """Find the judgments on some constraints in the critique's text: explanation and verdict.

    A span begins where the explanation does and ends with the line that states the verdict.
    """
    text = write(critique)
    return [_span(critique, position, text, write) for position in positions]


def _span(critique: Segmented, position: int, text: str, write: Callable[[Segmented], str]) -> Span:
    """Find one judgment by what changes when it is replaced by two others."""
    probes = []
    for status, explanation in zip((Status.MET, Status.UNMET), _MARK, strict=True):
        judgments = list(critique.judgments)
        judgments[position] = Judgment(status=status, explanation=explanation)
        probes.append(write(Segmented(critique.constraints, tuple(judgments))))
    start = common_prefix(*probes)
    # The two verdicts may end alike; the rest of their line belongs to them.
    behind = common_prefix(*(probe[::-1] for probe in probes))
    line_end = probes[0].find("\n", len(probes[0]) - behind)
    tail = len(probes[0]) - line_end if line_end >= 0 else 0
    return start, len(text) - tail


_MARKER = re.compile(r"\[要求(\d+)-(开始|结束)\]")
_CONSTRAINT = re.compile(r"\s*\n要求：")
_PUBLISHED_VERDICTS = {MET: Status.MET, UNMET: Status.UNMET}


def read_published(text: str) -> tuple[list[Constraint], list[Judgment]]:
    """Read a critique: the constraints it states and its judgments, without outer white space."""
    constraints, judgments = [], []
    for number, block in enumerate(_blocks(text), start=1):
        constraint, analysed, rest = block.partition("\n分析：")
        analysis, concluded, conclusion = rest.partition("\n结论：")
        start = _CONSTRAINT.match(constraint)
        if not (start and analysed and concluded and block.endswith("\n")):
            raise InputError(f"block {number} is not 要求：, 分析： and 结论：, each on a new line")
        status = _PUBLISHED_VERDICTS.get(conclusion.strip())
        if status is None:
            raise InputError(f"block {number} does not end in one of the two conclusions")
        constraints.append(Constraint(text=constraint[start.end() :].strip()))
        judgments.append(Judgment(status=status, explanation=analysis.strip()))
    return constraints, judgments


def write_published(judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
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
