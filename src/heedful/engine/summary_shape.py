"""The keys of the summary of a judged run that its readers rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

JUDGED = {
    "heedful": str,
    "judge": str,
    "scoring": str,
    "coverage": int | float,
    "samples": int,
    "constraints": int,
    "rows": dict,
    "verdicts": dict,
    "metrics": dict,
    "by": dict,
    "labels": dict,
    "votes": dict,
    "problems": list,
    "undecided": list,
    "decided_by": dict,
}

RATE = {
    "value": int | float | None,
    "interval": list | None,
    "numerator": int | float,
    "denominator": int | float,
    "undecided": int,
    "coverage": int | float,
    "bounds": list | None,
}


def is_summary(summary: Mapping[str, Any]) -> bool:
    """Check whether a summary read from a file holds what a judged run's does."""
    if not _has(summary, JUDGED) or not _has(summary["rows"], {"read": int, "failed": int}):
        return False
    votes, breakdowns = summary["votes"], list(summary["by"].values())
    if not all(isinstance(groups, dict) for groups in breakdowns):
        return False
    groups = [group for by in breakdowns if "dropped" not in by for group in by.values()]
    return (
        _are_rates(summary["metrics"], 2)
        and _are_rates(summary["labels"].get("agreement", {}), 1)
        and (not votes or _is_rate(votes.get("disagreement")))
        and all(_is_rate(group) or _is_group(group) for group in groups)
    )


def _has(value: Any, kinds: Mapping[str, Any]) -> bool:
    return isinstance(value, dict) and all(
        key in value and isinstance(value[key], kind) for key, kind in kinds.items()
    )


def _is_rate(value: Any) -> bool:
    return _has(value, RATE) and all(
        ends is None or (len(ends) == 2 and all(isinstance(end, int | float) for end in ends))  # noqa: PLR2004
        for ends in (value["interval"], value["bounds"])
    )


def _is_group(value: Any) -> bool:
    """Check whether something is the rates of a group of samples."""
    return _has(value, {"samples": int}) and _are_rates(
        {key: rates for key, rates in value.items() if key != "samples"}, 2
    )


def _are_rates(value: Any, depth: int) -> bool:
    """Check whether an object, so many levels deep, holds nothing but rates."""
    if not depth:
        return _is_rate(value)
    return isinstance(value, dict) and all(_are_rates(each, depth - 1) for each in value.values())
