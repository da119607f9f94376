"""The funnel of filtered critiques, as tables for a terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.text import amount
from heedful.critic.data.funnel import LEVELS
from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line, percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TITLES", "document"]

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
BAR = 20


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
    yield _stages(funnel)
    reasons = _reasons(funnel)
    if reasons.rows:
        yield reasons
    for dimension, groups in funnel["by"].items():
        if len(groups) > 1:
            yield _by(funnel, dimension, groups)
    if funnel["confidence"]:
        yield _confidence(funnel["confidence"])


def _stages(funnel: Mapping[str, Any]) -> Table:
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


def _reasons(funnel: Mapping[str, Any]) -> Table:
    rows = [
        [f"{TITLES[stage['stage']]}: {reason}", f"{count:,}"]
        for stage in funnel["stages"]
        if stage["stage"] != CHOICE
        for reason, count in stage["reasons"].items()
    ]
    return Table("Judgments dropped", ["stage and reason", "judgments"], rows)


def _by(funnel: Mapping[str, Any], dimension: str, groups: Mapping[str, Any]) -> Table:
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


def _confidence(histogram: Mapping[str, int]) -> Table:
    largest = max(histogram.values())
    rows = [
        [f"{share} {'█' * round(BAR * count / largest)}", f"{count:,}"]
        for share, count in histogram.items()
    ]
    return Table("Confidence of the majority", ["confidence", "constraints"], rows)


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    funnel = summary["funnel"]
    critiques, rules = funnel["critiques"], funnel["rules"]
    if critiques["short_rows"]:
        missing = critiques["requested"] - critiques["given"]
        of = amount(critiques["requested"], "critique")
        yield f"{missing:,} of {of} missing, in {amount(critiques['short_rows'], 'row')}"
    if rules["revised"]:
        (before,) = (stage["in"] for stage in funnel["stages"] if stage["stage"] == "rules")
        yield (
            f"rules: {rules['counted']:,} of {amount(rules['constraints'], 'constraint')} counted, "
            f"{amount(rules['revised'], 'judgment')} revised, "
            f"{amount(rules['changed'], 'verdict')} changed: "
            f"{_percent(rules['changed'], before['judgments'])} % of the stage's, "
            f"{_percent(rules['changed'], rules['revised'])} % of those revised"
        )
    if rules["uncounted"]:
        constraints = amount(rules["uncounted"], "constraint")
        yield f"{constraints} not counted: the part it limits was not copied word for word"
    if "cost" in summary:
        yield f"cost: {cost_line(summary['cost'])}"


def _percent(part: int, whole: int) -> str:
    return percent(part / whole if whole else None, 1)
