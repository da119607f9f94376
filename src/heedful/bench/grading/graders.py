"""Grading solutions: letters, numbers and formulas, words, programs.

An item's grade says whether the solution is correct, the answer that it ends on, what that was
compared with, and how. Where that can't be decided (no answer, a comparison that takes too long,
two sentences), ``correct`` is ``None`` with the reason, and the item is neither correct nor wrong.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heedful.bench.grading.answers import final_answer, stated_answer
from heedful.bench.grading.choices import choice_letter, choice_of_words
from heedful.bench.grading.passages import last_boxed
from heedful.bench.grading.supervise import ResourceLimits
from heedful.core.errors import UsageError
from heedful.core.reasoning import separate

if TYPE_CHECKING:
    from heedful.bench.grading.equality import EqualityResult, Method
    from heedful.bench.grading.math_pool import MathPool
    from heedful.bench.grading.sandbox import Sandbox
    from heedful.core.problems import Problem, Solution
    from heedful.core.reasoning import ReasoningMode

Reading = Literal["solution", "pred"]
"""Input of grading: the solution's text, or the answer that the file says it ends on."""

NO_ANSWER = "no final answer was found"

_ONE_LINE = 12
"""Words of a text that is an answer, and not a solution that leads to one."""


@dataclass(frozen=True, slots=True)
class Grade:
    """Result of grading one solution."""

    correct: bool | None
    extracted: str | None
    gold: str | None
    compared: Method
    reason: str = ""


class Grader:
    """Grades solutions of all kinds of problems; many at a time, from one event loop."""

    def __init__(
        self,
        pool: MathPool,
        sandbox: Sandbox | None = None,
        *,
        limits: ResourceLimits | None = None,
        accept_choice_text: bool | None = None,
        reasoning: ReasoningMode = "strip",
    ) -> None:
        """Put a grader together."""
        self._pool = pool
        self._sandbox = sandbox
        self._limits = limits or ResourceLimits()
        self._accept_choice_text = accept_choice_text
        self._reasoning = reasoning

    async def grade(
        self, problem: Problem, solution: Solution, reading: Reading = "solution"
    ) -> Grade:
        """Grade a solution."""
        text = solution.text if reading == "solution" else solution.answer
        if text is None or not text.strip():
            field = "text" if reading == "solution" else "given answer"
            return self._undecided(problem, f"the solution has no {field}")
        if self._reasoning == "strip":
            text, _ = separate(text)
        if not text:
            return self._undecided(problem, NO_ANSWER)
        if problem.kind == "code":
            return await self._program(problem, text)
        if not problem.answers:
            return self._undecided(problem, "the problem has no gold answer")
        if problem.kind == "choice":
            return await self._choice(problem, text)
        return await self._open(problem, text, reading)

    async def tests_passed(self, problem: Problem, text: str) -> int:
        """Count the unit tests that a wrong program passes."""
        from heedful.bench.grading.programs import completed, passed_tests

        program = completed(problem, text)
        return await asyncio.to_thread(passed_tests, self._boxed(), problem, program, self._limits)

    def _boxed(self) -> Sandbox:
        if self._sandbox is None:
            raise UsageError(
                "a program is graded by running it, and the grader has no sandbox",
                hint="give the grader a sandbox: heedful.bench.grading.sandbox.open_sandbox()",
            )
        return self._sandbox

    def _undecided(self, problem: Problem, reason: str) -> Grade:
        method: Method = {"choice": "letter", "code": "unit test"}.get(problem.kind, "text")  # type: ignore[assignment]
        gold = problem.answers[0] if problem.answers else None
        return Grade(None, None, gold, method, reason)

    async def _choice(self, problem: Problem, text: str) -> Grade:
        gold = problem.answers[0]
        letter = choice_letter(text, problem.choices)
        if letter is not None:
            return Grade(letter == gold, letter, gold, "letter")
        one_line = "\n" not in text.strip() and len(text.split()) <= _ONE_LINE
        answer = last_boxed(text) or stated_answer(text) or (text.strip() if one_line else None)
        accepted = self._accept_choice_text
        accepted = not problem.letters_only if accepted is None else accepted
        meant = choice_of_words(text, problem.choices)
        if accepted:
            meant = meant or await self._choice_of_value(problem, answer)
            if meant is not None:
                return Grade(meant == gold, meant, gold, "text")
        if answer is None and meant is None:
            return Grade(None, None, gold, "letter", NO_ANSWER)
        reason = "the answer names no letter"
        if meant is not None:
            reason += f"; it is the text of choice {meant}"
        return Grade(False, answer, gold, "letter", reason)  # noqa: FBT003 - the verdict

    async def _choice_of_value(self, problem: Problem, answer: str | None) -> str | None:
        """Find the one choice that has an answer's value, as 1/2 has that of 0.5."""
        if answer is None:
            return None
        results = {
            label: await self._pool.compare(words, answer)
            for label, words in problem.choices.items()
        }
        same = [label for label, result in results.items() if result.equal]
        return same[0] if len(same) == 1 else None

    async def _open(self, problem: Problem, text: str, reading: Reading) -> Grade:
        answer = text.strip() if reading == "pred" else final_answer(text)
        if not answer:
            return self._undecided(problem, NO_ANSWER)
        first: EqualityResult | None = None
        for gold in problem.answers:
            result = await self._pool.compare(gold, answer)
            if result.equal:
                return Grade(result.equal, answer, gold, result.method)
            first = first or result
        assert first is not None  # noqa: S101 - there are answers
        return Grade(first.equal, answer, problem.answers[0], first.method, first.reason)

    async def _program(self, problem: Problem, text: str) -> Grade:
        from heedful.bench.grading.programs import completed, tested

        sandbox = self._boxed()
        program = completed(problem, text)
        outcome = await asyncio.to_thread(tested, sandbox, problem, program, self._limits)
        return Grade(outcome.passed, program, None, "unit test", outcome.reason)
