"""A judge's rows on one criterion each, put together by the response that they are about."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from heedful.metrics.family import Units
from heedful.metrics.rates import macro_measure
from heedful.metrics.rubrics import rubric_outcome, score_measure, score_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Scoring
    from heedful.metrics.family import Mean
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate, Share
    from heedful.metrics.rubrics import RubricScore


class CriterionRows(Units):
    """Accumulator of rows by response, whose score is over all of its criteria."""

    def __init__(self, scoring: Scoring, score: RubricScore, mean: Mean | None = None) -> None:
        """Score by the criteria together; ``mean``: over the values of a tag."""
        self._scoring, self._score, self._mean = scoring, score, mean
        self._responses: dict[tuple[str, ...], tuple[list[Constraint], list[Judgment]]] = {}

    def add(
        self, sample: Sample, critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in a row; those of whole responses have their rates without it."""
        if not row.of_judge:
            return
        text = blake2b((sample.response or "").encode("utf-8", "surrogatepass"), digest_size=8)
        task = str((sample.model_extra or {}).get("instruction_id"))
        tag = "" if self._mean is None else self._mean.tag
        key = (
            str(sample.tags.get(tag, "")),
            task,
            str(sample.tags.get("model", "")),
            text.hexdigest(),
        )
        checklist, judgments = self._responses.setdefault(key, ([], []))
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=False):
            checklist.append(constraint)
            judgments.append(judgment)

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure."""
        outcomes = []
        groups: dict[str, Counter[Share]] = {}
        for (group, *_), judged in self._responses.items():
            outcome = rubric_outcome(*judged)
            share = score_share(self._score, outcome, self._scoring)
            if outcome is not None and share is not None:
                outcomes.append(outcome)
                groups.setdefault(group, Counter())[share] += 1
        if not groups:
            return {}
        shares: Counter[Share] = Counter()
        for counts in groups.values():
            shares.update(counts)
        score = score_measure(self._score, shares, outcomes, readable=readable)
        rates = {self._score.name: score}
        if self._mean is not None:
            digits = self._mean.faithful_digits if self._scoring == "faithful" else None
            rates[self._mean.name] = macro_measure(groups, readable=readable, digits=digits)
        return rates
