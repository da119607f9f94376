"""Two sides compared: one pass over the samples that both have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.conversations import LANGUAGE_AND_TURN, STEPS, Systems, Turns
from heedful.analysis.compare.decided import decided_by_both
from heedful.analysis.compare.differences import (
    Clusters,
    Differences,
    PairRows,
    joint,
    parts,
    pooled_part,
)
from heedful.analysis.compare.verdict_pairs import VerdictPairs
from heedful.metrics.contrasts import adjust_p
from heedful.metrics.gathering import GROUPS, agreement
from heedful.metrics.multiif import ACCURACIES
from heedful.metrics.outcomes import MET, NOT_APPLICABLE, UNDECIDED, UNMET, outcome, sort_verdicts
from heedful.metrics.satisfaction import advancedif

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.analysis.compare.differences import Difference, Part, Rate
    from heedful.core.nouns import Sample, Scoring
    from heedful.jobs.results import Scored
    from heedful.metrics.contrasts import Contrast
    from heedful.metrics.outcomes import RowOutcome, Verdicts
    from heedful.metrics.rates import Share

DIMENSIONS = {
    "type": "types",
    "subtype": "subtypes",
    "priority": "priorities",
    "verifier": "verifiers",
}
"""Breakdowns by what a constraint is, and where sorted verdicts hold them."""

CONSTRAINTS = ("infobench", "drfr")
"""The rate over constraints, which every row has a part in."""

LABELS = ("labels", "agreement")
"""How often verdicts are as the known ones, which are of one response."""

OVERALL, MACRO = ("advancedif", "overall"), ("advancedif", "macro_overall")
SUCCESS = ("advancedif", "success")

TASKS = "tasks of advancedif"
"""Dimension of AdvancedIF's rows for the mean over its tasks."""


class RunComparison:
    """Takes in pairs of judged rows, and says at the end how the sides differ.

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
        self._stepwise = {rate: Systems(scorings, rate) for rate in STEPS}
        self._turns = Turns()
        self._pairs = VerdictPairs(self._clusters)
        self._loose = [False, False]

    def add(self, cluster: int, first: Scored, second: Scored) -> None:
        """Take in a pair of rows with the same checklist; types and tags are the first row's."""
        if first.sample is None or first.critique is None or second.critique is None:
            return
        self._clusters.begin(cluster)
        # The checklists are the same; types and tags may not be, and one side's must hold for both.
        samples, critiques = (first.sample, first.sample), (first.critique, second.critique)
        verdicts = tuple(map(sort_verdicts, samples, critiques))
        states = verdicts[0].states, verdicts[1].states
        self._pairs.add(first, second, states)
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
        if alone[0].benchmark == "advancedif":
            contributed |= self._advancedif(alone, first.sample, contributed)
        contributed |= _labelled(first.sample, verdicts, both)
        self._gather(cluster, first.sample, rows, (verdicts, both), contributed)

    def _gather(
        self,
        cluster: int,
        sample: Sample,
        rows: PairRows,
        verdicts: tuple[Sequence[Verdicts], Sequence[Verdicts]],
        contributed: Mapping[Rate, Part],
    ) -> None:
        """Add what a pair contributes to every rate, of all pairs, conversations and groups."""
        tags = sample.tags
        benchmark = rows.alone[0].benchmark
        multiif = benchmark == "multiif"
        for (family, _), systems in self._stepwise.items():
            if benchmark == family and verdicts[0][0].states:
                flags = rows.alone[0].all_ok, rows.alone[1].all_ok
                first, second = map(_masked, *verdicts)
                systems.add(sample, (first, second), flags)
        if multiif:
            tags = {**tags, **self._turns.add(cluster, sample, contributed)}
        for rate, part in contributed.items():
            if not (multiif and rate[0] == "ifeval"):  # these stand by turn
                self._differences.add(rate, part)
        self._group(tags, verdicts, contributed)

    def _advancedif(
        self, rows: Sequence[RowOutcome], sample: Sample, contributed: Mapping[Rate, Part]
    ) -> dict[Rate, Part]:
        """Add the overall rate by task; return how often the judges' results were usable."""
        if OVERALL in contributed and "task" in sample.tags:
            self._differences.add(OVERALL, contributed[OVERALL], TASKS, str(sample.tags["task"]))
        shares = [
            advancedif(row, scoring).get("success")
            for row, scoring in zip(rows, self._scorings, strict=True)
        ]
        first, second = shares
        if first is None or second is None:
            return {}
        return {SUCCESS: joint((first, second), (first, second), 1.0)}

    def _group(
        self,
        tags: Mapping[str, Any],
        verdicts: tuple[Sequence[Verdicts], Sequence[Verdicts]],
        contributed: Mapping[Rate, Part],
    ) -> None:
        for dimension in self._by:
            if dimension in DIMENSIONS:
                packed = [
                    getattr(side, DIMENSIONS[dimension]) for sides in verdicts for side in sides
                ]
                for value in packed[0]:
                    counts = [of.get(value, 0) for of in packed]
                    pair = pooled_part((counts[0], counts[1]), (counts[2], counts[3]))
                    self._differences.add(CONSTRAINTS, pair, dimension, value)
            elif dimension in tags:
                for rate, part in contributed.items():
                    self._differences.add(rate, part, dimension, str(tags[dimension]))

    def rates(self) -> list[Rate]:
        """Return the rates that both sides have.

        As in a summary, IFEval's are for verifiers: they need loose verdicts on both sides.
        """
        compared = [
            rate for rate in self._differences.rates() if rate[0] != "ifeval" or all(self._loose)
        ]
        if self._differences.groups(TASKS):
            compared.append(MACRO)
        compared += self._turns.rates()
        return [*compared, *(rate for rate, systems in self._stepwise.items() if systems)]

    def result(self, rates: Iterable[Rate], seed: int) -> dict[str, Any]:
        """Sum up."""
        wanted = list(rates)
        metrics: dict[str, dict[str, Any]] = {}
        for rate in wanted:
            metrics.setdefault(rate[0], {})[rate[1]] = self._difference(rate, seed)
        pairs = self._pairs.result(seed)
        return {
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
        if rate in self._stepwise:
            return self._stepwise[rate].result(seed=seed)
        if rate == MACRO:
            return self._differences.macro(OVERALL, TASKS, seed=seed)
        if rate in self._turns.rates():
            return self._turns.result(rate[1], seed=seed)
        return self._differences.result(rate, seed=seed)

    def _notes(self, undecided: Contrast) -> list[str]:
        notes = [
            f"no breakdown by {dimension}: more than {GROUPS} values"
            for dimension in sorted(self._differences.dropped - {TASKS})
        ]
        for systems in self._stepwise.values():
            notes += systems.notes()
        if any(rate[0] == "healthbench" for rate in self._differences.rates()):
            notes.append("HealthBench's means are compared before they are clipped to 0 to 100 %")
        return notes + self._pairs.notes(undecided)

    def _breakdown(self, dimension: str, wanted: Sequence[Rate], seed: int) -> dict[str, Any]:
        """Compute the rates by group; a rate's p-values are adjusted for the number of groups."""
        by_group: dict[str, Any] = {}
        for group in self._differences.groups(dimension):
            for (family, name), measured in self._of_group(dimension, group, wanted, seed):
                by_group.setdefault(group, {}).setdefault(family, {})[name] = measured
        cells: dict[Rate, list[dict[str, Any]]] = {}
        for families in by_group.values():
            for family, rates in families.items():
                for name, measured in rates.items():
                    cells.setdefault((family, name), []).append(measured)
        for measures in cells.values():
            adjust_p(measures)
        return by_group

    def _of_group(
        self, dimension: str, group: str, wanted: Sequence[Rate], seed: int
    ) -> Iterator[tuple[Rate, Any]]:
        if dimension in DIMENSIONS:
            yield CONSTRAINTS, self._differences.result(CONSTRAINTS, dimension, group, seed=seed)
            return
        there = set(self._differences.rates(dimension, group))
        mean = self._turns.mean(dimension, group, seed=seed)
        if mean is not None and any(family == "multiif" for family, _ in wanted):
            yield ("multiif", "mean"), mean
            others = [] if dimension == LANGUAGE_AND_TURN else wanted
            wanted = [*(("ifeval", name) for name in ACCURACIES), *others]
        for rate in wanted:
            if rate in there:
                yield rate, self._differences.result(rate, dimension, group, seed=seed)


def _masked(alone: Verdicts, shared: Verdicts) -> list[int]:
    """Take what not both sides decided as undecided; what doesn't apply is left out."""
    return [
        UNDECIDED if both == NOT_APPLICABLE else state
        for state, both in zip(alone.states, shared.states, strict=True)
        if state != NOT_APPLICABLE
    ]


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
