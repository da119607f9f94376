"""The protocol of batch endpoints, and HTTP as all of them need it."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from heedful.models.faults import OK, Fault, FaultError, FaultKind, backoff, failure, fault_of
from heedful.models.redaction import Redactor
from heedful.models.untrusted import items, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping, Sequence
    from typing import BinaryIO

    import aiohttp

    from heedful.core.errors import HeedfulError
    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Sampling

BODY_LIMIT = 64 * 2**20
"""Bytes of a JSON body, or of a line of results, after which it is given up."""

UNCLEAR = ""
"""Stands for the name of a batch of which nobody can tell yet whether it was submitted."""

SKEW_S = 3600
"""How far the server's clock may be off, in seconds."""

ATTEMPTS = 6
LONGEST_PAUSE_S = 30.0
_PAGES = 50
TIMEOUT_S = 600.0
"""Seconds without a byte after which a transfer is given up."""


class BatchStatus(NamedTuple):
    """How far a batch is."""

    ended: bool  # nothing more will be answered
    answered: int = 0  # requests that came to an answer or an error so far
    refused: str | None = None
    """Why the batch as a whole came to nothing; its requests may be made again."""

    crowded: bool = False
    """Whether it was refused because too much of the user's is in the provider's queue."""


class BatchService:
    """A provider's batch endpoint, for the requests of one model.

    A new provider's is a module here with a subclass, and a line in ``PROVIDERS``.

    Attributes:
        provider: its name, as in ``any:PROVIDER/NAME``.
        requests: how many requests a batch may have.
        size: how many bytes they may have together.
    """

    provider: str
    requests: int
    size: int

    def __init__(self, model: str, http: Connection) -> None:
        self._model = model
        self._http = http

    def request(
        self, number: str, messages: Sequence[Message], sampling: Sampling, sample: int
    ) -> bytes:
        """Write a request as one line of JSON, without the line's end."""
        raise NotImplementedError

    async def submit(self, requests: BinaryIO, tag: str) -> str:
        """Submit requests, one a line, under a tag; return the batch's name."""
        raise NotImplementedError

    async def find(self, tag: str, count: int, since: float, taken: Collection[str]) -> str | None:
        """Find a batch that may have been submitted: its name, or ``None`` where there is none.

        :data:`UNCLEAR` where that can be told only later.
        """
        raise NotImplementedError

    async def status(self, batch: str) -> BatchStatus:
        """Say how far a batch is."""
        raise NotImplementedError

    def answers(self, batch: str) -> AsyncIterator[tuple[str, Completion | Fault]]:
        """Yield the answers of a batch that has ended, by the requests' numbers, in any order.

        Requests may be missing.
        """
        raise NotImplementedError

    def adapt(self, fault: Fault) -> bool:
        """Change later requests after a fault; return whether that may help."""
        del fault
        return False

    def failure(self, fault: Fault) -> HeedfulError:
        """Make the error that the user sees of a fault."""
        return failure(
            fault,
            where=f"model {self._model} of {self.provider}",
            key_hint=f"check {self.provider.upper()}_API_KEY, and what the key is allowed to do",
            name_hint="check the model's name",
            redact=self._http.redact,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()


def split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """Separate the system prompt, all its turns as one text, from the other turns."""
    system = [turn.content for turn in messages if turn.role in ("system", "developer")]
    turns = [turn for turn in messages if turn.role not in ("system", "developer")]
    return "\n\n".join(system), turns


class Connection:
    """HTTP requests to a provider: JSON in both directions, and results line by line."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        *,
        redact: Redactor | None = None,
        backoff_s: float = 1.0,
    ) -> None:
        self.address = address
        self.redact = Redactor([], headers.items()) if redact is None else redact
        self._headers = dict(headers)
        self._backoff_s = backoff_s
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def get(self, path: str) -> dict[str, Any]:
        """Get an object, retrying where that may help."""
        for attempt in range(ATTEMPTS):
            try:
                return (await self.send("GET", path))[0]
            except FaultError as error:
                if not error.fault.kind.retryable or attempt == ATTEMPTS - 1:
                    raise
                pause = error.fault.retry_after or backoff(
                    attempt, self._backoff_s, LONGEST_PAUSE_S
                )
                await asyncio.sleep(min(pause, LONGEST_PAUSE_S))
        raise AssertionError  # the last attempt raises or returns

    async def pages(self, path: str, key: str, cursor: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the objects that stand under a key of a list, page by page.

        The parameter ``cursor`` takes the token of the next page, or the last object's id.
        """
        after = ""
        for _ in range(_PAGES):
            page = await self.get(f"{path}{after}")
            objects = items(page.get(key))
            for each in objects:
                yield each
            last = objects[-1].get("id") if objects and page.get("has_more") else None
            token = page.get("nextPageToken") or last
            if not token:
                return
            after = f"&{cursor}={quote(str(token), safe='')}"

    async def send(
        self, method: str, path: str, **content: Any
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Send a request once; return the object that it is answered with, and the headers."""
        async with _faults(), await self._open(method, path, content) as response:
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise FaultError(_too_large())
            if response.status != OK:
                raise self._error(response, bytes(body))
            return (self._object(body) if body else {}), response.headers

    async def lines(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the objects of a file of JSON lines."""
        async with _faults(), await self._open("GET", path, {}) as response:
            if response.status != OK:
                raise self._error(response, await response.content.read(BODY_LIMIT))
            rest = bytearray()
            async for chunk in response.content.iter_any():
                *whole, last = chunk.split(b"\n")
                for part in whole:
                    rest += part
                    if rest.strip():
                        yield self._object(rest)
                    rest.clear()
                rest += last
                if len(rest) > BODY_LIMIT:
                    raise FaultError(_too_large())
            if rest.strip():
                yield self._object(rest)

    def _error(self, response: aiohttp.ClientResponse, body: bytes) -> FaultError:
        return FaultError(fault_of(response.status, response.headers, self.redact.body(body)))

    def _object(self, body: bytearray) -> dict[str, Any]:
        try:
            value = parse(self.redact.body(bytes(body)))
        except (ValueError, RecursionError) as error:
            what = f"the answer is not JSON ({error})"
            raise FaultError(Fault(FaultKind.TRANSIENT, what)) from None
        if not isinstance(value, dict):
            raise FaultError(Fault(FaultKind.TRANSIENT, "the answer is not a JSON object"))
        return value

    async def _open(
        self, method: str, path: str, content: Mapping[str, Any]
    ) -> aiohttp.ClientResponse:
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            await self.close()
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=30.0, sock_read=TIMEOUT_S)
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=timeout, trust_env=True
            )
            self._loop = loop
        headers = self._headers | content.get("headers", {})
        options = {name: value for name, value in content.items() if name != "headers"}
        url = self.address + path
        # A redirect would send the key elsewhere.
        return await self._session.request(
            method, url, headers=headers, allow_redirects=False, **options
        )

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


@asynccontextmanager
async def _faults() -> AsyncIterator[None]:
    """Turn what goes wrong with a connection into faults."""
    import aiohttp

    try:
        yield
    except TimeoutError:
        raise FaultError(Fault(FaultKind.TRANSIENT, "no complete answer in time")) from None
    except (aiohttp.ClientError, OSError) as error:
        what = f"the connection failed: {error or type(error).__name__}"
        raise FaultError(Fault(FaultKind.TRANSIENT, what)) from None


def _too_large() -> Fault:
    return Fault(FaultKind.INVALID, f"the answer is larger than {BODY_LIMIT >> 20} MiB")


def name(value: object, where: str) -> str:
    """Take a name from a server that goes into a path."""
    if not (isinstance(value, str) and _NAME.fullmatch(value)) or ".." in value:
        raise FaultError(Fault(FaultKind.TRANSIENT, f"the server names {where} {value!r:.80}"))
    return value


_NAME = re.compile(r"\w[\w./-]{0,500}", re.ASCII)
