"""``heedful judge-accuracy``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.analysis.meta.options import MetaOptions
from heedful.cli.files import check_document, write_document
from heedful.cli.flags import FlagGroup, Output, Scoring, takes
from heedful.cli.judging import JUDGING
from heedful.cli.running import ConsoleOptions, Outcome, TableOptions, carry_out
from heedful.cli.terminal import LogOptions
from heedful.core.text import amount
from heedful.engine.options import RunOptions, taken
from heedful.judges.options import CHECKLIST, JudgeOptions
from heedful.models.options import CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Judges = Annotated[list[str] | None, Parameter(name=["--judge", "-j"], negative="")]
Runs = Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)]

RUNS_FOLDER = Path("heedful-runs")

MEASURING = FlagGroup("", (MetaOptions,), only=("by", "truth", "since", "folder", "retry_failed"))
LABELS = FlagGroup(
    "Data", (TableOptions, MetaOptions), only=("map", "format", "responses", "reasoning")
)
COST = FlagGroup("Run", (RunOptions,), only=("max_cost", "prices", "executor", "workers"))
CONSOLE = FlagGroup("Run", (LogOptions, ConsoleOptions))


@takes(MEASURING, LABELS, JUDGING, CONSOLE, COST)
def judge_accuracy(
    input: Path,
    /,
    *,
    judge: Judges = None,
    runs: Runs = None,
    scoring: Scoring = "strict",
    seed: int = 0,
    output: Output = None,
    **options: Any,
) -> int:
    """Measure judges against known verdicts.

    F1 of met and of unmet, balanced accuracy, kappa, alpha, calibration, cost, and
    differences between judges. The labels are in the file, or a critique in it is
    taken for the truth.

    heedful judge-accuracy labelled.jsonl --judge checklist --model gpt-4.1-mini

    Args:
        input: The file with the labels: its labels, else its annotations, else its critiques.
        judge: As for evaluate; give it again for each further judge. Default: with --model
            checklist, else recorded (what the file holds beside its labels), but for runs.
        runs: Runs of evaluate on INPUT, whose verdicts are measured too.
        scoring: strict: undecided verdicts are left out. faithful: they are met, as IF-RewardBench
            takes them.
        seed: For the randomization tests.
        output: Write the numbers to a .json file, or the tables to a .md or .html file.
    """
    from heedful.analysis.meta import judge_accuracy as measure_judges
    from heedful.analysis.meta.tables import document

    read = [input, options.get("responses"), *(runs or ())]
    check_document(output, [path for path in read if path is not None])
    judging = taken(options, JudgeOptions)
    options.setdefault("folder", RUNS_FOLDER)
    options |= {"seed": seed, "runs": runs or ()}
    options["concurrency"] = judging.get("max_concurrency", CONCURRENCY)
    default = ["checklist"] if judging.get("model") else [] if runs else ["recorded"]
    names: list[Any] = [None] if "protocol" in judging else default
    judges = list(_judges(judge or names, scoring, seed, judging))
    function = partial(measure_judges, input, scoring=scoring, judge=judges)

    def outcome(summary: dict[str, Any]) -> Outcome:
        write_document(output, summary, lambda: document(summary))
        shown = _outcome(summary)
        return replace(shown, written=[*shown.written, output])

    models = judging.get("model", ())
    return carry_out(function, options, models=models, outcome=outcome)


def _judges(
    names: Sequence[str | None], scoring: Scoring, seed: int, options: dict[str, Any]
) -> Iterator[Any]:
    """Make the judges; beside one that calls a model, one without gets none."""
    from heedful.judges import make_judge

    calls = [name is None or CHECKLIST in name for name in names]
    for name, has_model in zip(names, calls, strict=True):
        none = any(calls) and not has_model
        own = options | {"model": []} if none else options
        yield make_judge(name, scoring=scoring, seed=seed, **own)


def _outcome(summary: dict[str, Any]) -> Outcome:
    from heedful.analysis.meta.tables import view

    undecided = [
        f"{judge['judge']}: no verdict was decided"
        for judge in summary["judges"]
        if not judge["coverage"]
    ]
    return Outcome(
        view=lambda: view(summary),
        written=[judge["run"] for judge in summary["judges"]],
        problems=summary["problems"],
        failed=len(summary["problems"]),
        hints=undecided,
        failures=_drifted(summary.get("since")),
        complete=not (undecided or summary["rows"]["failed"]),
    )


def _drifted(since: Mapping[str, Any] | None) -> list[str]:
    if since is None or since["shown"] != "loss":
        return []
    changed = amount(since["changed"], "verdict")
    return [
        f"the judge is worse than in {since['run']}: {changed} changed of {since['compared']:,}"
    ]
