"""The protocols of a sweep: every combination of the settings that are to be tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import UsageError
from heedful.judges import make_judge
from heedful.models.options import CONNECTION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.judges import Judge, JudgeOptions

__all__ = ["protocols"]

AXES = (
    "judge",
    "model",
    "prompt",
    "explain",
    "measure",
    "per_call",
    "votes",
    "temperature",
    "reasks",
)
"""The settings that may be swept; but for the first they are options of a judge."""

LIKELIHOOD = "likelihood"
"""The judge that has a prompt of its own, and so is asked in one way only."""

_OF_LIKELIHOOD = ("judge", "model")

MOST = 64
"""Protocols of a sweep: more are a mistake, or would make the best of them a matter of luck."""


@dataclass(frozen=True, slots=True)
class SweepArm:
    """A protocol of a sweep.

    Attributes:
        name: its settings, in words.
        judge: who judges so.
        settings: what is swept, as it is set here.
    """

    name: str
    judge: Judge
    settings: Mapping[str, Any] = field(default_factory=dict)


def protocols(
    axes: Mapping[str, Sequence[Any]], *, judge: str = "checklist", **options: Any
) -> list[SweepArm]:
    """Make a judge for every combination of settings.

    >>> from heedful.models import ScriptedModel
    >>> arms = protocols({"per_call": [1, None], "votes": [1, 3]}, model=ScriptedModel("MET"))
    >>> [arm.name for arm in arms][:2]
    ['per_call=1 votes=1', 'per_call=1 votes=3']
    """
    for name, values in axes.items():
        if name not in AXES:
            raise UsageError(f"there is no setting {name!r}", hint=f"there are {', '.join(AXES)}")
        if not values:
            raise UsageError(f"{name} has no values", hint=f"write {name}=A,B")
    arms: dict[str, SweepArm] = {}
    for values in product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        names = settings.get("judge", judge)
        common = options
        if names == LIKELIHOOD:
            settings = {key: each for key, each in settings.items() if key in _OF_LIKELIHOOD}
            kept = (*CONNECTION, "model", "body")
            common = {key: each for key, each in options.items() if key in kept}
        name = " ".join(f"{key}={_word(each)}" for key, each in settings.items()) or names
        if name not in arms:
            own = {key: each for key, each in settings.items() if key != "judge"}
            given = cast("JudgeOptions", {**common, **own})
            arms[name] = SweepArm(name, make_judge(names, **given), settings)
        if len(arms) > MOST:
            raise UsageError(f"there are more than {MOST} protocols", hint="sweep fewer settings")
    return list(arms.values())


def _word(value: Any) -> str:
    if value is None:
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(getattr(value, "name", value))
