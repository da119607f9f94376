"""Rates of benchmarks over units of several rows: conversations, examples, questions, groups."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from heedful.metrics.coherence import Coherence
from heedful.metrics.gathering import SessionStability
from heedful.metrics.outcomes import NOT_APPLICABLE, RATED
from heedful.metrics.rates import macro_measure
from heedful.metrics.reliability import Reliability, any_attempt
from heedful.metrics.rubrics import family_shares, rubric_outcome, score_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share
    from heedful.metrics.rubrics import RubricOutcome


class CriterionRows:
    """Accumulator of a judge's rows on one criterion each, by the response that they are about.

    A response's score is over all of its criteria. ProfBench's overall score is the mean over
    domains, each weighing the same, of the scores of their responses; faithful scoring rounds each
    domain first.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._responses: dict[tuple[str, ...], tuple[list[Constraint], list[Judgment]]] = {}

    def add(self, sample: Sample, critique: Critique, benchmark: str) -> None:
        """Take in a row."""
        text = blake2b((sample.response or "").encode("utf-8", "surrogatepass"), digest_size=8)
        task = str((sample.model_extra or {}).get("instruction_id"))
        model, domain = (str(sample.tags.get(tag, "")) for tag in ("model", "domain"))
        key = RATED[benchmark], domain, task, model, text.hexdigest()
        checklist, judgments = self._responses.setdefault(key, ([], []))
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=False):
            checklist.append(constraint)
            judgments.append(judgment)

    def metrics(self, *, readable: float) -> dict[str, dict[str, Any]]:
        """Measure, by family."""
        outcomes: dict[str, list[RubricOutcome]] = {}
        domains: dict[str, dict[str, Counter[Share]]] = {}
        for (family, domain, *_), judged in self._responses.items():
            outcome = rubric_outcome(*judged)
            share = family_shares(family, outcome, self._scoring).get("score")
            if outcome is not None and share is not None:
                outcomes.setdefault(family, []).append(outcome)
                of_family = domains.setdefault(family, {})
                of_family.setdefault(domain, Counter())[share] += 1
        measured: dict[str, dict[str, Any]] = {}
        for family, of_family in domains.items():
            shares: Counter[Share] = Counter()
            for counts in of_family.values():
                shares.update(counts)
            score = score_measure(family, shares, outcomes[family], readable=readable)
            measured[family] = {"score": score}
            if family == "profbench":
                digits = 3 if self._scoring == "faithful" else None
                overall = macro_measure(of_family, readable=readable, digits=digits)
                measured[family]["overall"] = overall
        return measured


class RowUnits:
    """Accumulator of rows by what they belong to.

    Attributes:
        systems: SysBench's conversations.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self.systems = SessionStability(scoring)
        self._examples = SessionStability(scoring, "conversation_id", "level")  # FollowBench's
        self._coherence = Coherence(scoring)
        self._criteria = CriterionRows(scoring)
        self._axes: dict[str, Reliability] = {}  # MultiChallenge's attempts

    def add(
        self, sample: Sample, critique: Critique, row: RowOutcome, states: Sequence[int]
    ) -> None:
        """Take in a row and the states of its verdicts."""
        judged = [state for state in states if state != NOT_APPLICABLE]
        if row.benchmark == "sysbench":
            self.systems.add(sample, judged, row.all_ok)
        elif row.benchmark == "followbench" and row.verdicts.total:
            self._examples.add(sample, judged, None)
        elif row.benchmark == "multichallenge":
            axis = str(sample.tags.get("axis", ""))
            self._axes.setdefault(axis, Reliability(self._scoring)).add(sample, row)
        elif row.benchmark in RATED:
            self._criteria.add(sample, critique, row.benchmark)
        elif sample.tags.get("benchmark") == "complexbench":
            self._coherence.add(sample, row)

    def metrics(self, *, readable: float) -> dict[str, dict[str, Any]]:
        """Measure, by family; families without rows have no rates."""
        ssr = self.systems.ssr(readable=readable)
        csl = self._examples.ssr(readable=readable)
        families = {
            "sysbench": {} if ssr is None else {"ssr": ssr},
            "followbench": {} if csl is None else {"csl": csl},
            "multichallenge": any_attempt(self._axes, readable=readable),
            "complexbench": self._coherence.metrics(readable=readable),
            **self._criteria.metrics(readable=readable),
        }
        return {family: rates for family, rates in families.items() if rates}
