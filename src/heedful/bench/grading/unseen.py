"""Tests that ask for more than plain values can show, so that their verdict may be wrong.

The tests and the program are in two processes, so that neither output, identity, files nor kinds of
errors go from one to the other. Where tests use these, a program that fails may still be right.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

_OUTPUT = {"redirect_stdout", "redirect_stderr", "stdout", "stderr", "stdin", "capsys"}
"""Names that say that the tests read what a program prints, or write what it reads."""

_STATE = {"open", "environ", "putenv", "chdir", "seed", "setrecursionlimit", "patch", "modules"}
_STATE |= {"write_text", "write_bytes", "TemporaryDirectory", "NamedTemporaryFile", "mkdtemp"}
"""Names that say that the tests change what a program in their own process would see."""

_EXITS = {"SystemExit", "KeyboardInterrupt", "BaseException", "GeneratorExit"}
_CATCHERS = {"raises", "assertRaises", "assertRaisesRegex", "suppress"}


_IDENTITY = {("operator", "is_"), ("operator", "is_not")}
_IDENTITY |= {("self", "assertIs"), ("self", "assertIsNot")}


def unseen(tests: str, report: dict[str, Any], *, passed: bool) -> str | None:
    """Say what tests use that doesn't reach them and may decide them; ``None`` if nothing."""
    nodes = list(ast.walk(ast.parse(tests)))
    names = {name for node in nodes for name in _names(node)}
    if names & _OUTPUT:
        return "the tests use standard streams, which the program doesn't share"
    if any(map(_is_identity, nodes)):
        return "the tests ask whether two objects are the same"
    if passed:
        return report.get("aliased")
    if report.get("ended"):
        return "the tests want it to exit, and that ends it" if names & _EXITS else None
    handlers = [node.type for node in nodes if isinstance(node, ast.ExceptHandler)]
    parts = [part for kind in handlers if kind is not None for part in ast.walk(kind)]
    caught = {part.id for part in parts if isinstance(part, ast.Name)}
    reasons = (
        (report.get("lost"), str(report.get("lost"))),
        (
            report.get("foreign") and (handlers or names & _CATCHERS),
            "it raised an error of its own kind, and only the built-in ones can be sent",
        ),
        (caught - _bound(nodes), "the tests catch an error of the program's own kind"),
        (names & _STATE, "the tests use files or other state that the program doesn't share"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _bound(nodes: list[ast.AST]) -> set[str]:
    """Return the built-in names, and those that tests import or define as a class."""
    aliases = (node for node in nodes if isinstance(node, ast.alias))
    names = {(alias.asname or alias.name).split(".")[0] for alias in aliases}
    names |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return names | {*dir(builtins)}


def _names(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    if isinstance(node, ast.alias):
        return (node.name,)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        target = node.value.startswith(("sys.std", "builtins.print", "builtins.input"))
        return ("stdout",) if target else ()
    return ()


def _is_identity(node: ast.AST) -> bool:
    """Whether it compares two objects by identity, neither of which is the same everywhere."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "id"
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and (node.value.id, node.attr) in _IDENTITY
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    return any(
        isinstance(operator, ast.Is | ast.IsNot)
        and not any(map(_is_everywhere, sides[at : at + 2]))
        for at, operator in enumerate(node.ops)
    )


def _is_everywhere(side: ast.expr) -> bool:
    if isinstance(side, ast.Call):
        return isinstance(side.func, ast.Name) and side.func.id == "type"
    if isinstance(side, ast.Name):
        return hasattr(builtins, side.id)
    return isinstance(side, ast.Constant) and (side.value is None or isinstance(side.value, bool))
