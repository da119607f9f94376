"""Least rates that a run must reach, for checks in continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import UsageError
from heedful.metrics.general import BY_PRIORITY, CONSTRAINTS_MET, FULLY_MET, POOLED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SHORT = {rate[1]: rate for rate in (CONSTRAINTS_MET, FULLY_MET, BY_PRIORITY, POOLED)}
"""Rates that need no benchmark to be named."""

ROUNDING = 1e-9
"""A mean that should be 0.8 may be computed as slightly less."""


class Gate(NamedTuple):
    """The least value of a rate: how it was named, its family and name, the value."""

    named: str
    family: str
    name: str
    least: float


def gates(given: Iterable[str]) -> list[Gate]:
    """Read what ``--fail-under`` says, such as ``fully_met=0.8``; several with commas."""
    return [_gate(word.strip()) for words in given for word in words.split(",")]


def _gate(word: str) -> Gate:
    from heedful.reporting.metric_names import KEYS

    named, equals, value = word.partition("=")
    try:
        least = float(value)
    except ValueError:
        least = -1.0
    if not equals or not named or not 0 <= least <= 1:
        percentage = f"{named}={least / 100:g}" if 1 < least <= 100 else "fully_met=0.8"  # noqa: PLR2004
        raise UsageError(
            f"--fail-under {word!r} isn't a rate with a share from 0 to 1",
            hint=f"for example {percentage}",
        )
    if named in KEYS:
        return Gate(named, *KEYS[named], least)
    if named in SHORT:
        return Gate(named, *SHORT[named], least)
    family, dot, name = named.partition(".")
    if not dot or not name or not _known(family):
        raise UsageError(
            f"--fail-under knows no rate {named!r}",
            hint=f"give {', '.join([*KEYS, *SHORT])}, or a rate of summary.json, such as "
            "ifeval.prompt_strict",
        )
    return Gate(named, family, name, least)


def _known(family: str) -> bool:
    from heedful.metrics.family import family_of
    from heedful.reporting.metric_names import EXTRA

    return family in EXTRA or family_of(family) is not None


def below(gate: Gate, summary: Mapping[str, Any]) -> str:
    """Say how a run falls short of a gate; nothing if it doesn't.

    What is undecided may be unmet, so a gate holds against the lower end of a range.
    """
    from heedful.reporting.metric_names import label
    from heedful.reporting.notation import least, percent, rate, undecided

    measure = summary["metrics"].get(gate.family, {}).get(gate.name)
    if measure is None:
        there = ", ".join(f"{f}.{n}" for f, names in summary["metrics"].items() for n in names)
        return f"--fail-under {gate.named}: the run has no such rate, but {there or 'none'}"
    if least(measure) >= gate.least - ROUNDING:
        return ""
    about, left = label(gate.family, gate.name, summary), undecided(measure)
    isnt = f"is {rate(measure)} %" + (f" ({left} undecided)" if left else "")
    may = measure["bounds"] and measure["bounds"][1] >= gate.least
    failed = "which isn't surely at least" if may else "below"
    return f"--fail-under: {about} {isnt}, {failed} {percent(gate.least)} %"
