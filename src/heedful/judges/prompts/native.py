"""Verdicts as heedful writes them in its results: objects with ``status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.rubric import judgment_at
from heedful.core.text import amount
from heedful.judges.prompts.base import undecided

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def parse(
    verdicts: Sequence[Mapping[str, Any]], constraints: Sequence[Constraint]
) -> list[Judgment]:
    """Read verdicts in checklist order."""
    if len(verdicts) != len(constraints):
        return undecided(
            constraints,
            f"{amount(len(verdicts), 'verdict')} for {amount(len(constraints), 'constraint')}",
        )
    read = map(_judgment, verdicts)
    return [_at_its_level(each, of) for each, of in zip(read, constraints, strict=True)]


def faithful(
    verdicts: Sequence[Mapping[str, Any]], constraints: Sequence[Constraint]
) -> list[Judgment]:
    """Read verdicts as the benchmark's code does, which ``published`` holds where it differs."""
    return parse(
        [{**each, "status": each.get("published", each.get("status"))} for each in verdicts],
        constraints,
    )


def _judgment(verdict: Mapping[str, Any]) -> Judgment:
    fields = {name: value for name, value in verdict.items() if name != "published"}
    status = fields.get("status")
    if isinstance(status, bool):
        status = Status.MET if status else Status.UNMET
    try:
        return Judgment.model_validate({**fields, "status": status})
    except ValidationError:
        return Judgment(status=Status.UNPARSED, explanation=f"the verdict is {dict(verdict)!r}")


def _at_its_level(judgment: Judgment, constraint: Constraint) -> Judgment:
    """Leave a verdict undecided whose level the scale doesn't have, or that says otherwise."""
    if constraint.scale is None or judgment.level is None or not judgment.status.settled:
        return judgment
    try:
        status = judgment_at(constraint.scale, judgment.level).status
    except KeyError:
        reason = f"the scale has no level {judgment.level!r}"
    else:
        if status is judgment.status:
            return judgment
        reason = f"the verdict is {judgment.status.value}, and its level {judgment.level!r} isn't"
    return Judgment(status=Status.UNPARSED, explanation=reason)
