"""Judged responses, grouped by the instruction that they answer.

The input is runs of ``heedful evaluate`` or files with judgments, and is read twice: first for
the rewards, of which it holds a few numbers a response, then for the texts that were chosen.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from heedful.core.nouns import Status
from heedful.core.reasoning import answered
from heedful.data import formats
from heedful.jobs.results import scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.judges import Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Critique, Sample
    from heedful.rewards.terms import Terms

Judged: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A run's directory or a file with judgments; or several, whose responses go together."""

PROBLEMS_LISTED = 100


class JudgedRow(NamedTuple):
    """A row of a run, or of a file with judgments."""

    id: str  # the row's id, or its line where it has none
    sample: Sample | None  # the response, if it could be read
    critique: Critique | None  # the judgments on it, if any
    problem: str | None = None  # why one of them is missing


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """A judged response, without its text."""

    position: int  # its place in the input, from 0
    id: str  # the row's id
    value: float | None  # its reward; ``None`` where that is not decided
    length: int  # characters of the response
    text: bytes  # a digest of the response


@dataclass(slots=True)
class ResponseGroups:
    """The candidates by instruction."""

    # the responses to each instruction, in the order of the input
    candidates: dict[bytes, list[ScoredResponse]] = field(default_factory=dict)
    verdicts: int = 0  # verdicts of all responses, on what applies
    decided: int = 0  # how many of them were decided
    fallbacks: int = 0  # undecided rewards that the terms' fallback replaces
    # responses that a gate stopped, by the gate
    gated: Counter[str] = field(default_factory=Counter)
    unread: int = 0  # rows that cannot be read, or hold no response
    # the first of the reasons, each with the row's ``id``
    problems: list[dict[str, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[ScoredResponse]:
        """Yield all candidates, instruction by instruction."""
        for group in self.candidates.values():
            yield from group

    def reject(self, name: str, problem: str) -> None:
        """Count a row that cannot be used, and remember why."""
        self.unread += 1
        if len(self.problems) < PROBLEMS_LISTED:
            self.problems.append({"id": name, "problem": problem})

    def counts(self) -> dict[str, Any]:
        """Count rows, and how many rewards are decided."""
        candidates = list(self)
        return {
            "instructions": len(self.candidates),
            "responses": len(candidates),
            "undecided": sum(response.value is None for response in candidates),
            "fallbacks": self.fallbacks,
            "gated": self.gated.total(),
            "gates": dict(self.gated.most_common()),
            "coverage": self.decided / self.verdicts if self.verdicts else None,
            "unread": self.unread,
            "problems": self.problems,
        }


def judged(data: Judged) -> Iterator[JudgedRow]:
    """Yield the rows of runs, or of files with judgments."""
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        yield from _of_run(path) if path.is_dir() else _of_file(path)


def collect(data: Judged, terms: Terms) -> ResponseGroups:
    """Compute the reward of every judged response and group them by instruction.

    Responses belong together that have the same field ``instruction_id``, as ``heedful respond``
    writes it, or else the same conversation, and the same checklist.
    """
    groups = ResponseGroups()
    for position, (name, sample, critique, problem) in enumerate(judged(data)):
        if sample is None or critique is None:
            groups.reject(name, problem or "no judgments")
            continue
        reward = terms.judged(sample, critique)
        if reward.problem is not None:
            groups.reject(name, reward.problem)
            continue
        text = sample.response or ""
        groups.candidates.setdefault(_instruction(sample), []).append(
            ScoredResponse(position, sample.id, reward.value, len(text), _digest([text]))
        )
        groups.verdicts += sum(s is not Status.NOT_APPLICABLE for s in reward.statuses)
        groups.decided += sum(status.decided for status in reward.statuses)
        groups.fallbacks += not reward.decided and reward.value is not None
        if reward.gate is not None:
            groups.gated[reward.gate.gate] += 1
    return groups


def _of_run(path: Path) -> Iterator[JudgedRow]:
    with SavedRun.open(path) as run:
        for row in run.rows(scored_entry):
            yield JudgedRow(row.id, row.sample, row.critique, row.problem)


def _of_file(path: Path) -> Iterator[JudgedRow]:
    recorded = Recorded()
    with asyncio.Runner() as runner:
        for row in formats.open_source(path):
            name = f"line {row.line}"
            if row.sample is None:
                yield JudgedRow(name, None, None, row.problem)
            elif row.sample.recording is None:
                problem = "no judgments; judge it with heedful evaluate"
                yield JudgedRow(name, row.sample, None, problem)
            else:
                sample = answered(row.sample)
                yield JudgedRow(sample.id, sample, runner.run(recorded.judge(sample)))


def _instruction(sample: Sample) -> bytes:
    known = (sample.model_extra or {}).get("instruction_id")
    if known is not None:
        parts = [f"id {known}"]
    elif sample.conversation:
        parts = [f"{turn.role}\0{turn.content}" for turn in sample.conversation]
    else:
        parts = [f"row {sample.id}"]
    return _digest([*parts, *(constraint.text for constraint in sample.checklist)])


def _digest(texts: list[str]) -> bytes:
    return blake2b("\0\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).digest()
