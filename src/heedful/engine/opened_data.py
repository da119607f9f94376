"""The data of a job, opened: its rows, the part of them that is taken, and its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from heedful.engine.inputs import Selection, fingerprint, open_data

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.data.formats import Format
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data, ReadingOptions
    from heedful.engine.runner import Item

__all__ = ["OpenedData"]


class OpenedData:
    """The rows of a job's data.

    Attributes:
        rows: all of them; a file's are read as they are needed.
        files: the files that they come from; none for rows in memory.
        format: the files' format.
        config: all that says which rows they are, for the configuration of a run.
        about: the same in words, for its summary.
    """

    def __init__(
        self,
        data: Data,
        reading: ReadingOptions,
        *,
        responses: str | os.PathLike[str] | None = None,
        seed: int = 0,
    ) -> None:
        """Open the data."""
        task = reading.get("task")
        exclude = reading.get("exclude_generation_failures", False)
        source = open_data(
            data,
            format=reading.get("format"),
            responses=responses,
            task=task,
            exclude_generation_failures=exclude,
        )
        self._selection = Selection.of(reading, seed)
        self.rows: InMemory = source or cast("InMemory", data)
        self.files: list[Path] = list(source.files) if source else []
        self.format: Format | None = source.format if source else None
        name = self.format.name if self.format else None
        common: dict[str, Any] = {"format": name, "task": task}
        common |= self._selection.config
        if exclude:
            common["exclude_generation_failures"] = True
        names = [fingerprint(path) for path in self.files] if source else None
        self.config: dict[str, Any] = {"input": names, **common}
        self.about: dict[str, Any] = {"input": [str(path) for path in self.files] or None, **common}

    def total(self) -> int | None:
        """Count the rows that will be taken, where that costs next to nothing."""
        return self._selection.total(self.rows)

    def name(self) -> None:
        """Name rows in memory by their content, so that a run resumes with the same rows only."""
        if self.config["input"] is None:
            self.rows, self.config["input"] = self._selection.named(self.rows)

    def items(self) -> Iterator[Item[Sample]]:
        """Give the samples, and the rows that could not be read."""
        return self._selection.items(self.rows)
