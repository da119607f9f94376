"""Write the reference of the command line, from the commands themselves.

python tools/cli_reference.py            # writes docs/reference/cli.md
python tools/cli_reference.py --check    # exit code 1 if that file is not up to date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docstring_parser import parse

from heedful.cli import application
from heedful.cli.commands import COMMANDS, Command, Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cyclopts import App, Argument

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"

HEAD = """# Command line

<!-- Written by tools/cli_reference.py from the commands; edit their help instead. -->

Every command has `--help`, with its everyday flags, and `--help-all`. A folder's flags are in
[`heedful.toml`](../commands.md#flags-of-a-folder-heedfultoml). Exit codes: 0, done; 1, done, but
rows could not be read, coverage is below `--min-coverage`, or nothing came of it; 2, wrong use;
130, interrupted, and the same command goes on.
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
        yield f"{'#' * min(len(words), 4)} {' '.join(words)}\n"
        if isinstance(each, Group):
            yield _help(each.help)
            yield from _commands(app[name], each.commands, words)
        else:
            described = parse(app[name].default_command.__doc__ or "")
            yield _help(f"{described.short_description}\n\n{described.long_description or ''}")
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
        # The star stands for a whole group of options, whose members come one by one.
        if argument.show and argument.name != "*":
            groups.setdefault(_group(argument), []).append(_row(argument))
    for title, rows in groups.items():
        yield f"**{title}**\n"
        yield "\n".join(["| | | default |", "| --- | --- | --- |", *rows, ""])


def _group(argument: Argument) -> str:
    groups = argument.parameter.group
    group = groups[0] if isinstance(groups, tuple) else groups
    name = getattr(group, "name", str(group))
    return "Arguments and options" if name in {"Parameters", "Arguments"} else name


def _row(argument: Argument) -> str:
    """Describe one option: its names and what it takes, its meaning, its default."""
    place = [] if argument.index is None else [argument.name.lstrip("-").upper()]
    options = [name for name in argument.names if name.startswith("-") and "_" not in name]
    names = ", ".join(f"`{name}`" for name in place + options)
    meaning = " ".join((argument.parameter.help or "").split()).replace("|", "\\|")
    return f"| {names}{_values(argument)} | {meaning} | {_default(argument)} |"


def _values(argument: Argument) -> str:
    """Say what may be given: one of some words, or a kind of value; nothing for a switch."""
    choices = argument.get_choices()
    if choices:
        return " " + " \\| ".join(choices)
    kinds = [KINDS[word] for word in re.findall(r"\w+", str(argument.hint)) if word in KINDS]
    more = " …" if "list[" in str(argument.hint) else ""
    return f" {kinds[0]}{more}" if kinds else ""


def _default(argument: Argument) -> str:
    default = argument.field_info.default
    if argument.required:
        return "required"
    if default is True:
        return "on"
    shown = isinstance(default, (str, int, float)) and default is not False
    return f"`{default}`" if shown else ""


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
