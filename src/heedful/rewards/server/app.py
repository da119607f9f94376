"""The endpoints: from rows to samples, and from judgments to answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field, SkipValidation, ValidationError
from pydantic_core import from_json, to_json
from starlette.responses import Response

from heedful.core.errors import HeedfulError, RowError, StopRunError
from heedful.core.log import logger
from heedful.core.noun import updated
from heedful.core.nouns import Critique, Sample
from heedful.data.formats import native
from heedful.data.formats.fields import explain, row_id
from heedful.data.formats.files import shown
from heedful.rewards import Rewarded, rows
from heedful.rewards.adapters import logged, openrlhf_sample
from heedful.rewards.server.admission import Body, RefusedError, error_payload
from heedful.rewards.server.auth import BODY, ENDPOINT, refusal
from heedful.rewards.server.metrics import merged

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Sequence

    from starlette.requests import Request

    from heedful.core.nouns import Judgment
    from heedful.rewards import Reward
    from heedful.rewards.reward import RewardSession
    from heedful.rewards.server.admission import JudgingService
    from heedful.rewards.server.auth import App
    from heedful.rewards.server.metrics import Metrics
    from heedful.rewards.server.workers import Worker

AGAIN = "send it again; answers are cached"

_CHECKLISTS = {"checklist", "constraints", "checklist_struct"}
_HINT = "give it a field checklist with the constraints"
_SHAPES = "docs/serving.md shows what each endpoint takes"


class Batch(BaseModel):
    """Several rows to judge; each is read by itself, so that a bad one costs no other."""

    samples: list[SkipValidation[Any]] = Field(min_length=1)


class OpenRLHFQuery(BaseModel):
    """A batch as OpenRLHF sends it to ``--reward.remote_url``; the lists are equally long."""

    query: list[str] = Field(min_length=1)  # prompt and response, with special tokens
    prompts: list[str]  # as templated
    labels: list[Any]  # the checklists, as JSON text or as objects


class RequestRows:
    """Reads the rows of a request, once what rollouts of a prompt share."""

    def __init__(self) -> None:
        self._shared: dict[str, Any] = {}
        self._sample: Sample | None = None

    def read(self, row: Any, at: int) -> Sample:
        """Read a row that can be judged."""
        if not isinstance(row, dict) or not isinstance(row.get("response"), str):
            return read_row(row, at)
        shared = {**row, "id": type(row.get("id")), "response": None}
        if self._sample is None or shared != self._shared:
            self._sample, self._shared = read_row(row, at), shared
            return self._sample
        return updated(self._sample, {"id": _id_of(row, at), "response": row["response"]})


def read_row(row: Any, at: int) -> Sample:
    """Read a row of a request that can be judged."""
    where = f"samples[{at}]"
    try:
        if not isinstance(row, dict):
            raise RowError("the sample isn't an object")  # noqa: TRY301 - as reading raises it
        if not _CHECKLISTS & {*row}:
            raise RowError("the sample has no checklist", hint=_HINT)  # noqa: TRY301 - the same
        sample = rows.read(row, at + 1)
    except RowError as error:
        hint = error.hint or _SHAPES
        raise RowError(error.what, where=where, hint=hint) from None
    except Exception as error:  # noqa: BLE001 - whatever is sent, the client is told
        logger.warning("a sample cannot be read", exc_info=True)
        what = f"the sample cannot be read: {type(error).__name__}"
        raise RowError(what, where=where) from None
    if sample.response is None:
        raise RowError("the sample has no response", where=where, hint="give it a field response")
    if not sample.checklist:
        raise RowError("the checklist is empty", where=where, hint="give at least one constraint")
    return sample


def _critique_fields(sample: Sample, critique: Critique) -> dict[str, Any]:
    decided = sum(judgment.status.decided for judgment in critique.judgments)
    return {
        "judgments": native.judgments(sample, critique),
        "coverage": decided / len(critique.judgments),
    }


def _reward_fields(_: Sample, reward: Rewarded) -> dict[str, Any]:
    return {
        "reward": reward.value,
        "decided": reward.decided,
        "bounds": reward.bounds,
        "verdicts": reward.statuses,
        "coverage": reward.coverage,
        "skipped": reward.skipped,
        "gate": None if reward.gate is None else reward.gate._asdict(),
        "guards": [guard.status for guard in reward.guards],
        "undecided": None if reward.decided else _reason(reward),
    }


def _reason(reward: Rewarded) -> str | None:
    """Return why a verdict is missing: the first reason stands for the others."""
    judgments: tuple[Judgment, ...] = (*reward.critique.judgments, *reward.guards)
    return next((each.explanation for each in judgments if not each.status.decided), None)


_UNJUDGED: dict[str, Any] = {"judgments": [], "coverage": None}
_UNREWARDED = _reward_fields(Sample(), Rewarded(None, False, None, Critique()))  # noqa: FBT003


def _id_of(row: Any, at: int) -> str:
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


class RowKind(NamedTuple):
    """How an endpoint judges a row and lays out the result."""

    judge: Callable[[Sample], Coroutine[Any, Any, Any]]
    lay_out: Callable[[Sample, Any], dict[str, Any]]
    unjudged: dict[str, Any]  # the same fields for a row that was not judged

    def failed(self, name: str, error: HeedfulError) -> Judged:
        """Lay out a row that was not judged."""
        fields = {"id": name, **self.unjudged, "error": error_payload(error)}
        return Judged(to_json(fields), error=error)


class Endpoints:
    """The endpoints for a reward."""

    def __init__(
        self,
        reward: Reward,
        session: RewardSession,
        service: JudgingService,
        metrics: Metrics,
        worker: Worker | None,
    ) -> None:
        self._reward = reward
        self._worker = worker
        self._session = session
        self._service = service
        self._metrics = metrics
        self._critique = RowKind(session.judged, _critique_fields, _UNJUDGED)
        self._rewarded = RowKind(session.rewarded, _reward_fields, _UNREWARDED)

    async def critique(self, request: Request) -> Response:
        """Judge one response against its checklist, every constraint of it."""
        until = self._service.deadline()
        row = await self._json(request, until)
        (reply,) = await self._judged(request, [row], self._row(self._critique), until)
        if reply is None:
            raise RefusedError(self._late(), self._why_late(), hint=AGAIN)
        if reply.error is not None:
            raise RefusedError(MISSHAPEN, reply.error.what, hint=reply.error.hint)
        return _reply(OK, reply.body)

    async def critiques(self, request: Request) -> Response:
        """Judge several responses against their checklists, every constraint of them."""
        return await self._batch(request, self._critique)

    async def rewards(self, request: Request) -> Response:
        """Compute the rewards of several responses, judging only what they depend on."""
        return await self._batch(request, self._rewarded)

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
        sent = await self._read(request, OpenRLHFQuery, until)
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
        rewards = [each.value for each in scored]
        body = {"rewards": rewards, "scores": rewards, "extra_logs": logged(scored)}
        return _reply(OK, body)

    def _row(self, kind: RowKind) -> Callable[[Any, int], Coroutine[Any, Any, Judged]]:
        rows = RequestRows()

        async def judged(row: Any, at: int) -> Judged:
            try:
                sample = rows.read(row, at)
            except RowError as error:
                self._metrics.failed()
                return kind.failed(_id_of(row, at), error)
            outcome = await kind.judge(sample)
            self._count(outcome)
            problem = getattr(outcome, "problem", None)
            if problem is not None:
                return kind.failed(sample.id, RowError(problem, where=f"samples[{at}]"))
            fields = {"id": sample.id, **kind.lay_out(sample, outcome), "error": None}
            return Judged(to_json(fields), reward=fields.get("reward"))

        return judged

    async def _openrlhf(self, row: tuple[str, str, Any], at: int) -> Rewarded:
        scored = await self._session.rewarded(openrlhf_sample(*row, at + 1))
        self._count(scored)
        return scored

    async def _judged(
        self,
        request: Request,
        rows: Sequence[Any],
        judge: Callable[[Any, int], Coroutine[Any, Any, T]],
        until: float,
    ) -> list[T | None]:
        """Judge the rows of a request; ``None`` stands for a row not judged in time."""

        def begin(row: Any, at: int) -> asyncio.Task[T]:
            return self._session.begin(judge(row, at))

        outcomes = await self._service.judge(rows, begin, request.scope[BODY], until)
        for _ in range(outcomes.count(None)):
            self._metrics.failed()
        return outcomes

    async def health(self, _: Request) -> Response:
        """Report that the server is up."""
        return _reply(OK, self._health())

    async def ready(self, _: Request) -> Response:
        """Report readiness: 503 if the server is full, stopping or failing."""
        health = self._health()
        return _reply(OK if health["status"] == "ok" else UNAVAILABLE, health)

    async def metrics(self, _: Request) -> Response:
        """Write the metrics for Prometheus; those of all workers, where there are several."""
        text = self._metrics.text() if self._worker is None else merged(await self._worker.texts())
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    def _health(self) -> dict[str, Any]:
        service, admission = self._service, self._service.admission
        status = "full" if admission.held >= admission.capacity else "ok"
        if service.failing is not None:
            status = "failing"
        if service.closing:
            status = "stopping"
        about: dict[str, Any] = {
            "status": status,
            "held": admission.held,
            "capacity": admission.capacity,
        }
        if self._worker is not None:
            about["worker"] = self._worker.number
        if service.failing is not None:
            about["error"] = error_payload(service.failing)
        return about

    async def _json(self, request: Request, until: float) -> Any:
        """Read a request's JSON."""
        counted = request.scope[BODY] = Body(self._service.admission)
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
            raise RefusedError(MISSHAPEN, what, hint=_SHAPES)
        try:
            return shape.model_validate(data)
        except ValidationError as error:
            raise RefusedError(MISSHAPEN, explain(error), hint=_SHAPES) from None

    async def _batch(self, request: Request, kind: RowKind) -> Response:
        """Answer a batch: with 503 or 504 where rows are not judged yet, and what there is."""
        until = self._service.deadline()
        rows = (await self._read(request, Batch, until)).samples
        outcomes = await self._judged(request, rows, self._row(kind), until)
        late = RowError(self._why_late(), hint=AGAIN)
        results = [
            kind.failed(_id_of(rows[at], at), late) if outcome is None else outcome
            for at, outcome in enumerate(outcomes)
        ]
        body = b'"results":[' + b",".join(result.body for result in results) + b"]}"
        missing = outcomes.count(None)
        if missing:
            what = f"{missing} of {len(outcomes)} samples are not judged yet"
            error = {"what": what, "where": "", "hint": "send these again; answers are cached"}
            body = b'"error":' + to_json(error) + b"," + body
        if kind is self._rewarded:
            body = b'"rewards":' + to_json([result.reward for result in results]) + b"," + body
        return _reply(self._late() if missing else OK, b"{" + body)

    def _late(self) -> int:
        return UNAVAILABLE if self._service.closing else LATE

    def _why_late(self) -> str:
        closing = self._service.closing
        why = "the server is stopping" if closing else "the deadline has passed"
        return f"not judged yet, and {why}"

    def _count(self, outcome: Critique | Rewarded) -> None:
        if isinstance(outcome, Rewarded):
            self._metrics.rewarded(outcome)
            self._service.answered(outcome.critique)
        else:
            self._metrics.judged(outcome)
            self._service.answered(outcome)


def application(
    reward: Reward,
    session: RewardSession,
    service: JudgingService,
    metrics: Metrics,
    worker: Worker | None = None,
) -> App:
    """Make the app that answers."""
    here = Endpoints(reward, session, service, metrics, worker)
    endpoints: dict[str, tuple[str, App | None]] = {
        "/v1/critique": ("POST", here.critique),
        "/v1/critiques": ("POST", here.critiques),
        "/v1/rewards": ("POST", here.rewards),
        "/openrlhf": ("POST", here.openrlhf),
        "/health": ("GET", here.health),
        "/ready": ("GET", here.ready),
        "/metrics": ("GET", here.metrics),
    }

    async def answered(request: Request) -> Response:
        method, endpoint = endpoints.get(request.scope["path"], ("", None))
        if endpoint is None:
            return _error(404, "not found", _SHAPES)
        request.scope[ENDPOINT] = request.scope["path"]
        if request.method != method:
            return _error(405, "method not allowed", _SHAPES, {"Allow": method})
        try:
            return await endpoint(request)
        except RefusedError as error:
            return refusal(error)
        except StopRunError as error:  # no call to the model succeeds: its key, say, is wrong
            return _reply(UNREACHABLE, {"error": error_payload(error)})
        except Exception as error:  # noqa: BLE001 - a defect must not end the server
            logger.exception("a request failed")
            what = f"the server has a defect: {type(error).__name__}"
            return _error(BROKEN, what, "see the server's log")

    return answered


def _error(status: int, what: str, hint: str, headers: dict[str, str] | None = None) -> Response:
    return _reply(status, {"error": {"what": what, "where": "", "hint": hint}}, headers)


def _reply(status: int, body: Any, headers: dict[str, str] | None = None) -> Response:
    content = body if isinstance(body, bytes) else to_json(body)
    return Response(content, status, headers, "application/json")
