"""Judges tried on labelled rows: some instructions choose, and the others measure the choice.

``labelled rows → choose and prove (by instruction) → trials on choose → proof on prove``
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from heedful.analysis.meta.job import asked, check_labels, known_verdicts
from heedful.analysis.meta.labels import MET, UNMET, JudgeEntry, Labelled, Sums
from heedful.analysis.meta.measures import confusion, coverage, rate_difference, settle
from heedful.core.errors import InputError
from heedful.engine.runner import finish
from heedful.metrics.agreement import RATES, rate_estimates
from heedful.metrics.clusters import CHOOSING, cluster_of, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from heedful.analysis.meta.bench import Bench
    from heedful.core.nouns import Sample
    from heedful.data.formats import Row
    from heedful.judges import Judge

    T = TypeVar("T")

Paired = Counter[tuple[float, ...]]
"""Clusters by their verdicts against the labels: of the first judge, then of the second."""

BALANCED = ("recall_met", "recall_unmet")
PROVEN = ("mean_f1", "f1_unmet", "kappa", "accuracy")
"""Further rates of a proof, before and after."""


class LabelledPart(NamedTuple):
    """Some of the labelled rows."""

    samples: list[Sample]
    labelled: Labelled


@dataclass(frozen=True, slots=True)
class Trials:
    """Labelled rows in parts, and what judges them."""

    bench: Bench
    labelled: Labelled  # of all rows
    rungs: list[LabelledPart]  # parts of choose, each for the candidates that the earlier ones left
    prove: LabelledPart
    rates: tuple[str, ...]  # whose mean is compared

    @classmethod
    def of(cls, bench: Bench, judges: Sequence[Judge], rungs: Sequence[float] = (1.0,)) -> Trials:
        """Divide the labelled rows of a file; ``rungs`` are the ends of the parts of choose."""
        labelled = finish(known_verdicts(bench, [judge.name for judge in judges]))
        check_labels(labelled, bench.where, judges)
        if not labelled.count(MET) + labelled.count(UNMET):
            hint = "label criteria in heedful view; preferences alone don't show where a judge errs"
            raise InputError("no criterion has a label", where=bench.where, hint=hint)
        rows: list[list[Row]] = [[] for _ in (*rungs, "prove")]
        for row in bench.rows:
            if row.sample is not None and row.sample.id in labelled.targets:
                place = place_of(cluster_of(row.sample), bench.seed) / CHOOSING
                rows[sum(place >= end for end in rungs)].append(row)
        truth = {target.id: target.labels for target in labelled.targets.values()}
        known = truth if bench.options["truth"] is not None else None
        parts = [
            LabelledPart(
                [row.sample for row in each if row.sample is not None],
                Labelled.of(each, bench.options["by"], known),
            )
            for each in rows
        ]
        *chosen_on, prove = parts
        for name, several in (("choose", chosen_on), ("prove", [prove])):
            if not any(set(target.labels) & {MET, UNMET} for target in _targets(several)):
                raise InputError(
                    f"labels of {labelled.instructions} instructions are too few: none are left to "
                    f"{name}",
                    where=bench.where,
                    hint="some instructions choose and the others prove; label more of them",
                )
        both = all(
            any(letter in target.labels for target in _targets(several))
            for letter in (MET, UNMET)
            for several in (chosen_on, [prove])
        )
        return cls(bench, labelled, chosen_on, prove, BALANCED if both else ("accuracy",))

    def judged(self, judge: Judge, part: LabelledPart) -> JudgeEntry:
        """Have a judge judge a part."""
        return finish(asked(judge, part.labelled, self.bench, part.samples))[0]

    def gain(self, paired: Paired) -> float:
        """Compute how much better the first judge is than the second."""
        sums = [sum(n * cells[place] for cells, n in paired.items()) for place in range(8)]
        values = [fmean(_value(side, rate) for rate in self.rates) for side in (sums[:4], sums[4:])]
        return values[0] - values[1]

    def counts(self) -> dict[str, Any]:
        """Return how many rows and labels choose, and how many prove."""
        counted = [part.labelled.counts() for part in self.rungs]
        names = ("rows", "instructions", "met", "unmet")
        choose = {name: sum(each[name] for each in counted) for name in names}
        return {
            "choose": choose,
            "prove": {name: self.prove.labelled.counts()[name] for name in names},
        }

    def proof(self, before: JudgeEntry, after: JudgeEntry) -> dict[str, Any]:
        """Measure on prove what was chosen against what it takes the place of."""
        sides = {"before": before, "after": after}
        sums = {name: cells(entry, self.prove.labelled) for name, entry in sides.items()}
        measured: dict[str, Any] = {
            name: {
                **rate_estimates(of.counted(), PROVEN),
                "accuracy_compared": mean_rate(of, self.rates),
                "coverage": coverage(sides[name], self.prove.labelled),
            }
            for name, of in sums.items()
        }
        difference = rate_difference(
            sums["after"].beside(sums["before"]), self.rates, self.bench.seed
        )
        interval = difference["interval"]
        shown = "none" if interval is None or interval[0] <= 0 <= interval[1] else None
        return {
            **measured,
            "difference": difference,
            "shown": shown or ("gain" if difference["value"] > 0 else "loss"),
        }


def _targets(parts: Sequence[LabelledPart]) -> list[Any]:
    return [target for part in parts for target in part.labelled.targets.values()]


def _value(cells: Sequence[float], rate: str) -> float:
    value = float(RATES[rate](cells))
    return value if value == value else 0.0  # noqa: PLR0124 - NaN: the rate isn't defined


def mean_rate(sums: Sums, rates: Sequence[str]) -> dict[str, Any]:
    """Estimate the mean of rates, with its interval."""
    name = "balanced_accuracy" if tuple(rates) == BALANCED else rates[0]
    return {**rate_estimates(sums.counted(), [name])[name]}


def cells(entry: JudgeEntry, labelled: Labelled, without: Collection[str] = ()) -> Sums:
    """Count verdicts by label and instruction; what is undecided isn't right."""
    sums = Sums(4)
    for target, (states, *_) in entry.rows(labelled):
        if target.id not in without:
            right = settle(target.labels, states, right=False)
            sums.add(target.cluster, confusion(target.labels, right))
    return sums


LEFT = 3
"""Of so many candidates one goes on from a rung to the next."""

FEWEST = 4
"""So many go on at least."""


def halve(
    candidates: Sequence[T],
    compared: Callable[[T, int], Paired],
    gain: Callable[[Paired], float],
    rungs: int,
) -> list[tuple[T, Paired, float]]:
    """Try candidates on one part after the other, the worse ones not on all (successive halving).

    ``compared`` tries one on a part, against the present. Of all candidates their clusters and the
    gain on what they were tried on come back: those tried longest first, then the best.
    """
    seen: list[Paired] = [Counter() for _ in candidates]
    left = list(range(len(candidates)))
    order: list[int] = []
    for rung in range(rungs):
        for place in left:
            seen[place] += compared(candidates[place], rung)
        left.sort(key=lambda place: -gain(seen[place]))
        if rung < rungs - 1:
            on = max(FEWEST, -(-len(left) // LEFT))
            order = [*left[on:], *order]
            left = left[:on]
    return [(candidates[at], seen[at], gain(seen[at])) for at in (*left, *order)]


def tokens_of(entry: JudgeEntry) -> float | None:
    """Return the tokens that a constraint took; ``None`` where they aren't known."""
    if entry.cost is None:
        return 0.0
    tokens = (entry.cost["prompt_tokens"], entry.cost["completion_tokens"])
    return None if None in tokens else sum(tokens) / max(1, entry.constraints)
