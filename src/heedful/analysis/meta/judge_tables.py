"""The tables of judges against labels: rates, verdicts, averages, and by constraint type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    MEASURED,
    bounded,
    cells,
    decimal,
    interval,
    percent,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

UNDECIDED = ("unparsed", "failed", "unsupported", "not_applicable", "missing")

BRACKETS = "In brackets: bounds, if the undecided were wrong, and if they were right."


def leaderboard(judges: Sequence[Mapping[str, Any]], *, faithful: bool) -> Table:
    """Lay out the judges' rates over all verdicts, the best judge first."""
    note = "In per cent, pooled over the verdicts that were decided: compare first how many were."
    if faithful:
        note = "In per cent, pooled over all verdicts: what was not decided is taken as met."
    return Table(
        "Leaderboard",
        ("judge", "mean F1", INTERVAL, "F1 met", "F1 unmet", "bal.acc", "κ", COVERAGE),
        [
            (
                judge["name"],
                bounded_rate(judge["pooled"]["mean_f1"], judge),
                interval(judge["pooled"]["mean_f1"]["interval"]),
                bounded_rate(judge["pooled"]["f1_met"], judge),
                bounded_rate(judge["pooled"]["f1_unmet"], judge),
                bounded_rate(judge["pooled"]["balanced_accuracy"], judge),
                bounded_rate(judge["pooled"]["kappa"], judge, decimal, 3),
                percent(judge["coverage"], 1),
            )
            for judge in judges
        ],
        note + brackets(judges),
        # The averages have these too, and a terminal has no room for both.
        details=("F1 met", "F1 unmet") if any(judge["coverage"] < 1 for judge in judges) else (),
    )


def bounded_rate(
    measure: Mapping[str, Any], of: Mapping[str, Any], write: Any = percent, digits: int = 1
) -> str:
    """Write a rate, with its bounds below it if not all of what it is of was decided."""
    shown = write(measure["value"], digits)
    return bounded(shown, {**measure, "coverage": of["coverage"]}, write, digits)


def brackets(measured: Iterable[Mapping[str, Any]]) -> str:
    """Say what stands in brackets, if anything does."""
    below = any(each["coverage"] < 1 for each in measured)
    return f" {BRACKETS}" if below else ""


def errors(judges: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out the verdicts by label, and why others weren't reached."""
    rows = []
    for judge in judges:
        cells, verdicts = judge["pooled"]["cells"], judge["verdicts"]
        reasons = [f"{verdicts[name]:,} {name}" for name in UNDECIDED if verdicts.get(name)]
        counts = [f"{cells[name]:,}" for name in ("tp", "fn", "tn", "fp")]
        rows.append((judge["name"], *counts, ", ".join(reasons) or "0"))
    return Table(
        "Verdicts",
        ("judge", "met ✓", "met ✗", "unmet ✓", "unmet ✗", "undecided"),
        rows,
        "By label: met ✗ is a constraint that is met and was called unmet."
        + (
            " A vote that ends in a tie is unparsed."
            if any(judge["votes"] for judge in judges)
            else ""
        ),
    )


def levels(judges: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Lay out how judges agree with labels that name levels; nothing where none does."""
    rows = [
        (
            judge["name"],
            *cells(found["exact"]),
            *_kappa(found["weighted_kappa"]),
            *_kappa(found["not_applicable_kappa"]),
        )
        for judge in judges
        if (found := judge.get("levels")) is not None
    ]
    if rows:
        yield Table(
            "Levels",
            ("judge", *MEASURED, "weighted κ", INTERVAL, "κ of n/a", INTERVAL),
            rows,
            "The same answer as the label, of rows whose labels name levels. Weighted κ: quadratic "
            "in the levels' values. κ of n/a: whether a criterion applies.",
        ).filled()


def _kappa(measured: Mapping[str, Any]) -> tuple[str, str]:
    return decimal(measured["value"]), interval(measured["interval"], decimal, 3)


def averages(judges: Sequence[Mapping[str, Any]], by: str) -> Table:
    """Lay out F1 averaged over verdicts, instructions and the values of a tag."""
    names = {"pooled": "pooled", "per_instruction": "per instruction", "per_type": f"per {by}"}
    rows = []
    for judge in judges:
        for key, name in names.items():
            if key in judge:
                shown = [judge[key][rate] for rate in ("mean_f1", "f1_met", "f1_unmet")]
                cells = (
                    cell
                    for rate in shown
                    for cell in (bounded_rate(rate, judge), interval(rate["interval"]))
                )
                covered = percent(judge["coverage"], 1) if judge["coverage"] < 1 else ""
                rows.append((f"{judge['name']}: {name}", *cells, covered))
    return Table(
        "Averages",
        (
            "judge: averaged",
            "mean F1",
            INTERVAL,
            "F1 met",
            INTERVAL,
            "F1 unmet",
            INTERVAL,
            COVERAGE,
        ),
        rows,
        "Pooled: over verdicts. Per instruction: F1 of each instruction, then the mean. "
        f"Per {by}: the mean of those means, one for each {by}.{brackets(judges)}",
    ).filled()


def constraint_types(judges: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Break the judges down by constraint type, the types that each finds hardest on top."""

    def hardness(item: tuple[str, Mapping[str, Any]]) -> tuple[bool, float, str]:
        kind, rates = item
        value = rates["mean_f1"]["value"]
        return value is None, value or 0.0, kind

    for judge in judges:
        rows = [
            (
                taxonomy.name(kind, "en"),
                f"{rates['verdicts']:,}",
                bounded_rate(rates["mean_f1"], rates),
                interval(rates["mean_f1"]["interval"]),
                bounded_rate(rates["f1_met"], rates),
                bounded_rate(rates["f1_unmet"], rates),
                bounded_rate(rates["kappa"], rates, decimal, 3),
                percent(rates["coverage"], 1),
            )
            for kind, rates in sorted(judge["by_constraint_type"].items(), key=hardness)
        ]
        if rows:
            yield Table(
                f"By constraint type: {judge['name']}",
                ("type", "verdicts", "mean F1", INTERVAL, "F1 met", "F1 unmet", "κ", COVERAGE),
                rows,
                brackets(judge["by_constraint_type"].values()).lstrip(),
            )
