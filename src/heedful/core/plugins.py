"""Plugins: extensions by other packages, loaded by entry point when they are requested.

A package names what it adds in its ``pyproject.toml``::

    [project.entry-points."heedful.formats"]
    mine = "mypackage.heedful:FORMAT"

The groups are in :data:`GROUPS`. Nothing is imported until a name is requested that heedful itself
doesn't know, so plugins cost nothing at start-up and a broken one breaks nothing else. A plugin
never replaces a built-in: whoever has a name of heedful's is passed over, with a warning.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, HeedfulWarning, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from importlib.metadata import EntryPoint

GROUPS = {
    "heedful.formats": "a heedful.data.formats.Format",
    "heedful.families": "a heedful.metrics.family.Family, named as the tag benchmark of its rows",
    "heedful.verifiers": "a module that registers verifiers when it is imported",
    "heedful.prompts": "a function (explain, text) that makes a JudgePrompt",
    "heedful.judges": "a function (scoring, seed) that makes a Judge",
    "heedful.executors": "a function (concurrency) that makes an asynchronous context manager "
    "of a function from a Model to the Model that is called in its place",
    "heedful.models": "a function (name) that makes a Model; requested as PLUGIN:NAME",
}
"""The entry-point groups, and what each holds."""


@cache
def warn(message: str) -> None:
    """Warn of a plugin that is passed over, once."""
    warnings.warn(message, HeedfulWarning, stacklevel=2)


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        if points.setdefault(point.name, point).value != point.value:
            used = points[point.name].value
            warn(f"two plugins of {group} are called {point.name!r}: {used!r} is used")
    return points


def names(group: str, built_in: Collection[str] = ()) -> list[str]:
    """Name what plugins add to a group; none is imported."""
    points = _points(group)
    for name in points.keys() & built_in:
        warn(
            f"the plugin {name!r} ({points[name].value!a}) is ignored: heedful has a {name!r} of "
            f"its own in {group}; give the plugin another name"
        )
    return sorted(points.keys() - set(built_in))


def listing() -> str:
    """List the installed plugins in one paragraph for a help text; empty without any."""
    added = {group.removeprefix("heedful."): names(group) for group in GROUPS}
    lines = [f"{group}: {', '.join(known)}" for group, known in added.items() if known]
    return f"Installed plugins: {'; '.join(lines)}." if lines else ""


def load(group: str, name: str, built_in: Collection[str] = ()) -> Any:
    """Import what a plugin adds, or return ``None`` where none has the name."""
    if name not in names(group, built_in):
        return None
    try:
        return _points(group)[name].load()
    except (Exception, SystemExit) as error:
        raise broken(group, name, f"cannot be loaded: {type(error).__name__}: {error}") from error


def make(
    group: str,
    name: str,
    /,
    *,
    needs: Iterable[str],
    built_in: Collection[str] = (),
    **options: Any,
) -> Any:
    """Call what a plugin adds to make an object, or return ``None`` where none has the name.

    The object must have the attributes that it ``needs``.
    """
    function = load(group, name, built_in)
    if function is None:
        return None
    try:
        made = function(**options)
        missing = [attribute for attribute in needs if not hasattr(made, attribute)]
    except HeedfulError:
        raise
    except Exception as error:
        raise broken(group, name, f"failed: {type(error).__name__}: {error}") from error
    if missing:
        what = f"made a {type(made).__name__} without {', '.join(missing)}; it is to be "
        raise broken(group, name, what + GROUPS[group])
    return made


def broken(group: str, name: str, what: str) -> UsageError:
    """Make the error for a plugin that doesn't do what its group asks."""
    return UsageError(
        f"the plugin {name!r} {what}",
        where=f"entry point {group}, {_points(group)[name].value!a}",
        hint="update or remove the package that brings it",
    )


def unknown(what: str, name: str, known: Iterable[str], group: str) -> UsageError:
    """Make the error for a name that neither heedful nor a plugin knows."""
    from difflib import get_close_matches

    known = tuple(known)
    every = [*known, *names(group, known)]
    near = get_close_matches(name, every, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(every)}"
    return UsageError(f"no such {what}: {name!r}", hint=hint)
