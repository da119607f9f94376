"""The nouns of benchmarks of reasoning: a question with a checkable answer, an attempt at it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heedful.core.noun import Noun


class Problem(Noun):
    """A question whose answer can be checked."""

    id: str
    question: str  # for code, the beginning of the program to complete
    kind: Literal["choice", "open", "code"]
    answers: tuple[str, ...] = ()  # accepted forms of the gold answer, the best one first
    choices: dict[str, str] = Field(default_factory=dict)  # by label, in order
    letters_only: bool = False  # only a choice's label is an answer
    tests: str | None = None  # a program that defines ``check(candidate)``
    entry_point: str | None = None  # the function that the tests are given
    tags: dict[str, str | int | float | bool] = Field(default_factory=dict)


class Solution(Noun):
    """An attempt at a problem."""

    text: str | None = None
    answer: str | None = None  # the final answer that the file says it ends on
    model: str | None = None
    label: bool | None = None  # whether the file says that it is correct; such labels err
    steps: tuple[str, ...] = ()
    first_error: int | None = None  # number of the first wrong step from 1, -1 for none
