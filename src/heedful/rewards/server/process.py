"""The server process: start, signals, shutdown."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import UsageError
from heedful.core.log import logger
from heedful.core.machine import loop_runner
from heedful.core.net import listen
from heedful.core.text import amount
from heedful.rewards.server.admission import Limits
from heedful.rewards.server.workers import STOPPING, Worker, Workers

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from heedful.models import Price
    from heedful.rewards import Reward
    from heedful.rewards.server.admission import JudgingService

__all__: list[str] = []

KEEP_ALIVE_S = 75
"""Longer than clients keep idle connections: whoever closes one may cut off a request."""

FILES = 65_536
"""The limit on open files that is requested; a connection is one, the default often 1,024."""

LAST_WORDS_S = 5
"""After the grace period all are answered at once; seconds to get these answers out."""


def serve(
    reward: Reward,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    prices: Mapping[str, Price] | None = None,
    announce: Callable[[str], None] = lambda _: None,
) -> bool:
    """Serve a reward and its judge over HTTP, until SIGTERM or SIGINT.

    Then no new connection is accepted, and accepted requests are answered within the grace
    period. Call it in the main thread, where signals arrive.
    """
    for name in ("httptools", "prometheus_client", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise UsageError(f"{name} is not installed", hint="pip install 'heedful[serve]'")
    from heedful.rewards.server.auth import checked

    token = checked(host, token)
    _allow_connections()
    serving = Serving(reward, token, limits, prices)
    if limits.workers == 1:
        with (
            _signals_noted() as signals,
            listen(host, port) as listener,
            loop_runner(busy=True) as runner,
        ):
            return runner.run(serving.run(listener, signals, lambda: announce(_url(listener))))
    return _serve_by_workers(serving, host, port, announce)


def _serve_by_workers(
    serving: Serving, host: str, port: int, announce: Callable[[str], None]
) -> bool:
    count = serving.limits.workers
    with _listeners(host, port, count) as own, TemporaryDirectory(prefix="heedful-") as folder:

        def work(number: int, watched: int) -> bool:
            with _signals_noted() as signals, loop_runner(busy=True) as runner:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
                worker = Worker(Path(folder), number, watched)
                return runner.run(serving.run(own[number - 1], signals, lambda: None, worker))

        workers = Workers(count, work)
        serving.reward.share(count, Path(folder) / "answers")
        return workers.run(lambda: announce(_url(own[0])))


@contextmanager
def _listeners(host: str, port: int, count: int) -> Iterator[list[socket.socket]]:
    """Listen once for each worker: of one socket the first to wake takes all connections.

    Only Linux spreads connections over several sockets of one address.
    """
    with ExitStack() as stack:
        alone = stack.enter_context(listen(host, port))  # fails where others listen, shared or not
        if sys.platform != "linux":
            yield [alone] * count
            return
        port = alone.getsockname()[1]
        alone.close()
        yield [stack.enter_context(listen(host, port, shared=True)) for _ in range(count)]


class Serving(NamedTuple):
    """What is served."""

    reward: Reward
    token: str | None
    limits: Limits
    prices: Mapping[str, Price] | None

    async def run(
        self,
        listener: socket.socket,
        signals: list[int],
        started: Callable[[], None],
        worker: Worker | None = None,
    ) -> bool:
        """Serve in this process until a signal."""
        from heedful.rewards.server.admission import READ_AT_ONCE, JudgingService
        from heedful.rewards.server.app import application
        from heedful.rewards.server.auth import AuthMiddleware
        from heedful.rewards.server.metrics import Metrics

        reward, token = self.reward, self.token
        service = JudgingService(self.limits, max(READ_AT_ONCE, reward.concurrency))
        metrics = Metrics(reward, service.admission, self.prices)
        beside = nullcontext() if worker is None else worker.beside(metrics)
        async with reward.session() as session, beside:
            app = application(reward, session, service, metrics, worker)
            server = _server(AuthMiddleware(app, metrics, token), service)
            if not signals:
                started()
                await server.serve(sockets=[listener])
        if service.unanswered:
            logger.error("stopped with %s not judged", amount(service.unanswered, "sample"))
        return not service.unanswered


def _allow_connections() -> None:
    """Raise the limit on open files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _server(app: Any, service: JudgingService) -> Any:
    """Make uvicorn's server, which stops the judging service with it."""
    import uvicorn

    from heedful.rewards.server.protocol import BoundedProtocol

    loop = asyncio.get_running_loop()

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if self.should_exit:  # a second signal: don't wait
                loop.call_soon_threadsafe(service.close, 0.0)
            else:
                super().handle_exit(sig, frame)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            held = service.admission.held
            logger.info("stopping: %s being judged", amount(held, "sample"))
            service.close(service.limits.grace)
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        log_level="error",
        server_header=False,
        proxy_headers=False,
        http=BoundedProtocol,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(service.limits.grace) + LAST_WORDS_S,
    )
    return Server(config)


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Note signals before uvicorn handles them; it raises them again when it has stopped."""
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
