"""``heedful critic train sft | dpo``."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.running import INCOMPLETE, Outcome, Quiet, RequiredOutput, print_outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.critic.training.watch import TrainingResult


@Parameter(name="*", group="Settings (the file of --config may set each)")
@dataclass(frozen=True, kw_only=True)
class TrainingFlags:
    """Settings of a training; see :class:`heedful.critic.training.settings.Settings`.

    Attributes:
        learning_rate: Of AdamW, at its highest. Default: 1e-5 for sft, 5e-7 for dpo; ten times
            that with LoRA.
        epochs: Passes over the data. Default: 2 for sft, 1 for dpo.
        max_steps: Optimizer steps, in the place of epochs.
        batch_size: Rows (or pairs) that a device computes at a time. Default: 4.
        gradient_accumulation: Batches that make an optimizer step. Default: 4.
        max_length: Tokens of prompt and critique; longer rows are left out. Default: the model's
            context.
        warmup: Share of the steps in which the learning rate rises. Default: 0.05.
        scheduler: How it falls afterwards. Default: cosine.
        weight_decay: Of AdamW. Default: 0.
        max_grad_norm: Gradients are clipped to it. Default: 1.
        seed: Of the order of the rows, of dropout and of LoRA. Default: 0.
        dtype: auto computes in bfloat16 on a GPU and in float32 on a CPU.
        gradient_checkpointing: Compute activations twice and keep fewer. Default: on a GPU.
        lora_rank: Train an adapter of this rank in the place of all weights.
        lora_alpha: Its scale. Default: twice the rank.
        lora_dropout: On its input. Default: 0.
        lora_targets: Names of layers that get one. Default: all linear ones.
        lora_4bit: Keep the weights that LoRA leaves alone in four bits (QLoRA).
        attention: How attention is computed. Default: as transformers chooses.
        optimizer: AdamW (default), AdamW with its state in 8 bits, or Adafactor.
        keep_adapter: Leave the adapter beside the merged model.
        save_every: Steps from checkpoint to checkpoint. Default: a tenth of the training.
        eval_every: Steps from evaluation to evaluation. Default: a tenth of the training.
        keep: The latest checkpoints that are kept. Default: 1.
        select: What becomes the result: the best evaluated weights (default), or the last.
        eval_batch_size: Critiques that an evaluation generates at a time. Default: 16.
        max_completion_tokens: Of a critique in an evaluation. Default: twice the longest that is
            trained on.
        per_call: Constraints that an evaluation asks for at a time. Default: as exported, or all.
        measure: Counts of code stand in the prompts, as of critic export --measure. Default: as
            exported.
        chat_template: A .jinja file, or plain for ours. Default: the model's own.
        prompt: The prompt of the critiques, where the data does not name it.
        prompt_file: The file whose text replaced that of the prompt in the export.
        report_to: Trackers that get losses and evaluations while training. Each takes its address
            and names from its own environment variables.
    """

    learning_rate: float | None = None
    epochs: float | None = None
    max_steps: int | None = None
    batch_size: int | None = None
    gradient_accumulation: int | None = None
    max_length: int | None = None
    warmup: float | None = None
    scheduler: Literal["linear", "cosine", "constant", "constant_with_warmup"] | None = None
    weight_decay: float | None = None
    max_grad_norm: float | None = None
    seed: int | None = None
    dtype: Literal["auto", "bfloat16", "float32"] | None = None
    gradient_checkpointing: bool | None = None
    lora_rank: int | None = None
    lora_alpha: float | None = None
    lora_dropout: float | None = None
    lora_targets: tuple[str, ...] | None = None
    lora_4bit: bool | None = None
    attention: Literal["eager", "sdpa", "flash_attention_2", "flash_attention_3"] | None = None
    optimizer: Literal["adamw", "adamw_8bit", "adafactor"] | None = None
    keep_adapter: bool | None = None
    save_every: int | None = None
    eval_every: int | None = None
    keep: int | None = None
    select: Literal["best", "last"] | None = None
    eval_batch_size: int | None = None
    max_completion_tokens: int | None = None
    per_call: int | None = None
    measure: bool | None = None
    chat_template: str | None = None
    prompt: str | None = None
    prompt_file: Path | None = None
    report_to: tuple[Literal["tensorboard", "wandb", "mlflow", "trackio"], ...] | None = None

    def given(self) -> dict[str, Any]:
        """Return those that were given, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_DEFAULTS = TrainingFlags()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PreferenceFlags:
    """Settings that only DPO has; see :class:`heedful.critic.training.settings.DpoSettings`.

    Attributes:
        beta: How dearly the critic pays for leaving its reference. Default: 0.1.
        loss: dpo compares the whole critiques (default); segments only the judgments on which
            the two of a pair disagree.
        sft_weight: Of the chosen critique's own loss, per token, beside it. Default: 0.
    """

    beta: float | None = None
    loss: Literal["dpo", "segments"] | None = None
    sft_weight: float | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WatchFlags:
    """The output of a training while it goes on.

    Attributes:
        evaluation: Held-out samples with known verdicts, judged while training; they choose the
            weights.
        test: Other ones, which choose nothing: only the model at the end judges them.
        quiet: Print no progress and no numbers.
    """

    evaluation: Path | None = None
    test: Path | None = None
    quiet: Quiet = False


def sft(
    data: Path,
    /,
    *,
    model: Annotated[str, Parameter(name=["--model", "-m"])],
    output: RequiredOutput,
    watch: WatchFlags = WatchFlags(),
    config: Path | None = None,
    group_by_length: bool | None = None,
    flags: TrainingFlags = _DEFAULTS,
) -> int:
    """Fine-tune a model on critiques, or on checklists.

    Args:
        data: An export for trl, filtered critiques, or the output of heedful critic checklists.
        model: A model's folder, or its name on the Hugging Face Hub.
        output: The folder for the trained model and the report.
        watch: The output while it goes on.
        config: A file with settings, TOML or JSON; flags win.
        group_by_length: Put rows of about the same length into a batch: less padding.
        flags: The settings.

    Returns:
        The exit code.
    """
    from heedful.critic.training import SftSettings, load_settings, train_sft

    settings = load_settings(
        SftSettings, config, flags.given() | {"group_by_length": group_by_length}
    )
    return _run(partial(train_sft, data, output, model=model, settings=settings), watch)


def dpo(
    data: Path,
    /,
    *,
    model: Annotated[str, Parameter(name=["--model", "-m"])],
    output: RequiredOutput,
    watch: WatchFlags = WatchFlags(),
    config: Path | None = None,
    preference: PreferenceFlags = PreferenceFlags(),
    flags: TrainingFlags = _DEFAULTS,
) -> int:
    """Train a critic to prefer one critique of a pair to the other (DPO).

    Args:
        data: An export for trl, or the output of heedful critic pairs.
        model: The fine-tuned critic's folder; it is the reference, too.
        output: The folder for the trained model and the report.
        watch: The output while it goes on.
        config: A file with settings, TOML or JSON; flags win.
        preference: The settings that only DPO has.
        flags: The other settings.

    Returns:
        The exit code.
    """
    from heedful.critic.training import DpoSettings, load_settings, train_dpo

    settings = load_settings(DpoSettings, config, flags.given() | asdict(preference))
    return _run(partial(train_dpo, data, output, model=model, settings=settings), watch)


def _run(train: Callable[..., TrainingResult], watch: WatchFlags) -> int:
    """Train with a line of progress, and print the result."""
    import os

    from heedful.critic.training.watch import line
    from heedful.engine.progress import Display

    main = os.environ.get("RANK", "0") == "0"  # of several processes, one prints
    display = Display(say=line)

    def on_progress(step: Any) -> None:
        if step.note:
            display.clear()
            sys.stderr.write(f"{step.note}\n")
        elif not watch.quiet:
            display(step)

    try:
        result = train(evaluation=watch.evaluation, test=watch.test, on_progress=on_progress)
    finally:
        display.clear()
    outcome = _outcome(result)
    if main:
        return print_outcome(outcome, quiet=watch.quiet)
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
