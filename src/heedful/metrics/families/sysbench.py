"""SysBench (arXiv 2408.10943): conversations of five turns under one system prompt.

SSR (session stability rate) is the mean over systems (a model and a system prompt) of the number
of leading turns that are all met, divided by the five turns of a conversation. A turn that is
undecided, or missing, can be met or not. Faithful scoring goes by the shipped flags and takes a
missing turn as one that fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.family import Family, Steps
from heedful.metrics.gathering import SessionStability
from heedful.metrics.outcomes import all_met, pooled
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome

NAME = "sysbench"
SSR = Steps("SysBench's SSR", "system_id", "turn", "system", "turn")


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a turn's part of CSR and ISR.

    CSR is the share of verdicts that are met; faithful scoring counts an undecided one as unmet.
    ISR is the share of turns with all met; faithful scoring takes the shipped flag where there is
    one.
    """
    verdicts = row.verdicts
    if scoring == "strict":
        return {"csr": pooled(verdicts), "isr": all_met(verdicts)}
    all_ok = row.said(NAME)
    passed = verdicts.met == verdicts.total if all_ok is None else all_ok
    return {"csr": Share.known(verdicts.met, verdicts.total), "isr": Share.known(int(passed))}


def declared(said: Mapping[str, Any], _sample: Sample, _scoring: Scoring) -> bool | None:
    """Read the shipped flag."""
    value = said.get("all_ok")
    return None if value is None else str(value).strip().lower() in {"1", "1.0", "true"}


class SystemStability(SessionStability):
    """SysBench's systems, and turns whose flag contradicts their verdicts."""

    def extend(self, summary: dict[str, Any], *, readable: float) -> None:
        """List the contradictions, and count the turns that are in no system."""
        super().extend(summary, readable=readable)
        summary["contradictions"] = self.contradictions()


FAMILY = Family(
    NAME,
    "SysBench",
    rates,
    labels={"csr": "CSR", "isr": "ISR", "ssr": "SSR"},
    over_rows=frozenset({"isr"}),
    declared=declared,
    units=lambda scoring: SystemStability(scoring, "ssr", SSR, NAME),
)
