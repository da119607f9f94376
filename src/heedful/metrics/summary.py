"""A run in numbers: every family's rates, breakdowns and agreement with labels."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Status
from heedful.metrics.clusters import ClusterStore, cluster_of
from heedful.metrics.family import all_families, family_of
from heedful.metrics.gathering import (
    GROUPS,
    GroupCounts,
    Labels,
    Votes,
    tags_of,
)
from heedful.metrics.general import (
    BY_PRIORITY,
    CHECKED,
    CONSTRAINTS_MET,
    FULLY_MET,
    WEIGHTED,
)
from heedful.metrics.outcomes import (
    NOT_APPLICABLE,
    UNDECIDED,
    RowOutcome,
    fitted,
    packed_verdict,
    pooled,
    sort_verdicts,
    unpack,
)
from heedful.metrics.rates import EndSpreads, Share, known_value, macro_measure, measure
from heedful.metrics.reliability import Reliability
from heedful.metrics.rubrics import (
    OWN_SCORE,
    ScoresByType,
    rubric_outcome,
    score_measure,
    score_share,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.clusters import Cell, Spreads
    from heedful.metrics.family import Family, Mean, Units
    from heedful.metrics.outcomes import Verdicts
    from heedful.metrics.rates import RateEstimate

    Rate = tuple[str, str]
    """A family and the name of one of its rates."""

    Shares = dict[Rate, dict[Share, int]]
    """For each rate: how many rows made each contribution."""


DIMENSIONS = ("type", "subtype", "priority", "verifier")
KINDS = 50
"""Kinds of constraints' tags that are told apart: more help nobody."""

ALL = ("row",)
LABELS = ("share", "labels")
VOTES = ("share", "votes")

DROPPED = {"dropped": f"more than {GROUPS} values"}
"""Stands in a breakdown for its groups."""


def scores(sample: Sample, critique: Critique, scoring: Scoring) -> dict[str, float | None]:
    """Score one row, for the results file; what an undecided verdict can change is ``None``."""
    row = outcome(sample, critique, sort_verdicts(sample, critique), scoring)
    return {**scores_of(row, scoring)}


@lru_cache(maxsize=4096)
def scores_of(row: RowOutcome, scoring: Scoring) -> Mapping[str, float | None]:
    """Score all rows that came out alike."""
    shares = contributions([row], scoring)[0]
    known: dict[str, float | None] = {"csr": None, "isr": None}
    known |= {
        rate[1]: known_value(shares[rate])
        for rate in (CONSTRAINTS_MET, FULLY_MET, BY_PRIORITY)
        if rate in shares
    }
    if row.rubric is not None:
        score = score_share(OWN_SCORE, row.rubric, scoring)
        known["score"] = None if score is None else known_value(score)
    for name in ("strict", "loose"):
        share = shares.get((CHECKED, f"prompt_{name}"))
        if share is not None:
            known[name] = known_value(share)
    return known


def outcome(sample: Sample, critique: Critique, verdicts: Verdicts, scoring: Scoring) -> RowOutcome:
    """Boil a row down to what it can contribute to a rate."""
    states = verdicts.states
    total = sum([packed_verdict(state) for state in states])
    priorities = verdicts.by("priority")
    primary = priorities.get("primary", 0)
    tag = str(sample.tags.get("benchmark") or "")
    family = family_of(tag) if tag else None
    judgments = fitted(sample.checklist, critique.judgments)
    rubric = rubric_outcome(sample.checklist, judgments)
    return RowOutcome(
        unpack(primary),
        unpack(total - primary),
        bool(priorities),
        unpack(sum(verdicts.by("verifier").values())),
        unpack(verdicts.loose),
        family.name if family is not None and family.own else "",
        family is not None and tag != family.name,
        _declared(critique.declared, sample, family, scoring) if critique.declared else (),
        rubric,
        rubric is not None and any(each.is_penalty for each in sample.checklist),
    )


def _declared(
    said: Mapping[str, Any], sample: Sample, family: Family | None, scoring: Scoring
) -> tuple[tuple[str, Any], ...]:
    """Let families read a declaration: the row's own, and those that read any."""
    read = [
        (each.name, each.declared(said, sample, scoring))
        for each in _readers(family)
        if each.declared is not None
    ]
    return tuple((name, value) for name, value in read if value is not None)


@cache
def _readers(family: Family | None) -> list[Family]:
    readers = [each for each in all_families().values() if each.reads_all and each is not family]
    return readers if family is None else [*readers, family]


def contributions(
    rows: Collection[RowOutcome], scoring: Scoring, *, every: bool = False
) -> list[dict[Rate, Share]]:
    """List each outcome's contributions to the rates of all families, by the outcome's number.

    ``every``: also to rates that a run of these rows wouldn't have.
    """
    families = {
        name: family
        for name, family in all_families(*{row.benchmark for row in rows}).items()
        if every or family.enabled is None or family.enabled(rows)
    }
    return [
        {
            (name, rate): share
            for name, family in families.items()
            if (family.every_row or name == row.benchmark) and row.verdicts.total
            for rate, share in family.rates(row, scoring).items()
        }
        for row in rows
    ]


def collect(counts: Mapping[int, int], parts: Sequence[Mapping[Rate, Share]]) -> Shares:
    """Add up the contributions of the outcomes counted, by rate."""
    by_rate: Shares = {}
    for number, count in counts.items():
        for rate, share in parts[number].items():
            shares = by_rate.get(rate)
            if shares is None:
                shares = by_rate[rate] = {}
            shares[share] = shares.get(share, 0) + count
    return by_rate


class Summary:
    """Accumulator of rows that computes the summary of a run at the end.

    Memory does not grow with the rows, but for some hundred bytes a conversation of SysBench or
    Multi-IF. Which rows vary together is stored in a temporary file. The result does not depend on
    the order of the rows, but for which disagreements are listed.
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
        self._units: dict[str, Units] = {}
        self._families: dict[str, Family] = {}
        self._unmet_if_undecided = False
        self._reliability = Reliability(scoring)
        self._labels = Labels()
        self._typed = ScoresByType(scoring)
        self._votes = Votes()
        self._misfits = 0

    def add(self, sample: Sample, critique: Critique) -> Mapping[str, float | None]:
        """Take in one row and the judgments on it; return its scores, as the results file has them.

        They are those of :func:`heedful.metrics.summary.scores`.
        """
        verdicts = sort_verdicts(sample, critique)
        row = outcome(sample, critique, verdicts, self._scoring)
        number = self._outcomes.setdefault(row, len(self._outcomes))
        self._counts[number] += 1
        states = verdicts.states
        unsaid = UNDECIDED in states or NOT_APPLICABLE in states
        if unsaid or len(critique.judgments) != len(states):
            self._add_undecided(critique, len(states))
        family = family_of(str(sample.tags.get("benchmark") or ""))
        if family is not None and family.units is not None:
            units = self._units.setdefault(family.name, family.units(self._scoring))
            units.add(sample, critique, row, [s for s in states if s != NOT_APPLICABLE])
        self._reliability.add(sample, row)
        if row.rubric is not None:
            own = family is not None and family.score is not None and not row.of_judge
            self._typed.add(sample, critique, row.benchmark if own else WEIGHTED[0])
        cells = [
            (ALL, number),
            *self._by_tags(sample, number),
            *self._by_constraints(verdicts),
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
        for (dimension, value), packed in verdicts.groups.items():
            if dimension not in self._dimensions:
                if len(self._dimensions) == len(DIMENSIONS) + KINDS:
                    continue
                self._dimensions[dimension] = GroupCounts()
            groups = self._dimensions[dimension]
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

    @property
    def mergeable(self) -> bool:
        """Whether :meth:`merge` can add it to another: not where several rows are a unit."""
        return not self._units

    def merge(self, other: Summary) -> None:
        """Take in the rows of another, which come after these."""
        rows = [self._outcomes.setdefault(row, len(self._outcomes)) for row in other._outcomes]
        shares = [self._number(share) for share in other._shares]
        for number, count in other._counts.items():
            self._counts[rows[number]] += count
        self._undecided.update(other._undecided)
        self._failed += other._failed
        self._misfits += other._misfits
        for tag, groups in other._tags.items():
            self._tags.setdefault(tag, GroupCounts()).merge(groups, rows.__getitem__)
        for name, groups in other._dimensions.items():
            if name in self._dimensions or len(self._dimensions) < len(DIMENSIONS) + KINDS:
                self._dimensions.setdefault(name, GroupCounts()).merge(groups, lambda key: key)
        self._reliability.merge(other._reliability)
        self._labels.merge(other._labels)
        self._typed.merge(other._typed)
        self._votes.merge(other._votes)
        self._clusters.merge(other._clusters, {"row": rows, "tag": rows, "share": shares})

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
        benchmarks = {row.benchmark for row in self._outcomes}
        self._families = families = all_families(*benchmarks)
        self._unmet_if_undecided = self._scoring == "faithful" and all(
            name in families and families[name].unmet_if_undecided for name in benchmarks
        )
        parts = contributions(self._outcomes, self._scoring)
        self._together = together = self._clusters.spreads(self._contributions(parts))
        by = self._by_constraint() | self._by_tag(parts)
        named = {name: each.score for name, each in families.items() if each.score}
        by |= self._typed.result(named, readable=self._readable)
        result = {
            "samples": read + self._failed,
            "constraints": constraints,
            "coverage": decided / applicable * self._readable if applicable else 0.0,
            "verdicts": verdicts,
            "rows": {"read": read, "failed": self._failed},
            "benchmarks": [name for name, _ in self._tags.get("benchmark", GroupCounts())],
            "metrics": self._metrics(parts),
            "by": by,
            "labels": self._labels.result(
                {cell[2]: spread for (cell, _), spread in together.items() if cell[:2] == LABELS},
                readable=self._readable,
            ),
            "votes": self._votes.result(together.get((VOTES, None)), readable=self._readable),
            "notes": self._notes(by),
        }
        for units in self._units.values():
            units.extend(result, readable=self._readable)
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
        if not self._unmet_if_undecided:
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
        score = None if rate is None else self._families[rate[0]].score
        if score is not None and rate is not None and rate[1] == score.name:
            rubrics = [row.rubric for row in self._outcomes if row.rubric is not None]
            return score_measure(score, shares, rubrics, readable=self._readable, together=together)
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
        for name, family in self._families.items():
            if name in metrics:
                metrics[name] |= self._unread_measures(family, shares)
                for mean in family.means:
                    metrics[name] |= self._macro(parts, name, mean)
        reliability = self._reliability.metrics(readable=self._readable)
        if reliability:
            metrics["reliability"] = reliability
        for name, units in self._units.items():
            rates = units.metrics(readable=self._readable)
            if rates:
                metrics.setdefault(name, {}).update(rates)
        return metrics

    def _unread_measures(self, family: Family, shares: Shares) -> dict[str, RateEstimate]:
        """Count unreadable rows where the published code does, if all rows are the family's."""
        others = any(row.benchmark != family.name for row in self._outcomes)
        if family.unread is None or not self._failed or others:
            return {}
        rates = {}
        for name, share in family.unread(self._scoring).items():
            rate = family.name, name
            counts = Counter(shares[rate])
            counts[share] += self._failed
            rates[name] = measure(counts, together=self._together.get((ALL, rate)))
        return rates

    def _macro(
        self, parts: Sequence[Mapping[Rate, Share]], family: str, mean: Mean
    ) -> dict[str, RateEstimate]:
        digits = mean.faithful_digits if self._scoring == "faithful" else None
        rate = family, mean.rate
        strata, together = {}, {}
        for value, counts in self._tags.get(mean.tag, GroupCounts()):
            overall = collect(counts, parts).get(rate)
            if overall:
                strata[value] = overall
                spread = self._together.get((("tag", mean.tag, value), rate), EndSpreads())
                together[value] = spread
        if not strata:
            return {}
        measured = macro_measure(strata, readable=self._readable, together=together, digits=digits)
        return {mean.name: measured}

    def _pool(self, by_type: Mapping[int, int]) -> Counter[Share]:
        """Turn packed counts into contributions to a rate over verdicts."""
        shares: Counter[Share] = Counter()
        for packed, count in by_type.items():
            shares[self._pooled(packed)] += count
        return shares

    def _by_constraint(self) -> dict[str, Any]:
        by_dimension: dict[str, Any] = {}
        for dimension, groups in self._dimensions.items():
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

    def _notes(self, by: Mapping[str, Any]) -> list[str]:
        """Say what the numbers leave out."""
        notes = [
            f"no breakdown by {name}: {groups['dropped']}"
            for name, groups in by.items()
            if groups == DROPPED
        ]
        rows = [(row, self._counts[number]) for row, number in self._outcomes.items()]
        empty = sum(count for row, count in rows if not row.verdicts.total)
        if empty:
            notes.append(f"samples with no constraints, which count in no rate: {empty}")
        penalised = sum(count for row, count in rows if row.penalised)
        if penalised:
            what = "samples with negative weights, which are only in the weighted scores"
            notes.append(f"{what}: {penalised}")
        if self._misfits:
            notes.append(
                "critiques with more or fewer judgments than their checklist has constraints: "
                f"{self._misfits}; constraints without a judgment count as unparsed"
            )
        for family in self._families.values():
            if family.notes is not None:
                notes += family.notes(rows)
        return notes
