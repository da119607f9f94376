"""When the sessions of a run began, how long they took, and the command that began each."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.engine.store import Store

__all__ = ["COMMAND", "without_secrets"]

COMMAND: ContextVar[tuple[str, ...] | None] = ContextVar("command", default=None)
"""The words of the command that is carried out, without secrets; unset in Python."""

HIDDEN = "[hidden]"

STOPPED_CHARACTERS = 300

SHORT = 8
"""Shorter values of the environment aren't secrets; hiding them would tear up the command."""

_SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)
_OPTION = re.compile(r"(--?[a-z][\w-]*)(?:=(.*))?", re.DOTALL)
_TAKES_A_SECRET = re.compile(r"--(?:.*[-_])?(?:key|token|secret|password|header)|-k")
_ABBREVIATED = "-k"
_ADDRESS = re.compile(
    r"((?<![\w+.-])(?:(?![a-z])[\w+.-])*+[a-z][\w+.-]*+://)(?:[^/?#\s@]*@)?([^?#\s]*)\S*",
    re.IGNORECASE,
)


@contextmanager
def recorded(store: Store) -> Iterator[None]:
    """Record a session of a run: its beginning at once, its length when it ends.

    A session that is killed has a beginning only.
    """
    from datetime import UTC, datetime

    sessions: list[Any] = []
    with suppress(RunError):  # a damaged record doesn't stop the run
        sessions = store.meta("sessions") or []
    began = datetime.now(UTC).isoformat(timespec="seconds")
    session: dict[str, Any] = {"began": began, "seconds": None, "command": COMMAND.get()}
    started = time.monotonic()
    store.set_meta("sessions", [*sessions, session])
    try:
        yield
    except HeedfulError as error:
        session["stopped"] = error.what[:STOPPED_CHARACTERS]
        raise
    finally:
        session["seconds"] = round(time.monotonic() - started, 3)
        store.set_meta("sessions", [*sessions, session])


def without_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """Hide what must not be kept in the words of a command.

    Hidden are the values of options that take a key and of HTTP headers, user, password and query
    of an address, and whatever the environment holds under the name of a key or token.

    >>> without_secrets(["evaluate", "a.jsonl", "--api-key", "sk-1", "--api-key-env", "MY_KEY"])
    ('evaluate', 'a.jsonl', '--api-key', '[hidden]', '--api-key-env', 'MY_KEY')
    """
    held = [
        value for name, value in os.environ.items() if _SECRET.search(name) and len(value) >= SHORT
    ]
    shown: list[str] = []
    hides_next = False
    for word in words:
        if hides_next:
            shown.append(HIDDEN)
            hides_next = False
            continue
        option = _OPTION.fullmatch(word)
        if option and _TAKES_A_SECRET.fullmatch(option[1]):
            hides_next = option[2] is None
            shown.append(word if hides_next else f"{option[1]}={HIDDEN}")
            continue
        if re.match(rf"{_ABBREVIATED}[^=-]", word):
            shown.append(_ABBREVIATED + HIDDEN)
            continue
        for value in held:
            word = word.replace(value, HIDDEN)  # noqa: PLW2901 - one word, step by step
        shown.append(_ADDRESS.sub(r"\1\2", word))
    return tuple(shown)
