"""Models of providers with an API of their own, through the ``any-llm-sdk`` package."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.models.faults import Fault, FaultError, FaultKind, fault_of
from heedful.models.redaction import Redactor
from heedful.models.remote import RemoteModel, encoded
from heedful.models.replies import read_completion
from heedful.models.turns import content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Message
    from heedful.models.base import Completion
    from heedful.models.limiter import AdaptiveLimiter


class AnyLLMModel(RemoteModel):
    """A model of any provider that ``any-llm-sdk`` knows: Anthropic, Gemini, Bedrock and others.

    The package finds the key, and the address where one is needed, in the environment, under the
    provider's own names. Calls are repeated here and not by the provider's package. A model that
    refuses ``temperature``, ``top_p`` or ``seed`` gets the request again without it, see
    :attr:`adaptations`.
    """

    _droppable = ("temperature", "top_p", "seed")

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        max_attempts: int = 6,
        backoff_s: float = 1.0,
        limiter: AdaptiveLimiter | None = None,
    ) -> None:
        """Describe the model; nothing is connected before the first call."""
        self.name = name
        self.provider, slash, self.model = name.partition("/")
        if not (slash and self.provider and self.model):
            hint = "write any:PROVIDER/MODEL, such as any:anthropic/claude-sonnet-4-5"
            raise UsageError("the model's name has no provider", where=name, hint=hint)
        if find_spec("any_llm") is None:
            hint = "pip install 'heedful[anyllm]'"
            raise UsageError("this provider needs the any-llm-sdk package", where=name, hint=hint)
        self._metadata = _provider_class(self.provider, name).get_provider_metadata()
        self.address = base_url or os.environ.get(self._metadata.env_api_base or "") or None
        self.api_key = api_key
        variables = self._metadata.env_key.split("/")
        super().__init__(
            self.model,
            f"of {self.provider}",
            Redactor([api_key or "", *(os.environ.get(key, "") for key in variables)]),
            timeout_s=timeout_s,
            max_attempts=max_attempts,
            backoff_s=backoff_s,
            limiter=limiter,
        )
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        """Show the name."""
        return f"AnyLLMModel({self.name!r})"

    @property
    def config(self) -> Mapping[str, Any]:
        """Provider and name, on which answers depend."""
        return {"model": f"any:{self.name}"}

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        client, self._client = self._client, None
        # Most providers' packages hold one client each, and most of those can be closed.
        close = getattr(getattr(client, "client", None), "close", None)
        if inspect.iscoroutinefunction(close):
            await close()

    def _key_hint(self) -> str:
        variable = self._metadata.env_key
        if self.redact:
            return f"check {variable}, and what the key is allowed to do"
        return f"set {variable}"

    def _turn(self, turn: Message) -> dict[str, Any]:
        if self.provider == "anthropic" and not turn.images:
            return {"role": turn.role, "content": content(turn)}
        return super()._turn(turn)

    async def _request(self, body: dict[str, Any]) -> tuple[Completion, float]:
        from any_llm.exceptions import AnyLLMError

        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._open().acompletion(**body)
        except TimeoutError:
            what = f"no complete answer within {self._timeout_s:g} s"
            raise FaultError(Fault(FaultKind.OVERLOADED, what)) from None
        except AnyLLMError as error:
            raise FaultError(_fault(error)) from None
        except (NotImplementedError, TypeError, ValueError) as error:
            # Refused by the package before anything is sent, or an answer it cannot read.
            what = f"{type(error).__name__}: {error}"
            raise FaultError(Fault(FaultKind.INVALID, what)) from None
        completion = read_completion(self.redact.body(encoded(answer.model_dump(warnings=False))))
        return completion, time.perf_counter() - started

    def _open(self) -> Any:
        """Return the provider's client of the running loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self._create(), loop
        return self._client

    def _create(self) -> Any:
        from any_llm import AnyLLM
        from any_llm.exceptions import UnsupportedParameterError

        options: dict[str, Any] = {
            "api_key": self.api_key,
            "api_base": self.address,
            "unified_exceptions": True,
        }
        try:
            return AnyLLM.create(self.provider, max_retries=0, **options)
        except UnsupportedParameterError:  # a provider whose package repeats nothing by count
            return AnyLLM.create(self.provider, **options)


def _provider_class(provider: str, name: str) -> Any:
    from any_llm import AnyLLM
    from any_llm.exceptions import UnsupportedProviderError

    try:
        kind = AnyLLM.get_provider_class(provider)
        missing = kind.MISSING_PACKAGES_ERROR
    except UnsupportedProviderError:
        known = ", ".join(sorted(AnyLLM.get_supported_providers()))
        hint = f"use one of {known}"
        raise UsageError(f"any-llm knows no provider {provider!r}", where=name, hint=hint) from None
    except ImportError as error:
        missing = error.__cause__ or error
    if missing is not None:
        hint = f"pip install 'any-llm-sdk[{provider}]'"
        raise UsageError(f"the provider's package is missing: {missing}", where=name, hint=hint)
    return kind


def _fault(error: Any) -> Fault:
    """Read an error of any-llm: by its HTTP status where there is one, or else by its class."""
    from any_llm import exceptions

    if error.status_code is not None:
        wait = getattr(error, "retry_after", None)
        headers = {} if wait is None else {"Retry-After": wait}
        body = {
            "message": error.message,
            "code": error.code,
            "type": error.error_type,
            "param": error.param,
        }
        return fault_of(error.status_code, headers, body)
    kinds = {
        exceptions.MissingApiKeyError: FaultKind.AUTH,
        exceptions.AuthenticationError: FaultKind.AUTH,
        exceptions.ModelNotFoundError: FaultKind.NOT_FOUND,
        exceptions.ContentFilterError: FaultKind.FILTERED,
        exceptions.RateLimitError: FaultKind.OVERLOADED,
        exceptions.ProviderError: FaultKind.TRANSIENT,
    }
    kind = next((kind for cls, kind in kinds.items() if isinstance(error, cls)), FaultKind.INVALID)
    parameter = getattr(error, "parameter_name", None)
    return Fault(kind, " ".join(error.message.split()), parameter=parameter)
