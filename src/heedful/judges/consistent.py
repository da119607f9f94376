"""Verdicts that cannot be right are not accepted: those that code or their own words contradict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Judgment, Status
from heedful.judges.compiled import Compiled
from heedful.judges.compose import Cascade
from heedful.judges.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Critique, Sample
    from heedful.judges.base import Judge


class Consistent:
    """Leaves undecided what a judge decides against code, or against its own explanation.

    Code's verdict isn't taken in the place of the judge's: ``rules,compiled,checklist`` asks code
    first, and this is for a judge that is asked alone, or is a member of a panel.
    """

    def __init__(self, judge: Judge) -> None:
        """Watch over a judge."""
        self.watched = judge
        self._code = Cascade(Rules(), Compiled())

    @property
    def name(self) -> str:
        """The judge's name."""
        return self.watched.name

    @property
    def config(self) -> Mapping[str, Any]:
        """The judge's, and that of the code that may contradict it."""
        return {**self.watched.config, "contradictions": dict(self._code.config)}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a sample; contradicted verdicts are ``unparsed``, and say which they were."""
        critique = await self.watched.judge(sample, requested)
        code = await self._code.judge(sample, requested)
        pairs = zip(critique.judgments, code.judgments, strict=True)
        return critique.model_copy(update={"judgments": tuple(_accepted(*pair) for pair in pairs)})


def _accepted(said: Judgment, code: Judgment) -> Judgment:
    if not said.status.decided:
        return said
    if code.status.decided and code.status is not said.status:
        why = f"code finds it {code.status} ({code.explanation})"
    elif (said.model_extra or {}).get("contradiction"):
        why = "its explanation says the opposite"
    else:
        return said
    return Judgment.model_validate(
        {
            "status": Status.UNPARSED,
            "explanation": f"not accepted: {said.status}, and {why}; {said.explanation}",
            "judge": said.judge,
            "contradiction": True,
        }
    )
