"""Sampling answers for CriticBench, and annotating them: correct or wrong, and which are the same.

The prompts (few-shot, ours) lie beside. A benchmark whose choices are a list of their own, as
TruthfulQA's, has them shuffled and lettered again: as published, the true choice comes first.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.bench.criticbench.items import N_SAMPLES, SAMPLING, SampledResponse, Samples
from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.problems import named_sources, posed, read_problems
from heedful.core.errors import InputError, ModelError, UsageError
from heedful.core.nouns import Message
from heedful.core.problems import Problem, Solution
from heedful.engine.call_cache import complete
from heedful.engine.purpose import RESPONSE_TOKENS, Purpose
from heedful.engine.runner import together
from heedful.judges.prompts.template import fill, shipped
from heedful.models.base import refuse_models
from heedful.models.replies import without_reasoning

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from heedful.bench.grading.graders import Grader
    from heedful.bench.grading.math_pool import MathPool
    from heedful.bench.grading.sandbox import SandboxKind
    from heedful.core.problems import Problem
    from heedful.models.base import Completion, Model, Sampling

__all__ = ["BuildPlan"]

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
        _refuse(plan)
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
