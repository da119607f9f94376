"""The OpenAPI document: what endpoints take and give, and how they refuse.

Bodies are read by the endpoints, up to a limit and row by row, so FastAPI does not see their shape
in a signature; it is added here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from heedful.core.version import __version__
from heedful.rewards.server import bodies as shapes

if TYPE_CHECKING:
    from pydantic import BaseModel

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

REF = "#/components/schemas/{model}"

REQUESTS: tuple[type[BaseModel], ...] = (shapes.SampleBody, shapes.Batch, shapes.OpenRLHFQuery)


class _Documented(FastAPI):
    """Adds what requests hold, and the token."""

    secured = False

    def openapi(self) -> dict[str, Any]:
        """Return the document, which is made once."""
        if self.openapi_schema is None:
            made = get_openapi(
                title=self.title,
                version=self.version,
                description=self.description,
                routes=self.routes,
            )
            components = made.setdefault("components", {})
            _, requests = models_json_schema(
                [(model, "validation") for model in REQUESTS], ref_template=REF
            )
            components.setdefault("schemas", {}).update(requests["$defs"])
            if self.secured:
                components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                made["security"] = [{"token": []}]
            self.openapi_schema = made
        return self.openapi_schema


def described(*, secured: bool) -> FastAPI:
    """Make an app without endpoints; it has no page, as that would load scripts from the net."""
    app = _Documented(
        title="heedful",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.secured = secured
    return app


def posted(request: type[BaseModel], reply: type[BaseModel]) -> dict[str, Any]:
    """Describe an endpoint that judges."""
    content = {"application/json": {"schema": {"$ref": REF.format(model=request.__name__)}}}
    refusals = {
        status: {"model": shapes.Refusal, "description": text} for status, text in REFUSALS.items()
    }
    if request is shapes.OpenRLHFQuery:
        text = "The server has no fallback for undecided rewards, and OpenRLHF takes no null."
        refusals[409] = {"model": shapes.Refusal, "description": text}
    return {
        "response_model": None,
        "responses": {200: {"model": reply, "description": "Judged."}, **refusals},
        "openapi_extra": {"requestBody": {"required": True, "content": content}},
    }


def probed(path: str) -> dict[str, Any]:
    """Describe an endpoint for probes, which needs no token."""
    responses: dict[int, Any] = {200: {"model": shapes.Health, "description": "Yes."}}
    if path == "/ready":
        responses[503] = {"model": shapes.Health, "description": "No."}
    return {"response_model": None, "responses": responses, "openapi_extra": {"security": []}}


def metrics() -> dict[str, Any]:
    """Describe the endpoint that Prometheus scrapes."""
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {
        "response_model": None,
        "responses": {200: {"content": content, "description": "Prometheus' text format."}},
    }
