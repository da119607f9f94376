"""The rates of an evaluation as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.errors import UsageError
from heedful.reporting.chart import Chart
from heedful.reporting.metric_names import heading, label, ranked
from heedful.reporting.notation import counted
from heedful.reporting.plots import Estimate, estimates_chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Named = tuple[str, Mapping[str, Any]]


def rates_chart(summary: Mapping[str, Any], by: str | None = None) -> Chart:
    """Draw rates with their intervals and counts."""
    if by is None:
        title, named = "Metrics", list(_metrics(summary))
    elif by in summary["by"]:
        groups = {name: each for name, each in summary["by"][by].items() if name != "dropped"}
        title, named = _broken_down(groups, by)
    else:
        raise UsageError(f"no rates by {by!r}", hint=f"there are {', '.join(summary['by'])}")
    estimates = [
        Estimate(name, measure["value"], measure["interval"], counted(measure))
        for name, measure in named
    ]
    return Chart("rates", f"{title}, with 95 % intervals", estimates_chart(estimates))


def _metrics(summary: Mapping[str, Any]) -> Iterator[Named]:
    for family in ranked(summary["metrics"]):
        for name, measure in summary["metrics"][family].items():
            yield label(family, name, summary), measure


def _broken_down(groups: Mapping[str, Any], by: str) -> tuple[str, list[Named]]:
    """Take constraints met of groups of constraints, and the leading rate of groups of samples."""
    if all("value" in group for group in groups.values()):
        named = [(taxonomy.name(value, "en"), measure) for value, measure in groups.items()]
        return f"Constraints met by {by}", named
    family = ranked({key for group in groups.values() for key in group} - {"samples"})[0]
    rate = next(name for group in groups.values() for name in group.get(family, {}))
    named = [
        (value, group[family][rate])
        for value, group in groups.items()
        if rate in group.get(family, {})
    ]
    return heading(f"{label(family, rate)} by {by}"), named
