"""Training: rows to tokens, TRL's trainer, the best weights, the model's folder.

``rows → tokens → trainer ⇄ held-out evaluation → best weights → model folder → report``
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from heedful.core.errors import UsageError
from heedful.core.files import PROMPT_TEXT
from heedful.critic.data.options import ExportSettings
from heedful.critic.training.folder import Folder
from heedful.critic.training.plan import TrainingPlan
from heedful.critic.training.rows import Rows, as_asked, check_text, data_file, the_prompt
from heedful.critic.training.settings import DpoSettings, SftSettings
from heedful.judges.making import PROMPT
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from heedful.core.nouns import Sample
    from heedful.critic.training.held_out import HeldOut
    from heedful.critic.training.settings import Settings
    from heedful.critic.training.watch import Step, TrainingResult

    Name = str | os.PathLike[str]

_NEEDED = ("torch", "transformers", "trl", "datasets", "accelerate")


class KnownVerdicts(NamedTuple):
    """Samples with known verdicts: files, or samples."""

    evaluation: Name | Iterable[Sample] | None  # are judged while training, and choose the weights
    test: Name | Iterable[Sample] | None  # are judged once, by the model at the end

    def read(
        self, task: str, prompt: str, settings: Settings
    ) -> tuple[HeldOut | None, HeldOut | None]:
        """Read both."""
        from heedful.critic.training.held_out import HeldOut

        if task == "checklist" and (self.evaluation, self.test) != (None, None):
            flag = "--evaluation" if self.evaluation is not None else "--test"
            raise UsageError(
                "checklists cannot be evaluated: no published measure compares two of them",
                hint=f"leave {flag} out, and look at what heedful checklist makes with it",
            )
        chooses_nothing = settings.model_copy(update={"select": "last"})
        return (
            None if self.evaluation is None else HeldOut(self.evaluation, prompt, settings),
            None if self.test is None else HeldOut(self.test, prompt, chooses_nothing),
        )


def train_sft(
    data: Name,
    output: Name,
    *,
    model: Name,
    settings: SftSettings | None = None,
    evaluation: Name | Iterable[Sample] | None = None,
    test: Name | Iterable[Sample] | None = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> TrainingResult:
    """Fine-tune a model on critiques, or on checklists: on what it answers, given the prompt.

    The same call goes on where an earlier one stopped, from its last checkpoint.

    Args:
        data: the folder that ``heedful critic export --to trl`` wrote, or a file: its rows, or the
            output of ``heedful critic filter`` or ``heedful critic checklists``.
        output: the folder for the model.
        model: a model's folder, or its name on the Hugging Face Hub.
        settings: see :class:`SftSettings`.
        evaluation: samples with known verdicts, to judge while training and to choose the weights
            by; a file, or samples.
        test: further ones, which choose nothing: only the model at the end judges them.
        on_progress: called as the training goes on.

    Raises:
        InputError: the data cannot be read, or no row can be used.
        UsageError: the model cannot be trained, or a package is missing.
        RunError: the folder is another training's, or the training failed; its last checkpoint
            stays.
        KeyboardInterrupt: a signal stopped it; a checkpoint is written.
    """
    settings = settings or SftSettings()
    known = KnownVerdicts(evaluation, test)
    return _train("sft", Path(data), Path(output), str(model), settings, known, on_progress)


def train_dpo(
    data: Name,
    output: Name,
    *,
    model: Name,
    settings: DpoSettings | None = None,
    evaluation: Name | Iterable[Sample] | None = None,
    test: Name | Iterable[Sample] | None = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> TrainingResult:
    """Train a critic to prefer one critique of a pair to the other (DPO).

    Args:
        data: the folder that ``heedful critic export --to trl`` wrote, or a file: its rows, or the
            output of ``heedful critic pairs``.
        output: the folder for the model.
        model: the fine-tuned critic's folder; it is also the reference.
        settings: see :class:`DpoSettings`.
        evaluation: as for :func:`train_sft`.
        test: likewise.
        on_progress: likewise.

    Raises:
        InputError: as for :func:`train_sft`.
        UsageError: likewise.
        RunError: likewise.
        KeyboardInterrupt: likewise.
    """
    settings = settings or DpoSettings()
    known = KnownVerdicts(evaluation, test)
    return _train("dpo", Path(data), Path(output), str(model), settings, known, on_progress)


def _train(
    stage: Literal["sft", "dpo"],
    data: Path,
    output: Path,
    model: str,
    settings: Settings,
    known: KnownVerdicts,
    on_progress: Callable[[Step], None],
) -> TrainingResult:
    _check_packages(settings)
    from heedful.critic.training.session import TrainingSession
    from heedful.critic.training.trainer import quiet

    with quiet():
        job = _prepared(stage, data, output, model, settings, known)
        return TrainingSession(job, on_progress).run()


def _prepared(
    stage: Literal["sft", "dpo"],
    data: Path,
    output: Path,
    model: str,
    settings: Settings,
    known: KnownVerdicts,
) -> TrainingPlan:
    """Read and check all inputs before training."""
    from heedful.critic.training.tokens import open_chat, tokenised

    text = data_file(data).with_name(PROMPT_TEXT)
    if settings.prompt_file is None and text.is_file():
        settings = settings.model_copy(update={"prompt_file": text})
    how = ExportSettings(
        prompt=settings.prompt or PROMPT,
        prompt_file=settings.prompt_file,
        per_call=settings.per_call,
        measure=bool(settings.measure),
        seed=settings.seed,
    )
    rows = Rows(data_file(data), pairs=stage == "dpo", settings=how)
    base = find_folder(model)
    if base.path.resolve() == output.resolve():
        raise UsageError("the output is the model", where=str(output), hint="name another folder")
    chat, context = open_chat(base, settings)
    segments = isinstance(settings, DpoSettings) and settings.loss == "segments"
    tokens = tokenised(rows, chat, settings.max_length or context, segments=segments)
    prompt = the_prompt(rows, settings.prompt)
    check_text(rows, prompt, settings.prompt_file)
    settings = settings.model_copy(update=as_asked(rows, settings))
    held_out, test = known.read(rows.task, prompt, settings)
    return TrainingPlan(
        stage, settings, base, chat, rows, tokens, prompt, held_out, test, Folder(output)
    )


def _check_packages(settings: Settings) -> None:
    """Check that the required packages are installed."""
    needed = (*_NEEDED, "peft") if settings.lora_rank else _NEEDED
    flash = {"flash_attention_2": "flash_attn", "flash_attention_3": "flash_attn_interface"}
    special = {
        "--lora-4bit": "bitsandbytes" if settings.lora_4bit else None,
        "--optimizer": "bitsandbytes" if settings.optimizer == "adamw_8bit" else None,
        "--attention": flash.get(settings.attention or ""),
    }
    for flag, name in special.items():
        if name and find_spec(name) is None:
            package = name.replace("_", "-").removesuffix("-interface")
            raise UsageError(f"{flag} needs {package}", hint=f"pip install {package}")
    trackers = [name for name in settings.report_to if find_spec(name) is None]
    if trackers:
        names = " ".join(trackers)
        raise UsageError(f"--report-to needs {names}", hint=f"pip install {names}")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise UsageError(f"training needs {names}", hint="pip install 'heedful[train]'")
