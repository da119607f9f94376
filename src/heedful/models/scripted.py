"""A model with scripted replies, for tests and dry runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.core.errors import ModelError
from heedful.core.text import amount
from heedful.models.base import Completion, Sampling, Usage
from heedful.models.pricing import estimate_tokens

if TYPE_CHECKING:
    from heedful.core.nouns import Message

Reply = (
    str | Callable[[Sequence["Message"], int], str | Completion] | Sequence[str] | Mapping[str, str]
)
"""See :class:`ScriptedModel`."""


@dataclass(frozen=True, slots=True)
class Call:
    """Record of one call to a scripted model."""

    messages: tuple[Message, ...]
    sampling: Sampling
    sample: int


class ScriptedModel:
    """Answers from a script.

    Attributes:
        calls: the calls it got, in order, those that failed included.
        sends_parts: its script is given images and tool calls with the messages.
    """

    sends_parts = True

    def __init__(
        self,
        reply: Reply,
        *,
        name: str = "scripted",
        latency_s: float = 0.0,
        fail: Callable[[int], Exception | None] = lambda _: None,
    ) -> None:
        self.name = name
        self._reply = reply
        self._latency_s = latency_s
        self._fail = fail
        self.calls: list[Call] = []

    @property
    def config(self) -> Mapping[str, Any]:
        """Its name."""
        return {"model": self.name}

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer from the script, with the tokens estimated."""
        number = len(self.calls)
        self.calls.append(Call(tuple(messages), sampling, sample))
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        failure = self._fail(number)
        if failure is not None:
            raise failure
        answer = self._answer(number, messages, sample)
        if isinstance(answer, Completion):
            return answer
        return Completion(
            text=answer,
            finish_reason="stop",
            usage=Usage(
                prompt_tokens=sum(estimate_tokens(message.content) for message in messages),
                completion_tokens=estimate_tokens(answer),
            ),
            model=self.name,
            latency_s=self._latency_s,
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _answer(self, number: int, messages: Sequence[Message], sample: int) -> str | Completion:
        reply = self._reply
        if isinstance(reply, str):
            return reply
        if callable(reply):
            return reply(messages, sample)
        if isinstance(reply, Mapping):
            for piece, text in reply.items():
                if any(piece in message.content for message in messages):
                    return text
            raise ModelError("the script has no reply for this prompt", where=self.name)
        if number < len(reply):
            return reply[number]
        raise ModelError(
            f"the script ended after {amount(len(reply), 'reply', 'replies')}", where=self.name
        )
