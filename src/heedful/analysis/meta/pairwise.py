"""Pairwise judges, measured by the choices that a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.pairwise import TIE, Choice, choices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.core.nouns import Sample, Scoring

_SIDES = (1, 2, TIE)


def recorded_choices(samples: Iterable[Sample], scoring: Scoring) -> dict[str, Any] | None:
    """Measure what the samples' field ``choice`` says; ``None`` where none has it.

    A choice is ``{"label": 1, "unswapped": 1, "swapped": 2}``: the better response, and the one
    that the judge chose in either order, 0 for a tie and ``null`` for what can't be read.
    """
    given = []
    for sample in samples:
        choice = (sample.model_extra or {}).get("choice")
        if not isinstance(choice, dict) or choice.get("label") not in (1, 2):
            continue
        sides = [choice.get(order) for order in ("unswapped", "swapped")]
        unswapped, swapped = (side if side in _SIDES else None for side in sides)
        given.append(Choice(choice["label"], unswapped, swapped))
    return choices(given, scoring) if given else None
