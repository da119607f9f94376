"""``heedful critic``: data to train a critic on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.flags import (
    MODEL,
    FlagGroup,
    Output,
    Quiet,
    RequiredOutput,
    Switch,
    connected,
    listed,
    takes,
    the_model,
)
from heedful.cli.running import (
    ALONE,
    DATA,
    RUN,
    WHOLE_DATA,
    Outcome,
    add_to_rows,
    print_outcome,
    rows_outcome,
    show,
)
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.critic.data.export import export as write_export
from heedful.critic.data.generator import checklist_data
from heedful.critic.data.options import ExportSettings, FilterSettings
from heedful.critic.data.pairs import Pairs
from heedful.critic.data.split import InstructionSplit
from heedful.engine.options import taken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.critic.data import Filtering

Named = Annotated[list[str] | None, Parameter(negative="")]


@takes(DATA, MODEL, RUN, temperature="Default: 1, or 0 for a single critique.")
def sample(
    input: list[Path],
    /,
    *,
    output: Output = None,
    samples: Annotated[int, Parameter(name=["--samples", "-n"])] = 5,
    prompt: str | None = None,
    measure: Switch = False,
    overwrite: Switch = False,
    seed: int | None = None,
    **options: Any,
) -> int:
    """Sample several critiques of each response from an expert model.

    INPUT has instructions, their checklists (heedful checklist makes them) and
    responses (heedful respond obtains them). A trained critic is sampled the same
    way: a final critique that a row has already stays.

    heedful critic sample responses.jsonl --model expert -o critiques.jsonl

    Args:
        input: The file with the responses and their checklists, or several.
        output: Where the rows go with their critiques: JSON lines. Only a dry run needs none.
        samples: Independent critiques of each response.
        prompt: plain, short, structured, structured_object, if_critic or advancedif. By default the
            one that the model's folder names, or plain.
        measure: Tell the model what code counts, as for a served critic that was trained so. A
            model's folder says it itself.
        overwrite: Also replace sampled critiques that are there.
        seed: Critique k is sampled with the seed SEED + k - 1, where the model takes one.
    """
    from heedful.critic import data as critic
    from heedful.judges import Measurement
    from heedful.judges.making import limited, prompt_for, protocol_of

    name = the_model(options)
    (model,), how = connected(options, [name], temperature=1.0 if samples > 1 else 0.0)
    how = limited(how, model, prompt, None).model_copy(update={"seed": seed})
    measured = Measurement() if measure or protocol_of(model).measure else None
    expert = critic.Expert(model, prompt_for(model, prompt), how, measured)
    job = partial(critic.sample_critiques, expert=expert, samples=samples, overwrite=overwrite)
    return add_to_rows(job, input, output, options, [name])


STAGES = FlagGroup("Stages", (FilterSettings,), {"skip", "sampling"})


@takes(
    STAGES,
    WHOLE_DATA,
    MODEL,
    ALONE,
    model="The expert who made the critiques; it revises them (rules).",
)
def filter(  # noqa: A001 - the command's name
    input: Path,
    /,
    *,
    output: Output = None,
    skip: str = "",
    verifier: Named = None,
    **options: Any,
) -> int:
    """Filter sampled critiques into one critique of each response, to be learned from.

    Four stages: cross (other models verify each judgment), rules (code counts, the
    expert revises), judgment (the majority, if it is large enough), explanation
    (the one most like the others). With other settings the same command asks only
    what is new. The run's directory gets dropped.jsonl, funnel.json and funnel.md.

    heedful critic filter critiques.jsonl --model expert --verifier a --verifier b -o filtered.jsonl

    Args:
        input: The file with the critiques, as heedful critic sample makes it.
        output: Where the rows that are kept go, each with its final critique: JSON lines.
            Only a dry run needs none.
        skip: Stages to leave out: cross, rules, judgment, explanation; with commas.
        verifier: A model that verifies the judgments (cross); best not the expert. Give it again
            for several: what any of them faults is dropped.
    """
    from heedful.critic import data as critic

    experts = options.pop("model", [])
    if len(experts) > 1:
        hint = "name one; verifiers are --verifier"
        raise UsageError(f"--model names {len(experts)} experts", hint=hint)
    names = list(dict.fromkeys([*experts, *(verifier or ())]))
    connections, how = connected(options, names)
    models = dict(zip(names, connections, strict=True))
    stages = taken(options, FilterSettings)
    job = partial(
        critic.filter_critiques,
        verifiers=[models[name] for name in dict.fromkeys(verifier or ())],
        expert=models[experts[0]] if experts else None,
        settings=FilterSettings(**stages, skip=listed(skip), sampling=how),
    )
    names = [model.name for model in connections]
    return add_to_rows(job, [input], output, options, names, outcome=_filtered)


def _filtered(result: Filtering, output: Path | None) -> Outcome:
    from heedful.critic.data.funnel import document

    run = result.directory or Path()
    reports = (run / name for name in ("dropped.jsonl", "funnel.json", "funnel.md"))
    outcome = rows_outcome(
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


@takes(FlagGroup("", (Pairs,)))
def pairs(input: Path, /, *, output: RequiredOutput, quiet: Quiet = False, **options: Any) -> int:
    """Make preference pairs of an expert's critiques and sampled ones.

    A sampled critique is rejected; chosen is the same with each judgment that the
    expert contradicts replaced by a sampled one that the expert shares.

    heedful critic pairs dpo_data.json --similarity quick_ratio -o pairs.jsonl

    Args:
        input: The file with expert critiques (recording.text) and sampled ones (recording.others).
        output: Where the pairs go: JSON lines. Their summary goes beside them: .summary.json.
        method: constraint-level: only wrong judgments are replaced. Baselines: whole-response (a
            sample that is right throughout is chosen), expert (the expert's critique is chosen).
        similarity: How sampled judgments are compared to choose one: ratio or quick_ratio.
        candidates: Rejected critiques of each item, drawn where there are more.
        seed: Seed of the draws.
        prompt_file: A file whose text replaces that of the critiques' prompt.
        format: The format of INPUT; detected from the file by default.
        quiet: Print no numbers.
    """
    summary = Pairs(input, **options).write(output)
    broken = summary["items"]["broken"]
    return show("pairs", summary, output, broken=broken, quiet=quiet)


@takes(FlagGroup("", (InstructionSplit,)))
def split(input: Path, /, *, output: RequiredOutput, quiet: Quiet = False, **options: Any) -> int:
    """Split samples in two, for fine-tuning and for preferences, by instruction.

    All samples of an instruction go into the same part.

    heedful critic split critiques.jsonl -o parts

    Args:
        input: The file with the samples.
        output: A folder for sft.jsonl and preference.jsonl.
        share: The first part's share of the instructions.
        seed: Seed of the split.
        format: The format of INPUT; detected from the file by default.
        quiet: Print no numbers.
    """
    summary = InstructionSplit(input, **options).write(output)
    return show("split", summary, output, broken=summary["unplaced"], quiet=quiet)


@takes(FlagGroup("", (checklist_data,), {"output"}))
def checklists(
    input: Path, /, *, output: RequiredOutput, quiet: Quiet = False, **options: Any
) -> int:
    """Write instructions and checklists to train a checklist generator on.

    Each instruction once, as prompt and completion; no model is called.

    heedful critic checklists critiques.jsonl -o generator.jsonl

    Args:
        input: The file with the instructions and their checklists.
        output: Where the rows go: JSON lines with prompt and completion.
        prompt: plain (with types and priorities), rubric or if_critic, as for heedful checklist.
        format: The format of INPUT; detected from the file by default.
        task: Keep only this task's rows (AdvancedIF).
        quiet: Print no numbers.
    """
    summary = checklist_data(input, output=output, **options)
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


@takes(FlagGroup("", (ExportSettings, write_export)))
def export(
    input: Path,
    /,
    *,
    output: RequiredOutput,
    to: Literal["trl", "parquet", "alpaca", "sharegpt", "openai"] = "trl",
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Export critiques or pairs for a training tool, with a dataset card.

    The results of a run that was judged by code are critiques too: code knows why.

    heedful critic export pairs.jsonl --to trl -o dataset

    Args:
        input: Pairs, samples with final critiques, or the results.jsonl of a run.
        output: A folder for the data, a dataset card and what the tool wants beside.
        to: trl (conversational JSON lines), parquet (the same columns, for Hugging Face datasets),
            alpaca or sharegpt (LLaMA-Factory), openai.
        name: Name of the dataset, on its card. Default: the folder's.
        funnel: The summary of heedful critic filter, for the card.
        format: The format of samples; detected from the file by default.
        quiet: Print no numbers.
    """
    settings = ExportSettings(**taken(options, ExportSettings))
    result = write_export(input, output, to=to, settings=settings, **options)
    return show("export", result, output, broken=sum(result["left_out"].values()), quiet=quiet)
