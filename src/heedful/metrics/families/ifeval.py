"""IFEval (arXiv 2311.07911): four accuracies of responses whose constraints are all verifiable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family
from heedful.metrics.general import ACCURACIES
from heedful.metrics.outcomes import all_met, pooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share


def rates(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of the accuracies.

    Prompt level: the row's constraints are all met; instruction level: pooled over constraints.
    Both scorings agree: where the published code differs, it is in its verifiers.
    """
    if not row.checked.total or row.checked.total < row.verdicts.total:
        return {}
    shares = all_met(row.checked), pooled(row.checked), all_met(row.loose), pooled(row.loose)
    return dict(zip(ACCURACIES, shares, strict=True))


def notes(rows: Sequence[tuple[RowOutcome, int]]) -> Iterator[str]:
    """Count the rows that are in none, if others are."""
    rated = [bool(rates(row, "strict")) for row, _ in rows]
    left = sum(
        count for (row, count), of in zip(rows, rated, strict=True) if row.verdicts.total and not of
    )
    if left and any(rated):
        what = "samples with a constraint that has no check, which are not in IFEval's rates"
        yield f"{what}: {left}"


def _by_verifiers(rows: Iterable[RowOutcome]) -> bool:
    """Check that any verifier judged: without loose verdicts the rates aren't IFEval's."""
    return any(row.loose.decided for row in rows)


FAMILY = Family(
    "ifeval",
    "IFEval",
    rates,
    every_row=True,
    order=1,
    own=False,
    over_rows=frozenset({"prompt_strict", "prompt_loose"}),
    enabled=_by_verifiers,
    notes=notes,
)
