"""One response judged on its own, as tests, scorers and metrics need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful import InputError, Reward, Status, UsageError, make_judge, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful import Constraint, Judge, Judgment, Sample

_MARKS = {Status.MET: "met", Status.UNMET: "unmet", Status.NOT_APPLICABLE: "n/a"}


@dataclass(frozen=True, slots=True)
class Following:
    """Says which constraints a response follows, and why.

    Attributes:
        checklist: the constraints.
        judgments: a verdict on each.
    """

    checklist: tuple[Constraint, ...]
    judgments: tuple[Judgment, ...]

    @property
    def fraction(self) -> float | None:
        """The share of applicable constraints met; ``None`` where one is undecided."""
        return self._met() / self._applicable() if self.decided and self._applicable() else None

    @property
    def followed(self) -> bool | None:
        """Whether all constraints are met; ``None`` where an undecided one decides it."""
        if any(each.status is Status.UNMET for each in self.judgments):
            return False
        return True if self.decided and self._applicable() else None

    @property
    def decided(self) -> bool:
        """Whether every verdict is decided."""
        return all(each.status.settled for each in self.judgments)

    def counts(self) -> dict[str, int]:
        """Count the constraints: ``met``, ``unmet`` and ``undecided``."""
        met, applicable = self._met(), self._applicable()
        unmet = sum(each.status is Status.UNMET for each in self.judgments)
        return {"met": met, "unmet": unmet, "undecided": applicable - met - unmet}

    def text(self, *, only_problems: bool = False) -> str:
        """Write a line for each constraint: its verdict, its text and the reason."""
        lines = []
        for constraint, judgment in zip(self.checklist, self.judgments, strict=True):
            if only_problems and judgment.status in _MARKS.keys() - {Status.UNMET}:
                continue
            mark = _MARKS.get(judgment.status, "undecided")
            reason = f"  ({judgment.explanation})" if judgment.explanation else ""
            lines.append(f"{mark:<9}  {constraint.text}{reason}")
        return "\n".join(lines)

    def _met(self) -> int:
        return sum(each.status is Status.MET for each in self.judgments)

    def _applicable(self) -> int:
        return sum(each.status is not Status.NOT_APPLICABLE for each in self.judgments)


class Follower:
    """Judges single responses; equal requests to a model are made once.

    >>> judged = Follower().judge({"checklist": ["No commas."], "response": "One, two."})
    >>> judged.followed, judged.fraction
    (False, 0.0)
    """

    def __init__(self, judge: Judge | str | None = None, **options: Any) -> None:
        """Choose the judge as :func:`heedful.evaluate` does; checks come first in any case."""
        names = judge or ("compiled,checklist" if options.get("model") else "compiled")
        self._reward = Reward(make_judge(names, **options), gates=())

    def judge(self, row: Mapping[str, Any]) -> Following:
        """Judge a row as files hold it: ``prompt``, ``checklist``, ``response``.

        Raises:
            UsageError: the row cannot be read.
        """
        sample = _sample(row)
        (rewarded,) = self._reward.score_sync([sample])
        return Following(sample.checklist, rewarded.critique.judgments)

    async def judge_async(self, row: Mapping[str, Any]) -> Following:
        """Do what :meth:`judge` does, inside a running event loop."""
        sample = _sample(row)
        (rewarded,) = await self._reward.score([sample])
        return Following(sample.checklist, rewarded.critique.judgments)


def _sample(row: Mapping[str, Any]) -> Sample:
    try:
        (sample,) = read([row])
    except InputError as error:
        raise UsageError(error.what) from error
    if not sample.checklist:
        raise UsageError("the row has no constraint", hint="give prompt, checklist and response")
    return sample


def constraints_of(value: object) -> Sequence[Any]:
    """Return the constraints of a field: a list, or a text with one on each line."""
    if isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return list(value) if isinstance(value, list | tuple) else []
