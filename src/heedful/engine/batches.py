"""Calls through providers' batch endpoints: submitted together, and fetched when they are done.

Rows are worked on in passes. In a pass each call that the store holds no answer to goes into a
batch, and its row is left for the next pass (:class:`Postponed`). At the end of a pass the batches
are submitted; when all have ended, their answers are in the store and the next pass begins.

A session may be killed at any time. Before a batch is submitted the store holds what is in it,
under a tag of our own; a session that finds a batch of which it cannot know whether it was
submitted looks for the tag at the provider. So nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from heedful.core.errors import HeedfulError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.text import amount
from heedful.engine.budget import BatchBudget
from heedful.engine.runner import Postponed, together
from heedful.engine.schema import LOST, OPEN, UsageRecord
from heedful.models.base import Completion, Usage
from heedful.models.batches import service_of
from heedful.models.faults import Fault, FaultError, FaultKind
from heedful.models.pricing import PRICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from heedful.engine.purpose import ModelCall
    from heedful.engine.store import Store
    from heedful.models.base import Model
    from heedful.models.batches.base import BatchService
    from heedful.models.pricing import Price


PAUSE_S, LONGEST_S = 60.0, 24 * 3600.0
"""Seconds until a provider whose queue is full is tried again; and until a run gives up."""

FEWEST = 20
"""Requests of the smallest batch that a full queue is tried with."""


class QueueRoom:
    """The room in the queues of providers."""

    def __init__(self) -> None:
        # by model, what fits; such a model gets one batch of no more at a time. Models that
        # nothing was refused for aren't in it
        self.requests: dict[str, int] = {}
        self._refused: list[tuple[str, int]] = []
        self._answered_s = time.monotonic()

    def refused(self, model: str, count: int) -> None:
        """Take note of a batch of so many requests that there was no room for."""
        self._refused.append((model, count))

    async def make(self, tell: Callable[[str], None], *, answered: bool) -> None:
        """Send fewer requests at a time from now on, and wait where that alone won't help."""
        if answered:
            self._answered_s = time.monotonic()
        wait = bool(self._refused) and not answered
        for name, count in self._refused:
            known = self.requests.get(name, count)
            half = max(FEWEST, min(known, count) // 2)
            self.requests[name] = half if wait else max(known, count)
        self._refused.clear()
        if not wait:
            return
        if time.monotonic() - self._answered_s > LONGEST_S:
            raise StopRunError("the provider's queue of batches had no room for a day")
        tell("waiting for room in the provider's queue")
        await asyncio.sleep(PAUSE_S)
        tell("")


class BatchCall(NamedTuple):
    """One request of a batch: the call's key, and who made it."""

    key: bytes
    caller: str
    reask: int

    def billed(self, requested: str, model: str, usage: Usage | None) -> UsageRecord:
        """Book a reply; ``None`` where the provider doesn't count."""
        reask = bool(self.reask)
        return UsageRecord.of(self.caller, requested, model, usage, reask=reask, tier="batch")


@dataclass
class Spool:
    """A batch that is being filled."""

    model: Model
    service: BatchService
    tag: str = field(default_factory=lambda: secrets.token_hex(8))
    file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    calls: list[BatchCall] = field(default_factory=list)
    size: int = 0
    dollars: float = 0.0

    @contextmanager
    def requests(self) -> Iterator[BinaryIO]:
        """Open the file from its beginning; whoever sends it may close what this gives."""
        self.file.flush()
        with os.fdopen(os.dup(self.file.fileno()), "rb") as copy:
            copy.seek(0)
            yield copy


FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 60.0
"""Seconds between two looks at a batch; they grow by half each time."""

SETTLED_S = 60.0
"""Seconds of looking after which a batch that the provider does not list was not submitted."""

ROUNDS = 6
"""Batches in which a request may come to nothing before its call fails."""

INSERT = "INSERT OR REPLACE INTO batch_requests VALUES (?, ?, ?, ?, ?, 0)"
UNANSWERED = "SELECT number, key, caller, reask FROM batch_requests WHERE tag = ? AND answered = 0"
ANSWERED = "UPDATE batch_requests SET answered = 1 WHERE key = ?"
USED = "DELETE FROM batch_requests WHERE key = ?"


class BatchQueue:
    """The batches of a run: those being filled, and those under way."""

    def __init__(
        self,
        store: Store,
        max_cost: float | None = None,
        prices: Mapping[str, Price] | None = None,
        *,
        buys_again: bool = False,
    ) -> None:
        self._store = store
        self._buys_again = buys_again
        self._budget = BatchBudget(store, max_cost, PRICES if prices is None else prices)
        self._open: dict[str, dict[str, Any]] = dict(store.meta(OPEN) or {})
        self._under_way: dict[bytes, str] = {}
        self._fresh: set[bytes] = set()
        for key, tag, answered in store.query("SELECT key, tag, answered FROM batch_requests"):
            if answered:
                self._fresh.add(key)
            elif tag in self._open:
                self._under_way[key] = tag
        self._spools: dict[str, Spool] = {}
        self._models: dict[str, Model] = {}  # by tag of an open batch
        self._services: dict[str, BatchService] = {}  # by name of a model
        self._failed: dict[bytes, HeedfulError] = {}
        self._rounds: Counter[bytes] = Counter()
        self._refused = ""
        self._room = QueueRoom()

    def used(self, key: bytes) -> bool:
        """Tell whether an answer is used for the first time, so that its row has caused it."""
        if key not in self._fresh:
            return False
        self._fresh.discard(key)
        self._store.change(USED, [(key,)])  # committed with the row's output
        return True

    async def postpone(self, key: bytes, call: ModelCall) -> NoReturn:
        """Put a call into a batch, unless it is in one."""
        model, purpose = call.model, call.purpose
        if key in self._failed:
            raise self._failed[key]
        try:
            service = self._service(model)
            while (tag := self._under_way.get(key)) is None:
                spool = self._spools.get(model.name)
                if spool is None:
                    spool = self._spools[model.name] = Spool(model, service)
                number = f"{spool.tag}-{len(spool.calls)}"
                line = service.request(number, call.messages, call.sampling, call.sample) + b"\n"
                room = self._room.requests.get(model.name)
                most = min(service.requests, room or service.requests)
                full = len(spool.calls) >= most or spool.size + len(line) > service.size
                price = self._budget.price(call, self._promised())
                if spool.calls and full:
                    if room:
                        raise Postponed
                    del self._spools[model.name]
                    await self._submit(spool)
                    continue
                spool.dollars += price
                spool.file.write(line)
                spool.size += len(line)
                spool.calls.append(BatchCall(key, purpose.caller, int(purpose.reask)))
                self._under_way[key] = spool.tag
        except UsageError as error:
            raise _stopping(error) from None
        self._models[tag] = model
        raise Postponed

    def _promised(self) -> float:
        """Add up what the calls in batches may cost, in dollars."""
        filling = sum(spool.dollars for spool in self._spools.values())
        return sum((batch["dollars"] for batch in self._open.values()), filling)

    def _service(self, model: Model) -> BatchService:
        service = self._services.get(model.name)
        if service is None:
            service = self._services[model.name] = service_of(model)
        return service

    async def exchange(self, tell: Callable[[str], None]) -> None:
        """Submit what was put into batches, wait until all have ended, and store the answers."""
        for spool in [*self._spools.values()]:
            await self._submit(spool)
        self._spools.clear()
        before = self._refused
        answered = dict.fromkeys(self._open, 0)
        total = sum(batch["count"] for batch in self._open.values())

        def report(tag: str, count: int) -> None:
            answered[tag] = count
            tell(f"batches: {sum(answered.values()):,} of {amount(total, 'request')} answered")

        stored = await together(self._watch(tag, report) for tag in [*self._open])
        self._budget.recount()
        tell("")
        if not any(stored) and self._refused != before:
            raise StopRunError(f"the batch was refused: {self._refused}")
        await self._room.make(tell, answered=any(stored))

    async def _submit(self, spool: Spool) -> None:
        """Submit a batch; what is in it is in the store before."""
        if not spool.calls:
            return
        rows = [
            (call.key, spool.tag, number, call.caller, call.reask)
            for number, call in enumerate(spool.calls)
        ]
        self._models[spool.tag] = spool.model
        self._store.change(INSERT, rows)
        self._set(
            spool.tag,
            {"model": spool.model.name, "began": time.time(), "count": len(rows), "id": None}
            | {"dollars": spool.dollars},
        )
        logger.info("submitting %s to %s", amount(len(rows), "request"), spool.model.name)
        try:
            with spool.file:
                batch = await self._sent(spool)
        except FaultError as error:
            raise _stopping(spool.service.failure(error.fault)) from None
        self._set(spool.tag, self._open[spool.tag] | {"id": batch})

    async def _sent(self, spool: Spool) -> str:
        """Submit a batch, whatever it takes; return its name at the provider."""
        for attempt in range(ROUNDS):
            try:
                with spool.requests() as requests:
                    return await spool.service.submit(requests, spool.tag)
            except FaultError as error:
                fault = error.fault
            if not fault.kind.retryable or attempt == ROUNDS - 1:
                await self._drop(spool.tag)
                raise _stopping(spool.service.failure(fault))
            await asyncio.sleep(min(LONGEST_PAUSE_S, 2.0**attempt * FIRST_PAUSE_S))
            # A server that had too much to do has said no; after other faults it may have said yes.
            if fault.kind is FaultKind.TRANSIENT and await self._was_submitted(spool.tag):
                return str(self._open[spool.tag]["id"])
        raise AssertionError  # the last attempt returns or raises

    async def _watch(self, tag: str, report: Callable[[str, int], None]) -> int:
        """Wait for a batch and store its answers; return how many requests came to something."""
        if tag not in self._models:  # no row asks for what it holds
            return 0
        service = self._service(self._models[tag])
        try:
            if self._open[tag]["id"] is None and not await self._was_submitted(tag):
                logger.info("a batch was not submitted before the run was stopped: again")
                await self._drop(tag)
                return 1
            pause = FIRST_PAUSE_S
            while True:
                status = await service.status(self._open[tag]["id"])
                report(tag, status.answered)
                if status.ended:
                    break
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE_S, 1.5 * pause)
            if status.refused is None:
                return await self._fetch(tag, service)
        except FaultError as error:
            if error.fault.kind is FaultKind.NOT_FOUND and self._open[tag]["id"]:
                return await self._lose(tag, error.fault)
            raise _stopping(service.failure(error.fault)) from None
        if status.crowded:
            self._room.refused(self._open[tag]["model"], self._open[tag]["count"])
            logger.info("no room for a batch: %s", status.refused)
        else:
            self._refused = status.refused
        await self._drop(tag)
        return 0

    async def _lose(self, tag: str, fault: Fault) -> int:
        """Count the requests of a batch that the provider no longer has, and drop it."""
        left = self._left(tag).values()
        name = self._open[tag]["model"]
        if not self._buys_again:
            raise StopRunError(
                f"{amount(len(left), 'request')} to {name} were submitted in a batch that the "
                f"provider no longer has: {fault.text}",
                hint="--retry-failed makes them again, and counts the first as lost",
            )
        for call in left:
            self._store.add_usage(UsageRecord(call.caller, name, name, tier=LOST))
        await self._drop(tag)
        return 1

    async def _was_submitted(self, tag: str) -> bool:
        # The provider may list it long after the request, whose sender may have been killed.
        pause, since = FIRST_PAUSE_S, time.monotonic()
        batch, service = self._open[tag], self._service(self._models[tag])
        while True:
            taken = {other["id"] for other in self._open.values() if other["id"] is not None}
            name = await service.find(tag, batch["count"], batch["began"], taken)
            if name:
                self._set(tag, self._open[tag] | {"id": name})
                return True
            if name is None and time.monotonic() - since > SETTLED_S:
                return False
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE_S, 1.5 * pause)

    def _left(self, tag: str) -> dict[str, BatchCall]:
        """Return the calls of a batch that have no answer, by the requests' numbers."""
        rows = self._store.query(UNANSWERED, tag)
        return {f"{tag}-{number}": BatchCall(*call) for number, *call in rows}

    async def _fetch(self, tag: str, service: BatchService) -> int:
        """Store the answers of a batch that has ended; what it lacks is requested again."""
        left = self._left(tag)
        came = 0
        for attempt in range(ROUNDS):
            try:
                async for number, answer in service.answers(self._open[tag]["id"]):
                    call = left.get(number)
                    if call is None:
                        continue
                    if isinstance(answer, Completion):
                        self._save(call, answer, self._open[tag]["model"])
                        came += 1
                    else:
                        came += self._note(tag, call, answer, service)
                    del left[number]
                break
            except FaultError as error:
                if not error.fault.kind.retryable or attempt == ROUNDS - 1:
                    raise
            await asyncio.sleep(min(LONGEST_PAUSE_S, 2.0**attempt * FIRST_PAUSE_S))
        missing = Fault(FaultKind.TRANSIENT, "the batch has no answer to this request")
        for call in left.values():
            self._note(tag, call, missing, service)
        await self._drop(tag)
        return came

    def _save(self, call: BatchCall, completion: Completion, requested: str) -> None:
        model = completion.model or requested
        completion = completion.model_copy(update={"model": model})
        usage = completion.usage if completion.counted else None
        record = call.billed(requested, model, usage)
        self._store.add_call(call.key, completion.model_dump_json(exclude_defaults=True), record)
        self._store.change(ANSWERED, [(call.key,)])
        self._store.flush_if_due()
        self._fresh.add(call.key)
        self._under_way.pop(call.key, None)

    def _note(self, tag: str, call: BatchCall, fault: Fault, service: BatchService) -> int:
        """Take note of a request without an answer; return 1 if it is not requested again."""
        self._rounds[call.key] += 1
        if fault.usage != Usage():
            requested = self._open[tag]["model"]
            self._store.add_usage(call.billed(requested, fault.model or requested, fault.usage))
            self._store.change(USED, [(call.key,)])  # committed together: it is billed once
        if service.adapt(fault):
            return 1
        if fault.kind.retryable and self._rounds[call.key] < ROUNDS:
            return 0
        error = service.failure(fault)
        if isinstance(error, StopRunError):
            self._refused = str(error)
            return 0
        self._failed[call.key] = error
        return 1

    async def _drop(self, tag: str) -> None:
        """Close a batch; what it has not answered may be requested again."""
        self._store.change("DELETE FROM batch_requests WHERE tag = ? AND answered = 0", [(tag,)])
        self._under_way = {key: of for key, of in self._under_way.items() if of != tag}
        del self._open[tag]
        self._store.set_meta(OPEN, self._open)
        self._store.flush()

    def _set(self, tag: str, batch: dict[str, Any]) -> None:
        self._open[tag] = batch
        self._store.set_meta(OPEN, self._open)
        self._store.flush()

    async def close(self) -> None:
        """Close the connections, and drop what was not submitted."""
        for spool in self._spools.values():
            spool.file.close()
        await asyncio.gather(*(service.close() for service in self._services.values()))


def _stopping(error: HeedfulError) -> StopRunError:
    """Return an error that stops the run, whatever kind of error it was."""
    if isinstance(error, StopRunError):
        return error
    return StopRunError(error.what, where=error.where, hint=error.hint)
