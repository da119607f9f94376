"""The numbers of a judge, of two judges side by side, and of judges as rankers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import combinations, permutations
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.meta.labels import (
    MET,
    MISSING,
    NOT_APPLICABLE,
    NOT_REQUESTED,
    STATES,
    UNKNOWN,
    UNMET,
    Sums,
    level_agreement,
)
from heedful.metrics.agreement import (
    RATES,
    RATIOS,
    Averages,
    Confusion,
    Parts,
    alpha_estimate,
    coincidences,
    mean_over,
    mean_over_types,
    number,
    rate_estimates,
)
from heedful.metrics.calibration import calibration
from heedful.metrics.contrasts import LEVEL, adjust_p, contrast
from heedful.metrics.ranking import TIE, Choice, Edges, best_of, choices, elo, ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.analysis.meta.labels import JudgeEntry, Labelled, Target
    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.ranking import BestOf, Ranking


class Score(NamedTuple):
    """The least and the most that a response can score, from 0 to 1."""

    low: float
    high: float


Scores = dict[str, list[Score]]
"""By row id, one for each sample of the judge."""


def rankings(entry: JudgeEntry, labelled: Labelled, *, zero: bool) -> dict[str, Any]:
    """Measure how one entry ranks the responses to each instruction; nothing where none is ranked.

    A response's score is the share of its points that it earned (of its constraints that it met,
    where these have no weights): (S - N) / (P - N), see :mod:`heedful.metrics.rubrics`. A pair is
    undecided where the undecided verdicts could turn it.
    """
    if all(target.preferred_to is None for target in labelled.targets.values()):
        return {}
    scores = {
        target.id: [_score(target, states, entry.shares) for states in samples]
        for target, samples in entry.rows(labelled)
    }
    found = {
        "ranking": _ranked(scores, labelled, zero=zero),
        "best_of": _best_ranked(scores, labelled),
    }
    return {name: measured for name, measured in found.items() if measured is not None}


def _ranked(scores: Scores, labelled: Labelled, *, zero: bool) -> Ranking | None:
    edges: dict[tuple[str | None, int], Edges] = defaultdict(Edges)
    for target in labelled.targets.values():
        key = target.group, target.cluster
        if target.preferred_to is not None and zero:
            edges[key] = edges[key].plus(Edges())
        for other in target.preferred_to or ():
            if other not in scores:
                edges[key] = edges[key].plus(Edges(undecided=1))
                continue
            for better, worse in zip(scores[target.id], scores[other], strict=False):
                edges[key] = edges[key].plus(_compare(better, worse))
    return ranking([(group, counted) for (group, _), counted in edges.items()], zero=zero)


def _best_ranked(scores: Scores, labelled: Labelled) -> BestOf | None:
    """Measure how often the best response scores highest; several samples count as their mean."""
    responses: dict[int, list[Target]] = defaultdict(list)
    for target in labelled.targets.values():
        if target.preferred_to is not None:
            responses[target.cluster].append(target)
    ends = []
    for together in responses.values():
        for best in together:
            others = {other.id for other in together} - {best.id}
            worse = set(best.preferred_to or ())
            if worse and others <= worse:
                unread = [Score(0.0, 1.0)] * len(worse - others)
                shares = [
                    _share_of_first(own, [*(scores[name][place] for name in others), *unread])
                    for place, own in enumerate(scores[best.id])
                ]
                lows, highs = zip(*shares, strict=True)
                ends.append((sum(lows) / len(lows), sum(highs) / len(highs)))
    return best_of(ends)


def _share_of_first(best: Score, others: Sequence[Score]) -> tuple[float, float]:
    """Return 1/k where the best is one of k highest, else 0: at the least and at the most."""

    def share(own: float, rest: Sequence[float]) -> float:
        return 1 / (1 + rest.count(own)) if own >= max(rest) else 0.0

    least = share(best.low, [other.high for other in others])
    most = share(best.high, [other.low for other in others])
    return least, most


def _score(target: Target, states: str, shares: Mapping[str, Sequence[float | None]]) -> Score:
    """Return what a response scores, the undecided verdicts at their worst and best."""
    weights: Sequence[float] = target.weights or (1.0,) * len(states)
    applicable = [pair for pair in zip(weights, states, strict=True) if pair[1] != NOT_APPLICABLE]
    # math.fsum, so that equal points are equal scores in whatever order they add up.
    met = math.fsum(
        weight * (float(state == MET) if share is None else share)
        for weight, state, share in zip(
            weights, states, shares.get(target.id, (None,) * len(states)), strict=True
        )
        if state in (MET, UNMET)
    )
    left = [weight for weight, state in applicable if state not in (MET, UNMET)]
    least = math.fsum(weight for weight, _ in applicable if weight < 0)
    most = math.fsum(weight for weight, _ in applicable if weight > 0)
    if least == most:
        return Score(0.0, 1.0)
    low = met + math.fsum(weight for weight in left if weight < 0)
    high = met + math.fsum(weight for weight in left if weight > 0)
    return Score((low - least) / (most - least), (high - least) / (most - least))


def _compare(better: Score, worse: Score) -> Edges:
    if better.low > worse.high:
        return Edges(concordant=1)
    if better.high < worse.low:
        return Edges(discordant=1)
    exact = better.low == better.high and worse.low == worse.high
    return Edges(tied=1) if exact else Edges(undecided=1)


ELO_SEED = 42


def tournament(labelled: Labelled, scoring: Scoring) -> Ranking | None:
    """Measure how recorded comparisons rank the responses to each instruction, by Elo ratings.

    A comparison that prefers neither is left out. Faithful scoring draws one sequence of random
    orders through all instructions, as IF-RewardBench's code does; strict scoring draws the same
    for each, so that a result doesn't depend on the other rows.
    """
    instructions: dict[int, list[Target]] = defaultdict(list)
    for target in labelled.targets.values():
        instructions[target.cluster].append(target)
    if not any(target.compared_to for target in labelled.targets.values()):
        return None
    random = Random(ELO_SEED)
    scores: Scores = {}
    for together in instructions.values():
        if scoring != "faithful":
            random = Random(ELO_SEED)
        places = {target.id: place for place, target in enumerate(together)}
        wins = [
            (places[target.id], places[other]) if won else (places[other], places[target.id])
            for target in together
            for other, won in target.compared_to.items()
            if won is not None and other in places
        ]
        ratings = elo(len(together), wins, random)
        scores |= {target.id: [Score(r, r)] for target, r in zip(together, ratings, strict=True)}
    return _ranked(scores, labelled, zero=scoring == "faithful")


_SIDES = (1, 2, TIE)


def recorded_choices(samples: Iterable[Sample], scoring: Scoring) -> dict[str, Any] | None:
    """Measure what the samples' field ``choice`` says; ``None`` where none has it.

    A choice is ``{"label": 1, "unswapped": 1, "swapped": 2}``: the better response, and the one
    that the judge chose in either order, 0 for a tie and ``null`` for what can't be read.
    """
    given = []
    for sample in samples:
        choice = (sample.model_extra or {}).get("choice")
        if not isinstance(choice, dict) or choice.get("label") not in (1, 2):
            continue
        sides = [choice.get(order) for order in ("unswapped", "swapped")]
        unswapped, swapped = (side if side in _SIDES else None for side in sides)
        given.append(Choice(choice["label"], unswapped, swapped))
    return choices(given, scoring) if given else None


BY_TYPE = ("mean_f1", "f1_met", "f1_unmet", "balanced_accuracy", "kappa")
"""Rates by constraint type; there are too few verdicts for more."""


def confusion(labels: str, states: str) -> Confusion:
    """Count verdicts by label; what is not known or not decided is in no cell."""
    pairs = Counter(zip(labels, states, strict=True))
    return Confusion(
        tp=pairs[MET, MET], fp=pairs[UNMET, MET], fn=pairs[MET, UNMET], tn=pairs[UNMET, UNMET]
    )


def coverage(entry: JudgeEntry, labelled: Labelled) -> float:
    """Compute the share of the verdicts on labelled constraints that were decided."""
    statuses = _statuses(entry, labelled)
    return (statuses["met"] + statuses["unmet"]) / max(1, sum(statuses.values()))


def measures(entry: JudgeEntry, labelled: Labelled, scoring: Scoring, seed: int) -> dict[str, Any]:
    """Measure one entry against the labels."""
    scored = entry.padded(labelled) if scoring == "faithful" else entry
    parts = _parts(scored, labelled)
    zero = scoring == "faithful"
    result: dict[str, Any] = {
        "name": entry.name,
        "judge": entry.judge,
        "n_samples": entry.samples,
        "votes": entry.votes,
        "run": entry.run,
        "verdicts": _statuses(entry, labelled),
        "coverage": coverage(entry, labelled),
        "pooled": _pooled(scored, entry, labelled),
        "per_instruction": _averaged(mean_over, entry, labelled, parts, zero=zero),
    }
    types = {group for group, _, _ in parts if group is not None}
    if types:
        averages = _averaged(mean_over_types, entry, labelled, parts, zero=zero)
        result["per_type"] = {**averages, "types": sorted(types)}
    result |= rankings(scored, labelled, zero=zero)
    levels = level_agreement(labelled.targets.values(), entry.answers)
    if levels is not None:
        result["levels"] = levels
    result["by_constraint_type"] = _by_constraint_type(scored, entry, labelled)
    calibrated = calibration(entry.confidences.values(), seed=seed)
    if calibrated is not None:
        result["calibration"] = calibrated
    if entry.samples > 1:
        result["alpha_of_samples"] = alpha(entry.rows(labelled))
    if entry.cost is not None:
        result["cost"] = _cost(entry.cost, entry.judged)
    if entry.disagreeing:
        result["disagreements"] = {"count": entry.disagreeing, "first": entry.disagreements}
    return result


def paired(entries: Sequence[JudgeEntry], labelled: Labelled, seed: int) -> list[dict[str, Any]]:
    """Compare entries two by two, on the verdicts that both decided.

    Of an entry with several samples only the majority is compared: verdicts are paired one to one.
    """
    pairs = [
        _paired(first, second, labelled, seed)
        for first, second in combinations([entry for entry in entries if entry.samples == 1], 2)
    ]
    for rate in ("mean_f1", "accuracy"):
        adjust_p([pair[rate] for pair in pairs])
    return pairs


def compared(
    first: JudgeEntry, second: JudgeEntry, labelled: Labelled, seed: int
) -> dict[str, Any]:
    """Compare the verdicts of a judge with those that it gave at another time."""
    pair = _paired(first, second, labelled, seed)
    tests = [pair["mean_f1"], pair["accuracy"]]
    adjust_p(tests)
    shown = {test["value"] > 0 for test in tests if (test["p_holm"] or 1) < LEVEL}
    changed = pair["only_first_right"] + pair["only_second_right"]
    found = "loss" if False in shown else "gain" if shown else "none"
    return {**pair, "changed": changed, "shown": found}


def _paired(first: JudgeEntry, second: JudgeEntry, labelled: Labelled, seed: int) -> dict[str, Any]:
    sums = BoundedSums(), BoundedSums()
    only_right = [0, 0]
    requested = 0
    for target, (states,) in first.rows(labelled):
        other = second.verdicts.get(target.id, [MISSING * len(target.labels)])[0]
        both = list(zip(states, other, strict=True))
        shared = [{a, b} <= {MET, UNMET} for a, b in both]
        for own, side in zip(sums, (states, other), strict=True):
            own.add(target.cluster, target.labels, _only(side, shared), side)
        for label, (a, b) in zip(target.labels, both, strict=True):
            requested += label != UNKNOWN and NOT_REQUESTED not in (a, b)
            if label != UNKNOWN and {a, b} == {MET, UNMET}:
                only_right[b == label] += 1
    mine, theirs = sums
    compared = sum(mine.cells)
    counted = mine.beside(theirs)
    rates = {"mean_f1": ("f1_met", "f1_unmet"), "accuracy": ("accuracy",)}
    return {
        "first": first.name,
        "second": second.name,
        "compared": compared,
        "coverage": compared / requested if requested else 0.0,
        **{
            name: rate_difference(counted, of, seed)
            | {"bounds": mine.difference_bounds(theirs, name)}
            for name, of in rates.items()
        },
        "only_first_right": only_right[0],
        "only_second_right": only_right[1],
    }


def rate_difference(
    counted: Mapping[tuple[float, ...], int], rates: Sequence[str], seed: int
) -> dict[str, Any]:
    """Compare the mean of some rates of two judges."""
    clusters: Counter[tuple[float, ...]] = Counter()
    for cells, n in counted.items():
        parts = (RATIOS[rate](side) for rate in rates for side in (cells[:4], cells[4:]))
        clusters[tuple(float(number) for part in parts for number in part)] += n
    contrasted = contrast({"": clusters}, seed=seed)
    return {**contrasted["difference"], "p": contrasted["p"]}


def alpha(rows: Iterable[tuple[Target, Sequence[str]]]) -> dict[str, Any]:
    """Compute Krippendorff's alpha of several annotators' verdicts."""
    sums = Sums(3)
    units = 0
    for target, given in rows:
        for letters in zip(*given, strict=True):
            values = (letters.count(MET), letters.count(UNMET))
            units += sum(values) > 1
            sums.add(target.cluster, coincidences(values))
    return {**alpha_estimate(sums.counted()), "constraints": units}


def _statuses(entry: JudgeEntry, labelled: Labelled) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for target, samples in entry.rows(labelled):
        for states in samples:
            known = (s for label, s in zip(target.labels, states, strict=True) if label != UNKNOWN)
            counts.update(known)
    # Most judges have no word for what doesn't apply.
    return {
        status: counts[letter]
        for letter, status in STATES.items()
        if counts[letter] or letter != NOT_APPLICABLE
    }


def _averaged(
    average: Callable[..., Averages],
    entry: JudgeEntry,
    labelled: Labelled,
    parts: Parts,
    *,
    zero: bool,
) -> dict[str, Any]:
    """Average F1s, with the bounds that undecided verdicts leave."""
    averages: dict[str, Any] = {**average(parts, zero=zero)}
    ends: list[dict[str, Any]] = [
        {**average(_parts(entry, labelled, right=right), zero=zero)} for right in (False, True)
    ]
    for name in ("mean_f1", "f1_met", "f1_unmet"):
        averages[name] = {**averages[name], "bounds": _ends([end[name]["value"] for end in ends])}
    return averages


class BoundedSums:
    """Verdicts by label and instruction: as they are, and with the undecided wrong, and right."""

    def __init__(self) -> None:
        self._sums, self._wrong, self._right = Sums(4), Sums(4), Sums(4)

    def add(self, instruction: int, labels: str, scored: str, states: str) -> None:
        """Add a row's verdicts, as scored and as given."""
        self._sums.add(instruction, confusion(labels, scored))
        for sums, right in ((self._wrong, False), (self._right, True)):
            sums.add(instruction, confusion(labels, settle(labels, states, right=right)))

    @property
    def cells(self) -> Confusion:
        """The decided verdicts by label."""
        return Confusion(*map(int, self._sums.total()))

    def beside(self, other: BoundedSums) -> Counter[tuple[float, ...]]:
        """Count the instructions by their decided verdicts here and there."""
        return self._sums.beside(other._sums)

    def difference_bounds(self, other: BoundedSums, name: str) -> list[float] | None:
        """Compute bounds: the undecided wrong here and right there, and vice versa."""
        ends = []
        for mine, theirs in ((self._wrong, other._right), (self._right, other._wrong)):
            first, second = (number(RATES[name](sums.total())) for sums in (mine, theirs))
            if first is None or second is None:
                return None
            ends.append(first - second)
        return ends

    def estimates(self, names: Iterable[str] = RATES) -> dict[str, dict[str, Any]]:
        """Compute rates with their intervals and bounds."""
        ends = self._wrong.total(), self._right.total()
        return {
            name: {**estimate, "bounds": _ends([number(RATES[name](end)) for end in ends])}
            for name, estimate in rate_estimates(self._sums.counted(), names).items()
        }


def _ends(values: Sequence[float | None]) -> list[float] | None:
    known = [value for value in values if value is not None]
    return sorted(known) if len(known) == len(values) else None


def _rows(
    scored: JudgeEntry, entry: JudgeEntry, labelled: Labelled
) -> Iterator[tuple[Target, str, str]]:
    """Go through an entry's samples, as they are scored and as they are."""
    for (target, samples), (_, own) in zip(
        scored.rows(labelled), entry.rows(labelled), strict=True
    ):
        for padded, states in zip(samples, own, strict=True):
            yield target, padded, states


def _pooled(scored: JudgeEntry, entry: JudgeEntry, labelled: Labelled) -> dict[str, Any]:
    """Compute the rates over all verdicts, with their bounds."""
    sums = BoundedSums()
    for target, padded, states in _rows(scored, entry, labelled):
        sums.add(target.cluster, target.labels, padded, states)
    return {"cells": sums.cells._asdict(), **sums.estimates()}


def settle(labels: str, states: str, *, right: bool) -> str:
    """Take undecided verdicts as right, or as wrong."""
    wrong = {MET: UNMET, UNMET: MET}
    return "".join(
        state
        if state in (MET, UNMET, NOT_REQUESTED)
        else label
        if right
        else wrong.get(label, label)
        for label, state in zip(labels, states, strict=True)
    )


def _parts(entry: JudgeEntry, labelled: Labelled, *, right: bool | None = None) -> Parts:
    """Count verdicts by label for each type, instruction and sample."""
    parts: Parts = {}
    for target, samples in entry.rows(labelled):
        if set(target.labels) <= {UNKNOWN}:
            continue  # only ranked
        for place, states in enumerate(samples):
            settled = states if right is None else settle(target.labels, states, right=right)
            key = (target.group, target.cluster, place)
            counted = zip(
                parts.get(key, Confusion()), confusion(target.labels, settled), strict=True
            )
            parts[key] = Confusion(*(a + b for a, b in counted))
    return parts


def _by_constraint_type(
    scored: JudgeEntry, entry: JudgeEntry, labelled: Labelled
) -> dict[str, dict[str, Any]]:
    sums: dict[str, BoundedSums] = {}
    requested: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for target, padded, states in _rows(scored, entry, labelled):
        for kind in {kind for kind in target.types if kind}:
            labels = "".join(
                label if kind == own else UNKNOWN
                for label, own in zip(target.labels, target.types, strict=True)
            )
            sums.setdefault(kind, BoundedSums()).add(target.cluster, labels, padded, states)
            known = [s for label, s in zip(labels, states, strict=True) if label != UNKNOWN]
            requested[kind] += sum(state != NOT_REQUESTED for state in known)
            decided[kind] += sum(state in (MET, UNMET) for state in known)
    by_type: dict[str, dict[str, Any]] = {}
    for kind, of_kind in sorted(sums.items()):
        by_type[kind] = {
            "verdicts": requested[kind],
            "coverage": decided[kind] / requested[kind] if requested[kind] else 0.0,
            **of_kind.estimates(BY_TYPE),
        }
    return by_type


def _cost(cost: Mapping[str, Any], judged: int) -> dict[str, Any]:
    """Lay out what the calls cost, and how much of it for each verdict that was decided."""
    counted = ("calls", "prompt_tokens", "completion_tokens", "dollars")
    each = {
        name: cost[name] / judged if judged and cost[name] is not None else None for name in counted
    }
    return {**cost, "judged": judged, "per_constraint": each}


def _only(states: str, shared: Sequence[bool]) -> str:
    """Drop the verdicts that only one side decided."""
    return "".join(s if both else NOT_REQUESTED for s, both in zip(states, shared, strict=True))


OF_ANNOTATORS = ("mean_f1", "f1_met", "f1_unmet")


def against_annotators(
    entries: Sequence[JudgeEntry], labelled: Labelled
) -> dict[str, dict[str, Any]] | None:
    """Compute F1 over all pairs of a verdict and an annotator."""
    targets = [each for each in labelled.targets.values() if len(each.annotations) > 1]
    if not targets:
        return None
    judges = {}
    for entry in entries:
        sums = BoundedSums()
        for target, samples in entry.rows(labelled):
            for states in samples:
                for annotation in target.annotations.values():
                    sums.add(target.cluster, annotation, states, states)
        judges[entry.name] = _measured(sums)
    people = BoundedSums()
    for target in targets:
        for one, other in permutations(target.annotations.values(), 2):
            people.add(target.cluster, other, one, one)
    return {"judges": judges, "annotators": _measured(people)}


def _measured(sums: BoundedSums) -> dict[str, Any]:
    return {"pairs": sum(sums.cells), **sums.estimates(OF_ANNOTATORS)}
