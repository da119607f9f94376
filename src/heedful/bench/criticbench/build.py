"""Building a benchmark as CriticBench's: generators answer, code annotates, triplets are selected.

A build is one run. Its store caches the generators' answers, so selecting again by another ranking
or certainty costs nothing.

The prompts (few-shot, ours) lie beside. A benchmark whose choices are a list of their own, as
TruthfulQA's, has them shuffled and lettered again: as published, the true choice comes first.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.bench.criticbench.items import (
    CERTAINTIES,
    N_SAMPLES,
    RANKINGS,
    SAMPLES,
    SAMPLING,
    TRIPLETS,
    Certainty,
    SampledResponse,
    Samples,
    Triplet,
    select,
)
from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.graders import Grader
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.problems import named_sources, posed, read_problems
from heedful.bench.grading.sandbox import open_sandbox
from heedful.core.errors import InputError, ModelError, UsageError
from heedful.core.nouns import Message
from heedful.core.outputs import atomically, write_json
from heedful.core.problems import Problem, Solution
from heedful.core.version import __version__
from heedful.engine.call_cache import complete
from heedful.engine.cost import CostSummary
from heedful.engine.inputs import fingerprint
from heedful.engine.job import Job
from heedful.engine.purpose import RESPONSE_TOKENS, Purpose
from heedful.engine.reader import SUMMARY
from heedful.engine.runner import Item, Progress, together
from heedful.jobs.results import PROBLEMS_LISTED, check_output, check_run
from heedful.judges.prompts.template import fill, shipped, version
from heedful.metrics.rates import Share, measure
from heedful.models.base import refuse_models
from heedful.models.replies import without_reasoning

if TYPE_CHECKING:
    import os
    from collections.abc import (
        AsyncIterator,
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import Unpack

    from pydantic import BaseModel

    from heedful.bench.grading.sandbox import SandboxKind
    from heedful.engine.options import RunOptions
    from heedful.engine.store import Entry, Store
    from heedful.models.base import Completion, Model, Sampling
    from heedful.models.pricing import Price

__all__ = ["BuildPlan", "Built", "build"]

PROMPTS = {kind: f"{kind}.txt" for kind in ("open", "choice", "code")}

CALLER = "generate"

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(\[\\$])")
_COMMENT = re.compile(r"\s*#")


class GenerationRequest(NamedTuple):
    """One query to one generator."""

    samples: Samples
    model: Model
    n_samples: int


def reasoning_steps(problem: Problem, text: str) -> int:
    r"""Count reasoning steps: sentences, which a line break ends too; for a program, its lines.

    The paper does not say what a step is; this is ours.

    >>> reasoning_steps(Problem(id="1", question="", kind="open"), "Half of 8 is 4. So it is 4.\n4")
    3
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if problem.kind == "code":
        return sum(not _COMMENT.match(line) for line in lines)
    return sum(len(_SENTENCE.split(line.strip())) for line in lines)


class Sampler:
    """Samples one generator's answers to one query, and annotates them."""

    def __init__(self, sampling: Sampling, grader: Grader, pool: MathPool) -> None:
        """Take the temperature and so on, and what grades and compares answers."""
        self._sampling = sampling
        self._grader = grader
        self._pool = pool

    async def sample(self, request: GenerationRequest) -> Samples:
        """Ask, and annotate what comes; a sample that fails costs no other."""
        samples, model, n_samples = request
        problem = samples.problem
        prompt = fill(shipped(PROMPTS[problem.kind], __package__), {"question": problem.question})
        messages = [Message(role="user", content=prompt)]
        replies = await together(
            self._response(model, messages, index) for index in range(n_samples)
        )
        failures = [error for error in replies if isinstance(error, ModelError)]
        if len(failures) == len(replies):
            raise failures[0]
        completions = {
            number: completion
            for number, completion in enumerate(replies, 1)
            if not isinstance(completion, ModelError)
        }
        texts = {number: answer.text for number, answer in completions.items()}
        responses = await self._annotated(
            problem, {n: text for n, text in texts.items() if text.strip()}
        )
        return samples.model_copy(
            update={
                "responses": tuple(responses),
                "empty": len(texts) - len(responses),
                "failed": len(failures),
                "cut_off": sum(c.cut_off for c in completions.values()),
                "problems": tuple(dict.fromkeys(map(str, failures))),
            }
        )

    async def _response(
        self, model: Model, messages: Sequence[Message], index: int
    ) -> Completion | ModelError:
        purpose = Purpose(CALLER, tokens=RESPONSE_TOKENS)
        try:
            completion = await complete(
                model, messages, self._sampling, sample=index, purpose=purpose
            )
            return without_reasoning(completion)
        except ModelError as error:
            return error

    async def _annotated(self, problem: Problem, texts: dict[int, str]) -> list[SampledResponse]:
        responses = await together(self._graded(problem, number, texts[number]) for number in texts)
        if problem.kind == "open":
            return await _same_answers(responses, self._pool)
        return responses

    async def _graded(self, problem: Problem, number: int, text: str) -> SampledResponse:
        grade = await self._grader.grade(problem, Solution(text=text))
        answer, passed = grade.extracted, None
        if problem.kind == "code" and grade.correct is not None:
            answer = "all tests"
            if not grade.correct:
                passed = await self._grader.tests_passed(problem, text)
                answer = f"tests passed: {passed}"
        elif problem.kind == "open" and answer is None:
            answer = final_answer(text)
        return SampledResponse(
            sample_index=number,
            text=text,
            answer=answer,
            correct=grade.correct,
            steps=reasoning_steps(problem, text),
            tests_passed=passed,
            reason=grade.reason if grade.correct is None else "",
        )


async def _same_answers(
    responses: Sequence[SampledResponse], pool: MathPool
) -> list[SampledResponse]:
    """Give responses that end on the same answer the same words for it."""
    first: dict[tuple[bool | None, str], str] = {}
    heads: dict[bool | None, list[str]] = {}
    frequent = Counter(
        (response.correct, response.answer) for response in responses if response.answer is not None
    )
    for (correct, answer), _ in frequent.most_common():
        known = heads.setdefault(correct, [])
        for head in known:
            if correct or (await pool.compare(head, answer)).equal:
                first[correct, answer] = head
                break
        else:
            first[correct, answer] = answer
            known.append(answer)
    return [
        response
        if response.answer is None
        else response.model_copy(update={"answer": first[response.correct, response.answer]})
        for response in responses
    ]


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Questions, generators and settings of a build.

    Attributes:
        files: of questions, each in a format that
            :func:`~heedful.bench.grading.problems.read_problems` knows; or ``hf:OWNER/NAME``.
        generators: who answers.
        code_generators: who answers questions for programs only, as the paper's code model does.
        samples: Answers to each question from each generator. Default: 64, and 100 programs.
        sampling: temperature and so on; the paper has temperature 0.6.
        limit: Read only the first so many questions of each file.
        seed: Shuffles the choices of TruthfulQA.
        sandbox: What programs run in: auto, bubblewrap, docker or unsafe.
        timeout_s: Seconds that comparing two answers may take.
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
    """The questions of all files, and what could not be read."""

    problems: dict[str, tuple[str, int, Problem]]
    unread: list[dict[str, Any]]

    @classmethod
    def read(cls, plan: BuildPlan) -> Questions:
        """Read the questions of a plan."""
        _refuse_plan(plan)
        questions = cls({}, [])
        for name, source in named_sources(plan.files).items():
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


def _refuse_plan(plan: BuildPlan) -> None:
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
