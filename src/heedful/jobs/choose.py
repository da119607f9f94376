"""Choices of a model between two responses, in both orders: it is measured as a pairwise judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import InputError, RowError
from heedful.engine.call_cache import complete, expense
from heedful.engine.fan_out import fan_out
from heedful.engine.inputs import items, open_data
from heedful.engine.options import refuse_unknown, split_options
from heedful.engine.purpose import Purpose
from heedful.jobs.options import GenerationOptions
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, called
from heedful.judges.prompts import Shown, ranking
from heedful.metrics.ranking import TIE
from heedful.models.base import Sampling

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Unpack

    from heedful.core.nouns import Expense, Message, Sample
    from heedful.engine.inputs import Data
    from heedful.jobs.rows import Generation
    from heedful.models import Model

_TOKENS = 120
"""Tokens of an answer, roughly."""


def choose(
    data: Data,
    model: str | Model,
    *,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[GenerationOptions],
) -> Generation:
    """Have a model choose the better response of each pair that is labelled, in both orders.

    A pair is a row with ``preferred_to`` and one that it names, or a record of LLMBar. Each pair
    becomes a row ``BETTER>WORSE`` with the field ``choice``, which ``heedful judge-accuracy``
    measures; the first response is the one that comes first in the data. The rows are held in
    memory.
    """
    refuse_unknown(options, GenerationOptions)
    (choosing,), sampling, rest = called(model, sampling, options)
    reading, running = split_options(rest)
    source = open_data(data, format=reading.get("format"), task=reading.get("task"))
    rows: Any = data if source else list(cast("Iterable[Any]", data))  # read twice
    read = items(source or rows, reading.get("reasoning") or "strip")
    found = {
        item.value.id: (place, item.value)
        for place, item in enumerate(read)
        if item.value is not None
    }
    if found and not any(_worse(sample) for _, sample in found.values()):
        hint = "name the worse rows in preferred_to, or give LLMBar's records"
        raise InputError("no row says which response is the better one", hint=hint)
    how = sampling or Sampling()

    def tasks(sample: Sample) -> Iterator[Task]:
        for other in _worse(sample):
            row = sample.model_copy(update={"id": f"{sample.id}>{other}", "preferred_to": []})
            yield _task(row, found, (sample.id, other), (choosing, how))

    config = {
        "command": "choose",
        "models": [dict(choosing.config)],
        "prompt": ranking.prompt_version(),
        "sampling": how.model_dump(mode="json", exclude_defaults=True),
    }
    about = {"models": [choosing.name], "sampling": config["sampling"]}
    assumed = f"answers are taken to have {_TOKENS} tokens"
    recipe = Recipe("choice", about, config, assumed, tasks)
    return RowsJob(rows, recipe, output=output, **reading).run(**running)


def _worse(sample: Sample) -> Sequence[Any]:
    """Return the ids of the rows that this one is preferred to."""
    return (sample.model_extra or {}).get("preferred_to") or ()


def _task(
    row: Sample,
    found: dict[str, tuple[int, Sample]],
    pair: tuple[str, Any],
    asked: tuple[Model, Sampling],
) -> Task:
    model, sampling = asked

    async def ask(messages: Sequence[Message], order: Sequence[str]) -> tuple[int | None, Expense]:
        purpose = Purpose(f"{model.name}/choice", _TOKENS)
        completion = await complete(model, messages, sampling, purpose=purpose)
        shown = Shown.in_prompt(messages)
        ranks = None if completion.cut_off else ranking.parse(completion.text, shown, len(order))
        won = None if ranks is None else TIE if ranks[0] == ranks[1] else 1 + (ranks[1] < ranks[0])
        return won, expense(completion, purpose)

    async def make() -> Addition:
        better, worse = (found.get(str(each)) for each in pair)
        if better is None or worse is None:
            raise RowError(f"it is preferred to {pair[1]!r:.80}, which the data doesn't have")
        texts = [_text(sample) for _, sample in sorted((better, worse), key=lambda each: each[0])]
        orders = [texts, texts[::-1]]
        prompts = [ranking.render(better[1], order) for order in orders]
        said = await fan_out(prompts, lambda place, messages: ask(messages, orders[place]))
        (first, _), (second, _) = said
        choice = {
            "label": 1 if better[0] < worse[0] else 2,
            "unswapped": first,
            "swapped": 3 - second if second else second,
        }
        return Addition(
            fields={"choice": choice},
            expenses=tuple(cost for _, cost in said),
            counts={
                "ties": sum(each == TIE for each, _ in said),
                "unread_choice": sum(each is None for each, _ in said),
            },
        )

    return Task(row, make)


def _text(sample: Sample) -> str:
    if sample.response is None or sample.tool_calls:
        has = "no response" if sample.response is None else "tool calls, which aren't compared"
        raise RowError(f"the row {sample.id} has {has}")
    return sample.response
