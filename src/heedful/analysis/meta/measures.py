"""The numbers of one entry, and of two side by side."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

from heedful.analysis.meta.entries import MISSING, NOT_ASKED, STATES
from heedful.analysis.meta.labels import MET, UNKNOWN, UNMET
from heedful.analysis.meta.sums import Sums
from heedful.metrics.agreement import (
    RATES,
    Confusion,
    accuracy,
    calibration,
    coincidences,
    estimates,
    holm,
    krippendorff_alpha,
    mcnemar,
    mean_f1,
    number,
)
from heedful.metrics.averages import Parts, mean_over, mean_over_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from heedful.analysis.meta.entries import JudgeEntry
    from heedful.analysis.meta.labels import Labelled, Target
    from heedful.core.nouns import Scoring

    Floats = NDArray[np.float64]

__all__ = ["measures"]

BY_TYPE = ("mean_f1", "f1_met", "f1_unmet", "balanced_accuracy", "kappa")
"""What is broken down by constraint type; small groups bear no more."""


def confusion(labels: str, states: str) -> Confusion:
    """Count verdicts by label; what is not known or not decided is in no cell."""
    pairs = Counter(zip(labels, states, strict=True))
    return Confusion(
        tp=pairs[MET, MET], fp=pairs[UNMET, MET], fn=pairs[MET, UNMET], tn=pairs[UNMET, UNMET]
    )


def by_instruction(entry: JudgeEntry, labelled: Labelled) -> Counter[Confusion]:
    """Count the instructions that came to the same counts of verdicts by label."""
    sums = Sums(4)
    for target, draws in entry.rows(labelled):
        for states in draws:
            sums.add(target.cluster, confusion(target.labels, states))
    return Counter({Confusion(*row): count for row, count in sums.counted().items()})


def measures(entry: JudgeEntry, labelled: Labelled, scoring: Scoring, seed: int) -> dict[str, Any]:
    """Measure one entry against the labels.

    Args:
        entry: whose verdicts.
        labelled: the labels.
        scoring: ``faithful`` takes what was not decided as met, and an F1 without a denominator
            as 0, as IF-RewardBench's code does.
        seed: of the bootstrap, which resamples instructions.

    Returns:
        Ready for JSON: verdicts and coverage, the rates pooled over verdicts, the F1s averaged
        over instructions and over types, the rates by constraint type, calibration, cost.
    """
    statuses = _statuses(entry, labelled)
    asked = sum(statuses.values())
    decided = statuses["met"] + statuses["unmet"]
    scored = entry.padded(labelled) if scoring == "faithful" else entry
    name = f"meta.{entry.judge}.{entry.name}"
    parts = _parts(scored, labelled)
    zero = scoring == "faithful"
    result: dict[str, Any] = {
        "name": entry.name,
        "judge": entry.judge,
        "draws": entry.draws,
        "votes": entry.votes,
        "run": entry.run,
        "verdicts": statuses,
        "coverage": decided / asked if asked else 0.0,
        "pooled": _pooled(scored, labelled, name, seed),
        "per_instruction": mean_over(parts, zero=zero, name=f"{name}.per_instruction", seed=seed),
    }
    types = {group for group, _, _ in parts if group is not None}
    if types:
        per_type = mean_over_types(parts, zero=zero, name=f"{name}.per_type", seed=seed)
        result["per_type"] = {**per_type, "types": sorted(types)}
    result["by_constraint_type"] = _by_constraint_type(scored, labelled, name, seed)
    found = calibration(entry.confidences)
    if found is not None:
        result["calibration"] = found
    if entry.draws > 1:
        result["alpha_of_draws"] = alpha(entry.rows(labelled), f"{name}.alpha", seed)
    if entry.cost is not None:
        result["cost"] = _cost(entry.cost, entry.judged)
    if entry.disagreeing:
        result["disagreements"] = {"count": entry.disagreeing, "first": entry.disagreements}
    return result


def paired(entries: Sequence[JudgeEntry], labelled: Labelled, seed: int) -> list[dict[str, Any]]:
    """Compare entries two by two, on the verdicts that both decided.

    Entries with several draws are left to their majority: an exact test needs one verdict each.

    Returns:
        For each pair the differences (first minus second) of mean F1 and of accuracy with their
        intervals, and McNemar's exact test, also adjusted for the number of pairs (Holm).
    """
    pairs: list[dict[str, Any]] = []
    for first, second in combinations([entry for entry in entries if entry.draws == 1], 2):
        sums = Sums(8)
        only = [0, 0]
        asked = 0
        for target, (one,) in first.rows(labelled):
            other = second.verdicts.get(target.id, [MISSING * len(target.labels)])[0]
            shared = _shared(one, other)
            both = [confusion(target.labels, _kept(states, shared)) for states in (one, other)]
            sums.add(target.cluster, (*both[0], *both[1]))
            for label, a, b in zip(target.labels, one, other, strict=True):
                asked += label != UNKNOWN and NOT_ASKED not in (a, b)
                if label != UNKNOWN and {a, b} == {MET, UNMET}:
                    only[b == label] += 1
        found = estimates(
            sums.counted(), DIFFERENCES, name=f"meta.pair.{first.name}.{second.name}", seed=seed
        )
        compared = int(sum(sums.total()[:4]))
        pairs.append(
            {
                "first": first.name,
                "second": second.name,
                "compared": compared,
                "coverage": compared / asked if asked else 0.0,
                **found,
                "only_first_right": only[0],
                "only_second_right": only[1],
                "p": mcnemar(*only),
            }
        )
    adjusted = holm([float(pair["p"]) for pair in pairs])
    for pair, p in zip(pairs, adjusted, strict=True):
        pair["p_holm"] = p
    return pairs


def alpha(rows: Iterable[tuple[Target, Sequence[str]]], name: str, seed: int) -> dict[str, Any]:
    """Compute Krippendorff's alpha of several annotators' verdicts.

    Args:
        rows: each row's verdicts, a letter for each constraint, by annotator; what is not decided
            is missing.
        name: for the bootstrap, which resamples instructions.
        seed: likewise.

    Returns:
        Alpha with its interval, and how many constraints had two verdicts or more.
    """
    sums = Sums(3)
    units = 0
    for target, drawn in rows:
        for letters in zip(*drawn, strict=True):
            values = (letters.count(MET), letters.count(UNMET))
            units += sum(values) > 1
            sums.add(target.cluster, coincidences(values))
    found = estimates(sums.counted(), {"alpha": krippendorff_alpha}, name=name, seed=seed)
    return {**found["alpha"], "constraints": units}


def _f1_difference(cells: Floats) -> Floats:
    return mean_f1(cells[..., :4]) - mean_f1(cells[..., 4:])


def _accuracy_difference(cells: Floats) -> Floats:
    return accuracy(cells[..., :4]) - accuracy(cells[..., 4:])


DIFFERENCES = {"mean_f1": _f1_difference, "accuracy": _accuracy_difference}


def _statuses(entry: JudgeEntry, labelled: Labelled) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for target, draws in entry.rows(labelled):
        for states in draws:
            known = (s for label, s in zip(target.labels, states, strict=True) if label != UNKNOWN)
            counts.update(known)
    return {status: counts[letter] for letter, status in STATES.items()}


def _pooled(entry: JudgeEntry, labelled: Labelled, name: str, seed: int) -> dict[str, Any]:
    """Compute the rates over all verdicts, and what they would be if the undecided were decided."""
    sums, lows, highs = Sums(4), Sums(4), Sums(4)
    for target, draws in entry.rows(labelled):
        for states in draws:
            sums.add(target.cluster, confusion(target.labels, states))
            for bound, right in ((lows, False), (highs, True)):
                settled = _settled(target.labels, states, right=right)
                bound.add(target.cluster, confusion(target.labels, settled))
    found = estimates(sums.counted(), RATES, name=name, seed=seed)
    cells = Confusion(*map(int, sums.total()))
    return {
        "cells": cells._asdict(),
        **{
            rate: {
                **estimate,
                "bounds": [number(RATES[rate](bound.total())) for bound in (lows, highs)],
            }
            for rate, estimate in found.items()
        },
    }


def _settled(labels: str, states: str, *, right: bool) -> str:
    """Take what was not decided as right, or as wrong."""
    wrong = {MET: UNMET, UNMET: MET}
    return "".join(
        state if state in (MET, UNMET, NOT_ASKED) else label if right else wrong.get(label, label)
        for label, state in zip(labels, states, strict=True)
    )


def _parts(entry: JudgeEntry, labelled: Labelled) -> Parts:
    """Count verdicts by label for each type, instruction and draw."""
    parts: Parts = {}
    for target, draws in entry.rows(labelled):
        for draw, states in enumerate(draws):
            key = (target.group, target.cluster, draw)
            counted = zip(
                parts.get(key, Confusion()), confusion(target.labels, states), strict=True
            )
            parts[key] = Confusion(*(a + b for a, b in counted))
    return parts


def _by_constraint_type(
    entry: JudgeEntry, labelled: Labelled, name: str, seed: int
) -> dict[str, dict[str, Any]]:
    sums: dict[str, Sums] = {}
    asked: Counter[str] = Counter()
    for target, draws in entry.rows(labelled):
        for kind in {kind for kind in target.types if kind}:
            labels = "".join(
                label if kind == own else UNKNOWN
                for label, own in zip(target.labels, target.types, strict=True)
            )
            for states in draws:
                of_kind = sums.setdefault(kind, Sums(4))
                of_kind.add(target.cluster, confusion(labels, states))
                asked[kind] += sum(
                    label != UNKNOWN and state != NOT_ASKED
                    for label, state in zip(labels, states, strict=True)
                )
    found: dict[str, dict[str, Any]] = {}
    for kind, of_kind in sorted(sums.items()):
        decided = int(sum(of_kind.total()))
        rates = {rate: RATES[rate] for rate in BY_TYPE}
        found[kind] = {
            "verdicts": asked[kind],
            "coverage": decided / asked[kind] if asked[kind] else 0.0,
            **estimates(of_kind.counted(), rates, name=f"{name}.type.{kind}", seed=seed),
        }
    return found


def _cost(cost: Mapping[str, Any], judged: int) -> dict[str, Any]:
    """Lay out what the calls cost, and how much of it for each verdict that was decided."""
    counted = ("calls", "prompt_tokens", "completion_tokens", "dollars")
    each = {
        name: cost[name] / judged if judged and cost[name] is not None else None for name in counted
    }
    return {**cost, "judged": judged, "per_constraint": each}


def _shared(one: str, other: str) -> list[bool]:
    return [{a, b} <= {MET, UNMET} for a, b in zip(one, other, strict=True)]


def _kept(states: str, keep: Sequence[bool]) -> str:
    return "".join(s if kept else NOT_ASKED for s, kept in zip(states, keep, strict=True))
