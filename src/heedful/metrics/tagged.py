"""Breakdowns by tags of which a row or a constraint may have several of one kind.

Benchmarks write such tags as ``kind:value``: HealthBench's themes, axes and clusters,
ComplexBench's dimensions and compositions. Of a constraint they are its extra field ``tags``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.rubric import constraint_tags, named_tags
from heedful.metrics.gathering import GroupCounts
from heedful.metrics.outcomes import NOT_APPLICABLE, packed_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Constraint, Sample

KINDS = 50
"""Kinds of tags that are told apart: more help nobody."""


def tags_of(sample: Sample) -> Iterator[tuple[str, Any]]:
    """Go through a row's tags, and its ``example_tags`` (HealthBench) of kinds that come twice."""
    yield from sample.tags.items()
    several = sample.source.get("example_tags") if sample.source else None
    for kind, value in dict.fromkeys(named_tags(several)):
        if kind in sample.tags and sample.tags[kind] != value:
            yield kind, value


class ConstraintTags:
    """Verdicts by the tags of their constraints; one with several of a kind counts in each."""

    def __init__(self) -> None:
        self.kinds: dict[str, GroupCounts[int]] = {}

    def add(
        self, checklist: Sequence[Constraint], states: Sequence[int]
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        """Count a row's verdicts, and say what it contributes to which cells."""
        counts: dict[tuple[str, str], int] = {}
        for constraint, state in zip(checklist, states, strict=True):
            if not constraint.__pydantic_extra__:  # nearly all: they have no tags
                continue
            if state != NOT_APPLICABLE and not constraint.is_penalty:
                for named in constraint_tags(constraint):
                    counts[named] = counts.get(named, 0) + packed_verdict(state)
        for (kind, value), packed in counts.items():
            if kind not in self.kinds and len(self.kinds) == KINDS:
                continue
            groups = self.kinds.setdefault(kind, GroupCounts())
            groups.add(value, packed)
            if not groups.dropped:
                yield ("constraint", f"constraint {kind}", value), packed
