"""The OpenAPI document: the bodies of requests and answers, and how endpoints refuse.

Rows are described here and not validated: they are read one by one, in all the spellings that
files may have, so that a bad one costs no other.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, SkipValidation
from pydantic.json_schema import models_json_schema

from heedful.core.version import __version__

_ROW: dict[str, Any] = {
    "prompt": "Name three rivers, without a comma.",
    "response": "Rhine, Nile and Amazon",
    "checklist": [
        {"text": "No commas.", "check": {"id": "punctuation:no_comma"}},
        {"text": "It names three rivers."},
    ],
}

Verdict = Literal["met", "unmet", "unparsed", "failed", "unsupported", "not_applicable"]


class SampleBody(BaseModel):
    """A response to judge, with its prompt and checklist.

    It is read as a row of a file is: `messages` may stand for `prompt`, `constraints` or
    IF-Critic's `checklist_struct` for `checklist`, and lists may be JSON text.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_ROW]})

    id: str | int | None = Field(
        None, description="Names the row in the answer; by place if absent."
    )
    prompt: str | list[dict[str, Any]] | None = Field(
        None, description="The instruction: text, or messages that end on the turn answered."
    )
    response: str = Field(description="The text to judge.")
    checklist: list[str | dict[str, Any]] = Field(
        description="The constraints: texts, or objects with `text` and maybe `check` (what code "
        "decides), `priority` (primary or secondary), `weight` and `type`."
    )


class Batch(BaseModel):
    """Several responses to judge."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"samples": [_ROW]}]})

    samples: list[SkipValidation[SampleBody]] = Field(min_length=1)


class OpenRLHFQuery(BaseModel):
    """A batch as OpenRLHF sends it to `--reward.remote_url`; the lists are equally long."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": ["<|user|>Greet.<|end|><|assistant|>Hello.<|end|>"],
                    "prompts": ["<|user|>Greet.<|end|><|assistant|>"],
                    "labels": ['{"prompt": "Greet.", "checklist": ["It is polite."]}'],
                }
            ]
        }
    )

    query: list[str] = Field(min_length=1, description="Prompt and response, with special tokens.")
    prompts: list[str] = Field(description="The prompts, as templated.")
    labels: list[Any] = Field(description="The checklists, as JSON text or as objects.")


class Failure(BaseModel):
    """An error: what is wrong, where, and what to do about it."""

    what: str
    where: str = ""
    hint: str = ""


class Refusal(BaseModel):
    """An answer of status 400 or above. What was decided by the deadline is in `results`."""

    error: Failure
    results: list[dict[str, Any]] | None = None


class Verdicted(BaseModel):
    """A verdict on one constraint, and why."""

    model_config = ConfigDict(extra="allow")

    constraint: str
    status: Verdict = Field(description="Only met and unmet are decided.")
    explanation: str = Field("", description="The reason of the verdict, or why it is missing.")
    judge: str = Field("", description="Who decided.")
    confidence: float | None = None


class CritiqueReply(BaseModel):
    """The verdicts on one response."""

    id: str
    judgments: list[Verdicted] = Field(description="In the order of the checklist.")
    coverage: float | None = Field(description="Share of the verdicts that are decided.")
    error: Failure | None = Field(description="Why the row was not judged.")


class Critiques(BaseModel):
    """Critiques, in the order of the samples."""

    results: list[CritiqueReply]


class Stopped(BaseModel):
    """Why a response gets 0 without being judged."""

    gate: str = Field(description="The gate's name.")
    reason: str


class RewardReply(BaseModel):
    """The reward of one response, and what it rests on."""

    id: str
    reward: float | None = Field(
        description="Null where it is not decided, or else the fallback that the server has."
    )
    decided: bool = Field(description="Whether the reward rests on verdicts.")
    bounds: tuple[float, float] | None = Field(
        description="The reward with all undecided verdicts unmet, and with all of them met."
    )
    verdicts: list[Verdict] = Field(description="In the order of the checklist.")
    coverage: float | None = Field(description="Share decided of the requested verdicts.")
    skipped: int = Field(description="Constraints not judged, as the reward was settled without.")
    gate: Stopped | None = Field(description="The gate that stopped the response, if one did.")
    guards: list[Verdict] = Field(description="The criteria against reward hacking, if in use.")
    undecided: str | None = Field(
        description="Why a verdict that the reward depends on is missing."
    )
    error: Failure | None = Field(description="Why the row was not judged.")


class Rewards(BaseModel):
    """Rewards, in the order of the samples."""

    rewards: list[float | None] = Field(description="The rewards alone.")
    results: list[RewardReply]


class OpenRLHFRewards(BaseModel):
    """Rewards for OpenRLHF; all lists are as long as `query`."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


class Health(BaseModel):
    """The state of the server."""

    status: Literal["ok", "full", "stopping", "failing"]
    held: int = Field(description="Samples accepted and not judged yet.")
    capacity: int
    worker: int | None = Field(None, description="Which of several workers answers, for itself.")
    error: Failure | None = Field(None, description="Why no call to the judge's model succeeds.")


DESCRIPTION = """Judges responses against checklists of constraints, and makes rewards of that.

Undecided is null and never 0. A row that cannot be judged has its own `error` and costs
no other row. Where not all rows were judged by the deadline, the answer has the status 504 and the
rows that were; sending it again is cheap, as answers are cached."""

REFUSALS = {
    400: "The body isn't JSON.",
    401: "The token is missing or wrong.",
    408: "The body did not come in time.",
    413: "The body is too large, or has too many samples.",
    422: "The body doesn't have the shape that is described.",
    429: "Too many samples are being judged; `Retry-After` says when to try again.",
    502: "No call to the judge's model succeeds: its key is wrong, or the model doesn't exist.",
    503: "The server is stopping; what was judged is in `results`.",
    504: "The deadline has passed; what was judged is in `results`.",
}

NO_FALLBACK = {409: "The server has no fallback for undecided rewards, and OpenRLHF takes no null."}

REF = "#/components/schemas/{model}"

REQUESTS: tuple[type[BaseModel], ...] = (SampleBody, Batch, OpenRLHFQuery)


def described() -> FastAPI:
    """Make an app without endpoints; it has no page, as that would load scripts from the net."""
    return FastAPI(
        title="heedful",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )


def complete(app: FastAPI, *, secured: bool) -> None:
    """Add to the document of an app with endpoints what requests hold, and the token."""
    document = app.openapi()
    components = document["components"]
    _, requests = models_json_schema(
        [(model, "validation") for model in REQUESTS], ref_template=REF
    )
    components["schemas"].update(requests["$defs"])
    if secured:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]


def posted(request: type[BaseModel]) -> dict[str, Any]:
    """Describe an endpoint that judges: what it takes, and how it refuses."""
    content = {"application/json": {"schema": {"$ref": REF.format(model=request.__name__)}}}
    refusals = REFUSALS if request is not OpenRLHFQuery else {**REFUSALS, **NO_FALLBACK}
    return {
        "responses": {
            status: {"model": Refusal, "description": text} for status, text in refusals.items()
        },
        "openapi_extra": {"requestBody": {"required": True, "content": content}},
    }
