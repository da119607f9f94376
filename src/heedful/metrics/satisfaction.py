"""The published satisfaction rates: CFBench, InFoBench, AdvancedIF, IFEval and SysBench.

A row (a sample and its critique) is first boiled down to an outcome (see
:mod:`heedful.metrics.outcomes`). Each family turns an outcome into its part of each of its rates;
nothing here adds rows up.

Rules for what was not decided, the same for all families under ``strict`` scoring:

- An undecided verdict is never met, unmet or one half.
- A rate over verdicts, and CSR, use the decided ones; a row with none is left out.
- A rate over rows in which *all* must be met takes a row as failed that has an unmet constraint,
  whatever its undecided verdicts would have been. A row that can still pass counts with the
  probability that it does, if undecided verdicts are met as often as decided ones (:data:`BASES`).
  A row of which nothing was decided is left out.

``faithful`` scoring computes what the published code computes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from heedful.metrics.expectation import OpenOutcome
from heedful.metrics.outcomes import outcome, sort_verdicts
from heedful.metrics.rubric_families import (
    followbench,
    multichallenge,
    rubric_family,
    structflow,
)
from heedful.metrics.rubrics import FAMILY_SCORES, family_shares
from heedful.metrics.shares import all_met, csr_share, mean, passing, pooled
from heedful.metrics.statistics import ClusterShare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import AdvancedIFReply, CFBenchReply, RowOutcome, VerdictCounts

__all__ = ["BASES", "FAMILIES", "advancedif", "cfbench", "cfbench_scores", "infobench"]


def scores(sample: Sample, critique: Critique, scoring: Scoring) -> dict[str, float | None]:
    """Score one row, for the results file."""
    row = outcome(sample, critique, sort_verdicts(sample, critique), scoring)
    return {**scores_of(row, scoring)}


@lru_cache(maxsize=4096)
def scores_of(row: RowOutcome, scoring: Scoring) -> Mapping[str, float | None]:
    """Score all rows that came out alike."""
    rates = {name: _rate(share) for name, share in cfbench(row, scoring).items()}
    rates = rates or {"csr": None, "isr": None}
    if row.rubric is not None:
        score = family_shares("rubric", row.rubric, scoring).get("score")
        rates["score"] = None if score is None else _rate(score)
    levels = ifeval(row, scoring)
    if levels and row.loose.decided:
        rates |= {name: _rate(levels[f"prompt_{name}"]) for name in ("strict", "loose")}
    return rates


def cfbench_scores(sample: Sample, critique: Critique, scoring: Scoring) -> dict[str, float | None]:
    """Compute CFBench's three scores of one row."""
    row = outcome(sample, critique, sort_verdicts(sample, critique), scoring)
    shares = cfbench(row, scoring)
    return {name: _rate(shares[name]) if name in shares else None for name in ("csr", "isr", "psr")}


def cfbench(row: RowOutcome, scoring: Scoring) -> dict[str, ClusterShare]:
    """Compute a row's part of CFBench's CSR, ISR and PSR (arXiv 2408.01122).

    CSR is the mean over rows of the share of constraints met, ISR the share of rows with all met,
    PSR the share of rows that pass by priority, see :func:`_psr`. Faithful scoring rounds each
    row's shares to two decimals on the way and takes the scores that CFBench's code gave to the
    judge's reply, where the critique declares them. A constraint without priority in a checklist
    that has priorities counts as secondary.

    CSR's ``covered`` is the share of the row's verdicts that were decided. Rows with penalties
    are in no rate of constraints met: their scores are those of :mod:`.rubrics`.
    """
    verdicts = row.verdicts
    if not verdicts.total or row.penalised:
        return {}
    if row.cfbench is not None:
        covered = verdicts.decided / verdicts.total
        published = _published_scores(row.cfbench)
        shares = {
            name: ClusterShare(value, 1, value, value, 1, covered)
            for name, value in published.items()
        }
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


def infobench(row: RowOutcome, scoring: Scoring) -> dict[str, ClusterShare]:
    """Compute a row's part of the Decomposed Requirements Following Ratio: met / decided, pooled.

    Source: InFoBench (arXiv 2401.03601). Faithful scoring of its own files counts as unmet what was
    neither yes nor no, and leaves out the questions after it, which were not asked any more.
    """
    verdicts = row.verdicts
    if not verdicts.total or row.penalised:
        return {}
    share = pooled(verdicts)
    if scoring == "faithful" and row.asked is not None:
        share = share._replace(denominator=row.asked)
    return {"drfr": share}


def ifeval(row: RowOutcome, _scoring: Scoring) -> dict[str, ClusterShare]:
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


def sysbench(row: RowOutcome, scoring: Scoring) -> dict[str, ClusterShare]:
    """Compute a turn's part of SysBench's CSR and ISR (arXiv 2408.10943).

    CSR is the share of verdicts that are met; faithful scoring counts an undecided one as unmet.
    ISR is the share of turns with all met; faithful scoring takes the shipped flag where there is
    one. The third rate, SSR, needs whole conversations: see :mod:`heedful.metrics.gathering`.
    """
    verdicts = row.verdicts
    if row.benchmark != "sysbench" or not verdicts.total:
        return {}
    csr, isr = pooled(verdicts), all_met(verdicts)
    if scoring == "faithful":
        csr = csr._replace(denominator=verdicts.total)
        passed = int(verdicts.met == verdicts.total) if row.all_ok is None else int(row.all_ok)
        isr = isr._replace(numerator=passed, denominator=1, open=None)
        if row.all_ok is not None:
            isr = isr._replace(low=passed, high=passed)
    return {"csr": csr, "isr": isr}


def advancedif(row: RowOutcome, scoring: Scoring) -> dict[str, ClusterShare]:
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
    shares = {"success": ClusterShare(usable, 1, usable, usable, 1, 1)}
    if scoring == "strict":
        shares["overall"] = all_met(verdicts)
        shares["micro"] = pooled(verdicts)
        shares["row_rate"] = csr_share(verdicts, rounded=False)
    else:
        shares |= _advancedif_declared(verdicts, reply, usable)
    if reply is not None:
        shares["declared_disagreement"] = _disagreement(verdicts, reply)
    return shares


def advancedif_unreadable(scoring: Scoring) -> dict[str, ClusterShare]:
    """Compute what a row that could not be read contributes to AdvancedIF's rates.

    Its judge had no usable result; faithful scoring therefore counts it as not passed.
    """
    shares = {"success": ClusterShare(0, 1, 0, 0, 1, 1)}
    if scoring == "faithful":
        shares["overall"] = ClusterShare(0, 1, 0, 1, 1, 0)
    return shares


FAMILIES: Mapping[str, Callable[[RowOutcome, Scoring], dict[str, ClusterShare]]] = {
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


BASES = {
    ("cfbench", "isr"): ("infobench", "drfr"),
    ("cfbench", "psr"): ("infobench", "drfr"),
    ("ifeval", "prompt_strict"): ("ifeval", "instruction_strict"),
    ("ifeval", "prompt_loose"): ("ifeval", "instruction_loose"),
    ("advancedif", "overall"): ("advancedif", "micro"),
    ("sysbench", "isr"): ("sysbench", "csr"),
    ("structflow", "isr"): ("structflow", "drfr"),
    ("multichallenge", "passed"): ("infobench", "drfr"),
    ("followbench", "hsr"): ("infobench", "drfr"),
}
"""For each rate over rows, the rate at which an undecided verdict in a row is taken to be met."""


def _rate(share: ClusterShare) -> float | None:
    return share.numerator / share.denominator if share.denominator else None


def _isr_share(counts: VerdictCounts, *, rounded: bool) -> ClusterShare:
    if not rounded:
        return all_met(counts)
    low = int(mean(counts.met, counts.total, rounded=True) == 1)
    high = int(mean(counts.met + counts.undecided, counts.total, rounded=True) == 1)
    return passing(low, high, None)


def _psr_share(primary: VerdictCounts, other: VerdictCounts, *, rounded: bool) -> ClusterShare:
    low = _psr(primary.met, primary.total, other.met, other.total, rounded=rounded)
    high = _psr(
        primary.met + primary.undecided,
        primary.total,
        other.met + other.undecided,
        other.total,
        rounded=rounded,
    )
    if rounded or not primary.decided + other.decided:
        return passing(low, high, None)
    enough = (
        met
        for met in range(other.undecided + 1)
        if _psr(primary.total, primary.total, other.met + met, other.total, rounded=False)
    )
    left = OpenOutcome(
        met=primary.met + other.met,
        unmet=primary.unmet + other.unmet,
        all_of=primary.undecided,
        some_of=other.undecided,
        at_least=next(enough, other.undecided + 1),
    )
    return passing(low, high, left)


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
) -> dict[str, ClusterShare]:
    total = verdicts.total
    if not usable:
        left_out = ClusterShare(0, 0, 0, 1, 1, 0)
        micro = ClusterShare(0, 0, 0, total, total, 0)
        return {"overall": ClusterShare(0, 1, 0, 1, 1, 0), "micro": micro, "row_rate": left_out}
    if reply is None:
        passed, yes, answers = int(verdicts.met == total), verdicts.met, verdicts.decided
        rate = yes / total
    else:
        passed, yes, answers = int(reply.satisfied_all == "YES"), reply.yes, reply.answers
        rate = reply.passes / total
    return {
        "overall": ClusterShare(passed, 1, passed, passed, 1, 1),
        "micro": ClusterShare(yes, answers, yes, yes, answers, answers),
        "row_rate": ClusterShare(rate, 1, rate, rate, 1, 1),
    }


def _disagreement(verdicts: VerdictCounts, reply: AdvancedIFReply) -> ClusterShare:
    """Compare the declaration with the verdicts, where these settle the row."""
    settled = verdicts.unmet > 0 or not verdicts.undecided
    if reply.satisfied_all is None or not settled:
        return ClusterShare(0, 0, 0, 1, 1, 0)
    differs = int((reply.satisfied_all == "YES") == (verdicts.unmet > 0))
    return ClusterShare(differs, 1, differs, differs, 1, 1)
