"""Building a benchmark as CriticBench's: generators answer, code annotates, triplets are selected.

A build is one run. Its store caches the generators' answers, so selecting again by another ranking
or certainty costs nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.generate import (
    PROMPTS,
    BuildPlan,
    GenerationRequest,
    Questions,
    Sampler,
)
from heedful.bench.criticbench.items import (
    CERTAINTIES,
    N_SAMPLES,
    SAMPLES,
    TRIPLETS,
    Certainty,
    Samples,
    Triplet,
)
from heedful.bench.criticbench.select import RANKINGS, select
from heedful.bench.grading.graders import Grader
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.sandbox import open_sandbox
from heedful.core.errors import UsageError
from heedful.core.outputs import atomically, write_json
from heedful.core.version import __version__
from heedful.engine.cost import CostSummary
from heedful.engine.inputs import fingerprint
from heedful.engine.job import Job
from heedful.engine.purpose import RESPONSE_TOKENS
from heedful.engine.runner import Item, Progress
from heedful.engine.saved_run import SUMMARY
from heedful.jobs.results import PROBLEMS_LISTED, check_output, check_run
from heedful.judges.prompts.template import shipped, version
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
    from typing import Unpack

    from pydantic import BaseModel

    from heedful.engine.options import RunOptions
    from heedful.engine.store import Entry, Store
    from heedful.models.pricing import Price

__all__ = ["Built", "build"]

ANNOTATION = 1
"""Raised when the same answers would be annotated otherwise."""


@dataclass(frozen=True, slots=True)
class Built:
    """A benchmark that was built."""

    triplets: list[Triplet]
    summary: dict[str, Any]
    progress: Progress
    directory: Path | None


class BuildJob(Job[GenerationRequest, Built]):
    """Obtain answers from generators, annotate them by code, and select triplets."""

    assumptions = f"{RESPONSE_TOKENS} an answer; reasoning comes on top"
    stem = "criticbench-build"

    def __init__(
        self,
        plan: BuildPlan,
        *,
        certainty: str = "log_ratio",
        ranking: str = "separating",
        queries: int | None = None,
        output: str | os.PathLike[str] | None = None,
    ) -> None:
        """Read the questions; see :func:`build`."""
        _refuse(certainty, CERTAINTIES, "certainty")
        _refuse(ranking, RANKINGS, "ranking")
        self._certainty = certainty
        self._ranking = ranking
        if queries is not None and queries < 1:
            raise UsageError(f"{queries} queries are to be selected", hint="give at least 1")
        if self._ranking == "separating" and queries is not None and len(plan.models) == 1:
            raise UsageError(
                "one generator cannot tell strong from weak",
                hint="name further models, or rank by certain or uncertain",
            )
        self._plan = plan
        self._queries = queries
        self._output = None if output is None else Path(output)
        if self._output is not None:
            check_output(self._output, None, plan.files)
        self._questions = Questions.read(plan)
        self._sampler: Sampler | None = None
        self._sandbox: str | None = None
        problems = [problem for _, _, problem in self._questions.problems.values()]
        self.calls_per_row = max(map(plan.samples_of, problems))
        self.total = sum(len(plan.generators_of(problem)) for problem in problems)

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the answers depend on."""
        return _config(self._plan)

    def rows(self) -> Iterator[Item[GenerationRequest]]:
        """Give each question with each generator."""
        number = 0
        for query, (file, line, problem) in self._questions.problems.items():
            task = str(problem.tags.get("benchmark", problem.kind))
            for model in self._plan.generators_of(problem):
                number += 1
                samples = Samples(
                    query=query,
                    task=task,
                    generator=model.name,
                    problem=problem,
                    file=Path(file).name,
                    line=line,
                )
                n_samples = self._plan.samples_of(problem)
                request = GenerationRequest(samples, model, n_samples)
                yield Item(number, f"{query}@{model.name}", request)

    def encode(self, row: GenerationRequest) -> str:
        """Write a question without its answers."""
        return row.samples.model_dump_json(exclude_defaults=True)

    async def work(self, row: GenerationRequest) -> str:
        """Obtain and annotate the answers to one question."""
        assert self._sampler is not None  # noqa: S101 - resources made it
        return (await self._sampler.sample(row)).model_dump_json(exclude_defaults=True)

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether some answer to a question failed."""
        lacking = entry.output is not None and json.loads(entry.output).get("failed")
        return entry.failure is not None or bool(lacking)

    def check(self, run: Path | None) -> None:
        """Refuse a run whose own files would replace what is read."""
        check_run(run, map(Path, self._plan.files))

    @asynccontextmanager
    async def resources(self, *, dry: bool) -> AsyncIterator[None]:
        """Hold the graders: a pool that compares answers, and a sandbox for programs."""
        plan = self._plan
        programs = any(
            problem.kind == "code" for _, _, problem in self._questions.problems.values()
        )
        box = open_sandbox(plan.sandbox) if programs and not dry else None
        self._sandbox = None if box is None else box.name
        async with MathPool(timeout_s=plan.timeout_s) as pool:
            self._sampler = Sampler(plan.sampling, Grader(pool, box), pool)
            yield

    def result(self, store: Store, progress: Progress, prices: Mapping[str, Price] | None) -> Built:
        """Select, and write the benchmark."""
        answered = _AnswerCounts()
        with _written(store.directory, SAMPLES) as write:
            selected = select(
                _each(store, self._plan, CERTAINTIES[self._certainty], answered.add, write),
                certainty_name=self._certainty,
                ranking=self._ranking,
                queries=self._queries,
            )
        about = {"certainty": self._certainty, "ranking": self._ranking, "queries": self._queries}
        summary = {
            **_about(self._plan, self._questions, store, prices),
            "sandbox": self._sandbox,
            "tasks": answered.result(selected.triplets),
            "selection": {**about, "tasks": selected.counts},
            "triplets": len(selected.triplets),
        }
        places = [] if self._output is None else [self._output]
        if store.directory is not None:
            places.append(store.directory / TRIPLETS)
            write_json(store.directory / SUMMARY, summary)
        for place in places:
            with _written(place.parent, place.name) as write:
                for triplet in selected.triplets:
                    write(triplet)
        return Built(selected.triplets, summary, progress, store.directory)


def build(
    plan: BuildPlan,
    *,
    certainty: str = "log_ratio",
    ranking: str = "separating",
    queries: int | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[RunOptions],
) -> Built:
    """Build a benchmark.

    Args:
        plan: the questions and generators.
        certainty: How certain a generator is, from how often it gave each answer: log_ratio or
            majority_share.
        ranking: Which questions are kept first: separating (strong generators from weak), certain
            or uncertain.
        queries: Questions selected of each task. Default: all but those that are too easy.
        output: where else to write the triplets.
        options: how the job is run; progress counts a question once for each generator.

    Raises:
        InputError: a file is missing, or holds no problem.
        RunError: the directory holds a run of another plan.
        StopRunError: no further call can succeed, or fits into the budget.
        UsageError: an option makes no sense, or programs are to be run without a sandbox.
    """
    job = BuildJob(plan, certainty=certainty, ranking=ranking, queries=queries, output=output)
    return job.run(**options)


def _config(plan: BuildPlan) -> dict[str, Any]:
    files = [str(file) for file in plan.files]
    return {
        "command": "criticbench build",
        "annotation": ANNOTATION,
        "prompts": version(1, *(shipped(name, __package__) for name in PROMPTS.values())),
        "input": [file if file.startswith("hf:") else fingerprint(Path(file)) for file in files],
        "models": [dict(model.config) for model in plan.models],
        "code_generators": [model.name for model in plan.code_generators],
        "samples": plan.samples or N_SAMPLES,
        "sampling": plan.sampling.model_dump(mode="json", exclude_defaults=True),
        "limit": plan.limit,
        "seed": plan.seed,
        "timeout_s": plan.timeout_s,
    }


def _refuse(name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        raise UsageError(f"no such {what}: {name!r}", hint=f"use one of {', '.join(known)}")


def _about(
    plan: BuildPlan, questions: Questions, store: Store, prices: Mapping[str, Price] | None
) -> dict[str, Any]:
    """Describe the build: its questions, generators and failures, and its cost."""
    entries = [(entry.id, entry.failure) for entry in store.entries()]
    failed = [{"id": key, "problem": failure} for key, failure in entries if failure]
    return {
        "heedful": __version__,
        "input": [str(file) for file in plan.files],
        "generators": [model.name for model in plan.models],
        "code_generators": [model.name for model in plan.code_generators],
        "samples": plan.samples or N_SAMPLES,
        "sampling": plan.sampling.model_dump(mode="json", exclude_defaults=True),
        "rows": {
            "completed": len(entries) - len(failed),
            "failed": len(failed),
            "unread": len(questions.unread),
        },
        "problems": [*questions.unread, *failed][:PROBLEMS_LISTED],
        "cost": CostSummary(store.usage_records(), prices).result(),
    }


class _AnswerCounts:
    """Counts how generators answered, by task and generator."""

    def __init__(self) -> None:
        self._shares: dict[tuple[str, str], Counter[Share]] = {}
        self._counts: dict[tuple[str, str], Counter[str]] = {}

    def add(self, samples: Samples) -> None:
        key = samples.task, samples.generator
        right = sum(response.correct is True for response in samples.responses)
        decided = sum(response.correct is not None for response in samples.responses)
        units = len(samples.responses) + samples.empty + samples.failed
        share = Share(right, right + units - decided, units)
        self._shares.setdefault(key, Counter())[share] += 1
        self._counts.setdefault(key, Counter()).update(
            undecided=len(samples.responses) - decided,
            empty=samples.empty,
            failed=samples.failed,
            cut_off=samples.cut_off,
        )

    def result(self, triplets: Iterable[Triplet]) -> dict[str, Any]:
        """Say how each answered, and how much of that is in the benchmark."""
        made = Counter((triplet.task, triplet.generator, triplet.correct) for triplet in triplets)
        tasks: dict[str, Any] = {}
        for (task, generator), shares in self._shares.items():
            tasks.setdefault(task, {})[generator] = {
                "accuracy": measure(shares),
                **self._counts[task, generator],
                "correct_triplets": made[task, generator, True],
                "wrong_triplets": made[task, generator, False],
            }
        return tasks


def _each(
    store: Store,
    plan: BuildPlan,
    formula: Certainty,
    count: Callable[[Samples], None],
    write: Callable[[BaseModel], object],
) -> Iterator[Samples]:
    """Yield what was sampled, row by row, counted and written on the way."""
    for entry in store.entries():
        if entry.output is not None:
            samples = Samples.model_validate_json(entry.output).weighed(formula)
        else:
            request = Samples.model_validate_json(entry.input or "")
            lost = {
                "failed": plan.samples_of(request.problem),
                "problems": (entry.failure or "not requested yet",),
            }
            samples = request.model_copy(update=lost)
        count(samples)
        write(samples)
        yield samples


@contextmanager
def _written(directory: Path | None, name: str) -> Iterator[Callable[[BaseModel], object]]:
    """Write rows into a run's file, which appears when it is complete; into none without a run."""
    if directory is None:
        yield lambda _: None
        return
    with atomically(directory / name) as file:
        yield lambda row: file.write(row.model_dump_json(exclude_defaults=True) + "\n")
