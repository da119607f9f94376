"""A comparison in a sentence, and whether a run isn't worse than another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.metrics.contrasts import LEVEL
from heedful.metrics.general import FULLY_MET, GENERAL
from heedful.reporting.metric_names import label, ranked
from heedful.reporting.notation import interval, p_value, percent, signed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Difference = Mapping[str, Any]

    Pair = Mapping[str, Any]

    Rate = tuple[str, str]


LABELS = "labels"

MOST = 0.9
"""Share of the samples that a benchmark's own rate must be about to stand for all."""

ROUNDING = 1e-9
"""A difference of exactly the margin may be computed as slightly more."""

PAIRS = 5
"""Pairs that have a sentence."""


def against(comparison: Mapping[str, Any]) -> list[Pair]:
    """List the pairs that the baseline is in."""
    return [
        pair
        for pair in comparison["pairs"]
        if comparison["baseline"] in (pair["first"], pair["second"])
    ]


def may_turn(measured: Difference) -> bool:
    """Check whether the undecided verdicts could reverse a difference."""
    if measured["coverage"] == 1 or not measured["bounds"]:
        return False
    low, high = measured["bounds"]
    return bool(low <= 0 <= high)


class GateResult(NamedTuple):
    """Whether a run is no worse than another in a rate."""

    verdict: Literal["worse", "undecided", "shown", "open"]
    said: str


def headlines(comparison: Mapping[str, Any]) -> list[str]:
    """Say which of two runs is better; with three or more, each against the baseline."""
    pairs = comparison["pairs"]
    shown = against(comparison) if len(pairs) > 1 else pairs
    sentences = [_headline(pair, len(pairs)) for pair in shown[:PAIRS]]
    return list(filter(None, sentences))


def no_worse(pair: Pair, *, margin: float, rates: Sequence[Rate] = ()) -> list[GateResult]:
    """Check whether the first run of a pair is no worse than the second.

    A check is of its own pair: its p is not adjusted for other pairs, and so it goes with the
    interval.
    """
    measures = _tested(pair)
    chosen = rates or [_lead(measures) or FULLY_MET]
    return [_checked(pair, rate, measures.get(rate), margin) for rate in chosen]


def _checked(pair: Pair, rate: Rate, measured: Any, margin: float) -> GateResult:
    about = f"{pair['first']} and {pair['second']}, {label(*rate, pair)}"
    if measured is None:
        return GateResult("undecided", f"{about}: nothing was decided on both sides")
    value, ends = measured["difference"]["value"], measured["difference"]["interval"]
    beyond = f"more than {percent(margin, 1)} points worse"
    numbers = f"{_points(value, ends)}, {_p(measured['p'])}"
    least = -margin - ROUNDING
    if value < least and measured["p"] < LEVEL:
        shown = f"is {beyond}"
        if margin and (ends is None or ends[1] >= -margin):
            shown = f"is worse, but whether it is {beyond} is open"
            shown += ": the estimate is, the interval isn't"
        return GateResult("worse", f"{about}: {numbers}; {pair['first']} {shown}")
    if measured["coverage"] < 1 and measured["bounds"][0] < least:
        said = f"whether it is {beyond} depends on what was undecided"
        return GateResult("undecided", f"{about}: {numbers}; {said} ({_covered(measured)})")
    if (ends[0] if ends else -1.0) < least:
        return GateResult("open", f"{about}: {numbers}; whether it is {beyond} is open")
    return GateResult("shown", f"{about}: {numbers}; {pair['first']} isn't {beyond}")


def _tested(pair: Pair) -> dict[Rate, Any]:
    """List the rates that differ or don't, by a test, in the order of their benchmarks."""
    return {
        (family, name): measured
        for family in ranked(pair["metrics"])
        for name, measured in pair["metrics"][family].items()
        if measured["p_holm"] is not None
    }


def _lead(measures: Mapping[Rate, Any]) -> Rate | None:
    """Choose the rate that a pair is quoted by: its benchmark's own first, or else ISR."""
    own = [rate for rate in measures if rate[0] not in (*GENERAL, LABELS)]
    if own and FULLY_MET in measures:
        most = MOST * measures[FULLY_MET]["compared"]
        own = [rate for rate in own if measures[rate]["compared"] >= most]
    return next(iter([*own, *(rate for rate in measures if rate == FULLY_MET), *measures]), None)


def _headline(pair: Pair, pairs: int) -> str:
    """Say what a pair shows, of so many whose p-values are adjusted together."""
    measures = _tested(pair)
    lead = _lead(measures)
    if lead is None:
        return ""
    shown = [rate for rate in measures if measures[rate]["p_holm"] < LEVEL]
    if not shown:
        others = f"; nor on {_rates(len(measures) - 1)}" if len(measures) > 1 else ""
        return (
            f"No difference is shown between {pair['first']} and {pair['second']} on "
            f"{_numbers(pair, lead, 1, pairs)}{others}."
        )
    main = lead if lead in shown else min(shown, key=lambda rate: measures[rate]["p_holm"])
    sign = 1 if measures[main]["difference"]["value"] > 0 else -1
    better, worse = (pair["first"], pair["second"])[::sign]
    verb = "better" if "responses" in pair["compared"] else "higher"
    along = [rate for rate in shown if rate != main and _sign(measures[rate]) == sign]
    back = [rate for rate in shown if _sign(measures[rate]) == -sign]
    rest = len(measures) - len(shown)
    is_better = f"{better} is {verb} than {worse}"
    if may_turn(measures[main]):
        is_better = f"Of what both decided, {is_better}"
    parts = [f"{is_better} on {_numbers(pair, main, sign, pairs)}"]
    parts += [f"also on {_listed(pair, along)}"] if along else []
    parts += (
        [f"{'worse' if verb == 'better' else 'lower'} on {_listed(pair, back)}"] if back else []
    )
    parts += [f"no difference is shown on {_rates(rest)}"] if rest else []
    return "; ".join(parts) + "."


def _numbers(pair: Pair, rate: Rate, sign: int, pairs: int) -> str:
    measured = pair["metrics"][rate[0]][rate[1]]
    value, ends = measured["difference"]["value"], measured["difference"]["interval"]
    if sign < 0:
        value, ends = -value, ends and [-ends[1], -ends[0]]
    shown = f"{label(*rate, pair)}: {_points(value, ends)}, {_p(measured['p'])}"
    if pairs > 1:  # the interval goes with p alone
        shown += f", adjusted for {pairs} pairs (Holm): {_p(measured['p_holm'])}"
    if measured["coverage"] == 1:
        return shown
    low, high = measured["bounds"]
    turned = {**measured, "bounds": [low, high] if sign > 0 else [-high, -low]}
    return f"{shown} ({_covered(turned)})"


def _points(value: float, ends: Sequence[float] | None) -> str:
    between = f" ({interval(ends, signed)})" if ends else ""
    return f"{signed(value, 1)} points{between}"


def _p(p: float) -> str:
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def _covered(measured: Mapping[str, Any]) -> str:
    ends = interval(measured["bounds"], signed)
    return f"{percent(measured['coverage'], 1)} % decided on both sides, bounds {ends}"


def _sign(measured: Mapping[str, Any]) -> int:
    return 1 if measured["difference"]["value"] > 0 else -1


def _listed(pair: Pair, rates: Sequence[Rate]) -> str:
    return ", ".join(label(*rate, pair) for rate in rates)


def _rates(number: int) -> str:
    return "the other rate" if number == 1 else f"the other {number} rates"
