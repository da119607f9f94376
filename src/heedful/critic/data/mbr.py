"""The text that is most like the others (minimum Bayes risk)."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

SIMILARITIES = ("ratio", "quick_ratio")
"""Methods of difflib's ``SequenceMatcher``."""


def refuse_unknown(similarity: str) -> None:
    """Refuse a similarity that there is none of."""
    if similarity not in SIMILARITIES:
        hint = f"use one of {', '.join(SIMILARITIES)}"
        raise UsageError(f"no such similarity: {similarity!r}", hint=hint)


def pick(texts: Sequence[str], similarity: str = "ratio") -> int:
    """Choose the text with the highest mean similarity to all texts, itself included.

    As in IF-Critic's public pair code, which compares ``SequenceMatcher(None, text, other)``; its
    paper (arXiv 2511.01014) calls it minimum Bayes risk. ``ratio`` is not symmetric, so the order
    counts.
    """
    refuse_unknown(similarity)
    if not texts:
        raise UsageError("there is no text to choose", hint="give at least one")
    scores = [0.0] * len(texts)
    matcher = SequenceMatcher(None)
    for other in texts:
        matcher.set_seq2(other)  # what difflib keeps of the second text serves all first ones
        for at, text in enumerate(texts):
            if text == other:
                scores[at] += 1.0
            else:
                matcher.set_seq1(text)
                scores[at] += getattr(matcher, similarity)()
    return scores.index(max(scores))


ALONE_S = 2.0
"""Seconds that choices may take in this process before others are started."""

LINE_BYTES = 2**26
"""The longest line that a worker may write."""


class ChoosingPool:
    """Chooses in this process at first, and in one for each core once that took a while."""

    def __init__(self, workers: int | None = None) -> None:
        """Start nothing yet."""
        self.workers = workers or available_cores()  # how many processes; none are started for 1
        self._spent = 0.0
        self._processes: list[Process] = []
        self._idle: asyncio.Queue[Process] | None = None

    async def pick(self, texts: Sequence[str], similarity: str) -> int:
        """Choose; see :func:`pick`."""
        if self.workers > 1 and len(texts) > 1 and self._spent >= ALONE_S:
            idle = self._idle or await self._start()
            worker = await idle.get()
            try:
                return await _asked(worker, texts, similarity)
            except (OSError, ValueError) as error:
                logger.warning("a process that chooses explanations ended: %s", error)
                self.workers = 1  # the others would go the same way
            finally:
                idle.put_nowait(worker)
        begun = time.perf_counter()
        chosen = pick(texts, similarity)
        self._spent += time.perf_counter() - begun
        return chosen

    async def _start(self) -> asyncio.Queue[Process]:
        """Start the processes."""
        idle: asyncio.Queue[Process] = asyncio.Queue()
        self._idle = idle
        for _ in range(self.workers):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", f"from {__name__} import main; main()"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE_BYTES,
            )
            self._processes.append(process)
            idle.put_nowait(process)
        logger.info("explanations are chosen in %d processes", self.workers)
        return idle

    async def close(self) -> None:
        """End the processes; later choices are made in this process."""
        processes, self._processes, self._idle = self._processes, [], None
        self._spent = 0.0
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def _asked(worker: Process, texts: Sequence[str], similarity: str) -> int:
    """Have a worker choose."""
    assert worker.stdin is not None  # noqa: S101 - it is a pipe
    assert worker.stdout is not None  # noqa: S101 - likewise
    worker.stdin.write(json.dumps([list(texts), similarity]).encode() + b"\n")
    await worker.stdin.drain()
    return int(await worker.stdout.readline())


def main() -> None:
    """Answer requests until the input ends."""
    with suppress(KeyboardInterrupt):  # Ctrl-C goes to all processes of a terminal
        for line in sys.stdin.buffer:
            sys.stdout.write(f"{pick(*json.loads(line))}\n")
            sys.stdout.flush()
