"""Turning flags into a judge, once for all commands that judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli import running
from heedful.cli.connection import CallFlags, ConnectionFlags, Names, connect, sampling
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.cli.running import RunFlags
    from heedful.core.nouns import Scoring
    from heedful.jobs.evaluate import Evaluation
    from heedful.judges import Judge

CHECKLIST = "checklist"
"""The name of the judge that calls a model."""

PROMPT_FLAGS = ("prompt", "prompt-file", "system-prompt-file")

PROMPT = "plain"
"""The prompt, unless the command or the model\'s folder names another."""


@dataclass(frozen=True, kw_only=True)
class ProtocolFlags(ConnectionFlags):
    """How a judge goes about its work.

    Attributes:
        prompt: plain, structured, structured_object, if_critic, advancedif, cfbench or criteria. By
            default the one that the model's folder names, or plain.
        prompt_file: A file whose text replaces that of the prompt.
        system_prompt_file: For advancedif, a file with the text for system steerability; by default
            that of --prompt-file.
        explain: Ask for an explanation before each verdict.
        measure: Tell the model what code counts for a constraint, as facts.
        per_call: Constraints in one call; 1 judges each on its own. Default: all.
        votes: Independent samples per question; the majority decides.
        min_confidence: A majority smaller than this share of the votes does not decide.
        reasks: How often the verdict on a constraint that the reply left out is requested again.
    """

    prompt: str | None = None
    prompt_file: Path | None = None
    system_prompt_file: Path | None = None
    explain: bool = True
    measure: Annotated[bool, Parameter(negative="")] = False
    per_call: int | None = None
    votes: int = 1
    min_confidence: float = 0.0
    reasks: int = 1


@Parameter(name="*", group="Model")
@dataclass(frozen=True, kw_only=True)
class JudgeFlags(CallFlags, ProtocolFlags):
    """The model that judges, and how it is called.

    Attributes:
        model: Who judges (--judge checklist): a name at --base-url, a FOLDER or local:NAME in this
            process, any:PROVIDER/NAME, or PLUGIN:NAME. Several make a panel: its majority decides.
        temperature: Default: 0, or 1 with several votes.
    """

    model: Names = field(default_factory=list)
    temperature: float | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ResultFlags:
    """How results are computed and written.

    Attributes:
        scoring: strict: what the numbers should mean. faithful: what the published code computes.
        seed: Seed of the random words in faithful IFEval.
        output: Also write the results here: JSON lines, or .csv for AdvancedIF.
        min_coverage: Exit with 1 when a smaller share of the verdicts was decided (0 to 1).
    """

    scoring: Literal["strict", "faithful"] = "strict"
    seed: int = 0
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    min_coverage: float = 0.0


def make(names: str, model_flags: JudgeFlags, *, scoring: Scoring, seed: int) -> Judge:
    """Make the judge that the flags describe.

    Raises:
        UsageError: a judge or a prompt is unknown, or flags do not go together.
    """
    from heedful.jobs.evaluate import make_judge

    asks = [name.strip() for name in names.split(",")]
    if CHECKLIST not in asks:
        if model_flags.model:
            raise UsageError(
                "--model is given, but no judge that uses it",
                hint=f"add --judge {CHECKLIST}, or --judge rules,{CHECKLIST}",
            )
        unused = [f"--{name}" for name in PROMPT_FLAGS if _given(model_flags, name)]
        if unused:
            raise UsageError(
                f"{unused[0]} is given, but no judge that uses a model",
                hint=f"add --judge {CHECKLIST} and --model",
            )
        return make_judge(names, scoring=scoring, seed=seed)
    from heedful.judges import Cascade

    judges = [
        _model_judge(model_flags)
        if name == CHECKLIST
        else make_judge(name, scoring=scoring, seed=seed)
        for name in asks
    ]
    return judges[0] if len(judges) == 1 else Cascade(*judges)


def _model_judge(model_flags: JudgeFlags) -> Judge:
    """Make the judge that calls models: one, or a panel of models and of samples."""
    from heedful.judges import Measurement, Panel, prompts
    from heedful.judges.model import Checklist

    if not model_flags.model:
        raise UsageError("the judge has no model", hint="name one with --model")
    least = {"--votes": 1, "--per-call": 1, "--reasks": 0}
    for flag, bound in least.items():
        value = _given(model_flags, flag)
        if value is not None and value < bound:
            raise UsageError(f"{flag} is {value}", hint=f"give at least {bound}")
    if not 0 <= model_flags.min_confidence <= 1:
        raise UsageError(
            f"--min-confidence is {model_flags.min_confidence:g}", hint="give a share from 0 to 1"
        )
    how = sampling(model_flags, 1.0 if model_flags.votes > 1 else 0.0)
    members: list[Judge] = [
        Checklist(
            model,
            prompts.make(
                model_flags.prompt or getattr(model, "prompt", None) or PROMPT,
                explain=model_flags.explain,
                prompt_file=model_flags.prompt_file,
                system_prompt_file=model_flags.system_prompt_file,
            ),
            per_call=model_flags.per_call,
            sampling=how,
            reasks=model_flags.reasks,
            sample_index=index,
            measure=Measurement() if model_flags.measure else None,
        )
        for model in connect(model_flags)
        for index in range(model_flags.votes)
    ]
    if len(members) == 1:
        return members[0]
    return Panel(*members, min_confidence=model_flags.min_confidence)


def _given(model_flags: JudgeFlags, flag: str) -> Any:
    return getattr(model_flags, flag.removeprefix("--").replace("-", "_"))


def carry_out(
    job: Callable[..., Evaluation],
    flags: RunFlags,
    model_flags: JudgeFlags,
    results: ResultFlags,
    *,
    run: Path,
) -> int:
    """Judge, or count what judging would take, and print what came of it.

    Args:
        job: judges, given the options of a run.
        flags: how it is run.
        model_flags: the model and how it is called.
        results: where else they are written, and when they are complete.
        run: the run's directory.

    Returns:
        The exit code.

    Raises:
        UsageError: the output is one of the files that the flags name, or the share is not one.
    """
    output, least = results.output, results.min_coverage
    if not 0 <= least <= 1:
        raise UsageError(f"--min-coverage is {least:g}", hint="give a share from 0 to 1")
    if output is not None:
        from heedful.data.formats.base import refuse_inputs

        named = (
            flags.prices,
            model_flags.prompt_file,
            model_flags.system_prompt_file,
            flags.log_file,
        )
        if flags.log_file is not None and _same_place(output, flags.log_file):
            raise UsageError("the output is the log", where=str(output), hint="name another file")
        refuse_inputs(output, [file for file in named if file is not None])

    def outcome(result: Evaluation) -> running.Outcome:
        from heedful.jobs.evaluate_tables import view

        summary = result.summary
        return running.Outcome(
            view=lambda: view(summary),
            written=(run / "results.jsonl", run / "summary.json", results.output),
            problems=summary["problems"],
            failed=summary["rows"]["failed"],
            names=run / "results.jsonl",
            resumed=result.progress.resumed,
            complete=_is_complete(summary, results.min_coverage),
        )

    return running.carry_out(
        job,
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=outcome,
        output=run,
    )


def _same_place(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _is_complete(summary: Mapping[str, Any], min_coverage: float) -> bool:
    """Tell whether the numbers rest on all of the input, and on enough verdicts."""
    decided = summary["verdicts"]["met"] + summary["verdicts"]["unmet"]
    return bool(not summary["rows"]["failed"] and decided and summary["coverage"] >= min_coverage)
