"""Critiques from an expert model: N of each response, for the filters to choose from.

Sampling from a trained critic, for preference pairs, is the same: what a row already holds as its
final critique stays, and the samples are put beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from heedful.core.errors import ModelError, RowError, UsageError
from heedful.core.text import amount
from heedful.critic.data.stages import refuse_unjudgeable
from heedful.engine.call_cache import attempt, attempts
from heedful.engine.options import split_options
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import together
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, keep, refuse_uninstructed
from heedful.judges import prompts
from heedful.judges.base import facts
from heedful.judges.prompts.base import CUT_OFF
from heedful.models.base import Sampling

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from heedful.core.nouns import Expense, Sample
    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions
    from heedful.jobs.rows import Generation
    from heedful.judges.base import Measure
    from heedful.judges.prompts import JudgePrompt
    from heedful.models.base import Model

SAMPLES = 5
"""Critiques of each response that IF-Critic samples from its expert (arXiv 2511.01014)."""

SAMPLED = "sampled"
"""The field of a row that names the model; null where some critiques are missing."""

UNEXPLAINED = "cfbench"
"""The prompt whose verdicts come without explanations."""


@dataclass(frozen=True, slots=True)
class SampledCritique:
    """One of several independent critiques of a response."""

    text: str | None  # the reply, word for word; ``None`` where there is none
    problem: str | None  # why there is none, or what is wrong with it
    expenses: tuple[Expense, ...]  # what the calls cost


class Expert:
    """Samples critiques from a model."""

    def __init__(
        self,
        model: Model,
        prompt: JudgePrompt | str = "plain",
        sampling: Sampling | None = None,
        measure: Measure | None = None,
    ) -> None:
        """Make the expert."""
        self.model = model
        self.prompt = prompts.make(prompt) if isinstance(prompt, str) else prompt
        if self.prompt.name == UNEXPLAINED:
            raise UsageError(
                f"critiques by the prompt {UNEXPLAINED} have no explanations",
                hint="use plain, if_critic, structured or advancedif",
            )
        self.measure = measure
        self.sampling = sampling or Sampling(temperature=1.0)
        if self.prompt.response_format is not None:
            update = {"response_format": self.prompt.response_format}
            self.sampling = self.sampling.model_copy(update=update)

    @property
    def name(self) -> str:
        """The model and the prompt."""
        return f"{self.model.name}/{self.prompt.name}"

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompt with its version, and the sampling."""
        return {
            "model": dict(self.model.config),
            "prompt": f"{self.prompt.name} {self.prompt.version}",
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
            **({} if self.measure is None else {"measure": self.measure.version}),
        }

    async def sample_critique(self, sample: Sample, sample_index: int) -> SampledCritique:
        """Sample one critique, and once more where it leaves a constraint undecided.

        A critique is one reply, never pieces of several, since it is to be learned from as it is.

        Raises:
            StopRunError: no further call can succeed.
        """
        counted = facts(self.measure, sample, sample.checklist)
        messages = self.prompt.render(sample, sample.checklist, measurements=counted)
        text: str | None = None
        problem: str | None = None
        expenses: list[Expense] = []
        purpose = Purpose(self.name, tokens=EXPLAINED_TOKENS * len(sample.checklist))
        for number in attempts():
            try:
                completion = await attempt(
                    number,
                    self.model,
                    messages,
                    self.sampling,
                    purpose,
                    expenses,
                    sample=sample_index,
                )
            except ModelError as error:
                problem = problem or str(error)
                break
            if completion.cut_off:  # it may hold quoted verdicts and not yet its own
                problem = CUT_OFF
                continue
            text = completion.text
            shown = prompts.Shown.of(sample)
            judgments = prompts.parse(self.prompt, text, sample.checklist, shown)
            undecided = [
                judgment.explanation for judgment in judgments if not judgment.status.decided
            ]
            if not undecided:
                problem = None
                break
            problem = undecided[0]
        return SampledCritique(text, problem, tuple(expenses))


def sample_critiques(
    data: Data,
    *,
    expert: Expert | Model,
    samples: int = SAMPLES,
    overwrite: bool = False,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Generation:
    """Sample critiques of every response that has none.

    A row is a sample whose ``recording`` has the critiques as ``others``, word for word, the
    ``prompt`` whose parser reads them, and how many were ``requested``. A final critique, the
    recording's ``text``, stays. Where some critiques failed, the row has the rest and its
    ``problem``.

    Args:
        data: a file in any format that heedful reads, or samples.
        expert: the model with its prompt and sampling; a model alone gets the plain prompt at
            temperature 1. A trained critic is an expert too.
        samples: independent critiques of each response.
        overwrite: sample also where there are sampled critiques; otherwise such a row stays.
        output: where to write the rows, as JSON lines.
        options: how the data is read and the job is run, see
            :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`.

    Returns:
        The rows in input order, and the summary.

    Raises:
        InputError: the file is missing, empty or in no known format.
        RunError: the run's directory holds a run with another configuration.
        StopRunError: no further call can succeed, as with a wrong key.
        UsageError: an option makes no sense.
    """
    reading, running = split_options(options)
    if not isinstance(expert, Expert):
        expert = Expert(expert)
    recipe = _recipe(expert, samples, overwrite=overwrite)
    return RowsJob(data, recipe, output=output, **reading).run(**running)


def _recipe(expert: Expert, samples: int, *, overwrite: bool) -> Recipe:
    if samples < 1:
        raise UsageError(f"samples is {samples}", hint="give at least 1")
    if samples > 1 and expert.sampling.temperature == 0:
        raise UsageError(
            f"{samples} critiques at temperature 0 would be the same",
            hint="give a temperature above 0",
        )

    def tasks(sample: Sample) -> Iterator[Task]:
        if sample.recording is not None and sample.recording.others and not overwrite:
            yield Task(sample, keep)
            return

        async def make() -> Addition:
            _refuse(sample, expert.prompt, overwrite=overwrite)
            critiques = await together(expert.sample_critique(sample, at) for at in range(samples))
            return _addition(sample, expert, critiques)

        yield Task(sample, make)

    config = {**expert.config, "samples": samples, "overwrite": overwrite}
    about = {"models": [expert.model.name], "prompt": config["prompt"], "samples": samples}
    return Recipe(
        adds=SAMPLED,
        about=about,
        config={"command": "critic sample", **config},
        assumptions=f"{EXPLAINED_TOKENS} a constraint; reasoning and repeated requests come on top",
        tasks=tasks,
    )


def _refuse(sample: Sample, prompt: JudgePrompt, *, overwrite: bool) -> None:
    refuse_uninstructed(sample)
    refuse_unjudgeable(sample)
    held = sample.recording
    if held is not None and held.text is not None and held.prompt != prompt.name and not overwrite:
        raise RowError(
            f"the row holds a critique by the prompt {held.prompt}, not {prompt.name}",
            hint=f"use the prompt {held.prompt}, or overwrite it",
        )


def _addition(sample: Sample, expert: Expert, critiques: list[SampledCritique]) -> Addition:
    texts = [critique.text for critique in critiques if critique.text is not None]
    unread = sum(
        critique.text is not None and critique.problem is not None for critique in critiques
    )
    expenses = tuple(expense for critique in critiques for expense in critique.expenses)
    counts = {"critiques": len(texts), "undecided_critiques": unread}
    missing = [critique.problem for critique in critiques if critique.text is None]
    problem = None
    if missing:
        requested = amount(len(critiques), "critique")
        problem = f"{len(texts)} of {requested}: {missing[0]}"
    if not texts:
        return Addition(problem=problem, expenses=expenses, counts=counts)
    held = sample.recording
    final = held.text if held is not None and held.prompt == expert.prompt.name else None
    recording: dict[str, Any] = {
        "prompt": expert.prompt.name,
        "others": texts,
        "requested": len(critiques),
    }
    if expert.measure is not None:
        recording["measure"] = True
    if final is not None:
        recording["text"] = final
    fields = {"recording": recording, SAMPLED: {"model": expert.model.name}}
    return Addition(fields=fields, expenses=expenses, counts=counts, problem=problem)
