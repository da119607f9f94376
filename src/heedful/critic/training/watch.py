"""Between the steps of a training: progress, evaluation, and reasons to stop.

The callbacks derive from transformers', which takes seconds to import; so they are made when a
training begins.
"""

from __future__ import annotations

import math
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


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


EVALUATION = "held_out"
"""The key in the trainer's log under which the result of an evaluation stands."""


class TrainingWatch:
    """Follows a training."""

    def __init__(self, on_progress: Callable[[Step], None], *, main: bool) -> None:
        """Begin."""
        self.interrupted = False  # a signal stopped it; a checkpoint has been written
        self.last = Step(0, 0, time.monotonic())  # the last step that was shown
        self._tick = on_progress if main else lambda _: None
        self._stop_requested = False
        self._before = 0.0

    def begin(self, step: int, total: int, history: list[dict[str, Any]]) -> None:
        """Restore the progress of an earlier session."""
        self._before = next((log["seconds"] for log in reversed(history) if "seconds" in log), 0.0)
        f1 = next((log[EVALUATION] for log in reversed(history) if EVALUATION in log), None)
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

    def should_stop(self) -> bool:
        """Tell whether any of the processes received a signal to stop.

        They must agree: one that stopped alone would leave the others waiting for it.
        """
        import torch

        together = torch.distributed
        if together.is_available() and together.is_initialized():
            device = "cuda" if together.get_backend() == "nccl" else "cpu"
            stopping = torch.tensor(float(self._stop_requested), device=device)
            together.all_reduce(stopping)
            self._stop_requested = bool(stopping.item())
        return self._stop_requested

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

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            watch.show(step=state.global_step)
            last = state.global_step == state.max_steps
            if evaluate is not None and (last or not state.global_step % every(state.max_steps)):
                measured = evaluate(state)
                state.log_history.append({"step": state.global_step, EVALUATION: measured})
                watch.show(mean_f1=measured["pooled"]["mean_f1"]["value"], evaluating=None)
            # Behind the evaluation, or a training that goes on later would lack it.
            if watch.should_stop() and not last:
                watch.interrupted = True
                control.should_save = control.should_training_stop = True

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
