"""Two sides compared: one pass over the samples that both have."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.differences import (
    Clusters,
    Differences,
    PairRows,
    adjust_rates,
    joint,
    parts,
    pooled_part,
)
from heedful.core.nouns import Judgment, Status
from heedful.core.text import amount
from heedful.metrics.agreement import rate_estimates
from heedful.metrics.contrasts import LEVEL, contrast
from heedful.metrics.family import all_families, family_of
from heedful.metrics.gathering import GROUPS, agreement
from heedful.metrics.general import CHECKED, POOLED
from heedful.metrics.outcomes import MET, NOT_APPLICABLE, UNDECIDED, UNMET, sort_verdicts
from heedful.metrics.summary import outcome
from heedful.reporting.notation import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.analysis.compare.differences import Difference, Part, Rate
    from heedful.core.nouns import Constraint, Critique, Sample, Scoring
    from heedful.jobs.results import Scored
    from heedful.metrics.contrasts import Contrast, Sums
    from heedful.metrics.family import Family
    from heedful.metrics.outcomes import Verdicts
    from heedful.metrics.rates import Share


DIMENSIONS = ("type", "subtype", "priority", "verifier")
"""Breakdowns by what a constraint is."""

LABELS = ("labels", "agreement")
"""Agreement with known verdicts, which are about one response."""

MEAN_OVER = "mean over "
"""Dimension of the rows for a mean over the values of a tag."""


class RunComparison:
    """Pairs of judged rows, and how their sides differ.

    Strict scoring compares the constraints that both sides decided: what one side did not decide
    is taken as undecided on both. Faithful scoring takes each side as the published code does.
    """

    def __init__(
        self,
        scorings: tuple[Scoring, Scoring],
        by: Sequence[str],
    ) -> None:
        self._scorings = scorings
        self._by = by
        self._clusters = Clusters()
        self._differences = Differences(self._clusters)
        self._means: dict[Rate, tuple[Rate, str]] = {}
        self._pairs = VerdictPairs(self._clusters)
        self._loose = [False, False]
        self._benchmarks: set[str] = set()

    def add(self, cluster: int, first: Scored, second: Scored) -> None:
        """Add a pair of rows with the same checklist; types and tags are the first row's."""
        if first.sample is None or first.critique is None or second.critique is None:
            return
        self._clusters.begin(cluster)
        if "benchmark" in first.sample.tags:
            self._benchmarks.add(str(first.sample.tags["benchmark"]))
        # The checklists are the same; types and tags may not be, and one side's must hold for both.
        samples, critiques = (first.sample, first.sample), (first.critique, second.critique)
        verdicts = tuple(map(sort_verdicts, samples, critiques))
        states = verdicts[0].states, verdicts[1].states
        self._pairs.add((first.id, second.id), first.sample, critiques, states)
        alone = shared = tuple(map(outcome, samples, critiques, verdicts, self._scorings))
        both = verdicts
        if self._scorings == ("strict", "strict"):
            decided = decided_by_both(*critiques, len(states[0]))
            if decided is not None:
                both = tuple(map(sort_verdicts, samples, decided))
                shared = tuple(map(outcome, samples, decided, both, self._scorings))
        rows = PairRows((alone[0], alone[1]), (shared[0], shared[1]))
        for side, row in enumerate(shared):
            self._loose[side] |= row.loose.decided > 0
        contributed = dict(parts(rows, self._scorings))
        contributed |= _labelled(first.sample, verdicts, both)
        self._gather(first.sample, rows, (verdicts, both), contributed)

    def _gather(
        self,
        sample: Sample,
        rows: PairRows,
        verdicts: tuple[Sequence[Verdicts], Sequence[Verdicts]],
        contributed: Mapping[Rate, Part],
    ) -> None:
        """Add what a pair contributes to every rate, of all pairs, conversations and groups."""
        family = family_of(rows.alone[0].benchmark) if rows.alone[0].benchmark else None
        if family is not None:
            self._add_means(family, sample, contributed)
        for rate, part in contributed.items():
            self._differences.add(rate, part)
        self._group(sample.tags, verdicts, contributed)

    def _add_means(self, family: Family, sample: Sample, contributed: Mapping[Rate, Part]) -> None:
        """Add the rates of which the family has a mean over the values of a tag."""
        for mean in family.means:
            rate = family.name, mean.rate
            if rate in contributed and mean.tag in sample.tags:
                value = str(sample.tags[mean.tag])
                self._means[family.name, mean.name] = rate, MEAN_OVER + mean.tag
                self._differences.add(rate, contributed[rate], MEAN_OVER + mean.tag, value)

    def _group(
        self,
        tags: Mapping[str, Any],
        verdicts: tuple[Sequence[Verdicts], Sequence[Verdicts]],
        contributed: Mapping[Rate, Part],
    ) -> None:
        for dimension in self._by:
            if dimension in DIMENSIONS:
                packed = [side.by(dimension) for sides in verdicts for side in sides]
                for value in packed[0]:
                    counts = [of.get(value, 0) for of in packed]
                    pair = pooled_part((counts[0], counts[1]), (counts[2], counts[3]))
                    self._differences.add(POOLED, pair, dimension, value)
            elif dimension in tags:
                for rate, part in contributed.items():
                    self._differences.add(rate, part, dimension, str(tags[dimension]))

    def rates(self) -> list[Rate]:
        """Return the rates that both sides have.

        As in a summary, IFEval's are for verifiers: they need loose verdicts on both sides.
        """
        compared = [
            rate for rate in self._differences.rates() if rate[0] != CHECKED or all(self._loose)
        ]
        return compared + [
            name
            for name, (_, dimension) in self._means.items()
            if self._differences.groups(dimension)
        ]

    def result(self, rates: Iterable[Rate], seed: int) -> dict[str, Any]:
        """Sum up."""
        wanted = list(rates)
        metrics: dict[str, dict[str, Any]] = {}
        for rate in wanted:
            metrics.setdefault(rate[0], {})[rate[1]] = self._difference(rate, seed)
        pairs = self._pairs.result(seed)
        return {
            "benchmarks": sorted(self._benchmarks),
            "metrics": metrics,
            **pairs,
            "by": {
                dimension: self._breakdown(dimension, wanted, seed)
                for dimension in self._by
                if self._differences.groups(dimension)
            },
            "notes": self._notes(pairs["undecided"]),
        }

    def _difference(self, rate: Rate, seed: int) -> Difference:
        """Compute the difference of a rate over all pairs."""
        if rate in self._means:
            return self._differences.macro(*self._means[rate], seed=seed)
        return self._differences.result(rate, seed=seed)

    def _notes(self, undecided: Contrast) -> list[str]:
        notes = [
            f"no breakdown by {dimension}: more than {GROUPS} values"
            for dimension in sorted(self._differences.dropped)
            if not dimension.startswith(MEAN_OVER)
        ]
        families = all_families(*(rate[0] for rate in self._differences.rates()))
        for name in dict.fromkeys(rate[0] for rate in self._differences.rates()):
            score = families[name].score if name in families else None
            if score is not None and score.clipped:
                title = families[name].title
                notes.append(f"{title}'s means are compared before they are clipped to 0 to 100 %")
        return notes + self._pairs.notes(undecided)

    def _breakdown(self, dimension: str, wanted: Sequence[Rate], seed: int) -> dict[str, Any]:
        """Compute the rates by group; a rate's p-values are adjusted for the number of groups."""
        by_group: dict[str, Any] = {}
        for group in self._differences.groups(dimension):
            for (family, name), measured in self._of_group(dimension, group, wanted, seed):
                by_group.setdefault(group, {}).setdefault(family, {})[name] = measured
        adjust_rates(by_group.values())
        return by_group

    def _of_group(
        self, dimension: str, group: str, wanted: Sequence[Rate], seed: int
    ) -> Iterator[tuple[Rate, Any]]:
        if dimension in DIMENSIONS:
            yield POOLED, self._differences.result(POOLED, dimension, group, seed=seed)
            return
        there = set(self._differences.rates(dimension, group))
        for rate in wanted:
            if rate in there:
                yield rate, self._differences.result(rate, dimension, group, seed=seed)


_LEFT_OUT = Judgment(status=Status.NOT_APPLICABLE)
_NONE = Judgment(status=Status.UNPARSED)
_BARE = {status: Judgment(status=status) for status in (Status.MET, Status.UNMET)}


def decided_by_both(
    first: Critique, second: Critique, length: int
) -> tuple[Critique, Critique] | None:
    """Leave out on both sides what only one of them decided, loose readings likewise.

    What doesn't apply on a side is settled there: the other side keeps its verdict, as each does in
    its own summary.
    """
    firsts, seconds = (
        critique.judgments[:length] + (_NONE,) * (length - len(critique.judgments))
        for critique in (first, second)
    )
    pairs = list(zip(firsts, seconds, strict=True))
    decided = [_both(a, b) for a, b in pairs]
    if decided == pairs:
        return None
    return (
        first.model_copy(update={"judgments": tuple(a for a, _ in decided)}),
        second.model_copy(update={"judgments": tuple(b for _, b in decided)}),
    )


def _both(first: Judgment, second: Judgment) -> tuple[Judgment, Judgment]:
    if Status.NOT_APPLICABLE in (first.status, second.status):
        return first, second
    if not (first.status.decided and second.status.decided):
        return _LEFT_OUT, _LEFT_OUT
    if (first.loose is None) != (second.loose is None):
        return _BARE[first.status], _BARE[second.status]
    return first, second


def _labelled(
    sample: Sample, alone: Sequence[Verdicts], both: Sequence[Verdicts]
) -> dict[Rate, Part]:
    """Compare both sides' verdicts with the labels of the first."""
    first, second = (_agreements(sample, sides) for sides in (alone, both))
    if not first[0].units:
        return {}
    return {LABELS: joint(first, second, second[0].units / first[0].units)}


def _agreements(sample: Sample, sides: Sequence[Verdicts]) -> tuple[Share, Share]:
    known = [
        (place, MET if label else UNMET)
        for place, label in enumerate((sample.labels or ())[: len(sides[0].states)])
        if label is not None and NOT_APPLICABLE not in {side.states[place] for side in sides}
    ]
    first, second = (
        agreement(
            [side.states[place] == label for place, label in known],
            [side.states[place] != UNDECIDED for place, _ in known],
        )
        for side in sides
    )
    return first, second


FLIPS_LISTED = 1000

OUTCOMES = ("wins", "losses", "ties", "undecided")
"""Of a sample: the first side met more of its constraints, or fewer, or as many."""

AVOIDED = {MET: UNMET, UNMET: MET}
"""How a verdict on a criterion with a negative weight counts, where all must be met."""

STATES = {MET: "met", UNMET: "unmet", UNDECIDED: "undecided"}

VERDICTS = ("", "", "", "verdicts")
PASSES = ("", "", "", "passes")
LEFT = ("", "", "", "undecided")
"""Keys of the sums by cluster that aren't rates."""


class VerdictPairs:
    """Counts of both sides' verdicts, and a list of those that differ."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._transitions: Counter[tuple[int, int]] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._passes: Counter[tuple[bool, bool]] = Counter()
        self._one_sided = 0
        self._flips: list[dict[str, Any]] = []
        self._flips_by_type: dict[str, Counter[str]] = {}

    def add(
        self,
        ids: tuple[str, str],
        sample: Sample,
        critiques: tuple[Critique, Critique],
        states: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        """Add a pair of rows, and the states of both sides' verdicts."""
        self._count(*states, [constraint.is_penalty for constraint in sample.checklist])
        for place, pair in enumerate(zip(*states, strict=True)):
            if set(pair) == {MET, UNMET}:
                kind = sample.checklist[place].type or ""
                by_type = self._flips_by_type.setdefault(kind, Counter(only_first=0, only_second=0))
                by_type["only_first" if pair[0] == MET else "only_second"] += 1
            if set(pair) == {MET, UNMET} and len(self._flips) < FLIPS_LISTED:
                self._flip(ids, sample.checklist[place], critiques, place)

    def _count(self, ours: Sequence[int], theirs: Sequence[int], penalties: Sequence[bool]) -> None:
        """Count verdicts and samples by both sides' verdicts."""
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

    def _flip(
        self,
        ids: tuple[str, str],
        constraint: Constraint,
        critiques: tuple[Critique, Critique],
        place: int,
    ) -> None:
        first, second = (
            {"status": judgment.status.value, "explanation": judgment.explanation}
            for judgment in (critique.judgments[place] for critique in critiques)
        )
        self._flips.append(
            {
                "id": ids[0],
                "second_id": ids[1],
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
            "flips": {
                "count": flips,
                "by_type": {
                    kind: dict(counts)
                    for kind, counts in sorted(
                        self._flips_by_type.items(), key=lambda item: (-item[1].total(), item[0])
                    )
                },
                "listed": self._flips,
            },
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
