"""A run in numbers: every family's rates, breakdowns, factors and agreement with labels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Status
from heedful.metrics.clusters import ClusterStore, cluster_of
from heedful.metrics.contributions import collect, contributions
from heedful.metrics.gathering import Factors, GroupCounts, Labels
from heedful.metrics.multiif import Conversations
from heedful.metrics.notes import DROPPED, notes
from heedful.metrics.outcomes import (
    NOT_APPLICABLE,
    UNDECIDED,
    RowOutcome,
    outcome,
    sort_verdicts,
    unpack,
)
from heedful.metrics.rates import EndSpreads, Share, known_value, macro_measure, measure
from heedful.metrics.reliability import Reliability
from heedful.metrics.rubrics import FAMILY_SCORES, ScoresByType, score_measure
from heedful.metrics.satisfaction import advancedif_unreadable, scores_of
from heedful.metrics.shares import pooled
from heedful.metrics.tagged import ConstraintTags, tags_of
from heedful.metrics.units import RowUnits
from heedful.metrics.votes import Votes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.clusters import Cell, Spreads
    from heedful.metrics.contributions import Rate, Shares
    from heedful.metrics.outcomes import Verdicts
    from heedful.metrics.rates import RateEstimate


DIMENSIONS = ("type", "subtype", "priority", "verifier")
ALL = ("row",)
LABELS = ("share", "labels")
VOTES = ("share", "votes")


class Summary:
    """Accumulator of rows that computes the summary of a run at the end.

    Memory does not grow with the rows, but for 16 bytes for each length of prompts that occurs with
    an outcome, and some hundred bytes a conversation of SysBench or Multi-IF.
    Which rows vary together is stored in a temporary file. The result does not depend on the order
    of the rows, but for which disagreements are listed.
    """

    def __init__(self, scoring: Scoring = "strict") -> None:
        self._scoring = scoring
        self._clusters = ClusterStore()
        self._together: Spreads = {}
        self._shares: dict[Share, int] = {}
        self._outcomes: dict[RowOutcome, int] = {}
        self._counts: Counter[int] = Counter()
        self._undecided: Counter[Status] = Counter()
        self._failed = 0
        self._tags: dict[str, GroupCounts[int]] = {}
        self._dimensions: dict[str, GroupCounts[int]] = {name: GroupCounts() for name in DIMENSIONS}
        self._units = RowUnits(scoring)
        self._conversations = Conversations(scoring)
        self._reliability = Reliability(scoring)
        self._constraint_tags = ConstraintTags()
        self._labels = Labels()
        self._typed = ScoresByType(scoring)
        self._votes = Votes()
        self._factors = Factors()
        self._misfits = 0

    def add(self, sample: Sample, critique: Critique) -> Mapping[str, float | None]:
        """Take in one row and the judgments on it; return its scores, as the results file has them.

        They are those of :func:`heedful.metrics.satisfaction.scores`.
        """
        verdicts = sort_verdicts(sample, critique)
        row = outcome(sample, critique, verdicts, self._scoring)
        number = self._outcomes.setdefault(row, len(self._outcomes))
        self._counts[number] += 1
        states = verdicts.states
        unsaid = UNDECIDED in states or NOT_APPLICABLE in states
        if unsaid or len(critique.judgments) != len(states):
            self._add_undecided(critique, len(states))
        self._units.add(sample, critique, row, states)
        self._conversations.add(sample, row)
        self._reliability.add(sample, row)
        if row.rubric is not None:
            self._typed.add(sample, critique, row.benchmark)
        if verdicts.types or verdicts.priorities:
            self._factors.add(sample, number, len(verdicts.types))
        cells = [
            (ALL, number),
            *self._by_tags(sample, number),
            *self._by_constraints(verdicts),
            *self._constraint_tags.add(sample.checklist, states),
            *self._compared(sample, critique, states),
        ]
        numbers = [part for cell, key in cells for part in (self._clusters.cell(cell), key)]
        self._clusters.add(cluster_of(sample), numbers)
        return scores_of(row, self._scoring)

    def _by_tags(self, sample: Sample, number: int) -> Iterator[tuple[Cell, int]]:
        """Count a row in the breakdowns by its tags; say to which cells it contributes."""
        for tag, value in tags_of(sample):
            if tag.endswith("_id"):
                continue  # it names a thing; a breakdown by it would have a line for each
            groups = self._tags.get(tag)
            if groups is None:
                groups = self._tags[tag] = GroupCounts()
            name = value if isinstance(value, str) else str(value)
            groups.add(name, number)
            if not groups.dropped:
                yield ("tag", tag, name), number

    def _by_constraints(self, verdicts: Verdicts) -> Iterator[tuple[Cell, int]]:
        """Count a row's verdicts by what their constraints are, likewise."""
        for (dimension, groups), by_type in zip(
            self._dimensions.items(),
            (verdicts.types, verdicts.subtypes, verdicts.priorities, verdicts.verifiers),
            strict=True,
        ):
            for value, packed in by_type.items():
                groups.add(value, packed)
                if not groups.dropped:
                    yield ("constraint", dimension, value), packed

    def _compared(
        self, sample: Sample, critique: Critique, states: Sequence[int]
    ) -> Iterator[tuple[Cell, int]]:
        """Compare a row's verdicts with its labels and its votes with each other, likewise."""
        if sample.labels:
            for reading, share in self._labels.add(sample, critique, states):
                yield (*LABELS, reading), self._number(share)
        split = self._votes.add(critique)
        if split is not None:
            yield VOTES, self._number(split)

    def fail(self, n: int = 1) -> None:
        """Take in rows that could not be read."""
        self._failed += n

    def result(self) -> dict[str, Any]:
        """Sum up."""
        read = self._counts.total()
        verdicts = self._verdicts()
        constraints = sum(verdicts.values())
        applicable = constraints - verdicts.get("not_applicable", 0)
        decided = verdicts["met"] + verdicts["unmet"]
        parts = contributions(self._outcomes, self._scoring)
        self._together = together = self._clusters.spreads(self._contributions(parts))
        by = self._by_constraint() | self._by_tag(parts)
        self._conversations.into(by, readable=self._readable)
        by |= self._typed.result(readable=self._readable)
        result = {
            "samples": read + self._failed,
            "constraints": constraints,
            "coverage": decided / applicable * self._readable if applicable else 0.0,
            "verdicts": verdicts,
            "rows": {"read": read, "failed": self._failed},
            "metrics": self._metrics(parts),
            "by": by,
            "factors": self._factor_analysis(parts),
            "labels": self._labels.result(
                {cell[2]: spread for (cell, _), spread in together.items() if cell[:2] == LABELS},
                readable=self._readable,
            ),
            "votes": self._votes.result(together.get((VOTES, None)), readable=self._readable),
            "notes": self._notes(by),
        }
        if self._units.systems:
            result["contradictions"] = self._units.systems.contradictions()
        return result

    def _add_undecided(self, critique: Critique, constraints: int) -> None:
        judgments = critique.judgments[:constraints]
        self._undecided.update(
            judgment.status for judgment in judgments if not judgment.status.decided
        )
        if len(critique.judgments) != constraints:
            self._misfits += 1
            self._undecided[Status.UNPARSED] += constraints - len(judgments)

    @property
    def _readable(self) -> float:
        read = self._counts.total()
        return read / (read + self._failed) if read else 0.0

    def _pooled(self, packed: int) -> Share:
        """Turn packed counts into its part of a rate over verdicts."""
        share = pooled(unpack(packed))
        if self._scoring == "strict" or any(r.benchmark != "structflow" for r in self._outcomes):
            return share
        return Share.known(share.low, share.units)

    def _number(self, share: Share) -> int:
        return self._shares.setdefault(share, len(self._shares))

    def _contributions(
        self, parts: Sequence[Mapping[Rate, Share]]
    ) -> Callable[[str, int], Mapping[Any, Share]]:
        """Tell what the numbers mean that rows contribute to cells."""
        listed = list(self._shares)

        def shares(kind: str, number: int) -> Mapping[Any, Share]:
            if kind == "share":
                return {None: listed[number]}
            return {None: self._pooled(number)} if kind == "constraint" else parts[number]

        return shares

    def _measure(self, shares: Mapping[Share, int], cell: Cell, rate: Rate | None) -> RateEstimate:
        together = self._together.get((cell, rate))
        if rate is not None and rate[0] in FAMILY_SCORES and rate[1] != "gates":
            rubrics = [row.rubric for row in self._outcomes if row.rubric is not None]
            return score_measure(
                rate[0], shares, rubrics, readable=self._readable, together=together
            )
        return measure(shares, readable=self._readable, together=together)

    def _verdicts(self) -> dict[str, int]:
        counts = {status.value: self._undecided[status] for status in Status}
        for row, number in self._outcomes.items():
            verdicts = row.verdicts
            counts["met"] += verdicts.met * self._counts[number]
            counts["unmet"] += verdicts.unmet * self._counts[number]
        if not counts["not_applicable"]:
            del counts["not_applicable"]
        return counts

    def _measures(self, shares: Shares, cell: Cell = ALL) -> dict[str, dict[str, RateEstimate]]:
        rates: dict[str, dict[str, RateEstimate]] = {}
        for (family, name), counts in shares.items():
            measured = self._measure(counts, cell, (family, name))
            rates.setdefault(family, {})[name] = measured
        return rates

    def _metrics(self, parts: Sequence[Mapping[Rate, Share]]) -> dict[str, dict[str, RateEstimate]]:
        shares = collect(self._counts, parts)
        metrics = self._measures(shares)
        if "advancedif" in metrics:
            metrics["advancedif"] |= self._unreadable_measures(shares)
            metrics["advancedif"] |= self._macro(
                parts, "macro_overall", ("advancedif", "overall"), "task"
            )
        if "profbench" in metrics:
            metrics["profbench"] |= self._macro(parts, "overall", ("profbench", "score"), "domain")
        if "multichallenge" in metrics:
            rate = "multichallenge", "passed"
            metrics["multichallenge"] |= self._macro(parts, "overall", rate, "axis")
        reliability = self._reliability.metrics(readable=self._readable)
        if reliability:
            metrics["reliability"] = reliability
        if self._conversations:
            metrics["multiif"] = self._conversations.metrics(readable=self._readable)
        for family, rates in self._units.metrics(readable=self._readable).items():
            metrics.setdefault(family, {}).update(rates)
        return metrics

    def _unreadable_measures(self, shares: Shares) -> dict[str, RateEstimate]:
        """Count unreadable rows where AdvancedIF's code does, if all rows are AdvancedIF's."""
        if not self._failed or any(row.benchmark != "advancedif" for row in self._outcomes):
            return {}
        rates = {}
        for name, share in advancedif_unreadable(self._scoring).items():
            rate = "advancedif", name
            counts = Counter(shares[rate])
            counts[share] += self._failed
            rates[name] = measure(counts, together=self._together.get((ALL, rate)))
        return rates

    def _macro(
        self,
        parts: Sequence[Mapping[Rate, Share]],
        name: str,
        rate: Rate,
        tag: str,
    ) -> dict[str, RateEstimate]:
        """Average a rate over the values of a tag, each weighing the same."""
        digits = 3 if rate[0] == "profbench" and self._scoring == "faithful" else None
        strata, together = {}, {}
        for task, counts in self._tags.get(tag, GroupCounts()):
            overall = collect(counts, parts).get(rate)
            if overall:
                strata[task] = overall
                together[task] = self._together.get((("tag", tag, task), rate), EndSpreads())
        if not strata:
            return {}
        mean = macro_measure(strata, readable=self._readable, together=together, digits=digits)
        return {name: mean}

    def _pool(self, by_type: Mapping[int, int]) -> Counter[Share]:
        """Turn packed counts into contributions to a rate over verdicts."""
        shares: Counter[Share] = Counter()
        for packed, count in by_type.items():
            shares[self._pooled(packed)] += count
        return shares

    def _by_constraint(self) -> dict[str, Any]:
        by_dimension: dict[str, Any] = {}
        tagged = {f"constraint {kind}": of for kind, of in self._constraint_tags.kinds.items()}
        for dimension, groups in (self._dimensions | tagged).items():
            if groups.dropped:
                by_dimension[dimension] = dict(DROPPED)
            elif groups.cells:
                by_dimension[dimension] = {
                    value: self._measure(
                        self._pool(by_type), ("constraint", dimension, value), None
                    )
                    for value, by_type in groups
                }
        return by_dimension

    def _by_tag(self, parts: Sequence[Mapping[Rate, Share]]) -> dict[str, Any]:
        read = self._counts.total()
        by_name: dict[str, Any] = {}
        for tag, groups in sorted(self._tags.items()):
            name = f"tag {tag}" if tag in DIMENSIONS else tag
            if groups.dropped:
                by_name[name] = dict(DROPPED)
            elif groups.tells_apart(read) or tag == "split":  # rates are published by split
                by_name[name] = {
                    value: {"samples": counts.total()}
                    | self._measures(collect(counts, parts), ("tag", tag, value))
                    for value, counts in groups
                }
        return by_name

    def _factor_analysis(self, parts: Sequence[Mapping[Rate, Share]]) -> dict[str, Any]:
        rates = {
            name: [
                known_value(share) if (share := shares.get(("cfbench", name))) else None
                for shares in parts
            ]
            for name in ("isr", "psr")
        }
        columns = {
            "constraints": [row.verdicts.total for row in self._outcomes],
            "primaries": [row.primary.total for row in self._outcomes],
        }
        return self._factors.result(columns, rates)

    def _notes(self, by: Mapping[str, Any]) -> list[str]:
        rated = [
            ("ifeval", "prompt_strict") in part
            for part in contributions(self._outcomes, self._scoring)
        ]
        rows = [
            (row, self._counts[number], rated[number]) for row, number in self._outcomes.items()
        ]
        return notes(by, rows, misfits=self._misfits, unplaced=self._units.systems.unplaced)
