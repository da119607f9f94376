"""Judges against each of several annotators, and the annotators against each other.

Each annotator's verdict on a constraint is a pair with the judge's: HealthBench's meta-evaluation
(arXiv 2505.08775, its code: ``pairwise_model_f1_balanced``), where physicians who disagree both
count. Annotators are measured likewise, each against the others of the row.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

from heedful.analysis.meta.measures import BoundedSums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.analysis.meta.entries import JudgeEntry
    from heedful.analysis.meta.labels import Labelled

RATES = ("mean_f1", "f1_met", "f1_unmet")


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
    return {"pairs": sum(sums.cells), **sums.estimates(RATES)}
