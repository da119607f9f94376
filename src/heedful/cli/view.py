"""``heedful view``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from heedful.core.errors import UsageError


def view(
    runs_dir: Path | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open: Annotated[bool, Parameter(negative="")] = False,  # noqa: A002 - the name users know
) -> int:
    """Look at runs in a browser.

    Args:
        runs_dir: The folder whose runs are shown, with those in its folders; or one run. Default:
            the current folder.
        host: The address to listen at; what is sent is not encrypted, so leave it at loopback.
        port: The port. Default: any that is free.
        open: Open a browser.
    """
    try:
        from heedful.pages.viewer.app import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the viewer needs {error.name}", hint="pip install 'heedful[view]'"
        ) from error
    root = runs_dir or Path()
    serve(root, host=host, port=port, browser=open, say=_say)
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
