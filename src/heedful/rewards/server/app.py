"""The endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json
from starlette.exceptions import HTTPException

from heedful.core.errors import HeedfulError, StopRunError
from heedful.data.formats.fields import explain
from heedful.data.formats.files import shown
from heedful.rewards import Rewarded
from heedful.rewards.adapters import openrlhf_sample
from heedful.rewards.server import bodies as shapes
from heedful.rewards.server import openapi as document
from heedful.rewards.server import replies
from heedful.rewards.server.admission import LateError, sliced
from heedful.rewards.server.auth import counts_of
from heedful.rewards.server.errors import RefusedError, error_payload
from heedful.rewards.server.limits import Body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Critique
    from heedful.rewards import Reward
    from heedful.rewards.background import RewardSession
    from heedful.rewards.server.admission import JudgingService
    from heedful.rewards.server.metrics import Metrics

    Found = Sequence[Critique | Rewarded | HeedfulError]

B = TypeVar("B", bound=BaseModel)

OK, UNREADABLE, CONFLICT, MISSHAPEN, BROKEN = 200, 400, 409, 422, 500
UNREACHABLE, UNAVAILABLE, LATE = 502, 503, 504


class Endpoints:
    """The endpoints for a reward."""

    def __init__(
        self, reward: Reward, session: RewardSession, service: JudgingService, metrics: Metrics
    ) -> None:
        """Put the parts together."""
        self._reward = reward
        self._session = session
        self._service = service
        self._metrics = metrics

    async def critique(self, request: Request) -> Response:
        """Judge one response against its checklist, every constraint of it."""
        until = self._service.deadline()
        row = replies.read(await self._json(request, until), 0)
        outcomes = await self._service.judge(
            [row], self._session.critique, counts_of(request.scope).body, until
        )
        self._count(request, outcomes)
        (outcome,) = outcomes
        if isinstance(outcome, HeedfulError):
            late = isinstance(outcome, LateError)
            raise RefusedError(self._late() if late else MISSHAPEN, outcome.what, hint=outcome.hint)
        return _reply(OK, replies.critiqued(row, outcome, 0))

    async def critiques(self, request: Request) -> Response:
        """Judge several responses against their checklists, every constraint of them."""
        until = self._service.deadline()
        batch = await self._read(request, shapes.Batch, until)
        rows = await sliced(replies.read, batch.samples, range(len(batch.samples)))
        outcomes = await self._service.judge(
            rows, self._session.critique, counts_of(request.scope).body, until
        )
        results = await sliced(replies.critiqued, rows, outcomes, range(len(rows)))
        return self._answer(request, outcomes, {"results": results})

    async def rewards(self, request: Request) -> Response:
        """Compute the rewards of several responses, judging only what they depend on."""
        until = self._service.deadline()
        batch = await self._read(request, shapes.Batch, until)
        rows = await sliced(replies.read, batch.samples, range(len(batch.samples)))
        outcomes = await self._service.judge(
            rows, self._session.reward, counts_of(request.scope).body, until
        )
        results = await sliced(replies.rewarded, rows, outcomes, range(len(rows)))
        body = {"rewards": [result["reward"] for result in results], "results": results}
        return self._answer(request, outcomes, body)

    async def openrlhf(self, request: Request) -> Response:
        """Answer OpenRLHF's `--reward.remote_url`; needs a fallback for undecided rewards."""
        until = self._service.deadline()
        if self._reward.terms.undecided is None:
            # A null would end the training, and an error is retried and then left out.
            raise RefusedError(
                CONFLICT,
                "OpenRLHF takes numbers only, and rewards may be undecided",
                hint="start the server with a fallback, as --undecided 0; extra_logs says its rate",
            )
        sent = await self._read(request, shapes.OpenRLHFQuery, until)
        if not len(sent.query) == len(sent.prompts) == len(sent.labels):
            sizes = f"{len(sent.query)}, {len(sent.prompts)} and {len(sent.labels)}"
            what = f"the numbers of queries, prompts and labels differ: {sizes}"
            raise RefusedError(MISSHAPEN, what, hint="send as many of each")
        places = range(1, len(sent.query) + 1)
        samples = await sliced(openrlhf_sample, sent.query, sent.prompts, sent.labels, places)
        outcomes = await self._service.judge(
            samples, self._session.reward, counts_of(request.scope).body, until
        )
        self._count(request, outcomes)
        scored = [outcome for outcome in outcomes if isinstance(outcome, Rewarded)]
        if len(scored) < len(outcomes):
            raise RefusedError(
                self._late(),
                f"{len(outcomes) - len(scored)} of {len(outcomes)} samples are not judged yet",
                hint="send them again; answers are cached",
            )
        rewards = [item.value for item in scored]
        logs = {
            "undecided": [float(not item.decided) for item in scored],
            "coverage": [item.coverage or 0.0 for item in scored],
        }
        return _reply(OK, {"rewards": rewards, "scores": rewards, "extra_logs": logs})

    async def health(self) -> Response:
        """Say that the server lives."""
        return _reply(OK, self._health())

    async def ready(self) -> Response:
        """Say whether the server accepts samples: 503 if it is full, stopping or failing."""
        health = self._health()
        return _reply(OK if health["status"] == "ok" else UNAVAILABLE, health)

    async def metrics(self) -> Response:
        """Write the metrics for Prometheus."""
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)

    def _health(self) -> dict[str, Any]:
        service, admission = self._service, self._service.admission
        status = "full" if admission.held >= admission.capacity else "ok"
        if service.failing is not None:
            status = "failing"
        if service.closing:
            status = "stopping"
        about = {"status": status, "held": admission.held, "capacity": admission.capacity}
        return (
            about if service.failing is None else {**about, "error": error_payload(service.failing)}
        )

    async def _json(self, request: Request, until: float) -> Any:
        """Read a request's JSON."""
        counted = counts_of(request.scope).body = Body(self._service.admission)
        said = request.headers.get("content-length", "")
        declared = int(said) if said.isdecimal() else 0
        body = await self._service.body(request.stream(), declared, counted, until)
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise RefusedError(
                UNREADABLE, f"the request isn't JSON: {error}", hint="send a JSON object"
            ) from None

    async def _read(self, request: Request, shape: type[B], until: float) -> B:
        """Read a request of a shape."""
        data = await self._json(request, until)
        if not isinstance(data, dict):
            what = f"the request is {shown(data)}, not an object"
            raise RefusedError(MISSHAPEN, what, hint="see /openapi.json")
        try:
            return shape.model_validate(data)
        except ValidationError as error:
            raise RefusedError(MISSHAPEN, explain(error), hint="see /openapi.json") from None

    def _answer(self, request: Request, outcomes: Found, body: dict[str, Any]) -> Response:
        """Answer a batch: with 503 or 504 where rows are not judged yet, and what there is."""
        self._count(request, outcomes)
        late = [outcome for outcome in outcomes if isinstance(outcome, LateError)]
        if not late:
            return _reply(OK, body)
        what = f"{len(late)} of {len(outcomes)} samples are not judged yet"
        error = {"what": what, "where": "", "hint": "send these again; answers are cached"}
        return _reply(self._late(), {"error": error, **body})

    def _late(self) -> int:
        return UNAVAILABLE if self._service.closing else LATE

    def _count(self, request: Request, outcomes: Found) -> None:
        about, metrics = counts_of(request.scope), self._metrics
        about.samples = len(outcomes)
        for outcome in outcomes:
            if isinstance(outcome, HeedfulError):
                about.errors += 1
                metrics.failed()
            elif isinstance(outcome, Rewarded):
                about.errors += outcome.problem is not None
                about.undecided += not outcome.decided and outcome.problem is None
                metrics.rewarded(outcome)
                self._service.answered(outcome.critique)
            else:
                about.undecided += not all(
                    judgment.status.decided for judgment in outcome.judgments
                )
                metrics.judged(outcome)
                self._service.answered(outcome)


def application(
    reward: Reward,
    session: RewardSession,
    service: JudgingService,
    metrics: Metrics,
    *,
    secured: bool,
) -> FastAPI:
    """Make the app that answers."""
    app = document.described(secured=secured)
    here = Endpoints(reward, session, service, metrics)
    for path, endpoint, request, reply in (
        ("/v1/critique", here.critique, shapes.SampleBody, shapes.CritiqueReply),
        ("/v1/critiques", here.critiques, shapes.Batch, shapes.Critiques),
        ("/v1/rewards", here.rewards, shapes.Batch, shapes.Rewards),
        ("/openrlhf", here.openrlhf, shapes.OpenRLHFQuery, shapes.OpenRLHFRewards),
    ):
        app.add_api_route(path, endpoint, methods=["POST"], **document.posted(request, reply))
    for path, probe in (("/health", here.health), ("/ready", here.ready)):
        app.add_api_route(path, probe, methods=["GET"], **document.probed(path))
    app.add_api_route("/metrics", here.metrics, methods=["GET"], **document.metrics())
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(StopRunError, _stopped)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(Exception, _broken)
    return app


def _reply(status: int, body: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(to_json(body), status, headers, "application/json")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)  # noqa: S101 - for the type: it is called for no other
    return _reply(error.status, {"error": error_payload(error)}, error.headers)


async def _stopped(_: Request, error: Exception) -> Response:
    """Say that no call to the judge's model succeeds: its key, say, is wrong."""
    assert isinstance(error, StopRunError)  # noqa: S101 - as above
    return _reply(UNREACHABLE, {"error": error_payload(error)})


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    refused = {"what": error.detail.lower(), "where": "", "hint": "see /openapi.json"}
    return _reply(error.status_code, {"error": refused}, dict(error.headers or {}))


async def _broken(_: Request, error: Exception) -> Response:
    what = f"the server has a defect: {type(error).__name__}"
    return _reply(BROKEN, {"error": {"what": what, "where": "", "hint": "see the server's log"}})
