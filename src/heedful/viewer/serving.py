"""Serving the pages on this machine."""

from __future__ import annotations

import ipaddress
import socket
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

from heedful.errors import UsageError
from heedful.viewer.app import Viewer, make_app
from heedful.viewer.security import Keys

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
    """Serve the pages until interrupted.

    Args:
        root: the folder whose runs are shown.
        host: the address to listen at. Whoever reaches it needs the token, but what is sent is
            not encrypted: leave it at loopback, and reach it from elsewhere by a tunnel.
        port: the port; any free one unless given.
        browser: open a browser.
        say: told the address, and what else a person should know.

    Raises:
        UsageError: the folder is not there, or the port is taken.
    """
    import uvicorn

    if not root.is_dir():
        raise UsageError("there is no such folder", where=str(root), mend="name one with runs")
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    names = LOOPBACK if _is_loopback(host) else (*LOOPBACK, host, socket.gethostname())
    keys = Keys(names, port)
    everywhere = host in {"0.0.0.0", "::"}  # noqa: S104 - what a person asked for
    name = socket.gethostname() if everywhere else host
    shown = f"[{name}]" if ":" in name else name
    address = f"http://{shown}:{port}/?token={keys.token}"
    say(f"heedful view: {root}\n  {address}\n  Ctrl-C ends it.")
    if not _is_loopback(host):
        say("  Anybody who can read the traffic to this address can read the runs too.")
    viewer = Viewer(root)
    config = uvicorn.Config(
        make_app(viewer, keys),
        log_level="warning",
        access_log=False,  # it would hold the token
        server_header=False,
        lifespan="on",
    )
    if browser:
        webbrowser.open(address)
    server = uvicorn.Server(config)
    try:
        with suppress(KeyboardInterrupt):  # which is how a person ends it
            server.run(sockets=[listening])
    finally:
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # whoever is told the address may ask at once
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(
            f"cannot listen there: {getattr(error, 'strerror', None) or error}",
            where=f"{host}:{port}",
            mend="name another --port, or none for any that is free; --host is an address of ours",
        ) from error
    return listening


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
