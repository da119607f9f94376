"""Rubrics: which ones make sense, what depends on what, and what a verdict is worth."""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Judgment, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Constraint
    from heedful.core.scale import Scale

_SCORED = frozenset({"weight", "gate", "scale"})
_FIELDS = _SCORED | {"depends_on"}
_MOST = 1e9
"""Points that a criterion may have: sums of more lose digits."""


def is_scored(checklist: Sequence[Constraint]) -> bool:
    """Tell whether a score says more of a rubric than how many constraints are met."""
    return _any_has(_SCORED, checklist)


def _any_has(fields: frozenset[str], checklist: Sequence[Constraint]) -> bool:
    for each in checklist:  # noqa: SIM110 - every row passes here, and a generator takes twice as long
        if not fields.isdisjoint(each.__pydantic_fields_set__):
            return True
    return False


def is_fault(constraint: Constraint, status: Status) -> bool:
    """Tell whether a verdict speaks against a response: unmet, or a mistake that was made."""
    return status is (Status.MET if constraint.is_penalty else Status.UNMET)


def constraint_tags(constraint: Constraint) -> list[tuple[str, str]]:
    """Return the kinds and values of a constraint's extra field ``tags``."""
    extra = constraint.__pydantic_extra__
    given = extra.get("tags") if extra else None
    return list(named_tags(given)) if given else []


def named_tags(given: Any) -> Iterator[tuple[str, str]]:
    """Read tags as benchmarks write them, ``kind:value``; others are left out."""
    for each in given if isinstance(given, list) else ():
        if isinstance(each, str):
            kind, colon, value = each.partition(":")
            if colon:
                yield kind, value


def problem(checklist: Sequence[Constraint]) -> str | None:
    """Say why a rubric makes no sense; ``None`` where it does, or is a plain checklist."""
    return next(_problems(checklist), None) if _any_has(_FIELDS, checklist) else None


def _problems(checklist: Sequence[Constraint]) -> Iterator[str]:
    if not any(each.weight is None or each.weight for each in checklist):
        yield "all weights are 0, so nothing counts; give a constraint a weight other than 0"
    for number, each in enumerate(checklist, start=1):
        if each.weight is not None and abs(each.weight) > _MOST:
            yield f"constraint {number} has the weight {each.weight:g}; give it at most {_MOST:.0e}"
        reason = None if each.scale is None else _scale_problem(each.scale)
        if reason is not None:
            yield f"constraint {number} has a scale {reason}"
        for other in each.depends_on:
            if not 1 <= other <= len(checklist) or other == number:
                yield (
                    f"constraint {number} depends on constraint {other}; "
                    f"give the number of another one, 1 to {len(checklist)}"
                )
    circle = _circle(checklist)
    if circle:
        yield f"constraints depend on each other in a circle: {', '.join(map(str, circle))}"


def judgment_at(scale: Scale, label: str, **fields: Any) -> Judgment:
    """Make the judgment that a level stands for."""
    level = {level.label: level for level in scale.answers}[label]
    met = Status.MET if level.value >= scale.passing else Status.UNMET
    return Judgment(status=Status.NOT_APPLICABLE if level.na else met, level=label, **fields)


def value(constraint: Constraint, judgment: Judgment) -> float | None:
    """Return the share of a criterion's weight that a verdict earns, 0 to 1.

    ``None`` where that isn't decided: so too where a scaled criterion has a verdict but no level.
    """
    if not judgment.status.decided:
        return None
    if constraint.scale is None:
        return float(judgment.status is Status.MET)
    levels = (each.value for each in constraint.scale.answers if each.label == judgment.level)
    return next(levels, None)


def _scale_problem(scale: Scale) -> str | None:
    counts = Counter(level.label for level in scale.answers)
    twice = [label for label, count in counts.items() if count > 1]
    if twice:
        return f"with the level {twice[0]!r} twice"
    if not all(label.strip() for label in counts):
        return "with a level without a label"
    values = [level.value for level in scale.answers if not level.na]
    if len({*values}) < 2:  # noqa: PLR2004 - a scale tells something apart
        return "without two levels of different value"
    if max(values) < scale.passing:
        return f"on which no level reaches {scale.passing:g}, from which it is met"
    if scale.kind == "ordinal" and values != sorted(values):
        return "whose levels don't ascend; write the lowest first, or make it nominal"
    return None


def _circle(checklist: Sequence[Constraint]) -> list[int]:
    """Return the numbers of constraints that wait for each other."""
    parents = {number: each.depends_on for number, each in enumerate(checklist, start=1)}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        return sorted({*error.args[1]})
    return []
