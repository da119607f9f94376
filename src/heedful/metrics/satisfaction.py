"""The published satisfaction rates: CFBench, InFoBench, AdvancedIF, IFEval and SysBench.

A row (a sample and its critique) is first boiled down to an outcome (see
:mod:`heedful.metrics.outcomes`). Each family turns an outcome into its part of each of its rates;
nothing here adds rows up.

Undecided verdicts are left out of what a row is known to contribute. A rate that depends on one is
a range: from all of them unmet to all of them met. The same for all families under ``strict``
scoring.

``faithful`` scoring computes what the published code computes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from heedful.metrics.outcomes import outcome, sort_verdicts
from heedful.metrics.rates import Share, known_value
from heedful.metrics.rubric_families import (
    followbench,
    multichallenge,
    rubric_family,
    structflow,
)
from heedful.metrics.rubrics import FAMILY_SCORES, family_shares
from heedful.metrics.shares import all_met, csr_share, mean, pooled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import AdvancedIFReply, CFBenchReply, RowOutcome, VerdictCounts

__all__ = ["FAMILIES", "OVER_ROWS", "advancedif", "cfbench", "cfbench_scores", "infobench"]


def scores(sample: Sample, critique: Critique, scoring: Scoring) -> dict[str, float | None]:
    """Score one row, for the results file."""
    row = outcome(sample, critique, sort_verdicts(sample, critique), scoring)
    return {**scores_of(row, scoring)}


@lru_cache(maxsize=4096)
def scores_of(row: RowOutcome, scoring: Scoring) -> Mapping[str, float | None]:
    """Score all rows that came out alike."""
    rates = {name: known_value(share) for name, share in cfbench(row, scoring).items()}
    rates = rates or {"csr": None, "isr": None}
    if row.rubric is not None:
        score = family_shares("rubric", row.rubric, scoring).get("score")
        rates["score"] = None if score is None else known_value(score)
    levels = ifeval(row, scoring)
    if levels and row.loose.decided:
        rates |= {name: known_value(levels[f"prompt_{name}"]) for name in ("strict", "loose")}
    return rates


def cfbench_scores(sample: Sample, critique: Critique, scoring: Scoring) -> dict[str, float | None]:
    """Compute CFBench's three scores of one row."""
    row = outcome(sample, critique, sort_verdicts(sample, critique), scoring)
    shares = cfbench(row, scoring)
    names = ("csr", "isr", "psr")
    return {name: known_value(shares[name]) if name in shares else None for name in names}


def cfbench(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of CFBench's CSR, ISR and PSR (arXiv 2408.01122).

    CSR is the mean over rows of the share of constraints met, ISR the share of rows with all met,
    PSR the share of rows that pass by priority, see :func:`_psr`. Faithful scoring rounds each
    row's shares to two decimals on the way and takes the scores that CFBench's code gave to the
    judge's reply, where the critique declares them. A constraint without priority in a checklist
    that has priorities counts as secondary.

    Rows with penalties are in no rate of constraints met: their scores are those of
    :mod:`.rubrics`.
    """
    verdicts = row.verdicts
    if not verdicts.total or row.penalised:
        return {}
    if row.cfbench is not None:
        published = _published_scores(row.cfbench)
        shares = {name: Share.known(value) for name, value in published.items()}
    else:
        rounded = scoring == "faithful"
        shares = {
            "csr": csr_share(verdicts, rounded=rounded),
            "isr": _isr_share(verdicts, rounded=rounded),
            "psr": _psr_share(row.primary, row.other, rounded=rounded),
        }
    if not row.prioritised:
        del shares["psr"]
    return shares


def infobench(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of the Decomposed Requirements Following Ratio: met / decided, pooled.

    Source: InFoBench (arXiv 2401.03601). Faithful scoring of its own files counts as unmet what was
    neither yes nor no, and leaves out the questions after it, which were not asked any more.
    """
    verdicts = row.verdicts
    if not verdicts.total or row.penalised:
        return {}
    if scoring == "faithful" and row.asked is not None:
        return {"drfr": Share.known(verdicts.met, row.asked)}
    return {"drfr": pooled(verdicts)}


def ifeval(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of IFEval's four accuracies (arXiv 2311.07911).

    Prompt level: the row's constraints are all met; instruction level: pooled over constraints.
    Only rows whose constraints are all verifiable count, as IFEval's are. Both scorings agree:
    where the published code differs, it is in its verifiers.
    """
    if not row.checked.total or row.checked.total < row.verdicts.total:
        return {}
    return {
        "prompt_strict": all_met(row.checked),
        "instruction_strict": pooled(row.checked),
        "prompt_loose": all_met(row.loose),
        "instruction_loose": pooled(row.loose),
    }


def sysbench(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a turn's part of SysBench's CSR and ISR (arXiv 2408.10943).

    CSR is the share of verdicts that are met; faithful scoring counts an undecided one as unmet.
    ISR is the share of turns with all met; faithful scoring takes the shipped flag where there is
    one. The third rate, SSR, needs whole conversations: see :mod:`heedful.metrics.gathering`.
    """
    verdicts = row.verdicts
    if row.benchmark != "sysbench" or not verdicts.total:
        return {}
    if scoring == "strict":
        return {"csr": pooled(verdicts), "isr": all_met(verdicts)}
    passed = verdicts.met == verdicts.total if row.all_ok is None else row.all_ok
    return {"csr": Share.known(verdicts.met, verdicts.total), "isr": Share.known(int(passed))}


def advancedif(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of AdvancedIF's rates (arXiv 2511.10507 and its code).

    ``success``: the judge's result was usable. ``overall``: the row passes. ``micro``: rubrics
    met, pooled. ``row_rate``: mean over rows of the share of rubrics met. ``declared_disagreement``
    (only where the judge declared something): its SATISFIED_ALL_REQUIREMENTS contradicts its own
    verdicts.

    Faithful scoring passes a row iff the judge declared YES, counts failed rows as not passed,
    and counts as met each answer that contains "yes", out of the answers that the judge gave.
    """
    verdicts = row.verdicts
    if row.benchmark != "advancedif" or not verdicts.total:
        return {}
    reply = row.advancedif
    usable = int(
        verdicts.decided > 0
        if reply is None
        else reply.satisfied_all is not None or reply.answers > 0
    )
    shares = {"success": Share.known(usable)}
    if scoring == "strict":
        shares["overall"] = all_met(verdicts)
        shares["micro"] = pooled(verdicts)
        shares["row_rate"] = csr_share(verdicts)
    else:
        shares |= _advancedif_declared(verdicts, reply, usable)
    if reply is not None and reply.satisfied_all is not None:
        shares["declared_disagreement"] = _disagreement(verdicts, reply)
    return shares


def advancedif_unreadable(scoring: Scoring) -> dict[str, Share]:
    """Compute what a row that could not be read contributes to AdvancedIF's rates.

    Its judge had no usable result; faithful scoring therefore counts it as not passed.
    """
    shares = {"success": Share.known(0)}
    if scoring == "faithful":
        shares["overall"] = Share.known(0)
    return shares


FAMILIES: Mapping[str, Callable[[RowOutcome, Scoring], dict[str, Share]]] = {
    "ifeval": ifeval,
    "advancedif": advancedif,
    "sysbench": sysbench,
    "cfbench": cfbench,
    "infobench": infobench,
    "structflow": structflow,
    "multichallenge": multichallenge,
    "followbench": followbench,
    **{family: rubric_family(family) for family in FAMILY_SCORES},
}
"""Each family's rates; a row of another benchmark contributes to none."""


OVER_ROWS = frozenset(
    {
        ("cfbench", "isr"),
        ("cfbench", "psr"),
        ("ifeval", "prompt_strict"),
        ("ifeval", "prompt_loose"),
        ("advancedif", "overall"),
        ("sysbench", "isr"),
        ("structflow", "isr"),
        ("multichallenge", "passed"),
        ("followbench", "hsr"),
    }
)
"""Rates over rows that pass or fail as a whole."""


def _isr_share(counts: VerdictCounts, *, rounded: bool) -> Share:
    if not rounded:
        return all_met(counts)
    low = int(mean(counts.met, counts.total, rounded=True) == 1)
    high = int(mean(counts.met + counts.undecided, counts.total, rounded=True) == 1)
    return Share(low, high, 1)


def _psr_share(primary: VerdictCounts, other: VerdictCounts, *, rounded: bool) -> Share:
    low = _psr(primary.met, primary.total, other.met, other.total, rounded=rounded)
    high = _psr(
        primary.met + primary.undecided,
        primary.total,
        other.met + other.undecided,
        other.total,
        rounded=rounded,
    )
    return Share(low, high, 1)


def _psr(primary_met: int, primary: int, other_met: int, other: int, *, rounded: bool) -> int:
    """Say whether a row passes by priority (CFBench)."""
    if primary_met < primary:
        return 0
    if not other:
        return 1
    if rounded:
        share = mean(other_met, other, rounded=True)
        return int((0.5 + 0.5 * share if primary else share) > 0.8)  # noqa: PLR2004 - theirs
    return int(5 * other_met > (3 if primary else 4) * other)


def _published_scores(reply: CFBenchReply) -> dict[str, float]:
    """Score a reply as CFBench's code does, the fallback parse's lost zeros included."""
    points = reply.primary + reply.other
    csr = mean(points.met, points.total, rounded=True)
    if reply.parsing == "1":
        primary, other = reply.primary, reply.other
        psr = _psr(primary.met, primary.total, other.met, other.total, rounded=True)
    else:
        psr = int(reply.parsing == "0" and csr > 0.8)  # noqa: PLR2004 - their threshold
    return {"csr": csr, "isr": int(csr == 1), "psr": psr}


def _advancedif_declared(
    verdicts: VerdictCounts, reply: AdvancedIFReply | None, usable: int
) -> dict[str, Share]:
    if not usable:
        return {"overall": Share.known(0)}
    if reply is None:
        passed, yes, answers = int(verdicts.met == verdicts.total), verdicts.met, verdicts.decided
        rate = yes / verdicts.total
    else:
        passed, yes, answers = int(reply.satisfied_all == "YES"), reply.yes, reply.answers
        rate = reply.passes / verdicts.total
    return {
        "overall": Share.known(passed),
        "micro": Share.known(yes, answers),
        "row_rate": Share.known(rate),
    }


def _disagreement(verdicts: VerdictCounts, reply: AdvancedIFReply) -> Share:
    """Compare the declaration with the verdicts, which may not settle the row."""
    passed = all_met(verdicts)
    if reply.satisfied_all == "YES":
        return Share(1 - passed.high, 1 - passed.low, 1)
    return passed
