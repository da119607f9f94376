"""Options of a meta-evaluation that most calls leave at their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

from heedful.engine.options import CONCURRENCY, ignore, refuse_unknown

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.reasoning import ReasoningMode
    from heedful.engine.runner import Progress
    from heedful.models import Model, Price

    Name = str | os.PathLike[str]


BY = "task"
"""The tag that averages go by."""


class MetaOptions(TypedDict, total=False):
    """Further options of :func:`heedful.meta`.

    Attributes:
        responses: a file with the responses, joined on key or prompt, where the data has none.
        format: the format's name; detected from the file by default.
        reasoning: ``strip`` or ``keep`` that of responses; see :func:`heedful.evaluate`.
        by: the tag that averages per type go by; ``task`` by default.
        truth: take the verdicts of code as the labels: ``rules``, ``compiled``, or both with a
            comma.
        probes: judge again under these: ``repeat``, ``order``, ``length``.
        correct: runs on rows without labels, by one of the judges, whose rate of constraints met
            is to be corrected for that judge's errors.
        arbiter: a model that compares two judges' explanations.
        folder: where the judges' runs are stored; the same call again resumes them. Temporary by
            default.
        concurrency: how many rows may be judged at a time; 64 by default.
        retry_failed: in a folder, work again on the rows, and pairs of explanations, that failed or
            were left undecided.
        max_cost: dollars that may be spent on models, over all judges and all sessions.
        prices: dollars by model; heedful's own table by default.
        executor: where calls are made; see :class:`heedful.RunOptions`.
        on_progress: called with the progress after each row.
    """

    responses: Name | None
    format: str | None
    reasoning: ReasoningMode | None
    by: str
    truth: str | None
    probes: Sequence[str]
    correct: Sequence[Name]
    arbiter: Model | None
    folder: Name | None
    concurrency: int
    retry_failed: bool
    max_cost: float | None
    prices: Mapping[str, Price] | None
    executor: str
    on_progress: Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class MetaSettings:
    """The same, with the defaults; see :class:`MetaOptions`."""

    responses: Name | None = None
    format: str | None = None
    reasoning: ReasoningMode | None = None
    by: str = BY
    truth: str | None = None
    probes: Sequence[str] = ()
    correct: Sequence[Name] = ()
    arbiter: Model | None = None
    folder: Name | None = None
    concurrency: int = CONCURRENCY
    retry_failed: bool = False
    max_cost: float | None = None
    prices: Mapping[str, Price] | None = None
    executor: str = "local"
    on_progress: Callable[[Progress], None] = ignore


def settings(**options: Unpack[MetaOptions]) -> MetaSettings:
    """Fill in the defaults."""
    refuse_unknown(options, MetaOptions)
    return MetaSettings(**options)
