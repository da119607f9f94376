"""Progress and result of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TrainingResult", "line"]


@dataclass(frozen=True, slots=True)
class Step:
    """How far a training is.

    Attributes:
        step: optimizer steps done.
        total: those there will be.
        started: when this session began (``time.monotonic``), seconds.
        resumed: steps that an earlier session did.
        loss: of the last step.
        mean_f1: of the last evaluation.
        evaluating: held-out samples judged and to be judged, while an evaluation is under way.
        note: what the user should know now, said once.
    """

    step: int
    total: int
    started: float
    resumed: int = 0
    loss: float | None = None
    mean_f1: float | None = None
    evaluating: tuple[int, int] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a training.

    Attributes:
        folder: the model's folder, with ``training.json`` and ``training.md`` in it.
        report: the content of ``training.json``; docs/training.md describes it.
        finished_before: nothing was left to do: an earlier call had finished it.
    """

    folder: Path
    report: dict[str, Any]
    finished_before: bool = False

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
