"""One critic and one problem: the direct answer, the critiques in rounds, each graded.

This module decides which requests are made, in which order. The run caches their replies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from heedful.bench.grading.passages import last_boxed
from heedful.bench.realcritic.prompts import Prompts, Review, read_check, read_review
from heedful.core.errors import ModelError, StopRunError, UsageError
from heedful.core.nouns import Expense  # noqa: TC001 - pydantic reads annotations at run time
from heedful.core.problems import Problem, Solution
from heedful.engine.call_cache import complete, expense
from heedful.engine.purpose import EXPLAINED_TOKENS, RESPONSE_TOKENS, Purpose
from heedful.judges.prompts import Shown
from heedful.models.base import Completion
from heedful.models.replies import without_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.bench.grading.graders import Grader
    from heedful.core.nouns import Message
    from heedful.models.base import Model, Sampling

Mode = Literal["direct", "self", "cross"]
"""A critic's task: its own solution, critiques of that, or critiques of the given one."""

Paradigm = Literal["self", "cross"]
"""Whose solution is criticised: the critic's own, or the one that the file gives."""

CRITIQUE_TOKENS = 2 * RESPONSE_TOKENS
"""Estimated length of a critique with its correction: it goes through a solution and writes one."""

CUT_OFF = "the reply was cut off before its answer (give --max-completion-tokens more)"
NO_CORRECTION = "the reply has no correction with an answer in \\boxed{}"


class _CriticRecord(BaseModel):
    """Immutable; a field that does not exist is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SolutionVerdict(_CriticRecord):
    """A grade, as it is stored; see :class:`heedful.bench.grading.graders.Grade`."""

    correct: bool | None = None
    extracted: str | None = None
    gold: str | None = None
    compared: str | None = None
    reason: str = ""


class GradedAnswer(_CriticRecord):
    """A critic's own solution."""

    text: str | None = None
    cut_off: bool = False
    failed: bool = False
    grade: SolutionVerdict = SolutionVerdict()


class Round(GradedAnswer):
    """One critique, and the correction that it led to, which ``grade`` is about."""

    verdict: bool | None = None  # whether the critic calls the solution correct
    first_error: int | None = None  # from 1; -1: none
    qualified: bool | None = None  # by the post-check: no shortcut was taken
    checked: str | None = None


class RealCriticItem(_CriticRecord):
    """One problem with the solution that a file gives for it."""

    set: str
    problem: Problem
    solution: Solution


class RealCriticOutcome(_CriticRecord):
    """All that came of one critic on one item."""

    given: SolutionVerdict
    direct: GradedAnswer | None = None
    self_rounds: tuple[Round, ...] = ()
    cross_rounds: tuple[Round, ...] = ()
    expenses: tuple[Expense, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a call failed."""
        return any(
            answer.failed
            for answer in (self.direct, *self.self_rounds, *self.cross_rounds)
            if answer
        )

    def rounds(self, paradigm: Paradigm) -> tuple[Round, ...]:
        """Return the critiques of the critic's own solution, or of the given one."""
        return self.self_rounds if paradigm == "self" else self.cross_rounds


@dataclass
class Solver:
    """A model that solves and criticises, with what grades it."""

    model: Model
    sampling: Sampling
    grader: Grader | None  # None for an estimate, whose calls don't depend on grades
    prompts: Prompts = field(default_factory=Prompts.ours)

    async def solve(self, problem: Problem, spent: list[Expense]) -> GradedAnswer:
        """Obtain a solution, and grade it."""
        reply = await self.ask(self.prompts.direct(problem), RESPONSE_TOKENS, spent)
        if isinstance(reply, ModelError):
            return GradedAnswer(failed=True, grade=SolutionVerdict(reason=str(reply)))
        reply = without_reasoning(reply)
        cut = reply.cut_off
        grade = await self.grade(problem, reply.text, cut_off=cut)
        return GradedAnswer(text=reply.text, cut_off=cut, grade=grade)

    async def grade(
        self, problem: Problem, text: str | None, *, cut_off: bool = False
    ) -> SolutionVerdict:
        """Grade a text; one that was cut off has an answer only in a box."""
        if cut_off and last_boxed(text or "") is None:
            return SolutionVerdict(reason=CUT_OFF)
        if text is None:
            return SolutionVerdict(reason=NO_CORRECTION)
        if self.grader is None:
            return SolutionVerdict()
        try:
            grade = await self.grader.grade(problem, Solution(text=text))
        except UsageError as error:  # the same for all rows, and better known before any call
            raise StopRunError(error.what, hint=error.hint) from error
        fields = ("correct", "extracted", "gold", "compared", "reason")
        return SolutionVerdict(**{field: getattr(grade, field) for field in fields})

    async def ask(
        self, messages: Sequence[Message], tokens: int, spent: list[Expense], role: str = ""
    ) -> Completion | ModelError:
        """Ask the model; a call that failed for good is returned as its error."""
        purpose = Purpose(f"{self.model.name}{role}", tokens=tokens)
        try:
            completion = await complete(self.model, messages, self.sampling, purpose=purpose)
        except ModelError as error:
            if self.grader is not None:
                return error
            return Completion(text=f"{len(messages)}" + "word" * tokens)  # other rounds, other text
        spent.append(expense(completion, purpose))
        return completion


@dataclass
class Critic:
    """Puts one model through the modes."""

    solver: Solver
    modes: frozenset[Mode]
    rounds: int
    checker: Solver | None = None

    async def work(self, item: RealCriticItem) -> RealCriticOutcome:
        """Do all that is to be done on one item."""
        spent: list[Expense] = []
        problem = item.problem
        given = await self.solver.grade(problem, item.solution.text or "")
        direct = None
        own: tuple[Round, ...] = ()
        cross: tuple[Round, ...] = ()
        if self.modes & {"direct", "self"}:
            direct = await self.solver.solve(problem, spent)
        if "self" in self.modes and direct is not None:
            own = await self._rounds(problem, Solution(text=direct.text), spent)
        if "cross" in self.modes:
            cross = await self._rounds(problem, item.solution, spent)
        return RealCriticOutcome(
            given=given,
            direct=direct,
            self_rounds=own,
            cross_rounds=cross,
            expenses=tuple(spent),
        )

    async def _rounds(
        self, problem: Problem, solution: Solution, spent: list[Expense]
    ) -> tuple[Round, ...]:
        """Have a solution criticised again and again; after a failure no round can follow."""
        if not (solution.text or "").strip():
            reason = "the row has no solution to criticise"
            return (Round(grade=SolutionVerdict(reason=reason)),) * self.rounds
        messages = self.solver.prompts.critique(problem, solution)
        done: list[Round] = []
        for _ in range(self.rounds):
            reply = await self.solver.ask(messages, CRITIQUE_TOKENS, spent)
            if isinstance(reply, ModelError):
                failure = Round(failed=True, grade=SolutionVerdict(reason=str(reply)))
                return (*done, *(failure,) * (self.rounds - len(done)))
            done.append(await self._round(problem, solution, reply, spent))
            messages = [*messages, *self.solver.prompts.retry(reply.text)]
        return tuple(done)

    async def _round(
        self, problem: Problem, solution: Solution, reply: Completion, spent: list[Expense]
    ) -> Round:
        shown = Shown(problem.question, solution.text or "")
        cut = reply.cut_off  # then what it says may be the solution's, which it quotes
        review = Review(None, None, None) if cut else read_review(reply.text, shown)
        checked = None
        if self.checker is not None and reply.text.strip():
            messages = self.solver.prompts.check(problem, solution, reply.text)
            checked = await self.checker.ask(messages, EXPLAINED_TOKENS, spent, " (post-check)")
        judged = checked if isinstance(checked, Completion) and not checked.cut_off else None
        return Round(
            text=reply.text,
            cut_off=cut,
            failed=isinstance(checked, ModelError),
            grade=await self.solver.grade(problem, review.correction, cut_off=cut),
            verdict=review.verdict,
            first_error=review.first_error,
            qualified=read_check(judged.text, Shown(*shown.texts, reply.text)) if judged else None,
            checked=judged.text if judged else None,
        )
