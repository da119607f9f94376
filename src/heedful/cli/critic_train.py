"""``heedful critic train sft | dpo`` and ``heedful critic build``."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from cyclopts import Parameter

from heedful.cli.flags import FlagGroup, Quiet, RequiredOutput, takes
from heedful.cli.running import INCOMPLETE, Outcome, print_outcome
from heedful.critic.training.settings import DpoSettings, SftSettings, load_settings
from heedful.engine.options import taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heedful.critic.training.session import TrainingResult
    from heedful.reporting.table import Table

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


def build(
    config: Path,
    /,
    *,
    output: RequiredOutput,
    push_to_hub: str | None = None,
    quiet: Quiet = False,
) -> int:
    """Build a critic from a file: responses, verdicts, fine-tuning, preferences, test, card.

    Re-run the same command to resume. Only steps whose inputs or settings changed
    are done again.

    heedful critic build critic.toml -o build

    Args:
        config: The file with data, model and settings: TOML. docs/training.md shows one.
        output: The folder for all steps; the critic is in its folder critic.
        push_to_hub: A repository on the Hugging Face Hub that receives the critic, as private.
        quiet: Print no progress and no numbers.
    """
    from heedful.critic.building import build as build_critic
    from heedful.critic.building import load_config
    from heedful.critic.building.card import steps_table
    from heedful.critic.training.session import TrainingResult

    with _watched(quiet=quiet) as on_progress:
        result = build_critic(
            load_config(config), output, push_to_hub=push_to_hub, on_progress=on_progress
        )
    trained = TrainingResult(result.folder, result.report)
    return print_outcome(_outcome(trained, steps_table(result.steps)), quiet=quiet)


@contextmanager
def _watched(*, quiet: bool) -> Iterator[Callable[[Any], None]]:
    """Show a training's progress in one line."""
    from heedful.critic.training.session import line
    from heedful.engine.progress import Display

    display = Display(say=line)

    def on_progress(step: Any) -> None:
        if step.note:
            display.clear()
            sys.stderr.write(f"{step.note}\n")
        elif not quiet:
            display(step)

    try:
        yield on_progress
    finally:
        display.clear()


def _run(train: Callable[..., TrainingResult], *, quiet: bool = False, **watched: Path) -> int:
    """Train with a line of progress, and print the result."""
    import os

    main = os.environ.get("RANK", "0") == "0"  # of several processes, one prints
    with _watched(quiet=quiet) as on_progress:
        result = train(**watched, on_progress=on_progress)
    outcome = _outcome(result)
    if main:
        return print_outcome(outcome, quiet=quiet)
    return 0 if outcome.complete else INCOMPLETE


def _outcome(result: TrainingResult, *more: Table) -> Outcome:
    from rich.console import Group

    from heedful.critic.training.report import summary, tables

    left_out = sum(result.report["rows"]["left_out"].values())
    before = (
        ["This training is finished; nothing was left to do."] if result.finished_before else []
    )
    shown = [*tables(result.report)[:-1], *more]  # without the settings, which the user has
    return Outcome(
        view=lambda: Group(*before, summary(result.report), *(table.terminal() for table in shown)),
        written=[result.folder],
        problems=result.report["problems"],
        failed=left_out,
        complete=not left_out,
    )
