"""Stopping a run before it spends more than it may."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from heedful.core.errors import StopRunError, UsageError
from heedful.core.text import dollars
from heedful.engine.cost import TOKENS, CostSummary
from heedful.engine.runner import Postponed
from heedful.engine.schema import CACHE_WRITE
from heedful.models.attempts import METER, Meter
from heedful.models.base import Usage
from heedful.models.pricing import BATCH_SHARE, cost, estimate_tokens
from heedful.models.turns import content

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.engine.purpose import Purpose
    from heedful.engine.store import Store, UsageRecord
    from heedful.models.base import Completion, Model, Sampling
    from heedful.models.pricing import Price

__all__ = ["check_limit", "refuse_unpriced"]

ROUNDING = 1 + 1e-9
"""Sums of dollars are not exact; what just fits shall fit."""

NAME_PRICES = "give its price with --prices FILE"


def check_limit(limit: float) -> None:
    """Refuse a limit that no run could keep."""
    if not limit > 0:
        raise UsageError(f"--max-cost is {limit:g}", hint="give dollars above 0")


def refuse_unpriced(names: Iterable[str], prices: Mapping[str, Price]) -> None:
    """Refuse to keep a limit on models whose price is not known."""
    for name in names:
        if cost(Usage(), name, prices) is None:
            what = "its price is not known, so --max-cost cannot be enforced"
            raise UsageError(what, where=f"model {name}", hint=NAME_PRICES)


class Budget:
    """Lets calls through as long as what they may cost fits into what is left.

    The cost of a call is estimated from the tokens sent and expected, times the largest ratio so
    far of counted tokens to estimated ones. The first call goes alone, as nothing is known before
    it. With ``max_tokens`` the longest answer is known, and is assumed. A call that doesn't fit
    waits for those in flight, which may cost less than assumed; the run stops only when none is in
    flight, so that no answer that was paid for is lost.
    """

    def __init__(
        self, limit: float, prices: Mapping[str, Price], before: Iterable[UsageRecord] = ()
    ) -> None:
        """Open a budget."""
        check_limit(limit)
        self.limit = limit  # dollars that the run may spend, over all its sessions
        self.spent = 0.0  # dollars spent so far
        self._prices = prices
        self._prompts = _Estimator()
        self._answers = _Estimator()
        self._reserved = 0.0
        self._in_flight = 0
        self._released = asyncio.Event()
        for record in before:
            if record.uncounted:
                raise _uncounted(record.requested)
            tokens = {name: getattr(record, name) for name in TOKENS}
            if record.tier == CACHE_WRITE:
                tokens = {"cache_write_tokens": record.prompt_tokens}
            usage = Usage(**tokens)
            share = BATCH_SHARE if record.tier == "batch" else 1.0
            self.spent += share * self._price(usage, record.model, record.requested)

    async def reserve(
        self,
        name: str,
        sent: int,
        expected: int,
        limit: int | None,
        marked: bool,  # noqa: FBT001
    ) -> float:
        """Wait until a call fits; return the dollars set aside for it.

        Known of a call are the tokens sent and expected, roughly, the limit of its answer, and
        whether parts of its prompt are marked to be cached.
        """
        while True:
            prompt = self._prompts.of(sent)
            usage = Usage(
                prompt_tokens=prompt,
                cache_write_tokens=prompt if marked else 0,
                completion_tokens=limit or self._answers.of(expected),
            )
            most = self._price(usage, name, name)
            fits = self.spent + self._reserved + most <= self.limit * ROUNDING
            if not self._in_flight:
                if self._prompts.blind:
                    raise _uncounted(name)
                if not fits:
                    raise _exhausted(self.spent, self.limit, most)
            if fits and (self._prompts.known or not self._in_flight):
                self._in_flight += 1
                self._reserved += most
                return most
            await self._released.wait()

    def release(self, reserved: float) -> None:
        """Give back what was set aside for a call that is over."""
        self._in_flight -= 1
        self._reserved -= reserved
        self._released.set()
        self._released = asyncio.Event()

    def pay(
        self,
        usage: Usage,
        names: Sequence[str],
        sent: int,
        expected: int,
        counted: bool,  # noqa: FBT001
    ) -> None:
        """Count what an attempt cost, and compare it with what was guessed."""
        self.spent += self._price(usage, *names)
        self._prompts.learn(sent, usage.prompt_tokens if counted else None)
        self._answers.learn(expected, usage.completion_tokens)

    def _price(self, usage: Usage, *names: str) -> float:
        """Price a usage under the first of the model's names that has a price."""
        for name in names:
            paid = cost(usage, name, self._prices)
            if paid is not None:
                return paid
        what = "its price is not known, so --max-cost cannot be enforced"
        raise StopRunError(what, where=f"model {names[-1]}", hint=NAME_PRICES)


class Accounts(Protocol):
    """A budget, in this process or another."""

    async def reserve(
        self,
        name: str,
        sent: int,
        expected: int,
        limit: int | None,
        marked: bool,  # noqa: FBT001
        /,
    ) -> float: ...
    def release(self, reserved: float, /) -> None: ...
    def pay(
        self,
        usage: Usage,
        names: Sequence[str],
        sent: int,
        expected: int,
        counted: bool,  # noqa: FBT001
        /,
    ) -> None: ...


async def call_within(
    budget: Accounts,
    model: Model,
    messages: Sequence[Message],
    sampling: Sampling,
    sample: int,
    purpose: Purpose,
) -> Completion:
    """Ask a model as soon as the call fits into what is left."""
    call = _Call(budget, model, messages, sampling, purpose)
    await call.reserve()
    token = METER.set(call)
    try:
        completion = await model.generate(messages, sampling, sample=sample)
        call.pay(completion.model, completion.usage, counted=completion.counted)
        return completion
    finally:
        METER.reset(token)
        call.release()


class _Call(Meter):
    """One call within a budget: the dollars set aside for it, and what it really cost."""

    def __init__(
        self,
        budget: Accounts,
        model: Model,
        messages: Sequence[Message],
        sampling: Sampling,
        purpose: Purpose,
    ) -> None:
        self._budget = budget
        self._name = model.name
        self._limit = sampling.max_tokens
        self._expected = purpose.tokens
        self._sent = sum(estimate_tokens(turn.content) for turn in messages)
        self._marked = any(isinstance(content(turn), list) for turn in messages)
        self._reserved: float | None = None
        self._charged = False
        self._meter = METER.get()

    async def reserve(self) -> None:
        """Wait until an attempt fits, and set aside what it may cost."""
        self._reserved = await self._budget.reserve(
            self._name, self._sent, self._expected, self._limit, self._marked
        )
        self._charged = False

    def release(self) -> None:
        """Give back what was set aside."""
        reserved, self._reserved = self._reserved, None
        if reserved is not None:
            self._budget.release(reserved)

    def pay(self, model: str, usage: Usage, *, counted: bool) -> None:
        """Count what an attempt cost, and learn from it."""
        self._budget.pay(usage, (model, self._name), self._sent, self._expected, counted)

    def charge(self, model: str, usage: Usage) -> None:
        """Count a reply without an answer, and pass it on to be recorded."""
        self._meter.charge(model, usage)
        self._charged = True
        self.pay(model, usage, counted=usage.prompt_tokens > 0)

    async def affordable(self) -> None:
        """Set aside what the next attempt may cost, where the last one has used it up."""
        if self._charged:
            self.release()
            await self.reserve()


class _Estimator:
    """Learns how far guesses of tokens are off: the largest ratio that there has been."""

    def __init__(self) -> None:
        self._ratio = 0.0
        self.blind = False

    @property
    def known(self) -> bool:
        """Whether anything has been learnt from which to guess."""
        return self._ratio > 0 and not self.blind

    def learn(self, guessed: int, counted: int | None) -> None:
        """Compare a guess with the count; ``None`` where there is no count."""
        self.blind |= counted is None
        self._ratio = max(self._ratio, (counted or 0) / max(guessed, 1))

    def of(self, guessed: int) -> int:
        """Correct a guess by what has been learnt."""
        return round(guessed * self._ratio) if self._ratio else guessed


def _exhausted(spent: float, limit: float, most: float) -> StopRunError:
    return StopRunError(
        f"stopped before --max-cost: {dollars(spent)} of ${limit:g} is spent, and the next call "
        f"may cost {dollars(most)}",
        hint="re-run the same command with a higher --max-cost to resume",
    )


def _uncounted(name: str) -> StopRunError:
    return StopRunError(
        "the server does not count tokens, so --max-cost cannot be enforced",
        where=f"model {name}",
        hint="re-run the same command without --max-cost to resume",
    )


MARGIN = 1.5
"""How far estimated tokens of a prompt in a batch may be exceeded."""


class BatchBudget:
    """What is left for calls in batches."""

    def __init__(self, store: Store, limit: float | None, prices: Mapping[str, Price]) -> None:
        """Open a budget."""
        self._store = store
        self._limit = limit
        self._prices = prices
        self._spent: float | None = None

    def recount(self) -> None:
        """Take note that calls were answered, and so have a cost."""
        self._spent = None

    def price(
        self, model: Model, messages: Sequence[Message], sampling: Sampling, promised: float
    ) -> float:
        """Return the dollars that a call may cost; 0 without a limit."""
        if self._limit is None:
            return 0.0
        price = _price(model, messages, sampling, self._prices)
        if self._spent is None:
            usage = self._store.usage_records()
            self._spent = CostSummary(usage, self._prices).result()["dollars"] or 0.0
        if self._spent + promised + price <= self._limit * ROUNDING:
            return price
        if promised:
            raise Postponed
        raise _exhausted(self._spent, self._limit, price)


def _price(
    model: Model, messages: Sequence[Message], sampling: Sampling, prices: Mapping[str, Price]
) -> float:
    """Return the dollars that a request in a batch may cost."""
    if sampling.max_tokens is None:
        raise UsageError(
            "--max-cost cannot be enforced: answers in a batch may be of any length",
            hint="give --max-completion-tokens too",
        )
    prompt = sum(estimate_tokens(turn.content) for turn in messages)
    usage = Usage(prompt_tokens=round(MARGIN * prompt), completion_tokens=sampling.max_tokens)
    refuse_unpriced([model.name], prices)
    return cost(usage, model.name, prices, "batch") or 0.0
