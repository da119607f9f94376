"""InFoBench (arXiv 2401.03601): the Decomposed Requirements Following Ratio.

Every run has it: the constraints met of all, pooled. Faithful scoring of InFoBench's own files
counts as unmet what was neither yes nor no, and leaves out the questions after it, which were not
asked any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.family import Family
from heedful.metrics.outcomes import pooled
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part."""
    verdicts = row.verdicts
    if row.penalised:
        return {}
    asked = row.said(FAMILY.name)
    if scoring == "faithful" and asked is not None:
        return {"drfr": Share.known(verdicts.met, asked)}
    return {"drfr": pooled(verdicts)}


def declared(said: Mapping[str, Any], _sample: Sample, _scoring: Scoring) -> int | None:
    """Read how many questions were asked."""
    asked = said.get("asked")
    return asked if isinstance(asked, int) else None


FAMILY = Family(
    "infobench",
    "InFoBench",
    rates,
    labels={"drfr": "DRFR"},
    every_row=True,
    order=21,
    declared=declared,
)
