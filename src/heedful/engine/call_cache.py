"""The cache of calls: an answer that the run's store holds is not requested again.

The key is all that the answer depends on: the model's configuration, the messages, the sampling,
and which of several independent samples it is. Calls in flight are shared too, so equal prompts at
the same time cost one call.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, NoReturn

from heedful.core.errors import ModelError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.noun import to_text, trusted
from heedful.core.nouns import Expense
from heedful.engine.budget import Quote
from heedful.engine.purpose import ModelCall, Purpose
from heedful.engine.schema import CACHE_WRITE, UsageRecord
from heedful.models.base import Completion
from heedful.models.batches import has_batches
from heedful.models.faults import METER, Meter
from heedful.models.pricing import CHARACTERS_PER_TOKEN, estimate_tokens
from heedful.models.turns import check_parts, least_cached

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Sequence

    from heedful.core.nouns import Message
    from heedful.engine.batches import BatchQueue
    from heedful.engine.budget import Accounts
    from heedful.engine.store import Store
    from heedful.models.base import Model, Sampling, Usage

__all__ = ["attempt", "attempts", "cache_calls", "complete", "expense"]

CACHE_TOKENS = 400_000
"""Tokens that the cache is taken to hold: what a GPU of 80 GB has room for beside an 8B model, with
128 KiB of keys and values a token (32 layers, 8 heads of 128, 16 bits)."""

BLOCK_TOKENS = 16
"""Tokens that are kept or dropped together, as vLLM does."""

BLOCK = BLOCK_TOKENS * CHARACTERS_PER_TOKEN


class PrefixCache:
    """A cache of the prompts' beginnings, block by block; what was used longest ago goes first."""

    def __init__(self, tokens: int = CACHE_TOKENS) -> None:
        if tokens < 0:
            raise UsageError(f"a prefix cache of {tokens} tokens", hint="give 0 for none")
        self._room = tokens // BLOCK_TOKENS
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def add(self, name: str, messages: Sequence[Message], least: int = 0) -> int:
        """Take in a prompt; return how many of its tokens it shares with those before, roughly."""
        text = "\n".join(f"{turn.role}\n{turn.content}" for turn in messages)
        block, shared, hit = hash(name), 0, True
        blocks = []
        for start in range(0, len(text) - BLOCK + 1, BLOCK):
            # The hash of a block has that of all before it.
            block = hash((block, text[start : start + BLOCK]))
            hit = hit and block in self._blocks
            shared += hit
            blocks.append(block)
        for block in reversed(blocks):  # the beginning, which most share, goes last
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._room:
            self._blocks.popitem(last=False)
        tokens = estimate_tokens(text[: shared * BLOCK])
        return tokens if tokens >= least else 0


class CallCounter:
    """Takes the place of the models: each new call is recorded at its estimate, and not made."""

    def __init__(
        self, store: Store, cache_tokens: int = CACHE_TOKENS, submitted: Collection[bytes] = ()
    ) -> None:
        """Count into a store, so that equal calls are recognized in constant memory."""
        self._submitted = submitted
        self._store = store
        self.reused = 0  # calls that a stored answer, or an equal call, would serve
        self.submitted = 0  # calls that are in batches under way, and so are bought already
        self.prefix_tokens = 0  # tokens of prompts that a server's prefix cache would hold
        self.images = 0  # how many the prompts have; their tokens are not in the estimate
        self.batches = True  # whether all models that would be called have a batch endpoint
        self._prefixes = PrefixCache(cache_tokens)

    def count(self, key: bytes, call: ModelCall) -> NoReturn:
        """Record a call."""
        model = call.model
        if key in self._submitted:
            self.submitted += 1
        elif self._store.call(key) is not None:
            self.reused += 1
        else:
            self.batches = self.batches and has_batches(model)
            shared = self._prefixes.add(model.name, call.messages, least_cached(model))
            self.prefix_tokens += shared
            self.images += sum(len(message.images) for message in call.messages)
            expected = call.purpose.tokens
            record = UsageRecord(
                caller=call.purpose.caller,
                requested=model.name,
                model=model.name,
                prompt_tokens=call.prompt_tokens(),
                completion_tokens=min(expected, call.sampling.max_tokens or expected),
            )
            self._store.add_call(key, "", record)
        raise ModelError("counted for an estimate, not called", where=f"model {model.name}")


PREFIXES_CACHED = 256


@dataclass(eq=False)
class _CallCache:
    """The calls of one run: those it has stored, and those in flight."""

    store: Store
    retries: int
    budget: Accounts | None
    counter: CallCounter | None
    queue: BatchQueue | None
    place: Callable[[Model], Model]
    in_flight: dict[bytes, asyncio.Future[Completion]] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    _prefixes: dict[tuple[int, int], tuple[blake2b, Model, Sampling]] = field(default_factory=dict)
    _addresses: dict[str, object] = field(default_factory=dict)  # by configuration of a model

    def key(self, call: ModelCall) -> bytes:
        """Digest all that an answer depends on."""
        model, sampling = call.model, call.sampling
        prefix = self._prefixes.get((id(model), id(sampling)))
        if prefix is None:
            self._refuse_ambiguous(model)
            if len(self._prefixes) >= PREFIXES_CACHED:
                self._prefixes.clear()
            # The entry holds model and sampling, so that their ids aren't given to others.
            prefix = _prefix(model, sampling), model, sampling
            self._prefixes[id(model), id(sampling)] = prefix
        digest = prefix[0].copy()
        digest.update(b"%d" % call.sample)
        for message in call.messages:
            _add(digest, message.role)
            _add(digest, message.content)
            if message.tool_calls or message.images:
                parts = message.model_dump(mode="json", include={"tool_calls", "images"})
                _add(digest, json.dumps(parts, sort_keys=True))
        return digest.digest()

    def _refuse_ambiguous(self, model: Model) -> None:
        """Refuse a model that only its address tells from another: a key doesn't hold addresses."""
        address = getattr(model, "address", None)
        other = self._addresses.setdefault(json.dumps(dict(model.config), sort_keys=True), address)
        if other != address:
            raise StopRunError(
                f"two models are called {model.name!r}: at {other} and at {address}",
                hint="serve one under another name (vLLM: --served-model-name)",
            )

    def stored(self, key: bytes) -> Completion | None:
        """Return the answer that the store holds; new is one that came through a batch."""
        stored = self.store.call(key)
        if stored is None:
            return None
        if self.counter is not None:
            self.counter.reused += 1
        new = self.queue is not None and self.queue.used(key)
        completion = Completion.model_validate_json(stored)
        return completion if new else completion.model_copy(update={"attempts": 0})

    async def answer(self, key: bytes, call: ModelCall) -> Completion:
        """Get an answer that isn't stored, wherever it comes from, and store it."""
        if self.counter is not None:
            self.counter.count(key, call)
        if self.queue is not None:
            await self.queue.postpone(key, call)
        completion = await self.call(call)
        self.save(key, completion, call)
        return completion

    async def call(self, call: ModelCall) -> Completion:
        """Call the model, within the budget where there is one."""
        bill = _Bill(self, call)
        token = METER.set(bill)
        try:
            await bill.reserve()
            model = self.place(call.model)
            completion = await model.generate(call.messages, call.sampling, sample=call.sample)
            bill.pay(completion.model, completion.usage, counted=completion.counted)
        except ModelError as error:
            logger.error("a call failed: %s", error)
            raise
        else:
            return completion
        finally:
            METER.reset(token)
            bill.release()

    def save(self, key: bytes, completion: Completion, call: ModelCall) -> None:
        """Store an answer: what was paid for is committed before anything else is done.

        Answers that came together are committed together.
        """
        requested, purpose, usage = call.model.name, call.purpose, completion.usage
        logger.debug(
            "model %s answered %s in %.2f s: %d + %d tokens, %s",
            requested,
            purpose.caller,
            completion.latency_s,
            usage.prompt_tokens,
            usage.completion_tokens,
            completion.finish_reason,
        )
        counted = usage if completion.counted else None
        record = UsageRecord.of(
            purpose.caller, requested, completion.model, counted, reask=purpose.reask
        )
        self.store.add_call(key, to_text(completion), record)
        self.add_writes(record, usage)
        self.store.flush_soon()

    def add_writes(self, record: UsageRecord, usage: Usage) -> None:
        """Record which of a call's prompt tokens the provider put into its cache."""
        if usage.cache_write_tokens:
            self.store.add_usage(
                UsageRecord(*record.who[:3], CACHE_WRITE, 0, prompt_tokens=usage.cache_write_tokens)
            )


class _Bill(Meter):
    """What one call costs: the dollars set aside for an attempt, and what attempts were billed."""

    def __init__(self, cache: _CallCache, call: ModelCall) -> None:
        self._cache = cache
        self._call = call
        self._budget = cache.budget
        self._quote = Quote.of(call) if cache.budget else None
        self._reserved: float | None = None
        self._charged = False

    async def reserve(self) -> None:
        """Wait until an attempt fits, and set aside what it may cost."""
        if self._budget and self._quote:
            self._reserved = await self._budget.reserve(self._quote)
        self._charged = False

    def release(self) -> None:
        """Give back what was set aside."""
        reserved, self._reserved = self._reserved, None
        if self._budget and reserved is not None:
            self._budget.release(reserved)

    def pay(self, model: str, usage: Usage, *, counted: bool) -> None:
        """Count what an attempt cost, and learn from it."""
        if self._budget and self._quote:
            self._budget.pay(self._quote, model, usage, counted)

    def charge(self, model: str, usage: Usage) -> None:
        """Record a reply without an answer."""
        requested, purpose = self._call.model.name, self._call.purpose
        logger.debug(
            "model %s billed %s without an answer: %d + %d tokens",
            model,
            purpose.caller,
            usage.prompt_tokens,
            usage.completion_tokens,
        )
        record = UsageRecord.of(purpose.caller, requested, model, usage, reask=purpose.reask)
        self._cache.store.add_usage(record)
        self._cache.add_writes(record, usage)
        self._cache.store.flush_soon()
        self._charged = True
        self.pay(model, usage, counted=usage.prompt_tokens > 0)

    async def affordable(self) -> None:
        """Set aside what the next attempt may cost, where the last one has used it up."""
        if self._charged:
            self.release()
            await self.reserve()


_current: ContextVar[_CallCache | None] = ContextVar("heedful_call_cache", default=None)


@asynccontextmanager
async def cache_calls(
    store: Store,
    *,
    retries: int = 0,
    budget: Accounts | None = None,
    counter: CallCounter | None = None,
    queue: BatchQueue | None = None,
    place: Callable[[Model], Model] = lambda model: model,
) -> AsyncIterator[None]:
    """Cache the calls made inside in a store; at the end, close the models that were called."""
    cache = _CallCache(store, retries, budget, counter, queue, place)
    token = _current.set(cache)
    try:
        yield
    finally:
        _current.reset(token)
        if counter is None:
            _store_adaptations(cache)
        await asyncio.gather(*(place(model).close() for model in cache.models.values()))


async def complete(
    model: Model,
    messages: Sequence[Message],
    sampling: Sampling,
    *,
    sample: int = 0,
    purpose: Purpose = Purpose(),  # noqa: B008 - immutable
) -> Completion:
    """Complete a conversation by a model, or by the stored answer to an equal call.

    Outside of :func:`cache_calls` nothing is stored.
    """
    check_parts(model, messages)
    cache = _current.get()
    if cache is None:
        return await model.generate(messages, sampling, sample=sample)
    cache.models[id(model)] = model
    call = ModelCall(model, messages, sampling, sample, purpose)
    key = cache.key(call)
    while True:
        stored = cache.stored(key)
        if stored is not None:
            return stored
        in_flight = cache.in_flight.get(key)
        if in_flight is None:
            break
        # Not awaited itself: a waiter that is cancelled must not cancel the call for the others.
        await asyncio.wait([in_flight])
        if not in_flight.cancelled():
            return in_flight.result().model_copy(update={"attempts": 0})
        # The caller was cancelled, so the next of the waiters makes the call.
    answer = cache.in_flight[key] = asyncio.get_running_loop().create_future()
    try:
        completion = await cache.answer(key, call)
    except Exception as error:
        answer.set_exception(error)
        answer.exception()  # retrieved, so that asyncio doesn't warn where nobody else waited
        raise
    else:
        answer.set_result(completion)
        return completion
    finally:
        answer.cancel()  # has an effect only where this call was cancelled
        del cache.in_flight[key]


def expense(completion: Completion, purpose: Purpose) -> Expense:
    """Return the expense of a call, from what :func:`complete` returned for a purpose."""
    if not completion.attempts:
        return Expense(judge=purpose.caller, model=completion.model, reused=1)
    usage = completion.usage
    paid = {
        "judge": purpose.caller,
        "model": completion.model,
        "calls": 1,
        "reasks": int(purpose.reask),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    return trusted(Expense, paid)


def _store_adaptations(cache: _CallCache) -> None:
    """Store which parameters were sent differently, for models that say so."""
    known = {*(cache.store.meta("adaptations") or [])}
    models = map(cache.place, cache.models.values())
    lines = {line for model in models for line in getattr(model, "adaptations", ())}
    if not lines <= known:
        cache.store.set_meta("adaptations", sorted(known | lines))


def _prefix(model: Model, sampling: Sampling) -> blake2b:
    """Begin a key with the parts that all prompts of a judge share."""
    digest = blake2b(digest_size=16)
    for part in (dict(model.config), sampling.model_dump(mode="json", exclude_defaults=True)):
        _add(digest, json.dumps(part, sort_keys=True))
    return digest


def _add(digest: blake2b, text: str) -> None:
    """Add a text; its length tells ``("ab", "c")`` from ``("a", "bc")``."""
    data = text.encode("utf-8", "surrogatepass")  # JSON may hold half a surrogate pair
    digest.update(b"\0%d\0" % len(data))
    digest.update(data)


REASKS = 1
"""How often what a reply leaves out is requested again, where nothing else is said."""

REASK = 1000
"""Added to the number of a sample each time it is requested again, so that none is used twice."""


def attempts(reasks: int = REASKS) -> range:
    """Number the requests: the first, those made again, and one for each ``retry_failed``.

    Earlier requests are answered from the store, so a retry makes only new ones.
    """
    cache = _current.get()
    return range(1 + reasks + (0 if cache is None else cache.retries))


async def attempt(
    number: int,
    model: Model,
    messages: Sequence[Message],
    sampling: Sampling,
    purpose: Purpose,
    expenses: list[Expense],
    *,
    sample: int = 0,
) -> Completion:
    """Make one of several requests for the same; see :func:`complete`."""
    if number:
        purpose = purpose._replace(reask=True)
    number = sample + REASK * number
    completion = await complete(model, messages, sampling, sample=number, purpose=purpose)
    expenses.append(expense(completion, purpose))
    return completion
