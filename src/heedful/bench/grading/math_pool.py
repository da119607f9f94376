"""Comparing answers in processes that can be ended.

sympy may not come back from what a model has written, and holds the interpreter while it does not.
So comparisons run in worker processes: one that takes too long is tried once more, its worker is
killed and replaced, and the others go on. Workers are started when they are first needed and kept,
for importing sympy takes a second. A worker is this module as a program: one JSON request a line
in, one JSON verdict a line out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
import time
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

from heedful.bench.grading.equality import EqualityResult, compare, compare_quickly
from heedful.core.errors import HeedfulError, UsageError
from heedful.core.machine import available_cores

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from types import TracebackType

START_SECONDS = 120.0
"""Seconds for a worker to start on a busy machine; not part of any comparison's time."""

READY = "ready"

MEMORY_BYTES = 4 << 30
"""Memory of one comparison; more is an error of that comparison, not of the machine."""

STARTS = 2
"""Attempts at a pair: on a busy machine, one that ran out of time may be decided at the second."""


class MathPool:
    """Compares answers, several at a time, each within a time limit.

    Use it as an async context manager; it must be used from the event loop it was entered in.
    What needs no algebra (the same text, two numbers) is decided at once, without a worker.
    """

    def __init__(self, workers: int | None = None, *, timeout_s: float = 5.0) -> None:
        """Describe the pool; nothing is started before it is needed."""
        if workers is not None and workers < 1:
            raise UsageError(f"the pool has {workers} workers", hint="give at least 1")
        if not timeout_s > 0:
            raise UsageError(f"the time-out is {timeout_s:g} s", hint="give more than 0")
        self.workers = workers or available_cores()
        self.timeout_s = timeout_s
        self.killed = 0
        self._slots = asyncio.Semaphore(self.workers)
        self._idle: list[Process] = []
        self._known: dict[tuple[str, str], EqualityResult] = {}

    async def __aenter__(self) -> Self:
        """Return the pool."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers."""
        idle, self._idle = self._idle, []
        for worker in idle:
            await _end(worker)

    async def compare(self, gold: str, answer: str) -> EqualityResult:
        """Compare an answer with the gold, as :func:`heedful.bench.grading.equality.compare`.

        A comparison that takes too long, or that ends its worker, is not decided, and says so.

        Raises:
            UsageError: the extra ``reasoning`` is not installed.
            HeedfulError: no worker can be started.
        """
        quick = compare_quickly(gold, answer)
        if quick is not None:
            return quick
        if (gold, answer) not in self._known:
            async with self._slots:
                self._known[gold, answer] = await self._ask(json.dumps([gold, answer]))
        return self._known[gold, answer]

    async def _ask(self, request: str) -> EqualityResult:
        """Have a worker compare; no matter what becomes of it, the next finds a sound one."""
        ended = "comparing it ended the worker process"
        for _ in range(STARTS):
            worker = self._idle.pop() if self._idle else await _start()
            try:
                reply = await asyncio.wait_for(_exchange(worker, request), self.timeout_s)
            except TimeoutError:
                ended, reply = f"comparing it took more than {self.timeout_s:g} s", b""
            except BaseException:
                await _end(worker)
                raise
            if reply:
                self._idle.append(worker)
                return EqualityResult(**json.loads(reply))
            await _end(worker)
            self.killed += 1
        return EqualityResult(None, "symbolic", ended)


async def _start() -> Process:
    """Start a worker and wait until it is ready."""
    if find_spec("math_verify") is None:
        raise UsageError(
            "comparing mathematical answers needs math-verify, which is not installed",
            hint="pip install 'heedful[reasoning]'",
        )
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "heedful.bench.grading.math_pool",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the command, which then ends its workers
    )
    try:
        line = await asyncio.wait_for(_line(worker), START_SECONDS)
    except BaseException:
        await _end(worker)
        raise
    if line.strip() != READY.encode():
        await _end(worker)
        raise HeedfulError(
            "the process that compares answers does not start",
            hint=f"see what {sys.executable} -m heedful.bench.grading.math_pool says",
        )
    return worker


async def _exchange(worker: Process, request: str) -> bytes:
    """Send a request and return the reply; nothing if the worker has ended."""
    assert worker.stdin is not None  # noqa: S101 - for the type checker
    with contextlib.suppress(ConnectionError):
        worker.stdin.write(request.encode() + b"\n")
        await worker.stdin.drain()
    return await _line(worker)


async def _line(worker: Process) -> bytes:
    assert worker.stdout is not None  # noqa: S101 - for the type checker
    return await worker.stdout.readline()


async def _end(worker: Process) -> None:
    """Kill a worker and see it gone."""
    with contextlib.suppress(ProcessLookupError):
        worker.kill()
    await asyncio.shield(worker.wait())


def main() -> None:
    """Answer requests until the input ends."""
    _limit_memory()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    logging.disable(logging.CRITICAL)  # the libraries warn about what the pool takes care of
    import math_verify  # noqa: F401 - so that no request pays for the import
    from latex2sympy2_extended import latex2sympy

    latex2sympy("x+1")  # builds the parser's tables
    replies = sys.stdout
    sys.stdout = sys.stderr  # what a library prints isn't a reply
    print(READY, file=replies, flush=True)
    for line in sys.stdin:
        gold, answer = json.loads(line)
        try:
            result = compare(gold, answer)
        except MemoryError:
            result = EqualityResult(None, "symbolic", "comparing it takes too much memory")
        except Exception as error:  # noqa: BLE001 - one pair's defect must not end the worker
            result = EqualityResult(None, "symbolic", f"comparing it fails: {type(error).__name__}")
        print(json.dumps(asdict(result)), file=replies, flush=True)


def _end_with_parent(parent: int) -> None:
    """Leave when the pool was killed: a comparison that never ends would not see its input end."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(ValueError, OSError):  # macOS refuses to lower it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    main()
