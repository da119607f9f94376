"""A running training, in this process and perhaps in others beside it.

With several processes (``accelerate launch``, ``torchrun``) each does its share of every batch and
of every evaluation; the first one writes and speaks.
"""

from __future__ import annotations

import math
import signal
import time
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, RunError, UsageError
from heedful.core.text import amount
from heedful.critic.training import report
from heedful.critic.training.folder import (
    TEMPERATURE,
    own_dtype,
    publish,
    whole_model,
    write_record,
)
from heedful.critic.training.plan import check_packages, prepared
from heedful.critic.training.settings import DpoSettings, SftSettings
from heedful.critic.training.trainer import (
    check_sharding,
    is_sharded,
    loading_whole,
    quiet,
    save_whole,
)
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heedful.critic.training.held_out import HeldOut
    from heedful.critic.training.plan import Known, Name, TrainingPlan
    from heedful.critic.training.settings import Settings


SAVE_SECONDS = 600
"""Between checkpoints, unless they are asked for by steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a training is."""

    step: int  # optimizer steps done
    total: int
    started: float  # when this session began (``time.monotonic``), seconds
    resumed: int = 0  # steps that an earlier session did
    loss: float | None = None  # of the last step
    mean_f1: float | None = None  # of the last evaluation
    # held-out samples judged and to be judged, while an evaluation is under way
    evaluating: tuple[int, int] | None = None
    note: str = ""  # what the user should know now, said once


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a training."""

    folder: Path  # the model's, with ``training.json`` and ``training.md`` in it
    report: dict[str, Any]  # the content of ``training.json``; docs/training.md describes it
    finished_before: bool = False  # nothing was left to do: an earlier call had finished it

    @property
    def mean_f1(self) -> float | None:
        """The mean of positive and negative F1 of the model kept.

        On the test samples, or else on the held-out ones that chose its weights.
        """
        held_out = self.report.get("test") or self.report.get("held_out")
        if held_out is None:
            return None
        value: float | None = held_out["pooled"]["mean_f1"]["value"]
        return value


def line(step: Step, now: float) -> str:
    """Describe how far a training is: steps, loss, F1, time left."""
    from heedful.engine.progress import clock

    parts = [f"step {step.step:,} of {step.total:,} ({step.step / max(1, step.total):.0%})"]
    if step.loss is not None:
        parts.append(f"loss {step.loss:.4f}")
    if step.mean_f1 is not None:
        parts.append(f"held-out F1 {100 * step.mean_f1:.1f}")
    if step.evaluating is not None:
        parts.append(f"evaluating {step.evaluating[0]:,} of {step.evaluating[1]:,}")
    done = step.step - step.resumed
    if done:
        left = (now - step.started) / done * (step.total - step.step)
        parts.append(f"{clock(left)} left")
    if step.resumed:
        parts.append(f"{step.resumed:,} steps from before")
    return ", ".join(parts)


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
    check_packages()
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
            with memory(), self._watch.interruptible(), learnt_positions_only():
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
        about: dict[str, Any] = {
            "prompt": job.settings.prompt,
            "per_call": job.settings.per_call,
            "measure": job.settings.measure,
            "max_completion_tokens": job.limit,
            "task": job.rows.task,
            "stage": job.settings.stage,
        }
        if self._main:
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
            engine.temperature = 1.0
        held_out = self._measured(engine, job.held_out) or None
        if engine is not None and held_out is not None and TEMPERATURE in held_out:
            engine.temperature = about[TEMPERATURE] = held_out[TEMPERATURE]
            if self._main:
                write_record(folder.path, about)
        result = report.collected(
            job,
            configuration,
            history,
            held_out=held_out,
            test=self._measured(engine, job.test) or None,
            best=best[1] if best else None,
            seconds=seconds,
        )
        if self._main:
            report.write(result, folder)
        self._state.wait_for_everyone()
        return TrainingResult(folder.path, result)


class TrainingWatch:
    """Follows a training."""

    def __init__(self, on_progress: Callable[[Step], None], *, main: bool) -> None:
        """Begin."""
        self.interrupted = False  # a signal stopped it; a checkpoint has been written
        self.last = Step(0, 0, time.monotonic())  # the last step that was shown
        self._tick = on_progress if main else lambda _: None
        self._stop_requested = False
        self._before = 0.0
        self.saved = time.monotonic()  # when a checkpoint was last written

    def begin(self, step: int, total: int, history: list[dict[str, Any]]) -> None:
        """Restore the progress of an earlier session."""
        self._before = next((log["seconds"] for log in reversed(history) if "seconds" in log), 0.0)
        f1 = next(
            (log[report.EVALUATION] for log in reversed(history) if report.EVALUATION in log), None
        )
        self.last = Step(
            step,
            total,
            time.monotonic(),
            resumed=step,
            mean_f1=None if f1 is None else f1["pooled"]["mean_f1"]["value"],
        )

    @property
    def seconds(self) -> float:
        """How long all sessions took so far."""
        return self._before + time.monotonic() - self.last.started

    def show(self, **changed: Any) -> None:
        """Report progress."""
        self.last = replace(self.last, **changed)
        self._tick(self.last)

    def note(self, words: str) -> None:
        """Show a notice."""
        self._tick(replace(self.last, note=words))

    def _due(self) -> tuple[bool, bool]:
        """Tell whether to stop, on a signal, and whether it's time for a checkpoint.

        Processes must agree: one that stopped alone would leave the others waiting for it.
        """
        import torch

        together = torch.distributed
        late = time.monotonic() - self.saved >= SAVE_SECONDS
        if together.is_available() and together.is_initialized():
            device = "cuda" if together.get_backend() == "nccl" else "cpu"
            said = torch.tensor([float(self._stop_requested), float(late)], device=device)
            together.all_reduce(said)
            self._stop_requested, late = map(bool, said.tolist())
        return self._stop_requested, late

    def control(self, control: Any, *, by_clock: bool, last: bool) -> None:
        """Have the trainer stop, or write a checkpoint, where that is due."""
        stop, late = self._due()
        if stop and not last:
            self.interrupted = True
            control.should_save = control.should_training_stop = True
        elif late and by_clock:
            control.should_save = True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """End the training after the current step on Ctrl-C or SIGTERM.

        A second one ends it at once.
        """
        if current_thread() is not main_thread():  # signals go to the main thread only
            yield
            return

        def stop(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of handlers
            if self._stop_requested:
                raise KeyboardInterrupt
            self._stop_requested = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def callback(
    watch: TrainingWatch,
    evaluate: Callable[[Any], dict[str, Any]] | None,
    every: Callable[[int], int],
) -> Any:
    """Make the trainer's callback."""
    from transformers import TrainerCallback

    class Between(TrainerCallback):  # type: ignore[misc]
        """Shows progress, evaluates, and stops what cannot go on."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            watch.begin(state.global_step, state.max_steps, state.log_history)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            watch.show(step=state.global_step)
            last = state.global_step == state.max_steps
            if evaluate is not None and (last or not state.global_step % every(state.max_steps)):
                measured = evaluate(state)
                state.log_history.append({"step": state.global_step, report.EVALUATION: measured})
                watch.show(mean_f1=measured["pooled"]["mean_f1"]["value"], evaluating=None)
            # Behind the evaluation, or a training that goes on later would lack it.
            watch.control(control, by_clock=args.save_strategy == "no", last=last)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            watch.saved = time.monotonic()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002
            if "loss" not in (logs or {}):
                return
            state.log_history[-1]["seconds"] = watch.seconds
            watch.show(loss=logs["loss"])
            for name in ("loss", "grad_norm"):
                if not math.isfinite(float(logs.get(name, 0.0))):
                    what = "gradient" if name == "grad_norm" else name
                    raise RunError(
                        f"at step {state.global_step:,} the {what} is {logs[name]}: training on "
                        "would spoil the model",
                        hint="start again, in another --output, with a lower --learning-rate",
                    )

    return Between()
