"""The results of the commands that make critique data, as text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Summary = Mapping[str, Any]

__all__ = ["VIEWS"]


def _split(summary: Summary) -> Document:
    lines = [
        f"{part}: {amount(summary['rows'][part], 'row')} of {amount(instructions, 'instruction')}"
        for part, instructions in summary["instructions"].items()
    ]
    unplaced = summary["unplaced"]
    notes = [f"{amount(unplaced, 'row')} could not be placed"] if unplaced else []
    return Document("Split", lines, notes=notes)


def _pairs(summary: Summary) -> Document:
    items, critiques, segments = summary["items"], summary["critiques"], summary["segments"]
    every = amount(items["all"], "item")
    lines = [f"{amount(summary['pairs'], 'pair')} from {items['with_pairs']:,} of {every}"]
    lines += [
        f"  {count:,} without: {reason}" for reason, count in summary["without_pairs"].items()
    ]
    sampled = amount(critiques["sampled"], "sampled critique")
    if critiques["unparsed"]:
        sampled += f", {critiques['unparsed']:,} do not parse"
    lines += [
        sampled,
        f"chosen segments: {segments['chosen_met']:,} met, {segments['chosen_unmet']:,} unmet",
    ]
    lines.append(f"{summary['method']}, {summary['similarity']}, seed {summary['seed']}")
    agreement = summary["agreement"]
    tables = [_agreement(agreement)] if agreement["verdicts"] else []
    return Document("Pairs", lines, tables)


def _agreement(agreement: Summary) -> Table:
    rows = []
    for verdict in ("met", "unmet"):
        counts = agreement[f"expert_{verdict}"]
        rows.append((verdict, f"{counts['sampled_met']:,}", f"{counts['sampled_unmet']:,}"))
    positive, negative = percent(agreement["positive_f1"]), percent(agreement["negative_f1"])
    columns = ("expert's verdicts", "sampled: met", "sampled: unmet")
    title = "Agreement with the expert"
    return Table(title, columns, rows, f"positive F1 {positive} %, negative F1 {negative} %")


def _export(result: Summary) -> Document:
    noun = "pair" if result["pairs"] else "critique"
    lines = [amount(result["counts"]["examples"], noun)]
    for key, count in result["counts"].items():
        kind, _, reason = key.partition(":")
        if kind == "left out to balance":
            lines.append(f"{amount(count, 'verdict')} saying {reason} left out to balance")
        elif kind == "judgments":
            lines.append(f"  {amount(count, 'judgment')}: {reason}")
    lines += [
        f"{amount(count, 'row')} left out: {reason}" for reason, count in result["left_out"].items()
    ]
    return Document("Export", lines)


VIEWS: dict[str, Callable[[Summary], Document]] = {
    "split": _split,
    "pairs": _pairs,
    "export": _export,
}
"""By the name of the command's result."""
