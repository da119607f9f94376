"""The nouns of benchmarks of reasoning: a question with a checkable answer, an attempt at it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heedful.core.noun import Noun

__all__ = ["Problem", "Solution"]


class Problem(Noun):
    """A question whose answer can be checked.

    Attributes:
        id: unique in its file.
        question: the question; for code, the beginning of the program to complete.
        kind: ``choice`` (a letter), ``open`` (a number, a formula, a few words) or ``code``.
        answers: accepted forms of the gold answer, the best one first; one is enough.
        choices: the labels of a multiple-choice question and what they stand for, in order.
        letters_only: whether only a choice's label is an answer, as in the benchmark's own grader.
        tests: for code, a program that defines ``check(candidate)``.
        entry_point: for code, the name of the function that the tests are given.
        tags: what breakdowns go by (benchmark, set, level, subject, …).
    """

    id: str
    question: str
    kind: Literal["choice", "open", "code"]
    answers: tuple[str, ...] = ()
    choices: dict[str, str] = Field(default_factory=dict)
    letters_only: bool = False
    tests: str | None = None
    entry_point: str | None = None
    tags: dict[str, str | int | float | bool] = Field(default_factory=dict)


class Solution(Noun):
    """An attempt at a problem.

    Attributes:
        text: the whole solution, word for word.
        answer: the final answer that the file says it ends on.
        model: who wrote it.
        label: whether the file says that it is correct. Such labels are made by code and err.
        steps: the text step by step, where the file has it so.
        first_error: the number of the first wrong step from 1 as people marked it, -1 for none.
    """

    text: str | None = None
    answer: str | None = None
    model: str | None = None
    label: bool | None = None
    steps: tuple[str, ...] = ()
    first_error: int | None = None
