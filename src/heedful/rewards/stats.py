"""Statistics of a reward: distribution, signal, relation to length, agreement with another.

Groups of responses to one instruction are the units. Intervals take those together that vary
together, as everywhere (:func:`heedful.metrics.clusters.cluster_of`).
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import decimal, estimate, interval, percent
from heedful.reporting.table import Table
from heedful.rewards.groups import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.rewards.groups import Judged, ResponseGroups, ScoredResponse
    from heedful.rewards.terms import Terms

    Summary = Mapping[str, Any]
    Estimated = tuple[float | None, Sequence[float] | None]
    """A value and its interval."""
    Clusters = Sequence[Sequence[Sequence[float]]]
    """Rewards by instruction, those together that vary together."""

T = TypeVar("T")

BINS_LISTED = 20
"""A reward with more values than this is listed by equal bins."""

BINS = 10


def statistics(
    data: Judged,
    terms: Terms,
    *,
    other: tuple[Judged, Terms] | None = None,
) -> dict[str, Any]:
    """Describe a reward on judged responses."""
    from heedful.metrics.agreement import mean_estimate

    groups = collect(data, terms)
    clusters = _clusters(groups)
    least = _each(clusters, lambda response: response.bounds[0])
    most = _each(clusters, lambda response: response.bounds[1])
    means = [
        mean_estimate(
            Counter((math.fsum(map(math.fsum, c)), float(sum(map(len, c)))) for c in ends)
        )
        for ends in (least, most)
    ]
    lengths = _each(
        clusters, lambda one: None if one.value is None else (one.value, float(one.length))
    )
    decided = [value for cluster in lengths for group in cluster for value, _ in group]
    spread = _spread(decided)
    if len(decided) < len(list(groups)):
        spread["deviation"] = None
    description = {
        **groups.counts(),
        **_between("mean", *((mean["value"], mean["interval"]) for mean in means)),
        **spread,
        "signal": _signal(least, most),
        "best_of": [
            low | _between("mean", *((row["mean"], row["interval"]) for row in (low, high)))
            for low, high in zip(best_of(least), best_of(most), strict=True)
        ],
        "length": _related(lengths),
    }
    if other is not None:
        description["agreement"] = _agreement(groups, collect(*other))
    return description


def best_of(clusters: Clusters) -> list[dict[str, Any]]:
    """Estimate the mean reward of the best of k responses, for k = 1, 2, 4, … n.

    For each instruction it is the mean of the highest reward over all choices of k of its n
    responses, which the order statistics give without bias: the sum of the i-th lowest times
    C(i - 1, k - 1) / C(n, k). An instruction with fewer than k rewards is left out;
    ``instructions`` says how many are in.
    """
    from heedful.metrics.agreement import mean_estimate

    rows = []
    most = max((len(values) for cluster in clusters for values in cluster), default=0)
    # For 0 there are no powers, and for a power of 2 it is the last.
    for k in sorted({2**power for power in range(most.bit_length())} | {most} - {0}):
        found_means = [
            [_best_of(sorted(values), k) for values in cluster if len(values) >= k]
            for cluster in clusters
        ]
        means = [mean for cluster in found_means for mean in cluster]
        counts = Counter((math.fsum(cluster), float(len(cluster))) for cluster in found_means)
        rows.append(
            {
                "k": k,
                "mean": math.fsum(means) / len(means),
                "interval": mean_estimate(counts)["interval"],
                "instructions": len(means),
            }
        )
    return rows


def concordance(pairs: Iterable[tuple[float, float]]) -> tuple[int, int]:
    """Count the pairs of responses that two quantities order, and those that they order alike."""
    alike = ordered = 0
    for left, right in combinations(pairs, 2):
        first, second = left[0] - right[0], left[1] - right[1]
        if first and second:
            ordered += 1
            alike += (first > 0) == (second > 0)
    return alike, ordered


def _clusters(groups: ResponseGroups) -> list[list[list[ScoredResponse]]]:
    """List the instructions' responses, those together that vary together."""
    members: dict[bytes, list[list[ScoredResponse]]] = {}
    for instruction, candidates in groups.candidates.items():
        members.setdefault(groups.clusters[instruction], []).append(candidates)
    return list(members.values())


def _each(
    clusters: Sequence[Sequence[Sequence[ScoredResponse]]],
    value: Callable[[ScoredResponse], T | None],
) -> list[list[list[T]]]:
    """Take a value of each response in the same groups, where it has one."""
    return [
        [[each for each in map(value, group) if each is not None] for group in cluster]
        for cluster in clusters
    ]


def _between(name: str, low: Estimated, high: Estimated) -> dict[str, Any]:
    """Give a number if nothing undecided can change it, and else its ends alone."""
    (least, from_low), (most, from_high) = low, high
    return {
        name: least if least == most else None,
        "bounds": None if least is None else [least, most],
        "interval": [from_low[0], from_high[1]] if from_low and from_high else None,
    }


def _spread(values: Sequence[float]) -> dict[str, Any]:
    import numpy as np

    if not values:
        return {"deviation": None, "values": []}
    counts = sorted(Counter(round(value, 6) for value in values).items())
    if len(counts) > BINS_LISTED:
        heights, edges = np.histogram(values, BINS)
        counts = [(float(edge), int(n)) for edge, n in zip(edges, heights, strict=False)]
    return {
        "deviation": float(np.std(values)),
        "binned": len(set(values)) > BINS_LISTED,
        "values": [{"value": value, "responses": n} for value, n in counts],
    }


def _signal(least: Clusters, most: Clusters) -> dict[str, Any]:
    """Count the groups from which nothing can be learnt, as all of their rewards are equal."""
    from heedful.metrics.proportions import Spread, rate_interval

    clusters = [
        [(low, high) for low, high in zip(lows, highs, strict=True) if len(low) > 1]
        for lows, highs in zip(least, most, strict=True)
    ]
    several = [group for cluster in clusters for group in cluster]
    shares = []
    for flat in (_is_flat, _may_be_flat):
        counts = [
            ((sum(flat(*group) for group in cluster), len(cluster)), 1) for cluster in clusters
        ]
        share = sum(flat(*group) for group in several) / len(several) if several else None
        shares.append((share, rate_interval(Spread.of(counts))))
    return {
        "groups": len(several),
        "without": sum(_is_flat(*group) for group in several),
        **_between("share", *shares),
        "all_highest": sum(_is_flat(low, high) and low[0] > 0 for low, high in several),
        "all_zero": sum(not any(high) for _, high in several),
    }


def _is_flat(low: Sequence[float], high: Sequence[float]) -> bool:
    return len({*low, *high}) == 1


def _may_be_flat(low: Sequence[float], high: Sequence[float]) -> bool:
    return max(low) <= min(high)


def _agreement(groups: ResponseGroups, others: ResponseGroups) -> dict[str, Any]:
    """Compare two rewards of the same responses, matched by their ids and texts."""
    second = {(response.id, response.text): response.value for response in others}
    shared = {(response.id, response.text) for response in groups} & {*second}
    if not shared:
        raise UsageError(
            "the two rewards have no response in common",
            hint="name a second run on the same responses, with the same ids",
        )

    def both(response: ScoredResponse) -> tuple[float, float] | None:
        value = second.get((response.id, response.text))
        return None if response.value is None or value is None else (response.value, value)

    joint = _each(_clusters(groups), both)
    pairs = [pair for cluster in joint for group in cluster for pair in group]
    return {
        "shared": len(shared),
        **_related(joint),
        "equal": sum(first == other for first, other in pairs) / len(pairs) if pairs else None,
    }


def _related(clusters: Sequence[Sequence[Sequence[tuple[float, float]]]]) -> dict[str, Any]:
    """Relate a reward to another quantity, over all responses and within groups."""
    from heedful.metrics.proportions import Spread, rate_interval
    from heedful.metrics.statistics import clustered_spearman

    orders = []
    for cluster in clusters:
        counted = [concordance(group) for group in cluster]
        orders.append((sum(alike for alike, _ in counted), sum(ordered for _, ordered in counted)))
    alike, ordered = sum(pair[0] for pair in orders), sum(pair[1] for pair in orders)
    flat = [[pair for group in cluster for pair in group] for cluster in clusters]
    return {
        "responses": sum(map(len, flat)),
        "rho": clustered_spearman(flat),
        "within": {
            "value": alike / ordered if ordered else None,
            "interval": rate_interval(Spread.of((pair, 1) for pair in orders)),
        },
        "within_pairs": int(ordered),
    }


def _best_of(values: Sequence[float], k: int) -> float:
    """Average the highest of k values over all choices; the values are ascending."""
    n = len(values)
    weights = (math.comb(at, k - 1) / math.comb(n, k) for at in range(n))
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True))


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


def _statistics(summary: Summary) -> Document:
    mean = f"mean reward {_range(summary, 'mean')}"
    if summary["deviation"] is not None:
        mean += f", standard deviation {decimal(summary['deviation'])}"
    lines = [*_read(summary), mean]
    signal = summary["signal"]
    if signal["groups"]:
        lines += [
            f"groups without signal: {_range(signal, 'share', _percent)}",
            f"  {signal['without']:,} for certain of {signal['groups']:,} with several responses",
            f"  all 0: {signal['all_zero']:,}; all equal above 0: {signal['all_highest']:,}",
        ]
    lines += _relation("reward and length", summary["length"])
    if "agreement" in summary:
        agreement = summary["agreement"]
        lines += _relation("the two rewards", agreement)
        lines.append(f"  the same value: {percent(agreement['equal'])} %")
    return Document("Reward", lines, [_histogram(summary), _best_of_table(summary["best_of"])])


def _range(measure: Summary, name: str, write: Callable[..., str] = decimal) -> str:
    """Write a number; where some rewards are undecided, from where to where it can be."""
    if measure[name] is not None or not measure["bounds"]:
        return estimate(measure[name], measure["interval"], write, 3)
    between = f" ({interval(measure['interval'], write, 3)})" if measure["interval"] else ""
    return f"{interval(measure['bounds'], write, 3)}{between}"


def _percent(share: float, _: int = 1) -> str:
    return f"{percent(share, 1)} %"


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
    shown = estimate(rho["value"], rho["interval"], decimal, 3)
    yield f"{name}: rank correlation {shown}, {amount(relation['responses'], 'decided response')}"
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


def _best_of_table(rows: Sequence[Summary]) -> Table:
    cells = [
        (
            str(row["k"]),
            _range(row, "mean"),
            f"{row['instructions']:,}",
        )
        for row in rows
    ]
    return Table("", ("best of", "mean reward", "instructions"), cells, words=0)


def _share(value: float | None, bounds: Sequence[float] | None) -> str:
    return estimate(value, bounds, _percent)


VIEWS: dict[str, Callable[[Summary], Document]] = {
    "pairs": _pairs,
    "best": _best,
    "stats": _statistics,
}
"""By the command."""
