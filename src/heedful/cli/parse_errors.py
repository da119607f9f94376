"""Errors of the parser of the command line, in heedful's form: what is wrong, and a hint."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from heedful.cli.commands import COMMANDS, Command
from heedful.cli.help import HELP_ALL
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EXPECTED = {int: "give a whole number", float: "give a number", bool: "leave the value out"}
"""Hints for values that cannot be converted, by the type that was expected."""


def usage_error(error: CycloptsError) -> UsageError:
    """Turn an error of the parser into one of heedful's."""
    words = ["heedful", *(error.command_chain or ())]
    see_help = f"see {' '.join(words)} --help"
    error.verbose = False
    what, hint = str(error), see_help
    match error:
        case UnknownOptionError():
            flag = (error.token.keyword or error.token.value).partition("=")[0]
            names = [name for argument in error.argument_collection for name in argument.names]
            what, hint = (
                f"there is no flag {flag}",
                _nearest(flag, [*names, "--help", HELP_ALL]) or see_help,
            )
        case UnknownCommandError(unused_tokens=[name, *_]):
            what, hint = f"there is no command {name}", _nearest(name, _commands(words[1:])) or hint
        case UnusedCliTokensError(unused_tokens=tokens):
            what = f"there is no place for {' '.join(map(repr, tokens or ()))}"
        case MissingArgumentError():
            what = _missing(error)
        case CoercionError(token=Token() as token):
            what, hint = _unconverted(error, token, see_help)
        case RepeatArgumentError():
            what, hint = f"{error.token.keyword} is given more than once", "give it once"
    return UsageError(what, hint=hint)


def _nearest(name: str, names: Iterable[str]) -> str:
    """Suggest the name that was probably meant, if any."""
    near = get_close_matches(name, list(names), 1)
    return f"did you mean {near[0]}?" if near else ""


def _commands(words: Sequence[str]) -> Iterable[str]:
    """List the commands that may follow some words."""
    commands = COMMANDS
    for word in words:
        entry = commands.get(word)
        if entry is None or isinstance(entry, Command):
            break
        commands = entry.commands
    return commands


def _missing(error: MissingArgumentError) -> str:
    argument: Any = error.argument
    flag = error.keyword or next(
        (token.keyword for token in argument.tokens if token.keyword), None
    )
    if flag is not None:
        return f"{flag} has no value"
    # A name with a position may be given without its flag.
    name = argument.name if argument.index is None else argument.name.lstrip("-").upper()
    return f"{name} is missing"


def _unconverted(error: CoercionError, token: Token, see_help: str) -> tuple[str, str]:
    argument: Any = error.argument
    from_file = token.source not in {"", "cli"}
    name = f"{token.source}: {argument.name[2:]}" if from_file else token.keyword
    name = name or argument.name.lstrip("-").upper()
    if error.msg is not None:
        return f"{name} is {token.value!r}: {error.msg}", see_help
    if get_origin(error.target_type) is Literal:
        choices = list(map(str, get_args(error.target_type)))
        hint = _nearest(token.value, choices) or f"choose from {', '.join(choices)}"
    else:
        hint = next(
            (hint for kind, hint in EXPECTED.items() if error.target_type is kind), see_help
        )
    return f"{name} is {token.value!r}", hint
