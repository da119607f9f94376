"""The command line: it parses, calls the API and prints. One file a command."""

from __future__ import annotations

import sys

__all__ = ["main"]

USAGE = 2
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with its code.

    0: done. 1: done, but rows could not be read or coverage is too low. 2: wrong use.
    130: interrupted; the same command goes on.
    """
    from cyclopts import App, CycloptsError

    from heedful import __version__
    from heedful.errors import HeedfulError

    app = App(
        suppress_keyboard_interrupt=False,
        name="heedful",
        help="Did the model do everything it was asked?",
        version=__version__,
        version_flags=["--version"],
    )
    app.command(
        "heedful.cli.evaluate:evaluate",
        name="evaluate",
        help="Judge responses against their checklists.",
    )
    try:
        code = app(argv, exit_on_error=False, print_error=True)
    except CycloptsError:
        code = USAGE
    except HeedfulError as error:
        sys.stderr.write(f"heedful: {error}\n")
        code = USAGE
    except KeyboardInterrupt:
        sys.stderr.write("\nheedful: interrupted; the same command goes on where it stopped\n")
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
