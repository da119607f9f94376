"""Formats, their rows, and what writes rows back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from heedful.core.nouns import Critique, Reply, Sample


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an input file: a sample, or the reason why it cannot be read.

    The line is the one where the row starts, from 1; the file is named where several are read.
    """

    line: int
    sample: Sample | None = None
    id: str | None = None
    problem: str | None = None
    file: str = ""


class Result(Protocol):
    """Result of one row: a judged sample, or the problem that prevented judging."""

    @property
    def id(self) -> str:
        """The row's id."""

    @property
    def sample(self) -> Sample | None:
        """The sample; ``None`` where the row could not be read."""

    @property
    def critique(self) -> Critique | None:
        """Its judgments."""

    @property
    def problem(self) -> str | None:
        """Reason why the row could not be read or judged."""

    @property
    def reply(self) -> Reply | None:
        """The judge's reply, for a format that writes replies back."""


Writer = Callable[[Path, Callable[[], Iterable[Result]]], None]
"""Writes results to a file; the second argument gives them again for each pass."""


def _no_writer(_: Path) -> Writer | None:
    return None


def _one(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [record]


@dataclass(frozen=True, slots=True)
class Format:
    """Format of one benchmark's rows.

    Attributes:
        name: as the command line names it.
        needs: what a record must have; of each group of keys, one.
        sample: a record and its 1-based number in the file to a sample; pure; raises
            :class:`~heedful.core.errors.RowError` on a record that cannot be read.
        matches: whether a record is in this format, by its keys (and no more of its values than
            it takes to tell two formats with the same keys apart); by default a record that has
            what is needed.
        writer: for a path, the writer of results in this format; ``None`` where there is none.
        reply: the prompt in whose form results hold a judge's reply; ``None`` where they hold none.
        turns: takes a record apart that holds several turns of one conversation, each to be a
            sample that follows on the one before; raises as ``sample`` does.
        follows: whether a turn's conversation goes on from the sample before and its response;
            otherwise ``sample`` gives each turn its whole conversation.
        keys: fields by which a benchmark's own files of responses, or of verdicts, name a record.
            Their fields are then read as if they were the record's own.
        said: what columns were taken for, in one line, where nobody said so.
    """

    name: str
    needs: tuple[tuple[str, ...], ...]
    sample: Callable[[dict[str, Any], int], Sample]
    matches: Callable[[Mapping[str, Any]], bool] | None = None
    writer: Callable[[Path], Writer | None] = _no_writer
    reply: str | None = None
    turns: Callable[[dict[str, Any]], list[dict[str, Any]]] = _one
    follows: bool = True
    keys: tuple[str, ...] = ()
    said: str = ""

    @property
    def one_by_one(self) -> bool:
        """Whether each record is one row."""
        return self.turns is _one

    def fits(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a record is in this format."""
        return self.matches(record) if self.matches else not self.missing(record)

    def missing(self, record: Mapping[str, Any]) -> list[str]:
        """Name the groups of keys of which the record has none, such as ``prompt or messages``."""
        return [" or ".join(group) for group in self.needs if not any(k in record for k in group)]
