"""A labelled row, as a meta-evaluation holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Answer = tuple[str, float | None]
"""A level, ``met``, ``unmet`` or ``not_applicable``, and its value: ``None`` for the last one."""


@dataclass(frozen=True, slots=True)
class Target:
    """One labelled row.

    Attributes:
        id: the row's.
        cluster: number of its instruction; responses to one instruction share it.
        labels: a letter for each constraint.
        group: the row's value of the tag that averages per type go by.
        types: the constraints' types, or the verifiers of those that have none.
        measured: whether code can measure the constraints: a check, or a numerical type.
        annotations: for each annotator a letter for each constraint.
        print: of the checklist, to tell another one with the same id.
        preferred_to: the rows that are known to be worse, by id; ``None`` where none is ranked.
        weights: of the constraints; empty where all are worth the same.
        answers: what the labels say of each constraint; empty where none names a level.
    """

    id: str
    cluster: int
    labels: str
    group: str | None
    types: tuple[str | None, ...]
    measured: tuple[bool, ...]
    annotations: Mapping[str, str]
    print: bytes
    preferred_to: tuple[str, ...] | None = None
    weights: tuple[float, ...] = ()
    answers: tuple[Answer | None, ...] = ()
