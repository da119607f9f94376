"""Several input files read as one: rows in the order of the files, each id with its file's name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from heedful.data.formats.base import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
        stems = [_stem(part.path) for part in self.parts]
        counts = Counter(stems)
        self._names = [
            stem if counts[stem] == 1 else part.path.as_posix()
            for part, stem in zip(self.parts, stems, strict=True)
        ]

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
        """Give the rows of all files."""
        for name, part in zip(self._names, self.parts, strict=True):
            for row in part:
                ident = f"{name}:{row.id}" if row.id else None
                sample = row.sample
                if sample is not None:
                    tags = {FILE_TAG: name, **sample.tags}
                    update = {"id": ident or sample.id, "tags": tags, **_renamed(name, sample)}
                    sample = sample.model_copy(update=update)
                problem = row.problem and f"{part.path}: {row.problem}"
                yield Row(row.line, sample, ident, problem, file=name)


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
