"""Scales: the levels of criteria that are more than met or unmet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from heedful.core.noun import Noun

if TYPE_CHECKING:
    from collections.abc import Sequence


class Level(Noun):
    """One answer that a scaled criterion may get.

    Attributes:
        label: the answer's name.
        value: the share of the criterion's weight that it earns, 0 to 1.
        na: whether it says that the criterion does not apply.
    """

    label: str
    value: float = Field(default=0.0, ge=0, le=1)
    na: bool = False


class Scale(Noun):
    """The levels of a criterion that is more than met or unmet.

    Attributes:
        kind: ``ordinal`` (the levels have an order), ``nominal`` (they have none) or ``partial``
            (no, partly, yes; its levels may be left out).
        levels: the answers, for ``ordinal`` in ascending order.
        passing: the value from which the criterion counts as met.
    """

    kind: Literal["ordinal", "nominal", "partial"] = "ordinal"
    levels: tuple[Level, ...] = ()
    passing: float = Field(default=1.0, gt=0, le=1)

    @property
    def answers(self) -> tuple[Level, ...]:
        """The levels, or those of a partial scale that names none."""
        return self.levels or (_PARTIAL if self.kind == "partial" else ())


_PARTIAL = (Level(label="no"), Level(label="partly", value=0.5), Level(label="yes", value=1.0))

NOT_APPLICABLE = "not_applicable"
"""Label of a criterion that doesn't apply."""

LABEL_LEVELS = "label_levels"
"""Extra field of a sample: what its labels say beside met or unmet."""

_NOT_APPLICABLE = (NOT_APPLICABLE, "not applicable", "n/a")


def labels_by_level(scales: Sequence[Scale | None], given: Sequence[Any]) -> dict[str, Any]:
    """Read labels that name a level, or say that a criterion doesn't apply."""
    pairs = [_label(*pair) for pair in zip(scales, given, strict=True)]
    levels = [level for _, level in pairs]
    return {"labels": [label for label, _ in pairs]} | (
        {LABEL_LEVELS: levels} if any(levels) else {}
    )


def _label(scale: Scale | None, given: Any) -> tuple[Any, str | None]:
    if given is None or isinstance(given, bool):
        return given, None
    said = f"{given:g}" if isinstance(given, float) else str(given).strip()
    for level in () if scale is None else scale.answers:
        if level.label.casefold() == said.casefold():
            met = None if level.na else level.value >= (1 if scale is None else scale.passing)
            return met, NOT_APPLICABLE if level.na else level.label
    if said.casefold() in _NOT_APPLICABLE:
        return None, NOT_APPLICABLE
    if scale is None:
        return given, None  # a boolean in another spelling, or an error
    known = ", ".join(level.label for level in scale.answers)
    raise ValueError(f"the label {said!r:.80} is none of the levels {known}")
