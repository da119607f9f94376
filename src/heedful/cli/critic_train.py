"""``heedful critic train sft | dpo``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from cyclopts import Parameter

from heedful.cli.flags import FlagGroup, RequiredOutput, taken, takes
from heedful.cli.running import INCOMPLETE, Outcome, print_outcome
from heedful.critic.training.settings import DpoSettings, SftSettings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.critic.training.session import TrainingResult

Model = Annotated[str, Parameter(name=["--model", "-m"])]

PANEL = "Settings (the file of --config may set each)"


class WatchOptions(TypedDict, total=False):
    """The output of a training while it goes on.

    Attributes:
        evaluation: Held-out samples with known verdicts, judged while training; they choose the
            weights.
        test: Held-out test samples: only the model at the end judges them.
        quiet: Print no progress and no numbers.
    """

    evaluation: Path
    test: Path
    quiet: bool


WATCH = FlagGroup("", (WatchOptions,))


@takes(WATCH, FlagGroup(PANEL, (SftSettings,)))
def sft(
    data: Path,
    /,
    *,
    model: Model,
    output: RequiredOutput,
    config: Path | None = None,
    **options: Any,
) -> int:
    """Fine-tune a model on critiques, or on checklists.

    DATA is an export (heedful critic export --to trl), filtered critiques, or the
    output of heedful critic checklists. Re-run the same command to resume.
    Several GPUs: accelerate launch -m heedful critic train sft …

    heedful critic train sft sft -m Qwen/Qwen3-4B-Instruct-2507 --evaluation test.jsonl -o critic

    Args:
        data: An export for trl, filtered critiques, or the output of heedful critic checklists.
        model: A model's folder, or its name on the Hugging Face Hub.
        output: The folder for the trained model and the report.
        config: A file with settings, TOML or JSON; flags win.
    """
    from heedful.critic.training import train_sft

    watch = taken(options, WatchOptions)
    settings = load_settings(SftSettings, config, options)
    return _run(partial(train_sft, data, output, model=model, settings=settings), **watch)


@takes(WATCH, FlagGroup(PANEL, (DpoSettings,)))
def dpo(
    data: Path,
    /,
    *,
    model: Model,
    output: RequiredOutput,
    config: Path | None = None,
    **options: Any,
) -> int:
    """Train a critic to prefer one critique of a pair to the other (DPO).

    DATA is an export (heedful critic export --to trl) or the output of heedful
    critic pairs; the model is the fine-tuned critic, and the reference too.

    heedful critic train dpo dpo -m critic-sft --evaluation heldout.jsonl -o critic

    Args:
        data: An export for trl, or the output of heedful critic pairs.
        model: The fine-tuned critic's folder; it is the reference, too.
        output: The folder for the trained model and the report.
        config: A file with settings, TOML or JSON; flags win.
    """
    from heedful.critic.training import train_dpo

    watch = taken(options, WatchOptions)
    settings = load_settings(DpoSettings, config, options)
    return _run(partial(train_dpo, data, output, model=model, settings=settings), **watch)


def _run(train: Callable[..., TrainingResult], *, quiet: bool = False, **watched: Path) -> int:
    """Train with a line of progress, and print the result."""
    import os

    from heedful.critic.training.session import line
    from heedful.engine.progress import Display

    main = os.environ.get("RANK", "0") == "0"  # of several processes, one prints
    display = Display(say=line)

    def on_progress(step: Any) -> None:
        if step.note:
            display.clear()
            sys.stderr.write(f"{step.note}\n")
        elif not quiet:
            display(step)

    try:
        result = train(**watched, on_progress=on_progress)
    finally:
        display.clear()
    outcome = _outcome(result)
    if main:
        return print_outcome(outcome, quiet=quiet)
    return 0 if outcome.complete else INCOMPLETE


def _outcome(result: TrainingResult) -> Outcome:
    from rich.console import Group

    from heedful.critic.training.report import summary, tables

    left_out = sum(result.report["rows"]["left_out"].values())
    before = (
        ["This training is finished; nothing was left to do."] if result.finished_before else []
    )
    shown = tables(result.report)[:-1]  # without the settings, which the user has
    return Outcome(
        view=lambda: Group(*before, summary(result.report), *(table.terminal() for table in shown)),
        written=[result.folder],
        problems=result.report["problems"],
        failed=left_out,
        complete=not left_out,
    )
