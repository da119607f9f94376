"""Verdicts of two sides on the same constraints, counted pair by pair."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.metrics.agreement_intervals import rate_estimates
from heedful.metrics.contrasts import LEVEL, contrast
from heedful.metrics.outcomes import MET, NOT_APPLICABLE, UNDECIDED, UNMET
from heedful.reporting.notation import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.analysis.compare.differences import Clusters
    from heedful.jobs.results import Scored
    from heedful.metrics.contrasts import Contrast, Sums

FLIPS_LISTED = 1000

OUTCOMES = ("wins", "losses", "ties", "undecided")
"""Of a sample: the first side met more of its constraints, or fewer, or as many."""

AVOIDED = {MET: UNMET, UNMET: MET}
"""How a verdict on a criterion with a negative weight counts, where all must be met."""

STATES = {MET: "met", UNMET: "unmet", UNDECIDED: "undecided"}

VERDICTS = ("", "", "", "verdicts")
PASSES = ("", "", "", "passes")
LEFT = ("", "", "", "undecided")
"""Keys of other sums by cluster than those of rates."""


class VerdictPairs:
    """Counts how the sides' verdicts and samples compare, and lists the verdicts that differ."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._transitions: Counter[tuple[int, int]] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._passes: Counter[tuple[bool, bool]] = Counter()
        self._one_sided = 0
        self._flips: list[dict[str, Any]] = []

    def add(
        self, first: Scored, second: Scored, states: tuple[Sequence[int], Sequence[int]]
    ) -> None:
        """Take in a pair of rows, and the states of both sides' verdicts."""
        if first.sample is None:
            return
        self._count(*states, [constraint.is_penalty for constraint in first.sample.checklist])
        for place, pair in enumerate(zip(*states, strict=True)):
            if set(pair) == {MET, UNMET}:
                self._flip(first, second, place)

    def _count(self, ours: Sequence[int], theirs: Sequence[int], penalties: Sequence[bool]) -> None:
        """Count verdicts and samples by how the sides saw them."""
        both = list(zip(ours, theirs, strict=True))
        pairs = [pair for pair in both if NOT_APPLICABLE not in pair]
        self._one_sided += sum((a == NOT_APPLICABLE) != (b == NOT_APPLICABLE) for a, b in both)
        self._transitions.update(pairs)
        shared = [(a, b) for a, b in pairs if UNDECIDED not in (a, b)]
        won = sum(
            ((a == MET) - (b == MET)) * (-1 if penalty else 1)
            for a, b, penalty in zip(ours, theirs, penalties, strict=True)
            if {a, b} <= {MET, UNMET}
        )
        result = (
            "undecided" if not shared else "ties" if not won else "wins" if won > 0 else "losses"
        )
        self._outcomes[result] += 1
        own = [
            [
                AVOIDED.get(state, state) if penalty else state
                for state, penalty in zip(side, penalties, strict=True)
                if state != NOT_APPLICABLE
            ]
            for side in (ours, theirs)
        ]
        left = [side.count(UNDECIDED) for side in own]
        if all(own):
            if not any(left):
                first, second = (side.count(MET) == len(side) for side in own)
                self._passes[first, second] += 1
                self._clusters.add(PASSES, (float(first), 1.0, float(second), 1.0))
            units = list(map(float, map(len, own)))
            self._clusters.add(LEFT, (float(left[0]), units[0], float(left[1]), units[1]))
        if shared:
            cells = Counter(shared)
            self._clusters.add(
                VERDICTS,
                (cells[MET, MET], cells[MET, UNMET], cells[UNMET, MET], cells[UNMET, UNMET]),
            )

    def _flip(self, ours: Scored, theirs: Scored, place: int) -> None:
        if len(self._flips) == FLIPS_LISTED:
            return
        if ours.sample is None or ours.critique is None or theirs.critique is None:
            return
        constraint = ours.sample.checklist[place]
        judgments = [critique.judgments[place] for critique in (ours.critique, theirs.critique)]
        first, second = (
            {"status": judgment.status.value, "explanation": judgment.explanation}
            for judgment in judgments
        )
        self._flips.append(
            {
                "id": ours.id,
                "second_id": theirs.id,
                "constraint": place + 1,
                "text": constraint.text,
                "type": constraint.type,
                "first": first,
                "second": second,
            }
        )

    def result(self, seed: int) -> dict[str, Any]:
        """Sum up; ``seed`` is that of the randomization tests."""
        constraints = {
            (a == MET, b == MET): count
            for (a, b), count in self._transitions.items()
            if UNDECIDED not in (a, b)
        }
        flips = self._transitions[MET, UNMET] + self._transitions[UNMET, MET]
        return {
            "verdicts": {
                first: {second: self._transitions[a, b] for b, second in STATES.items()}
                for a, first in STATES.items()
            },
            "outcomes": {name: self._outcomes[name] for name in OUTCOMES},
            "undecided": contrast({"": self._clusters.counted(LEFT)}, seed=seed),
            "mcnemar": {
                "constraints": _table(constraints, self._constraints_met(), seed),
                "samples": _table(self._passes, self._clusters.counted(PASSES), seed),
            },
            **self._agreement(),
            "flips": {"count": flips, "listed": self._flips},
        }

    def _constraints_met(self) -> Counter[Sums]:
        """Count clusters by how many of the constraints decided on both sides each side met."""
        counts: Counter[Sums] = Counter()
        for (both, first, second, neither), n in self._clusters.counted(VERDICTS).items():
            decided = both + first + second + neither
            counts[both + first, decided, both + second, decided] += n
        return counts

    def _agreement(self) -> dict[str, Any]:
        """Compute how far the two judges agree; equal verdicts are on the table's diagonal."""
        estimates = rate_estimates(self._clusters.counted(VERDICTS), ("accuracy", "kappa"))
        total = self._transitions.total()
        decided = sum(count for pair, count in self._transitions.items() if UNDECIDED not in pair)
        equal = self._transitions[MET, MET] + self._transitions[UNMET, UNMET]
        covered = {
            "coverage": decided / total if total else 0.0,
            "bounds": [equal / total, (equal + total - decided) / total] if total else None,
        }
        return {"agreement": estimates["accuracy"] | covered, "kappa": estimates["kappa"]}

    def notes(self, undecided: Contrast) -> list[str]:
        """Say what readers must know of the numbers; ``undecided`` is that of :meth:`result`."""
        notes = []
        if self._one_sided:
            notes.append(
                f"{amount(self._one_sided, 'constraint')} on one side only: what doesn't apply on "
                "a side is not in its rates, as in its own summary"
            )
        if undecided["p"] is not None and undecided["p"] < LEVEL:
            shares = " and ".join(
                f"{percent(undecided[side]['value'], 1)} %" for side in ("first", "second")
            )
            notes.append(
                f"the sides left different shares of the verdicts undecided ({shares}): if what "
                "was left undecided is met less often than the rest, the side that left more of it "
                "undecided looks better than it is"
            )
        if not self._clusters.counted(VERDICTS):
            notes.append("no constraint was decided on both sides")
        return notes


def _table(
    met: Mapping[tuple[bool, bool], int], clusters: Mapping[Sums, int], seed: int
) -> dict[str, Any]:
    """Lay out what was met on which side, with a test of the difference."""
    tested = contrast({"": clusters}, seed=seed)["p"]
    return {
        "both": met.get((True, True), 0),
        "only_first": met.get((True, False), 0),
        "only_second": met.get((False, True), 0),
        "neither": met.get((False, False), 0),
        "p": 1.0 if tested is None else tested,
    }
