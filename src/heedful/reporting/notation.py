"""Notation of rates, intervals, differences, p-values and prices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from heedful.core.text import amount, dollars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Measure = Mapping[str, Any]

LEVEL = 0.05
"""A smaller p-value shows a difference."""

NOTHING = "–"
"""Shown where there is no value or no interval."""

INTERVAL = "95 % CI"
"""Heading of a column of intervals."""

COVERAGE = "coverage"
"""Heading of a column of coverages."""

MEASURED = ("%", INTERVAL, "counts", "undecided")
"""Headings of the columns of :func:`cells`."""


def percent(value: float | None, digits: int = 2) -> str:
    """Write a share in per cent, or a dash where nothing was decided.

    A share below all is not written as all:

    >>> percent(0.76894), percent(0.99996), percent(None)
    ('76.89', '99.996', '–')
    """
    if value is None:
        return NOTHING
    return _enough(
        lambda number: f"{100 * value:.{number}f}",
        lambda shown: value >= 1 or float(shown) < 100,  # noqa: PLR2004 - per cent
        digits,
    )


def _enough(write: Callable[[int], str], holds: Callable[[str], bool], digits: int) -> str:
    """Write a number with as many digits, up to three more, as it takes to tell the truth."""
    tried = [write(digits + more) for more in range(4)]
    return next(filter(holds, tried), tried[0])


def decimal(value: float | None, digits: int = 3) -> str:
    """Write a number that is not a share, or a dash where there is none.

    >>> decimal(0.76894), decimal(None)
    ('0.769', '–')
    """
    return NOTHING if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference of shares in points, with its sign.

    >>> signed(0.125), signed(-0.5, 1), signed(None)
    ('+12.50', '−50.0', '–')
    """
    if value is None:
        return NOTHING
    shown = f"{100 * abs(value):.{digits}f}"
    return shown if not float(shown) else f"{'−' if value < 0 else '+'}{shown}"


def interval(bounds: Sequence[float] | None, write: Any = percent, digits: int = 1) -> str:
    """Write an interval, or a dash where there is none.

    >>> interval([0.25, 0.5]), interval([-0.01, 0.02], signed), interval(None)
    ('25.0 to 50.0', '−1.0 to +2.0', '–')

    An end of a difference that isn't 0 isn't written as 0:

    >>> interval([0.0002, 0.02], signed), interval([0, 0.02], signed)
    ('+0.02 to +2.0', '0.0 to +2.0')
    """
    return " to ".join(_end(bound, write, digits) for bound in bounds) if bounds else NOTHING


def _end(bound: float, write: Any, digits: int) -> str:
    has_sign = write is signed and bound != 0
    return _enough(partial(write, bound), lambda shown: not has_sign or shown[0] in "+−", digits)


def estimate(
    value: float | None, bounds: Sequence[float] | None, write: Any = percent, digits: int = 1
) -> str:
    """Write a value with its interval, where it has one, in one cell.

    >>> estimate(0.4, [0.25, 0.5]), estimate(0.4, None), estimate(1.5, [1, 2], decimal, 3)
    ('40.0 (25.0 to 50.0)', '40.0', '1.500 (1.000 to 2.000)')
    """
    shown: str = write(value, digits)
    return shown if value is None or not bounds else f"{shown} ({interval(bounds, write, digits)})"


def p_value(value: float) -> str:
    """Write a p-value with three digits, or more where it would seem to reach 0.05.

    >>> p_value(0.0421), p_value(0.04996), p_value(0.00001)
    ('0.042', '0.04996', '< 0.001')
    """
    if value < 0.001:  # noqa: PLR2004 - three digits
        return "< 0.001"
    below = value < LEVEL
    return _enough(
        lambda number: f"{value:.{number}f}", lambda shown: (float(shown) < LEVEL) == below, 3
    )


def rate(measure: Measure, digits: int = 2) -> str:
    """Write a rate in per cent; where it isn't known, from where to where it can be.

    >>> rate({"value": 0.5, "bounds": [0.5, 0.5]}), rate({"value": None, "bounds": [0, 0.65]}, 1)
    ('50.00', '0.0 to 65.0')

    Ends that differ aren't written alike:

    >>> rate({"value": None, "bounds": [0.7496, 0.7498]}, 1)
    '74.96 to 74.98'
    """
    if measure["value"] is not None or not measure["bounds"]:
        return percent(measure["value"], digits)
    ends = measure["bounds"]
    return _enough(
        lambda number: " to ".join(percent(end, number) for end in ends),
        lambda shown: len({*shown.split(" to ")}) > 1,
        digits,
    )


def least(measure: Measure) -> float:
    """Return what is known of a rate, its lower end, by which rates are ranked."""
    return measure["bounds"][0] if measure["bounds"] else -1.0


def counts(measure: Measure) -> str:
    """Write what a rate was computed from.

    >>> counts({"numerator": 1200, "denominator": 2400})
    '1,200 / 2,400'
    >>> counts({"numerator": 3.5, "denominator": 4})
    'mean of 4'
    """
    if "rates" in measure or not isinstance(measure["numerator"], int):
        return f"mean of {measure['denominator']:,}"
    return f"{measure['numerator']:,} / {measure['denominator']:,}"


def undecided(measure: Measure) -> str:
    """Write how much of a rate isn't decided; nothing if all is.

    >>> undecided({"undecided": 13, "denominator": 20}), undecided({"undecided": 0})
    ('13 of 20', '')
    """
    if not measure["undecided"]:
        return ""
    return f"{measure['undecided']:,} of {measure['denominator']:,}"


def bounds(measure: Measure, write: Any = percent, digits: int = 1) -> str:
    """Write the rate if everything undecided were unmet, and if it were met.

    >>> bounds({"coverage": 0.9, "bounds": [0.5, 0.6]}), bounds({"coverage": 1, "bounds": [1, 1]})
    ('50.0 to 60.0', '')
    """
    possible = measure.get("bounds")
    return interval(possible, write, digits) if possible and measure["coverage"] < 1 else ""


def counted(measure: Measure) -> str:
    """Write what a rate was computed from, within a sentence.

    >>> counted({"numerator": 1200, "denominator": 2400, "undecided": 7})
    '1,200 of 2,400; 7 undecided'
    """
    left = f"; {measure['undecided']:,} undecided" if measure["undecided"] else ""
    if "rates" in measure or not isinstance(measure["numerator"], int):
        return f"the mean of {measure['denominator']:,}{left}"
    return f"{measure['numerator']:,} of {measure['denominator']:,}{left}"


def share_decided(measure: Measure) -> str:
    """Write coverage and bounds to follow a rate in a sentence, if something is undecided.

    >>> share_decided({"coverage": 0.9, "bounds": [0.5, 0.6]})
    '; 90.0 % decided, bounds 50.0 to 60.0'
    """
    possible = bounds(measure)
    return f"; {percent(measure['coverage'], 1)} % decided, bounds {possible}" if possible else ""


def bounded(shown: str, measure: Measure, write: Any = percent, digits: int = 1) -> str:
    r"""Write the bounds of a rate in brackets below it, if something is undecided.

    >>> bounded("55.0", {"coverage": 0.9, "bounds": [0.5, 0.6]})
    '55.0\n[50.0 to 60.0]'
    """
    possible = bounds(measure, write, digits)
    return f"{shown}\n[{possible}]" if possible else shown


def cells(measure: Measure, digits: int = 2) -> tuple[str, ...]:
    """Write a rate in the columns :data:`MEASURED`."""
    return (
        rate(measure, digits),
        interval(measure.get("interval")),
        counts(measure),
        undecided(measure),
    )


def without_interval(measures: Iterable[Measure]) -> str:
    """Say why rates have no interval, if any rate has none."""
    bare = any((m["value"] is not None or m.get("bounds")) and not m["interval"] for m in measures)
    return f"No interval ({NOTHING}): a single instruction or conversation." if bare else ""


def price(paid: float | None, *, uncounted: bool = False) -> str:
    """Write a price, or why it is unknown."""
    if paid is None:
        return "cost unknown" if uncounted else "price unknown"
    return dollars(paid)


def cost_line(cost: Mapping[str, Any]) -> str:
    """Write the cost of a run in one line."""
    uncounted = cost.get("uncounted", 0)
    prompt, completion = cost["prompt_tokens"], cost["completion_tokens"]
    held, lost = cost["cached_tokens"], cost.get("lost")
    cached = f" ({percent(held / prompt, 0)} % cached)" if prompt and held else ""
    parts = [
        amount(cost["calls"], "call"),
        f"{cost['batched']:,} in batches, at half the price" if cost.get("batched") else "",
        f"{cost['reused']:,} answered before" if cost["reused"] else "",
        f"{cost['reasks']:,} asked again" if cost["reasks"] else "",
        "" if prompt is None else f"{prompt:,}{cached} + {completion:,} tokens",
        f"{amount(lost, 'call')} lost, not counted" if lost else "",
        f"{amount(uncounted, 'call')} without a count of tokens" if uncounted else "",
        price(cost["dollars"], uncounted=bool(uncounted)),
    ]
    return ", ".join(filter(None, parts))
