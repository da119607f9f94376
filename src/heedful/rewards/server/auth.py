"""Authentication, counting and logging of requests."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from heedful.core.errors import UsageError
from heedful.core.log import logger
from heedful.core.net import is_loopback
from heedful.rewards.server.admission import RefusedError, error_payload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from heedful.rewards.server.metrics import Metrics

    App = Callable[[Request], Awaitable[Response]]

OPEN = ("/health", "/ready")
"""Paths that need no token: probes have none."""

BODY = "heedful.body"
"""The key in a request's scope of the bytes that it sent, once they are being read."""

ENDPOINT = "heedful.endpoint"
"""The key of the endpoint's path, where there is one."""

_HOST = re.compile(rb"\s*(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d{1,5})?\s*", re.ASCII)


class AuthMiddleware:
    """Checks the token, and counts and logs each request, without its texts."""

    def __init__(self, app: App, metrics: Metrics, token: str | None) -> None:
        self._app = app
        self._metrics = metrics
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        started = time.perf_counter()
        status = 0
        self._metrics.open.inc()
        try:
            refused = self._refused(scope)
            if refused is None:
                response = await self._app(Request(scope, receive))
            else:
                response = refusal(refused)
            status = response.status_code
            await response(scope, receive, send)
        finally:
            if BODY in scope:
                scope[BODY].leave()
            self._metrics.open.dec()
            seconds = time.perf_counter() - started
            # Paths that no endpoint has are counted together: there may be any number of them.
            endpoint = scope.get(ENDPOINT, "other")
            self._metrics.answered(endpoint, status, seconds)
            if endpoint not in OPEN:
                method, taken = scope["method"], seconds * 1000
                logger.info("%s %s %d: %.1f ms", method, endpoint, status, taken)

    def _refused(self, scope: Scope) -> RefusedError | None:
        """Return why a request is refused, if it is."""
        headers = dict(scope["headers"])
        if self._token is None:
            return _of_a_page(scope["headers"])
        if scope["path"] in OPEN or hmac.compare_digest(_token_of(headers), self._token):
            return None
        return RefusedError(
            401,
            "the token is missing or wrong",
            hint="send the header Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _of_a_page(headers: Iterable[tuple[bytes, bytes]]) -> RefusedError | None:
    """Return why a request is refused that only a web page would send, if it is."""
    for name, value in headers:
        if name == b"origin" and not _is_here(value):
            return RefusedError(
                403,
                "requests of web pages are not answered without a token",
                hint="start the server with a token",
            )
        if name == b"host" and not (_HOST.fullmatch(value) and _is_here(b"//" + value)):
            return RefusedError(
                421,
                "without a token only requests to localhost or a loopback address are answered",
                hint="use the address that the server printed, or start it with a token",
            )
    return None


def _is_here(address: bytes) -> bool:
    """Whether only this machine is reached at an address."""
    try:
        return is_loopback(urlsplit(address.decode("latin-1")).hostname)
    except ValueError:
        return False


def refusal(refused: RefusedError) -> Response:
    """Lay out a refusal as JSON."""
    body = to_json({"error": error_payload(refused)})
    return Response(body, refused.status, refused.headers, "application/json")


def checked(host: str, token: str | None) -> str | None:
    """Check the token and strip white space."""
    if token is None:
        if not is_loopback(host):
            raise UsageError(
                f"other machines reach the server at {host}, and it has no token",
                hint="set HEEDFUL_TOKEN, or leave out --host",
            )
        return None
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("the token is empty or holds characters that no header has")
    return token


def _token_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the token of a request: a bearer's, or the password of any user."""
    kind, _, value = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() == b"bearer":
        return value.strip()
    if kind.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
