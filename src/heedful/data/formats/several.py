"""Several input files read as one: rows in the order of the files, each id with its file's name."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from heedful.data.formats.base import Row
from heedful.data.formats.responses import opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.data.formats.base import Format
    from heedful.data.formats.source import Source

FILE_TAG = "file"
"""The tag that names a row's file, where the row has no such tag of its own."""


class Sources:
    """Several files, ready to be read one after the other; iterate again for each pass.

    Attributes:
        parts: the files, each as it is opened alone.
        path: the first of them.
        format: the format that all are in; ``None`` where they differ.
    """

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts = tuple(parts)
        self.path = self.parts[0].path
        formats = {part.format.name: part.format for part in self.parts}
        self.format: Format | None = self.parts[0].format if len(formats) == 1 else None
        self._names = file_names([part.path for part in self.parts])

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the rows are read from."""
        return tuple(file for part in self.parts for file in part.files)

    @property
    def excluded(self) -> int:
        """Rows without a generated response that the last pass left out."""
        return sum(part.excluded for part in self.parts)

    @property
    def exclude_failures(self) -> bool:
        """Whether such rows are left out."""
        return any(part.exclude_failures for part in self.parts)

    def __iter__(self) -> Iterator[Row]:
        """Give the rows of all files; responses that join no row of any come last, as problems."""
        first = self.parts[0]
        with ExitStack() as stack:
            joined = None
            if first.responses is not None and self.format is not None:
                joined = stack.enter_context(opened(first.responses, self.format))
            for name, part in zip(self._names, self.parts, strict=True):
                if joined is not None:
                    joined.file = name
                yield from _named(name, part, part if joined is None else part.rows(joined))
            if joined is not None:
                yield from joined.left_over("any file")


def _named(name: str, part: Source, rows: Iterable[Row]) -> Iterator[Row]:
    """Name the rows of a file."""
    for row in rows:
        sample = row.sample and in_file(name, row.sample)
        problem = row.problem and f"{part.path}: {row.problem}"
        yield Row(row.line, sample, id_in_file(name, row.id), problem, file=name)


def file_names(paths: Sequence[Path]) -> list[str]:
    """Name each of several files: by its stem, or by its path where others have the same stem."""
    stems = [_stem(path) for path in paths]
    counts = Counter(stems)
    return [
        stem if counts[stem] == 1 else path.as_posix()
        for path, stem in zip(paths, stems, strict=True)
    ]


def id_in_file(name: str, ident: str | None) -> str | None:
    """Return the id that tells a row from those of other files."""
    return f"{name}:{ident}" if ident else None


def in_file(name: str, sample: Sample) -> Sample:
    """Return a sample as one of a file among several."""
    tags = {FILE_TAG: name, **sample.tags}
    ident = id_in_file(name, sample.id) or sample.id
    update = {"id": ident, "tags": tags, **_renamed(name, sample)}
    return sample.model_copy(update=update)


def _renamed(name: str, sample: Sample) -> dict[str, list[str]]:
    """Rename the rows that a row is preferred to, as they are renamed themselves."""
    worse = (sample.model_extra or {}).get("preferred_to")
    if not isinstance(worse, list):
        return {}
    return {"preferred_to": [f"{name}:{other}" for other in worse]}


def _stem(path: Path) -> str:
    """Name a file without its folder and the ends that say how it is written."""
    stem = path.name.removesuffix(".gz")
    return stem.rpartition(".")[0] or stem
