"""``heedful align``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.analysis.align.options import Trying
from heedful.analysis.meta.options import MetaOptions
from heedful.cli.flags import FlagGroup, Judge, RequiredOutput, takes
from heedful.cli.judge_accuracy import CONSOLE, COST, LABELS, RUNS_FOLDER
from heedful.cli.judging import JUDGING
from heedful.cli.running import Outcome, carry_out
from heedful.models.options import CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Mapping

TRYING = FlagGroup("", (Trying,))
RUNNING = FlagGroup("", (MetaOptions,), only=("truth", "folder", "retry_failed"))
INDUCING = FlagGroup("", (Trying,), only=("proposer",))


@takes(TRYING, RUNNING, LABELS, JUDGING, CONSOLE, COST)
def align(
    data: Path,
    /,
    *,
    labels: Path | None = None,
    judge: Judge = None,
    seed: int = 0,
    output: RequiredOutput = Path("heedful-align"),
    **options: Any,
) -> int:
    """Choose how a judge is asked by people's labels, and prove it on others.

    Half of the labelled instructions show where the judge and people differ, and
    choose among other settings and other words. The other half measures the
    choice against the present judge.

    heedful align runs/mine --model gpt-4.1-mini --max-cost 5
    heedful align responses.jsonl --labels labelled.jsonl --model critic -o aligned
    heedful evaluate more.jsonl --protocol heedful-align/protocol.json

    Args:
        data: A run, or a file with responses.
        labels: Rows with labels. Default: those of the file, or those beside the run, where
            heedful view puts them.
        judge: The present judge, as for evaluate. Default: rules,compiled,checklist.
        seed: Of the division into rows that choose and rows that prove.
        output: A folder for protocol.json, checklist.diff and the page align.html.
    """
    from heedful.analysis.align import align as aligned

    options.setdefault("folder", RUNS_FOLDER)
    options["concurrency"] = options.get("max_concurrency", CONCURRENCY)
    models = [*options.get("model", ()), *options.get("alternatives", ())]
    work = partial(aligned, data, labels=labels, judge=judge, output=output, seed=seed)
    return carry_out(work, options, models=models, outcome=partial(_outcome, output))


def _outcome(output: Path, summary: Mapping[str, Any]) -> Outcome:
    from heedful.analysis.align.document import document

    written = [output / name for name in ("align.html", "checklist.diff", "protocol.json")]
    gained = summary["proof"] is not None and summary["proof"]["shown"] == "gain"
    use = f"heedful evaluate FILE --protocol {output / 'protocol.json'}"
    return Outcome(
        view=lambda: document(summary).terminal(),
        written=written,
        problems=summary["problems"],
        next_step=use if gained else "",
        complete=not summary["rows"]["failed"],
    )


@takes(INDUCING, RUNNING.but("truth"), LABELS, JUDGING, CONSOLE, COST)
def induce(
    data: Path,
    /,
    *,
    judge: Judge = None,
    seed: int = 0,
    output: RequiredOutput = Path("heedful-induced"),
    **options: Any,
) -> int:
    """Propose criteria that separate good responses from bad, and measure each on others.

    Half of the instructions show a model good and bad responses; it proposes criteria.
    A judge decides whether the responses to the other half meet them.

    heedful induce rated.jsonl --model gpt-4.1-mini --max-cost 5

    Args:
        data: Responses with labels (good: all met), with preferred_to, or with a number reward
            or score (good and bad: the best and the worst of an instruction).
        judge: Who judges, as for evaluate. Default: checklist.
        seed: Of the division into instructions that criteria come from and those that measure.
        output: A folder for checklists.jsonl, the samples with the criteria that separate, and
            the page induced.html.
    """
    from heedful.analysis.align.induce import document, induce
    from heedful.judges.options import CHECKLIST

    options.setdefault("folder", RUNS_FOLDER)
    options["concurrency"] = options.get("max_concurrency", CONCURRENCY)
    work = partial(induce, data, judge=judge or CHECKLIST, output=output, seed=seed)
    written = [output / name for name in ("induced.html", "checklists.jsonl")]
    return carry_out(
        work,
        options,
        models=options.get("model", ()),
        outcome=lambda summary: Outcome(
            view=document(summary).terminal,
            written=written,
            problems=summary["problems"],
            complete=not summary["problems"],
        ),
    )
