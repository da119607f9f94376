"""Write the reference of the command line, from the commands themselves.

python tools/cli_reference.py            # writes docs/reference/cli.md
python tools/cli_reference.py --check    # exit code 1 if that file is not up to date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from heedful.cli import application
from heedful.cli.commands import COMMANDS, Command, Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cyclopts import App, Argument

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"

HEAD = """# Command line

<!-- Written by tools/cli_reference.py from the commands; edit their help instead. -->

Every command has `--help`. Exit codes: 0, done; 1, done, but rows could not be read, coverage is
below `--min-coverage`, or nothing came of it; 2, wrong use; 130, interrupted, and the same command
goes on.
"""

KINDS = {"Path": "PATH", "str": "TEXT", "int": "NUMBER", "float": "NUMBER"}


def page() -> str:
    """Return the whole page, as Markdown."""
    app = application()
    blocks = [HEAD, _contents(), *_commands(app, COMMANDS, ("heedful",))]
    return "\n".join(blocks)


def _contents() -> str:
    """List all commands with the first sentence of their help."""
    rows = [
        f"| [`{' '.join(words)}`](#{'-'.join(words)}) | {each.help.strip().splitlines()[0]} |"
        for words, each in _walk(COMMANDS, ("heedful",))
    ]
    return "\n".join(["| command | |", "| --- | --- |", *rows, ""])


def _walk(
    commands: Mapping[str, Command | Group], before: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Command | Group]]:
    for name, each in commands.items():
        yield (*before, name), each
        if isinstance(each, Group):
            yield from _walk(each.commands, (*before, name))


def _commands(
    app: App, commands: Mapping[str, Command | Group], before: tuple[str, ...]
) -> Iterator[str]:
    """Describe commands, those of groups after their group."""
    for name, each in commands.items():
        words = (*before, name)
        yield f"## {' '.join(words)}\n"
        yield _help(each.help)
        if isinstance(each, Group):
            yield from _commands(app[name], each.commands, words)
        else:
            yield from _options(app[name])


def _help(text: str) -> str:
    """Set the examples of a help text apart as code."""
    blocks = []
    for block in text.strip().split("\n\n"):
        if block.startswith("heedful "):
            blocks.append(f"<!-- not run: the files are the reader's -->\n```sh\n{block}\n```\n")
        else:
            blocks.append(block + "\n")
    return "\n".join(blocks)


def _options(app: App) -> Iterator[str]:
    """Describe what a command takes: a table for each group of options."""
    groups: dict[str, list[str]] = {}
    for argument in app.assemble_argument_collection(parse_docstring=True):
        if not argument.show or argument.name == "*":
            continue
        group = argument.parameter.group[0]
        title = getattr(group, "name", str(group))
        groups.setdefault(title, []).append(_row(argument))
    for title, rows in groups.items():
        heading = "Arguments and options" if title in {"Parameters", "Arguments"} else title
        yield f"**{heading}**\n"
        yield "\n".join(["| | | default |", "| --- | --- | --- |", *rows, ""])


def _row(argument: Argument) -> str:
    """Describe one option: its names, its meaning, its default."""
    if argument.parameter.name and argument.name.startswith("-"):
        names = [name for name in argument.names if "_" not in name]
    else:
        names = [argument.name]
    if argument.index is not None:
        place = (argument.name if not argument.name.startswith("-") else argument.name[2:]).upper()
        names = [place, *(name for name in names if name.upper() != place)]
    shown = ", ".join(f"`{name}`" for name in names)
    text = " ".join(str(argument.parameter.help or "").split())
    kind = _kind(argument.hint)
    return f"| {shown}{f' {kind}' if kind else ''} | {_cell(text)} | {_default(argument)} |"


def _kind(hint: Any) -> str:
    """Say what a value may be: choices as they are, else the kind of value."""
    if get_origin(hint) is Literal:
        return "\\|".join(f"`{choice}`" for choice in get_args(hint))
    kinds = [KINDS[name] for name in re.findall(r"\w+", str(getattr(hint, "__name__", hint)))
             if name in KINDS]  # fmt: skip
    if not kinds:
        kinds = [KINDS[name] for name in re.findall(r"\w+", str(hint)) if name in KINDS]
    return f"{kinds[0]}{' …' if 'list' in str(hint) else ''}" if kinds else ""


def _default(argument: Argument) -> str:
    if argument.required:
        return "required"
    default = argument.field_info.default
    if default is None or default is False or default == [] or argument.index is not None:
        return ""
    return "on" if default is True else f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the page, or say whether it is up to date."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/reference/cli.md is not up to date: python tools/cli_reference.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
