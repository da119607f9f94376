"""Access to the pages: for a browser with the token, on this machine, and no other site.

What each part is against:

- the token, then a cookie: other users and programs of this machine, which reach the port too;
- the ``Host`` header: a site whose name is made to point to this machine (DNS rebinding);
- the ``Origin`` of what writes: forms of other sites, those on other ports of this machine too;
- the content security policy: text of a run that would be taken for a script.
"""

from __future__ import annotations

import secrets
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    "This page is for the browser that opened it with its token.\n"
    "Open the whole address that heedful view printed when it started.\n"
)


class Keys:
    """Token, cookie and hosts that let a browser in.

    Attributes:
        token: stands in the address that is printed, and then in the cookie.
        hosts: names and ports under which the pages may be requested, as in ``Host``.
        cookie: the cookie's name: the ports of one machine share their cookies.
    """

    def __init__(self, hosts: Iterable[str], port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self.hosts = frozenset(f"{host}:{port}" for host in hosts)
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
            return PlainTextResponse(LOST, 403)
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
