"""The pages and their addresses.

``GET /``, ``/run/KEY``, ``/run/KEY/samples``, ``/run/KEY/samples/NUMBER``, ``/audit/KEY``,
``/accuracy/KEY``, ``/compare``; ``/run/KEY/samples.jsonl`` downloads.
The only addresses that write are ``POST /audit/KEY`` (an answer), ``POST /run/KEY/audit`` (an
audit is sampled) and ``POST /run/KEY/samples/NUMBER`` (a label, into a file beside the run).
"""

from __future__ import annotations

import secrets
import socket
import sqlite3
import webbrowser
from contextlib import asynccontextmanager, suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from heedful.core.errors import HeedfulError, RunError, UsageError
from heedful.core.net import is_loopback, listen
from heedful.pages.viewer import pages_compare, pages_runs, pages_samples, pages_writing
from heedful.pages.viewer.runs import NoRowError
from heedful.pages.viewer.state import Viewer
from heedful.reporting.html.environment import ASSETS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["serve"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # without any, browsers do not say where a form is from
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

READING = ("GET", "HEAD")

LOST = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
    'content="light dark"><title>No token – heedful</title><main><h1>Open the whole address</h1>'
    "<p>This page is for the browser that opened it with its token. <code>heedful view</code> "
    "printed the address, with the token, when it started.</p></main></html>"
)


class Keys:
    """Token, cookie and hosts that let a browser in."""

    def __init__(self, hosts: Iterable[str], port: int) -> None:
        # stands in the address that is printed, and then in the cookie
        self.token = secrets.token_urlsafe(32)
        # names and ports under which the pages may be requested, as in Host
        self.hosts = frozenset(f"{host}:{port}" for host in hosts)
        # the cookie's name: the ports of one machine share their cookies
        self.cookie = f"heedful_view_{port}"

    def fits(self, token: str) -> bool:
        """Say whether a token is ours, in the same time whatever it is."""
        return secrets.compare_digest(token.encode(), self.token.encode())


class Guard:
    """Lets through what may see the pages, and puts the headers on what goes out."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":  # the start and the end; other than HTTP is not spoken
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((n.encode(), v.encode()) for n, v in HEADERS.items()),
                    *([] if b"cache-control" in there else [(b"cache-control", b"no-store")]),
                ]
            await send(message)

        await (self._answer(scope) or self._app)(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to a request that is not let through."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._keys.hosts:
            text = "These pages are not served under this name; open the address as printed.\n"
            return PlainTextResponse(text, 421)
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        given = dict(query).get("token")
        if given is not None and scope["method"] in READING and self._keys.fits(given):
            return self._welcome(scope["path"], [pair for pair in query if pair[0] != "token"])
        if not self._keys.fits(self._cookie(headers)):
            return HTMLResponse(LOST, 403)
        if scope["method"] not in READING and headers.get("origin") != f"http://{host}":
            return PlainTextResponse("This request didn't come from a page of ours.\n", 403)
        return None

    def _welcome(self, path: str, query: list[tuple[str, str]]) -> ASGIApp:
        """Put the token into a cookie, and take it out of the address."""
        # One slash: two would begin the name of another host. And a page that goes on by itself,
        # no redirection: what another site redirects to us comes without strict cookies.
        place = "/" + path.lstrip("/") + ("?" + urlencode(query) if query else "")
        page = '<!doctype html><link rel="icon" href="data:,">'
        page += f'<meta http-equiv="refresh" content="0; url={escape(place)}">'
        answer = HTMLResponse(page)
        answer.set_cookie(
            self._keys.cookie, self._keys.token, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _cookie(self, headers: Headers) -> str:
        # The cookies of all servers of this machine come together, some of them malformed.
        return cookie_parser(headers.get("cookie", "")).get(self._keys.cookie, "")


HERE = Path(__file__).parent


def make_app(viewer: Viewer, keys: Keys) -> Guard:
    """Make the application."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            viewer.close()

    app = Starlette(
        routes=[
            Route("/", pages_runs.overview),
            Route("/run/{key}", pages_runs.run),
            Route("/run/{key}/samples.jsonl", pages_samples.download),
            Route("/run/{key}/samples", pages_samples.samples),
            Route("/run/{key}/samples/{number:int}", pages_samples.sample),
            Route("/run/{key}/samples/{number:int}", pages_writing.label, methods=["POST"]),
            Route("/run/{key}/audit", pages_writing.draw, methods=["POST"]),
            Route("/accuracy/{key}", pages_runs.accuracy),
            Route("/audit/{key}", pages_writing.audit),
            Route("/audit/{key}", pages_writing.answer, methods=["POST"]),
            Route("/compare", pages_compare.compare),
            Route("/compare/sample", pages_compare.compared_sample),
            Mount("/assets", StaticFiles(directory=ASSETS)),
            Mount("/own", StaticFiles(directory=HERE / "assets")),
        ],
        exception_handlers={
            HTTPException: _refused,
            HeedfulError: _failed,
            OSError: _failed,
            sqlite3.Error: _damaged,
            Exception: _defect,
        },
        lifespan=lifespan,
    )
    app.state.viewer = viewer
    return Guard(app, keys)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as registered
    viewer: Viewer = request.app.state.viewer
    return viewer.page("wrong.html", error.status_code, said=error.detail)


def _damaged(request: Request, error: Exception) -> Response:
    viewer: Viewer = request.app.state.viewer
    said = f"The run's store cannot be read: {error} (the file is damaged)"
    return viewer.page("wrong.html", 500, said=said)


def _defect(request: Request, error: Exception) -> Response:
    """Say that we erred; what happened goes to the terminal, for whoever reports it."""
    viewer: Viewer = request.app.state.viewer
    said = f"This is a defect of heedful ({type(error).__name__}); the terminal has the details."
    return viewer.page("wrong.html", 500, said=said)


def _failed(request: Request, error: Exception) -> Response:
    """Say on a page what is wrong with a run or a request; the other pages go on."""
    viewer: Viewer = request.app.state.viewer
    status = 500 if isinstance(error, RunError | OSError) else 400
    status = 404 if isinstance(error, NoRowError) else status
    return viewer.page("wrong.html", status, said=str(error))


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = False,
    annotator: str | None = None,
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
            make_app(Viewer(root, annotator=annotator), keys),
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
