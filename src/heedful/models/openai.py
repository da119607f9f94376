"""Models behind an OpenAI-compatible ``/chat/completions``: OpenAI, vLLM, SGLang, Ollama, any."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from heedful.core.errors import UsageError
from heedful.models.base import AuthError
from heedful.models.connections import ConnectError, LongReplyError, connections, reason
from heedful.models.faults import OK, Fault, FaultError, FaultKind, fault_of
from heedful.models.options import OPENAI_URL
from heedful.models.redaction import Redactor
from heedful.models.remote import RemoteModel, encoded
from heedful.models.replies import read_completion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Sampling
    from heedful.models.connections import Connections
    from heedful.models.folder import Protocol
    from heedful.models.limiter import AdaptiveLimiter

TokensField = Literal["auto", "max_tokens", "max_completion_tokens"]

BODY_LIMIT = 64 * 2**20
"""An answer with more bytes is given up."""

UNREACHED = 2
"""Connections that fail before any succeeds, after which the run stops."""

_OURS = ("messages", "model", "n", "stream")


class OpenAIModel(RemoteModel):
    """A model behind an OpenAI-compatible server.

    Calls that may succeed the next time are repeated. A model that refuses ``temperature``,
    ``top_p`` or the name of the token limit gets the request again without them, see
    :attr:`adaptations`. The key appears in no message, configuration or ``repr``.

    Attributes:
        address: what stands before ``/chat/completions``, without a query.
        headers: of every request; the key among them.
        redact: takes the secrets out of what the server says.
        sends_parts: images and tool calls of messages are sent.
        protocol: how a trained critic that is served is to be asked.
    """

    protocol: Protocol | None = None
    _name_hint = "check the model's name and the base URL, which often ends in /v1"

    def __init__(  # noqa: PLR0913 - the parts of a connection, each named by the caller
        self,
        name: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
        max_attempts: int = 6,
        backoff_s: float = 1.0,
        limiter: AdaptiveLimiter | None = None,
        completion_tokens_field: TokensField = "auto",
    ) -> None:
        """Describe the model; nothing is connected before the first call."""
        self.name = name
        self._url, self.address = _addresses(base_url)
        self._key_env = None if api_key is not None else api_key_env
        key = (os.environ.get(api_key_env, "") if api_key is None else api_key).strip()
        if not (key.isascii() and key.isprintable()):
            source = "api_key" if self._key_env is None else self._key_env
            raise UsageError(f"the key in {source} holds characters that no key has")
        self.headers = _headers(key, headers or {})
        query = parse_qsl(urlsplit(self._url).query)
        super().__init__(
            name,
            f"at {self.address}",
            Redactor([key], [*(headers or {}).items(), *query]),
            timeout_s=timeout_s,
            max_attempts=max_attempts,
            backoff_s=backoff_s,
            limiter=limiter,
        )
        self._official = urlsplit(self._url).hostname == "api.openai.com"
        self._renames_tokens_field = completion_tokens_field == "auto"
        self._tokens_field = completion_tokens_field
        if self._renames_tokens_field:
            self._tokens_field = "max_completion_tokens" if self._official else "max_tokens"
        self._reached = False
        self._unreached = 0  # connections that failed before the first that did not
        self._connections: Connections | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        """Show the name and the address."""
        return f"OpenAIModel({self.name!r}, base_url={self.address!r})"

    @property
    def config(self) -> Mapping[str, Any]:
        """The name, on which answers depend; the address may change while a run goes on."""
        return {"model": self.name}

    def _check(self) -> None:
        if self._official and "Authorization" not in self.headers:
            raise AuthError(
                f"there is no key for {self.address}",
                where=self._where,
                hint=f"{self._key_hint()}; for a model on another server give its base URL",
            )

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        opened, self._connections = self._connections, None
        if opened is not None:
            await opened.close()

    async def _request(self, body: dict[str, Any]) -> tuple[Completion, float]:
        open_connections = await self._open()
        started = time.perf_counter()
        try:
            reply = await open_connections.post(encoded(body))
        except TimeoutError:
            what = f"no complete answer within {self._timeout_s:g} s"
            raise FaultError(Fault(FaultKind.OVERLOADED, what)) from None
        except LongReplyError:
            what = f"the answer is larger than {BODY_LIMIT >> 20} MiB"
            raise FaultError(Fault(FaultKind.INVALID, what)) from None
        except OSError as error:
            what = f"the connection failed: {reason(error)}"
            kind = FaultKind.TRANSIENT
            if isinstance(error, ConnectError) and not self._reached:
                self._unreached += 1
                if self._unreached >= UNREACHED:
                    kind = FaultKind.UNREACHABLE
            raise FaultError(Fault(kind, what)) from None
        self._reached = True
        content = self.redact.body(reply.content)
        if reply.status != OK:
            raise FaultError(fault_of(reply.status, reply.headers, content))
        return read_completion(content), time.perf_counter() - started

    async def _open(self) -> Connections:
        """Return the connections of the running loop."""
        loop = asyncio.get_running_loop()
        if self._connections is not None and self._loop is loop:
            return self._connections
        stale, self._loop = self._connections, loop
        self._connections = opened = connections(
            self._url, self.headers, self._timeout_s, BODY_LIMIT
        )
        if stale is not None:
            await stale.close()
        return opened

    def body(self, messages: Sequence[Message], sampling: Sampling, sample: int) -> dict[str, Any]:
        """Lay out a request."""
        reserved = [field for field in _OURS if field in sampling.extra]
        if reserved:
            raise UsageError(
                f"the request's field {reserved[0]!r} cannot be set",
                where="sampling.extra",
                hint="leave it out; heedful requests one whole completion per call",
            )
        return super().body(messages, sampling, sample)

    def _key_hint(self) -> str:
        if self._key_env is None:
            return "check the key that was given, and what it is allowed to do"
        if "Authorization" not in self.headers:
            return f"set {self._key_env}, or name another variable"
        return f"check the key in {self._key_env}, and what it is allowed to do"


def _headers(key: str, more: Mapping[str, str]) -> dict[str, str]:
    """Make the headers of all requests."""
    bad = [name for name, value in more.items() if not (name + value).isprintable()]
    if bad:
        raise UsageError(f"the header {bad[0]} holds a line end or another control character")
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return headers | {name.title(): value for name, value in more.items()}


def _addresses(base_url: str) -> tuple[str, str]:
    """Return where requests go, and the address without its query, which may hold a key."""
    parts = urlsplit(base_url.strip())
    if parts.username or parts.password:
        raise UsageError(
            "the base URL holds a user or a password", hint="give the key as api_key or header"
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        shown = urlunsplit(parts._replace(query=""))
        raise UsageError(
            f"{shown!r} isn't a base URL", hint="give one such as http://localhost:8000/v1"
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    url = urlunsplit(parts._replace(path=f"{path}/chat/completions", fragment=""))
    return url, urlunsplit(parts._replace(path=path, query="", fragment=""))
