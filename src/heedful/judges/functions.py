"""Judges that users have at hand: a function of a sample, or of a sample and a constraint."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import UsageError
from heedful.core.nouns import Critique, Judgment, Status
from heedful.core.text import amount
from heedful.models.functions import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.judges.base import Judge

_OF_CONSTRAINT = 2
"""Parameters of a function that decides one constraint."""


def as_judge(given: object) -> Judge:
    """Take what a user calls a judge for one: an object with ``judge``, or a function.

    Raises:
        UsageError: it is neither.
    """
    if callable(getattr(given, "judge", None)) and not isinstance(given, type):
        if not hasattr(given, "config") or not hasattr(given, "name"):
            raise UsageError(
                f"the judge {type(given).__name__} has no name or no config",
                hint="give both: config is all that its verdicts depend on, as JSON",
            )
        return cast("Judge", given)
    if callable(given) and not isinstance(given, type):
        return FunctionJudge(given)
    raise UsageError(
        f"the judge is {given!r:.80}, which has no method judge",
        hint="give names, such as 'rules,compiled', a judge, such as Cascade(Rules(), …), or a "
        "function (sample, constraint) that returns whether it is met",
    )


class FunctionJudge:
    """Judges by a function, sync or async.

    With one parameter it gets the sample and returns a list with a verdict on each constraint; with
    two it gets the sample and a constraint and returns one verdict. A verdict is ``True``,
    ``False``, ``None`` for undecided, a ``Judgment``, or a pair of a verdict and its explanation.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._each = len(inspect.signature(function).parameters) == _OF_CONSTRAINT
        self.config: Mapping[str, Any] = {"judge": identity(function)}
        self.name: str = self.config["judge"]["name"]

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Call the function; an exception leaves what it was called for undecided."""
        places = range(len(sample.checklist)) if requested is None else requested
        if self._each:
            calls = (self._call(sample, sample.checklist[place]) for place in places)
            return Critique(judgments=tuple([self._judgment(await call) for call in calls]))
        verdicts = await self._call(sample)
        count = len(sample.checklist)
        if isinstance(verdicts, Exception):
            verdicts = [verdicts] * count
        elif not isinstance(verdicts, list):
            verdicts = [verdicts]  # a checklist of one
        if len(verdicts) != count:
            given = f"{amount(len(verdicts), 'verdict')} on {amount(count, 'constraint')}"
            verdicts = [ValueError(f"it returned {given}; give a list")] * count
        return Critique(judgments=tuple(self._judgment(verdicts[place]) for place in places))

    async def _call(self, *arguments: Any) -> Any:
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(*arguments)
            result = await asyncio.to_thread(self._function, *arguments)
            return await result if inspect.isawaitable(result) else result
        except Exception as error:  # noqa: BLE001 - any of the user's own
            return error

    def _judgment(self, verdict: Any) -> Judgment:
        explanation = ""
        if isinstance(verdict, tuple) and len(verdict) == len(("verdict", "explanation")):
            verdict, explanation = verdict[0], str(verdict[1])
        if isinstance(verdict, Judgment):
            return verdict
        if isinstance(verdict, Exception):
            explanation = f"{type(verdict).__name__}: {verdict}"
            return Judgment(status=Status.FAILED, explanation=explanation, judge=self.name)
        if hasattr(verdict, "item"):  # a boolean of numpy
            verdict = verdict.item()
        if not isinstance(verdict, bool | None):
            explanation = f"the judge returned {verdict!r:.60}; give True, False or None"
            return Judgment(status=Status.FAILED, explanation=explanation, judge=self.name)
        status = {True: Status.MET, False: Status.UNMET, None: Status.UNPARSED}[verdict]
        return Judgment(status=status, explanation=explanation, judge=self.name)
