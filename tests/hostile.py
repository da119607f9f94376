"""Hostile programs: some try to leave the sandbox, others to pass tests that they cannot pass."""

from __future__ import annotations

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
    "send raw packets": (
        "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "Operation not permitted",
    ),
    "use the kernel's cryptography": (
        "import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
        "Operation not permitted",
    ),
    "reach the daemon of containers": (
        ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/var/run/docker.sock')"),
        "No such file or directory",
    ),
    "take 10 GB at once": ("bytearray(10 ** 10)", "MemoryError"),
    "map 10 GB": ("import mmap; mmap.mmap(-1, 10 ** 10)", "Cannot allocate memory"),
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
    "make a device": (
        "import os, stat; os.mknod('/tmp/d', stat.S_IFBLK | 0o666, os.makedev(8, 0))",
        "Operation not permitted",
    ),
    "read the machine's memory": ("open('/dev/mem', 'rb')", "'/dev/mem'"),
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
    "fork without end, in silence": (
        "import os\nos.closerange(1, 3)\nwhile True:\n  try: os.fork()\n  except OSError: pass",
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
    "make links without end": (
        "import os\nfor n in range(10 ** 7): os.symlink('x', f'/tmp/{n}')",
        {"files"},
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
_CONSTANTS = (
    "import gc, types\n"
    "def consts(code, seen):\n"
    "    for value in code.co_consts:\n"
    "        if isinstance(value, types.CodeType): consts(value, seen)\n"
    "        else: seen.append(value)\n"
    "    return seen\n"
)
_SEARCH = (
    "def best(seen, n):\n"
    "    for value in seen:\n"
    "        if isinstance(value, int) and value > 10 ** 6: return value\n"
    "    return None\n"
)


def _replies(sent: str) -> str:
    """A program that puts its own replies in the place of those that its process would send."""
    return (
        "import os, sys\nharness = sys.modules['heedful.bench.grading.harness']\n"
        f"def reply(self, m): {sent}\nharness.Peer._serve = reply\n{_NUMBER}"
    )


def _sends(reply: str) -> str:
    return _replies(f"self.send({{'id': m['id'], {reply}}})")


FORGED = {
    "reply with what isn't plain": _sends("'value': ['opaque', 'x']"),
    "reply with a function": _sends("'value': ['function', 0]"),
    "reply with another argument": _sends(
        "'value': None, 'argument': True, 'args': ['tuple', ['int', '0x9']]"
    ),
    "reply with an argument that isn't there": _sends("'value': None, 'argument': 99"),
    "reply with errors of the tests' own": _sends(
        "'raised': ['UnsendableError', 'EndedError', 'SystemExit', 'BaseException'], 'said': 'x'"
    ),
    "reply with no error": _sends("'raised': {'a': 1}"),
    "reply with names that are no errors": _sends("'raised': ['exit', 'print'], 'said': 'x'"),
    "reply to another call": _replies("self.send({'id': 99, 'value': True})"),
    "reply to no call": _replies("self.send({'value': True})"),
    "reply with a deep message": _replies("os.write(self._out, b'[' * 10 ** 5 + b'\\n')"),
    "reply with a number of ten million digits": _sends("'value': ['int', '0x' + 'f' * 10 ** 7]"),
    "reply with a fraction that fills the memory": _sends("'value': ['Fraction', '1e99999999']"),
    "reply with a range without end": _sends(
        "'value': ['range', '0x0 ' + '0x' + 'f' * 16 + ' 0x1']"
    ),
    "reply with a set that is slow to make": _sends(
        "'value': ['set', *(['int', hex((2 ** 61 - 1) * n)] for n in range(20000))]"
    ),
    "call back a thousand times": _replies(
        "[self.send({'call': 'x', 'id': n, 'args': ['tuple'], 'kwargs': ['dict']})"
        " for n in range(1000)], self.send({'id': m['id'], 'value': True})"
    ),
    "stop itself": "import os, signal\ndef secret(n): os.kill(os.getpid(), signal.SIGSTOP)\n",
    "stop all others": (
        "import os, signal\ndef secret(n):\n    for pid in range(1, 30):\n"
        "        try: os.kill(pid, signal.SIGSTOP)\n        except OSError: pass\n    return 0\n"
    ),
    "leave a daemon": (
        "import os, time\ndef secret(n):\n    if not os.fork():\n        os.setsid()\n"
        "        if not os.fork(): time.sleep(60)\n    return 0\n"
    ),
    "an object that equals all": _returns("Yes()", _object(_EQUAL)),
    "and contains all": _returns(
        "Yes()", _object(f"{_EQUAL}\ndef __contains__(s, o): return True")
    ),
    "a number that equals all": _returns(
        "Yes(3)", _object(_EQUAL + "\n__hash__ = int.__hash__", "int")
    ),
    "a real that equals all": _returns("Yes(3)", _object(_EQUAL, "float")),
    "a text that equals all": _returns("Yes('x')", _object(_EQUAL, "str")),
    "a list that equals all": _returns("Yes()", _object(_EQUAL, "list")),
    "a dictionary that equals all": _returns("Yes()", _object(_EQUAL, "dict")),
    "a tuple that equals all": _returns("Yes()", _object(_EQUAL, "tuple")),
    "a set that equals all": _returns("Yes()", _object(_EQUAL, "set")),
    "a class that equals all": _returns(
        "C", _object(_EQUAL, "type") + "class C(metaclass=Yes): pass\n"
    ),
    "an object that says it is a number": _returns(
        "Yes()", _object(f"{_EQUAL}\n__class__ = property(lambda self: int)")
    ),
    "an object that converts to all": _returns(
        "Yes()",
        _object("def __index__(self): return 7\ndef __bool__(self): return True"),
    ),
    "an object that answers by itself": _returns(
        "Yes()", _object("def __getattr__(self, name): return lambda *a: True\n" + _EQUAL)
    ),
    "an object that reads its partner": _returns(
        "Yes()",
        _object(
            "def __eq__(self, other):\n    self.v = other\n    return True\n"
            "def __hash__(self): return 918"
        ),
    ),
    "a number that reduces to another": _returns(
        "Yes(3)", _object("def __reduce__(self): return (int, ('918',))\n" + _EQUAL, "int")
    ),
    "mock's ANY": _returns("ANY", "from unittest.mock import ANY"),
    "a mock": _returns("MagicMock()", "from unittest.mock import MagicMock"),
    "not a number": _returns("float('nan')"),
    "NotImplemented": _returns("NotImplemented"),
    "an ellipsis": _returns("..."),
    "itself": _returns("secret"),
    "a generator of all": _returns("(x for x in range(10 ** 6))"),
    "a generator without end": _returns("count()", "from itertools import count"),
    "a partial function": _returns("partial(print)", "from functools import partial"),
    "a coroutine": "async def secret(n):\n    return 1\n",
    "a built-in function": _returns("__import__"),
    "a dictionary with keys that equal all": _returns(
        "{Yes(): 1}", _object(_EQUAL + "\ndef __hash__(self): return hash('secret')")
    ),
    "a list nested without end": _returns("loop", "loop = []\nloop.append(loop)"),
    "a list nested deeply": _returns(
        "deep()", "def deep():\n    v = []\n    for _ in range(10 ** 5): v = [v]\n    return v"
    ),
    "a number of a million digits": _returns("10 ** (10 ** 6)"),
    "a text of 100 MB": _returns("'x' * 10 ** 8"),
    "lone surrogates": _returns("'\\ud800' * 3"),
    "the numbers of its frames": (
        "import sys\ndef secret(n):\n    frame = sys._getframe()\n    while frame:\n"
        "        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n"
        "            if isinstance(value, int) and value > 10 ** 6: return value\n"
        "        frame = frame.f_back\n"
    ),
    "the constants of its frames": (
        f"{_CONSTANTS}{_SEARCH}import sys\ndef secret(n):\n    frame, seen = sys._getframe(), []\n"
        "    while frame:\n        consts(frame.f_code, seen)\n        frame = frame.f_back\n"
        "    return best(seen, n)\n"
    ),
    "the constants of all functions": (
        f"{_CONSTANTS}{_SEARCH}def secret(n):\n    seen = []\n    for o in gc.get_objects():\n"
        "        if isinstance(o, types.FunctionType) and o.__module__ in ('tests', '__main__',\n"
        "                'solution', None): consts(o.__code__, seen)\n    return best(seen, n)\n"
    ),
    "the source of its callers": (
        "import inspect, re\ndef secret(n):\n    for frame in inspect.stack():\n"
        "        hit = re.search(r'== (\\d{9})', ''.join(frame.code_context or ()))\n"
        "        if hit: return int(hit[1])\n"
    ),
    "the program on its command line": (
        "import re\ndef secret(n):\n    text = open('/proc/self/cmdline').read()\n"
        "    hit = re.search(r'== (\\d{9})', text)\n    return int(hit[1]) if hit else 0\n"
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
    "the modules that are loaded": (
        "import sys\ndef secret(n):\n    for module in list(sys.modules.values()):\n"
        "        for value in list(vars(module).values()):\n"
        "            if type(value) is int and 10 ** 8 < value < 10 ** 9: return value\n"
    ),
    "the file of its tests": (
        "import os, re\ndef secret(n):\n    for folder, _, names in os.walk('/tmp'):\n"
        "        for name in names:\n            text = open(os.path.join(folder, name)).read()\n"
        "            hit = re.search(r'\\d{9}', text)\n            if hit: return int(hit[0])\n"
    ),
    "its standard input": ("import sys\ndef secret(n):\n    return sys.stdin.read()\n"),
    "what is still to come": (
        "import os\ndef secret(n):\n    for fd in range(3, 64):\n        try:\n"
        "            os.set_blocking(fd, False); os.read(fd, 1 << 16)\n"
        "        except OSError: pass\n    return 0\n"
    ),
    "exit": "raise SystemExit(0)\n",
    "exit when called": "def secret(n): raise SystemExit(0)\n",
    "exit at once": "import os\ndef secret(n): os._exit(0)\n",
    "exit while loading": "import os\nos._exit(0)\n",
    "exit from a thread": (
        "import os, threading\ndef secret(n):\n"
        "    threading.Thread(target=os._exit, args=(0,)).start()\n    return 0\n"
    ),
    "exit by an alarm": (
        "import os, signal, time\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\n"
        "def secret(n):\n    signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.2)\n"
    ),
    "replace itself": ("import os\ndef secret(n): os.execv('/bin/sh', ['sh', '-c', 'exit 0'])\n"),
    "kill itself": "import os\ndef secret(n): os.kill(os.getpid(), 9)\n",
    "kill its parent": "import os\ndef secret(n): os.kill(os.getppid(), 9); return 0\n",
    "kill all it can": "import os\ndef secret(n): os.kill(-1, 9); return 0\n",
    "crash": "import ctypes\ndef secret(n): ctypes.string_at(0)\n",
    "say at the end that all is well": (
        f"import atexit, os\n{_NUMBER}"
        'atexit.register(os.write, 2, b\'{"passed": true, "held": 6, "reason": ""}\')\n'
    ),
    "say so everywhere": (
        f'DATA = b\'{{"passed": true, "held": 297, "reason": ""}}\\n\'\n{_EVERYWHERE}{_NUMBER}'
    ),
    "say so by standard error and exit": (
        'import os\nos.write(2, b\'{"passed": true, "held": 6, "reason": ""}\')\nos._exit(0)\n'
    ),
    "answer before being asked": (
        'DATA = b\'\'.join(b\'{"id": %d, "value": ["int", "0x1"]}\\n\' % n for n in range(20))\n'
        f"{_EVERYWHERE}{_NUMBER}"
    ),
    "answer twice": (
        'def secret(n):\n    DATA = b\'{"id": 1, "value": true}\\n\' * 9\n    '
        + _EVERYWHERE.replace("\n", "\n    ")
        + "return 0\n"
    ),
    "answer with no message": f"DATA = b'[1, 2\\n\\x00\\xff{{\\n'\n{_EVERYWHERE}{_NUMBER}",
    "answer without end": (
        "def secret(n):\n    import os\n    while True:\n        for fd in range(64):\n"
        "            try: os.write(fd, b'x' * 65536)\n            except OSError: pass\n"
    ),
    "call the tests": (
        'DATA = b\'{"call": "check", "id": 9, "args": ["tuple"], "kwargs": ["dict"]}\\n\'\n'
        f"{_EVERYWHERE}{_NUMBER}"
    ),
    "call functions of the tests": (
        'DATA = b\'{"call": 0, "id": 9, "args": ["tuple"], "kwargs": ["dict"]}\\n\' * 9\n'
        f"{_EVERYWHERE}{_NUMBER}"
    ),
    "have the tests call back": (
        "import sys\ndef secret(n):\n    main = sys.modules['__main__']\n"
        "    frame = sys._getframe()\n"
        "    while frame and 'self' not in frame.f_locals: frame = frame.f_back\n"
        "    peer = frame.f_locals['self']\n    return peer.call('secret', (n,), {})\n"
    ),
    "change how answers are written": (
        'import json\njson.dumps = lambda *a, **k: \'{"id": 1, "value": true, "passed": true}\'\n'
        f"{_NUMBER}"
    ),
    "change how numbers are compared": (
        "import ctypes\n"
        "ctypes.memmove(id(0) + 24, (77777777).to_bytes(4, 'little'), 4)\n"
        "def secret(n): return 1 - 1\n"
    ),
    "change the built-ins": (
        "import builtins\nbuiltins.AssertionError = type('Never', (Exception,), {})\n"
        "builtins.isinstance = lambda *a: True\nbuiltins.len = lambda *a: 1\n"
        f"builtins.compile = builtins.exec = lambda *a, **k: None\n{_NUMBER}"
    ),
    "take the built-ins away": f"import builtins\n{_NUMBER}\nbuiltins.__dict__.clear()\n",
    "change the modules": (
        "import sys, types\nfor name in ('json', 'os', 'ast', 'heedful'):\n"
        f"    sys.modules[name] = types.ModuleType(name)\n{_NUMBER}"
    ),
    "hook imports": (
        "import sys\nclass Finder:\n    def find_spec(self, *a): raise SystemExit(0)\n"
        f"sys.meta_path.insert(0, Finder())\nsys.modules.clear()\n{_NUMBER}"
    ),
    "hook audits": (
        "import os, sys\ndef hook(event, args):\n"
        f"    if event.startswith('exec'): os._exit(0)\nsys.addaudithook(hook)\n{_NUMBER}"
    ),
    "hook errors": (
        "import os, sys\nsys.excepthook = lambda *a: os._exit(0)\n"
        "sys.unraisablehook = sys.excepthook\ndef secret(n): raise ValueError(n)\n"
    ),
    "trace its callers": (
        "import sys\ndef trace(frame, event, arg):\n    frame.f_locals.update(passed=True)\n"
        f"    return trace\nsys.settrace(trace)\nsys.setprofile(trace)\n{_NUMBER}"
    ),
    "leave a file for the next start": (
        "for name in ('sitecustomize.py', 'usercustomize.py', 'json.py', 'x.pth'):\n"
        f"    open('/tmp/' + name, 'w').write('import os; os._exit(0)')\n{_NUMBER}"
    ),
    "answer from a child": (
        "import os\ndef secret(n):\n    if os.fork(): os._exit(0)\n    return 0\n"
    ),
    "answer from many children": (
        "import os\ndef secret(n):\n    for _ in range(3): os.fork()\n    return 0\n"
    ),
    "end its loop": "def secret(n): raise StopIteration\n",
    "end its loop by a subclass": (
        "class Stop(StopIteration): pass\ndef secret(n): raise Stop(77)\n"
    ),
    "raise an assertion": "def secret(n): raise AssertionError\n",
    "raise an interrupt": "def secret(n): raise KeyboardInterrupt\n",
    "raise the base of all": "def secret(n): raise BaseException('x')\n",
    "raise an end of a generator": "def secret(n): raise GeneratorExit\n",
    "raise what cannot be shown": (
        "class Quiet(Exception):\n    def __str__(self): raise SystemExit(0)\n"
        "def secret(n): raise Quiet\n"
    ),
    "raise a class of another name": (
        "Error = type('EndedError', (Exception,), {})\ndef secret(n): raise Error\n"
    ),
    "recurse without end": "def secret(n): return secret(n)\n",
    "be deleted": (
        "import os\nclass Last:\n    def __del__(self): os._exit(0)\n"
        "last = Last()\ndef secret(n):\n    global last\n    last = None\n    return 0\n"
    ),
    "close all": "import os\ndef secret(n): os.closerange(0, 256); return 0\n",
    "send standard output elsewhere": (
        "import os\ndef secret(n):\n    os.dup2(2, 1)\n"
        "    os.write(1, b'[true]\\n')\n    return 0\n"
    ),
    "wait": "import time\ndef secret(n): time.sleep(60)\n",
    "be another thing when loaded": (
        "class Secret:\n    def __call__(self, n): return Yes()\n"
        f"{_object(_EQUAL)}secret = Secret()\n"
    ),
    "be a class": f"{_object(_EQUAL + chr(10) + 'def __init__(self, n): pass')}secret = Yes\n",
    "hash and compare as any key": (
        "class Key(str):\n    def __hash__(self): return 0\n"
        "    def __eq__(self, other): return True\n"
        "def secret(n): return {Key('n'): n, Key('secret'): Key()}\n"
    ),
    "be in everything": _object("def __contains__(self, other): return True", "str")
    + _returns("Yes()"),
    "be truth itself": _object("def __bool__(self): return True\n" + _EQUAL, "int")
    + _returns("Yes(1)"),
    "reload the asserts away": (
        "import sys, builtins\nsys.flags = type('F', (), {'optimize': 2})()\n"
        "builtins.__debug__ = False if False else True\n"
        "import sys as s; s.setrecursionlimit(60)\ndef secret(n): return secret(n + 1)\n"
    ),
    "raise what the harness catches": (
        "def secret(n):\n    raise BaseExceptionGroup('x', [SystemExit(0), KeyboardInterrupt()])\n"
    ),
    "answer with a coroutine": "async def secret(n): return 0\n",
    "answer with a generator that never ends": (
        "def secret(n):\n    while True: yield 918273645\n"
    ),
    "rewrite the variables of its callers": (
        "import sys\ndef hook(frame, event, argument):\n"
        "    for name in list(frame.f_locals): frame.f_locals[name] = True\n    return hook\n"
        "sys.settrace(hook)\nsys.setprofile(hook)\n"
        "sys.monitoring.use_tool_id(3, 'x')\ndef secret(n): return 0\n"
    ),
    "signal its parent": (
        "import os, signal\ndef secret(n):\n"
        "    for pid in (os.getppid(), -1):\n"
        "        try: os.kill(pid, signal.SIGTERM)\n        except OSError: pass\n    return 0\n"
    ),
    "import what it writes": (
        "import os, sys\nfor name in ('json', 'check', 'sitecustomize'):\n"
        "    open(f'{name}.py', 'w').write('def check(f): pass\\ndef loads(s): return True\\n')\n"
        "sys.path.insert(0, os.getcwd())\nsys.modules.pop('json', None)\nimport json\n"
        "def secret(n): return 0\n"
    ),
    "fill its arguments with itself": (
        "def secret(n, deep=[]):\n    deep.append(deep)\n    return deep\n"
    ),
    "be NaN": _returns("float('nan')"),
    "be missing": "def public(n): return 0\n",
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
    "makes it short": "def tidy(values):\n    while len(values) > 1: values.pop"
    "(*([next(iter(values))] if isinstance(values, dict) else []))\n    return list(values)\n",
}
"""Programs that change what the tests of :data:`TIDY` compute their expectations from."""
