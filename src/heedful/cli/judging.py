"""Judging, once for all commands that judge: the flags of the judge, and what is printed."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from heedful.cli import running
from heedful.cli.flags import FlagGroup, Scoring
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.jobs.options import EvaluationOptions
from heedful.judges.options import JudgeOptions
from heedful.metrics.general import BY_PRIORITY, CONSTRAINTS_MET, FULLY_MET, POOLED
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.jobs.evaluate import Evaluation


PERCENT = 100

FAILED_CALL = "model "
"""How the reason begins where a call to a model failed: the place comes first."""

NO_RESPONSE = "the row has no response"
"""The reason of a verdict where there was nothing to judge."""

REPLACED = ("--judge", "-j", "--run", "--limit")
"""Flags that another judge makes useless."""


class ResultOptions(TypedDict, total=False):
    """How results are computed, and when they are good enough.

    Attributes:
        scoring: strict: what the numbers should mean. faithful: what the published code computes.
            Default: strict.
        seed: Seed of --sample and of the random words in faithful IFEval. Default: 0.
        min_coverage: Exit with 1 when a smaller share of the verdicts was decided (0 to 1).
        fail_under: Exit with 3 when a rate is lower, as fully_met=0.8; several with commas.
    """

    scoring: Scoring
    seed: int
    min_coverage: float
    fail_under: Sequence[str]


JUDGING = FlagGroup("Model", (JudgeOptions, CallOptions))
RESULTS = FlagGroup("", (ResultOptions, EvaluationOptions))


def carry_out(data: Any, judge: str | None, options: dict[str, Any]) -> int:
    """Judge, or count what judging would take, and print the result."""
    from heedful.jobs.evaluate import evaluate

    limits, least = gates(options.pop("fail_under", ())), options.pop("min_coverage", 0.0)
    _check(options, least)
    output, models = options.get("output"), options.get("model", [])

    def outcome(result: Evaluation) -> running.Outcome:
        from heedful.jobs.evaluate_tables import unmet, view

        summary, run = result.summary, result.directory or Path()
        return running.Outcome(
            view=lambda: view(summary, unmet(summary, result)),
            written=(run / "results.jsonl", run / "summary.json", output),
            problems=summary["problems"],
            failed=summary["rows"]["failed"],
            names=run / "results.jsonl",
            resumed=result.progress.resumed,
            complete=is_complete(summary, least),
            failures=[said for gate in limits if (said := below(gate, summary))],
            hints=[*_unread(result), *_retry(summary, run), *too_little(summary, least)],
            next_step=_next_step(summary, has_model=bool(models)),
        )

    job = partial(evaluate, data, judge=judge)
    return running.carry_out(job, options, models=models, outcome=outcome)


def _check(options: Mapping[str, Any], least: float) -> None:
    """Refuse a share that isn't one, and an output that would replace a file that is read."""
    if not 0 <= least <= 1:
        hint = f"give a share, such as {least / 100:g}" if 1 < least <= PERCENT else "from 0 to 1"
        raise UsageError(f"--min-coverage is {least:g}", hint=hint)
    if options.get("output") is not None:
        from heedful.core.outputs import refuse_inputs

        read = ("prices", "prompt_file", "system_prompt_file", "log_file")
        refuse_inputs(options["output"], [options[name] for name in read if name in options])


def _unread(result: Evaluation) -> Iterator[str]:
    """Show a reply that could not be read, and the likely reason."""
    from heedful.jobs.evaluate_tables import example

    unread = example(result.summary, result)
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


def _next_step(summary: Mapping[str, Any], *, has_model: bool) -> str:
    """Name the command for what is missing: constraints, responses, or a model to decide."""
    left, given = summary["needs_model"], summary["constraints"]
    if summary["samples"] and summary["rows"]["read"] and not given:
        return (
            "no sample has a constraint: --map COLUMN=checklist names the column that has them, "
            "heedful checklist FILE --model NAME -o OUT makes them"
        )
    reasons = {item["reason"]: item["verdicts"] for item in summary["undecided"]}
    if given and reasons.get(NO_RESPONSE) == given:
        return (
            "no row has a response: --responses FILE names a file that has them, "
            "heedful respond FILE --model NAME -o OUT asks a model for them"
        )
    if not left or has_model:
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


def is_complete(summary: Mapping[str, Any], min_coverage: float = 0.0) -> bool:
    """Tell whether the numbers rest on all of the input, and on enough verdicts."""
    decided = summary["verdicts"]["met"] + summary["verdicts"]["unmet"]
    return bool(not summary["rows"]["failed"] and decided and summary["coverage"] >= min_coverage)


SHORT = {rate[1]: rate for rate in (CONSTRAINTS_MET, FULLY_MET, BY_PRIORITY, POOLED)}
"""Rates that need no benchmark to be named."""

ROUNDING = 1e-9
"""A mean that should be 0.8 may be computed as slightly less."""


class Gate(NamedTuple):
    """The least value of a rate: how it was named, its family and name, the value."""

    named: str
    family: str
    name: str
    least: float


def gates(given: Iterable[str]) -> list[Gate]:
    """Read what ``--fail-under`` says, such as ``fully_met=0.8``; several with commas."""
    return [_gate(word.strip()) for words in given for word in words.split(",")]


def _gate(word: str) -> Gate:
    from heedful.reporting.metric_names import KEYS

    named, equals, value = word.partition("=")
    try:
        least = float(value)
    except ValueError:
        least = -1.0
    if not equals or not named or not 0 <= least <= 1:
        percentage = f"{named}={least / 100:g}" if 1 < least <= 100 else "fully_met=0.8"  # noqa: PLR2004
        raise UsageError(
            f"--fail-under {word!r} isn't a rate with a share from 0 to 1",
            hint=f"for example {percentage}",
        )
    if named in KEYS:
        return Gate(named, *KEYS[named], least)
    if named in SHORT:
        return Gate(named, *SHORT[named], least)
    family, dot, name = named.partition(".")
    if not dot or not name or not _known(family):
        raise UsageError(
            f"--fail-under knows no rate {named!r}",
            hint=f"give {', '.join([*KEYS, *SHORT])}, or a rate of summary.json, such as "
            "ifeval.prompt_strict",
        )
    return Gate(named, family, name, least)


def _known(family: str) -> bool:
    from heedful.metrics.family import family_of
    from heedful.reporting.metric_names import EXTRA

    return family in EXTRA or family_of(family) is not None


def below(gate: Gate, summary: Mapping[str, Any]) -> str:
    """Say how a run falls short of a gate; nothing if it doesn't.

    What is undecided may be unmet, so a gate holds against the lower end of a range.
    """
    from heedful.reporting.metric_names import label
    from heedful.reporting.notation import least, percent, rate, undecided

    measure = summary["metrics"].get(gate.family, {}).get(gate.name)
    if measure is None:
        there = ", ".join(f"{f}.{n}" for f, names in summary["metrics"].items() for n in names)
        return f"--fail-under {gate.named}: the run has no such rate, but {there or 'none'}"
    if least(measure) >= gate.least - ROUNDING:
        return ""
    about, left = label(gate.family, gate.name, summary), undecided(measure)
    isnt = f"is {rate(measure)} %" + (f" ({left} undecided)" if left else "")
    may = measure["bounds"] and measure["bounds"][1] >= gate.least
    failed = "which isn't surely at least" if may else "below"
    return f"--fail-under: {about} {isnt}, {failed} {percent(gate.least)} %"
