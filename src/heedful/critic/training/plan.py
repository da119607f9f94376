"""A training, checked and ready to start: its rows, its model, its settings."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from heedful.engine.inputs import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.core.nouns import Message
    from heedful.critic.training.folder import Folder
    from heedful.critic.training.held_out import HeldOut
    from heedful.critic.training.rows import Rows
    from heedful.critic.training.settings import Settings
    from heedful.critic.training.tokens import Chat, Tokens
    from heedful.models.folder import ModelFolder

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

_NEWER = {"group_by_length": False, "lora_4bit": False, "attention": None, "optimizer": "adamw"}
"""Settings that trainings begun with older versions don't have, and what these did."""


@dataclass
class TrainingPlan:
    """The data, model and settings of a training."""

    stage: Literal["sft", "dpo"]  # fine-tuning or preferences
    settings: Settings  # all that can be set
    model: ModelFolder  # the folder of the model to train
    chat: Chat  # its tokenizer and chat template
    rows: Rows  # the rows as they were read, with those left out
    tokens: Tokens  # the rows that are trained on
    prompt: str  # the name of the prompt that their critiques answer
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
        for name, usual in _NEWER.items():
            if settings.get(name) == usual:
                settings.pop(name)
        template = self.chat.tokenizer.chat_template.encode()
        prompt_file = self.settings.prompt_file
        return {
            "stage": self.stage,
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
