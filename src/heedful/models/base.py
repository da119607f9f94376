"""Models: messages go in, a completion comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from heedful.core.errors import StopRunError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Message

__all__ = ["Completion", "Model", "Sampling", "Usage", "is_cut_off"]

_CUT_OFF = frozenset(
    {
        *("length", "max_tokens", "max_output_tokens", "model_length"),
        *("model_context_window_exceeded", "insufficient_system_resource", "abort"),
    }
)
"""Finish reasons of cut-off texts: OpenAI, Anthropic, Mistral, DeepSeek, vLLM, SGLang."""


class AuthError(StopRunError):
    """The key is missing, wrong, or not allowed to do this."""


class QuotaError(StopRunError):
    """The account has no money or no quota left; waiting does not help."""


class ModelNotFound(StopRunError):  # noqa: N818 - says more than ModelNotFoundError in less
    """The address serves no chat completions, or not this model."""


class Unreachable(StopRunError):  # noqa: N818 - says as much as UnreachableError
    """No server answers at the address."""


class _Noun(BaseModel):
    """Immutable; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def is_cut_off(finish_reason: object) -> bool:
    """Tell whether a ``finish_reason`` says that the text was cut off."""
    return isinstance(finish_reason, str) and finish_reason.casefold() in _CUT_OFF


class Usage(_Noun):
    """Tokens of a call.

    Prompts' tokens include those read from the provider's cache and written to it; completions'
    tokens include the reasoning.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class Completion(_Noun):
    """Completion of a prompt by a model.

    Attributes:
        text: the answer, without the reasoning; may be empty.
        reasoning: what the model thought, where the server or a leading ``<think>`` block says.
        finish_reason: why it ended, in the server's words (``stop``, ``length``, …); ``refusal``
            where the text is a refusal that the server marked as one.
        usage: zeros where the server does not count.
        model: the model that answered, by the server's name for it.
        latency_s: seconds from sending the request that succeeded to the end of its answer.
        attempts: requests made, the one that succeeded included.
        first_tokens: natural log-probabilities of the likeliest first tokens of the answer, where
            they were requested and the server gives them.
        confidences: how likely each verdict in the answer was to the model, in their order,
            calibrated; of a trained critic in this process.
    """

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    model: str = ""
    latency_s: float = 0.0
    attempts: int = 1
    first_tokens: dict[str, float] | None = None
    confidences: tuple[float, ...] | None = None

    @property
    def cut_off(self) -> bool:
        """Whether the text was cut off: it ends where the model would have gone on."""
        return is_cut_off(self.finish_reason)

    @property
    def counted(self) -> bool:
        """Whether the server counted the tokens: prompts and texts have at least one."""
        usage = self.usage
        return usage.prompt_tokens > 0 and (usage.completion_tokens > 0 or not self.text)


class Sampling(_Noun):
    """Sampling parameters: sent with the messages, and part of the cache's key.

    Attributes:
        temperature: ``None`` leaves it to the server, as for the other fields.
        top_p: nucleus sampling's share.
        max_tokens: the most tokens to generate, whatever the server calls it.
        seed: sample k of a prompt is sent ``seed + k``, so that samples differ.
        response_format: ``{"type": "json_object"}`` or a JSON schema, as the API has it.
        top_logprobs: of how many first tokens the log-probabilities are requested.
        extra: further fields of the request, sent as they are.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    response_format: dict[str, Any] | None = None
    top_logprobs: int | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class Model(Protocol):
    """A model that completes conversations."""

    @property
    def name(self) -> str:
        """Name in results and price tables."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """All that its answers depend on, as JSON and without secrets; part of the cache's key."""
        ...

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer the messages.

        Args:
            messages: the conversation, ending on the turn to answer.
            sampling: how to sample.
            sample: numbers independent samples of the same prompt, from 0.

        Raises:
            ModelError: no answer for these messages.
            StopRunError: there will be none for any.
        """
        ...

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        ...


AnyModel: TypeAlias = "str | Model | Callable[..., Any] | object"
"""What users give for a model: a name, a model, or what :mod:`heedful.models.functions` takes."""


def refuse_models(models: Sequence[Model], role: str) -> None:
    """Refuse to begin without models, or with one that is named twice."""
    names = [model.name for model in models]
    if not names:
        raise UsageError(f"no {role} is named", hint="name at least one with --model")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"the model {twice[0]!r} is named twice", hint="name it once")
