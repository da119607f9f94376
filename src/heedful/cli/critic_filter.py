"""``heedful critic filter``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli import rows
from heedful.cli.connection import CallFlags, Names, connect, sampling
from heedful.cli.running import DataFlags, Outcome, Output, RunFlags, carry_out
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.critic.data import Filtering, FilterSettings
    from heedful.models import Model, Sampling


@Parameter(name="*", group="Model")
@dataclass(frozen=True, kw_only=True)
class FilterModelFlags(CallFlags):
    """The models of the stages, and how they are called.

    Attributes:
        model: The expert who made the critiques; it revises them (rules).
        verifier: A model that verifies the judgments (cross); best not the expert. Give it again
            for several: what any of them faults is dropped.
        extractor: The model that copies out what is counted (rules); by default the first
            verifier.
        per_call: Judgments of a critique that are verified in one call. Default: all.
    """

    model: Names = field(default_factory=list)
    verifier: Annotated[list[str], Parameter(negative="")] = field(default_factory=list)
    extractor: str | None = None
    per_call: int | None = None


@Parameter(name="*", group="Stages")
@dataclass(frozen=True, kw_only=True)
class StageFlags:
    """The stages and their settings.

    Attributes:
        skip: Stages to leave out: cross, rules, judgment, explanation; with commas.
        order: All four, with commas, in another order; explanation stays last.
        threshold: The least confidence that decides (judgment), 0 to 1.
        min_votes: The fewest votes that decide (judgment).
        confidence_over: Confidence is the majority's share of all samples (as in IF-Critic), or of
            the survivors of the stages before (judgment).
        similarity: By which explanations are alike (explanation): difflib's ratio or quick_ratio,
            or another that heedful.critic.data.mbr has.
        prompts: A folder with prompts of yours: verification.txt and consistency.txt (cross),
            extraction.txt and revision.txt (rules), or some of them. Replies are read as those to
            ours.
        blind_consistency: Ask whether a verdict follows from its explanation in a request of its
            own for each judgment, which doesn't show the response (cross).
        fresh_revision: The expert judges what was counted again without seeing its earlier judgment
            (rules).
        partial: Keep a row that lost some of its constraints, with the others as its checklist.
    """

    skip: str = ""
    order: str = "cross,rules,judgment,explanation"
    threshold: float = 0.75
    min_votes: int = 2
    confidence_over: Literal["samples", "survivors"] = "samples"
    similarity: str = "ratio"
    prompts: Path | None = None
    blind_consistency: Annotated[bool, Parameter(negative="")] = False
    fresh_revision: Annotated[bool, Parameter(negative="")] = False
    partial: Annotated[bool, Parameter(negative="")] = False

    def settings(self, per_call: int | None, how: Sampling) -> FilterSettings:
        """Give them to the filter."""
        from heedful.critic.data import FilterSettings

        given = {**vars(self), "skip": _list(self.skip), "order": _list(self.order)}
        return FilterSettings(**given, per_call=per_call, sampling=how)


def filter(  # noqa: A001 - the command's name; the options of a command
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    stages: StageFlags = StageFlags(),
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: FilterModelFlags = FilterModelFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Filter sampled critiques into one critique of each response.

    Args:
        input: The file with the critiques, as heedful critic sample makes it.
        output: Where the rows that are kept go, each with its final critique: JSON lines.
            Only a dry run needs none.
        stages: The stages and their settings.
        data: How the input is read.
        model_flags: The models and how they are called.
        flags: How the job is run.
    """
    from heedful.critic import data as critic
    from heedful.engine.inputs import default_run

    models = _models(model_flags)
    how = sampling(model_flags)
    # Settings of the stages aren't part of the name: runs that differ in them share answers.
    configs = [dict(model.config) for model in models["all"]]
    options = ("critic filter", data.format, data.task, configs, how)
    run = flags.run or default_run(input, None, *options)
    job = partial(
        critic.filter_critiques,
        input,
        verifiers=models["verifiers"],
        expert=models["expert"],
        extractor=models["extractor"],
        settings=stages.settings(model_flags.per_call, how),
        output=output,
        format=data.format,
        task=data.task,
    )

    return carry_out(
        job,
        flags,
        run=run,
        models=[model.name for model in models["all"]],
        concurrency=model_flags.max_concurrency,
        outcome=partial(_outcome, run=run, output=output),
        output=output,
    )


def _outcome(result: Filtering, run: Path, output: Path | None) -> Outcome:
    from heedful.critic.data.funnel import document

    reports = (run / name for name in ("dropped.jsonl", "funnel.json", "funnel.md"))
    outcome = rows.rows_outcome(
        result.summary,
        lambda: document(result.summary).terminal(),
        resumed=result.progress.resumed,
        run=run,
        names=run / "dropped.jsonl",
        written=(output, *reports),
    )
    if result.summary["funnel"]["rows"]["kept"]:
        return outcome
    return replace(outcome, complete=False, hints=(*outcome.hints, _why_empty(result.summary)))


def _why_empty(summary: Mapping[str, Any]) -> str:
    """Name the stage that dropped most of the rows, and its first reason."""
    stages = summary["funnel"]["stages"]
    most = max(stages, key=lambda each: each["in"]["rows"] - each["out"]["rows"], default=None)
    lost = 0 if most is None else most["in"]["rows"] - most["out"]["rows"]
    if most is None or not lost:
        return "no row was kept"
    reason = next(iter(most["reasons"]), "see dropped.jsonl")
    return f"no row was kept: the stage {most['stage']} dropped {lost:,} ({reason})"


def _list(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _models(model_flags: FilterModelFlags) -> dict[str, Any]:
    """Connect to all models, each once, under one limit on calls in flight."""
    if len(model_flags.model) > 1:
        raise UsageError(
            f"--model names {len(model_flags.model)} experts",
            hint="name one; verifiers are --verifier",
        )
    extractor = [model_flags.extractor] if model_flags.extractor else []
    names = list(dict.fromkeys([*model_flags.model, *model_flags.verifier, *extractor]))
    models: dict[str, Model] = dict(
        zip(names, connect(replace(model_flags, model=names)), strict=True)
    )
    return {
        "all": list(models.values()),
        "expert": models[model_flags.model[0]] if model_flags.model else None,
        "verifiers": [models[name] for name in dict.fromkeys(model_flags.verifier)],
        "extractor": models[model_flags.extractor] if model_flags.extractor else None,
    }
