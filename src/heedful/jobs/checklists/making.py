"""Making a checklist for every sample of a source, durably."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from heedful.core.errors import InputError, ModelError
from heedful.core.nouns import Constraint, Message
from heedful.engine.call_cache import attempt, attempts
from heedful.engine.options import refuse_unknown, split_options
from heedful.engine.purpose import CHECKLIST_TOKENS, Purpose
from heedful.jobs.checklists.prompt import ChecklistOptions, make
from heedful.jobs.checklists.spans import Instruction, Place, invents
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, called, keep, refuse_uninstructed
from heedful.judges.prompts.base import CUT_OFF
from heedful.models.base import Sampling
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Expense, Sample
    from heedful.engine.inputs import Data
    from heedful.jobs.checklists.prompt import ChecklistPrompt
    from heedful.jobs.rows import Generation
    from heedful.models.base import Model


ASSUMED = f"{CHECKLIST_TOKENS} a checklist; reasoning and repeated requests come on top"


def checklist(
    data: Data,
    *,
    model: str | Model,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[ChecklistOptions],
) -> Generation:
    """Make a checklist for every sample that has none.

    A model lists the constraints of the instruction; each must stand word for word in a turn of
    the user or in the system prompt. One that does not is requested again once, and then left
    out. Labels and recorded verdicts on an earlier checklist are left out too. A row is a sample
    with its ``checklist``; its field ``decomposition`` says who made it and what was rejected.

    Args:
        data: a file in any format that heedful reads, or samples.
        model: lists the constraints: a model, or its name.
        sampling: temperature and so on; by default temperature 0.
        output: where to write the rows, as JSON lines.
        options: ``prompt``, ``prompt_file`` and ``overwrite``, see
            :class:`~heedful.jobs.options.ChecklistOptions`; how the data is read and the
            job is run, see :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`; for a model given by name, how it is
            called, see :class:`~heedful.models.options.CallOptions`: ``base_url``, ….

    Returns:
        The rows in input order, and the summary; it raises what :func:`heedful.evaluate` does.
    """
    refuse_unknown(options, ChecklistOptions)
    prompt, file = options.pop("prompt", "plain"), options.pop("prompt_file", None)
    overwrite = options.pop("overwrite", False)
    if isinstance(prompt, str):
        prompt = make(prompt, prompt_file=None if file is None else Path(file))
    (writer,), sampling, rest = called([model], sampling, options)
    reading, running = split_options(rest)
    recipe = _recipe(Decomposer(writer, prompt, sampling), overwrite=overwrite)
    return RowsJob(data, recipe, output=output, **reading).run(**running)


def _recipe(decomposer: Decomposer, *, overwrite: bool) -> Recipe:
    def tasks(sample: Sample) -> Iterator[Task]:
        if sample.checklist and not overwrite:
            yield Task(sample, keep)
            return
        update = {"checklist": (), "labels": None, "recording": None}
        row = sample.model_copy(update=update)

        async def make() -> Addition:
            return _addition(await decomposer.decompose(row), decomposer)

        yield Task(row, make)

    config = {**decomposer.config, "overwrite": overwrite}
    about = {"models": [decomposer.model.name], "prompt": config["prompt"]}
    return Recipe("decomposition", about, {"command": "checklist", **config}, ASSUMED, tasks)


def _addition(result: Decomposition, decomposer: Decomposer) -> Addition:
    counts = {
        "constraints": len(result.checklist),
        "rejected": len(result.rejected),
        "duplicates": len(result.duplicates),
    }
    expenses = tuple(result.expenses)
    if result.problem is not None:
        return Addition(problem=result.problem, expenses=expenses, counts=counts)
    about: dict[str, Any] = {"model": decomposer.model.name, "prompt": decomposer.prompt.name}
    if result.rejected:
        about["rejected"] = result.rejected
    constraints = [
        constraint.model_dump(mode="json", exclude_defaults=True) for constraint in result.checklist
    ]
    return Addition(
        fields={"checklist": constraints, "decomposition": about},
        expenses=expenses,
        counts=counts,
    )


_SPEECHLESS = ("assistant", "model", "tool", "function")
"""Roles that set no constraints."""


@dataclass(slots=True)
class Decomposition:
    """An instruction taken apart."""

    checklist: list[Constraint] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)  # what stands in no turn, or invents
    duplicates: list[str] = field(default_factory=list)
    problem: str | None = None  # why there is no checklist
    expenses: list[Expense] = field(default_factory=list)


class Decomposer:
    """Takes instructions apart with a model."""

    def __init__(
        self,
        model: Model,
        prompt: ChecklistPrompt | str = "plain",
        sampling: Sampling | None = None,
    ) -> None:
        """Make the decomposer."""
        self.model = model
        self.prompt = make(prompt) if isinstance(prompt, str) else prompt
        self.sampling = sampling or Sampling()

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompt with its version, and the sampling."""
        return {
            "model": dict(self.model.config),
            "prompt": f"{self.prompt.name} {self.prompt.version}",
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def decompose(self, sample: Sample) -> Decomposition:
        """Request a sample's checklist, and once more what is not in the instruction.

        A call that fails for good is the decomposition's problem.
        """
        refuse_uninstructed(sample)
        listed = _Listed(sample)
        result = Decomposition()
        request = self.prompt.render(sample)
        messages: Sequence[Message] = request
        reason = ""
        purpose = Purpose(self.model.name, tokens=CHECKLIST_TOKENS)
        for number in attempts():
            try:
                completion = await attempt(
                    number, self.model, messages, self.sampling, purpose, result.expenses
                )
            except ModelError as error:  # what was paid before it counts all the same
                result.problem = str(error)
                return result
            if completion.cut_off:
                reason = CUT_OFF
                continue
            try:
                proposed = self.prompt.parse(completion.text)
            except InputError as error:
                reason = error.what
                continue
            result.rejected = [
                constraint.text for constraint in proposed if not listed.add(constraint)
            ]
            if not result.rejected:
                break
            reason = "nothing that the reply lists stands in the instruction word for word"
            reply = Message(role="assistant", content=completion.text)
            messages = [*request, reply, self.prompt.again(sample, result.rejected)]
        result.checklist, result.duplicates = listed.checklist()
        if not result.checklist:
            result.problem = f"no checklist: {reason}"
        return result


class _Listed:
    """The constraints that stand in the instruction."""

    def __init__(self, sample: Sample) -> None:
        self._instruction = Instruction(
            ["" if turn.role in _SPEECHLESS else turn.content for turn in sample.conversation]
        )
        self._constraints: list[tuple[Place, Constraint]] = []

    def add(self, constraint: Constraint) -> bool:
        """Add a constraint in the instruction's own words; false if they are not there.

        A question stays in the model's words, if what it comes from is there.
        """
        last = self._constraints[-1][0] if self._constraints else None
        source = constraint.source_span
        place = self._instruction.find(constraint.text if source is None else source, last)
        if place is None or (source and invents(constraint.text, self._instruction.turns)):
            return False
        words = self._instruction.text(place)
        update: dict[str, Any] = {"text": words} if source is None else {"source_span": words}
        text = update.get("text", constraint.text)
        update["check"] = compile_constraint(text).check
        self._constraints.append((place, constraint.model_copy(update=update)))
        return True

    def checklist(self) -> tuple[list[Constraint], list[str]]:
        """Return the constraints in the instruction's order, and what they say twice."""
        distinct: list[tuple[Place, Constraint]] = []
        duplicates = []
        # Of two that begin alike the longer comes first, so that it stays.
        for place, constraint in sorted(
            self._constraints, key=lambda placed: (placed[0].turn, placed[0].start, -placed[0].end)
        ):
            inside = constraint.source_span is None and any(
                _holds(other, place) for other, _ in distinct
            )
            if inside or any(constraint.text == other.text for _, other in distinct):
                duplicates.append(constraint.text)
            else:
                distinct.append((place, constraint))
        return [constraint for _, constraint in distinct], duplicates


def _holds(outer: Place, inner: Place) -> bool:
    return outer.turn == inner.turn and outer.start <= inner.start and inner.end <= outer.end
