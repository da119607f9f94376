"""Build data like RealCritic's: questions, a pool of models, and a choice of their solutions.

Every model answers every sampled question once, durably, each answer is graded, and
:mod:`heedful.bench.realcritic.build` chooses. The files are in RealCritic's own format.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from heedful.bench.grading.problems import named_sources, posed, read_problems
from heedful.bench.realcritic.critic import GradedAnswer, Prompts, Solver
from heedful.bench.realcritic.run import Grading
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Expense  # noqa: TC001 - pydantic reads annotations at run time
from heedful.core.outputs import atomically, refuse_inputs, write_json
from heedful.core.problems import Problem  # noqa: TC001 - pydantic reads annotations at run time
from heedful.core.version import __version__
from heedful.data.formats.hub import is_named
from heedful.engine.cost import CostSummary
from heedful.engine.inputs import fingerprint
from heedful.engine.job import Job
from heedful.engine.purpose import RESPONSE_TOKENS
from heedful.engine.runner import Item
from heedful.jobs.results import check_run
from heedful.models.base import Sampling, refuse_models

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Unpack

    from heedful.bench.realcritic.critic import GradedAnswer
    from heedful.engine.options import RunOptions
    from heedful.engine.runner import Progress
    from heedful.engine.store import Entry, Store
    from heedful.models import Model, Price

__all__ = ["Pool", "build_realcritic"]

COUNTS = (
    *("sampled", "too_easy", "unusable", "only_correct", "only_wrong", "both"),
    *("chosen_correct", "chosen_wrong"),
    *("over_long", "failed", "undecided"),
)
"""Counts: questions by the solutions they could give, questions chosen, unusable solutions."""


@dataclass(frozen=True, slots=True)
class CandidateSolution:
    """One model's solution of a question."""

    model: str
    answer: GradedAnswer

    @property
    def usable(self) -> bool:
        """Whether it is whole, and known to be correct or wrong."""
        return not self.answer.cut_off and self.answer.grade.correct is not None


def ranking(
    candidates: Iterable[CandidateSolution], models: Sequence[str]
) -> dict[str, float | None]:
    """Rank models by their accuracy on what could be graded, the strongest first."""
    correct: Counter[str] = Counter()
    graded: Counter[str] = Counter()
    for candidate in candidates:
        grade = candidate.answer.grade.correct
        if candidate.answer.cut_off:
            grade = False
        if grade is not None:
            graded[candidate.model] += 1
            correct[candidate.model] += grade
    accuracies = {name: correct[name] / graded[name] if graded[name] else None for name in models}
    return dict(
        sorted(
            accuracies.items(), key=lambda pair: -1.0 if pair[1] is None else pair[1], reverse=True
        )
    )


def choose(
    questions: Mapping[str, Sequence[CandidateSolution]], ranked: Sequence[str], seed: str
) -> tuple[dict[str, CandidateSolution], dict[str, int]]:
    """Choose a solution for as many questions of a set as can be balanced; say why not others."""
    counts = Counter(dict.fromkeys(COUNTS, 0) | {"sampled": len(questions)})
    groups: dict[str, list[str]] = {"only_correct": [], "only_wrong": [], "both": []}
    for key, candidates in questions.items():
        counts["over_long"] += sum(candidate.answer.cut_off for candidate in candidates)
        counts["failed"] += sum(candidate.answer.failed for candidate in candidates)
        counts["undecided"] += sum(
            not candidate.usable and not candidate.answer.cut_off and not candidate.answer.failed
            for candidate in candidates
        )
        group = _group(candidates)
        if group in groups:
            groups[group].append(key)
        else:
            counts[group] += 1
    counts.update({name: len(keys) for name, keys in groups.items()})
    right, wrong = _balanced(groups, random.Random(seed))
    chosen = {}
    for key, candidates in questions.items():
        if key in right:
            chosen[key] = _first(candidates, tuple(reversed(ranked)), correct=True)
        elif key in wrong:
            chosen[key] = _first(candidates, ranked, correct=False)
    counts.update(chosen_correct=len(right), chosen_wrong=len(wrong))
    return chosen, dict(counts)


def _group(candidates: Sequence[CandidateSolution]) -> str:
    grades = {candidate.answer.grade.correct for candidate in candidates if candidate.usable}
    if all(candidate.usable for candidate in candidates) and grades == {True}:
        return "too_easy"
    if not grades:
        return "unusable"
    return "both" if len(grades) > 1 else "only_correct" if True in grades else "only_wrong"


def _balanced(
    groups: Mapping[str, Sequence[str]], rng: random.Random
) -> tuple[frozenset[str], frozenset[str]]:
    """Divide questions evenly between correct and wrong solutions."""
    right, wrong, both = (list(groups[name]) for name in ("only_correct", "only_wrong", "both"))
    for keys in (right, wrong, both):
        rng.shuffle(keys)
    total = len(right) + len(wrong) + len(both)
    half = min(len(right) + len(both), len(wrong) + len(both), total // 2)
    right, wrong = right[:half], wrong[:half]
    for kind in (right, wrong):
        kind += [both.pop() for _ in range(half - len(kind))]
    return frozenset(right), frozenset(wrong)


def _first(
    candidates: Sequence[CandidateSolution], ranked: Sequence[str], *, correct: bool
) -> CandidateSolution:
    """Return the candidate of the first model in the ranking that is of the kind wanted."""
    fit = [
        candidate
        for candidate in candidates
        if candidate.usable and candidate.answer.grade.correct is correct
    ]
    return min(fit, key=lambda candidate: ranked.index(candidate.model))


STORE_VERSION = 2
COMMAND = "bench realcritic build"

CAP = 300
"""Questions of a set at most, as published."""


@dataclass(frozen=True)
class Pool:
    """Sources, models and settings of a build.

    Attributes:
        sources: files of problems, or ``hf:OWNER/NAME``, one a set.
        models: the pool.
        cap: Questions of a set at most; a set with more is sampled.
        seed: Seed of the random choices.
        sampling: temperature and so on of the solutions, one from each model.
        grading: how answers are compared.
    """

    sources: Sequence[str]
    models: Sequence[Model]
    cap: int = CAP
    seed: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    grading: Grading = field(default_factory=Grading)

    def __post_init__(self) -> None:
        """Refuse what makes no sense, before anything is opened."""
        if not self.sources:
            raise UsageError("no file of problems", hint="name one for each set")
        refuse_models(self.models, "model")
        if len(self.models) < 2:  # noqa: PLR2004 - a strongest and a weakest
            raise UsageError(
                "the pool has 1 model",
                hint="name two or more with --model, so that one is the stronger",
            )
        if self.cap < 2:  # noqa: PLR2004 - one correct, one wrong
            raise UsageError(f"--cap is {self.cap}", hint="give at least 2")

    def sets(self) -> dict[str, str]:
        """Return the sources by the name of the set."""
        return named_sources(self.sources)


class _PoolRequest(BaseModel):
    """One model on one question, as a run's store keeps it."""

    model_config = ConfigDict(frozen=True)

    set: str
    model: str
    problem: Problem


class _PoolAnswer(BaseModel):
    model_config = ConfigDict(frozen=True)

    answer: GradedAnswer
    expenses: tuple[Expense, ...] = ()


class PoolJob(Job[_PoolRequest, dict[str, Any]]):
    """Have a pool of models solve problems, and choose solutions to criticise.

    What comes of it is the manifest.
    """

    stem = "realcritic-build"
    assumptions = f"{RESPONSE_TOKENS} a solution; reasoning comes on top"

    def __init__(self, pool: Pool, output: Path) -> None:
        """Read and sample the questions."""
        self._pool = pool
        self._output = output
        self._questions, self._failures = _questions(pool)
        self._solvers: dict[str, Solver] = {}
        self.total = len(pool.models) * sum(map(len, self._questions.values()))

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the solutions and what is chosen of them depend on."""
        pool = self._pool
        return {
            "store": STORE_VERSION,
            "command": COMMAND,
            "input": {
                name: source if is_named(source) else fingerprint(Path(source))
                for name, source in pool.sets().items()
            },
            "models": [dict(model.config) for model in pool.models],
            "sampling": pool.sampling.model_dump(mode="json", exclude_defaults=True),
            "cap": pool.cap,
            "seed": pool.seed,
            "grading": pool.grading.config(),
            "prompts": Prompts.ours().version(),
        }

    def rows(self) -> Iterator[Item[_PoolRequest]]:
        """Give the questions, model by model."""
        for model in self._pool.models:
            for name, rows in self._questions.items():
                for line, problem in rows:
                    request = _PoolRequest(set=name, model=model.name, problem=problem)
                    yield Item(line, f"{name}/{problem.id}@{model.name}", request)

    def encode(self, row: _PoolRequest) -> str:
        """Write a question with its model."""
        return row.model_dump_json(exclude_defaults=True)

    async def work(self, row: _PoolRequest) -> str:
        """Obtain and grade one solution."""
        expenses: list[Expense] = []
        answer = await self._solvers[row.model].solve(row.problem, expenses)
        done = _PoolAnswer(answer=answer, expenses=tuple(expenses))
        return done.model_dump_json(exclude_defaults=True)

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether a solution was not obtained."""
        if entry.output is None:
            return True
        return _PoolAnswer.model_validate_json(entry.output).answer.failed

    def check(self, run: Path | None) -> None:
        """Refuse sets, or a run, whose files would replace the problems they are made of."""
        sources = self._pool.sets()
        for name in sources:
            refuse_inputs(self._output / f"{name}.jsonl", sources.values())
        check_run(run, map(Path, sources.values()))

    @asynccontextmanager
    async def resources(self, *, dry: bool) -> AsyncIterator[None]:
        """Hold the graders; a dry run needs none."""
        pool = self._pool
        async with pool.grading.grader(dry=dry) as grader:
            self._solvers = {m.name: Solver(m, pool.sampling, grader) for m in pool.models}
            yield

    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> dict[str, Any]:
        """Choose, and write the sets and the manifest."""
        del progress
        return _write(self._pool, store, self._output, self._failures, prices)


def build_realcritic(pool: Pool, output: Path, **options: Unpack[RunOptions]) -> dict[str, Any]:
    """Build sets of solutions to criticise, as RealCritic was built."""
    return PoolJob(pool, output).run(**options)


def _questions(pool: Pool) -> tuple[dict[str, list[tuple[int, Problem]]], dict[str, list[str]]]:
    """Draw each set's questions, in file order; name the rows that cannot be read."""
    questions: dict[str, list[tuple[int, Problem]]] = {}
    failures: dict[str, list[str]] = {name: [] for name in pool.sets()}
    for name, source in pool.sets().items():
        rows = _usable(source, failures[name])
        chosen = heapq.nsmallest(pool.cap, rows, key=_random_order(pool.seed, name))
        if not chosen:
            raise InputError(f"no row can be used; the first: {failures[name][0]}")
        in_order = sorted(chosen, key=lambda row: row[0])
        questions[name] = [
            (line, posed(problem, pool.seed, "Answer Choices: ", " ")) for line, problem in in_order
        ]
    return questions, failures


def _usable(source: str, failures: list[str]) -> Iterator[tuple[int, Problem]]:
    """Read the problems that can be graded, with their lines; name the other rows."""
    for attempt in read_problems(source):
        error = attempt.error
        if attempt.problem is not None and attempt.problem.kind == "code":
            error = "a program; RealCritic has answers in a box"
        elif attempt.problem is not None and not attempt.problem.answers:
            error = "no gold answer"
        if error is not None or attempt.problem is None:
            failures.append(f"{source}:{attempt.line}: {error}")
        else:
            yield attempt.line, attempt.problem


def _random_order(seed: int, name: str) -> Callable[[tuple[int, Problem]], bytes]:
    """Order questions at random, whatever their order in the file and the other questions."""

    def rank(row: tuple[int, Problem]) -> bytes:
        return blake2b(json.dumps([seed, name, row[1].id, row[1].question]).encode()).digest()

    return rank


def _write(
    pool: Pool,
    store: Store,
    output: Path,
    failures: Mapping[str, Sequence[str]],
    prices: Mapping[str, Price] | None,
) -> dict[str, Any]:
    """Choose, and write the sets; the manifest last, so that its presence means completion."""
    account = CostSummary(store.usage_records(), prices)
    sets, problems = _answered(store, pool.sets(), account)
    every = [
        candidate
        for by_question in sets.values()
        for own in by_question.values()
        for candidate in own
    ]
    ranked = ranking(every, [model.name for model in pool.models])
    counts = {}
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror}", where=str(output)) from error
    (output / "manifest.json").unlink(missing_ok=True)
    for name, questions in sets.items():
        chosen, counted = choose(questions, tuple(ranked), f"{pool.seed}:{name}")
        counts[name] = {**counted, "unread": len(failures[name])}
        with atomically(output / f"{name}.jsonl") as file:
            for record in _records(name, chosen, questions, problems):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    manifest = {
        "heedful": __version__,
        "sources": pool.sets(),
        "models": ranked,
        "cap": pool.cap,
        "seed": pool.seed,
        "sampling": pool.sampling.model_dump(mode="json", exclude_defaults=True),
        "sets": counts,
        "failures": [failure for own in failures.values() for failure in own],
        "cost": account.result(),
    }
    write_json(output / "manifest.json", manifest)
    return manifest


Candidates = dict[str, list[CandidateSolution]]
"""The solutions of a set, by problem."""


def _answered(
    store: Store, names: Iterable[str], account: CostSummary
) -> tuple[dict[str, Candidates], dict[tuple[str, str], Problem]]:
    """Read the solutions by set and problem, and the problems; count what they cost."""
    sets: dict[str, Candidates] = {name: {} for name in names}
    problems: dict[tuple[str, str], Problem] = {}
    for entry in store.entries():
        if entry.input is None or entry.output is None:
            continue
        request = _PoolRequest.model_validate_json(entry.input)
        done = _PoolAnswer.model_validate_json(entry.output)
        account.add(done.expenses)
        problems[request.set, request.problem.id] = request.problem
        candidates = sets[request.set].setdefault(request.problem.id, [])
        candidates.append(CandidateSolution(request.model, done.answer))
    return sets, problems


def _records(
    name: str,
    chosen: Mapping[str, CandidateSolution],
    questions: Mapping[str, Sequence[CandidateSolution]],
    problems: Mapping[tuple[str, str], Problem],
) -> Iterator[dict[str, Any]]:
    """Write what was chosen as RealCritic has it, with what the whole pool made of the question."""
    for key, candidate in chosen.items():
        problem, grade = problems[name, key], candidate.answer.grade
        record: dict[str, Any] = {"idx": key, "question": problem.question}
        record["gt"] = problem.answers[-1]
        if len(problem.answers) > 1:
            record["answer"] = problem.answers[0]
        if problem.choices:
            labels, texts = list(problem.choices), list(problem.choices.values())
            record["choices"] = {"text": texts, "label": labels}
        yield {
            **record,
            "pred": grade.extracted,
            "model": candidate.model,
            "reasoning": candidate.answer.text,
            "previous_score": [grade.correct],
            "pool": {other.model: other.answer.grade.correct for other in questions[key]},
        }
