"""Replay cascades from saved runs: when can a small judge be trusted, and what does that save?

A cascade asks a small judge first, and a large one where the small one isn't confident enough. Both
have judged the same rows already, so every threshold can be tried without a call. The threshold is
chosen on one half of the instructions and measured on the other, which it has not seen.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Status
from heedful.core.text import amount
from heedful.jobs.results import scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.metrics.clusters import CHOOSING, cluster_of, place_of
from heedful.metrics.contrasts import contrast
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.jobs.results import Scored
    from heedful.metrics.contrasts import Contrast

    Name = str | os.PathLike[str]


THRESHOLDS = 100
"""Thresholds that are tried at most."""

NEVER = 1.01
"""A threshold that no confidence reaches: the large judge decides everything."""


class ReplayedVerdict(NamedTuple):
    """One constraint under both judges; ``None`` is undecided."""

    truth: bool
    small: bool | None
    confidence: float  # of the small judge
    large: bool | None

    def right(self, threshold: float) -> bool:
        """Check whether the cascade is right; undecided isn't."""
        return (self.large if self.goes_on(threshold) else self.small) == self.truth

    def goes_on(self, threshold: float) -> bool:
        """Check whether the large judge is asked."""
        return self.small is None or self.confidence < threshold


class ReplayedRow(NamedTuple):
    """A row under both judges."""

    cluster: bytes
    verdicts: tuple[ReplayedVerdict, ...]
    cost: int | None  # tokens of the large judge; None where the run doesn't say


def replay(
    small: Name, large: Name, *, truth: Name | None = None, margin: float = 0.01
) -> dict[str, Any]:
    """Find the threshold from which a small judge may be trusted."""
    if not 0 <= margin < 1:
        raise UsageError(f"the margin is {margin}", hint="give a share, such as 0.01 for a point")
    cases, source, left_out = _cases(small, large, truth)
    tuning, held_out = _halves(cases)
    thresholds = _thresholds(cases)
    chosen = _choose(tuning, margin, thresholds)
    unit = "tokens" if all(case.cost is not None for case in cases) else "verdicts"
    contrasted = _contrast(held_out, chosen)
    return {
        "small": str(small),
        "large": str(large),
        "truth": source,
        "margin": margin,
        "rows": len(cases),
        "left_out": left_out,
        "verdicts": sum(len(case.verdicts) for case in cases),
        "unit": unit,
        "points": [_point(cases, threshold, unit) for threshold in thresholds],
        "chosen": {
            **_point(held_out, chosen, unit),
            "large": contrasted["second"],
            "difference": contrasted["difference"],
            "rows": len(held_out),
        },
    }


def _halves(cases: Iterable[ReplayedRow]) -> tuple[list[ReplayedRow], list[ReplayedRow]]:
    """Split the rows into two halves, each instruction whole."""
    parts: tuple[list[ReplayedRow], list[ReplayedRow]] = ([], [])
    for case in cases:
        parts[place_of(case.cluster) >= CHOOSING].append(case)
    return parts


def _choose(cases: Sequence[ReplayedRow], margin: float, thresholds: Iterable[float]) -> float:
    """Choose the lowest threshold that is shown to lose no more accuracy than a margin."""
    allowed = (
        threshold
        for threshold in thresholds
        if (between := _contrast(cases, threshold)["difference"]["interval"]) is not None
        and between[0] >= -margin
    )
    return next(allowed, NEVER)  # the lower, the less goes on


def _cases(small: Name, large: Name, truth: Name | None) -> tuple[list[ReplayedRow], str, int]:
    """Pair the rows of the runs; say where the truth is from, and how many rows have no partner."""
    ours, theirs = _judged(small), _judged(large)
    known = None if truth is None else _judged(truth)
    pairs = [
        (row, theirs[ident])
        for ident, row in ours.items()
        if ident in theirs and _print(row) == _print(theirs[ident])
    ]
    labelled = any(row.sample is not None and row.sample.labels for row, _ in pairs)
    source = str(truth) if truth is not None else "labels" if labelled else str(large)
    cases = []
    for row, other in pairs:
        if row.sample is None or len(_verdicts(row)) != len(_verdicts(other)):
            continue
        truths: Sequence[bool | None] = _verdicts(other)
        if known is not None:
            truths = _verdicts(known.get(row.id))
        elif labelled:
            truths = row.sample.labels or ()
        found = zip(truths, _verdicts(row), _confidences(row), _verdicts(other), strict=False)
        verdicts = tuple(
            ReplayedVerdict(right, first, confidence, second)
            for right, first, confidence, second in found
            if right is not None
        )
        if verdicts:
            cases.append(ReplayedRow(cluster_of(row.sample), verdicts, _cost(other)))
    if not cases:
        raise InputError(
            "no verdict of which the truth is known is in both runs",
            where=f"{small}, {large}",
            hint="give two runs on one file, whose rows have labels, or --truth RUN",
        )
    return cases, source, max(len(ours), len(theirs)) - len(pairs)


def _judged(run: Name) -> dict[str, Scored]:
    with SavedRun.open(run) as saved:
        return {row.id: row for row in saved.rows(scored_entry)}


def _print(row: Scored) -> object:
    """Tell one response to one instruction, with its checklist, from another."""
    if row.sample is None:
        return None
    texts = [each.text for each in row.sample.checklist]
    return row.sample.conversation, row.sample.response, texts


def _verdicts(row: Scored | None) -> list[bool | None]:
    if row is None or row.critique is None:
        return []
    statuses = (judgment.status for judgment in row.critique.judgments)
    return [status is Status.MET if status.decided else None for status in statuses]


def _confidences(row: Scored) -> list[float]:
    """Return the verdicts' confidences; one that comes without is sure, as code is."""
    given = (each.confidence for each in row.critique.judgments) if row.critique else ()
    return [1.0 if confidence is None else confidence for confidence in given]


def _cost(row: Scored) -> int | None:
    expenses = () if row.critique is None else row.critique.expenses
    tokens = sum(each.prompt_tokens + each.completion_tokens for each in expenses)
    return tokens or None


def _thresholds(cases: Iterable[ReplayedRow]) -> list[float]:
    """Choose thresholds among the confidences, from trusting all that is decided to nothing."""
    confidences = sorted(
        {v.confidence for case in cases for v in case.verdicts if v.small is not None}
    )
    step = max(1, -(-len(confidences) // THRESHOLDS))
    return [0.0, *confidences[step::step], NEVER]


def _point(cases: Sequence[ReplayedRow], threshold: float, unit: str) -> dict[str, Any]:
    """Measure a cascade: its accuracy, what goes on, and the share of the large judge's cost."""
    verdicts = [verdict for case in cases for verdict in case.verdicts]
    going = sum(verdict.goes_on(threshold) for verdict in verdicts)
    share = going / len(verdicts) if verdicts else 0.0
    cost = share
    if unit == "tokens":
        whole = sum(case.cost or 0 for case in cases)
        paid = sum(
            case.cost or 0 for case in cases if any(v.goes_on(threshold) for v in case.verdicts)
        )
        cost = paid / whole if whole else 0.0
    return {
        "threshold": None if threshold == NEVER else threshold,
        "accuracy": _contrast(cases, threshold)["first"],
        "goes_on": share,
        "cost": cost,
        "saving": 1 - cost,
    }


def _contrast(cases: Sequence[ReplayedRow], threshold: float) -> Contrast:
    """Compare the cascade's accuracy with the large judge's, each instruction a cluster."""
    sums: dict[bytes, tuple[int, int, int, int]] = {}
    for case in cases:
        mine, _, theirs, count = sums.get(case.cluster, (0, 0, 0, 0))
        mine += sum(verdict.right(threshold) for verdict in case.verdicts)
        theirs += sum(verdict.right(NEVER) for verdict in case.verdicts)
        count += len(case.verdicts)
        sums[case.cluster] = mine, count, theirs, count
    clusters: Counter[tuple[float, ...]] = Counter(
        tuple(map(float, each)) for each in sums.values()
    )
    return contrast({"": clusters}, seed=0)


SHOWN = 12
"""Thresholds in a terminal; all are in the JSON file."""


def document(result: Mapping[str, Any]) -> Document:
    """Lay out a replay as a document."""
    points = result["points"]
    step = max(1, -(-len(points) // SHOWN))
    shown = [*points[:-1:step], points[-1]]
    rows = [
        (
            _threshold(point["threshold"]),
            percent(point["accuracy"]["value"]),
            interval(point["accuracy"]["interval"]),
            percent(point["goes_on"], 1),
            percent(point["saving"], 1),
        )
        for point in shown
    ]
    columns = ("confidence from", "% right", INTERVAL, "% that goes on", "% saved")
    note = (
        f"Saved are {result['unit']} of the large judge. What stays undecided isn't right. "
        f"The truth: {result['truth']}."
    )
    if result["left_out"]:
        left_out = amount(result["left_out"], "row")
        note += f" Left out: {left_out} that aren't the same in both runs."
    return Document("Cascade", [_chosen(result)], [Table("Thresholds", columns, rows, note)])


def _threshold(value: float | None) -> str:
    return "never" if value is None else f"{value:.3g}"


def _chosen(result: Mapping[str, Any]) -> str:
    chosen = result["chosen"]
    if chosen["threshold"] is None:
        return (
            f"No threshold is shown to lose less than {100 * result['margin']:.2f} points on half "
            f"of {amount(result['rows'], 'row')}: let the large judge decide, or judge more rows."
        )
    difference = chosen["difference"]
    return (
        f"Trust the small judge from a confidence of {_threshold(chosen['threshold'])}. On the "
        f"other half ({amount(chosen['rows'], 'row')}) that saves {percent(chosen['saving'], 1)} % "
        f"and changes accuracy by {signed(difference['value'])} points "
        f"({interval(difference['interval'], signed)})."
    )
