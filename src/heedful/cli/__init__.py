"""The command line: it parses, calls the API and prints. One file a command."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from heedful.cli.commands import COMMANDS, PANELS, Command
from heedful.cli.config import Config
from heedful.cli.help import HELP_ALL, HelpText, meant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cyclopts import App

    from heedful.cli.commands import Group

__all__ = ["application", "main"]

USAGE = 2
INTERRUPTED = 130

HELP = frozenset({"--help", "-h"})
PATHS = frozenset({"--run", "--input", "-i", "--output", "-o", "--responses"})
"""Flags whose value, where it is empty, would be the current folder."""

PARSED = {"-": "./-", HELP_ALL: "--help"}
"""Words that the parser is given for others: it takes a lone hyphen, standard input, for a flag."""

STORE_HINT = "on a full disk make room, then give the same command; else name another --run"


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with its code.

    0: done. 1: done, but rows could not be read or coverage is too low. 2: wrong use.
    3: done, and a gate was not passed. 130: interrupted; re-run the same command to resume.
    """
    # Imports and JSON make many objects and few cycles; the collector's default rhythm costs an
    # eighth of a short command.
    gc.set_threshold(50_000, 20, 50)
    # pydantic's own plugins: the look for them would import 30 modules.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from cyclopts import CycloptsError

    from heedful.cli.terminal import flush, open_closed_streams, say, spell_out, warn_plainly
    from heedful.core.errors import HeedfulError, HeedfulWarning
    from heedful.engine.sessions import COMMAND, without_secrets

    open_closed_streams()
    spell_out(sys.stdout, sys.stderr)
    warn_plainly(HeedfulWarning)
    given = sys.argv[1:] if argv is None else argv
    before = COMMAND.set(without_secrets(given))
    help_text = HelpText(everything=HELP_ALL in given)
    try:
        code = _carried_out(_parsed(given), help_text)
        flush(sys.stdout)
    except CycloptsError as error:
        error.verbose = False
        command = " ".join(["heedful", *(error.command_chain or ())])
        say(f"heedful: {meant(error) or str(error).rstrip('.')} (see {command} --help)")
        code = USAGE
    except HeedfulError as error:
        say(f"heedful: {error}")
        code = USAGE
    except _store_errors() as error:
        say(f"heedful: the run's store cannot be used: {error} ({STORE_HINT})")
        code = USAGE
    except KeyboardInterrupt as stop:
        resume = f"; {stop}" if stop.args else ""
        say("", f"heedful: interrupted{resume}")
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        code = 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say(f"heedful: {where}{error.strerror or error}")
        code = USAGE
    finally:
        COMMAND.reset(before)
        if help_text.hidden:
            named = " ".join(word for word in given if word not in HELP)
            with suppress(BrokenPipeError):
                sys.stdout.write(f"{help_text.hidden} more flags: heedful {named} {HELP_ALL}\n")
    sys.exit(code if isinstance(code, int) else 0)


def _carried_out(words: list[str], help_text: HelpText) -> object:
    """Do what the words say."""
    from heedful.core import plugins

    app = application(plugins.listing() if HELP.intersection(words[1:]) else "", help_text)
    _show_docstring(app, words)
    return app(words, exit_on_error=False, print_error=False)


def _show_docstring(app: App, words: Sequence[str]) -> None:
    """Have the help of the command that is called be its docstring, not its line in the overview.

    A command is imported where it is looked up, so the others keep their lines.
    """
    for word in words:
        if word.startswith("-") or word not in app:
            return
        app = app[word]
        if app.default_command is not None:
            app.help = None


def _parsed(given: Sequence[str]) -> list[str]:
    """Return the words that the parser is given."""
    for before, word in pairwise(["", *given]):
        empty = word[:-1] in PATHS if word.endswith("=") else not word
        if empty and (word or before in PATHS or not before.startswith("-")):
            from heedful.core.errors import UsageError

            name = word[:-1] or (before if before in PATHS else "an argument")
            raise UsageError(f"{name} is empty", hint="name a file or directory, or leave it out")
    return [PARSED.get(word, word) for word in given]


def _store_errors() -> tuple[type[Exception], ...]:
    """Return what SQLite raises, where it was needed at all: its import takes time."""
    sqlite = sys.modules.get("sqlite3")
    return () if sqlite is None else (sqlite.Error,)


def application(epilogue: str = "", help_text: HelpText | None = None) -> App:
    """Make the application with all its commands, none of them imported yet."""
    from cyclopts import App
    from cyclopts import Group as Panel

    from heedful.core.version import __version__

    app = App(
        help_format="plaintext",  # markdown would cost 30 ms of start-up
        suppress_keyboard_interrupt=False,
        name="heedful",
        help="Did the model do everything it was asked?",
        help_epilogue=epilogue,
        help_formatter=help_text or HelpText(everything=True),
        version=__version__,
        version_flags=["--version"],
        config=Config(),
        group_commands=Panel("Other", sort_key=len(PANELS)),
    )
    _register(app, COMMANDS, PANELS)
    return app


def _register(
    app: App,
    commands: Mapping[str, Command | Group],
    panels: Mapping[str, Sequence[str]] | None = None,
) -> None:
    from cyclopts import App
    from cyclopts import Group as Panel

    panel_of: dict[str, Panel] = {}
    for place, (title, names) in enumerate((panels or {}).items()):
        panel_of |= dict.fromkeys(names, Panel(title, sort_key=place))
    for name, each in commands.items():
        panel = panel_of.get(name)
        if isinstance(each, Command):
            app.command(f"{__name__}.{each.target}", name=name, help=each.help, group=panel)
        else:
            group = App(name=name, help=each.help, help_format="plaintext", group=panel)
            _register(group, each.commands)
            app.command(group)
