"""A running training, in this process and perhaps in others beside it.

With several processes (``accelerate launch``, ``torchrun``) each does its share of every batch and
of every evaluation; the first one writes and speaks.
"""

from __future__ import annotations

from copy import copy
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, RunError, UsageError
from heedful.core.text import amount
from heedful.critic.training import report
from heedful.critic.training.folder import own_dtype, publish, whole_model
from heedful.critic.training.plan import check_packages, prepared
from heedful.critic.training.settings import DpoSettings, SftSettings
from heedful.critic.training.trainer import (
    check_sharding,
    is_sharded,
    loading_whole,
    quiet,
    save_whole,
)
from heedful.critic.training.watch import TrainingResult, TrainingWatch, callback
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.critic.training.held_out import HeldOut
    from heedful.critic.training.plan import Known, Name, TrainingPlan
    from heedful.critic.training.settings import Settings
    from heedful.critic.training.watch import Step


def train_sft(
    data: Name,
    output: Name,
    *,
    model: Name,
    settings: SftSettings | None = None,
    evaluation: Known = None,
    test: Known = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> TrainingResult:
    """Fine-tune a model on critiques, or on checklists: on what it answers, given the prompt.

    The data is the folder that ``heedful critic export --to trl`` wrote, or a file: its rows, or
    the output of ``heedful critic filter`` or ``heedful critic checklists``. The critic judges the
    samples of ``evaluation`` while it is trained, and they choose the weights; those of ``test``
    are judged once, by the model at the end. The same call goes on where an earlier one stopped,
    from its last checkpoint; a signal stops it with a checkpoint and KeyboardInterrupt.
    """
    settings = settings or SftSettings()
    return _train(Path(data), Path(output), str(model), settings, (evaluation, test), on_progress)


def train_dpo(
    data: Name,
    output: Name,
    *,
    model: Name,
    settings: DpoSettings | None = None,
    evaluation: Known = None,
    test: Known = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> TrainingResult:
    """Train a critic to prefer one critique of a pair to the other (DPO); see :func:`train_sft`.

    The data is an export or the output of ``heedful critic pairs``; the model is the fine-tuned
    critic's folder, and also the reference.
    """
    settings = settings or DpoSettings()
    return _train(Path(data), Path(output), str(model), settings, (evaluation, test), on_progress)


def _train(
    data: Path,
    output: Path,
    model: str,
    settings: Settings,
    known: tuple[Known, Known],
    on_progress: Callable[[Step], None],
) -> TrainingResult:
    check_packages(settings)
    with quiet():
        plan = prepared(data, output, model, settings, known)
        return TrainingSession(plan, on_progress).run()


class TrainingSession:
    """Trains from the last checkpoint on, if there is one, to the model's folder."""

    def __init__(self, job: TrainingPlan, on_progress: Callable[[Step], None]) -> None:
        """Determine which of several processes this is."""
        import torch
        from accelerate import PartialState

        self._job = job
        self._state = PartialState(cpu=not torch.cuda.is_available())
        self._main: bool = self._state.is_main_process
        self._watch: TrainingWatch = TrainingWatch(on_progress, main=self._main)
        self._trainer: Any = None

    def run(self) -> TrainingResult:
        """Train, write the model's folder and the report."""
        job, folder = self._job, self._job.folder
        configuration = job.configuration(self._state.num_processes)
        folder.check(configuration)
        finished = folder.finished()
        self._state.wait_for_everyone()  # all have looked before the first one writes
        if finished is not None:
            return TrainingResult(folder.path, finished, finished_before=True)
        if self._main:
            folder.begin(configuration)
            self._report_unused()
        self._state.wait_for_everyone()
        history = self._weights()
        return self._published(configuration, history)

    def _report_unused(self) -> None:
        """Report which of the data isn't used, before hours are spent on the rest."""
        job, rows = self._job, self._job.rows
        listed = [(rows.left_out, rows.read, "row")]
        known = [(job.held_out, "held-out"), (job.test, "test")]
        for samples, name in known:
            if samples is not None:
                read = len(samples.samples) + len(samples.left_out)
                listed.append((samples.left_out, read, f"{name} row"))
        for left_out, read, noun in listed:
            for first in left_out.problems[:1]:
                said = f"{amount(len(left_out), noun)} of {read:,} left out; the first, line"
                self._watch.note(f"{said} {first['line']}, {first['id']}: {first['problem']}")
        if mapped := self._job.chat.mapped:
            roles = ", ".join(sorted(mapped))
            self._watch.note(f"the chat template doesn't show all of the roles {roles}: mapped")
        for samples, name in known:
            if samples is not None and (trained := job.also_trained_on(samples)):
                said = amount(trained, f"{name} sample")
                self._watch.note(f"{said} trained on as well: F1 will be too good")
        if job.also_chosen_by:
            said = amount(job.also_chosen_by, "test sample")
            self._watch.note(f"{said} also in --evaluation: F1 will be too good")

    def _weights(self) -> list[dict[str, Any]]:
        """Train; return the trainer's log."""
        from heedful.critic.training.trainer import learnt_positions_only, memory

        job = self._job
        checkpoint = job.folder.last_checkpoint(self._state.num_processes)
        try:
            with memory(job.settings), self._watch.interruptible(), learnt_positions_only():
                self._trainer = self._made()
                self._trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
        except UsageError:
            raise
        except HeedfulError as error:
            left = job.folder.last_checkpoint(self._state.num_processes)
            kept = f"the last checkpoint is {left}" if left else "there was no checkpoint yet"
            raise RunError(
                f"{error.what}; {kept}", where=str(job.folder.path), hint=error.hint
            ) from error
        if self._watch.interrupted:
            raise KeyboardInterrupt
        if job.settings.select == "last" or job.held_out is None:
            save_whole(self._trainer, job.folder.last)
        self._state.wait_for_everyone()
        history: list[dict[str, Any]] = self._trainer.state.log_history
        return history

    def _made(self) -> Any:
        from transformers import PrinterCallback

        from heedful.critic.training import trainer

        job = self._job
        make: Any = trainer.dpo_trainer if job.settings.stage == "dpo" else trainer.sft_trainer
        rows, folder = job.tokens.rows, job.folder.checkpoints
        try:
            made = make(job.model.path, job.chat, rows, folder, job.settings)
        except ValueError as error:  # as of layers for LoRA that the model does not have
            what = next(iter(str(error).strip().splitlines()), "")
            raise UsageError(f"the model cannot be trained so: {what}") from error
        check_sharding(made)
        made.remove_callback(PrinterCallback)
        every = job.settings.eval_every
        made.add_callback(
            callback(
                self._watch,
                self._evaluate if job.held_out is not None else None,
                lambda steps: every or trainer.a_tenth(steps),
            )
        )
        return made

    def _evaluate(self, state: Any) -> dict[str, Any]:
        """Judge the held-out samples with the weights as they are, and keep the best."""
        from heedful.critic.training.held_out import score

        trainer, folder = self._trainer, self._job.folder
        weights = folder.checkpoints / f"best-{state.global_step}"
        sharded = is_sharded(trainer)
        if sharded:
            save_whole(trainer, weights)
        with trainer.accelerator.autocast():
            engine = self._engine(weights if sharded else None)
            measured = self._measured(engine, self._job.held_out)
        trainer.model.train()
        if self._job.settings.report_to:
            self._track(state, measured)
        best = folder.best()
        self._state.wait_for_everyone()  # all have looked before the first one writes
        if self._job.settings.select == "best" and (
            best is None or score(measured) >= best[1]["score"]
        ):
            if not sharded:
                trainer.save_model(str(weights))
            if self._main:
                folder.keep_best(weights, {"step": state.global_step, "score": score(measured)})
        elif sharded and self._main:
            rmtree(weights)
        self._state.wait_for_everyone()
        return measured

    def _engine(self, weights: Path | None) -> Any:
        """Create the engine, from the weights in training or from saved ones."""
        from heedful.models.engine import Engine

        accelerator, model = self._trainer.accelerator, self._trainer.model
        if weights is None:
            model = accelerator.unwrap_model(model)
        else:
            base = self._job.model.path
            with loading_whole():
                model = whole_model(weights, base, own_dtype(base)).to(accelerator.device)
        return Engine(self._job.model.name, self._job.chat.tokenizer, model.eval())

    def _track(self, state: Any, measured: dict[str, Any]) -> None:
        """Report an evaluation to the trackers."""
        trainer, pooled = self._trainer, measured["pooled"]
        rates = {f"eval_{name}": pooled[name]["value"] for name in report.RATES}
        logged = {name: value for name, value in rates.items() if value is not None}
        logged["eval_coverage"] = measured["coverage"]
        # Of a copy: it would take the step's own losses for logged, and drop them.
        control = copy(trainer.control)
        trainer.callback_handler.on_log(trainer.args, state, control, logged)

    def _measured(self, engine: Any, held_out: HeldOut | None) -> dict[str, Any]:
        """Measure a critic; each process judges its part of the samples."""
        from accelerate.utils import gather_object

        if held_out is None:
            return {}
        processes, own = self._state.num_processes, self._state.process_index
        share = held_out.samples[own::processes]

        def on_progress(answered: int) -> None:
            self._watch.show(evaluating=(answered * processes, len(held_out.samples)))

        said = held_out.judge(engine, share, self._job.limit, on_progress)
        parts = list(zip(range(own, len(held_out.samples), processes), said, strict=True))
        if processes > 1:
            parts = sorted(gather_object(parts), key=lambda part: part[0])
        return held_out.measure([critique for _, critique in parts], self._job.model.name)

    def _published(
        self, configuration: dict[str, Any], history: list[dict[str, Any]]
    ) -> TrainingResult:
        """Write the model's folder, measure what is in it, and write the report."""
        job, folder = self._job, self._job.folder
        seconds = self._watch.seconds
        self._trainer = None  # its weights would stand beside those that are measured
        best = folder.best() if job.settings.select == "best" else None
        weights = best[0] if best else folder.last
        if self._main:
            about = {
                "prompt": job.prompt,
                "per_call": job.settings.per_call,
                "measure": job.settings.measure,
                "task": job.rows.task,
                "stage": job.settings.stage,
            }
            with loading_whole():
                publish(
                    weights,
                    job.model.path,
                    job.chat,
                    folder.path,
                    about,
                    prompt_file=job.settings.prompt_file,
                    keep_adapter=job.settings.keep_adapter,
                )
        self._state.wait_for_everyone()
        engine = None
        if job.held_out is not None or job.test is not None:
            from heedful.models.engine import Engine

            with loading_whole():
                engine = Engine.load(find_folder(str(folder.path)), None)
        result = report.collected(
            job,
            configuration,
            history,
            held_out=self._measured(engine, job.held_out) or None,
            test=self._measured(engine, job.test) or None,
            best=best[1] if best else None,
            seconds=seconds,
        )
        if self._main:
            report.write(result, folder)
        self._state.wait_for_everyone()
        return TrainingResult(folder.path, result)
