"""``heedful critic``: data to train a critic on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
)

from cyclopts import Parameter

from heedful.cli import rows
from heedful.cli.connection import CallFlags, Names, connect, connect_one, sampling
from heedful.cli.rows import add_to_rows, show
from heedful.cli.running import (
    DataFlags,
    FormatName,
    Outcome,
    Output,
    PartFlags,
    Quiet,
    RequiredOutput,
    RunFlags,
    carry_out,
    print_outcome,
)
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.critic.data import Filtering, FilterSettings, SelectedInstructions
    from heedful.models import Model, Sampling


def select(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    count: Annotated[int | None, Parameter(name=["--count", "-n"])] = None,
    seed: int = 0,
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: Annotated[CallFlags, Parameter(name="*", group="Model")] = CallFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Choose instructions, as many of each category and complexity as can be.

    The model classifies rows without the tags category and complexity.

    Args:
        input: The file with the instructions.
        output: The file for the chosen instructions: JSON lines. Only a dry run needs none.
        count: Instructions to choose. Default: all.
        seed: Seed of the random choice among instructions that are alike.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.critic import data as critic
    from heedful.engine.inputs import default_run

    model = connect_one(model_flags) if model_flags.model else None
    how = sampling(model_flags)
    config = dict(model.config) if model else None
    options = ("critic select", data.format, data.task, config, how)
    run = flags.run or default_run(input, None, *options)
    job = partial(
        critic.select,
        input,
        model=model,
        count=count,
        seed=seed,
        sampling=how,
        output=output,
        format=data.format,
        task=data.task,
    )

    return carry_out(
        job,
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=partial(_selected, run=run, output=output),
        output=output,
    )


def _selected(result: SelectedInstructions, run: Path, output: Path | None) -> Outcome:
    from heedful.critic.data.selection import document

    return rows.rows_outcome(
        result.summary,
        lambda: document(result.summary).terminal(),
        resumed=0,
        run=run,
        names=run / "summary.json",
        written=(output,),
    )


@Parameter(name="*", group="Model")
@dataclass(frozen=True, kw_only=True)
class ExpertFlags(CallFlags):
    """How the expert, or a trained critic, is sampled; by default at temperature 1.

    Attributes:
        seed: Critique k is sampled with the seed SEED + k - 1, where the model takes one.
    """

    seed: int | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CritiqueFlags:
    """How critiques are sampled, and for which rows.

    Attributes:
        samples: Independent critiques of each response.
        prompt: plain, short, structured, structured_object, if_critic or advancedif. By default the
            one that the model's folder names, or plain.
        measure: Tell the model what code counts, as for a served critic that was trained so. A
            model's folder says it itself.
        overwrite: Also replace sampled critiques that are there.
    """

    samples: Annotated[int, Parameter(name=["--samples", "-n"])] = 5
    prompt: str | None = None
    measure: Annotated[bool, Parameter(negative="")] = False
    overwrite: Annotated[bool, Parameter(negative="")] = False


def sample(
    input: list[Path],  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    sampled: CritiqueFlags = CritiqueFlags(),
    data: PartFlags = PartFlags(),  # noqa: B008 - immutable
    model_flags: ExpertFlags = ExpertFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Sample several critiques of each response.

    Args:
        input: The file with the responses and their checklists, or several.
        output: Where the rows go with their critiques: JSON lines. Only a dry run needs none.
        sampled: How critiques are sampled, and for which rows.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.critic import data as critic
    from heedful.judges import Measurement
    from heedful.judges.making import prompt_for, protocol_of

    model = connect_one(model_flags)
    how = sampling(model_flags, 1.0 if sampled.samples > 1 else 0.0)
    how = how.model_copy(update={"seed": model_flags.seed})
    measure = Measurement() if sampled.measure or protocol_of(model).measure else None
    expert = critic.Expert(model, prompt_for(model, sampled.prompt), how, measure)
    choice = (data.format, data.task, sampled.samples, sampled.overwrite)
    name = ("critic sample", *choice, dict(expert.config))
    job = partial(
        critic.sample_critiques,
        expert=expert,
        samples=sampled.samples,
        overwrite=sampled.overwrite,
    )
    return add_to_rows(
        job, input, output, name=name, data=data, model_flags=model_flags, flags=flags
    )


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
        outcome=partial(_filtered, run=run, output=output),
        output=output,
    )


def _filtered(result: Filtering, run: Path, output: Path | None) -> Outcome:
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChoiceFlags:
    """Which critiques become a pair.

    Attributes:
        method: constraint-level: only wrong judgments are replaced. Baselines: whole-response (a
            sample that is right throughout is chosen), expert (the expert's critique is chosen),
            per-constraint (a pair for each wrong judgment, on a checklist of one).
        similarity: How the sampled judgments are compared of which one is chosen.
        candidates: Rejected critiques of each item, drawn where there are more.
        seed: Seed of the draws.
    """

    method: Literal["constraint-level", "whole-response", "expert", "per-constraint"] = (
        "constraint-level"
    )
    similarity: Literal["ratio", "quick_ratio", "edit"] = "ratio"
    candidates: int = 1
    seed: int = 42


def pairs(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    choice: ChoiceFlags = ChoiceFlags(),
    reading: Literal["published", "strict"] = "published",
    prompt_file: Path | None = None,
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Make preference pairs.

    Args:
        input: The file with expert critiques (recording.text) and sampled ones (recording.others).
        output: Where the pairs go: JSON lines. Their summary goes beside them: .summary.json.
        choice: Which critiques become a pair.
        reading: Reading of critiques in IF-Critic's format: as its public code reads them, or as
            strictly as when judging.
        prompt_file: A file whose text replaces that of the critiques' prompt.
        format: The format of INPUT; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data.pairs import Pairs

    summary = Pairs(
        input,
        method=choice.method,
        similarity=choice.similarity,
        candidates=choice.candidates,
        seed=choice.seed,
        reading=reading,
        prompt_file=prompt_file,
        format=format,
    ).write(output)
    broken = summary["items"]["broken"]
    return show("pairs", summary, output, broken=broken, quiet=quiet)


def split(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    share: float = 0.6,
    seed: int = 42,
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Split samples in two parts by instruction.

    Args:
        input: The file with the samples.
        output: A folder for sft.jsonl and preference.jsonl; or a .jsonl file in which the tag
            "part" tells them apart.
        share: The first part's share of the instructions.
        seed: Seed of the split.
        format: The format of INPUT; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data.split import InstructionSplit

    summary = InstructionSplit(input, share=share, seed=seed, format=format).write(output)
    return show("split", summary, output, broken=summary["unplaced"], quiet=quiet)


def checklists(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    prompt: str = "plain",
    format: FormatName = None,  # noqa: A002
    task: Annotated[str | None, Parameter(name=["--task", "-t"])] = None,
    quiet: Quiet = False,
) -> int:
    """Write each instruction once, with its checklist, to train a checklist generator on.

    Args:
        input: The file with the instructions and their checklists.
        output: Where the rows go: JSON lines with prompt and completion.
        prompt: plain (with types and priorities), rubric or if_critic, as for heedful checklist.
        format: The format of INPUT; detected from the file by default.
        task: Keep only this task's rows (AdvancedIF).
        quiet: Print no numbers.
    """
    from heedful.core.text import amount
    from heedful.critic import data as critic

    summary = critic.checklist_data(input, output=output, prompt=prompt, format=format, task=task)
    rows = summary["rows"]
    counts = [
        amount(rows["written"], "instruction"),
        f"{amount(rows['repeated'], 'row')} repeated one" if rows["repeated"] else "",
        f"{rows['conflicting']:,} had another checklist" if rows["conflicting"] else "",
        f"{rows['failed']:,} failed" if rows["failed"] else "",
    ]
    outcome = Outcome(
        view=lambda: ", ".join(count for count in counts if count),
        written=[output],
        problems=summary["problems"],
        failed=rows["failed"],
        complete=not rows["failed"],
    )
    return print_outcome(outcome, quiet=quiet)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DrawFlags:
    """Which samples are chosen.

    Attributes:
        of: What is checked: critiques, or checklists.
        samples: Samples to choose.
        seed: Seed of the random choice.
    """

    of: Literal["critiques", "checklists"] = "critiques"
    samples: int = 70
    seed: int = 42


def audit(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    filled: Annotated[bool, Parameter(negative="")] = False,
    draw: DrawFlags = DrawFlags(),
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Choose samples for a person to check, or read the answers.

    Args:
        input: The samples; with --filled, the audit that was filled in.
        output: The file for them, .csv or .jsonl; with --filled, the accuracies as JSON.
        filled: Read INPUT back.
        draw: Which samples are chosen.
        format: The format of the samples; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data import audit as drawing
    from heedful.critic.data.audit import read_back
    from heedful.data.formats.base import write_json
    from heedful.jobs.results import check_folder

    if filled:
        if output is not None:
            check_folder(output, [input])
        result = read_back(input)
        if output is not None:
            write_json(output, result)
        return show("audit", result, output, broken=0, quiet=quiet)
    if output is None:
        hint = "name one with -o audit.csv; --filled reads an audit back"
        raise UsageError("there is no file to write to", hint=hint)
    drawn = drawing.draw(
        input, output, subject=draw.of, samples=draw.samples, seed=draw.seed, format=format
    )
    return show("draw", drawn, output, broken=drawn["unusable"], quiet=quiet)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CardFlags:
    """The contents of the dataset's card.

    Attributes:
        name: Name of the dataset. Default: the folder's.
        funnel: The summary of heedful critic filter, for the card.
    """

    name: str | None = None
    funnel: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskedFlags:
    """How critiques are put to a critic, and which verdicts of code become critiques.

    Attributes:
        prompt: The prompt for critiques made of code's verdicts. Default: plain.
        prompt_file: A file whose text replaces that of the prompt.
        per_call: Constraints in one example made of code's verdicts. Default: all.
        measure: Put what code counts beside each constraint, as heedful evaluate --measure does.
        balance: Take as many met as unmet of code's verdicts of each type.
        cross: Constraints of other rows that code checks on each response.
        seed: Seed of the choice.
    """

    prompt: str = "plain"
    prompt_file: Path | None = None
    per_call: int | None = None
    measure: Annotated[bool, Parameter(negative="")] = False
    balance: bool = True
    cross: int = 0
    seed: int = 0


def export(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    to: Literal["trl", "parquet", "alpaca", "sharegpt", "openai"] = "trl",
    card: CardFlags = CardFlags(),
    asked: AskedFlags = AskedFlags(),
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Export critiques, to fine-tune on, or pairs.

    The results of a run that was judged by code are critiques too: code knows why.

    Args:
        input: Pairs, samples with final critiques, or the results.jsonl of a run.
        output: A folder for the data, a dataset card and what the tool wants beside.
        to: trl (conversational JSON lines), parquet (the same columns, for Hugging Face datasets),
            alpaca or sharegpt (LLaMA-Factory), openai.
        card: What the dataset's card says.
        asked: How critiques are put to a critic.
        format: The format of samples; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data.code_verdicts import ExportSettings
    from heedful.critic.data.export import export as write

    result = write(
        input,
        output,
        to=to,
        name=card.name,
        format=format,
        settings=ExportSettings(**asdict(asked)),
        funnel=card.funnel,
    )
    return show("export", result, output, broken=result["dropped"], quiet=quiet)
