"""``heedful.toml``: flags of a project, for those that the command line does not give; and trust.

Keys are flags without their hyphens. At the top they are for every command that has the flag, in a
table such as ``[evaluate]`` or ``[bench.realcritic.run]`` for one command.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.commands import COMMANDS, Group
from heedful.cli.terminal import say
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from cyclopts import App
    from cyclopts.argument import Argument, ArgumentCollection

    from heedful.cli.commands import Command


FILE = Path("heedful.toml")

RISKY = frozenset({"api-key-env", "base-url", "header", "host", "output", "sandbox"})
"""Flags that send a key or a prompt somewhere, open a port, replace a file, or run programs
without a sandbox."""

SECRET = ("api-key", "token")
"""Flags that are never read from the file."""

ASKS_A_MODEL = ("checklist", "likelihood")

_ALIKE = 0.7
"""Similarity, by difflib's ratio, of a misspelled name and the one it was meant for."""

OF_A_MODEL = ("model", "prompt", "votes")
"""Flags that are left out where the command line names judges that ask no model."""


class Config:
    """Gives the parser the flags of ``heedful.toml``; the parser calls it for a command."""

    def __init__(self, path: Path = FILE) -> None:
        """Prepare to read the file, if there is one."""
        self._path = path

    def __call__(self, app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Add the flags that the command line does not give."""
        if not commands or not arguments or not self._path.is_file():
            return
        flags = {name: argument for argument in arguments for name in _names(argument)}
        given = {name for name, argument in flags.items() if argument.has_tokens}
        content = read(self._path)
        self._check_tables(content, COMMANDS)
        self._check_top(app, content, flags)
        settings = self._settings(content, commands, flags)
        if "judge" in given and not any(
            name in token.value for token in flags["judge"].tokens for name in ASKS_A_MODEL
        ):
            settings = {name: each for name, each in settings.items() if name not in OF_A_MODEL}
        settings = {name: each for name, each in settings.items() if name not in given}
        if settings:
            self._refuse_untrusted(settings, content)
            from cyclopts.argument import update_argument_collection

            say(f"{self._path}: {', '.join(settings)}")
            update_argument_collection(
                settings, str(self._path), arguments, root_keys=(), allow_unknown=False
            )

    def _refuse_untrusted(self, settings: Collection[str], content: Mapping[str, Any]) -> None:
        """Refuse a file, such as one of a cloned folder, that would send keys where it likes."""
        risky = [name for name in settings if name in RISKY]
        if risky and not is_trusted(self._path, content):
            raise UsageError(
                f"it sets {' and '.join(risky)}, and you haven't trusted it yet",
                where=str(self._path),
                hint="your prompts and keys may go where it says: read it, then run heedful trust",
            )

    def _check_tables(
        self, content: Mapping[str, Any], commands: Mapping[str, Command | Group], group: str = ""
    ) -> None:
        """Refuse a table that no command would ever read."""
        for name, value in content.items():
            if not isinstance(value, dict):
                continue
            named = commands.get(name)
            if named is None:
                raise UsageError(
                    f"[{group}{name}] is a table of no command",
                    where=str(self._path),
                    hint=_near(name, commands) or f"there are {', '.join(commands)}",
                )
            if isinstance(named, Group):
                self._check_tables(value, named.commands, f"{group}{name}.")

    def _check_top(self, app: App, content: Mapping[str, Any], flags: Collection[str]) -> None:
        """Refuse a key at the top that reads like a flag of the command, and is none of any.

        A key at the top may be for other commands, whose flags are looked up only if it does.
        """
        for name, value in content.items():
            hint = "" if isinstance(value, dict) or _key(name) in flags else _near(name, flags)
            if hint and not any(_key(name) in each for each in _every_flag(app)):
                what = f"{name!r} is a flag of no command"
                raise UsageError(what, where=str(self._path), hint=hint)

    def _settings(
        self, content: Mapping[str, Any], commands: tuple[str, ...], flags: Collection[str]
    ) -> dict[str, Any]:
        """Read the keys that are for a command."""
        settings: dict[str, Any] = {
            _key(name): value
            for name, value in content.items()
            if not isinstance(value, dict) and _key(name) in flags
        }
        table: Any = content
        for word in commands:
            table = table.get(word, {})
            if not isinstance(table, dict):
                what = f"{word} is not a table"
                raise UsageError(what, where=str(self._path), hint=f"write [{'.'.join(commands)}]")
        for name, value in table.items():
            if isinstance(value, dict):
                what = f"[{'.'.join(commands)}] has a table as {name!r}"
                raise UsageError(what, where=str(self._path), hint="give text or a number")
            if _key(name) not in flags:
                raise UsageError(
                    f"[{'.'.join(commands)}] has {name!r}, and the command no such flag",
                    where=str(self._path),
                    hint=_near(name, flags) or "--help-all names the flags",
                )
            settings[_key(name)] = value
        for name in settings:
            if name in SECRET:
                raise UsageError(
                    f"{name!r} is a secret, which does not belong into this file",
                    where=str(self._path),
                    hint="set an environment variable; api-key-env names it",
                )
        return settings


def _every_flag(app: App) -> Iterator[Collection[str]]:
    """Yield the flags of each command; their modules are imported for it."""
    for name in app:
        if name.startswith("-"):
            continue
        below = app[name]
        yield from _every_flag(below)
        if below.default_command is not None:
            yield {flag for each in below.assemble_argument_collection() for flag in _names(each)}


def _near(name: str, known: Iterable[str]) -> str:
    """Make the hint at what a name was probably meant for; empty where there is nothing like it."""
    from difflib import get_close_matches

    near = get_close_matches(_key(name), list(known), 1, _ALIKE)
    return f"did you mean {near[0]!r}?" if near else ""


def _names(argument: Argument) -> Iterator[str]:
    return (_key(name) for name in argument.names if name.startswith("--"))


def _key(name: str) -> str:
    return name.lstrip("-").replace("_", "-")


def trust(file: Path = FILE) -> int:
    """Trust this folder's heedful.toml: its addresses, keys, headers.

    A folder from somebody else could send your prompts and any key in your
    environment anywhere. Read the file first. It needs trust again once one of
    these flags in it changes.

    heedful trust

    Args:
        file: The file.
    """
    if not file.is_file():
        raise UsageError("no such file", where=str(file), hint="name a heedful.toml")
    content = read(file)
    risky = dict(_risky(content))
    if not risky:
        sys.stdout.write(f"{file} says nothing that needs trust\n")
        return 0
    remember(file, content)
    for name, value in risky.items():
        sys.stdout.write(f"trusted: {name} = {value}\n")
    return 0


def read(file: Path) -> Mapping[str, Any]:
    """Read a heedful.toml."""
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(file)) from error


def remember(file: Path, content: Mapping[str, Any]) -> None:
    """Note in the user's own configuration what a file says now."""
    path = _trusted_files()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as lines:
            lines.write(f"{_name(file, content)} {file.absolute()}\n")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error


def is_trusted(file: Path, content: Mapping[str, Any]) -> bool:
    """Whether what a file says of addresses, keys and programs needs no trust, or has it."""
    if not any(True for _ in _risky(content)):
        return True
    try:
        lines = _trusted_files().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    return _name(file, content) in {line.partition(" ")[0] for line in lines}


def _risky(content: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _risky(value, f"{table}{name}.")
        elif name.lstrip("-").replace("_", "-") in RISKY:
            yield f"{table}{name}", value


def _name(file: Path, content: Mapping[str, Any]) -> str:
    """Name a file by its place and by what it says that needs trust; the rest may change."""
    import json
    from hashlib import sha256

    said = [os.path.realpath(file), dict(_risky(content))]
    return sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _trusted_files() -> Path:
    folder = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path("~/.config").expanduser()) / "heedful" / "trusted"
