"""Assertions for tests, and a plugin for pytest (loaded with heedful installed)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from heedful import Judge
    from heedful.integrations.following import Follower


def assert_follows(
    response: str,
    *constraints: str,
    prompt: str | None = None,
    judge: Judge | str | None = None,
    **options: Any,
) -> None:
    """Fail unless a response follows every constraint.

    Code decides what it can; with ``model=`` a model decides the rest.

    >>> assert_follows("Good morning.", "At most 5 words.", "No commas.")

    Args:
        response: the model's response; reasoning before the answer isn't judged.
        constraints: what was asked for, each in plain words.
        prompt: the instruction, for a model that judges; by default the constraints.
        judge: as for :func:`heedful.evaluate`.
        options: as for :func:`heedful.evaluate`: ``model``, ``base_url``, ….

    Raises:
        AssertionError: a constraint is unmet or undecided; the message has a line for each.
    """
    __tracebackhide__ = True
    # A model that judges is shown an instruction; without one, the constraints are it.
    instruction = "\n".join(constraints) if prompt is None else prompt
    row = {"prompt": instruction, "checklist": list(constraints), "response": response}
    following = _follower(judge, options).judge(row)
    counts = following.counts()
    if counts["met"] == len(constraints):
        return
    message = f"the response follows {counts['met']} of {len(constraints)} constraints"
    if counts["undecided"] and not options:
        message += "; model=… asks a model what code can't decide"
    raise AssertionError(f"{message}\n{following.text()}")


def _follower(judge: Judge | str | None, options: dict[str, Any]) -> Follower:
    from heedful.integrations.following import Follower  # pytest loads this module at every start

    return Follower(judge, **options) if options or judge is not None else _by_code()


@cache
def _by_code() -> Follower:
    from heedful.integrations.following import Follower

    return Follower()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags of the judge that the fixture ``follows`` uses."""
    group = parser.getgroup("heedful")
    group.addoption("--heedful-model", help="model that decides what code can't")
    group.addoption("--heedful-base-url", help="where an OpenAI-compatible API answers")


def pytest_configure(config: pytest.Config) -> None:
    """Offer the fixture ``follows``: :func:`assert_follows` with the flags' model."""
    import pytest

    class Fixtures:
        @pytest.fixture(scope="session")
        def follows(self, pytestconfig: pytest.Config) -> Callable[..., None]:
            """Fail unless a response follows every constraint."""
            names = ("model", "base_url")
            given = {name: pytestconfig.getoption(f"heedful_{name}") for name in names}
            options = {name: value for name, value in given.items() if value is not None}

            def follows(response: str, *constraints: str, **more: Any) -> None:
                __tracebackhide__ = True
                assert_follows(response, *constraints, **{**options, **more})

            return follows

    config.pluginmanager.register(cast("object", Fixtures()), "heedful-fixtures")
