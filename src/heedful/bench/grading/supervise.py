"""Watching processes and all they start: time, output, memory, processes and files.

Limits that a process sets for itself (rlimits) hold for each process alone. Their sum is measured
from outside, fifty times a second, and ends them all.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
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
    """A process that is watched, with the threads that feed and read it."""

    def __init__(self, launch: Launch, limits: ResourceLimits) -> None:
        self.launch = launch
        self._limits = limits
        self.limit: Limit | None = None
        self._written = {"stdout": bytearray(), "stderr": bytearray()}
        self._fed = threading.Event()
        self._threads: list[threading.Thread] = []
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

    def talk(self, peer: _Process | None) -> None:
        """Feed and read it; what it writes on standard output goes to its peer."""
        works = [
            lambda: self._feed(last=peer is None),
            lambda: self._read("stdout") if peer is None else self._relay(peer),
            lambda: self._read("stderr"),
        ]
        for work in works:
            self._threads.append(threading.Thread(target=work, daemon=True))
            self._threads[-1].start()

    def _feed(self, *, last: bool) -> None:
        self._write(self.launch.feed)
        self._fed.set()
        if last:
            _pipe(self.popen.stdin).close()

    def _write(self, text: bytes) -> None:
        left = memoryview(text)
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more
            while left:
                left = left[_pipe(self.popen.stdin).write(left) :]

    def _read(self, name: Literal["stdout", "stderr"]) -> None:
        pipe = _pipe(getattr(self.popen, name))
        while chunk := pipe.read(CHUNK_BYTES):
            self._written[name] += chunk
            if len(self._written[name]) > self._limits.output_bytes:
                self.limit = "output"
                return

    def _relay(self, peer: _Process) -> None:
        peer._fed.wait()  # its program comes first
        sent = 0
        while chunk := _pipe(self.popen.stdout).read(CHUNK_BYTES):
            sent += len(chunk)
            if sent > self._limits.message_bytes:
                self.limit = "output"
                return
            peer._write(chunk)
        with contextlib.suppress(OSError):
            _pipe(peer.popen.stdin).close()  # nobody will answer it any more

    def end(self) -> None:
        """Kill it with all it started."""
        if self.limit is not None or self.popen.poll() is None:
            self.launch.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.popen.pid, signal.SIGKILL)  # also what a finished program left
            else:  # Windows has no groups of processes
                self.popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(GONE_SECONDS)

    def outcome(self, started: float) -> ProgramOutcome:
        """Read its last words, and say how it ended."""
        for thread in self._threads:
            thread.join(GONE_SECONDS)
        if not any(thread.is_alive() for thread in self._threads):
            for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
                with contextlib.suppress(OSError):
                    _pipe(pipe).close()
        code = self.popen.returncode
        if code is not None and code < 0:
            code = SIGNALLED - code
        stdout, stderr = (
            bytes(text[: self._limits.output_bytes]).decode(errors="replace")
            for text in self._written.values()
        )
        seconds = time.monotonic() - started
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
            processes.append(_Process(launch, limits))  # noqa: PERF401 - those that started must end
        for process in processes:
            process.talk(next((other for other in processes if other is not process), None))
        while processes[0].popen.poll() is None and not any(each.limit for each in processes):
            with contextlib.suppress(subprocess.TimeoutExpired):
                processes[0].popen.wait(LOOK_SECONDS)
            for process in processes:
                over = _over(process, limits, time.monotonic() - started)
                process.limit = process.limit or over
    finally:
        for process in processes:
            process.end()
    return [process.outcome(started) for process in processes]


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
