"""Running programs that a model wrote: no network, no files but its own, bounded in all it takes.

Bubblewrap (Linux, no privileges needed) is taken first, Docker second. Limits alone aren't a
sandbox: without either, programs run only if that is requested by name.

What this does not protect from: faults in the kernel, which every program here talks to.

Limits that a process sets for itself (rlimits) hold for each process alone. The sum over all that
a program starts is measured from outside, fifty times a second, and ends them all.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

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


SandboxKind = Literal["auto", "bubblewrap", "docker", "unsafe"]

IMAGE = "python:3.12-slim"
NOBODY = 65534
PROBE_SECONDS = 30.0
ANSWER = "the sandbox works"

INSTALL = (
    "install bubblewrap 0.8 or newer (apt install bubblewrap, dnf install bubblewrap) or Docker; "
    "to run programs of models unprotected, ask for the sandbox 'unsafe'"
)

_START = """
import json, os, resource
def read(size):
    data = b""
    while len(data) < size:
        chunk = os.read(0, size - len(data))
        if not chunk:
            raise SystemExit("no program was sent")
        data += chunk
    return data
head = b""
while not head.endswith(b"\\n"):
    head += read(1)
job = json.loads(read(int(head)))
for name, value in job["limits"].items():
    limit = getattr(resource, "RLIMIT_" + name, None)
    if limit is not None:
        resource.setrlimit(limit, (value, value))
exec(compile(job["program"], "<program>", "exec"), {"__name__": "__main__"})
"""
"""Code that starts in the sandbox: it reads a program, no byte more, and becomes it."""


class Sandbox(ABC):
    """Sandbox that runs Python programs in isolation; its name in results says what is missing."""

    name: str

    @abstractmethod
    def launch(self, program: str, limits: ResourceLimits) -> AbstractContextManager[Launch]:
        """Prepare to start a program."""

    def run(self, program: str, limits: ResourceLimits) -> ProgramOutcome:
        """Run a program; blocks until it has ended, at the latest at its time limit."""
        with self.launch(program, limits) as launch:
            return supervise([launch], limits)[0]

    def run_pair(self, first: str, second: str, limits: ResourceLimits) -> list[ProgramOutcome]:
        """Run two programs apart from each other, each of which reads what the other writes."""
        with self.launch(first, limits) as launch, self.launch(second, limits) as peer:
            return supervise([launch, peer], limits)


def open_sandbox(kind: SandboxKind = "auto") -> Sandbox:
    """Find a sandbox that works here; each is tried with a small program."""
    if kind == "unsafe":
        return Unsafe()
    candidates: dict[str, Sandbox] = {}
    if kind in {"auto", "bubblewrap"}:
        # As root, an unprivileged user is better: the system then also counts its processes. But
        # that user may not be able to read a Python that lies in root's home.
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            candidates["bubblewrap as nobody"] = Bubblewrap(user=NOBODY)
        candidates["bubblewrap"] = Bubblewrap()
    if kind in {"auto", "docker"}:
        candidates["docker"] = Docker()
    lacks = []
    for name, sandbox in candidates.items():
        problem = _tried(sandbox)
        if problem is None:
            return sandbox
        lacks.append(f"{name}: {problem}")
    raise UsageError(f"no sandbox to run programs in ({'; '.join(lacks)})", hint=INSTALL)


def _tried(sandbox: Sandbox) -> str | None:
    """Run a small program; return what is wrong, if anything is."""
    try:
        outcome = sandbox.run(f"print({ANSWER!r})", ResourceLimits(seconds=PROBE_SECONDS))
    except UsageError as error:
        return error.what
    except OSError as error:
        return f"it cannot be started: {error.strerror}"
    if outcome.stdout.strip() == ANSWER and outcome.exit_code == 0:
        return None
    said = outcome.stderr.strip().splitlines()
    return said[-1][:200] if said else f"it ends with {outcome.limit or outcome.exit_code}"


def _job(program: str, limits: ResourceLimits, *, address_space: bool = True) -> bytes:
    """Write the request that the program's process starts with, its length first."""
    rlimits = {
        "CORE": 0,
        "CPU": int(limits.seconds) + 1,
        "FSIZE": limits.file_bytes,
        "NOFILE": 128,
        "NPROC": limits.processes,
    }
    if address_space:
        rlimits["AS"] = limits.memory_bytes
    job = json.dumps({"program": program, "limits": rlimits}).encode()
    return b"%d\n%s" % (len(job), job)


def _python() -> Path:
    """Return the interpreter itself, not a virtual environment's link to it."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return Path(base).resolve()


class Bubblewrap(Sandbox):
    """A new world of namespaces: own users, processes, network (with nothing in it) and files.

    The program sees the system's programs and libraries, read-only, and an empty temporary folder
    of limited size in memory; no home, no project, no environment, no other process.
    """

    def __init__(self, user: int | None = None) -> None:
        """Take the number of the user that programs run as."""
        self.user = user
        self.name = "bubblewrap"
        if filter_program() is None:
            self.name += f" without a filter of system calls ({platform.machine()})"

    @contextmanager
    def launch(self, program: str, limits: ResourceLimits) -> Iterator[Launch]:
        """Prepare to start a program; see :class:`Sandbox`."""
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise UsageError("bwrap is not installed", hint=INSTALL)
        python = _python()
        command = [bwrap, *_WORLD, *_files(python.parent.parent)]
        command += ["--size", str(limits.file_bytes), "--tmpfs", _FOLDER]
        # What bubblewrap makes for itself is in memory, and must not be written to without end.
        command += ["--tmpfs", "/dev/shm", "--remount-ro", "/dev/shm"]  # noqa: S108
        # Root's number is root's in /proc/sys also from within another world.
        for folder in ("/proc", "/dev", "/"):
            command += ["--remount-ro", folder]
        with _filter() as arguments:
            command += [*arguments, "--chdir", _FOLDER, "--", str(python), "-I", "-c", _START]
            yield Launch(
                command,
                _job(program, limits),
                user=self.user,
                descriptors=[int(argument) for argument in arguments[1:]],
                folder=_FOLDER,
            )


_FOLDER = "/tmp"  # noqa: S108 - the sandbox's own
_WORLD = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",  # or a world within would have mounts, and memory, of its own
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--clearenv",
    "--setenv",
    "PATH",
    "/usr/local/bin:/usr/bin:/bin",
    "--setenv",
    "HOME",
    _FOLDER,
    "--setenv",
    "LANG",
    "C.UTF-8",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
)


@contextmanager
def _filter() -> Iterator[list[str]]:
    """Give the arguments that set the filter of system calls, while its file is open."""
    program = filter_program()
    if program is None:
        yield []
        return
    with tempfile.TemporaryFile() as file:
        file.write(program)
        file.seek(0)
        yield ["--seccomp", str(file.fileno())]


def _files(prefix: Path) -> list[str]:
    """Return the arguments that show the system's programs and libraries, read-only."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for folder in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")):
        if folder.is_symlink():
            arguments += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.exists():
            arguments += ["--ro-bind", str(folder), str(folder)]
    for file in ("/etc/ld.so.cache", "/etc/alternatives"):
        arguments += ["--ro-bind-try", file, file]
    if not prefix.is_relative_to("/usr"):
        arguments += ["--ro-bind", str(prefix), str(prefix)]
    return arguments


class Docker(Sandbox):
    """A container without network, read-only, as nobody; Docker's own limits hold."""

    name = "docker"

    @contextmanager
    def launch(self, program: str, limits: ResourceLimits) -> Iterator[Launch]:
        """Prepare to start a program; see :class:`Sandbox`."""
        docker = shutil.which("docker")
        if docker is None:
            raise UsageError("docker is not installed", hint=INSTALL)
        name = f"heedful-{uuid.uuid4().hex}"
        memory = str(limits.memory_bytes)
        folder = f"{_FOLDER}:size={limits.file_bytes},nr_inodes={limits.files}"
        command = [docker, "run", "--rm", "--interactive", "--pull", "never", "--name", name]
        command += ["--network", "none", "--read-only", "--user", f"{NOBODY}:{NOBODY}"]
        command += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "none"]
        command += ["--memory", memory, "--memory-swap", memory, "--cpus", "1"]
        command += ["--pids-limit", str(limits.processes), "--log-driver", "none"]
        command += ["--tmpfs", folder, "--workdir", _FOLDER]
        command += [IMAGE, "python", "-I", "-c", _START]

        def kill() -> None:
            # The client's end is not the container's.
            subprocess.run(  # noqa: S603 - our own container, by its name
                [docker, "kill", name], capture_output=True, check=False, timeout=PROBE_SECONDS
            )

        yield Launch(command, _job(program, limits, address_space=False), kill=kill)


class Unsafe(Sandbox):
    """No sandbox: a process of ours with limits. It can read, write and send what we can."""

    name = "unsafe"

    @contextmanager
    def launch(self, program: str, limits: ResourceLimits) -> Iterator[Launch]:
        """Prepare to start a program in a temporary folder, which is then deleted."""
        with tempfile.TemporaryDirectory() as folder:
            command = [str(_python()), "-I", "-c", _START]
            yield Launch(command, _job(program, limits), cwd=folder)


# A filter that refuses system calls a program has no need of, as Linux's BPF. It closes what
# namespaces and limits leave open: memory that no process shows (files in memory, System V
# segments, message queues), tracing, the kernel's key store, sockets other than local and IP ones,
# and the large and young interfaces that faults are found in.

_REFUSED: dict[str, tuple[int, int]] = {
    # The numbers of the calls that are refused, on x86-64 and on ARM.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
}
_SOCKETS: dict[str, tuple[int, int]] = {"socket": (41, 198), "socketpair": (53, 199)}
"""Calls whose first argument is the family of a socket."""

FAMILIES = {"AF_UNIX": 1, "AF_INET": 2}
"""Families of sockets that are allowed: others lead out of the network's namespace (AF_VSOCK), or
to interfaces of the kernel (netlink, packets, algorithms) that programs don't need."""

_ARCHITECTURES: dict[str, tuple[int, int]] = {
    # The audit number of the architecture, and its place in the tables above.
    "x86_64": (0xC000003E, 0),
    "aarch64": (0xC00000B7, 1),
}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
"""Offsets in the filter's input: a call's number, architecture, and first argument, whose
lower half comes first on both."""

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_KILL = 0x80000000
_X32 = 0x40000000
"""Calls of x86's third ABI have this bit, and would pass by other numbers."""


def filter_program() -> bytes | None:
    """Return the filter for this machine; ``None`` where it is of another architecture."""
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        return None
    architecture, place = known
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for numbers in _REFUSED.values():
        program += [(_EQUAL, 0, 1, numbers[place]), (_RETURN, 0, 0, _REFUSE)]
    # The kernel reads the family as an int, so the upper half of the argument does not count.
    check = [(_LOAD, 0, 0, _FIRST)]
    for family in FAMILIES.values():
        check += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    check.append((_RETURN, 0, 0, _REFUSE))
    for numbers in _SOCKETS.values():
        program += [(_EQUAL, 0, len(check), numbers[place]), *check]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
