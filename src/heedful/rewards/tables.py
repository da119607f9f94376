"""The numbers of ``heedful reward``, as text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import decimal, estimate, interval, percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Summary = Mapping[str, Any]

__all__ = ["VIEWS"]

BAR = 30

_COUNTED = (
    ("undecided", "reward", "undecided, which make the mean a range"),
    ("fallbacks", "reward", "undecided, replaced by the fallback"),
    ("guarded", "response", "self-graded or cut off"),
    ("unread", "row", "that cannot be used"),
)


def _pairs(summary: Summary) -> Document:
    lines = [
        *_read(summary),
        f"{amount(summary['pairs'], 'pair')}, mean difference {decimal(summary['margin_mean'])}",
    ]
    if summary["pairs"]:
        chosen, rejected = summary["chosen_length"], summary["rejected_length"]
        lines.append(f"mean characters: chosen {chosen:,.0f}, rejected {rejected:,.0f}")
        lines.append(f"  mean difference within a pair {summary['length_difference']:,.0f}")
    if summary["without"]:
        lines.append("without a pair:")
        lines += [f"  {count:,}: {reason}" for reason, count in summary["without"].items()]
    return Document("Pairs", lines)


def _best(summary: Summary) -> Document:
    lines = [
        *_read(summary),
        f"{summary['written']:,} written, mean reward {decimal(summary['best_mean'])}",
        f"mean reward of all {decimal(summary['all_mean'])}",
    ]
    for name, without in (("undecided_groups", "a decided reward"), ("unprompted", "a prompt")):
        if summary[name]:
            lines.append(f"{amount(summary[name], 'instruction')} without {without}")
    return Document("Best of n", lines)


def _stats(summary: Summary) -> Document:
    mean = f"mean reward {_mean(summary)}"
    if summary["deviation"] is not None:
        mean += f", standard deviation {decimal(summary['deviation'])}"
    lines = [*_read(summary), mean]
    signal = summary["signal"]
    if signal["groups"]:
        lines += [
            f"groups without signal: {_share(signal['share'], signal['interval'])}",
            f"  {signal['without']:,} of {signal['groups']:,} with two rewards or more",
            f"  all 0: {signal['all_zero']:,}; all equal above 0: {signal['all_highest']:,}",
        ]
    lines += _relation("reward and length", summary["length"])
    if "agreement" in summary:
        agreement = summary["agreement"]
        lines += _relation("the two rewards", agreement)
        lines.append(f"  the same value: {percent(agreement['equal'])} %")
    return Document("Reward", lines, [_histogram(summary), _best_of(summary["best_of"])])


def _mean(summary: Summary) -> str:
    """Write the mean reward; where some are undecided, from where to where it can be."""
    if summary["mean"] is not None or not summary["bounds"]:
        return estimate(summary["mean"], summary["interval"], decimal, 3)
    between = f" ({interval(summary['interval'], decimal, 3)})" if summary["interval"] else ""
    return f"{interval(summary['bounds'], decimal, 3)}{between}"


def _read(summary: Summary) -> Iterator[str]:
    responses, instructions = summary["responses"], summary["instructions"]
    yield (
        f"{amount(responses, 'response')} to {amount(instructions, 'instruction')}, "
        f"{percent(summary['coverage'])} % of the verdicts decided"
    )
    for name, noun, words in _COUNTED:
        if summary[name]:
            yield f"{amount(summary[name], noun)} {words}"
    if summary["gated"]:
        gates = ", ".join(f"{name} {count:,}" for name, count in summary["gates"].items())
        yield f"{amount(summary['gated'], 'response')} stopped by a gate: {gates}"


def _relation(name: str, relation: Summary) -> Iterator[str]:
    rho, within = relation["rho"], relation["within"]
    yield f"{name}: rank correlation {estimate(rho['value'], rho['interval'], decimal, 3)}"
    share = _share(within["value"], within["interval"])
    yield f"  within an instruction ordered alike: {share} of {relation['within_pairs']:,} pairs"


def _histogram(summary: Summary) -> Table:
    values = summary["values"]
    most = max((row["responses"] for row in values), default=1)
    rows = [
        (
            f"{row['value']:.3f} {'█' * round(BAR * row['responses'] / most)}".rstrip(),
            f"{row['responses']:,}",
        )
        for row in values
    ]
    first = "reward from" if summary.get("binned") else "reward"
    return Table("", (first, "responses"), rows)


def _best_of(rows: Sequence[Summary]) -> Table:
    cells = [
        (
            str(row["k"]),
            estimate(row["mean"], row["interval"], decimal, 3),
            f"{row['instructions']:,}",
        )
        for row in rows
    ]
    return Table("", ("best of", "mean reward", "instructions"), cells, words=0)


def _share(value: float | None, bounds: Sequence[float] | None) -> str:
    return estimate(value, bounds, lambda share, _: f"{percent(share, 1)} %")


VIEWS: dict[str, Callable[[Summary], Document]] = {"pairs": _pairs, "best": _best, "stats": _stats}
"""By the command."""
