"""From what was judged to what clients get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, RowError
from heedful.data.formats import native
from heedful.rewards import rows
from heedful.rewards.server.errors import told

if TYPE_CHECKING:
    from heedful.core.nouns import Critique, Judgment, Sample
    from heedful.rewards import Rewarded

_CHECKLISTS = {"checklist", "constraints", "checklist_struct"}
_HINT = "give it a field checklist with the constraints; see /openapi.json"


def read(row: Any, at: int) -> Sample | HeedfulError:
    """Read a row of a request; what cannot be judged is an error.

    Args:
        row: the row, as JSON has it.
        at: its place in the request, from 0; errors name it, and rows without an id are named so.
    """
    where = f"samples[{at}]"
    try:
        if not isinstance(row, dict):
            raise RowError("the sample is no object")  # noqa: TRY301 - as what is read raises
        if not _CHECKLISTS & {*row}:
            raise RowError("the sample has no checklist", hint=_HINT)  # noqa: TRY301 - the same
        sample = rows.read(row, at + 1)
    except RowError as error:
        return RowError(
            error.what, where=where, hint=error.hint or "see SampleBody in /openapi.json"
        )
    if sample.response is None:
        return RowError("the sample has no response", where=where, hint="give it a field response")
    if not sample.checklist:
        return RowError("the checklist is empty", where=where, hint="give at least one constraint")
    return sample


def critiqued(
    row: Sample | HeedfulError, found: Critique | HeedfulError, at: int
) -> dict[str, Any]:
    """Lay out the critique of a row, or why there is none."""
    judgments: list[dict[str, Any]] = []
    coverage = None
    if not isinstance(row, HeedfulError) and not isinstance(found, HeedfulError):
        judgments = native.judgments(row, found)
        decided = sum(one.status.decided for one in found.judgments)
        coverage = decided / len(found.judgments)
    return {
        "id": _named(row, at),
        "judgments": judgments,
        "coverage": coverage,
        "error": told(found) if isinstance(found, HeedfulError) else None,
    }


def rewarded(row: Sample | HeedfulError, found: Rewarded | HeedfulError, at: int) -> dict[str, Any]:
    """Lay out the reward of a row, or why there is none."""
    if isinstance(found, HeedfulError):
        return _unrewarded(row, found, at)
    if found.problem is not None:
        return _unrewarded(row, RowError(found.problem, where=f"samples[{at}]"), at)
    return {
        "id": _named(row, at),
        "reward": found.value,
        "decided": found.decided,
        "bounds": found.bounds,
        "verdicts": found.statuses,
        "coverage": found.coverage,
        "spared": found.spared,
        "empty": found.empty,
        "guards": [guard.status for guard in found.guards],
        "undecided": None if found.decided else _reason(found),
        "error": None,
    }


def _unrewarded(row: Sample | HeedfulError, error: HeedfulError, at: int) -> dict[str, Any]:
    return {
        "id": _named(row, at),
        "reward": None,
        "decided": False,
        "bounds": None,
        "verdicts": [],
        "coverage": None,
        "spared": 0,
        "empty": False,
        "guards": [],
        "undecided": None,
        "error": told(error),
    }


def _reason(found: Rewarded) -> str:
    """Say why a verdict is missing: the first one's reason stands for the others."""
    judgments: tuple[Judgment, ...] = (*found.critique.judgments, *found.guards)
    return next(one.explanation for one in judgments if not one.status.decided)


def _named(row: Sample | HeedfulError, at: int) -> str:
    return f"row-{at + 1}" if isinstance(row, HeedfulError) else row.id
