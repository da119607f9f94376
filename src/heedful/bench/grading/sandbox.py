"""Running programs that a model wrote: no network, no files but its own, bounded in all it takes.

Bubblewrap (Linux, no privileges needed) is taken first, Docker second. Limits alone aren't a
sandbox: without either, programs run only if that is requested by name.

What this does not protect from: faults in the kernel, which every program here talks to.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import uuid
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heedful.bench.grading.seccomp import filter_program
from heedful.bench.grading.supervise import (
    Launch,
    ProgramOutcome,
    ResourceLimits,
    converse,
    supervise,
)
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

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
    """Sandbox that runs Python programs in isolation."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in results; it says what protection is missing."""

    @abstractmethod
    def launch(self, program: str, limits: ResourceLimits) -> AbstractContextManager[Launch]:
        """Prepare to start a program."""

    def run(self, program: str, limits: ResourceLimits) -> ProgramOutcome:
        """Run a program; blocks until it has ended, at the latest at its time limit."""
        with self.launch(program, limits) as launch:
            return supervise(launch, limits)

    def run_pair(
        self, first: str, second: str, limits: ResourceLimits
    ) -> tuple[ProgramOutcome, ProgramOutcome]:
        """Run two programs apart from each other, each of which reads what the other writes.

        Both end when the first does.
        """
        with self.launch(first, limits) as launch, self.launch(second, limits) as peer:
            return converse(launch, peer, limits)


def open_sandbox(kind: SandboxKind = "auto") -> Sandbox:
    """Find a sandbox that works here; each is tried with a small program.

    Raises:
        UsageError: there is none; the message says what each lacks and what to install.
    """
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


@dataclass(frozen=True)
class Bubblewrap(Sandbox):
    """A new world of namespaces: own users, processes, network (with nothing in it) and files.

    The program sees the system's programs and libraries, read-only, and an empty temporary folder
    of limited size in memory; no home, no project, no environment, no other process.

    Attributes:
        user: the user id that it runs as; by default ours (only root can give another).
    """

    user: int | None = None

    @property
    def name(self) -> str:
        """Name in results."""
        if filter_program() is None:
            return f"bubblewrap without a filter of system calls ({platform.machine()})"
        return "bubblewrap"

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


@dataclass(frozen=True)
class Docker(Sandbox):
    """A container without network, read-only, as nobody; Docker's own limits hold.

    Attributes:
        image: an image with Python, which must be there: nothing is downloaded.
    """

    image: str = IMAGE

    @property
    def name(self) -> str:
        """Name in results."""
        return "docker"

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
        command += [self.image, "python", "-I", "-c", _START]

        def kill() -> None:
            # The client's end is not the container's.
            subprocess.run(  # noqa: S603 - our own container, by its name
                [docker, "kill", name], capture_output=True, check=False, timeout=PROBE_SECONDS
            )

        yield Launch(command, _job(program, limits, address_space=False), kill=kill)


@dataclass(frozen=True)
class Unsafe(Sandbox):
    """No sandbox: a process of ours with limits. It can read, write and send what we can."""

    @property
    def name(self) -> str:
        """Name in results."""
        return "unsafe"

    @contextmanager
    def launch(self, program: str, limits: ResourceLimits) -> Iterator[Launch]:
        """Prepare to start a program in a temporary folder, which is then deleted."""
        with tempfile.TemporaryDirectory() as folder:
            command = [str(_python()), "-I", "-c", _START]
            yield Launch(command, _job(program, limits), cwd=folder)
