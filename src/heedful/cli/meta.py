"""``heedful meta``."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli import judging, terminal
from heedful.cli.connection import connect
from heedful.cli.judging import CHECKLIST, JudgeFlags
from heedful.cli.running import PROBLEMS_SHOWN, CostFlags, FormatFlags, Outcome, print_outcome
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.models.base import Model


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
    """

    responses: Path | None = None


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
    """

    scoring: Literal["strict", "faithful"] = "strict"
    seed: int = 0
    by: str = "task"
    correct: Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)] = None
    arbiter: str | None = None


def meta(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    judges: MeasuredFlags = MeasuredFlags(),
    labels: LabelFlags = LabelFlags(),
    measure: MeasureFlags = MeasureFlags(),
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
    flags: CostFlags = CostFlags(),  # noqa: B008 - immutable
) -> int:
    """Measure judges against known verdicts.

    Args:
        input: The file with the labels: its labels, else its annotations, else its critiques.
        judges: Whose verdicts are measured, and where they are kept.
        labels: How the labels and what they are about are read.
        measure: What is measured, and how.
        output: Write the numbers to a .json file or the tables to a .md file.
        model_flags: The model and how it is called.
        flags: What it may cost, over all judges, and what is said meanwhile.

    Returns:
        The exit code.
    """
    from heedful.engine.dry_run import dry_run
    from heedful.engine.progress import Display
    from heedful.reporting.estimates import estimate_view

    responses = [labels.responses] if labels.responses else []
    _check_output(output, [input, *responses, *(judges.runs or ()), *(measure.correct or ())])
    display = Display()
    shared = _options(judges, labels, measure, model_flags) | {
        "prices": flags.price_table([*model_flags.model, *filter(None, [measure.arbiter])]),
        "on_progress": (lambda _: None) if flags.quiet else display,
    }
    try:
        with flags.listening():
            from heedful.analysis.meta import meta as measure_judges

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
    return print_outcome(_outcome(summary, output), quiet=flags.quiet)


def _options(
    judges: MeasuredFlags, labels: LabelFlags, measure: MeasureFlags, model_flags: JudgeFlags
) -> dict[str, Any]:
    """Turn flags into the options of :func:`heedful.analysis.meta.meta`."""
    return {
        "judge": [
            judging.make(name, judge_flags, scoring=measure.scoring, seed=measure.seed)
            for name, judge_flags in _each(judges.names(), model_flags)
        ],
        "responses": labels.responses,
        "format": labels.format,
        "scoring": measure.scoring,
        "seed": measure.seed,
        "probes": [name.strip() for name in judges.probe.split(",")] if judges.probe else (),
        "runs": judges.runs or (),
        "by": measure.by,
        "correct": measure.correct or (),
        "arbiter": _arbiter(measure.arbiter, model_flags),
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
    if path.suffix.lower() not in (".json", ".md"):
        hint = "name a .json file for the numbers or a .md file for the tables"
        raise UsageError("the output is of an unknown kind", where=str(path), hint=hint)
    from heedful.jobs.results import check_folder

    check_folder(path, inputs)


def _write(summary: dict[str, Any], path: Path | None) -> None:
    from heedful.analysis.meta.tables import document
    from heedful.data.formats.base import atomically

    if path is None:
        return
    with atomically(path) as file:
        if path.suffix.lower() == ".md":
            file.write(document(summary).markdown())
        else:
            file.write(json.dumps(summary, ensure_ascii=False, indent=2) + "\n")


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
