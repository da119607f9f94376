"""The server's endpoints, asked in this process: what is answered, refused, counted and let in."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

from heedful import Sample, Status, StopRunError, UsageError
from heedful.core.nouns import Judgment
from heedful.rewards import Reward
from heedful.rewards.server import Limits
from heedful.rewards.server.admission import MIB, Body, JudgingService, RefusedError
from heedful.rewards.server.app import application
from heedful.rewards.server.auth import AuthMiddleware, checked
from heedful.rewards.server.metrics import Metrics
from told import Told

CHECKED = {"text": "No commas.", "check": {"id": "punctuation:no_comma"}}
CODED: dict[str, Any] = {"prompt": "Greet.", "response": "Hi you", "checklist": [CHECKED]}
ASKED = {**CODED, "checklist": [CHECKED, "It is polite."]}
LOCAL = {"Host": "localhost"}

Ask = Callable[..., Awaitable[tuple[int, Any, dict[str, str]]]]


def served(
    test: Callable[[Ask, JudgingService], Awaitable[None]],
    judge: Told | None = None,
    token: str | None = None,
    limits: Limits = Limits(capacity=4, batch=3, body=10_000, bodies=20_000),  # noqa: B008
    **options: Any,
) -> None:
    """Run a test with a client and the service of a server."""

    async def run() -> None:
        reward = Reward(judge or Told(), **options)
        service = JudgingService(limits)
        metrics = Metrics(reward, service.admission, None)
        async with reward.session() as session:
            made = application(reward, session, service, metrics)
            app = AuthMiddleware(made, metrics, token)

            async def ask(path: str, body: Any = None, **headers: str) -> Any:
                return await answer(app, path, body, LOCAL | headers)

            await test(ask, service)

    asyncio.run(run())


async def answer(app: Any, path: str, body: Any, headers: dict[str, str]) -> Any:
    """Send a request as a web server does; return the answer's status, body and headers."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    parts = [] if body is None else [data[:10], data[10:]]
    events = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    events.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return events.pop(0) if events else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET" if body is None else "POST",
        "path": path,
    }
    scope |= {"headers": named, "query_string": b"", "root_path": "", "http_version": "1.1"}
    await app({**scope, "scheme": "http", "raw_path": path.encode()}, receive, send)
    said = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return sent[0]["status"], json.loads(text) if "json" in said["content-type"] else text, said


@pytest.mark.parametrize(
    ("path", "body", "status", "what"),
    [
        ("/v1/rewards", b"{", 400, "JSON"),
        ("/v1/rewards", [], 422, "an empty list, not an object"),
        ("/v1/rewards", {"samples": [CODED] * 4}, 413, "4 samples"),
        ("/v1/rewards", {"samples": [], "more": "x" * 10_000}, 413, "MiB"),
        ("/v1/critique", {**CODED, "response": None}, 422, "no response"),
        ("/v1/critique", {"prompt": "x", "response": "y"}, 422, "no checklist"),
        ("/v1/critique", {**CODED, "checklist": []}, 422, "the checklist is empty"),
        ("/openrlhf", {"query": ["a"], "prompts": ["a"], "labels": []}, 422, "1, 1 and 0"),
        ("/nowhere", {}, 404, "not found"),
        ("/health", {}, 405, "not allowed"),
    ],
)
def test_a_refusal_says_what(path: str, body: Any, status: int, what: str) -> None:
    async def test(ask: Ask, service: JudgingService) -> None:
        found, answered, _ = await ask(path, body)
        assert (found, what in answered["error"]["what"]) == (status, True)
        assert answered["error"]["hint"]
        await asyncio.sleep(0)
        assert (service.admission.held, service.admission.bytes) == (0, 0)

    served(test, undecided=0.0)


def test_rows_are_judged_and_counted() -> None:
    async def test(ask: Ask, _service: JudgingService) -> None:
        row = {**ASKED, "id": "mine"}
        status, found, _ = await ask(
            "/v1/rewards", {"samples": [row, CODED | {"response": "."}, 7]}
        )
        assert (status, found["rewards"]) == (200, [None, 0, None])
        mine, gated, broken = found["results"]
        assert (mine["id"], mine["bounds"], mine["decided"]) == ("mine", [0.5, 1], False)
        assert (mine["verdicts"], mine["undecided"]) == (["met", "failed"], "down")
        assert (gated["decided"], gated["gate"]["gate"]) == (True, "empty")
        assert (broken["id"], broken["error"]["where"]) == ("row-3", "samples[2]")
        _, one, _ = await ask("/v1/critique", ASKED)
        assert (one["coverage"], [each["status"] for each in one["judgments"]]) == (
            *(0.5, ["met", "failed"]),
        )
        _, text, _ = await ask("/metrics")
        for line in (
            'heedful_rewards_total{decided="true"} 1.0',
            'heedful_rewards_total{decided="false"} 1.0',
            'heedful_verdicts_total{status="failed"} 2.0',
            'heedful_requests_total{endpoint="/v1/rewards",status="200"} 1.0',
            "heedful_row_errors_total 1.0",
            "heedful_undecided_ratio 0.5",
            "heedful_samples_in_flight 0.0",
            "heedful_samples_capacity 4.0",
        ):
            assert line in text

    served(test, Told(lambda *_: Judgment(status=Status.FAILED, explanation="down")))


def test_openrlhf_gets_numbers_and_shares() -> None:
    async def test(ask: Ask, _service: JudgingService) -> None:
        label = json.dumps({"prompt": "Greet.", "checklist": [CHECKED]})
        sent = {"query": ["Greet.Hi", "Greet..", "Greet.Hi"], "prompts": ["Greet."] * 3}
        _, found, _ = await ask("/openrlhf", sent | {"labels": [label, label, "{"]})
        assert found["rewards"] == found["scores"] == [1, 0, 0.25]
        logs = found["extra_logs"]
        assert [logs[name] for name in ("undecided", "gated_empty", "coverage")] == [
            *([0, 0, 1], [0, 1, 0], [1, 1, 0]),
        ]
        counted = str(await ask("/metrics"))
        assert 'heedful_rewards_total{decided="true"} 2.0' in counted

    async def refused(ask: Ask, _service: JudgingService) -> None:
        assert (await ask("/openrlhf", {"query": [], "prompts": [], "labels": []}))[0] == 409

    served(test, undecided=0.25)
    served(refused)


def test_a_failing_model_a_full_server_and_a_stopping_one_are_not_ready() -> None:
    said = iter([StopRunError("the key is wrong"), Status.MET, Status.MET])

    def say(*_: Any) -> Any:
        now = next(said)
        if isinstance(now, StopRunError):
            raise now
        return now

    async def test(ask: Ask, service: JudgingService) -> None:
        assert (await ask("/ready"))[:2] == (200, {"status": "ok", "held": 0, "capacity": 4})
        status, found, _ = await ask("/v1/rewards", {"samples": [ASKED]})
        assert (status, found["error"]["what"]) == (502, "the key is wrong")
        status, found, _ = await ask("/ready")
        assert (status, found["status"], bool(found["error"])) == (503, "failing", True)
        assert (await ask("/health"))[0] == 200
        service.failing = None
        service.admission.enter(4)
        assert (await ask("/ready"))[1]["status"] == "full"
        status, found, headers = await ask("/v1/rewards", {"samples": [CODED]})
        assert (status, headers["retry-after"]) == (429, "1")
        service.admission.leave(samples=4)
        service.close(0.0)
        assert (await ask("/ready"))[1]["status"] == "stopping"
        status, found, _ = await ask("/v1/rewards", {"samples": [ASKED] * 2})
        assert (status, found["rewards"][1]) == (503, None)
        assert "stopping" in found["results"][1]["error"]["what"]

    served(test, Told(say))


def test_the_token_lets_in_and_without_one_only_this_machine() -> None:
    password = base64.b64encode(b"anybody:abcdef").decode()

    async def test(ask: Ask, _service: JudgingService) -> None:
        for sent, expected in (
            ("", 401), ("Bearer wrong", 401), ("abcdef", 401), ("Basic %%%", 401),
            ("Bearer abcdef", 200), (f"Basic {password}", 200),
        ):  # fmt: skip
            assert (await ask("/v1/critique", CODED, Authorization=sent))[0] == expected
        assert (await ask("/health", Host="gpu.example"))[0] == 200

    async def open_(ask: Ask, _service: JudgingService) -> None:
        for headers, expected in (
            ({"Origin": "https://example.com"}, 403), ({"Origin": "http://[x"}, 403),
            ({"Host": "rebound.example"}, 421), ({"Host": "user@localhost"}, 421),
            ({"Origin": "http://localhost:3000", "Host": "127.0.0.1:80"}, 200),
        ):  # fmt: skip
            assert (await ask("/v1/critique", CODED, **headers))[0] == expected

    served(test, token="abcdef")  # noqa: S106 - of this test
    served(open_)
    assert checked("127.0.0.1", None) is None
    assert checked("0.0.0.0", " x ") == "x"  # noqa: S104 - as a user may
    for host, token in (
        ("0.0.0.0", None),  # noqa: S104
        ("::1", " "),
        ("::1", "a b"),
        ("::1", "ä"),
        ("::1", "\a"),
    ):
        with pytest.raises(UsageError):
            checked(host, token)


def test_what_is_declared_too_large_or_comes_too_late_is_not_read() -> None:
    async def test(_ask: Ask, service: JudgingService) -> None:
        async def stream() -> Any:
            yield b"{"
            await asyncio.sleep(9)

        now = asyncio.get_running_loop().time()
        for declared, until, status in ((10_001, 9, 413), (20_001, 9, 413), (10, 0.01, 408)):
            with pytest.raises(RefusedError) as refused:
                await service.body(stream(), declared, Body(service.admission), now + until)
            assert refused.value.status == status
        assert f"{10_000 / MIB:g} MiB" in str(service._too_large())  # noqa: SLF001 - its words

    served(test)


def test_what_is_under_way_is_cancelled_with_the_server() -> None:
    ended: list[str] = []

    class Slow(Told):
        async def judge(self, sample: Any, requested: Any = None) -> Any:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append(f"{sample.id} {requested}")
                raise

    async def test() -> None:
        async with Reward(Slow()).session() as session:
            asking = asyncio.ensure_future(session.reward(Sample(**ASKED)))
            await asyncio.sleep(0.05)
        asking.cancel()

    asyncio.run(test())
    assert ended == [" [1]"]
