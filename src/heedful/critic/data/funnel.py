"""The funnel: what enters and leaves each filtering stage, and why the rest was dropped.

All of it is counted from the rows as they were written, so that it can be made again at any time.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.text import amount
from heedful.critic.data.stages import READ, WRITE
from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line, percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
        # how many judgments, constraints and rows end at which stage, by its position
        self._ends: dict[str, Counter[int]] = {level: Counter() for level in LEVELS}
        self._reasons: dict[str, Counter[str]] = {stage: Counter() for stage in self._order}
        self._by: dict[str, dict[str, Counter[int]]] = {"type": {}, "verdict": {}}
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
        self._critiques.update(requested=requested, given=given)
        ends = []
        for constraint in outcome["constraints"]:
            ends.append(
                max(self._judgment(constraint, judgment) for judgment in constraint["judgments"])
            )
            self._constraint(constraint)
        self._ends["constraints"].update(ends)
        self._ends["rows"][self._row_end(ends)] += 1

    def _judgment(self, constraint: Mapping[str, Any], judgment: Mapping[str, Any]) -> int:
        """Count one judgment; return how many stages it passed."""
        drop = judgment.get("dropped")
        end = len(self._order) if drop is None else self._order.index(drop["stage"])
        self._ends["judgments"][end] += 1
        if drop is not None:
            self._reasons[drop["stage"]][drop["reason"]] += 1
        kind = constraint.get("type") or UNTYPED
        # Before the rules changed it, a judgment was of the other verdict.
        first = judgment.get("was") or judgment["status"]
        for name, value in (("type", kind), ("verdict", first)):
            groups = self._by[name]
            key = value if value in groups or len(groups) < GROUPS_KEPT else OTHER
            groups.setdefault(key, Counter())[end] += 1
        if "was" in judgment:
            self._rules["revised"] += 1
            self._rules["changed"] += judgment["was"] != judgment["status"]
        return end

    def _constraint(self, constraint: Mapping[str, Any]) -> None:
        self._rules["counted"] += "counted" in constraint
        self._rules["constraints"] += 1

    def result(self) -> dict[str, Any]:
        """Sum up."""
        stages = []
        for at, stage in enumerate(self._order):
            flows = {level: _flow(ends, at) for level, ends in self._ends.items()}
            stages.append(
                {
                    "stage": stage,
                    "in": {level: flow["in"] for level, flow in flows.items()},
                    "out": {level: flow["out"] for level, flow in flows.items()},
                    "reasons": dict(self._reasons[stage].most_common()),
                }
            )
        by = {
            name: {
                value: {stage: _flow(ends, at) for at, stage in enumerate(self._order)}
                for value, ends in sorted(groups.items())
            }
            for name, groups in self._by.items()
        }
        names = ("constraints", "counted", "revised", "changed")
        return {
            "rows": dict(self._rows),
            "critiques": {name: self._critiques[name] for name in ("requested", "given")},
            "stages": stages,
            "by": by,
            "rules": {name: self._rules[name] for name in names},
        }


def _flow(ends: Counter[int], at: int) -> dict[str, int]:
    """Count what enters and leaves the stage at a position."""
    entered = sum(count for end, count in ends.items() if end >= at)
    return {"in": entered, "out": entered - ends[at]}


TITLES = {
    "read": "reading",
    "cross": "cross-model verification",
    "rules": "rule-augmented verification",
    "judgment": "final judgment",
    "explanation": "final explanation",
    "write": "writing",
}

CHOICE = "explanation"
"""The stage that leaves one of many by design: what it drops says nothing of the data."""

GROUPS_SHOWN = 12


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out what came of filtering."""
    return Document("Funnel", [_headline(summary)], list(_tables(summary)), list(_notes(summary)))


def _headline(summary: Mapping[str, Any]) -> str:
    rows = summary["funnel"]["rows"]
    return (
        f"{amount(sum(rows.values()), 'row')}: {rows['kept']:,} kept, {rows['dropped']:,} dropped, "
        f"{rows['failed']:,} failed"
    )


def _tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    funnel = summary["funnel"]
    yield from stage_tables(funnel)
    for dimension, groups in funnel["by"].items():
        if len(groups) > 1:
            yield _group_table(funnel, dimension, groups)


def stage_tables(funnel: Mapping[str, Any]) -> list[Table]:
    """Lay out what each stage left, and why it dropped the rest."""
    tables = [_stage_table(funnel), _reason_table(funnel)]
    return [table for table in tables if table.rows]


def _stage_table(funnel: Mapping[str, Any]) -> Table:
    rows = []
    for stage in funnel["stages"]:
        before, after = stage["in"], stage["out"]
        if stage["stage"] in ("read", "write") and before == after:
            continue
        cells = [f"{before[level]:,} → {after[level]:,}" for level in LEVELS]
        cells.insert(1, _percent(after["judgments"], before["judgments"]))
        rows.append([TITLES[stage["stage"]], *cells])
    return Table(
        "What is left after each stage", ["stage", "judgments", "left, %", *LEVELS[1:]], rows
    )


def _reason_table(funnel: Mapping[str, Any]) -> Table:
    rows = [
        [f"{TITLES[stage['stage']]}: {reason}", f"{count:,}"]
        for stage in funnel["stages"]
        if stage["stage"] != CHOICE
        for reason, count in stage["reasons"].items()
    ]
    return Table("Judgments dropped", ["stage and reason", "judgments"], rows)


def _group_table(funnel: Mapping[str, Any], dimension: str, groups: Mapping[str, Any]) -> Table:
    """Lay out how many judgments of each group are left after each stage, the largest first."""
    stages = [
        stage["stage"]
        for stage in funnel["stages"]
        if stage["stage"] not in (CHOICE, "write")
        and (stage["stage"] != "read" or stage["reasons"])
    ]
    ranked = sorted(groups.items(), key=lambda item: -item[1]["read"]["in"])
    rows, note = [], ""
    for value, counts in ranked[:GROUPS_SHOWN]:
        first = counts["read"]["in"]
        left = [_percent(counts[stage]["out"], first) for stage in stages]
        rows.append([taxonomy.name(value, "en"), f"{first:,}", *left])
    if len(ranked) > GROUPS_SHOWN:
        note = f"{len(ranked) - GROUPS_SHOWN:,} more in funnel.json"
    return Table(f"Judgments left by {dimension}, %", [dimension, "in", *stages], rows, note)


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    funnel = summary["funnel"]
    critiques, rules = funnel["critiques"], funnel["rules"]
    if missing := critiques["requested"] - critiques["given"]:
        yield f"{missing:,} of {amount(critiques['requested'], 'critique')} missing"
    if rules["revised"]:
        yield (
            f"rules: {rules['counted']:,} of {amount(rules['constraints'], 'constraint')} counted, "
            f"{amount(rules['revised'], 'judgment')} revised, "
            f"{amount(rules['changed'], 'verdict')} changed"
        )
    if "cost" in summary:
        yield f"cost: {cost_line(summary['cost'])}"


def _percent(part: int, whole: int) -> str:
    return percent(part / whole if whole else None, 1)
