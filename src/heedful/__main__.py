"""Entry point of the command line; also ``python -m heedful``."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; an interrupt while it is being imported leaves no traceback."""
    try:
        from heedful.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("\nheedful: interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
