"""Hostile programs: some try to leave the sandbox, others to pass tests that they cannot pass."""

import os

from heedful.core.problems import Problem

__all__ = ["CHANGING", "CONTAINED", "FORGED", "SECRET", "STOPPED", "TIDY"]

CONTAINED = {
    # what is tried: (program, what its standard error holds)
    "reach the internet": (
        "import socket; socket.create_connection(('192.0.2.1', 80), 2)",
        "Network is unreachable",
    ),
    "reach this machine": (
        "import socket; socket.create_connection(('127.0.0.1', PORT), 2)",
        "Connection refused",
    ),
    "reach the host of a virtual machine": (
        "import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
        "Operation not permitted",
    ),
    "ask the kernel for interfaces": (
        "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "Operation not permitted",
    ),
    "reach the daemon of containers": (
        ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/var/run/docker.sock')"),
        "No such file or directory",
    ),
    "take 10 GB at once": ("bytearray(10 ** 10)", "MemoryError"),
    "keep a file in memory": ("import os; os.memfd_create('x')", "Operation not permitted"),
    "keep a segment of shared memory": (
        (
            "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
            "assert c.shmget(0, 1 << 20, 0o1666) >= 0, ctypes.get_errno()"
        ),
        "AssertionError: 1",
    ),
    "trace its parent": (
        (
            "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
            "assert c.ptrace(16, 1, 0, 0) == 0, ctypes.get_errno()"
        ),
        "AssertionError: 1",
    ),
    "enter another world": (
        (
            "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
            "assert c.unshare(0x10000000) == 0, ctypes.get_errno()"
        ),
        "AssertionError: 1",
    ),
    "mount a file system": (
        (
            "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
            "assert c.mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0, ctypes.get_errno()"
        ),
        "AssertionError: 1",
    ),
    "become root": ("import os; os.setuid(0); open('/usr/x', 'w')", "Error"),
    "change its root": ("import os; os.chroot('/tmp')", "Operation not permitted"),
    "read the machine's memory": ("open('/dev/mem', 'rb')", "'/dev/mem'"),
    "write to the system": ("open('/usr/x', 'w')", "Read-only file system: '/usr/x'"),
    "write to shared memory": ("open('/dev/shm/x', 'w')", "Read-only file system: '/dev/shm/x'"),
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
    "read another process's memory": ("open('/proc/1/mem', 'rb').read(1)", "Error"),
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
    "start threads without end": (
        (
            "import threading, time\nthreading.stack_size(1 << 16)\nwhile True:\n"
            "  try: threading.Thread(target=time.sleep, args=(60,)).start()\n"
            "  except RuntimeError: pass"
        ),
        {"processes"},
    ),
    "take memory in many processes": (
        (
            "import os, time\nfor n in range(12):\n  if not os.fork(): break\n"
            "x = bytearray(10 ** 8)\ntime.sleep(100)"
        ),
        {"memory"},
    ),
    "make files without end": (
        ("import os\nfor n in range(10 ** 7): os.close(os.open(f'/tmp/{n}', os.O_CREAT))"),
        {"files"},
    ),
    "write 10 GB": (
        "import sys\nfor n in range(10 ** 4): sys.stdout.write('x' * 10 ** 6)",
        {"output"},
    ),
}

SECRET = Problem(
    id="secret",
    question='def secret(n):\n    """Return a number that nobody can know."""\n',
    kind="code",
    tests=(
        "def check(candidate):\n"
        "    assert candidate(1) == 918273645\n"
        "    assert candidate(2) == [57, 'umbrella', 3.25]\n"
        "    for n, wanted in zip((3, 4), map(candidate, (3, 4))):\n"
        "        assert wanted == {'n': n, 'secret': 40961}\n"
        "    assert candidate(5) is True\n"
        "    assert 'ocelot' in candidate(6)\n"
    ),
    entry_point="secret",
)

_EVERYWHERE = "import os\nfor fd in range(64):\n  try: os.write(fd, DATA)\n  except OSError: pass\n"
_NUMBER = "def secret(n): return 0\n"


def _returns(expression: str, before: str = "") -> str:
    return f"{before}\ndef secret(n):\n    return {expression}\n"


def _object(methods: str, base: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in methods.splitlines())
    return f"class Yes({base}):\n{lines}"


_EQUAL = "def __eq__(self, other): return True\ndef __ne__(self, other): return False"


def _replies(reply: str) -> str:
    """A program that puts its own reply in the place of those that its process would send."""
    return (
        f"import os, sys\nsys._getframe(1).f_globals['reply'] = lambda names, m: {reply}\n{_NUMBER}"
    )


FORGED = {
    "reply with what isn't plain": _replies("{'value': ['opaque', 'x']}"),
    "reply with errors of the tests' own": _replies(
        "{'raised': ['UnsendableError', 'EndedError', 'SystemExit'], 'given': ['tuple']}"
    ),
    "reply with a range without end": _replies("{'value': ['range', 0, 10 ** 20, 1]}"),
    "stop itself": "import os, signal\ndef secret(n): os.kill(os.getpid(), signal.SIGSTOP)\n",
    "an object that equals all": _returns("Yes()", _object(_EQUAL)),
    "a number that equals all": _returns(
        "Yes(3)", _object(_EQUAL + "\n__hash__ = int.__hash__", "int")
    ),
    "an object that says it is a number": _returns(
        "Yes()", _object(f"{_EQUAL}\n__class__ = property(lambda self: int)")
    ),
    "itself": _returns("secret"),
    "a generator without end": _returns("count()", "from itertools import count"),
    "a coroutine": "async def secret(n):\n    return 1\n",
    "a list nested deeply": _returns(
        "deep()", "def deep():\n    v = []\n    for _ in range(10 ** 5): v = [v]\n    return v"
    ),
    "a text of 100 MB": _returns("'x' * 10 ** 8"),
    "the numbers of its frames": (
        "import sys\ndef secret(n):\n    frame = sys._getframe()\n    while frame:\n"
        "        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n"
        "            if isinstance(value, int) and value > 10 ** 6: return value\n"
        "        frame = frame.f_back\n"
    ),
    "its own memory": (
        "import re\ndef secret(n):\n    with open('/proc/self/maps') as maps, "
        "open('/proc/self/mem', 'rb', 0) as mem:\n        for line in maps:\n"
        "            if 'rw' not in line: continue\n"
        "            low, high = (int(x, 16) for x in line.split()[0].split('-'))\n"
        "            try:\n                mem.seek(low); data = mem.read(high - low)\n"
        "            except (OSError, OverflowError, ValueError): continue\n"
        "            hit = re.search(rb'candidate\\(1\\) == (\\d{9})', data)\n"
        "            if hit: return int(hit[1])\n    return 0\n"
    ),
    "the memory of others": (
        "import os, re\ndef secret(n):\n    for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "        try: data = open(f'/proc/{pid}/cmdline').read() + "
        "open(f'/proc/{pid}/environ').read()\n        except OSError: continue\n"
        "        hit = re.search(r'== (\\d{9})', data)\n        if hit: return int(hit[1])\n"
        "    return 0\n"
    ),
    "the file of its tests": (
        "import os, re\ndef secret(n):\n    for folder, _, names in os.walk('/tmp'):\n"
        "        for name in names:\n            text = open(os.path.join(folder, name)).read()\n"
        "            hit = re.search(r'\\d{9}', text)\n            if hit: return int(hit[0])\n"
    ),
    "its standard input": ("import sys\ndef secret(n):\n    return sys.stdin.read()\n"),
    "exit at once": "import os\ndef secret(n): os._exit(0)\n",
    "crash": "import ctypes\ndef secret(n): ctypes.string_at(0)\n",
    "say so everywhere": (
        f'DATA = b\'{{"passed": true, "held": 297, "reason": ""}}\\n\'\n{_EVERYWHERE}{_NUMBER}'
    ),
    "answer before being asked": (
        f"DATA = b''.join(b'{{\"value\": 1}}\\n' for n in range(20))\n{_EVERYWHERE}{_NUMBER}"
    ),
    "answer without end": (
        "def secret(n):\n    import os\n    while True:\n        for fd in range(64):\n"
        "            try: os.write(fd, b'x' * 65536)\n            except OSError: pass\n"
    ),
    "change how answers are written": (
        f'import json\njson.dumps = lambda *a, **k: \'{{"value": 0, "passed": true}}\'\n{_NUMBER}'
    ),
    "change the built-ins": (
        "import builtins\nbuiltins.AssertionError = type('Never', (Exception,), {})\n"
        "builtins.isinstance = lambda *a: True\nbuiltins.len = lambda *a: 1\n"
        f"builtins.compile = builtins.exec = lambda *a, **k: None\n{_NUMBER}"
    ),
    "end its loop": "def secret(n): raise StopIteration\n",
    "recurse without end": "def secret(n): return secret(n)\n",
    "be no program": "def secret(n) return 0\n",
}
"""Programs that cannot know what the tests of :data:`SECRET` expect."""

TIDY = Problem(
    id="tidy",
    question='def tidy(values):\n    """Return the values, sorted."""\n',
    kind="code",
    tests=(
        "def check(candidate):\n"
        "    values = [3, 1, 2]\n"
        "    assert candidate(values) == sorted(values)\n"
        "    table = {'b': [2], 'a': [1]}\n"
        "    assert candidate(table) == sorted(table)\n"
    ),
    entry_point="tidy",
)

CHANGING = {
    "empties its argument": "def tidy(values):\n    values.clear()\n    return []\n",
    "empties it and returns it": (
        "def tidy(values):\n    values.clear()\n"
        "    return values if isinstance(values, list) else []\n"
    ),
    "puts in what equals all": (
        f"{_object(_EQUAL + chr(10) + 'def __lt__(self, other): return True')}"
        "def tidy(values):\n    if isinstance(values, list): values[:] = [Yes()]\n"
        "    return [Yes()]\n"
    ),
}
"""Programs that change what the tests of :data:`TIDY` compute their expectations from."""
