"""The two programs that test a candidate, each in a sandbox of its own, and how they talk.

The candidate's process loads the program and calls its functions. The tests' process holds the
tests and what they expect; there the candidate is a :class:`Remote`. Between them go lines of JSON
that hold plain values (:mod:`heedful.bench.grading.plain`), so what a candidate returns has no
methods of its own, and nothing that the tests know is in the candidate's process.

This file is sent to both processes as text, so it imports the standard library and ``plain`` alone.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import types
from typing import Any

from heedful.bench.grading.plain import (
    MUTABLE,
    UnsendableError,
    decode,
    encode,
    holds,
    is_opaque,
    is_used_up,
    unmarked,
    update,
)

ENDED = "it ended before its tests did"

MESSAGE_BYTES = 1 << 24
"""The longest message."""

_NOT_RAISED = (StopIteration, StopAsyncIteration)
"""Raised in a test, these would end a loop of it in silence."""


class EndedError(BaseException):
    """The other process has ended, or does not keep to the protocol."""


class Remote:
    """A function of the other process, known by its name there or by its number."""

    def __init__(self, peer: Peer, target: str | int) -> None:
        self._peer = peer
        self._target = target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it there; what it returns and raises comes back as plain values."""
        return self._peer.call(self._target, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """Refuse to say."""
        raise UnsendableError(f"the tests use {self._target}.{name}, and only calls can be sent")

    def __eq__(self, other: object) -> bool:
        """Equal nothing plain, where it was returned; a name of the program's may be anything."""
        if self is other:
            return True
        if isinstance(self._target, int) and not isinstance(other, Remote):
            return False
        raise UnsendableError(f"the tests compare {self._target}, and only calls can be sent")

    __hash__ = object.__hash__


class Peer:
    """One end of the conversation: calls the other's functions, and serves calls of its own."""

    def __init__(self, names: dict[str, Any], *, shared: bool = False) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        self._names = names
        self._shared = shared
        self._exported: list[Any] = []
        self.calls = 0
        self.opaque = False
        self.undecided: str | None = None
        self.ended: str | None = None
        self.ambiguous = False
        self.lost: str | None = None
        self.foreign = False

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
            self.ended = self.ended or ENDED
            raise EndedError(self.ended)
        return message

    def call(self, target: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the other process, and serve its calls meanwhile."""
        self.calls += 1
        number = self.calls
        sent = [encode(value, self._export) for value in (args, kwargs)]
        if any(map(is_opaque, sent)):
            raise UnsendableError(self._undecided("the tests pass a value that cannot be sent"))
        self._note(sent)
        self.send({"call": target, "id": number, "args": sent[0], "kwargs": sent[1]})
        while True:
            message = self.receive()
            if "call" in message:
                self._serve(message)
                continue
            try:
                return self._result(message, number, (*args, *kwargs.values()))
            except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RecursionError):
                if "raised" in message:
                    raise
                self.ended = "its reply cannot be read"
                raise EndedError(self.ended) from None

    def _result(self, message: dict[str, Any], number: int, args: tuple[Any, ...]) -> Any:
        if message["id"] != number:
            raise ValueError(number)
        if "raised" in message:
            raise self._error(message)
        value = decode(message["value"], self._remote)
        self.opaque = self.opaque or is_opaque(message["value"])
        if holds(message["value"], "subclass"):
            self.lost = "it returned an object of a class that isn't plain"
        returned = message.get("argument")
        self.ambiguous = self.ambiguous or returned is not None
        if "args" in message:
            if self._shared or value is None:
                for old, new in zip(args, decode(message["args"], self._remote), strict=True):
                    update(old, new)
            else:
                self.ambiguous = True
        return args[returned] if self._shared and returned is not None else value

    def _note(self, sent: list[Any]) -> None:
        """Note what the values that are sent lose."""
        if holds(sent, "iterator"):
            self.lost = "the tests pass an iterator, which is read before it is sent"
        if holds(sent, "subclass"):
            self.lost = "the tests pass an object of a class that isn't plain"

    def _error(self, message: dict[str, Any]) -> Exception:
        """Make an error of the nearest built-in kind, which says what it was."""
        names = [str(name) for name in message["raised"]]
        said = str(message.get("said", ""))
        for name in names:
            kind = getattr(builtins, name, None)
            if not isinstance(kind, type) or not issubclass(kind, Exception) or kind in _NOT_RAISED:
                continue
            for args in (decode(message.get("given"), self._remote), (said,)):
                try:
                    error = kind(*args)
                except TypeError:  # it wants something else
                    continue
                self.foreign = self.foreign or name != names[0] or str(error)[:300] != said
                return error
        self.foreign = True
        return RuntimeError(said)

    def serve(self) -> None:
        """Serve calls until the other process ends."""
        while True:
            try:
                message = self.receive()
            except EndedError:
                return
            self._serve(message)

    def _serve(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"id": message.get("id")}
        try:
            function = self._function(message["call"])
            args = decode(message["args"], self._remote)
            kwargs = decode(message["kwargs"], self._remote)
            value = function(*args, **kwargs)
            reply["value"] = encode(value, self._export)
            sent = [*message["args"][1:], *message["kwargs"][2::2]]
            every = (*args, *kwargs.values())
            after = [
                before if is_used_up(before) else encode(argument, _number)
                for argument, before in zip(every, sent, strict=True)
            ]
            if repr([*map(unmarked, after)]) != repr([*map(unmarked, sent)]):
                reply["args"] = ["tuple", *(encode(argument, self._export) for argument in every)]
            for place, argument in enumerate(every):
                if value is argument and isinstance(argument, MUTABLE):
                    reply["argument"] = place
        except Exception as error:  # noqa: BLE001 - any of the function's own
            raised = [kind.__name__ for kind in type(error).__mro__]
            reply = {"id": message.get("id"), "raised": raised, "said": _said(error)}
            reply["given"] = self._given(error)
        self.send(reply)

    def _function(self, target: str | int) -> Any:
        if isinstance(target, int):
            return self._exported[target]
        if target not in self._names:
            raise NameError(f"name {target!r} is not defined")
        return self._names[target]

    def _export(self, function: Any) -> int:
        self._exported.append(function)
        return len(self._exported) - 1

    def _given(self, error: Exception) -> Any:
        try:
            return encode(tuple(error.args), self._export)
        except Exception:  # noqa: BLE001 - its own
            return ["tuple"]

    def _remote(self, number: int) -> Remote:
        return Remote(self, number)

    def _undecided(self, reason: str) -> str:
        self.undecided = self.undecided or reason
        return reason


def _said(error: Exception) -> str:
    try:
        return str(error)[:300]
    except Exception:  # noqa: BLE001 - its own
        return ""


def _number(function: Any) -> int:
    """Number a function to compare values that hold it: those of the other process as it did."""
    target = vars(function).get("_target") if isinstance(function, Remote) else None
    return target if isinstance(target, int) else -1


def serve(program: str) -> None:
    """Load a program and serve calls of its functions; its standard output is dropped."""
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    peer = Peer(module.__dict__)
    exec(compile(program, "<solution>", "exec"), module.__dict__)  # noqa: S102 - the program itself
    peer.send({"ready": True})
    peer.serve()


def run_tests(setup: str, tests: str, entry: str, *, count: bool, shared: bool) -> None:
    """Run tests on the other process's program, and write a report to standard error."""
    report = os.dup(2)
    peer = Peer({}, shared=shared)
    os.dup2(1, 2)
    failed: Exception | SystemExit | None = None
    try:
        peer.receive()
        _check(peer, (setup, tests, entry), report if count else None)
    except UnsendableError as error:
        peer.undecided = peer.undecided or str(error)
    except EndedError:
        pass
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the tests' own, or the program's
        failed = error
        if not peer.calls:
            peer.undecided = f"its tests cannot be run: {type(error).__name__}: {error}"
        elif peer.opaque and not isinstance(error, AssertionError):
            peer.undecided = "it returned a value that isn't plain, and the tests use more of it"
    result: dict[str, Any] = {"ambiguous": peer.ambiguous}
    result |= {"lost": peer.lost, "foreign": peer.foreign, "ended": peer.ended is not None}
    if peer.ended is not None:
        result |= {"passed": False, "reason": peer.ended}
    elif peer.undecided is not None:
        result |= {"passed": None, "reason": peer.undecided}
    elif failed is not None:
        result |= {"passed": False, "reason": f"{type(failed).__name__}: {_shown(failed, tests)}"}
    else:
        result |= {"passed": True, "reason": ""}
    os.write(report, json.dumps(result).encode())


def _shown(error: BaseException, tests: str) -> str:
    """Say what went wrong; of an assertion without words, which it is."""
    said = str(error)[:300]
    trace = error.__traceback__
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<tests>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return said or tests.splitlines()[line - 1].strip()[:300] if line else said


def _check(peer: Peer, sources: tuple[str, str, str], report: int | None) -> None:
    setup, tests, entry = sources
    names: dict[str, Any] = {"__name__": "tests"}
    exec(compile(setup, "<setup>", "exec"), names)  # noqa: S102 - the problem's own
    tree = ast.parse(tests)
    for name in sorted(_free_names(tree) - names.keys()):
        names[name] = Remote(peer, name)
    if report is not None:
        tree = ast.fix_missing_locations(_AssertCounter().visit(tree))
        names[_AssertCounter.REPORT] = lambda: os.write(report, b"\n")
    exec(compile(tree, "<tests>", "exec"), names)  # noqa: S102 - the problem's own
    names["check"](Remote(peer, entry))


def _free_names(tree: ast.AST) -> set[str]:
    """Return the names that code uses and does not bind anywhere."""
    used: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used - bound - set(dir(builtins))


class _AssertCounter(ast.NodeTransformer):
    """Make each ``assert`` count itself when it holds, and go on after a failure."""

    REPORT = "_heedful_holds"

    def visit_Assert(self, node: ast.Assert) -> ast.Try:
        report = ast.Expr(ast.Call(ast.Name(self.REPORT, ast.Load()), [], []))
        error = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
        return ast.Try([node, report], [error], [], [])
