"""Starting the viewer: an address, a token, and pages until somebody interrupts."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.core.net import is_loopback, listen
from heedful.pages.viewer.app import make_app
from heedful.pages.viewer.security import Keys
from heedful.pages.viewer.state import Viewer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["serve"]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the pages until interrupted."""
    import uvicorn

    if not root.is_dir():
        raise UsageError("no such folder", where=str(root), hint="name one with runs")
    with listen(host, port) as listening:
        keys, address = _access(host, listening.getsockname()[1])
        say(f"heedful view: {root}\n  {address}\n  Ctrl-C ends it.")
        if not is_loopback(host):
            say("  Anybody who can read the traffic to this address can read the runs too.")
        config = uvicorn.Config(
            make_app(Viewer(root), keys),
            log_level="warning",
            access_log=False,  # it would hold the token
            server_header=False,
            lifespan="on",
        )
        if browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):  # which is how a person ends it
            uvicorn.Server(config).run(sockets=[listening])


def _access(host: str, port: int) -> tuple[Keys, str]:
    """Return the names under which the pages may be requested, and the address to open."""
    everywhere = host in {"0.0.0.0", "::"}  # noqa: S104 - as requested
    name = socket.gethostname() if everywhere else host
    shown = f"[{name}]" if ":" in name else name
    names = {*LOOPBACK, host, shown}
    if not is_loopback(host):
        names.add(socket.gethostname())
    keys = Keys(names, port)
    return keys, f"http://{shown}:{port}/?token={keys.token}"
