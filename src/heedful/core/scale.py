"""Scales: the levels of criteria that are more than met or unmet."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heedful.core.noun import Noun


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
