"""The sandbox: a hostile set, all contained, each within its limit; and refusing without one."""

import json
import os
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading import programs
from heedful.bench.grading.harness import ENDED, decode, encode
from heedful.bench.grading.sandbox import (
    Docker,
    ResourceLimits,
    Sandbox,
    Unsafe,
    open_sandbox,
)
from heedful.core.errors import UsageError
from heedful.core.problems import Problem
from hostile import CHANGING, CONTAINED, FORGED, SECRET, STOPPED, TIDY

LIMITS = ResourceLimits(seconds=2.0, memory_bytes=1 << 28, processes=24)
PATIENT = replace(LIMITS, seconds=120.0)
"""Where a program ends by itself, or at another limit, however slow the machine is."""


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
        outcome = sandbox.run(program, PATIENT)
    assert outcome.exit_code not in {0, None}
    assert error in outcome.stderr
    assert not (project / "x").exists()
    assert outcome.limit is None


@pytest.mark.sandbox
@pytest.mark.parametrize("name", STOPPED)
def test_what_takes_too_much_is_stopped_at_its_limit(name: str, sandbox: Sandbox) -> None:
    program, limits = STOPPED[name]
    outcome = sandbox.run(program, LIMITS if "time" in limits else PATIENT)
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
    outcome = sandbox.run(program, PATIENT)
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
    outcome = sandbox.run(program, PATIENT)
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
    outcome = sandbox.run("import math\nprint(math.factorial(5))\nraise SystemExit(3)", PATIENT)
    assert (outcome.exit_code, outcome.stdout, outcome.limit) == (3, "120\n", None)


def test_without_a_sandbox_it_refuses_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"bwrap.*docker") as error:
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


@pytest.fixture
def docker_calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put a ``docker`` on the path that notes what it is asked, and starts no container."""
    calls = tmp_path / "calls"
    client = tmp_path / "bin" / "docker"
    client.parent.mkdir()
    client.write_text(
        f"""#!/bin/sh
echo "$@" >> {calls}
[ "$1" = run ] || exit 0
while [ "$1" != python:3.12-slim ]; do shift; done
shift 2
exec {sys.executable} "$@"
"""
    )
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:/bin:/usr/bin")
    return calls


def test_docker_runs_a_program_without_network_rights_or_files(docker_calls: Path) -> None:
    limits = ResourceLimits(seconds=120.0, memory_bytes=1 << 30, processes=24)
    outcome = Docker().run("print(6 * 7)", limits)
    assert (outcome.exit_code, outcome.stdout) == (0, "42\n")
    asked = docker_calls.read_text().split("python:3.12-slim")[0].split()
    options = dict(pairwise(asked))
    for option, value in {
        "--network": "none",
        "--user": "65534:65534",
        "--cap-drop": "ALL",
        "--security-opt": "no-new-privileges",
        "--ipc": "none",
        "--pull": "never",
        "--memory": str(1 << 30),
        "--memory-swap": str(1 << 30),
        "--pids-limit": "24",
    }.items():
        assert options[option] == value
    assert "--read-only" in asked
    assert not {"--volume", "-v", "--mount", "--privileged", "--env", "-e"} & {*asked}
    assert f"size={limits.file_bytes}" in options["--tmpfs"]


@pytest.mark.slow
def test_docker_ends_the_container_whose_program_runs_too_long(docker_calls: Path) -> None:
    limits = ResourceLimits(seconds=3.0, memory_bytes=1 << 30, processes=24)
    assert Docker().run("import time; time.sleep(1000)", limits).limit == "time"
    run, kill = docker_calls.read_text().splitlines()[0], docker_calls.read_text().splitlines()[-1]
    assert kill == f"kill {run.split('--name ')[1].split()[0]}"


ADD = Problem(
    id="add",
    question='import math\n\n\ndef add(a, b):\n    """Add two numbers."""\n',
    kind="code",
    tests="def check(add):\n    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n",
    entry_point="add",
)


GRADED = {
    # a completion: (passed, tests passed, what the reason holds)
    "    return a + b\n": (True, 2, ""),
    "```python\ndef add(a, b):\n    return math.fsum([a, b])\n```": (True, 2, ""),
    "Here it is:\n```\n    return a + b\n```\nDone.": (True, 2, ""),
    "    print('x' * 10 ** 6)\n    return a + b\n": (True, 2, ""),
    "    return a - b\n": (False, 0, "assert add(1, 2) == 3"),
    "    return abs(a) + b\n": (False, 1, "assert add(-1, 1) == 0"),
    "    return a +\n": (False, 0, "SyntaxError"),
    "    raise SystemExit(0)\n": (False, 0, ENDED),
    "    import os; os._exit(0)\n": (False, 0, ENDED),
    "    while True: pass\n": (False, 0, "longer than 2 s"),
    "    return bytearray(10 ** 10)\n": (False, 0, "MemoryError"),
    "    return secret\n": (False, 0, "NameError"),
}


@pytest.mark.slow
@pytest.mark.parametrize("written", GRADED)
def test_unit_tests_decide_what_a_completion_is_worth(written: str, sandbox: Sandbox) -> None:
    passed, held, reason = GRADED[written]
    program = programs.completed(ADD, written)
    limits = LIMITS if "longer" in reason else PATIENT
    result = programs.tested(sandbox, ADD, program, limits)
    assert (result.passed, programs.passed_tests(sandbox, ADD, program, limits)) == (passed, held)
    assert reason in result.reason


@pytest.mark.sandbox
@pytest.mark.parametrize("name", FORGED)
def test_no_program_passes_tests_that_it_cannot_pass(name: str, sandbox: Sandbox) -> None:
    result = programs.tested(sandbox, SECRET, FORGED[name], LIMITS)
    assert not result.passed
    assert result.reason
    assert programs.passed_tests(sandbox, SECRET, FORGED[name], LIMITS) == 0


@pytest.mark.sandbox
@pytest.mark.parametrize("name", CHANGING)
def test_a_program_cannot_change_what_its_tests_expect(name: str, sandbox: Sandbox) -> None:
    assert not programs.tested(sandbox, TIDY, CHANGING[name], LIMITS).passed


def _function(tests: str, setup: str = "") -> Problem:
    lines = "".join(f"    {line}\n" for line in tests.splitlines())
    return Problem(
        id="f",
        question=f"{setup}def f(*args, **kwargs):\n",
        kind="code",
        tests=f"def check(f):\n{lines}",
        entry_point="f",
    )


HONEST = {
    # what is tested: (tests, program)
    "a value of every plain kind": (
        (
            "for v in (None, True, 0, -7, 2.5, -0.0, 'é\\ud800', b'x', [1, [2]], (1,),\n"
            "          {'a': {2}}, range(3), frozenset({1}), 10 ** 2000, float('inf')):\n"
            "    assert f(v) == v and type(f(v)) is type(v)"
        ),
        "def f(v): return v",
    ),
    "subclasses of plain kinds": (
        "assert f('abca') == {'a': 2, 'b': 1, 'c': 1}\nassert f('') == {}",
        "from collections import Counter\ndef f(text): return Counter(text)",
    ),
    "an argument changed and returned": (
        "assert f([3, 1, 2]) == [1, 2, 3]",
        "def f(values):\n    values.sort()\n    return values",
    ),
    "a generator": (
        "assert list(f(3)) == [0, 1, 4]",
        "def f(n):\n    for i in range(n): yield i * i",
    ),
    "keywords": ("assert f(b=2, a=1) == -1", "def f(a, b): return a - b"),
    "errors that are wanted": (
        (
            "try:\n    f(-1)\nexcept ValueError as error:\n    assert 'negative' in str(error)\n"
            "else:\n    raise AssertionError"
        ),
        "def f(n):\n    if n < 0: raise ValueError('negative')",
    ),
    "errors of its own kind": (
        "try:\n    f()\nexcept KeyError:\n    return\nraise AssertionError",
        "class Missing(KeyError): pass\ndef f(): raise Missing('x')",
    ),
    "the prompt's helper": (
        "assert helper(f(3)) == 7",
        "def f(n): return n",
        "def helper(n):\n    return 2 * n + 1\n\n",
    ),
    "a helper of the program": (
        "assert extra(f(1)) == 3",
        "def extra(n): return n + 1\ndef f(n): return n + 1",
    ),
    "many calls": ("assert sum(f(n) for n in range(500)) == 124750", "def f(n): return n"),
    "deep recursion": ("assert f(900) == 900", "def f(n): return 0 if n == 0 else 1 + f(n - 1)"),
    "an error's arguments": (
        (
            "try:\n    f()\nexcept ValueError as e:\n    assert e.args == ('bad', 5)\n"
            "try:\n    f('k')\nexcept KeyError as e:\n    assert str(e) == repr('k')"
        ),
        "def f(k=None): raise (KeyError(k) if k else ValueError('bad', 5))",
    ),
}
UNSEEN = [
    # tests, a correct program
    (
        "from pathlib import PurePosixPath as P\nassert f() == P('/x')",
        "from pathlib import PurePosixPath as P\ndef f(): return P('/x')",
    ),
    (
        "assert str(f()) == 'mine'",
        "class D(dict):\n  def __str__(s): return 'mine'\ndef f(): return D()",
    ),
    (
        "try:\n  f()\nexcept Exception as e:\n  assert e.code == 5",
        "class E(Exception): code = 5\ndef f(): raise E",
    ),
    ("try:\n  f()\nexcept StopIteration:\n  return\nassert False", "def f(): next(iter(()))"),
    (
        (
            "import io\nfrom contextlib import redirect_stdout\nout = io.StringIO()\n"
            "with redirect_stdout(out): f()\nassert out.getvalue() == 'x\\n'"
        ),
        "def f(): print('x')",
    ),
    ("i = iter([1, 2])\nassert f(i) == 1 and next(i) == 2", "def f(i): return next(i)"),
    ("assert f(lambda: 1) == 1", "def f(g): return g()"),
    ("assert f() != 3", "def f(): return object()"),
    ("import asyncio\nassert asyncio.run(f()) == 1", "async def f(): return 1"),
    ("assert f.cache_info().hits == 0", "def f(): return 1"),
    ("v = [1]\nassert f(v) == 1 and v == []", "def f(v): return v.pop()"),
    ("v = [3, 1]\nf(v)\nassert v == [1, 3]", "def f(v): v.sort()"),
]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", HONEST)
def test_a_correct_program_passes(name: str, sandbox: Sandbox) -> None:
    tests, program, *setup = HONEST[name]
    result = programs.tested(sandbox, _function(tests, *setup), program, PATIENT)
    assert (result.passed, result.reason) == (True, "")


@pytest.mark.sandbox
@pytest.mark.parametrize(("tests", "program"), UNSEEN)
def test_what_plain_values_cannot_show_is_undecided(
    tests: str, program: str, sandbox: Sandbox
) -> None:
    result = programs.tested(sandbox, _function(tests), program, PATIENT)
    assert result.passed is None
    assert result.reason


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters(), max_size=5),
        st.binary(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.sets(st.integers(), max_size=4),
    ),
)


@given(PLAIN)
def test_a_plain_value_survives_the_way(value: object) -> None:
    sent = json.loads(json.dumps(encode(value)))
    back = decode(sent)
    assert back == value
    assert type(back) is type(value)


@given(
    st.recursive(st.none() | st.text(max_size=6) | st.integers(), lambda x: st.lists(x, max_size=4))
)
def test_a_hostile_message_is_a_plain_value_or_refused(data: object) -> None:
    try:
        value = decode(data)
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError):
        return
    assert type(value).__module__ in {"builtins", "collections"}
