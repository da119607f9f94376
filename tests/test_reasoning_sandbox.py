"""The sandbox: a hostile set, all contained, each within its limit; and refusing without one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from heedful.bench.grading import programs
from heedful.bench.grading.sandbox import (
    Sandbox,
    Unsafe,
    open_sandbox,
)
from heedful.bench.grading.supervise import ProgramOutcome, ResourceLimits
from heedful.core.errors import UsageError
from heedful.core.nouns import Problem

LIMITS = ResourceLimits(seconds=2.0, memory_bytes=1 << 28, processes=24)


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    try:
        return open_sandbox()
    except UsageError as error:
        pytest.skip(f"no sandbox program works here: {error.what}")


CONTAINED = {
    # what is tried: (program, what its standard error ends with)
    "reach the internet": (
        "import socket; socket.create_connection(('192.0.2.1', 80), 2)",
        "Network is unreachable",
    ),
    "reach this machine": (
        "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
        "Connection refused",
    ),
    "take 10 GB at once": ("bytearray(10 ** 10)", "MemoryError"),
    "map 10 GB": ("import mmap; mmap.mmap(-1, 10 ** 10)", "Cannot allocate memory"),
    "keep a file in memory": ("import os; os.memfd_create('x')", "Operation not permitted"),
    "write to the system": ("open('/usr/x', 'w')", "Read-only file system: '/usr/x'"),
    "write to the root": ("open('/x', 'w')", "Read-only file system: '/x'"),
    "write to shared memory": ("open('/dev/shm/x', 'w')", "Read-only file system: '/dev/shm/x'"),
    "set the kernel": (
        "open('/proc/sys/kernel/hostname', 'w').write('x')",
        "Read-only file system: '/proc/sys/kernel/hostname'",
    ),
    "write to the project": ("open('PROJECT/x', 'w')", "No such file or directory: 'PROJECT/x'"),
    "read the project": ("open('PROJECT/pyproject.toml')", "'PROJECT/pyproject.toml'"),
    "read it by a link": (
        "import os; os.symlink('PROJECT', '/tmp/l'); open('/tmp/l/pyproject.toml')",
        "No such file or directory: '/tmp/l/pyproject.toml'",
    ),
    "read it by /proc": (
        "open('/proc/1/root/PROJECT/pyproject.toml')",
        "'/proc/1/root/PROJECT/pyproject.toml'",
    ),
    "read the passwords": ("open('/etc/passwd')", "No such file or directory: '/etc/passwd'"),
    "fill the temporary folder": (
        "for n in range(10 ** 6): open(f'/tmp/{n}', 'wb').write(bytes(10 ** 6))",
        "No space left on device",
    ),
    "raise its limits": (
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1))",
        "not allowed to raise maximum limit",
    ),
    "kill its parent's parent": (
        f"import os; os.kill({os.getpid()}, 9)",
        "No such process",
    ),
}

STOPPED = {
    # what is tried: (program, the limits that may stop it)
    "loop": ("while True: pass", {"time"}),
    "sleep": ("import time; time.sleep(1000)", {"time"}),
    "ignore signals": (
        (
            "import signal, time\nfor n in (2, 15, 24): signal.signal(n, signal.SIG_IGN)\n"
            "while True: pass"
        ),
        {"time"},
    ),
    "fork without end": (
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        {"processes"},
    ),
    "fork without end, in silence": (
        "import os\nos.closerange(1, 3)\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        {"processes"},
    ),
    "take memory in many processes": (
        (
            "import os, time\nfor n in range(12):\n  if not os.fork(): break\n"
            "x = bytearray(10 ** 8)\ntime.sleep(100)"
        ),
        {"memory"},
    ),
    "write 10 GB": (
        "import sys\nfor n in range(10 ** 4): sys.stdout.write('x' * 10 ** 6)",
        {"output"},
    ),
    "write 10 GB of errors": (
        "import sys\nfor n in range(10 ** 4): sys.stderr.write('x' * 10 ** 6)",
        {"output"},
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", CONTAINED)
def test_what_is_tried_fails_inside(name: str, sandbox: Sandbox) -> None:
    import socket

    project = Path(__file__).resolve().parents[1]
    with socket.create_server(("127.0.0.1", 0)) as server:
        program, error = (
            text.replace("PROJECT", str(project)).replace("PORT", str(server.getsockname()[1]))
            for text in CONTAINED[name]
        )
        outcome = sandbox.run(program, LIMITS)
    assert outcome.exit_code not in {0, None}
    assert error in outcome.stderr
    assert not (project / "x").exists()
    assert outcome.limit is None


@pytest.mark.sandbox
@pytest.mark.parametrize("name", STOPPED)
def test_what_takes_too_much_is_stopped_at_its_limit(name: str, sandbox: Sandbox) -> None:
    program, limits = STOPPED[name]
    outcome = sandbox.run(program, LIMITS)
    assert outcome.limit in limits
    assert outcome.exit_code is None
    assert len(outcome.stdout) <= LIMITS.output_bytes
    assert len(outcome.stderr) <= LIMITS.output_bytes


@pytest.mark.sandbox
def test_neither_the_environment_nor_other_processes_are_seen(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    program = (
        "import os\nprint(dict(os.environ))\n"
        "for p in filter(str.isdigit, os.listdir('/proc')):\n"
        "  print(p, open(f'/proc/{p}/environ').read(), open(f'/proc/{p}/cmdline').read())"
    )
    outcome = sandbox.run(program, LIMITS)
    assert outcome.exit_code == 0
    assert "very-secret" not in outcome.stdout
    assert "pytest" not in outcome.stdout


@pytest.mark.sandbox
def test_what_a_program_leaves_behind_is_gone_with_it(sandbox: Sandbox) -> None:
    mark = f"left-behind-{os.getpid()}"
    program = (
        "import os, sys\n"
        f"if not os.fork():\n  os.setsid()\n  os.execv(sys.executable, ['{mark}', '-c', "
        "'import time; time.sleep(60)'])\nprint('done')"
    )
    outcome = sandbox.run(program, LIMITS)
    assert (outcome.exit_code, outcome.stdout) == (0, "done\n")
    deadline = time.monotonic() + 60
    while mark in _command_lines():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _command_lines() -> str:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_text())
        except OSError:
            continue
    return "\n".join(lines)


def test_a_program_of_use_runs(sandbox: Sandbox) -> None:
    outcome = sandbox.run("import math\nprint(math.factorial(5))\nraise SystemExit(3)", LIMITS)
    assert (outcome.exit_code, outcome.stdout, outcome.limit) == (3, "120\n", None)


def test_without_a_sandbox_it_refuses_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"bwrap is not installed.*docker is not installed"
    ) as error:
        open_sandbox()
    assert "apt install bubblewrap" in error.value.hint
    assert isinstance(open_sandbox("unsafe"), Unsafe)


def test_a_sandbox_that_does_not_work_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(UsageError, match="uid map: Permission denied"):
        open_sandbox("bubblewrap")


ADD = Problem(
    id="add",
    question='import math\n\n\ndef add(a, b):\n    """Add two numbers."""\n',
    kind="code",
    tests="def check(add):\n    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n",
    entry_point="add",
)


class Recorder:
    """A sandbox that runs nothing and says what a program would have said."""

    name = "recorder"

    def __init__(self, outcome: ProgramOutcome) -> None:
        self.outcome = outcome

    def run(self, program: str, limits: ResourceLimits) -> ProgramOutcome:
        assert limits
        compile(program, "<program>", "exec")
        return self.outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "passed", "reason"),
    [
        ("    return a + b\n", True, ""),
        ("```python\ndef add(a, b):\n    return math.fsum([a, b])\n```", True, ""),
        ("Here it is:\n```\n    return a + b\n```\nDone.", True, ""),
        ("    return a - b\n", False, "AssertionError"),
        ("    return a +\n", False, "SyntaxError"),
        ("    raise SystemExit(0)\n", False, "ended before its tests did"),
        ("    import os; os._exit(0)\n", False, "ended before its tests did"),
        ("    while True: pass\n", False, "longer than 2 s"),
        ("    return bytearray(10 ** 10)\n", False, "MemoryError"),
    ],
)
def test_unit_tests_decide_what_a_completion_is_worth(
    *, written: str, passed: bool, reason: str, sandbox: Sandbox
) -> None:
    program = programs.completed(ADD, written)
    result = programs.tested(sandbox, ADD, program, LIMITS)
    assert result.passed is passed
    assert reason in result.reason


def test_an_exit_code_alone_does_not_pass() -> None:
    silent = Recorder(ProgramOutcome(0, "all tests passed", "", None, 0.1))
    assert not programs.tested(silent, ADD, "def add(a, b): ...", LIMITS).passed
