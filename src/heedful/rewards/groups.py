"""Judged responses, grouped by the instruction that they answer.

The input is runs of ``heedful evaluate`` or files with judgments, and is read twice: first for
the rewards, of which a few numbers a response are kept, then for the texts that were chosen.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from heedful.data import formats
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.judges import Recorded
from heedful.metrics.clusters import cluster_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Critique, Sample
    from heedful.rewards.terms import Terms

Judged: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A run's directory or a file with judgments; or several, whose responses go together."""

PROBLEMS_KEPT = 100


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """One judged response, without its text.

    Attributes:
        position: its place in the input, from 0.
        id: the row's id.
        value: its reward; ``None`` where that is not decided.
        length: characters of the response.
        text: a digest of the response.
    """

    position: int
    id: str
    value: float | None
    length: int
    text: bytes


@dataclass(slots=True)
class ResponseGroups:
    """The candidates by instruction.

    Attributes:
        candidates: the responses to each instruction, in the order of the input.
        clusters: for each instruction what it varies together with, as in every interval.
        verdicts: verdicts of all responses.
        decided: how many of them were decided.
        fallbacks: rewards that the terms' fallback took the place of.
        guarded: responses that violate a guard.
        empty: responses that are empty, whose reward is 0.
        unread: rows that cannot be read, or hold no response.
        problems: the first of the reasons, with their rows.
    """

    candidates: dict[bytes, list[ScoredResponse]] = field(default_factory=dict)
    clusters: dict[bytes, bytes] = field(default_factory=dict)
    verdicts: int = 0
    decided: int = 0
    fallbacks: int = 0
    guarded: int = 0
    empty: int = 0
    unread: int = 0
    problems: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[ScoredResponse]:
        """Yield all candidates, instruction by instruction."""
        for group in self.candidates.values():
            yield from group

    def reject(self, name: str, problem: str) -> None:
        """Count a row that comes to nothing, and remember why."""
        self.unread += 1
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(f"{name}: {problem}")


def judged(data: Judged) -> Iterator[tuple[str, Sample | None, Critique | None]]:
    """Yield the rows of runs, or of files with judgments: name, sample, critique.

    The sample or the critique is ``None`` for a row that has none; the name then says why.

    Raises:
        InputError: the file is missing, empty or in no known format.
        RunError: the directory holds no run, or one that is not finished or judged nothing.
    """
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        yield from _of_run(path) if path.is_dir() else _of_file(path)


def collect(data: Judged, terms: Terms) -> ResponseGroups:
    """Compute the reward of every judged response and group them by instruction.

    Responses belong together that have the same field ``instruction_id``, as ``heedful respond``
    writes it, or else the same conversation, and the same checklist.

    Args:
        data: directories of runs, or files with judgments.
        terms: how verdicts become a reward.

    Raises:
        InputError: the file is missing, empty or in no known format.
        RunError: the directory holds no run, or one that is not finished or judged nothing.
    """
    groups = ResponseGroups()
    for position, (name, sample, critique) in enumerate(judged(data)):
        if sample is None or critique is None:
            groups.reject(*name.split(": ", 1))
            continue
        found = terms.judged(sample, critique)
        if found.problem is not None:
            groups.reject(name, found.problem)
            continue
        text = sample.response or ""
        instruction = _instruction(sample)
        groups.clusters.setdefault(instruction, cluster_of(sample))
        groups.candidates.setdefault(instruction, []).append(
            ScoredResponse(position, sample.id, found.value, len(text), _digest([text]))
        )
        groups.verdicts += len(found.statuses)
        groups.decided += sum(status.decided for status in found.statuses)
        groups.fallbacks += not found.decided and found.value is not None
        groups.guarded += any(guard.status == "unmet" for guard in found.guards)
        groups.empty += found.empty
    return groups


def _of_run(path: Path) -> Iterator[tuple[str, Sample | None, Critique | None]]:
    with SavedRun.open(path) as run:
        for row in run.rows(scored_entry):
            name = row.id if row.sample is not None else f"{row.id}: {row.problem}"
            yield name, row.sample, row.critique


def _of_file(path: Path) -> Iterator[tuple[str, Sample | None, Critique | None]]:
    recorded = Recorded()
    with asyncio.Runner() as runner:
        for row in formats.open_source(path):
            if row.sample is None:
                yield f"line {row.line}: {row.problem}", None, None
            elif row.sample.recording is None:
                yield f"line {row.line}: no judgments; judge it with heedful evaluate", None, None
            else:
                yield row.sample.id, row.sample, runner.run(recorded.judge(row.sample))


def _instruction(sample: Sample) -> bytes:
    known = (sample.model_extra or {}).get("instruction_id")
    if known is not None:
        asked = [f"id {known}"]
    elif sample.conversation:
        asked = [f"{turn.role}\0{turn.content}" for turn in sample.conversation]
    else:
        asked = [f"row {sample.id}"]
    return _digest([*asked, *(constraint.text for constraint in sample.checklist)])


def _digest(texts: list[str]) -> bytes:
    return blake2b("\0\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).digest()
