"""The plan of a CriticBench build, and the questions that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.generate import posed
from heedful.bench.criticbench.items import N_SAMPLES, SAMPLING
from heedful.bench.grading.problems import read_problems
from heedful.core.errors import InputError, UsageError
from heedful.models.base import refuse_models

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from heedful.bench.grading.sandbox import SandboxKind
    from heedful.core.problems import Problem
    from heedful.models.base import Model, Sampling

__all__ = ["BuildPlan"]


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Questions, generators and settings of a build.

    Attributes:
        files: of questions, each in a format that
            :func:`~heedful.bench.grading.problems.read_problems` knows; or ``hf:OWNER/NAME``.
        generators: who answers.
        code_generators: who answers questions for programs only, as the paper's code model does.
        samples: answers to each question from each generator; by default as many as in the paper:
            64, and 100 programs.
        sampling: temperature and so on; the paper has temperature 0.6.
        limit: questions of each file at most.
        seed: of the order of choices.
        sandbox: what programs run in.
        timeout_s: seconds that comparing two answers may take.
    """

    files: Sequence[str | os.PathLike[str]]
    generators: Sequence[Model]
    code_generators: Sequence[Model] = ()
    samples: int | None = None
    sampling: Sampling = SAMPLING
    limit: int | None = None
    seed: int = 0
    sandbox: SandboxKind = "auto"
    timeout_s: float = 5.0

    @property
    def models(self) -> list[Model]:
        """All generators."""
        return [*self.generators, *self.code_generators]

    def generators_of(self, problem: Problem) -> list[Model]:
        """Return the models that answer a problem."""
        return self.models if problem.kind == "code" else [*self.generators]

    def samples_of(self, problem: Problem) -> int:
        """How many answers each of them gives."""
        return N_SAMPLES[problem.kind] if self.samples is None else self.samples


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of all files, and what could not be read.

    Attributes:
        problems: file, line and problem, by the query's id.
        names: the files' names, as ids begin with them.
        unread: rows that could not be read: file, line and what is wrong.
    """

    problems: dict[str, tuple[str, int, Problem]]
    names: dict[str, str]
    unread: list[dict[str, Any]]

    @classmethod
    def read(cls, plan: BuildPlan) -> Questions:
        """Read the questions of a plan."""
        _refuse(plan)
        questions = cls({}, _file_names(plan.files), [])
        for source, name in questions.names.items():
            before = len(questions.problems)
            for attempt in read_problems(source):
                if len(questions.problems) - before == plan.limit:
                    break
                key = f"{name}/{attempt.id}"
                error = attempt.error
                if key in questions.problems:
                    error = f"the id {attempt.id!r} is there twice"
                if attempt.problem is None or error:
                    row = {"file": source, "line": attempt.line, "problem": error}
                    questions.unread.append(row)
                else:
                    problem = posed(attempt.problem, plan.seed)
                    questions.problems[key] = (source, attempt.line, problem)
            if len(questions.problems) == before:
                first = questions.unread[-1]["problem"]
                raise InputError(f"no row is a problem; the last: {first}", where=source)
        return questions


def _refuse(plan: BuildPlan) -> None:
    """Refuse a plan that makes no sense."""
    refuse_models(plan.models, "generator")
    if plan.samples is not None and plan.samples < 1:
        raise UsageError(f"samples is {plan.samples}", hint="give at least 1")
    if plan.samples != 1 and plan.sampling.temperature == 0:
        raise UsageError(
            "all samples at temperature 0 would be the same",
            hint="give a temperature above 0, or one sample",
        )
    if plan.limit is not None and plan.limit < 1:
        raise UsageError(f"the limit is {plan.limit} questions", hint="give at least 1")
    if not plan.files:
        raise UsageError("no file of questions is named", hint="name one, such as gsm8k.jsonl")


def _file_names(files: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Name files as ids shall begin."""
    names: dict[str, str] = {}
    for file in map(str, files):
        name = Path(file).stem
        if file.startswith("hf:"):
            name = file.partition("@")[0].split("/")[-1].replace(":", "-")
        if name in names.values():
            raise UsageError(f"two files are called {name}", where=file, hint="rename one")
        names[file] = name
    return names
