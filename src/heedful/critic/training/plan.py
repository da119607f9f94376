"""A training, read, checked and ready to start: its rows, its model, its settings."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.core.files import PROMPT_TEXT
from heedful.critic.data.options import ExportSettings
from heedful.critic.training.folder import Folder
from heedful.critic.training.rows import Rows, data_file, protocol
from heedful.engine.inputs import fingerprint
from heedful.judges.making import PROMPT
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

    from heedful.core.nouns import Message, Sample
    from heedful.critic.training.held_out import HeldOut
    from heedful.critic.training.rows import Chat, Tokens
    from heedful.critic.training.settings import Settings
    from heedful.models.folder import ModelFolder

    Name = str | os.PathLike[str]
    Known = Name | Iterable[Sample] | None  # samples with known verdicts, or their file

_NEEDED = ("torch", "transformers", "trl", "datasets", "accelerate")

_EVALUATED_TOKENS = 8192
"""Generated at most in an evaluation: IF-Critic's limit (arXiv 2511.01014)."""

_FREE = {
    "keep",
    "keep_adapter",
    "eval_batch_size",
    "prompt_file",
    "chat_template",
    "dtype",
    "report_to",
}
"""Settings that may change from session to session, or that are recorded by what they come to."""


@dataclass
class TrainingPlan:
    """The data, model and settings of a training."""

    settings: Settings  # all that can be set
    model: ModelFolder  # the folder of the model to train
    chat: Chat  # its tokenizer and chat template
    rows: Rows  # the rows as they were read, with those left out
    tokens: Tokens  # the rows that are trained on
    # the samples that the critic is measured on while it is trained, if any
    held_out: HeldOut | None
    test: HeldOut | None  # the samples that only the model at the end is measured on, if any
    folder: Folder  # where everything goes

    def also_trained_on(self, samples: HeldOut) -> int:
        """Count the held-out samples whose prompt is trained on."""
        trained = {_texts(example.prompt) for example, *_ in self.tokens.rows}
        return sum(_texts(prompt) in trained for prompt in samples.prompts())

    @property
    def also_chosen_by(self) -> int:
        """How many test samples are also among those that choose the weights."""
        if self.held_out is None or self.test is None:
            return 0
        choosing = set(map(_texts, self.held_out.prompts()))
        return sum(_texts(prompt) in choosing for prompt in self.test.prompts())

    @property
    def limit(self) -> int:
        """Tokens of an answer in an evaluation at most."""
        usual = min(_EVALUATED_TOKENS, 2 * self.tokens.longest_answer)
        return self.settings.max_completion_tokens or usual

    def configuration(self, processes: int) -> dict[str, Any]:
        """Return everything that the weights depend on."""
        from heedful.critic.training.trainer import computing_dtype

        settings = self.settings.model_dump(mode="json", exclude=_FREE)
        template = self.chat.tokenizer.chat_template.encode()
        prompt_file = self.settings.prompt_file
        return {
            "stage": self.settings.stage,
            "content of the data": fingerprint(self.rows.path),
            "content of the model": self.model.digest,
            "held-out samples": self.held_out.digest if self.held_out else None,
            **({"test samples": self.test.digest} if self.test else {}),
            "chat template": blake2b(template, digest_size=16).hexdigest(),
            "prompt file": None if prompt_file is None else fingerprint(prompt_file),
            "dtype": computing_dtype(self.settings),
            "processes": processes,
            **settings,
        }


def _texts(prompt: Iterable[Message]) -> tuple[str, ...]:
    return tuple(message.content for message in prompt)


def prepared(
    data: Path,
    output: Path,
    model: str,
    settings: Settings,
    known: tuple[Known, Known],
) -> TrainingPlan:
    """Read and check all inputs before training."""
    from heedful.critic.training.rows import open_chat, tokenised

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
    rows = Rows(data_file(data), pairs=settings.stage == "dpo", settings=how)
    base = find_folder(model)
    if base.path.resolve() == output.resolve():
        raise UsageError("the output is the model", where=str(output), hint="name another folder")
    chat, context = open_chat(base, settings)
    tokens = tokenised(rows, chat, settings.max_length or context)
    settings = settings.model_copy(update=protocol(rows, settings))
    held_out, test = _read_known(known, rows.task, settings)
    return TrainingPlan(settings, base, chat, rows, tokens, held_out, test, Folder(output))


def _read_known(
    known: tuple[Known, Known], task: str, settings: Settings
) -> tuple[HeldOut | None, HeldOut | None]:
    """Read the samples that choose the weights, and those that only test them."""
    from heedful.critic.training.held_out import HeldOut

    evaluation, test = known
    if task == "checklist" and known != (None, None):
        flag = "--evaluation" if evaluation is not None else "--test"
        raise UsageError(
            "checklists cannot be evaluated: no published measure compares two of them",
            hint=f"leave {flag} out, and look at what heedful checklist makes with it",
        )
    chooses_nothing = settings.model_copy(update={"select": "last"})
    return (
        None if evaluation is None else HeldOut(evaluation, settings),
        None if test is None else HeldOut(test, chooses_nothing),
    )


def check_packages() -> None:
    """Check that the packages of the extra are installed; others name themselves."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        hint = "pip install 'heedful[train]'"
        raise UsageError(f"training needs {', '.join(missing)}", hint=hint)
