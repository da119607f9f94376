"""Compile the checklists of a source, durably: by the grammar, and where it fails with a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from heedful.engine.inputs import split_options
from heedful.engine.runner import together
from heedful.jobs.checklists.compiled import with_checks
from heedful.jobs.checklists.proposing import PROPOSAL_TOKENS, Proposer
from heedful.jobs.generate import Recipe, RowsJob, Task, keep
from heedful.jobs.rows import Addition
from heedful.verify.compiler import grammar

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from heedful.core.nouns import Sample
    from heedful.engine.inputs import Data, DataOptions
    from heedful.jobs.checklists.proposing import Proposal
    from heedful.jobs.rows import Generation
    from heedful.models.base import Model, Sampling

ASSUMED = f"{PROPOSAL_TOKENS} a proposal; the two requests that confirm one come on top"


def compile_checklists(
    data: Data,
    *,
    model: Model,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Generation:
    """Give the constraints checks that code can run, with the help of a model.

    A constraint with a check keeps it. One that the grammar covers gets the grammar's. For any
    other the model proposes a check, which is stored only if code finds nothing against it, the
    check and the text imply each other, and examples agree
    (:class:`heedful.jobs.checklists.proposing.Proposer`). Its constraint then has a field
    ``proposal``: who proposed the check, its canonical words and the examples. The row's field
    ``compilation`` says what was refused and why. Judging needs no model afterwards.
    """
    reading, running = split_options(options)
    recipe = _recipe(Proposer(model, sampling))
    return RowsJob(data, recipe, output=output, **reading).run(**running)


def compile_config(model: Model, sampling: Sampling | None = None) -> dict[str, Any]:
    """Return all that the checks depend on, apart from the data."""
    return {
        "command": "checklist --compile",
        **Proposer(model, sampling).config,
        "grammar": grammar.shipped().digest,
    }


def _recipe(proposer: Proposer) -> Recipe:
    def tasks(sample: Sample) -> Iterator[Task]:
        if all(constraint.check is not None for constraint in sample.checklist):
            yield Task(sample, keep)
            return

        async def make() -> Addition:
            return await _compiled(sample, proposer)

        yield Task(sample, make)

    about = {"models": [proposer.model.name], "grammar": grammar.shipped().digest}
    settings = compile_config(proposer.model, proposer.sampling)
    return Recipe("compilation", about, settings, ASSUMED, tasks)


async def _compiled(sample: Sample, proposer: Proposer) -> Addition:
    """Give the constraints of one sample their checks."""
    checklist = list(with_checks(sample).checklist)
    open_ = [at for at, constraint in enumerate(checklist) if constraint.check is None]
    counts = {
        "checks_of_their_own": sum(c.check is not None for c in sample.checklist),
        "checks_by_grammar": len(checklist) - len(open_),
    }
    counts["checks_by_grammar"] -= counts["checks_of_their_own"]
    results = await together(proposer.propose(checklist[at].text) for at in open_)
    expenses = tuple(expense for result in results for expense in result.expenses)
    problem = next((result.problem for result in results if result.problem), None)
    if problem is not None:
        return Addition(problem=problem, expenses=expenses)
    refused = []
    for at, proposal in zip(open_, results, strict=True):
        if proposal.check is not None:
            update = {"check": proposal.check, "proposal": proposal.provenance}
            checklist[at] = checklist[at].model_copy(update=update)
            name = "checks_proposed"
        else:
            refused.append(_refusal(at, proposal))
            name = f"refused_{proposal.reason}"
        counts[name] = counts.get(name, 0) + 1
    about = {"model": proposer.model.name, "refused": refused}
    dumped = [each.model_dump(mode="json", exclude_defaults=True) for each in checklist]
    return Addition(
        fields={"checklist": dumped, "compilation": about}, expenses=expenses, counts=counts
    )


def _refusal(at: int, proposal: Proposal) -> dict[str, Any]:
    return {"constraint": at + 1, "reason": proposal.reason, "detail": proposal.detail}
