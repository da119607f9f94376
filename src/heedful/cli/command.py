"""A command and its help."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Command(NamedTuple):
    """A command: the function that does it, as ``module:name``, and its help."""

    target: str
    help: str


class Group(NamedTuple):
    """Commands that have a first word in common."""

    help: str
    commands: Mapping[str, Command | Group]
