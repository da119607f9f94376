"""Watching processes and all they start: time, output, memory, processes and files.

Limits that a process sets for itself (rlimits) hold for each process alone. Their sum is measured
from outside, fifty times a second, and ends them all.
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
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Limit = Literal["time", "memory", "processes", "output", "files"]

LOOK_SECONDS = 0.02
"""Seconds between counts of the processes."""

SIGNALLED = 128
"""Offset that shells add to a signal's number to make an exit code."""

GONE_SECONDS = 5.0
"""Seconds that killed processes have to end before they are left to the system."""

CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Resource limits of one program, with all the processes that it starts."""

    seconds: float = 10.0
    memory_bytes: int = 1 << 30
    processes: int = 32
    output_bytes: int = 1 << 18
    message_bytes: int = 1 << 25
    file_bytes: int = 1 << 24
    files: int = 1 << 12


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """Outcome of running a program."""

    exit_code: int | None  # 128 and the signal's number; None: killed at a limit
    stdout: str
    stderr: str
    limit: Limit | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Launch:
    """How a program is started."""

    command: Sequence[str]
    feed: bytes
    kill: Callable[[], None] = lambda: None
    user: int | None = None
    cwd: str = "/"
    descriptors: Sequence[int] = ()
    folder: str | None = None


class _Process:
    """A process that is watched."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.popen = subprocess.Popen(  # noqa: S603 - running what it is given is the job of this
            launch.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            cwd=launch.cwd,
            start_new_session=True,
            pass_fds=tuple(launch.descriptors),
            user=launch.user,
            group=launch.user,
            extra_groups=None if launch.user is None else (),
        )
        self.stdin, self.stdout, self.stderr = map(
            _pipe, (self.popen.stdin, self.popen.stdout, self.popen.stderr)
        )
        self.unread = bytearray(launch.feed)
        self.written: dict[IO[bytes], bytearray] = {
            self.stdout: bytearray(),
            self.stderr: bytearray(),
        }
        self.sent = 0
        self.limit: Limit | None = None

    def writes_too_much(self, limits: ResourceLimits) -> bool:
        written = max(map(len, self.written.values()))
        return self.sent > limits.message_bytes or written > limits.output_bytes

    def end(self) -> None:
        """Kill it with all it started, and close its pipes."""
        if self.limit is not None or self.popen.poll() is None:
            self.launch.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.popen.pid, signal.SIGKILL)  # also what a finished program left
            else:  # Windows has no groups of processes
                self.popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(GONE_SECONDS)
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                pipe.close()

    def outcome(self, limits: ResourceLimits, seconds: float) -> ProgramOutcome:
        code = self.popen.returncode
        if code is not None and code < 0:
            code = SIGNALLED - code
        stdout, stderr = (
            bytes(text[: limits.output_bytes]).decode(errors="replace")
            for text in self.written.values()
        )
        return ProgramOutcome(None if self.limit else code, stdout, stderr, self.limit, seconds)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - all three are requested
    return pipe


def supervise(launches: Sequence[Launch], limits: ResourceLimits) -> list[ProgramOutcome]:
    """Run a program, or two that each read what the other writes on standard output.

    They are killed, with all they started, at the first limit that one hits, and when the first
    ends.
    """
    started = time.monotonic()
    processes: list[_Process] = []
    try:
        for launch in launches:
            processes.append(_Process(launch))  # noqa: PERF401 - those that started must end
        _watch(processes, limits, started)
    finally:
        for process in processes:
            process.end()
    seconds = time.monotonic() - started
    return [process.outcome(limits, seconds) for process in processes]


def _watch(processes: Sequence[_Process], limits: ResourceLimits, started: float) -> None:
    """Feed and read processes until the first ends or one hits a limit."""
    looked = 0.0
    with selectors.DefaultSelector() as selector:
        for process in processes:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, process)
            selector.register(process.stdout, selectors.EVENT_READ, process)
            selector.register(process.stderr, selectors.EVENT_READ, process)
        while True:
            if time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                for process in processes:
                    process.limit = _over(process, limits, looked - started)
            # Before reading, so that last words are read.
            ended = [process for process in processes if process.popen.poll() is not None]
            heard = _transfer(selector, processes)
            for process in processes:
                if process.writes_too_much(limits):
                    process.limit = "output"
            quiet = [process for process in ended if process not in heard]
            if processes[0] in quiet or any(process.limit for process in processes):
                return
            if quiet and not processes[0].unread:  # nobody will answer the first any more
                _close(selector, processes[0].stdin)


def _transfer(selector: selectors.BaseSelector, processes: Sequence[_Process]) -> list[_Process]:
    """Write and read what the pipes take and hold now; return the processes that wrote."""
    heard = []
    for key, _ in selector.select(LOOK_SECONDS):
        process: _Process = key.data
        if key.fileobj is process.stdin:
            _write(selector, process, last=len(processes) == 1)
            continue
        chunk = os.read(key.fd, CHUNK_BYTES)
        if not chunk:
            selector.unregister(key.fileobj)
            continue
        heard.append(process)
        if len(processes) > 1 and key.fileobj is process.stdout:
            reader = next(other for other in processes if other is not process)
            process.sent += len(chunk)
            reader.unread += chunk
            if not reader.stdin.closed and reader.stdin not in selector.get_map():
                selector.register(reader.stdin, selectors.EVENT_WRITE, reader)
        else:
            process.written[
                process.stdout if key.fileobj is process.stdout else process.stderr
            ] += chunk
    return heard


def _write(selector: selectors.BaseSelector, process: _Process, *, last: bool) -> None:
    """Write what a process's input takes; close it after the last word."""
    try:
        del process.unread[: os.write(process.stdin.fileno(), process.unread[:CHUNK_BYTES])]
    except BlockingIOError:
        return
    except OSError:  # nobody reads any more
        process.unread.clear()
        last = True
    if last and not process.unread:
        _close(selector, process.stdin)
    elif not process.unread:
        selector.unregister(process.stdin)


def _close(selector: selectors.BaseSelector, pipe: IO[bytes]) -> None:
    if not pipe.closed:
        if pipe in selector.get_map():
            selector.unregister(pipe)
        pipe.close()


def _over(process: _Process, limits: ResourceLimits, seconds: float) -> Limit | None:
    """Count what a process and its descendants take; without ``/proc``, only time."""
    tasks = memory = 0
    folder = process.launch.folder
    left = [process.popen.pid]
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
        facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        tasks += len(threads)
        memory += sum(int(facts[name].split()[0]) << 10 for name in _MEMORY if name in facts)
        inside = len(facts.get("NSpid", "").split()) > 1
        if inside and folder and _files_in(Path(f"/proc/{pid}/root"), folder) > limits.files:
            return "files"
        if tasks >= limits.processes:
            return "processes"
    if memory > limits.memory_bytes:
        return "memory"
    return "time" if seconds > limits.seconds else None


_MEMORY = ("RssAnon", "RssShmem")


def _files_in(root: Path, folder: str) -> int:
    """Count the files of a folder's file system; 0 before a process has a root of its own."""
    try:
        if root.samefile("/"):
            return 0
        system = os.statvfs(f"{root}{folder}")
    except OSError:
        return 0
    return system.f_files - system.f_ffree
