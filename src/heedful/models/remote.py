"""Models behind a network: requests are limited, repeated and adapted until they are answered."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from heedful.core.errors import UsageError
from heedful.core.log import logger
from heedful.core.noun import updated
from heedful.core.text import amount
from heedful.models.faults import (
    METER,
    Fault,
    FaultError,
    FaultKind,
    backoff,
    failure,
    pause,
    refused_parameter,
)
from heedful.models.pricing import estimate_tokens
from heedful.models.turns import openai_turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from heedful.core.errors import HeedfulError
    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Sampling
    from heedful.models.limiter import AdaptiveLimiter
    from heedful.models.redaction import Redactor

BACKOFF_CAP_S = 60.0

_TOKENS_FIELDS = ("max_tokens", "max_completion_tokens")


class RemoteModel:
    """A model behind a network.

    What may succeed the next time (timeouts, lost connections, overload, broken bodies) is repeated
    after a pause that doubles each time, with jitter; ``Retry-After`` is honoured for the call that
    got it, up to the seconds that one attempt may take.
    """

    sends_parts = True
    name: str
    _droppable: tuple[str, ...] = ("temperature", "top_p", "response_format")
    _name_hint = "check the model's name"
    _tokens_field = "max_tokens"
    _renames_tokens_field = False

    def __init__(
        self,
        model: str,
        where: str,
        redact: Redactor,
        *,
        timeout_s: float,
        max_attempts: int,
        backoff_s: float,
        limiter: AdaptiveLimiter | None,
    ) -> None:
        for name, value in (("timeout_s", timeout_s), ("max_attempts", max_attempts)):
            if not value > 0:
                raise UsageError(f"{name} is {value}", hint="give a number above 0")
        self.redact = redact
        self._model = model
        self._where = f"model {model} {where}"
        self._timeout_s = timeout_s
        self._max_attempts = max_attempts
        self._backoff_s = backoff_s
        self._limiter = limiter
        self._adapted: dict[str, str] = {}  # field that was refused -> what is done instead

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Parameters sent differently, because the model or its server refuses them."""
        return tuple(self._adapted.values())

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer the messages; see :class:`heedful.models.Model`."""
        self._check()
        meter = METER.get()
        attempts = faults = 0
        left = self._timeout_s
        sent: dict[str, Any]

        async def send() -> tuple[Completion, float]:
            nonlocal sent
            sent = self.body(messages, sampling, sample)  # others may have changed it meanwhile
            return await self._request(sent)

        while True:
            attempts += 1
            try:
                completion, latency_s = await self._limited(send, messages)
            except FaultError as error:
                fault = error.fault
            else:
                model = completion.model or self._model
                about = {"attempts": attempts, "latency_s": latency_s, "model": model}
                return updated(completion, about)
            if fault.usage.prompt_tokens + fault.usage.completion_tokens:
                meter.charge(fault.model or self._model, fault.usage)
            self.adapt(fault, sent)
            if self.body(messages, sampling, sample) != sent:
                await meter.affordable()
                continue
            faults += 1
            if not fault.kind.retryable:
                break
            if faults >= self._max_attempts:
                what = f"no answer in {amount(attempts, 'attempt')}, at last: {fault.text}"
                fault = Fault(fault.kind, what)
                break
            seconds = backoff(faults - 1, self._backoff_s, BACKOFF_CAP_S)
            if fault.retry_after and left > 0:  # 0 would be no pause at all
                seconds = min(fault.retry_after, left) * random.uniform(1.0, 1.1)
            left -= seconds
            again = "model %s: trying again in %.1f s after attempt %d: %s"
            logger.warning(again, self._model, seconds, attempts, self.redact(fault.text))
            await pause(seconds)
            await meter.affordable()
        raise self.failure(fault)

    def failure(self, fault: Fault) -> HeedfulError:
        """Make the error that the user sees of a fault."""
        return failure(
            fault,
            where=self._where,
            key_hint=self._key_hint(),
            name_hint=self._name_hint,
            redact=self.redact,
        )

    def body(self, messages: Sequence[Message], sampling: Sampling, sample: int) -> dict[str, Any]:
        """Lay out a request, without what the model refuses."""
        fields = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self._tokens_field: sampling.max_tokens,
            "seed": None if sampling.seed is None else sampling.seed + sample,
            "response_format": sampling.response_format,
            "logprobs": None if sampling.top_logprobs is None else True,
            "top_logprobs": sampling.top_logprobs,
        }
        given = {field: value for field, value in fields.items() if value is not None}
        given |= sampling.extra
        left_out = self._adapted.keys() & self._droppable
        shown = {field: value for field, value in given.items() if field not in left_out}
        turns = [self._turn(turn) for turn in messages]
        return {"model": self._model, "messages": turns, **shown}

    def adapt(self, fault: Fault, body: Mapping[str, Any]) -> bool:
        """Remember a field that the model refuses; return whether later requests are other ones."""
        if fault.kind is not FaultKind.INVALID:
            return False
        adaptable = (*self._droppable, *(_TOKENS_FIELDS if self._renames_tokens_field else ()))
        field = refused_parameter(fault, [field for field in adaptable if field in body])
        if field is None or field in self._adapted:
            return field is not None
        if field in self._droppable:
            self._adapted[field] = f"{field} is left out, {self.name} refuses it"
        elif not any(other in self._adapted for other in _TOKENS_FIELDS):
            other = "max_completion_tokens" if field == "max_tokens" else "max_tokens"
            self._tokens_field = other
            self._adapted[field] = f"{other} is sent for {field}, which {self.name} refuses"
        else:
            return False
        logger.warning("model %s: %s", self.name, self._adapted[field])
        return True

    async def _limited(
        self, send: Callable[[], Awaitable[tuple[Completion, float]]], messages: Sequence[Message]
    ) -> tuple[Completion, float]:
        """Make one request, under the limiter."""
        if self._limiter is None:
            return await send()
        estimate = 0
        if self._limiter.counts_tokens:
            estimate = sum(estimate_tokens(message.content) for message in messages)
        async with self._limiter.permit(estimate) as permit:
            try:
                completion, latency_s = await send()
            except FaultError as error:
                if error.fault.kind is FaultKind.OVERLOADED:
                    self._limiter.overloaded()
                raise
            used = completion.usage.prompt_tokens + completion.usage.completion_tokens
            permit.tokens = used or estimate
            return completion, latency_s

    async def _request(self, body: dict[str, Any]) -> tuple[Completion, float]:
        """Make one request; return the answer and the seconds that it took."""
        raise NotImplementedError

    def _turn(self, turn: Message) -> dict[str, Any]:
        return openai_turn(turn)

    def _key_hint(self) -> str:
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse what no request can mend, before the first."""


def encoded(body: dict[str, Any]) -> bytes:
    """Write JSON; pydantic's encoder takes a fifth of the time of the standard one."""
    try:
        return to_json(body)
    except PydanticSerializationError:  # half a surrogate pair, which the standard one escapes
        return json.dumps(body, default=str).encode()
