"""CriticBench's tables: what a build holds, how good critics are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Result = Mapping[str, Any]

__all__ = ["build_document"]


def build_document(summary: Result) -> Document:
    """Lay out a build: how generators answered, and what was selected.

    Args:
        summary: as in a build's ``summary.json``.
    """
    answered = [
        [
            task,
            generator,
            percent(found["accuracy"]["value"]),
            interval(found["accuracy"]["interval"]),
            percent(found["accuracy"]["coverage"], 1),
            f"{found['undecided']:,}",
            f"{found['empty']:,}",
            f"{found['failed']:,}",
            f"{found['correct_triplets']:,} + {found['wrong_triplets']:,}",
        ]
        for task, generators in summary["tasks"].items()
        for generator, found in generators.items()
    ]
    selection = summary["selection"]
    names = ("queries", "unsampled", "too_easy", "outranked", "kept", "unbalanced")
    chosen = [[task, *(f"{n[name]:,}" for name in names)] for task, n in selection["tasks"].items()]
    columns = ["task", "generator", "correct %", "95 % interval", "coverage"]
    columns += ["undecided", "empty", "failed", "triplets"]
    note = "all that are not too easy are kept"
    if selection["queries"] is not None:
        note = f"the {selection['queries']:,} most {selection['ranking']} of each task are kept"
    note += f"; certainty: {selection['certainty']}; unbalanced: responses without a counterpart"
    words = ["task", "queries", "unsampled", "too easy", "outranked", "kept", "unbalanced"]
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
    return Document(
        "CriticBench: a benchmark built", [f"Cost: {cost_line(summary['cost'])}."], tables
    )


def tables(result: Result) -> list[Table]:
    """Lay out how good critics are.

    Args:
        result: as :func:`heedful.bench.criticbench.report.examined` returns it.
    """
    critics = result["critics"]
    tasks, generators, bands = (
        names_in(critics, "by_task"),
        generators_of(critics),
        bands_of(critics),
    )
    found = [_critics(result)]
    if len(tasks) > 1:
        cells = [[_shown(one["by_task"].get(name)) for name in tasks] for one in critics.values()]
        found.append(_by("Accuracy by task, %", critics, tasks, cells))
    if len(generators) > 1:
        cells = [
            [_shown(one["by_generator"].get(name)) + "*" * (name == critic) for name in generators]
            for critic, one in critics.items()
        ]
        title = "Accuracy by generator of the response, %"
        found.append(_by(title, critics, generators, cells, "*: self-critique"))
    if len(bands) > 1:
        cells = [[_shown(band) for band in one["by_certainty"]] for one in critics.values()]
        note = "certainty of the generator; as many responses in each band as ties allow"
        found.append(_by("Accuracy by certainty, %", critics, bands, cells, note))
    if result["self_consistency"]:
        found.append(_self_check(result["self_consistency"]))
    return found


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
            "–" if one["size"] is None else f"{one['size']:g}",
            percent(one["accuracy"]["value"]),
            interval(one["accuracy"]["interval"]),
            f"{len(one['runs'])}",
            "–" if one["spread"] is None else f"{100 * one['spread']:.2f}",
            percent(one["on_correct"]["value"], 1),
            percent(one["on_wrong"]["value"], 1),
            percent(one["accuracy"]["coverage"], 1),
            f"{one['unparsed']:,}",
            f"{one['failed']:,}",
        ]
        for critic, one in result["critics"].items()
    ]
    columns = ["critic", "size, B", "accuracy %", "95 % interval", "runs", "spread"]
    columns += ["on correct", "on wrong", "coverage", "unparsed", "failed"]
    meaning = {
        "strict": "strict: a critique without a judgment is in no rate",
        "faithful": 'faithful: a critique without a judgment counts as "correct"',
    }
    note = f"{meaning[result['scoring']]}; spread: standard deviation of the runs' accuracies"
    unseen = [name for name in ("unparsed", "failed") if not _total(result, name)]
    details = ["size, B", "runs", *unseen]
    return Table("How good critics are", columns, rows, note=note, details=details)


def _total(result: Result, count: str) -> int:
    return sum(one[count] for one in result["critics"].values())


def _self_check(found: Sequence[Result]) -> Table:
    rows = [
        [
            one["critic"],
            one["generator"],
            one["task"],
            f"{one['threshold']:g}",
            f"{one['queries']:,}",
            percent(one["plain"]["value"]),
            percent(one["checking"]["value"]),
            signed(one["difference"]),
            interval(one["interval"]),
            f"{one['fixed']:,} / {one['broken']:,}",
            signed(one["error_reduction"], 1),
            f"{one['critiques']:,}",
            f"{one['undecided']:,}",
        ]
        for one in found
    ]
    columns = ["critic", "generator", "task", "below", "queries", "SC %", "SC² %", "change"]
    columns += ["95 % interval", "fixed / broken", "reduction %", "critiques", "undecided"]
    details = ["queries", "95 % interval", "fixed / broken", "undecided"]
    if all(one["critic"] == one["generator"] for one in found):
        details.append("generator")
    note = (
        "SC: majority vote. SC²: where certainty is below the threshold, answers that the critic "
        "judges incorrect have no vote. reduction: of the errors"
    )
    title = "Self-consistency with self-check"
    return Table(title, columns, rows, words=3, note=note, details=details)


def names_in(critics: Mapping[str, Result], part: str) -> list[str]:
    """Name the tasks or generators that any critic's result is broken down by."""
    return list(dict.fromkeys(name for one in critics.values() for name in one[part]))


def generators_of(critics: Mapping[str, Result]) -> list[str]:
    """Name the generators; those that are critics come first, in the critics' order."""
    names = names_in(critics, "by_generator")
    return [*(name for name in critics if name in names), *(n for n in names if n not in critics)]


def bands_of(critics: Mapping[str, Result]) -> list[str]:
    """Name the bands of certainty."""
    bands: list[Result] = next((one["by_certainty"] for one in critics.values()), [])
    return [f"{band['low']:.2f} – {band['high']:.2f}" for band in bands]


def _shown(measure: Result | None) -> str:
    return percent(measure["value"] if measure else None, 1)
