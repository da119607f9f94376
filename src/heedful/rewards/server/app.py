"""The endpoints: from rows to samples, and from judgments to answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json
from starlette.exceptions import HTTPException

from heedful.core.errors import HeedfulError, RowError, StopRunError
from heedful.core.log import logger
from heedful.data.formats import native
from heedful.data.formats.fields import explain, row_id
from heedful.data.formats.files import shown
from heedful.rewards import Rewarded, rows
from heedful.rewards.adapters import openrlhf_sample
from heedful.rewards.server import openapi as document
from heedful.rewards.server.admission import Body, RefusedError, error_payload
from heedful.rewards.server.auth import counts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from heedful.core.nouns import Critique, Judgment, Sample
    from heedful.rewards import Reward
    from heedful.rewards.background import RewardSession
    from heedful.rewards.server.admission import JudgingService
    from heedful.rewards.server.auth import RequestCounts
    from heedful.rewards.server.metrics import Metrics

AGAIN = "send it again; answers are cached"

_CHECKLISTS = {"checklist", "constraints", "checklist_struct"}
_HINT = "give it a field checklist with the constraints; see /openapi.json"


def read_row(row: Any, at: int) -> Sample | HeedfulError:
    """Read a row of a request; what cannot be judged is an error."""
    where = f"samples[{at}]"
    try:
        if not isinstance(row, dict):
            raise RowError("the sample isn't an object")  # noqa: TRY301 - as reading raises it
        if not _CHECKLISTS & {*row}:
            raise RowError("the sample has no checklist", hint=_HINT)  # noqa: TRY301 - the same
        sample = rows.read(row, at + 1)
    except RowError as error:
        return RowError(
            error.what, where=where, hint=error.hint or "see SampleBody in /openapi.json"
        )
    except Exception as error:  # noqa: BLE001 - whatever is sent, the client is told
        logger.warning("a sample cannot be read", exc_info=True)
        return RowError(f"the sample cannot be read: {type(error).__name__}", where=where)
    if sample.response is None:
        return RowError("the sample has no response", where=where, hint="give it a field response")
    if not sample.checklist:
        return RowError("the checklist is empty", where=where, hint="give at least one constraint")
    return sample


def critique_reply(
    row: Any, sample: Sample | HeedfulError, outcome: Critique | HeedfulError, at: int
) -> dict[str, Any]:
    """Lay out the critique of a row, or why there is none."""
    judgments: list[dict[str, Any]] = []
    coverage = None
    if not isinstance(sample, HeedfulError) and not isinstance(outcome, HeedfulError):
        judgments = native.judgments(sample, outcome)
        decided = sum(judgment.status.decided for judgment in outcome.judgments)
        coverage = decided / len(outcome.judgments)
    return {
        "id": _id_of(row, sample, at),
        "judgments": judgments,
        "coverage": coverage,
        "error": error_payload(outcome) if isinstance(outcome, HeedfulError) else None,
    }


def reward_reply(
    row: Any, sample: Sample | HeedfulError, outcome: Rewarded | HeedfulError, at: int
) -> dict[str, Any]:
    """Lay out the reward of a row, or why there is none."""
    name = _id_of(row, sample, at)
    if isinstance(outcome, Rewarded) and outcome.problem is not None:
        outcome = RowError(outcome.problem, where=f"samples[{at}]")
    if isinstance(outcome, HeedfulError):
        return {"id": name, **_UNREWARDED, "error": error_payload(outcome)}
    return {
        "id": name,
        "reward": outcome.value,
        "decided": outcome.decided,
        "bounds": outcome.bounds,
        "verdicts": outcome.statuses,
        "coverage": outcome.coverage,
        "skipped": outcome.skipped,
        "gate": None if outcome.gate is None else outcome.gate._asdict(),
        "guards": [guard.status for guard in outcome.guards],
        "undecided": None if outcome.decided else _reason(outcome),
        "error": None,
    }


_UNREWARDED: dict[str, Any] = {
    "reward": None,
    "decided": False,
    "bounds": None,
    "verdicts": [],
    "coverage": None,
    "skipped": 0,
    "gate": None,
    "guards": [],
    "undecided": None,
}


def _reason(reward: Rewarded) -> str:
    """Return why a verdict is missing: the first reason stands for the others."""
    judgments: tuple[Judgment, ...] = (*reward.critique.judgments, *reward.guards)
    return next(judgment.explanation for judgment in judgments if not judgment.status.decided)


def _id_of(row: Any, sample: Sample | HeedfulError, at: int) -> str:
    if not isinstance(sample, HeedfulError):
        return sample.id
    try:
        return row_id(row, at + 1, "id")
    except (RowError, AttributeError):  # an id that is none, or a row that is no object
        return f"row-{at + 1}"


B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")

OK, UNREADABLE, CONFLICT, MISSHAPEN, BROKEN = 200, 400, 409, 422, 500
UNREACHABLE, UNAVAILABLE, LATE = 502, 503, 504


class Judged(NamedTuple):
    """A row of a request as its answer has it; nothing else of it is kept."""

    body: bytes  # the row's JSON
    reward: float | None = None  # its reward, if it has one
    error: HeedfulError | None = None  # why it was not judged


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
        row = await self._json(request, until)
        (reply,) = await self._judged(request, [row], self._critique, until)
        if reply is None:
            raise RefusedError(self._late(), self._why_late(), hint=AGAIN)
        if reply.error is not None:
            raise RefusedError(MISSHAPEN, reply.error.what, hint=reply.error.hint)
        return _reply(OK, reply.body)

    async def critiques(self, request: Request) -> Response:
        """Judge several responses against their checklists, every constraint of them."""
        until = self._service.deadline()
        batch = await self._read(request, document.Batch, until)
        outcomes = await self._judged(request, batch.samples, self._critique, until)
        return self._answer(batch.samples, outcomes, critique_reply, b"{")

    async def rewards(self, request: Request) -> Response:
        """Compute the rewards of several responses, judging only what they depend on."""
        until = self._service.deadline()
        batch = await self._read(request, document.Batch, until)
        outcomes = await self._judged(request, batch.samples, self._reward_of, until)
        values = to_json([None if each is None else each.reward for each in outcomes])
        head = b'{"rewards":' + values + b","
        return self._answer(batch.samples, outcomes, reward_reply, head)

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
        sent = await self._read(request, document.OpenRLHFQuery, until)
        if not len(sent.query) == len(sent.prompts) == len(sent.labels):
            sizes = f"{len(sent.query)}, {len(sent.prompts)} and {len(sent.labels)}"
            what = f"the numbers of queries, prompts and labels differ: {sizes}"
            raise RefusedError(MISSHAPEN, what, hint="send as many of each")
        given = list(zip(sent.query, sent.prompts, sent.labels, strict=True))
        outcomes = await self._judged(request, given, self._openrlhf, until)
        scored = [outcome for outcome in outcomes if outcome is not None]
        if len(scored) < len(outcomes):
            raise RefusedError(
                self._late(),
                f"{len(outcomes) - len(scored)} of {len(outcomes)} samples are not judged yet",
                hint=AGAIN,
            )
        rewards, undecided, gated, coverage = zip(*scored, strict=True)
        logs = {"undecided": undecided, "gated": gated, "coverage": coverage}
        body = {"rewards": rewards, "scores": rewards, "extra_logs": logs}
        return _reply(OK, body)

    async def _critique(self, row: Any, at: int, counts: RequestCounts) -> Judged:
        sample = read_row(row, at)
        if isinstance(sample, HeedfulError):
            outcome: Critique | HeedfulError = sample
        else:
            outcome = await self._session.critique(sample)
        self._count(outcome, counts)
        error = outcome if isinstance(outcome, HeedfulError) else None
        return Judged(to_json(critique_reply(row, sample, outcome, at)), error=error)

    async def _reward_of(self, row: Any, at: int, counts: RequestCounts) -> Judged:
        sample = read_row(row, at)
        if isinstance(sample, HeedfulError):
            outcome: Rewarded | HeedfulError = sample
        else:
            outcome = await self._session.reward(sample)
        self._count(outcome, counts)
        laid_out = reward_reply(row, sample, outcome, at)
        return Judged(to_json(laid_out), reward=laid_out["reward"])

    async def _openrlhf(
        self, row: tuple[str, str, Any], at: int, counts: RequestCounts
    ) -> tuple[float | None, float, float, float]:
        scored = await self._session.reward(openrlhf_sample(*row, at + 1))
        self._count(scored, counts)
        undecided, gated = float(not scored.decided), float(scored.gate is not None)
        return scored.value, undecided, gated, scored.coverage or 0.0

    async def _judged(
        self,
        request: Request,
        rows: Sequence[Any],
        judge: Callable[[Any, int, RequestCounts], Coroutine[Any, Any, T]],
        until: float,
    ) -> list[T | None]:
        """Judge the rows of a request; ``None`` stands for a row not judged in time."""
        counts = counts_of(request.scope)
        counts.samples = len(rows)
        outcomes = await self._service.judge(
            rows, lambda row, at: judge(row, at, counts), counts.body, until
        )
        for _ in range(outcomes.count(None)):
            counts.errors += 1
            self._metrics.failed()
        return outcomes

    async def health(self) -> Response:
        """Report that the server is up."""
        return _reply(OK, self._health())

    async def ready(self) -> Response:
        """Report readiness: 503 if the server is full, stopping or failing."""
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

    def _answer(
        self,
        rows: Sequence[Any],
        outcomes: Sequence[Judged | None],
        lay_out: Callable[[Any, HeedfulError, HeedfulError, int], dict[str, Any]],
        head: bytes,
    ) -> Response:
        """Answer a batch: with 503 or 504 where rows are not judged yet, and what there is."""
        late = RowError(self._why_late(), hint=AGAIN)
        bodies = [
            to_json(lay_out(rows[at], late, late, at)) if outcome is None else outcome.body
            for at, outcome in enumerate(outcomes)
        ]
        results = b'"results":[' + b",".join(bodies) + b"]}"
        missing = outcomes.count(None)
        if not missing:
            return _reply(OK, head + results)
        what = f"{missing} of {len(outcomes)} samples are not judged yet"
        error = {"what": what, "where": "", "hint": "send these again; answers are cached"}
        return _reply(self._late(), head + b'"error":' + to_json(error) + b"," + results)

    def _late(self) -> int:
        return UNAVAILABLE if self._service.closing else LATE

    def _why_late(self) -> str:
        closing = self._service.closing
        why = "the server is stopping" if closing else "the deadline has passed"
        return f"not judged yet, and {why}"

    def _count(self, outcome: Critique | Rewarded | HeedfulError, counts: RequestCounts) -> None:
        metrics = self._metrics
        if isinstance(outcome, HeedfulError):
            counts.errors += 1
            metrics.failed()
        elif isinstance(outcome, Rewarded):
            counts.errors += outcome.problem is not None
            counts.undecided += not outcome.decided and outcome.problem is None
            metrics.rewarded(outcome)
            self._service.answered(outcome.critique)
        else:
            decided = all(judgment.status.decided for judgment in outcome.judgments)
            counts.undecided += not decided
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
        ("/v1/critique", here.critique, document.SampleBody, document.CritiqueReply),
        ("/v1/critiques", here.critiques, document.Batch, document.Critiques),
        ("/v1/rewards", here.rewards, document.Batch, document.Rewards),
        ("/openrlhf", here.openrlhf, document.OpenRLHFQuery, document.OpenRLHFRewards),
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
    content = body if isinstance(body, bytes) else to_json(body)
    return Response(content, status, headers, "application/json")


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
