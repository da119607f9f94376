"""Obtaining responses: each sample of a source is put to models, durably."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.engine.call_cache import complete, expense
from heedful.engine.options import refuse_unknown, split_options
from heedful.engine.purpose import RESPONSE_TOKENS, Purpose
from heedful.jobs.options import RespondOptions
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, called, keep, refuse_unanswerable
from heedful.models.base import Sampling
from heedful.models.replies import without_reasoning

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Sample
    from heedful.engine.inputs import Data
    from heedful.jobs.rows import Generation
    from heedful.models.base import AnyModel, Model

ASSUMED = f"{RESPONSE_TOKENS} a response; reasoning comes on top"


def respond(
    data: Data,
    *,
    model: AnyModel | Sequence[AnyModel] | None = None,
    models: AnyModel | Sequence[AnyModel] | None = None,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[RespondOptions],
) -> Generation:
    """Obtain a response to every sample that has none.

    >>> from heedful import Message, Sample, respond
    >>> from heedful.models import ScriptedModel
    >>> sample = Sample(id="1", conversation=(Message(role="user", content="Say hello."),))
    >>> generation = respond([sample], model=ScriptedModel("Hello."))
    >>> next(iter(generation)).sample.response
    'Hello.'

    A row is a sample with its ``response``; its tag ``model`` names the model, and its field
    ``completion`` says why the answer ended, what it used, and its ``sample_index``, from 1. Labels
    and recorded verdicts on an earlier response are left out. With several models or samples a
    row's id is ``<id>@<model>``, ``<id>#<sample_index>`` or ``<id>@<model>#<sample_index>``, and
    its field ``instruction_id`` is the id of the sample.

    Args:
        data: a file in any format that heedful reads, or samples.
        model: the model that answers: a name, a model, or a function of the messages that returns
            the text; of several in a list, each answers each sample.
        models: the same.
        sampling: temperature and so on; by default temperature 0, or 1 for several samples.
        output: where to write the rows, as JSON lines.
        options: how many responses a sample gets, see
            :class:`~heedful.jobs.options.RespondOptions`: ``samples``, ``models_per_sample``,
            ``seed``, ``overwrite``; how the data is read and the job is run, see
            :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`; for models given by name, how they are
            called, see :class:`~heedful.models.options.CallOptions`: ``base_url``, ….

    Returns:
        The rows in input order, and the summary; it raises what :func:`heedful.evaluate` does.
    """
    refuse_unknown(options, RespondOptions)
    samples, overwrite = options.pop("samples", 1), options.pop("overwrite", False)
    pool = _Pool(options.pop("models_per_sample", None), options.pop("seed", 0))
    default = 1.0 if samples > 1 else 0.0
    given = models if model is None else model
    if given is None or (model is not None and models is not None):
        raise UsageError("no model is named, or two ways", hint='give model="NAME"')
    answering, sampling, rest = called(given, sampling, options, temperature=default)
    reading, running = split_options(rest)
    recipe = _recipe(answering, pool, samples, sampling, overwrite=overwrite)
    return RowsJob(data, recipe, output=output, **reading).run(**running)


@dataclass(frozen=True, slots=True)
class _Pool:
    """How many of the models answer a sample."""

    size: int | None
    seed: int

    @property
    def config(self) -> dict[str, int]:
        """Return what the choice depends on; nothing where there is none."""
        return {} if self.size is None else {"models_per_sample": self.size, "seed": self.seed}

    def check(self, names: Sequence[str]) -> None:
        """Refuse to choose more than there are, or none."""
        if self.size is not None and not 1 <= self.size <= len(names):
            raise UsageError(
                f"models_per_sample is {self.size}, of {amount(len(names), 'model')}",
                hint="name more models, or choose fewer",
            )

    def of(self, models: Sequence[Model], key: str) -> Sequence[Model]:
        """Choose for one sample; neither the models' order nor other samples make a difference."""
        if self.size is None:
            return models
        names = sorted(model.name for model in models)
        chosen = random.Random(f"{self.seed}/{key}").sample(names, self.size)
        return [model for model in models if model.name in chosen]


def _recipe(
    models: Sequence[Model],
    pool: _Pool,
    samples: int,
    sampling: Sampling | None,
    *,
    overwrite: bool,
) -> Recipe:
    sampling = sampling or Sampling(temperature=1.0 if samples > 1 else 0.0)
    names = [model.name for model in models]
    pool.check(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f"the model {twice[0]!r} is named twice", hint="for several responses give samples"
        )
    if samples < 1:
        raise UsageError(f"samples is {samples}", hint="give at least 1")
    if samples > 1 and sampling.temperature == 0:
        raise UsageError(
            f"{samples} samples at temperature 0 would be the same",
            hint="give a temperature above 0",
        )

    def tasks(sample: Sample) -> Iterator[Task]:
        if sample.response is not None and not overwrite:
            yield Task(sample, keep)
            return
        for model in pool.of(models, sample.id):
            for sample_index in range(samples):
                row = _row(
                    sample, model.name, sample_index, alone=len(names) == 1, single=samples == 1
                )
                yield _task(row, model, sampling, sample_index)

    config = {
        "models": [dict(model.config) for model in models],
        "samples": samples,
        **pool.config,
        "sampling": sampling.model_dump(mode="json", exclude_defaults=True),
        "overwrite": overwrite,
    }
    about = {"models": names, "samples": samples, **pool.config, "sampling": config["sampling"]}
    return Recipe("completion", about, {"command": "respond", **config}, ASSUMED, tasks)


def _row(sample: Sample, model: str, sample_index: int, *, alone: bool, single: bool) -> Sample:
    """Make the row that a response will complete, without what was said of an earlier one."""
    update: dict[str, Any] = {
        "response": None,
        "reasoning": None,
        "labels": None,
        "recording": None,
        "tags": {**sample.tags, "model": model},
    }
    if not (alone and single):
        by_model = "" if alone else f"@{model}"
        by_number = "" if single else f"#{sample_index + 1}"
        update["id"] = f"{sample.id}{by_model}{by_number}"
        if "variant" not in sample.tags:  # variants of an instruction belong together
            update["instruction_id"] = sample.id
    return sample.model_copy(update=update)


def _task(row: Sample, model: Model, sampling: Sampling, sample_index: int) -> Task:
    async def make() -> Addition:
        refuse_unanswerable(row)
        purpose = Purpose(model.name, tokens=RESPONSE_TOKENS)
        completion = await complete(
            model, row.conversation, sampling, sample=sample_index, purpose=purpose
        )
        completion = without_reasoning(completion)
        beside = {"text", "reasoning", "attempts", "latency_s"}
        about = completion.model_dump(mode="json", exclude_defaults=True, exclude=beside)
        thought = {} if completion.reasoning is None else {"reasoning": completion.reasoning}
        return Addition(
            fields={
                "response": completion.text,
                **thought,
                "completion": {**about, "sample_index": sample_index + 1},
            },
            expenses=(expense(completion, purpose),),
            counts={
                "cut_off": int(completion.cut_off),
                "empty": int(not completion.text.strip()),
            },
        )

    return Task(row, make)
