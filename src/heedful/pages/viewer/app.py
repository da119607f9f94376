"""The pages and their addresses.

``GET /``, ``/run/KEY``, ``/run/KEY/samples``, ``/run/KEY/samples/NUMBER``, ``/audit/KEY``,
``/report/KEY``, ``/compare``; ``/runs.csv`` and ``/run/KEY/samples.csv``, or ``.jsonl``, download.
The only addresses that write are ``POST /audit/KEY`` (an answer), ``POST /run/KEY/audit`` (an
audit is sampled), ``POST /run/KEY/samples/NUMBER`` (a label, into a file beside the run) and ``POST
/run/KEY/filters`` (a filter gets a name, in a file of the folder).
"""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from heedful.core.errors import HeedfulError, RunError
from heedful.pages.viewer import (
    pages_audit,
    pages_compare,
    pages_labels,
    pages_runs,
    pages_samples,
    saved_filters,
)
from heedful.pages.viewer.runs import NoRowError
from heedful.pages.viewer.security import Guard
from heedful.reporting.html.environment import ASSETS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.pages.viewer.security import Keys
    from heedful.pages.viewer.state import Viewer

HERE = Path(__file__).parent


def make_app(viewer: Viewer, keys: Keys) -> Guard:
    """Make the application."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            viewer.close()

    app = Starlette(
        routes=[
            Route("/", pages_runs.overview),
            Route("/runs.{kind}", pages_runs.download),
            Route("/run/{key}", pages_runs.run),
            Route("/run/{key}/samples.{kind}", pages_samples.download),
            Route("/run/{key}/samples", pages_samples.samples),
            Route("/run/{key}/samples/{number:int}", pages_samples.sample),
            Route("/run/{key}/samples/{number:int}", pages_labels.label, methods=["POST"]),
            Route("/run/{key}/filters", saved_filters.save, methods=["POST"]),
            Route("/run/{key}/audit", pages_audit.draw, methods=["POST"]),
            Route("/report/{key}", pages_runs.report),
            Route("/audit/{key}", pages_audit.audit),
            Route("/audit/{key}", pages_audit.answer, methods=["POST"]),
            Route("/compare", pages_compare.compare),
            Route("/compare/sample", pages_compare.sample),
            Mount("/assets", StaticFiles(directory=ASSETS)),
            Mount("/own", StaticFiles(directory=HERE / "assets")),
        ],
        exception_handlers={
            HTTPException: _refused,
            HeedfulError: _failed,
            OSError: _failed,
            sqlite3.Error: _damaged,
            Exception: _defect,
        },
        lifespan=lifespan,
    )
    app.state.viewer = viewer
    return Guard(app, keys)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as registered
    viewer: Viewer = request.app.state.viewer
    return viewer.page("wrong.html", error.status_code, said=error.detail)


def _damaged(request: Request, error: Exception) -> Response:
    viewer: Viewer = request.app.state.viewer
    said = f"The run's store cannot be read: {error} (the file is damaged)"
    return viewer.page("wrong.html", 500, said=said)


def _defect(request: Request, error: Exception) -> Response:
    """Say that we erred; what happened goes to the terminal, for whoever reports it."""
    viewer: Viewer = request.app.state.viewer
    said = f"This is a defect of heedful ({type(error).__name__}); the terminal has the details."
    return viewer.page("wrong.html", 500, said=said)


def _failed(request: Request, error: Exception) -> Response:
    """Say on a page what is wrong with a run or a request; the other pages go on."""
    viewer: Viewer = request.app.state.viewer
    status = 500 if isinstance(error, RunError | OSError) else 400
    status = 404 if isinstance(error, NoRowError) else status
    return viewer.page("wrong.html", status, said=str(error))
