"""Stopping a run before it spends more than it may."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, Protocol

from heedful.core.errors import StopRunError, UsageError
from heedful.core.text import dollars
from heedful.engine.cost import TOKENS, CostSummary
from heedful.engine.runner import Postponed
from heedful.engine.schema import CACHE_WRITE
from heedful.models.base import Usage
from heedful.models.pricing import BATCH_SHARE, cost
from heedful.models.turns import content

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from heedful.engine.purpose import ModelCall
    from heedful.engine.store import Store, UsageRecord
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


class Quote(NamedTuple):
    """What is known of a call's cost before it is made."""

    model: str
    sent: int  # tokens, roughly
    expected: int  # tokens, roughly
    limit: int | None  # tokens of the longest answer
    marked: bool  # whether parts of the prompt are marked to be cached

    @classmethod
    def of(cls, call: ModelCall) -> Quote:
        """Estimate a call."""
        marked = any(isinstance(content(turn), list) for turn in call.messages)
        expected, limit = call.purpose.tokens, call.sampling.max_tokens
        return cls(call.model.name, call.prompt_tokens(), expected, limit, marked)


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

    async def reserve(self, quote: Quote) -> float:
        """Wait until a call fits; return the dollars set aside for it."""
        while True:
            prompt = self._prompts.of(quote.sent)
            usage = Usage(
                prompt_tokens=prompt,
                cache_write_tokens=prompt if quote.marked else 0,
                completion_tokens=quote.limit or self._answers.of(quote.expected),
            )
            most = self._price(usage, quote.model)
            fits = self.spent + self._reserved + most <= self.limit * ROUNDING
            if not self._in_flight:
                if self._prompts.blind:
                    raise _uncounted(quote.model)
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

    def pay(self, quote: Quote, model: str, usage: Usage, counted: bool) -> None:  # noqa: FBT001
        """Count what an attempt that a model answered cost, and compare it with the quote."""
        self.spent += self._price(usage, model, quote.model)
        self._prompts.learn(quote.sent, usage.prompt_tokens if counted else None)
        self._answers.learn(quote.expected, usage.completion_tokens)

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

    async def reserve(self, quote: Quote, /) -> float: ...
    def release(self, reserved: float, /) -> None: ...
    def pay(self, quote: Quote, model: str, usage: Usage, counted: bool, /) -> None: ...  # noqa: FBT001


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
        self._store = store
        self._limit = limit
        self._prices = prices
        self._spent: float | None = None

    def recount(self) -> None:
        """Take note that calls were answered, and so have a cost."""
        self._spent = None

    def price(self, call: ModelCall, promised: float) -> float:
        """Return the dollars that a call may cost; 0 without a limit."""
        if self._limit is None:
            return 0.0
        price = _price(call, self._prices)
        if self._spent is None:
            usage = self._store.usage_records()
            self._spent = CostSummary(usage, self._prices).result()["dollars"] or 0.0
        if self._spent + promised + price <= self._limit * ROUNDING:
            return price
        if promised:
            raise Postponed
        raise _exhausted(self._spent, self._limit, price)


def _price(call: ModelCall, prices: Mapping[str, Price]) -> float:
    """Return the dollars that a request in a batch may cost."""
    longest = call.sampling.max_tokens
    if longest is None:
        raise UsageError(
            "--max-cost cannot be enforced: answers in a batch may be of any length",
            hint="give --max-completion-tokens too",
        )
    name = call.model.name
    usage = Usage(prompt_tokens=round(MARGIN * call.prompt_tokens()), completion_tokens=longest)
    refuse_unpriced([name], prices)
    return cost(usage, name, prices, "batch") or 0.0
