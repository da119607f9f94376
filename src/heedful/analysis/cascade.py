"""Cascades replayed from saved runs: where may a small judge be trusted, and what does that save?

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
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.metrics.clusters import cluster_of
from heedful.metrics.contrasts import contrast
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Judgment
    from heedful.jobs.results import Scored
    from heedful.metrics.contrasts import Contrast

    Name = str | os.PathLike[str]

__all__ = ["document", "replay"]

THRESHOLDS = 100
"""Thresholds that are tried at most."""

NEVER = 1.01
"""A threshold that no confidence reaches: the large judge decides everything."""


class ReplayedVerdict(NamedTuple):
    """One constraint under both judges."""

    truth: bool
    small: bool | None
    confidence: float
    large: bool | None

    def right(self, threshold: float) -> bool:
        """Tell whether the cascade is right; what stays undecided isn't."""
        return (self.large if self.goes_on(threshold) else self.small) == self.truth

    def goes_on(self, threshold: float) -> bool:
        """Tell whether the large judge is asked."""
        return self.small is None or self.confidence < threshold


class ReplayedRow(NamedTuple):
    """A row under both judges."""

    cluster: bytes
    verdicts: tuple[ReplayedVerdict, ...]
    cost: int | None


def replay(
    small: Name, large: Name, *, truth: Name | None = None, margin: float = 0.01
) -> dict[str, Any]:
    """Find the threshold from which a small judge may be trusted."""
    if not 0 <= margin < 1:
        raise UsageError(f"the margin is {margin}", hint="give a share, such as 0.01 for a point")
    cases, source, left_out = _cases(small, large, truth)
    tuning, held_out = halves(cases)
    thresholds = _thresholds(cases)
    chosen = choose_threshold(tuning, margin, thresholds)
    unit = "tokens" if all(case.cost is not None for case in cases) else "verdicts"
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
            "large": _contrast(held_out, chosen)["second"],
            "difference": _contrast(held_out, chosen)["difference"],
            "rows": len(held_out),
        },
        "observed": _observed(cases, thresholds, margin, unit),
    }


def _observed(
    cases: Sequence[ReplayedRow], thresholds: Iterable[float], margin: float, unit: str
) -> dict[str, Any]:
    """Measure the lowest threshold whose loss over all rows is within a margin."""
    for threshold in thresholds:  # the last one never loses
        difference = _contrast(cases, threshold)["difference"]
        if -(difference["value"] or 0.0) <= margin:
            break
    return {**_point(cases, threshold, unit), "difference": difference}


def halves(cases: Iterable[ReplayedRow]) -> tuple[list[ReplayedRow], list[ReplayedRow]]:
    """Part the rows into two halves, each instruction as a whole."""
    parts: tuple[list[ReplayedRow], list[ReplayedRow]] = ([], [])
    for case in cases:
        parts[case.cluster[0] % 2].append(case)
    return parts


def choose_threshold(
    cases: Sequence[ReplayedRow], margin: float, thresholds: Iterable[float] | None = None
) -> float:
    """Choose the lowest threshold that is shown to lose no more accuracy than a margin."""
    allowed = (
        threshold
        for threshold in sorted(_thresholds(cases) if thresholds is None else thresholds)
        if (between := _contrast(cases, threshold)["difference"]["interval"]) is not None
        and between[0] >= -margin
    )
    return next(allowed, NEVER)  # the lower, the less goes on


def _cases(small: Name, large: Name, truth: Name | None) -> tuple[list[ReplayedRow], str, int]:
    """Pair the rows of the runs; say where the truth is from, and how many rows have no partner."""
    known = None if truth is None else _verdicts(truth)
    others = _judged(large)
    with SavedRun.open(small) as run:
        every = list(run.rows(scored_entry))
    rows = [row for row in every if row.id in others and _same(row, others[row.id])]
    labelled = any(row.sample is not None and row.sample.labels for row in rows)
    source = str(truth) if truth is not None else "labels" if labelled else str(large)
    cases = []
    for row in rows:
        first, second = _judgments(row), _judgments(others[row.id])
        if row.sample is None or len(first) != len(second):
            continue
        truths: Sequence[bool | None] = [_verdict(judgment) for judgment in second]
        if known is not None:
            truths = known.get(row.id, ())
        elif labelled:
            truths = row.sample.labels or ()
        verdicts = tuple(
            ReplayedVerdict(right, _verdict(a), _confidence(a), _verdict(b))
            for right, a, b in zip(truths, first, second, strict=False)
            if right is not None
        )
        if verdicts:
            cases.append(ReplayedRow(cluster_of(row.sample), verdicts, _cost(others[row.id])))
    if not cases:
        raise InputError(
            "no verdict of which the truth is known is in both runs",
            where=f"{small}, {large}",
            hint="give two runs on one file, whose rows have labels, or --truth RUN",
        )
    return cases, source, max(len(every), len(others)) - len(rows)


def _same(row: Scored, other: Scored) -> bool:
    """Tell whether two rows of one id are the same response to the same instruction."""
    if row.sample is None or other.sample is None:
        return row.sample is other.sample
    fields = ("conversation", "response")
    texts = [[each.text for each in side.sample.checklist] for side in (row, other) if side.sample]
    same = all(getattr(row.sample, name) == getattr(other.sample, name) for name in fields)
    return same and texts[0] == texts[1]


def _judged(run: Name) -> dict[str, Scored]:
    with SavedRun.open(run) as saved:
        return {row.id: row for row in saved.rows(scored_entry)}


def _verdicts(run: Name) -> dict[str, list[bool | None]]:
    return {
        ident: [_verdict(judgment) for judgment in _judgments(row)]
        for ident, row in _judged(run).items()
    }


def _judgments(row: Scored) -> tuple[Judgment, ...]:
    return () if row.critique is None else row.critique.judgments


def _verdict(judgment: Judgment) -> bool | None:
    return judgment.status is Status.MET if judgment.status.decided else None


def _confidence(judgment: Judgment) -> float:
    """Return a verdict's confidence; one that comes without is sure, as code is."""
    return 1.0 if judgment.confidence is None else judgment.confidence


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
    chosen, observed = result["chosen"], result["observed"]
    margin = f"{100 * result['margin']:g} points"
    if chosen["threshold"] is not None:
        return (
            f"Trust the small judge from a confidence of {_threshold(chosen['threshold'])}. On the "
            f"other half ({amount(chosen['rows'], 'row')}) that {_effect(chosen)}."
        )
    unproven = ""
    if observed["threshold"] is not None:
        unproven = (
            " Over all rows, trusting the small judge from a confidence of "
            f"{_threshold(observed['threshold'])} {_effect(observed)}, which proves nothing."
        )
    return (
        f"No threshold is shown to lose less than {margin} on half of "
        f"{amount(result['rows'], 'row')}: let the large judge decide, or judge more rows."
        f"{unproven}"
    )


def _effect(point: Mapping[str, Any]) -> str:
    difference = point["difference"]
    return (
        f"saves {percent(point['saving'], 1)} % and changes accuracy by "
        f"{signed(difference['value'])} points ({interval(difference['interval'], signed)})"
    )
