"""The seam: anything with a name and an async ``judge`` is a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from heedful.core.noun import updated
from heedful.core.nouns import Critique

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Constraint, Judgment, Sample
    from heedful.models.base import Completion

CODE = ("rules", "compiled")
"""The judges that are code: their verdicts may be taken for right."""


class Judge(Protocol):
    """Turns a sample into a critique."""

    @property
    def name(self) -> str:
        """Its name in results."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """Everything that verdicts depend on, as JSON; a run resumes only with the same."""
        ...

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a sample's constraints.

        Args:
            sample: the sample, with its whole checklist.
            requested: positions in the checklist, ascending; ``None`` asks for all.

        Returns:
            One judgment per requested constraint, in that order; what could not be decided has
            the status that says why. A judge raises only when nothing at all can be judged.
        """
        ...


AnyJudge: TypeAlias = "str | Judge | Callable[..., Any]"
"""What users give for a judge: names, a judge, or a function (:mod:`heedful.judges.making`)."""


class Measure(Protocol):
    """A count by code that bears on a constraint without deciding it."""

    @property
    def version(self) -> str:
        """Changes with what is counted and how it is worded, since verdicts depend on both."""
        ...

    def __call__(self, sample: Sample, constraint: Constraint) -> str | None:
        """Return the count, such as "the response has 412 words"; ``None`` for nothing."""
        ...


def merged(parts: Sequence[Critique], judgments: Sequence[Judgment]) -> Critique:
    """Merge critiques of parts of one checklist."""
    texts = [part.text for part in parts if part.text is not None]
    declared: dict[str, Any] = {}
    proposals: dict[str, bool] = {}
    for part in parts:
        declared |= part.declared
        proposals |= part.proposals
    return Critique(
        judgments=tuple(judgments),
        text="\n\n".join(texts) if texts else None,
        declared=declared,
        proposals=proposals,
        expenses=tuple(expense for part in parts for expense in part.expenses),
    )


def confident(judgments: Sequence[Judgment], completion: Completion) -> list[Judgment]:
    """Give verdicts the confidences that the model had in them, if there is one for each."""
    known = completion.confidences
    if known is None or len(known) != len(judgments):
        return list(judgments)
    both = zip(judgments, known, strict=True)
    return [
        updated(each, {"confidence": how}) if each.status.decided else each for each, how in both
    ]


def facts(
    measure: Measure | None, sample: Sample, constraints: Sequence[Constraint]
) -> list[str | None] | None:
    """Return the count for each constraint; ``None`` where nothing is to be counted."""
    return None if measure is None else [measure(sample, each) for each in constraints]
