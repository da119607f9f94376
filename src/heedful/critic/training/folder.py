"""The folder of a training: its configuration, its checkpoints, and the model at the end.

``training.json`` is written last, so that its existence means that all is there.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RunError, UsageError
from heedful.core.files import PROMPT_TEXT
from heedful.core.outputs import atomically, write_json
from heedful.models.folder import RECORD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from heedful.critic.training.rows import Chat

TEMPERATURE = "confidence_temperature"
"""What log-odds of verdicts are divided by: of a measurement, and in the critic's record."""

_CONFIGURATION = "configuration.json"
_STATE = "trainer_state.json"
_MEASURED = "measured.json"
_OURS = {"checkpoints"}


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a training writes."""

    path: Path  # the model's folder

    @property
    def checkpoints(self) -> Path:
        """Where the trainer's checkpoints are."""
        return self.path / "checkpoints"

    @property
    def last(self) -> Path:
        """The weights at the end."""
        return self.checkpoints / "last"

    @property
    def report(self) -> Path:
        """The report; written last."""
        return self.path / "training.json"

    def finished(self) -> dict[str, Any] | None:
        """Return the report of a training that is finished."""
        return _json(self.report) if self.report.is_file() else None

    def check(self, configuration: Mapping[str, Any]) -> None:
        """Refuse a folder of another training, or of something else."""
        started = self.checkpoints / _CONFIGURATION
        finished = self.finished()
        if finished is None and not started.is_file():
            self._refuse_foreign()
            return
        before = finished.get("configuration", {}) if finished else _json(started)
        different = [
            f"{name} was {_shown(before.get(name))} and is {_shown(configuration.get(name))}"
            for name in sorted({*before, *configuration})
            if before.get(name) != configuration.get(name)
        ]
        if different:
            raise RunError(
                f"the training here was started with something else: {'; '.join(different)}",
                where=str(self.path),
                hint="give what it was started with, or another --output",
            )

    def begin(self, configuration: Mapping[str, Any]) -> None:
        """Make the folder and write the configuration."""
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"no folder can be made here: {error.strerror}"
            raise UsageError(what, where=str(self.path), hint="name another --output") from error
        started = self.checkpoints / _CONFIGURATION
        if not started.exists():
            write_json(started, configuration)

    def last_checkpoint(self, processes: int) -> Path | None:
        """Return the latest checkpoint that is complete.

        The trainer's state is what it writes last, and each process beside the first writes a file
        of its own; so a checkpoint during which the training was killed lacks one of them.
        """
        paths = sorted(self.checkpoints.glob("checkpoint-*"), key=_number, reverse=True)
        return next((path for path in paths if _complete(path, processes)), None)

    def best(self) -> tuple[Path, dict[str, Any]] | None:
        """Return the best weights so far, and their measures."""
        candidates = [
            (path.parent, _json(path)) for path in self.checkpoints.glob(f"best-*/{_MEASURED}")
        ]
        return max(
            candidates,
            key=lambda candidate: (candidate[1]["score"], candidate[1]["step"]),
            default=None,
        )

    def keep_best(self, weights: Path, measured: Mapping[str, Any]) -> None:
        """Keep weights that were just written, and drop those that are worse."""
        with atomically(weights / _MEASURED) as file:
            file.write(json.dumps(measured) + "\n")
        for path in self.checkpoints.glob("best-*"):
            if path != weights:
                shutil.rmtree(path)

    def _refuse_foreign(self) -> None:
        """Refuse a folder with other content."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError("this is a file", where=str(self.path), hint="name a folder")
        inside = _names(self.path) - _OURS or _names(self.checkpoints)
        if inside:
            what = f"the folder holds {min(inside)!r}, which no training of heedful left there"
            raise UsageError(what, where=str(self.path), hint="name a new folder with --output")


def _names(path: Path) -> set[str]:
    return {inside.name for inside in path.iterdir()} if path.is_dir() else set()


def _number(path: Path) -> int:
    digits = path.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1


def _complete(path: Path, processes: int) -> bool:
    try:
        state = json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    several = [f"rng_state_{rank}.pth" for rank in range(processes)]
    names = ["rng_state.pth"] if processes == 1 else several
    return bool(state.get("global_step") == _number(path)) and all(
        (path / name).is_file() for name in names
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"cannot be read: {error}", where=str(path)) from error
    return content


def _shown(value: Any) -> str:
    return "not said" if value is None else json.dumps(value, ensure_ascii=False)


def publish(
    weights: Path,
    base: Path,
    chat: Chat,
    output: Path,
    about: dict[str, Any],
    *,
    prompt_file: Path | None,
    keep_adapter: bool,
) -> None:
    """Write the model's folder, with the prompt protocol.

    The weights are written in the dtype of the model that was trained, so that what serves the one
    serves the other. An adapter is added to its model in float32 first.
    """
    dtype = own_dtype(base)
    model = whole_model(weights, base)
    if keep_adapter and is_adapter(weights):
        (output / "adapter").mkdir(exist_ok=True)
        for file in weights.glob("adapter_*"):
            shutil.copy(file, output / "adapter")
    model = model.to(dtype)
    model.config.dtype = dtype
    # In both places: which of the two is heeded depends on how the base model was saved.
    model.config.get_text_config().eos_token_id = sorted(chat.ends)
    model.generation_config.eos_token_id = sorted(chat.ends)
    if chat.tokenizer.pad_token_id is not None:
        model.generation_config.pad_token_id = chat.tokenizer.pad_token_id
    model.save_pretrained(output)
    chat.tokenizer.save_pretrained(output)
    if prompt_file is not None:
        shutil.copyfile(prompt_file, output / PROMPT_TEXT)
        about["prompt_file"] = PROMPT_TEXT
    write_record(output, about)


def write_record(output: Path, about: Mapping[str, Any]) -> None:
    """Write how the model is to be asked."""
    write_json(output / RECORD, {key: each for key, each in about.items() if each is not None})


def own_dtype(base: Path) -> Any:
    """Return the dtype of a model's folder."""
    import torch
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(base).get_text_config().dtype or torch.float32


def whole_model(weights: Path, base: Path, dtype: Any = None) -> Any:
    """Load the trained model; an adapter is merged in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    dtype = dtype or torch.float32
    if not is_adapter(weights):
        return AutoModelForCausalLM.from_pretrained(weights, dtype=dtype)
    from peft import PeftModel

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    return PeftModel.from_pretrained(model, str(weights)).merge_and_unload().to(dtype)


def is_adapter(weights: Path) -> bool:
    """Tell whether the trainer wrote an adapter, not a model."""
    return (weights / "adapter_config.json").is_file()
