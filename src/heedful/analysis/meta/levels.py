"""Judges of criteria with levels, against labels that name the levels."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import product
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Judgment, Status
from heedful.core.rubric import judgment_at, value
from heedful.core.scale import LABEL_LEVELS, NOT_APPLICABLE
from heedful.metrics.agreement import Confusion
from heedful.metrics.agreement_intervals import rate_estimates, weighted_kappa_estimate
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.analysis.meta.target import Answer, Target
    from heedful.core.nouns import Constraint, Sample

Pair = tuple["Answer", "Answer | None"]
"""What the label says of a criterion, and the judge."""


def answer(constraint: Constraint, judgment: Judgment) -> Answer | None:
    """Return the answer that a verdict gives, and its value; ``None`` where it isn't decided."""
    if judgment.status is Status.NOT_APPLICABLE:
        return NOT_APPLICABLE, None
    share = value(constraint, judgment)
    return None if share is None else (judgment.level or judgment.status.value, share)


def labelled_answers(sample: Sample) -> tuple[Answer | None, ...]:
    """Return what labels say of each criterion; nothing where none names a level."""
    levels = (sample.model_extra or {}).get(LABEL_LEVELS)
    if not isinstance(levels, list) or len(levels) != len(sample.checklist):
        return ()
    return tuple(map(_labelled, sample.checklist, sample.labels or (), levels))


def _labelled(constraint: Constraint, label: bool | None, level: Any) -> Answer | None:  # noqa: FBT001
    if level == NOT_APPLICABLE:
        return NOT_APPLICABLE, None
    if constraint.scale is not None and isinstance(level, str):
        try:
            return answer(constraint, judgment_at(constraint.scale, level))
        except KeyError:
            return None
    if label is None or constraint.scale is not None:
        return None
    return answer(constraint, Judgment(status=Status.MET if label else Status.UNMET))


def level_agreement(
    targets: Iterable[Target], answers: Mapping[str, Sequence[Answer | None]]
) -> dict[str, Any] | None:
    """Measure how a judge's answers agree with labels of rows that name levels."""
    clusters: dict[int, list[Pair]] = defaultdict(list)
    for target in targets:
        given = answers.get(target.id, ())
        for place, label in enumerate(target.answers):
            if label is not None:
                said = given[place] if place < len(given) else None
                clusters[target.cluster].append((label, said))
    if not clusters:
        return None
    return {
        "labels": sum(map(len, clusters.values())),
        "exact": measure(Counter(map(_exact, clusters.values()))),
        "weighted_kappa": weighted_kappa_estimate(_counted(map(_sums, clusters.values()))),
        "not_applicable_kappa": rate_estimates(
            _counted(map(_applicability, clusters.values())), ["kappa"]
        )["kappa"],
    }


def _exact(pairs: Sequence[Pair]) -> Share:
    return Share.of([None if said is None else label[0] == said[0] for label, said in pairs])


def _counted(rows: Iterable[tuple[float, ...]]) -> Counter[tuple[float, ...]]:
    return Counter(row for row in rows if any(row))


def _sums(pairs: Sequence[Pair]) -> tuple[float, ...]:
    """Add up a cluster's pairs of values for the weighted kappa."""
    values = [
        (a[1], b[1]) for a, b in pairs if b is not None and a[1] is not None and b[1] is not None
    ]
    columns = zip(*((1.0, a, b, a * a + b * b, a * b) for a, b in values), strict=True)
    return tuple(map(math.fsum, columns))


def _applicability(pairs: Sequence[Pair]) -> Confusion:
    """Count what applies: by label, and by the judge."""
    counts = Counter((said[1] is None, label[1] is None) for label, said in pairs if said)
    return Confusion(*(float(counts[key]) for key in product((True, False), (True, False))))
