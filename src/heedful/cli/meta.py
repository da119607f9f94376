"""``heedful meta``."""

from __future__ import annotations

import dataclasses
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli import judging, terminal
from heedful.cli.connection import connect
from heedful.cli.judging import CHECKLIST, JudgeFlags
from heedful.cli.running import (
    PROBLEMS_SHOWN,
    CostFlags,
    FormatFlags,
    Outcome,
    Output,
    print_outcome,
)
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.analysis.meta.sweep import SweepArm
    from heedful.models.base import Model
    from heedful.reporting.document import Document


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MeasuredFlags:
    """Whose verdicts are measured, and where they are kept.

    Attributes:
        judge: As for evaluate; give it again for each further judge. recorded (the default, but
            for runs): what the file holds beside its labels.
        runs: Runs of evaluate on INPUT, whose verdicts are measured too.
        probe: Judge again, and count what flips: repeat, order, length; several with commas.
        folder: Where the judges' runs are kept; the same command again goes on there.
        retry_failed: Work again on the rows, and pairs of explanations, that failed or were left
            undecided, and only those.
    """

    judge: Annotated[list[str] | None, Parameter(name=["--judge", "-j"], negative="")] = None
    runs: Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)] = None
    probe: str | None = None
    folder: Path = Path("heedful-runs")
    retry_failed: Annotated[bool, Parameter(negative="")] = False

    def names(self) -> Sequence[str]:
        """Return the judges that are asked."""
        if self.judge is None:
            return [] if self.runs else ["recorded"]
        return self.judge


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LabelFlags(FormatFlags):
    """How the labels and what they are about are read.

    Attributes:
        responses: A file with the responses, joined on key or prompt, where INPUT has none.
        reasoning: strip or keep the reasoning before a response's answer, as in evaluate.
    """

    responses: Path | None = None
    reasoning: Literal["strip", "keep"] | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MeasureFlags:
    """How judges are measured.

    Attributes:
        scoring: strict: undecided verdicts are left out. faithful: they are met, as IF-RewardBench
            takes them.
        seed: For the randomization tests and the order that a probe shows.
        by: The tag that averages per type go by.
        correct: Runs without labels by a judge that is measured: correct their rate of
            constraints met for its errors.
        arbiter: A model that compares the explanations of two judges, in both orders.
        truth: Take the verdicts of code as the labels: rules, compiled, or both with a comma.
        sweep: Try protocols, as per_call=1,3,all votes=1,5 explain=yes,no model=A,B, and choose by
            accuracy and cost; runs: only those of --runs.
        margin: How many points of accuracy the protocol that --sweep chooses may lose.
    """

    scoring: Literal["strict", "faithful"] = "strict"
    seed: int = 0
    by: str = "task"
    correct: Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)] = None
    arbiter: str | None = None
    truth: str | None = None
    sweep: Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)] = None
    margin: float = 1.0


def meta(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    judges: MeasuredFlags = MeasuredFlags(),
    labels: LabelFlags = LabelFlags(),
    measure: MeasureFlags = MeasureFlags(),
    output: Output = None,
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
    flags: CostFlags = CostFlags(),  # noqa: B008 - immutable
) -> int:
    """Measure judges against known verdicts.

    Args:
        input: The file with the labels: its labels, else its annotations, else its critiques.
        judges: Whose verdicts are measured, and where they are kept.
        labels: How the labels and what they are about are read.
        measure: What is measured, and how.
        output: Write the numbers to a .json file, or the tables to a .md or .html file.
        model_flags: The model and how it is called.
        flags: What it may cost, over all judges, and what is said meanwhile.
    """
    from heedful.cli.estimates import estimate_view
    from heedful.engine.dry_run import dry_run
    from heedful.engine.progress import Display

    responses = [labels.responses] if labels.responses else []
    _check_output(output, [input, *responses, *(judges.runs or ()), *(measure.correct or ())])
    display = Display()
    measure_judges, shared = _function(judges, labels, measure, model_flags)
    shared |= {
        "prices": flags.price_table([*model_flags.model, *filter(None, [measure.arbiter])]),
        "executor": flags.executor,
        "on_progress": (lambda _: None) if flags.quiet else display,
    }
    try:
        with flags.listening():
            if flags.dry_run:
                estimate = dry_run(measure_judges, input, **shared)
                display.clear()
                terminal.console().print(estimate_view(estimate, flags.max_cost))
                return 0
            summary = measure_judges(
                input,
                concurrency=model_flags.max_concurrency,
                max_cost=flags.max_cost,
                **shared,
            )
    finally:
        display.clear()
    _write(summary, output)
    if measure.sweep:
        return print_outcome(
            _swept(summary, _reading(input, labels), output, model_flags), quiet=flags.quiet
        )
    return print_outcome(_outcome(summary, output), quiet=flags.quiet)


def _function(
    judges: MeasuredFlags, labels: LabelFlags, measure: MeasureFlags, model_flags: JudgeFlags
) -> tuple[Callable[..., dict[str, Any]], dict[str, Any]]:
    """Choose the function that measures, and turn flags into its options."""
    options = _options(judges, labels, measure)
    options["arbiter"] = _arbiter(measure.arbiter, model_flags)
    if not measure.sweep:
        from heedful.analysis.meta import meta as measure_judges

        options["scoring"] = measure.scoring
        options["judge"] = [
            judging.make(name, judge_flags, scoring=measure.scoring, seed=measure.seed)
            for name, judge_flags in _each(judges.names(), model_flags)
        ]
        return measure_judges, options
    from heedful.analysis.meta.sweep import sweep

    if measure.scoring != "strict":
        raise UsageError("--sweep has strict scoring only", hint="leave --scoring out")
    options["arms"] = arms(measure.sweep, judges.judge, model_flags)
    options["margin"] = measure.margin / 100
    return sweep, options


def _options(judges: MeasuredFlags, labels: LabelFlags, measure: MeasureFlags) -> dict[str, Any]:
    """Turn flags into the options that all ways to measure share."""
    return {
        "responses": labels.responses,
        "format": labels.format,
        "reasoning": labels.reasoning,
        "seed": measure.seed,
        "probes": [name.strip() for name in judges.probe.split(",")] if judges.probe else (),
        "runs": judges.runs or (),
        "by": measure.by,
        "correct": measure.correct or (),
        "truth": measure.truth,
        "folder": judges.folder,
        "retry_failed": judges.retry_failed,
    }


def _each(names: Sequence[str], model_flags: JudgeFlags) -> Iterator[tuple[str, JudgeFlags]]:
    """Pair each judge with its flags: a judge without a model gets no model."""
    calls = [CHECKLIST in name for name in names]
    for name, has_model in zip(names, calls, strict=True):
        none = any(calls) and not has_model
        yield name, dataclasses.replace(model_flags, model=[]) if none else model_flags


def _arbiter(name: str | None, model_flags: JudgeFlags) -> Model | None:
    return None if name is None else connect(dataclasses.replace(model_flags, model=[name]))[0]


def _check_output(path: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse an output that cannot be written before anything is judged, not after."""
    if path is None:
        return
    if path.suffix.lower() not in (".json", ".md", ".html"):
        hint = "name a .json file for the numbers, or a .md or .html file for the tables"
        raise UsageError("the output is of an unknown kind", where=str(path), hint=hint)
    from heedful.jobs.results import check_folder

    check_folder(path, inputs)


def _write(summary: dict[str, Any], path: Path | None) -> None:
    from heedful.data.formats.base import atomically

    if path is None:
        return
    kind = path.suffix.lower()
    with atomically(path) as file:
        if kind == ".json":
            file.write(json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
        else:
            shown = _document(summary)
            file.write(shown.markdown() if kind == ".md" else shown.html())


def _document(summary: dict[str, Any]) -> Document:
    if "protocols" in summary:
        from heedful.analysis.meta.sweep import document
    else:
        from heedful.analysis.meta.tables import document
    return document(summary)


def _reading(path: Path, labels: LabelFlags) -> list[str]:
    """Write the words that have evaluate read the same rows."""
    words = [str(path)]
    if labels.map is not None:
        words += ["--map", labels.map]
    elif labels.format is not None:
        words += ["--format", labels.format]
    if labels.responses is not None:
        words += ["--responses", str(labels.responses)]
    return words


def _swept(
    summary: dict[str, Any], data: Sequence[str], output: Path | None, model_flags: JudgeFlags
) -> Outcome:
    chosen = next(each for each in summary["protocols"] if each["name"] == summary["chosen"])
    undecided = [
        f"{each['name']}: no verdict was decided"
        for each in summary["protocols"]
        if not each["coverage"]
    ]
    return Outcome(
        view=lambda: _document(summary).terminal(),
        written=[*(each["run"] for each in summary["protocols"]), output],
        problems=summary["problems"],
        failed=len(summary["problems"]),
        hints=undecided,
        complete=not (undecided or summary["rows"]["failed"]),
        next_step=command(data, chosen["settings"], model_flags) if chosen["settings"] else "",
    )


def _outcome(summary: dict[str, Any], output: Path | None) -> Outcome:
    from heedful.analysis.meta.tables import view

    compared = summary.get("explanations") or {"rows": {"failed": 0}, "problems": [], "run": None}
    failed = compared["rows"]["failed"]
    problems = [
        {"id": f"explanations: {problem['id']}", "problem": problem["problem"]}
        for problem in compared["problems"][:PROBLEMS_SHOWN]
    ]
    retry = (
        f"{amount(failed, 'pair')} of explanations could not be compared; --retry-failed retries"
    )
    undecided = _undecided(summary)
    return Outcome(
        view=lambda: view(summary),
        written=[*(judge["run"] for judge in summary["judges"]), compared["run"], output],
        problems=[*summary["problems"], *problems],
        failed=len(summary["problems"]) + failed,
        hints=[*([retry] if failed else []), *undecided],
        complete=not (undecided or failed or summary["rows"]["failed"]),
    )


def _undecided(summary: dict[str, Any]) -> list[str]:
    """Name the judges that decided no verdict, and so are not measured, a line each."""
    said = [
        f"{judge['judge']}: no verdict was decided"
        for judge in summary["judges"]
        if not judge["coverage"]
    ]
    compared = summary.get("explanations")
    if compared and compared["pairs"] and not compared["coverage"]:
        said.append("explanations: no pair was decided")
    return said


RUNS = "runs"
"""Sweeps nothing but the runs that are named."""

_NUMBERS = {"per_call": int, "votes": int, "reasks": int, "temperature": float}
_SWITCHES = ("explain", "measure")
_WORDS = {"yes": True, "no": False}


def arms(words: Sequence[str], judges: Sequence[str] | None, flags: JudgeFlags) -> list[SweepArm]:
    """Make the protocols that the command line names."""
    from heedful.analysis.meta.sweep import protocols

    if list(words) == [RUNS]:
        return []
    axes: dict[str, list[Any]] = {} if judges is None else {"judge": list(judges)}
    for word in words:
        name, equals, values = word.partition("=")
        if not equals:
            raise UsageError(
                f"--sweep {word!r} has no values",
                hint="write per_call=1,3,all votes=1,5, or runs for those of --runs alone",
            )
        key = name.strip().replace("-", "_")
        if key in axes:
            hint = f"write all of its values at once: {key}=A,B"
            raise UsageError(f"--sweep has {key} twice", hint=hint)
        axes[key] = [_value(key, each.strip()) for each in values.split(",") if each.strip()]
    return protocols(axes, **judging.judge_options(flags))


def _value(name: str, word: str) -> Any:
    """Read a value of a setting."""
    if name in _SWITCHES:
        if word not in _WORDS:
            raise UsageError(f"--sweep {name}={word}", hint=f"write {name}=yes,no")
        return _WORDS[word]
    if name == "per_call" and word == "all":
        return None
    if name not in _NUMBERS:
        return word
    try:
        return _NUMBERS[name](word)
    except ValueError as error:
        raise UsageError(f"--sweep {name}={word} isn't a number") from error


def command(data: Sequence[str], settings: Mapping[str, Any], flags: JudgeFlags) -> str:
    """Write the command that evaluates by a protocol."""
    from heedful.engine.sessions import without_secrets

    default = type(flags)()
    given = {
        each.name: getattr(flags, each.name)
        for each in dataclasses.fields(flags)
        if each.name != "api_key" and getattr(flags, each.name) != getattr(default, each.name)
    }
    merged = given | dict(settings)
    judge = merged.pop("judge", "checklist")
    words = ["heedful", "evaluate", *data, "--judge", str(judge)]
    for name, value in merged.items():
        words += _flag(name, value)
    return " ".join(map(shlex.quote, without_secrets(words)))


def _flag(name: str, value: Any) -> Iterator[str]:
    written = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield written if value else f"--no-{written[2:]}"
    elif value is not None:
        for each in value if isinstance(value, list) else [value]:
            yield from (written, str(each))
