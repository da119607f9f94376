"""Turning flags into a judge, once for all commands that judge."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import Parameter

from heedful.cli import running
from heedful.cli.connection import CallFlags, ConnectionFlags, Names, given_flags, options
from heedful.cli.gates import below, gates
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.cli.running import RunFlags
    from heedful.core.nouns import Scoring
    from heedful.jobs.evaluation import Evaluation
    from heedful.judges import Judge, JudgeOptions


CHECKLIST = "checklist"
"""The name of the judge that calls a model."""

WITH_MODEL = f"rules,compiled,{CHECKLIST}"
"""The judges where a model is named: code decides what it can."""

PERCENT = 100

FAILED_CALL = "model "
"""How the reason begins where a call to a model failed: the place comes first."""

NO_RESPONSE = "the row has no response"
"""The reason of a verdict where there was nothing to judge."""

REPLACED = ("--judge", "-j", "--run", "--limit")
"""Flags that another judge makes useless."""


@dataclass(frozen=True, kw_only=True)
class ProtocolFlags(ConnectionFlags):
    """How a judge goes about its work.

    Attributes:
        prompt: plain, short, structured, structured_object, if_critic, advancedif, cfbench or
            criteria. By default the one that the model's folder names, or plain.
        prompt_file: A file whose text replaces that of the prompt.
        system_prompt_file: For advancedif, a file with the text for system steerability; by default
            that of --prompt-file.
        explain: Ask for an explanation before each verdict.
        measure: Tell the model what code counts for a constraint, as facts. Default: as the model's
            folder says, else no.
        per_call: Constraints in one call; 1 judges each on its own. Default: as the model's folder
            says, else all.
        votes: Independent samples per question; the majority decides.
        min_confidence: A majority smaller than this share of the votes does not decide.
        reasks: How often the verdict on a constraint that the reply left out is requested again.
        reject_contradictions: Leave undecided what code, or the verdict's own explanation,
            contradicts. Default: such an explanation is only marked.
        images: The folder of image files that rows name by their paths. Default: no file is read.
    """

    prompt: str | None = None
    prompt_file: Path | None = None
    system_prompt_file: Path | None = None
    explain: bool = True
    measure: bool | None = None
    per_call: int | None = None
    votes: int = 1
    min_confidence: float = 0.0
    reasks: int = 1
    reject_contradictions: Annotated[bool, Parameter(negative="")] = False
    images: Path | None = None


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
        replies: Write what the judge replied into results.jsonl too, as judge_reply.
        min_coverage: Exit with 1 when a smaller share of the verdicts was decided (0 to 1).
        fail_under: Exit with 3 when a rate is lower, as fully_met=0.8; several with commas.
    """

    scoring: Literal["strict", "faithful"] = "strict"
    seed: int = 0
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    replies: Annotated[bool, Parameter(negative="")] = False
    min_coverage: float = 0.0
    fail_under: Annotated[list[str] | None, Parameter(negative="")] = None


def make(names: str | None, model_flags: JudgeFlags, *, scoring: Scoring, seed: int) -> Judge:
    """Make the judge that the flags describe."""
    from heedful.judges import make_judge

    return make_judge(names, scoring=scoring, seed=seed, **judge_options(model_flags))


def judge_options(model_flags: JudgeFlags) -> JudgeOptions:
    """Return the options of a judge that the flags give."""
    from heedful.judges import JudgeOptions
    from heedful.models.options import CallOptions

    own = JudgeOptions.__annotations__.keys() - CallOptions.__annotations__.keys()
    return cast("JudgeOptions", given_flags(model_flags, sorted(own)) | options(model_flags))


def carry_out(
    job: Callable[..., Evaluation],
    flags: RunFlags,
    model_flags: JudgeFlags,
    results: ResultFlags,
    *,
    run: Path,
) -> int:
    """Judge, or count what judging would take, and print what came of it."""
    limits = gates(results.fail_under or ())
    _check(flags, model_flags, results)

    def outcome(result: Evaluation) -> running.Outcome:
        from heedful.jobs.evaluate_tables import view
        from heedful.jobs.unmet import unmet

        summary = result.summary
        return running.Outcome(
            view=lambda: view(summary, unmet(result)),
            written=(run / "results.jsonl", run / "summary.json", results.output),
            problems=summary["problems"],
            failed=summary["rows"]["failed"],
            names=run / "results.jsonl",
            resumed=result.progress.resumed,
            complete=is_complete(summary, results.min_coverage),
            failures=[said for gate in limits if (said := below(gate, summary))],
            hints=[
                *_unread(result),
                *_retry(summary, run),
                *too_little(summary, results.min_coverage),
            ],
            next_step=_next_step(summary, model_flags),
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


def _check(flags: RunFlags, model_flags: JudgeFlags, results: ResultFlags) -> None:
    """Refuse a share that isn't one, and an output that would replace a file that is read."""
    output, least = results.output, results.min_coverage
    if not 0 <= least <= 1:
        hint = f"give a share, such as {least / 100:g}" if 1 < least <= PERCENT else "from 0 to 1"
        raise UsageError(f"--min-coverage is {least:g}", hint=hint)
    if output is None:
        return
    from heedful.data.formats.base import refuse_inputs

    if flags.log_file is not None and _same_place(output, flags.log_file):
        raise UsageError("the output is the log", where=str(output), hint="name another file")
    read = (flags.prices, model_flags.prompt_file, model_flags.system_prompt_file, flags.log_file)
    refuse_inputs(output, [file for file in read if file is not None])


def _unread(result: Evaluation) -> Iterator[str]:
    """Show a reply that could not be read, and the likely reason."""
    from heedful.jobs.unparsed import example

    unread = example(result)
    if unread is not None:
        yield f"{unread.id}: {unread.reason}; the reply begins: {unread.text}"
        yield unread.hint or "another --prompt or model may do; --limit 5 tries it on five rows"


def _retry(summary: Mapping[str, Any], run: Path) -> Iterator[str]:
    """Offer to ask again, where calls failed: a row that lacks something would fail again."""
    if any(str(item["reason"]).startswith(FAILED_CALL) for item in summary["undecided"]):
        yield f"--retry-failed requests again what failed (run {run})"


def too_little(summary: Mapping[str, Any], min_coverage: float = 0.0) -> Iterator[str]:
    """Say why the exit code is 1, where nothing else does."""
    if summary["coverage"] < min_coverage:
        yield (
            f"exit code {running.INCOMPLETE}: coverage {PERCENT * summary['coverage']:.1f} % is "
            f"below --min-coverage {min_coverage:g}"
        )
    elif not summary["verdicts"]["met"] + summary["verdicts"]["unmet"]:
        yield f"exit code {running.INCOMPLETE}: no verdict was decided"


def _next_step(summary: Mapping[str, Any], model_flags: JudgeFlags) -> str:
    """Name the command for what is missing: constraints, responses, or a model to decide."""
    left, given = summary["needs_model"], summary["constraints"]
    if summary["samples"] and summary["rows"]["read"] and not given:
        return "no sample has a constraint: heedful checklist FILE --model NAME -o OUT makes them"
    reasons = {item["reason"]: item["verdicts"] for item in summary["undecided"]}
    if given and reasons.get(NO_RESPONSE) == given:
        return (
            "no row has a response: --responses FILE names a file that has them, "
            "heedful respond FILE --model NAME -o OUT asks a model for them"
        )
    if not left or model_flags.model:
        return ""
    from heedful.engine.sessions import COMMAND

    words = " ".join(_asking_a_model(COMMAND.get() or ()))
    return (
        f"{amount(left, 'constraint')} left for a model: {words} --model NAME\n"
        f"  (--dry-run counts the calls and the cost; --limit 5 tries five rows)"
    )


def _asking_a_model(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of this command that stay when a model judges too, fit for a shell."""
    yield "heedful"
    skip = False
    for word in words:
        flag, equals, _ = word.partition("=")
        if not skip and flag not in REPLACED:
            yield shlex.quote(word)
        skip = not skip and flag in REPLACED and not equals


def _same_place(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def is_complete(summary: Mapping[str, Any], min_coverage: float = 0.0) -> bool:
    """Tell whether the numbers rest on all of the input, and on enough verdicts."""
    decided = summary["verdicts"]["met"] + summary["verdicts"]["unmet"]
    return bool(not summary["rows"]["failed"] and decided and summary["coverage"] >= min_coverage)
