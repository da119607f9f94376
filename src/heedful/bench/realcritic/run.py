"""RealCritic as a durable run: critics by items, and what came of each.

A run is one directory, and ``run.sqlite`` in it the truth: every reply as it came, and what was
made of it. Each reply is requested once; modes, rounds, the post-check and the grading may change
from one call of the same run to the next, and only what is new is requested.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from heedful.bench.grading.graders import Grader, named_sets
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.problems import read_problems
from heedful.bench.realcritic.critic import (
    CRITIQUE_TOKENS,
    Critic,
    Mode,
    Prompts,
    RealCriticItem,
    RealCriticOutcome,
    Solver,
)
from heedful.core.errors import UsageError
from heedful.core.outputs import atomically, write_json
from heedful.core.version import __version__
from heedful.engine import runner
from heedful.engine.cost import CostSummary
from heedful.engine.inputs import fingerprint
from heedful.engine.job import Job
from heedful.engine.purpose import EXPLAINED_TOKENS, RESPONSE_TOKENS
from heedful.engine.reader import SUMMARY
from heedful.jobs.results import PROBLEMS_LISTED, check_run
from heedful.jobs.saved_run import SavedRun
from heedful.models.base import Sampling, refuse_models

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from heedful.core.problems import Problem, Solution
    from heedful.engine.options import RunOptions
    from heedful.engine.runner import Progress
    from heedful.engine.store import Entry, Store
    from heedful.models import Model, Price

__all__ = ["Grading", "RealCriticPlan", "Results", "run_realcritic"]


@dataclass(frozen=True, slots=True)
class RealCriticRow:
    """One critic on one item."""

    line: int
    id: str
    critic: str
    item: RealCriticItem | None
    outcome: RealCriticOutcome | None = None
    problem: str | None = None


class _CriticRequest(RealCriticItem):
    """An item with its critic, as a run's store holds it."""

    critic: str


class Results:
    """A run, finished or not, read from its store."""

    def __init__(
        self,
        run: Store | SavedRun,
        about: Mapping[str, Any],
        progress: Progress | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self._run = run
        self._prices = prices
        self.directory = run.directory
        self.about = about
        self.progress = progress

    @classmethod
    def open(cls, directory: Path) -> Results:
        """Open a run that is there."""
        run = SavedRun.open(directory, commands=(COMMAND,), finished=False)
        return cls(run, run.about)

    def __iter__(self) -> Iterator[RealCriticRow]:
        """Yield the rows in order, critic by critic."""
        return self._run.rows(_row)

    def summary(self) -> dict[str, Any]:
        """Say what was done, what failed, and what it cost."""
        rows: Counter[str] = Counter(done=0, incomplete=0, failed=0, unread=0)
        problems: list[dict[str, Any]] = []
        account = CostSummary(self._run.usage_records(), self._prices)
        for row in self:
            problem = row.problem
            if row.outcome is not None:
                account.add(row.outcome.expenses)
                problem = _failure(row.outcome)
                rows["incomplete" if problem else "done"] += 1
            else:
                rows["failed" if row.item else "unread"] += 1
            if problem and len(problems) < PROBLEMS_LISTED:
                problems.append({"line": row.line, "id": row.id, "problem": problem})
        summary = {**self.about, "rows": dict(rows), "problems": problems}
        return {**summary, "cost": account.result()} if account else summary

    def write(self) -> None:
        """Write ``results.jsonl`` and ``summary.json`` into the run's directory."""
        assert self.directory is not None  # noqa: S101 - such runs have one
        with atomically(self.directory / "results.jsonl") as file:
            for row in self:
                file.write(json.dumps(_line(row), ensure_ascii=False) + "\n")
        write_json(self.directory / SUMMARY, self.summary())


class RealCriticJob(Job[_CriticRequest, Results]):
    """Have critics criticise and correct solutions, and grade what they come to."""

    stem = "realcritic"
    assumptions = (
        f"{RESPONSE_TOKENS} a solution, {CRITIQUE_TOKENS} a critique with its correction, "
        f"{EXPLAINED_TOKENS} a post-check; reasoning comes on top"
    )

    def __init__(self, plan: RealCriticPlan) -> None:
        """Take the plan."""
        self._plan = plan
        self._critics: dict[str, Critic] = {}

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the replies depend on."""
        plan = self._plan
        return {
            "store": STORE_VERSION,
            "command": COMMAND,
            "input": {name: fingerprint(path) for path, name in named_sets(plan.files).items()},
            "critics": [dict(model.config) for model in plan.critics],
            "sampling": plan.sampling.model_dump(mode="json", exclude_defaults=True),
            "prompts": plan.prompts.version(),
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        """Modes, rounds, post-check and grading: replies that are there serve others too."""
        return self._plan.extent()

    def rows(self) -> Iterator[runner.Item[_CriticRequest]]:
        """Give the items, critic by critic, so that one is done before the next begins."""
        for model in self._plan.critics:
            for path, name in named_sets(self._plan.files).items():
                for attempt in read_problems(path):
                    ident = f"{name}/{attempt.id}@{model.name}"
                    problem, solution = attempt.problem, attempt.solution
                    error = attempt.error or _unfit(problem, solution)
                    if error is not None or problem is None or solution is None:
                        yield runner.Item(attempt.line, ident, None, error or "not read")
                        continue
                    request = _CriticRequest(
                        set=name, problem=problem, solution=solution, critic=model.name
                    )
                    yield runner.Item(attempt.line, ident, request)

    def encode(self, row: _CriticRequest) -> str:
        """Write an item with its critic."""
        return row.model_dump_json(exclude_defaults=True)

    async def work(self, row: _CriticRequest) -> str:
        """Ask one critic about one item; what came of it."""
        outcome = await self._critics[row.critic].work(row)
        return outcome.model_dump_json(exclude_defaults=True)

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether a call of a row failed."""
        done = RealCriticOutcome.model_validate_json(entry.output) if entry.output else None
        return entry.failure is not None or (done is not None and done.failed)

    def check(self, run: Path | None) -> None:
        """Refuse a run without a directory, or one that would replace what it reads."""
        if run is None:
            raise UsageError("the run has no directory", hint="name one with run")
        check_run(run, self._plan.files)

    def begin(self, store: Store) -> None:
        """Record how the numbers come about."""
        store.set_meta("about", self._plan.about())

    @asynccontextmanager
    async def resources(self, *, dry: bool) -> AsyncIterator[None]:
        """Hold the graders; a dry run needs none."""
        plan = self._plan
        async with plan.grading.grader(dry=dry) as grader:

            def solver(model: Model) -> Solver:
                return Solver(model, plan.sampling, grader, plan.prompts)

            checker = solver(plan.checker) if plan.checker else None
            self._critics = {
                model.name: Critic(solver(model), frozenset(plan.modes), plan.rounds, checker)
                for model in plan.critics
            }
            yield

    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> Results:
        """Write the results."""
        results = Results(store, self._plan.about(), progress, prices)
        results.write()
        return results


def run_realcritic(plan: RealCriticPlan, **options: Unpack[RunOptions]) -> Results:
    """Have critics criticise and correct solutions, and grade what they come to."""
    return RealCriticJob(plan).run(**options)


def _row(entry: Entry) -> RealCriticRow:
    """Read what came of one critic on one item."""
    key = entry.id or f"line-{entry.line}"
    if entry.input is None:
        return RealCriticRow(entry.line, key, "", None, problem=entry.problem or "not read")
    request = _CriticRequest.model_validate_json(entry.input)
    item = RealCriticItem(set=request.set, problem=request.problem, solution=request.solution)
    if entry.output is None:
        problem = entry.problem or entry.failure or "not requested yet"
        return RealCriticRow(entry.line, key, request.critic, item, problem=problem)
    return RealCriticRow(
        entry.line, key, request.critic, item, RealCriticOutcome.model_validate_json(entry.output)
    )


def _unfit(problem: Problem | None, solution: Solution | None) -> str | None:
    """Say why a row is nothing to criticise."""
    if problem is not None and problem.kind == "code":
        return "a program; RealCritic has answers in a box (see heedful bench criticbench)"
    if solution is None or not (solution.text or "").strip():
        return "no solution to criticise (RealCritic's rows have one in reasoning)"
    return None


def _failure(outcome: RealCriticOutcome) -> str | None:
    """Name the first call that failed."""
    for answer in (outcome.direct, *outcome.self_rounds, *outcome.cross_rounds):
        if answer is not None and answer.failed:
            return answer.grade.reason or "the post-check failed"
    return None


def _line(row: RealCriticRow) -> dict[str, Any]:
    """Write one row as ``results.jsonl`` has it: the item's facts, then all that came of it."""
    if row.item is None:
        return {"id": row.id, "line": row.line, "problem": row.problem}
    known = {
        "id": row.id,
        "set": row.item.set,
        "item": row.item.problem.id,
        "line": row.line,
        "critic": row.critic,
        "generator": row.item.solution.model,
        "label": row.item.solution.label,
    }
    if row.item.solution.first_error is not None:
        known["first_error"] = row.item.solution.first_error
    if row.outcome is None:
        return {**known, "problem": row.problem}
    return {**known, **row.outcome.model_dump(mode="json", exclude={"expenses"})}


STORE_VERSION = 2
"""Raised when a run made by an older heedful can no longer be resumed."""

COMMAND = "bench realcritic run"

MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Grading:
    """How answers are compared.

    Attributes:
        timeout_s: Seconds that comparing one answer may take; longer is undecided.
        workers: Processes that compare answers. Default: one per core.
        accept_choice_text: Take a choice in words for its letter.
    """

    timeout_s: float = 5.0
    workers: int | None = None
    accept_choice_text: bool = False

    def config(self) -> dict[str, Any]:
        """All that a grade depends on."""
        return {"timeout_s": self.timeout_s, "accept_choice_text": self.accept_choice_text}

    @asynccontextmanager
    async def grader(self, *, dry: bool) -> AsyncIterator[Grader | None]:
        """Hold a grader; a dry run needs none."""
        if dry:
            yield None
            return
        async with MathPool(self.workers, timeout_s=self.timeout_s) as pool:
            yield Grader(pool, accept_choice_text=self.accept_choice_text)


@dataclass(frozen=True)
class RealCriticPlan:
    """Files, critics and settings of a run.

    Attributes:
        files: RealCritic's files, one a set.
        critics: the models, each under its own name.
        modes: of :data:`MODES`; ``self`` includes ``direct``.
        rounds: Critiques of each solution, the history kept; from 2 on, iterative critique.
        checker: a model that marks critiques which took a shortcut.
        sampling: temperature and so on; by default temperature 0.
        grading: how answers are compared.
        prompts: ours, or a user's own.
    """

    files: Sequence[Path]
    critics: Sequence[Model]
    modes: Sequence[Mode] = MODES
    rounds: int = 1
    checker: Model | None = None
    sampling: Sampling = field(default_factory=Sampling)
    grading: Grading = Grading()
    prompts: Prompts = field(default_factory=Prompts.ours)

    def __post_init__(self) -> None:
        """Refuse what makes no sense, before anything is opened."""
        if not self.files:
            raise UsageError("no file to run on", hint="name RealCritic's files, one a set")
        refuse_models(self.critics, "critic")
        if self.rounds < 1:
            raise UsageError(f"there are {self.rounds} rounds", hint="give at least 1")
        if not self.modes or not set(self.modes) <= set(MODES):
            shown = ",".join(self.modes)
            raise UsageError(f"the modes are {shown!r}", hint=f"name some of {', '.join(MODES)}")

    def extent(self) -> dict[str, Any]:
        """How much is done with the replies: this may change within a run."""
        return {
            "modes": [mode for mode in MODES if mode in self.modes],
            "rounds": self.rounds,
            "checker": None if self.checker is None else dict(self.checker.config),
            "grading": self.grading.config(),
        }

    def about(self) -> dict[str, Any]:
        """How the numbers come about, for people."""
        return {
            "heedful": __version__,
            "input": [str(path) for path in self.files],
            "sets": list(named_sets(self.files).values()),
            "critics": [model.name for model in self.critics],
            **self.extent(),
            "checker": None if self.checker is None else self.checker.name,
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
        }
