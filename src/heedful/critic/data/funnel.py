"""The funnel: how much went into each stage of filtering, how much came out, and why not the rest.

All of it is counted from the rows as they were written, so that it can be made again at any time.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.critic.data.items import READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.jobs.rows import Generated

UNTYPED = "(no type)"
OTHER = "(other types)"
GROUPS_KEPT = 1000
"""Types counted separately: data with a type of its own in each row does not fill the memory."""

LEVELS = ("judgments", "constraints", "rows")


class Funnel:
    """Counts rows as they come; memory does not grow with them."""

    def __init__(self, order: Sequence[str], *, partial: bool) -> None:
        """Begin to count."""
        self._row_end = max if partial else min
        self._order = [READ, *order, WRITE]
        self._passed: dict[str, Counter[str]] = {stage: Counter() for stage in self._order}
        self._entered: dict[str, Counter[str]] = {stage: Counter() for stage in self._order}
        self._reasons: dict[str, Counter[str]] = {stage: Counter() for stage in self._order}
        self._by: dict[str, dict[str, list[Counter[str]]]] = {"type": {}, "verdict": {}}
        self._confidence: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._rows: Counter[str] = Counter(kept=0, dropped=0, failed=0)
        self._critiques: Counter[str] = Counter()

    def add(self, row: Generated) -> None:
        """Count a row; one with a problem went through no stage."""
        extra = row.sample.model_extra or {} if row.sample else {}
        outcome = extra.get("filtering")
        if row.problem is not None or row.sample is None or not outcome:
            self._rows["failed"] += 1
            return
        self._rows["dropped" if "dropped" in outcome else "kept"] += 1
        requested, given = outcome["critiques"]["requested"], outcome["critiques"]["given"]
        self._critiques.update(requested=requested, given=given, short_rows=given < requested)
        ends = []
        for constraint in outcome["constraints"]:
            ends.append(
                max(self._judgment(constraint, judgment) for judgment in constraint["judgments"])
            )
            self._constraint(constraint)
        self._count("constraints", ends)
        self._count("rows", [self._row_end(ends)])

    def _judgment(self, constraint: Mapping[str, Any], judgment: Mapping[str, Any]) -> int:
        """Count one judgment; return how many stages it passed."""
        drop = judgment.get("dropped")
        end = len(self._order) if drop is None else self._order.index(drop["stage"])
        self._count("judgments", [end])
        if drop is not None:
            self._reasons[drop["stage"]][drop["reason"]] += 1
        kind = constraint.get("type") or UNTYPED
        # Before the rules changed it, a judgment was of the other verdict.
        first = judgment.get("was") or judgment["status"]
        for name, value in (("type", kind), ("verdict", first)):
            groups = self._by[name]
            key = value if value in groups or len(groups) < GROUPS_KEPT else OTHER
            for at, counts in enumerate(groups.setdefault(key, [Counter() for _ in self._order])):
                counts["in"] += at <= end
                counts["out"] += at < end
        if "was" in judgment:
            self._rules["revised"] += 1
            self._rules["changed"] += judgment["was"] != judgment["status"]
        return end

    def _constraint(self, constraint: Mapping[str, Any]) -> None:
        if "confidence" in constraint:
            self._confidence[f"{constraint['confidence']:.2f}"] += 1
        self._rules["counted"] += "counted" in constraint
        self._rules["uncounted"] += "uncounted" in constraint
        self._rules["constraints"] += 1

    def _count(self, level: str, ends: Iterable[int]) -> None:
        for end in ends:
            for at, stage in enumerate(self._order):
                self._entered[stage][level] += at <= end
                self._passed[stage][level] += at < end

    def result(self) -> dict[str, Any]:
        """Sum up."""
        stages = [
            {
                "stage": stage,
                "in": {level: self._entered[stage][level] for level in LEVELS},
                "out": {level: self._passed[stage][level] for level in LEVELS},
                "reasons": dict(self._reasons[stage].most_common()),
            }
            for stage in self._order
        ]
        by = {
            name: {
                value: {
                    stage: dict(counts)
                    for stage, counts in zip(self._order, groups_counts, strict=True)
                }
                for value, groups_counts in sorted(groups.items())
            }
            for name, groups in self._by.items()
        }
        names = ("constraints", "counted", "uncounted", "revised", "changed")
        return {
            "rows": dict(self._rows),
            "critiques": {
                name: self._critiques[name] for name in ("requested", "given", "short_rows")
            },
            "stages": stages,
            "by": by,
            "rules": {name: self._rules[name] for name in names},
            "confidence": dict(sorted(self._confidence.items())),
        }
