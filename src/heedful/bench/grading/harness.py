"""The two programs that test a candidate, each in a sandbox of its own, and how they talk.

The candidate's process loads the program and calls its functions. The tests' process holds the
tests and what they expect; there the candidate is a :class:`Remote`. Between them go lines of JSON
with plain values: numbers, texts, collections. A subclass is written as its plain type, by
that type's own methods, with a mark that it was one. So what a candidate returns has no methods of
its own, and nothing that the tests know is in the candidate's process.

This file is sent to both processes as text, so it imports the standard library alone.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

ENDED = "it ended before its tests did"

MESSAGE_BYTES = 1 << 24
"""The longest message."""

DEEPEST = 200
"""Levels of nesting in a value."""

LONGEST_ITERATOR = 100_000
"""Items of an iterator, which is written as a whole."""

LARGEST_BITS = 10_000
"""Bits of a whole number; a larger one has more digits than JSON may hold."""

_NOT_RAISED = (StopIteration, StopAsyncIteration)
"""Raised in a test, these would end a loop of it in silence."""

_STREAMS = {"redirect_stdout", "redirect_stderr", "stdout", "stderr", "stdin", "capsys"}
"""Names that say that the tests read what a program prints, or write what it reads."""

_CATCHERS = {"raises", "assertRaises", "assertRaisesRegex", "suppress"}


class EndedError(BaseException):
    """The other process has ended, or does not keep to the protocol."""


class UnsendableError(BaseException):
    """The tests ask more of a value than can be sent; ``except Exception`` doesn't hide it."""


_SCALARS: dict[type, Callable[[Any], Any]] = {
    # What JSON has; each is stripped of its subclass.
    int: int.__pos__,
    float: float.__pos__,
    str: str.__str__,
}
_COLLECTIONS: dict[str, tuple[Any, Callable[[list[Any]], Any]]] = {
    # The base type, and how it is made of its items.
    "list": (list, list),
    "tuple": (tuple, tuple),
    "set": (set, set),
    "frozenset": (frozenset, frozenset),
    "bytes": (bytes, bytes),
    "range": (range, lambda bounds: range(*bounds)),
    "dict": (dict, lambda items: dict(zip(items[::2], items[1::2], strict=True))),
    "iterator": (Iterator, iter),
}


def encode(value: Any, depth: int = 0) -> Any:
    """Write a value as JSON."""
    if value is None or value is True or value is False:
        return value
    if depth > DEEPEST:
        return ["opaque", f"value nested deeper than {DEEPEST} levels"]
    for base, stripped in _SCALARS.items():
        if isinstance(value, base):
            plain = stripped(value)
            large = base is int and plain.bit_length() > LARGEST_BITS
            return ["opaque", "number too large"] if large else _marked(value, base, plain)
    for tag, (base, _) in _COLLECTIONS.items():
        if isinstance(value, base):
            items = [tag, *(encode(item, depth + 1) for item in _items(value, base))]
            return items if base is Iterator else _marked(value, base, items)
    return ["opaque", type(value).__name__]


def _marked(value: Any, base: type, written: Any) -> Any:
    """Mark what was more than its base type."""
    return written if type(value) is base else ["subclass", written]


def _items(value: Any, base: Any) -> Iterator[Any]:
    """Go through a collection by its base type's own method."""
    if base is dict:
        return (part for pair in dict.items(value) for part in pair)
    if base is range:
        return iter((value.start, value.stop, value.step))
    if base is Iterator:
        return islice(value, LONGEST_ITERATOR)
    return iter(base.__iter__(value))


def decode(data: Any) -> Any:
    """Read a value that :func:`encode` wrote."""
    if data is None or isinstance(data, str | int | float):
        return data
    tag, *parts = data
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag][1]([decode(part) for part in parts])
    if tag != "subclass":
        raise ValueError(tag)
    (part,) = parts
    return decode(part)


def holds(data: Any, tag: str) -> bool:
    """Whether a value, as :func:`encode` wrote it, is or holds one with a tag."""
    left = [data]
    while left:
        part = left.pop()
        if isinstance(part, list):
            if part[:1] == [tag]:
                return True
            left += part
    return False


class Remote:
    """A function of the candidate's process, known by its name there."""

    def __init__(self, peer: Peer, name: str) -> None:
        self._peer = peer
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it there; what it returns and raises comes back as plain values."""
        return self._peer.call(self._name, args, kwargs)

    def __getattr__(self, attribute: str) -> Any:
        """Refuse to say."""
        raise self._peer.unsendable(f"the tests use {self._name}.{attribute}, not only calls")

    def __eq__(self, other: object) -> bool:
        """Refuse to say."""
        raise self._peer.unsendable(f"the tests compare {self._name}, and only calls can be sent")

    __hash__ = object.__hash__


class Peer:
    """One end of the conversation."""

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        self.called = False
        self.stopped: BaseException | None = None  # tests may catch even this
        self.stripped = False
        self.foreign = False
        self.changing = False

    def send(self, message: dict[str, Any]) -> None:
        """Write a message."""
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            left = left[os.write(self._out, left) :]

    def receive(self) -> dict[str, Any]:
        """Read a message."""
        try:
            line = self._in.readline(MESSAGE_BYTES)
            message = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError, OSError):
            message = None
        if not isinstance(message, dict):
            raise self._stop(EndedError(ENDED))
        return message

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the candidate's process."""
        self.called = True
        sent = [encode(value) for value in (args, kwargs)]
        if holds(sent, "opaque") or holds(sent, "iterator"):
            raise self.unsendable("the tests pass a value that cannot be sent")
        self.send({"call": name, "args": sent[0], "kwargs": sent[1]})
        message = self.receive()
        self.stripped = self.stripped or holds([sent, message.get("value")], "subclass")
        try:
            error = self._error(message) if "raised" in message else None
            value = None if error else self._value(message)
        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RecursionError):
            raise self._stop(EndedError("its reply cannot be read")) from None
        if error is not None:
            raise error
        return value

    def _value(self, message: dict[str, Any]) -> Any:
        """Read what a call returned."""
        if holds(message.get("value"), "opaque"):
            raise self.unsendable("it returned a value that isn't plain")
        self.changing = self.changing or bool(message.get("changed"))
        return decode(message["value"])

    def _error(self, message: dict[str, Any]) -> Exception:
        """Make an error of the nearest built-in kind."""
        names = [str(name) for name in message["raised"]]
        kinds = [getattr(builtins, name, None) for name in names]
        errors = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)]
        kind = next((kind for kind in errors if kind not in _NOT_RAISED), Exception)
        plain = not holds(message["given"], "opaque")
        self.foreign = self.foreign or kind.__name__ != names[0] or not plain
        return kind(*(decode(message["given"]) if plain else names[:1]))

    def unsendable(self, reason: str) -> BaseException:
        """Note that the tests ask for more than can be sent."""
        return self._stop(UnsendableError(reason))

    def _stop(self, error: BaseException) -> BaseException:
        self.stopped = self.stopped or error
        return error


def serve(program: str) -> None:
    """Load a program and serve calls of its functions; its standard output is dropped."""
    module = sys.modules["solution"] = types.ModuleType("solution")  # dataclasses look there
    names = module.__dict__
    peer = Peer()
    exec(compile(program, "<solution>", "exec"), names)  # noqa: S102 - the program itself
    peer.send({"ready": True})
    while True:
        try:
            message = peer.receive()
        except EndedError:
            return
        peer.send(reply(names, message))


def reply(names: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """Call one of a program's functions."""
    args, kwargs = decode(message["args"]), decode(message["kwargs"])
    every = (*args, *kwargs.values())
    before = json.dumps(encode(every))
    try:
        if message["call"] not in names:
            raise NameError(f"name {message['call']!r} is not defined")  # noqa: TRY301 - as its own
        answer = {"value": encode(names[message["call"]](*args, **kwargs))}
    except Exception as error:  # noqa: BLE001 - any of the function's own
        raised = [kind.__name__ for kind in type(error).__mro__]
        return {"raised": raised, "given": encode(tuple(error.args))}
    return {**answer, "changed": json.dumps(encode(every)) != before}


def run_tests(setup: str, tests: str, entry: str, *, count: bool) -> None:
    """Run tests on the other process's program, and write a report to standard error."""
    report = os.dup(2)
    peer = Peer()
    os.dup2(1, 2)
    failed: BaseException | None = None
    used: set[str] = set()
    try:
        peer.receive()
        tree = ast.parse(tests)
        used = _used(tree)
        _check(peer, (setup, tree, entry), used, report if count else None)
    except (Exception, SystemExit, EndedError, UnsendableError) as error:  # noqa: BLE001 - any
        failed = error
    passed, reason = _verdict(peer, peer.stopped or failed, used, tests)
    os.write(report, json.dumps({"passed": passed, "reason": reason}).encode())


def _verdict(
    peer: Peer, error: BaseException | None, used: set[str], tests: str
) -> tuple[bool | None, str]:
    """Say whether the program passed, or why plain values can't show it."""
    if error is None:
        return True, ""
    if isinstance(error, EndedError | UnsendableError):
        return (False if isinstance(error, EndedError) else None), str(error)
    said = f"{type(error).__name__}: {_shown(error, tests)}"
    if not peer.called:
        return None, f"its tests cannot be run: {said}"
    if peer.stripped or (peer.foreign and used & _CATCHERS):
        return None, f"only plain values and built-in errors can be sent: {said}"
    if peer.changing:
        return None, f"it changes its arguments, which the tests don't see: {said}"
    return False, said


def _shown(error: BaseException, tests: str) -> str:
    """Say what went wrong; of an assertion without words, which it is."""
    trace = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in trace if frame.filename == "<tests>" and frame.lineno]
    said = str(error) or (tests.splitlines()[lines[-1] - 1].strip() if lines else "")
    return said[:300]


class _ProgramNames(dict[str, Any]):
    """Python's own names, and behind them those of the program."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(vars(builtins))
        self._peer = peer

    def __missing__(self, name: str) -> Remote:
        return Remote(self._peer, name)


def _check(
    peer: Peer, sources: tuple[str, ast.Module, str], used: set[str], report: int | None
) -> None:
    setup, tree, entry = sources
    if used & _STREAMS:
        raise peer.unsendable("the tests use standard streams, which the program doesn't share")
    names: dict[str, Any] = {"__name__": "tests", "__builtins__": _ProgramNames(peer)}
    exec(compile(setup, "<setup>", "exec"), names)  # noqa: S102 - the problem's own
    if report is not None:
        tree = ast.fix_missing_locations(_AssertCounter().visit(tree))
        names[_AssertCounter.REPORT] = lambda: os.write(report, b"\n")
    exec(compile(tree, "<tests>", "exec"), names)  # noqa: S102 - the problem's own
    names["check"](Remote(peer, entry))


def _used(tree: ast.AST) -> set[str]:
    """Return the names and attributes that tests use; ``suppress`` also where they catch errors."""
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.alias):
            used.add(node.name)
        elif isinstance(node, ast.ExceptHandler):
            used.add("suppress")
    return used


class _AssertCounter(ast.NodeTransformer):
    """Make each ``assert`` count itself when it holds, and go on after a failure."""

    REPORT = "_heedful_holds"

    def visit_Assert(self, node: ast.Assert) -> ast.Try:
        report = ast.Expr(ast.Call(ast.Name(self.REPORT, ast.Load()), [], []))
        error = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
        return ast.Try([node, report], [error], [], [])
