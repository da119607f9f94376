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
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from heedful.core.errors import HeedfulError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.text import amount, dollars
from heedful.engine.budget import batch_cost
from heedful.engine.cost import CostSummary
from heedful.engine.postponed import OPEN, Postponed
from heedful.engine.records import UsageRecord
from heedful.engine.runner import together
from heedful.models.base import Completion
from heedful.models.batches import service_of
from heedful.models.faults import Fault, FaultError, FaultKind
from heedful.models.pricing import PRICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO, BinaryIO

    from heedful.core.nouns import Message
    from heedful.engine.purpose import Purpose
    from heedful.engine.store import Store
    from heedful.models.base import Model, Sampling
    from heedful.models.batches.base import BatchService
    from heedful.models.pricing import Price

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 60.0
"""Seconds between two looks at a batch; they grow by half each time."""

SETTLED_S = 5.0
"""Seconds after which a batch that the provider does not list was not submitted."""

ROUNDS = 6
"""Batches in which a request may come to nothing before its call fails."""

INSERT = "INSERT OR REPLACE INTO batch_requests VALUES (?, ?, ?, ?, ?, 0)"
ANSWERED = "UPDATE batch_requests SET answered = 1 WHERE key = ?"
USED = "DELETE FROM batch_requests WHERE key = ?"


class _BatchCall(NamedTuple):
    """One request of a batch: the call's key, and who made it."""

    key: bytes
    caller: str
    reask: int


@dataclass
class _Spool:
    """A batch that is being filled."""

    model: Model
    service: BatchService
    tag: str = field(default_factory=lambda: secrets.token_hex(8))
    file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    calls: list[_BatchCall] = field(default_factory=list)
    size: int = 0
    dollars: float = 0.0


class BatchQueue:
    """The batches of a run: those being filled, and those under way."""

    def __init__(
        self, store: Store, max_cost: float | None = None, prices: Mapping[str, Price] | None = None
    ) -> None:
        """Take up what earlier sessions left.

        Args:
            store: the run's.
            max_cost: dollars that the run may spend.
            prices: dollars by model; heedful's own table by default.
        """
        self._store = store
        self._max_cost = max_cost
        self._prices = PRICES if prices is None else prices
        self._open: dict[str, dict[str, Any]] = dict(store.meta(OPEN) or {})
        self._under_way: dict[bytes, str] = {}
        self._fresh: set[bytes] = set()
        for key, tag, answered in store.query("SELECT key, tag, answered FROM batch_requests"):
            if answered:
                self._fresh.add(key)
            elif tag in self._open:
                self._under_way[key] = tag
        self._spools: dict[str, _Spool] = {}
        self._models: dict[str, Model] = {}  # by tag of an open batch
        self._services: dict[str, BatchService] = {}  # by name of a model
        self._failed: dict[bytes, HeedfulError] = {}
        self._rounds: Counter[bytes] = Counter()
        self._refused = ""

    def used(self, key: bytes) -> bool:
        """Tell whether an answer is used for the first time, so that its row has caused it."""
        if key not in self._fresh:
            return False
        self._fresh.discard(key)
        self._store.change(USED, [(key,)])  # committed with the row's output
        return True

    async def postpone(
        self,
        key: bytes,
        model: Model,
        messages: Sequence[Message],
        sampling: Sampling,
        sample: int,
        purpose: Purpose,
    ) -> NoReturn:
        """Put a call into a batch, unless it is in one.

        Raises:
            Postponed: the row is to be worked on when the answer is there.
            ModelError: there will be no answer.
            UsageError: the model has no batch endpoint.
        """
        if key in self._failed:
            raise self._failed[key]
        try:
            service = self._service(model)
            while (tag := self._under_way.get(key)) is None:
                spool = self._spools.get(model.name)
                if spool is None:
                    spool = self._spools[model.name] = _Spool(model, service)
                number = f"{spool.tag}-{len(spool.calls)}"
                line = service.request(number, messages, sampling, sample) + b"\n"
                full = len(spool.calls) >= service.requests or spool.size + len(line) > service.size
                if spool.calls and full:
                    del self._spools[model.name]
                    await self._submit(spool)
                    continue
                if self._max_cost is not None:
                    spool.dollars += batch_cost(model, messages, sampling, self._prices)
                spool.file.write(line)
                spool.size += len(line)
                spool.calls.append(_BatchCall(key, purpose.caller, int(purpose.reask)))
                self._under_way[key] = spool.tag
        except UsageError as error:
            raise _stopping(error) from None
        self._models[tag] = model
        raise Postponed

    def _service(self, model: Model) -> BatchService:
        service = self._services.get(model.name)
        if service is None:
            service = self._services[model.name] = service_of(model)
        return service

    async def exchange(self, tell: Callable[[str], None]) -> None:
        """Submit what was put into batches, wait until all have ended, and store the answers.

        Args:
            tell: is called with how far they are.

        Raises:
            StopRunError: no batch is accepted, or the next may cost more than is left.
        """
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
        tell("")
        if not any(stored) and self._refused != before:
            raise StopRunError(f"the batch was refused: {self._refused}")

    async def _submit(self, spool: _Spool) -> None:
        """Submit a batch; what is in it is in the store before."""
        if not spool.calls:
            return
        self._refuse_too_dear(spool)
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

    async def _sent(self, spool: _Spool) -> str:
        """Submit a batch, whatever it takes; return its name at the provider."""
        for attempt in range(ROUNDS):
            try:
                with _again(spool.file) as requests:
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

    def _refuse_too_dear(self, spool: _Spool) -> None:
        """Refuse to submit what may cost more than is left.

        Raises:
            StopRunError: it may.
        """
        if self._max_cost is None:
            return
        spent = CostSummary(self._store.usage_records(), self._prices).result()["dollars"] or 0.0
        promised = sum(batch["dollars"] for batch in self._open.values())
        if spent + promised + spool.dollars > self._max_cost:
            raise StopRunError(
                f"stopped before --max-cost: {dollars(spent + promised)} of ${self._max_cost:g} is "
                f"spent or submitted, and the next batch may cost {dollars(spool.dollars)}",
                hint="re-run the same command with a higher --max-cost to resume",
            )

    async def _find(self, tag: str) -> str | None:
        """Look at the provider for a batch that may have been submitted."""
        batch = self._open[tag]
        taken = {other["id"] for other in self._open.values() if other["id"] is not None}
        service = self._service(self._models[tag])
        return await service.find(tag, batch["count"], batch["began"], taken)

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
            raise _stopping(service.failure(error.fault)) from None
        self._refused = status.refused
        await self._drop(tag)
        return 0

    async def _was_submitted(self, tag: str) -> bool:
        pause = FIRST_PAUSE_S
        while True:
            name = await self._find(tag)
            if name:
                self._set(tag, self._open[tag] | {"id": name})
                return True
            settled = time.time() - self._open[tag]["began"] > SETTLED_S
            if name is None and settled:
                return False
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE_S, 1.5 * pause) if settled else pause

    async def _fetch(self, tag: str, service: BatchService) -> int:
        """Store the answers of a batch that has ended; what it lacks is requested again."""
        query = (
            "SELECT number, key, caller, reask FROM batch_requests WHERE tag = ? AND answered = 0"
        )
        left = {
            f"{tag}-{number}": _BatchCall(*call) for number, *call in self._store.query(query, tag)
        }
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
                        came += self._note(call, answer, service)
                    del left[number]
                break
            except FaultError as error:
                if not error.fault.kind.retryable or attempt == ROUNDS - 1:
                    raise
            await asyncio.sleep(min(LONGEST_PAUSE_S, 2.0**attempt * FIRST_PAUSE_S))
        missing = Fault(FaultKind.TRANSIENT, "the batch has no answer to this request")
        for call in left.values():
            self._note(call, missing, service)
        await self._drop(tag)
        return came

    def _save(self, call: _BatchCall, completion: Completion, requested: str) -> None:
        model = completion.model or requested
        completion = completion.model_copy(update={"model": model})
        counted, usage = completion.counted, completion.usage
        record = UsageRecord(
            call.caller,
            requested,
            model,
            tier="batch",
            reasks=call.reask,
            uncounted=int(not counted),
            prompt_tokens=usage.prompt_tokens if counted else 0,
            cached_tokens=usage.cached_tokens if counted else 0,
            completion_tokens=usage.completion_tokens if counted else 0,
        )
        self._store.add_call(call.key, completion.model_dump_json(exclude_defaults=True), record)
        self._store.change(ANSWERED, [(call.key,)])
        self._store.flush_if_due()
        self._fresh.add(call.key)
        self._under_way.pop(call.key, None)

    def _note(self, call: _BatchCall, fault: Fault, service: BatchService) -> int:
        """Take note of a request without an answer; return 1 if it is not requested again."""
        self._rounds[call.key] += 1
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


@contextmanager
def _again(file: IO[bytes]) -> Iterator[BinaryIO]:
    """Open a file from its beginning; whoever sends it may close what this gives."""
    file.flush()
    with os.fdopen(os.dup(file.fileno()), "rb") as copy:
        copy.seek(0)
        yield copy


def _stopping(error: HeedfulError) -> StopRunError:
    """Return an error that stops the run, whatever kind of error it was."""
    if isinstance(error, StopRunError):
        return error
    return StopRunError(error.what, where=error.where, hint=error.hint)
