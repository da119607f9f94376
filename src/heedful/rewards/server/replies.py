"""From rows to samples, and from judgments to response bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, RowError
from heedful.core.log import logger
from heedful.data.formats import native
from heedful.data.formats.fields import row_id
from heedful.rewards import rows
from heedful.rewards.server.errors import error_payload

if TYPE_CHECKING:
    from heedful.core.nouns import Critique, Judgment, Sample
    from heedful.rewards import Rewarded

AGAIN = "send it again; answers are cached"

_CHECKLISTS = {"checklist", "constraints", "checklist_struct"}
_HINT = "give it a field checklist with the constraints; see /openapi.json"


def read(row: Any, at: int) -> Sample | HeedfulError:
    """Read a row of a request; what cannot be judged is an error."""
    where = f"samples[{at}]"
    try:
        if not isinstance(row, dict):
            raise RowError("the sample isn't an object")  # noqa: TRY301 - as what is read raises
        if not _CHECKLISTS & {*row}:
            raise RowError("the sample has no checklist", hint=_HINT)  # noqa: TRY301 - the same
        sample = rows.read(row, at + 1)
    except RowError as error:
        return RowError(
            error.what, where=where, hint=error.hint or "see SampleBody in /openapi.json"
        )
    except Exception as error:  # noqa: BLE001 - whatever is sent, the client is told
        logger.warning("a sample cannot be read", exc_info=True)
        return RowError(f"the sample cannot be read: {type(error).__name__}", where=where)
    if sample.response is None:
        return RowError("the sample has no response", where=where, hint="give it a field response")
    if not sample.checklist:
        return RowError("the checklist is empty", where=where, hint="give at least one constraint")
    return sample


def critiqued(
    row: Any, sample: Sample | HeedfulError, outcome: Critique | HeedfulError, at: int
) -> dict[str, Any]:
    """Lay out the critique of a row, or why there is none."""
    judgments: list[dict[str, Any]] = []
    coverage = None
    if not isinstance(sample, HeedfulError) and not isinstance(outcome, HeedfulError):
        judgments = native.judgments(sample, outcome)
        decided = sum(judgment.status.decided for judgment in outcome.judgments)
        coverage = decided / len(outcome.judgments)
    return {
        "id": _id_of(row, sample, at),
        "judgments": judgments,
        "coverage": coverage,
        "error": error_payload(outcome) if isinstance(outcome, HeedfulError) else None,
    }


def rewarded(
    row: Any, sample: Sample | HeedfulError, outcome: Rewarded | HeedfulError, at: int
) -> dict[str, Any]:
    """Lay out the reward of a row, or why there is none."""
    name = _id_of(row, sample, at)
    if isinstance(outcome, HeedfulError):
        return _unrewarded(name, outcome)
    if outcome.problem is not None:
        return _unrewarded(name, RowError(outcome.problem, where=f"samples[{at}]"))
    return {
        "id": name,
        "reward": outcome.value,
        "decided": outcome.decided,
        "bounds": outcome.bounds,
        "verdicts": outcome.statuses,
        "coverage": outcome.coverage,
        "skipped": outcome.skipped,
        "gate": None if outcome.gate is None else outcome.gate._asdict(),
        "guards": [guard.status for guard in outcome.guards],
        "undecided": None if outcome.decided else _reason(outcome),
        "error": None,
    }


def _unrewarded(name: str, error: HeedfulError) -> dict[str, Any]:
    return {
        "id": name,
        "reward": None,
        "decided": False,
        "bounds": None,
        "verdicts": [],
        "coverage": None,
        "skipped": 0,
        "gate": None,
        "guards": [],
        "undecided": None,
        "error": error_payload(error),
    }


def _reason(reward: Rewarded) -> str:
    """Return why a verdict is missing: the first reason stands for the others."""
    judgments: tuple[Judgment, ...] = (*reward.critique.judgments, *reward.guards)
    return next(judgment.explanation for judgment in judgments if not judgment.status.decided)


def _id_of(row: Any, sample: Sample | HeedfulError, at: int) -> str:
    if not isinstance(sample, HeedfulError):
        return sample.id
    try:
        return row_id(row, at + 1, "id")
    except (RowError, AttributeError):  # an id that is none, or a row that is no object
        return f"row-{at + 1}"
