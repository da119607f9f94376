"""Watching one process and all it starts: time, output, memory and processes in all.

Limits that a process sets for itself (rlimits) hold for each process alone; what they take together
is seen from outside, fifty times a second, and ends them all.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Limit = Literal["time", "memory", "processes", "output"]

LOOK_SECONDS = 0.02
"""Seconds between counts of the processes."""

SIGNALLED = 128
"""Offset that shells add to a signal's number to make an exit code."""

GONE_SECONDS = 5.0
"""Seconds that killed processes have to end before they are left to the system."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Resource limits of one program, with all the processes that it starts.

    Attributes:
        seconds: from start to end; the processor's time of each process is bounded by it too.
        memory_bytes: memory in all, files in the temporary folder not included.
        processes: processes and threads in all.
        output_bytes: of standard output, and of standard error.
        file_bytes: files in the temporary folder, which is all that can be written.
    """

    seconds: float = 10.0
    memory_bytes: int = 1 << 30
    processes: int = 32
    output_bytes: int = 1 << 18
    file_bytes: int = 1 << 24


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """Outcome of running a program.

    Attributes:
        exit_code: its own, or 128 and the signal's number; ``None`` where it was killed.
        stdout: what it wrote, up to the limit.
        stderr: the same.
        limit: the limit that it hit and was killed for.
        seconds: how long it ran.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    limit: Limit | None
    seconds: float


def supervise(
    command: Sequence[str],
    feed: str,
    limits: ResourceLimits,
    *,
    kill: Callable[[], None] = lambda: None,
    user: int | None = None,
    cwd: str = "/",
    descriptors: Sequence[int] = (),
) -> ProgramOutcome:
    """Run a command and kill it, with all it started, at the first limit that is hit.

    Args:
        command: the program and its arguments; its environment holds a ``PATH`` and no more.
        feed: what it reads on standard input.
        limits: what it may take.
        kill: what else ends it, where killing its process does not.
        user: the user id it runs as, where not ours.
        cwd: the folder it starts in.
        descriptors: open files that it is given.
    """
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - running what it is given is the job of this
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
        cwd=cwd,
        start_new_session=True,
        pass_fds=tuple(descriptors),
        user=user,
        group=user,
        extra_groups=None if user is None else (),
    )
    written = {"stdout": bytearray(), "stderr": bytearray()}
    limit: Limit | None = None
    try:
        limit = _watch(process, feed.encode(), written, limits, started)
    finally:
        if limit is not None or process.poll() is None:
            kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # also what a finished program left behind
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GONE_SECONDS)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    code = process.returncode
    if code is not None and code < 0:
        code = SIGNALLED - code
    stdout, stderr = (
        bytes(text[: limits.output_bytes]).decode(errors="replace") for text in written.values()
    )
    seconds = time.monotonic() - started
    return ProgramOutcome(None if limit else code, stdout, stderr, limit, seconds)


def _watch(
    process: subprocess.Popen[bytes],
    feed: bytes,
    written: dict[str, bytearray],
    limits: ResourceLimits,
    started: float,
) -> Limit | None:
    """Feed and read a process until it ends or hits a limit."""
    looked = 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(_pipe(process.stdout), selectors.EVENT_READ, "stdout")
        selector.register(_pipe(process.stderr), selectors.EVENT_READ, "stderr")
        os.set_blocking(_pipe(process.stdin).fileno(), False)
        selector.register(_pipe(process.stdin), selectors.EVENT_WRITE, feed)
        while True:
            now = time.monotonic()
            if now - started > limits.seconds:
                return "time"
            if now - looked > LOOK_SECONDS:
                looked = now
                over = _over(process.pid, limits)
                if over is not None:
                    return over
            ended = process.poll() is not None  # before reading, so that its last words are read
            heard = _transfer(selector, written)
            if any(len(text) > limits.output_bytes for text in written.values()):
                return "output"
            if ended and not heard:
                return None


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - all three are asked for
    return pipe


def _transfer(selector: selectors.BaseSelector, written: dict[str, bytearray]) -> bool:
    """Write and read what the pipes take and hold now; return whether anything was read."""
    heard = False
    for key, _ in selector.select(LOOK_SECONDS):
        if isinstance(key.data, bytes):
            left = _fed(key.fd, key.data)
            selector.modify(key.fileobj, selectors.EVENT_WRITE, left)
            if not left:
                selector.unregister(key.fileobj)
                cast("IO[bytes]", key.fileobj).close()
            continue
        chunk = os.read(key.fd, 1 << 16)
        written[key.data] += chunk
        heard = heard or bool(chunk)
        if not chunk:
            selector.unregister(key.fileobj)
    return heard


def _fed(descriptor: int, feed: bytes) -> bytes:
    """Write what the pipe takes; return what is left, which is nothing once nobody reads."""
    try:
        return feed[os.write(descriptor, feed[: 1 << 16]) :]
    except BlockingIOError:
        return feed
    except OSError:
        return b""


def _over(root: int, limits: ResourceLimits) -> Limit | None:
    """Count what a process and its descendants take; without ``/proc``, nothing."""
    tasks = memory = 0
    left = [root]
    while left:
        pid = left.pop()
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names are all it takes
            for thread in threads:
                children = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                left += map(int, children.split())
        except OSError:  # it has ended, or this isn't Linux
            continue
        tasks += len(threads)
        memory += sum(
            int(line.split()[1]) << 10
            for line in status.splitlines()
            if line.startswith(("RssAnon:", "RssShmem:"))
        )
        if tasks >= limits.processes:
            return "processes"
    return "memory" if memory > limits.memory_bytes else None
