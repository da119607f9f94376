"""CriticBench's tables: what a build holds, how good critics are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.reporting.document import Document
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    NOTHING,
    cost_line,
    interval,
    percent,
    rate,
    signed,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Result = Mapping[str, Any]

__all__ = ["build_document"]


def build_document(summary: Result) -> Document:
    """Lay out a build: how generators answered, and what was selected."""
    answered = [
        [
            task,
            generator,
            rate(numbers["accuracy"]),
            interval(numbers["accuracy"]["interval"]),
            percent(numbers["accuracy"][COVERAGE], 1),
            f"{numbers['undecided']:,}",
            f"{numbers['empty']:,}",
            f"{numbers['failed']:,}",
            f"{numbers['correct_triplets']:,} + {numbers['wrong_triplets']:,}",
        ]
        for task, generators in summary["tasks"].items()
        for generator, numbers in generators.items()
    ]
    selection = summary["selection"]
    names = ("queries", "unsampled", "undecided", "too_easy", "outranked", "selected", "unbalanced")
    chosen = [[task, *(f"{n[name]:,}" for name in names)] for task, n in selection["tasks"].items()]
    columns = ["task", "generator", "correct %", INTERVAL, COVERAGE]
    columns += ["undecided", "empty", "failed", "triplets"]
    note = "all that are not too easy are selected"
    if selection["queries"] is not None:
        note = f"the {selection['queries']:,} most {selection['ranking']} of each task are selected"
    note += f"; certainty: {selection['certainty']}; unbalanced: responses without a counterpart"
    note += "; undecided: no answer could be graded"
    words = ["task", *(name.replace("_", " ") for name in names)]
    tables = [
        Table(
            "How generators answered",
            columns,
            answered,
            words=2,
            note="triplets: correct + wrong",
            details=("empty", "failed"),
        ),
        Table("What was selected", words, chosen, note=note),
    ]
    about = [f"Cost: {cost_line(summary['cost'])}."]
    if summary.get("sandbox"):
        about.append(f"Programs ran in this sandbox: {summary['sandbox']}.")
    return Document("CriticBench: a benchmark built", about, tables)


def tables(result: Result) -> list[Table]:
    """Lay out how good critics are."""
    critics = result["critics"]
    tasks, generators, bands = (
        names_in(critics, "by_task"),
        generators_of(critics),
        bands_of(critics),
    )
    shown = [_critics(result)]
    if len(tasks) > 1:
        cells = [
            [_shown(numbers["by_task"].get(name)) for name in tasks] for numbers in critics.values()
        ]
        shown.append(_by("Accuracy by task, %", critics, tasks, cells))
    if len(generators) > 1:
        cells = [
            [
                _shown(numbers["by_generator"].get(name)) + ("*" if name == critic else "")
                for name in generators
            ]
            for critic, numbers in critics.items()
        ]
        title = "Accuracy by generator of the response, %"
        shown.append(_by(title, critics, generators, cells, "*: self-critique"))
    if len(bands) > 1:
        cells = [[_shown(band) for band in numbers["by_certainty"]] for numbers in critics.values()]
        note = "certainty of the generator; as many responses in each band as ties allow"
        shown.append(_by("Accuracy by certainty, %", critics, bands, cells, note))
    if result["self_consistency"]:
        shown.append(_self_check(result["self_consistency"]))
    return shown


def _by(
    title: str,
    critics: Iterable[str],
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    note: str = "",
) -> Table:
    rows = [[critic, *row] for critic, row in zip(critics, cells, strict=True)]
    return Table(title, ["critic", *(name or "unknown" for name in names)], rows, note=note)


def _critics(result: Result) -> Table:
    rows = [
        [
            critic,
            "–" if numbers["size"] is None else f"{numbers['size']:g}",
            rate(numbers["accuracy"]),
            interval(numbers["accuracy"]["interval"]),
            f"{len(numbers['runs'])}",
            "–" if numbers["spread"] is None else f"{100 * numbers['spread']:.2f}",
            rate(numbers["on_correct"], 1),
            rate(numbers["on_wrong"], 1),
            percent(numbers["accuracy"][COVERAGE], 1),
            f"{numbers['unparsed']:,}",
            f"{numbers['failed']:,}",
        ]
        for critic, numbers in result["critics"].items()
    ]
    columns = ["critic", "size, B", "accuracy %", INTERVAL, "runs", "spread"]
    columns += ["on correct", "on wrong", COVERAGE, "unparsed", "failed"]
    meaning = {
        "strict": "strict: a critique without a judgment is undecided",
        "faithful": 'faithful: a critique without a judgment counts as "correct"',
    }
    note = f"{meaning[result['scoring']]}; spread: standard deviation of the runs' accuracies"
    unseen = [name for name in ("unparsed", "failed") if not _total(result, name)]
    details = ["size, B", "runs", *unseen]
    return Table("How good critics are", columns, rows, note=note, details=details)


def _total(result: Result, count: str) -> int:
    return sum(numbers[count] for numbers in result["critics"].values())


def _self_check(checks: Sequence[Result]) -> Table:
    """Lay out what checking does for votes; names that are the same in all rows are left out."""
    names = ["critic"]
    if any(check["critic"] != check["generator"] for check in checks):
        names.append("generator")
    if len({check["task"] for check in checks}) > 1:
        names.append("task")
    rows = [
        [
            *(check[name] for name in names),
            f"{check['threshold']:g}",
            f"{check['queries']:,}",
            rate(check["plain"]),
            rate(check["checking"]),
            signed(check["difference"]),
            interval(check["interval"], signed),
            f"{check['fixed']:,} / {check['broken']:,}",
            signed(check["error_reduction"], 1),
            f"{check['critiques']:,}",
            f"{check['undecided']:,}",
        ]
        for check in checks
    ]
    columns = [*names, "below", "queries", "SC %", "SC² %", "change"]
    columns += [INTERVAL, "fixed / broken", "reduction %", "critiques", "undecided"]
    details = ["queries", INTERVAL, "fixed / broken", "undecided"]
    note = (
        "SC: majority vote. SC²: where certainty is below the threshold, answers that the critic "
        "judges incorrect have no vote. reduction: of the errors"
    )
    title = "Self-consistency with self-check"
    return Table(title, columns, rows, words=len(names), note=note, details=details)


def names_in(critics: Mapping[str, Result], part: str) -> list[str]:
    """Name the tasks or generators that any critic's result is broken down by."""
    return list(dict.fromkeys(name for numbers in critics.values() for name in numbers[part]))


def generators_of(critics: Mapping[str, Result]) -> list[str]:
    """Name the generators; those that are critics come first, in the critics' order."""
    names = names_in(critics, "by_generator")
    return [*(name for name in critics if name in names), *(n for n in names if n not in critics)]


def bands_of(critics: Mapping[str, Result]) -> list[str]:
    """Name the bands of certainty."""
    bands: list[Result] = next((numbers["by_certainty"] for numbers in critics.values()), [])
    return [f"{band['low']:.2f} – {band['high']:.2f}" for band in bands]


def _shown(measure: Result | None) -> str:
    return rate(measure, 1) if measure else NOTHING
