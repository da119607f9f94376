"""Two sides compared: one pass over the samples that both have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.conversations import LANGUAGE_AND_TURN, STEPS, Systems, Turns
from heedful.analysis.compare.decided import decided_by_both
from heedful.analysis.compare.differences import Clusters, Differences, joint, parts, pooled_part
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
        alone = tuple(map(outcome, samples, critiques, verdicts, self._scorings))
        rows = alone
        if self._scorings == ("strict", "strict"):
            shared = decided_by_both(*critiques, len(states[0]))
            if shared is not None:
                critiques, verdicts = shared, tuple(map(sort_verdicts, samples, shared))
                rows = tuple(map(outcome, samples, critiques, verdicts, self._scorings))
        for side, row in enumerate(rows):
            self._loose[side] |= row.loose.decided > 0
        contributed = dict(parts(rows[0], rows[1], self._scorings))
        if rows[0].benchmark == "advancedif":
            contributed |= self._advancedif(alone, first.sample, contributed)
        contributed |= _labelled(first.sample, verdicts)
        self._gather(cluster, first.sample, rows, verdicts, contributed)

    def _gather(
        self,
        cluster: int,
        sample: Sample,
        rows: Sequence[RowOutcome],
        verdicts: Sequence[Verdicts],
        contributed: Mapping[Rate, Part],
    ) -> None:
        """Add what a pair contributes to every rate, of all pairs, conversations and groups."""
        tags = sample.tags
        multiif = rows[0].benchmark == "multiif"
        for (benchmark, _), systems in self._stepwise.items():
            if rows[0].benchmark != benchmark or not verdicts[0].states:
                continue
            flags = rows[0].all_ok, rows[1].all_ok
            first, second = (
                [state for state in side.states if state != NOT_APPLICABLE] for side in verdicts
            )
            systems.add(sample, (first, second), flags)
        if multiif:
            tags = {**tags, **self._turns.add(cluster, sample, contributed)}
        for rate, part in contributed.items():
            if not (multiif and rate[0] == "ifeval"):  # these stand by turn
                self._differences.add(rate, part)
        self._group(tags, verdicts[0], verdicts[1], contributed)

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
        return {} if first is None or second is None else {SUCCESS: joint(first, second)}

    def _group(
        self,
        tags: Mapping[str, Any],
        first: Verdicts,
        second: Verdicts,
        contributed: Mapping[Rate, Part],
    ) -> None:
        for dimension in self._by:
            if dimension in DIMENSIONS:
                theirs = getattr(second, DIMENSIONS[dimension])
                for value, packed in getattr(first, DIMENSIONS[dimension]).items():
                    pair = pooled_part(packed, theirs.get(value, 0))
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


def _labelled(sample: Sample, verdicts: Sequence[Verdicts]) -> dict[Rate, Part]:
    """Compare both sides' verdicts with the labels of the first."""
    known = [
        (place, MET if label else UNMET)
        for place, label in enumerate((sample.labels or ())[: len(verdicts[0].states)])
        if label is not None and NOT_APPLICABLE not in {side.states[place] for side in verdicts}
    ]
    if not known:
        return {}
    first, second = (
        agreement(
            [side.states[place] == label for place, label in known],
            [side.states[place] != UNDECIDED for place, _ in known],
        )
        for side in verdicts
    )
    return {LABELS: joint(first, second)}
