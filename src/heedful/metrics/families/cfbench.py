"""CFBench (arXiv 2408.01122): constraints met, responses fully met, and met by priority.

Every run has these rates. Rows with penalties are in none: their scores are those of rubrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.metrics.family import Family
from heedful.metrics.outcomes import VerdictCounts, all_met, csr_share, mean
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome


class CFBenchReply(NamedTuple):
    """Reading of a judge's reply by CFBench's own parser, and the points that it gave.

    ``parsing``: ``1`` strict, ``0`` the fallback, without priorities, ``-1`` nothing found.
    """

    parsing: str
    primary: VerdictCounts
    other: VerdictCounts


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of CSR, ISR and PSR.

    CSR is the mean over rows of the share of constraints met, ISR the share of rows with all met,
    PSR the share of rows that pass by priority, see :func:`_psr`. Faithful scoring rounds each
    row's shares to two decimals on the way and takes the scores that CFBench's code gave to the
    judge's reply, where the critique declares them. A constraint without priority in a checklist
    that has priorities counts as secondary.
    """
    verdicts = row.verdicts
    if row.penalised:
        return {}
    reply = row.said(FAMILY.name)
    if reply is not None:
        shares = {name: Share.known(value) for name, value in _published_scores(reply).items()}
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


def declared(said: Mapping[str, Any], sample: Sample, scoring: Scoring) -> CFBenchReply | None:
    """Read a declaration; ``None`` where it is absent or not one that CFBench's code can make."""
    if scoring != "faithful":
        return None
    reply = said.get(FAMILY.name)
    try:
        points = [float(point) for point in reply["scores"]]  # type: ignore[index]
        parsing = str(reply["parsing"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return None
    if not points or not set(points) <= {0.0, 1.0} or parsing not in {"1", "0", "-1"}:
        return None
    primary, other = [0, 0], [0, 0]
    if parsing == "1":
        if len(points) != len(sample.checklist):
            return None
        for point, constraint in zip(points, sample.checklist, strict=True):
            counts = primary if constraint.priority == "primary" else other
            counts[0 if point else 1] += 1
    else:
        other = [points.count(1), points.count(0)]
    return CFBenchReply(parsing, VerdictCounts(*primary), VerdictCounts(*other))


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


FAMILY = Family(
    "cfbench",
    "CFBench",
    rates,
    labels={"csr": "CSR", "isr": "ISR", "psr": "PSR"},
    every_row=True,
    order=20,
    own=False,
    over_rows=frozenset({"isr", "psr"}),
    declared=declared,
    reads_all=True,
)
