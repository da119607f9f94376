"""Steps that are done once, and files of samples."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from heedful import Sample
from heedful.data.formats import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Steps", "put", "read", "write"]


class Steps:
    """Does what is not there yet, and says how long it took.

    Attributes:
        folder: of one seed.
        deadline: no step is begun after it.
    """

    def __init__(self, folder: Path, deadline: float) -> None:
        """Begin."""
        self.folder = folder
        self.deadline = deadline
        self.times = folder / "seconds.json"

    def __call__(self, result: str, make: Callable[[Path], object]) -> Path:
        """Return a result's path; make it where it is not there."""
        path = self.folder / result
        finished = path / "heedful.json" if path.suffix == "" else path
        if finished.exists():
            return path
        if time.time() > self.deadline:
            raise TimeoutError
        path.parent.mkdir(parents=True, exist_ok=True)
        wall, cpu = time.perf_counter(), time.process_time()
        make(path)
        took = {
            "wall": round(time.perf_counter() - wall, 1),
            "cpu": round(time.process_time() - cpu, 1),
        }
        print(f"{path}: {took['wall']} s", flush=True)
        known = json.loads(self.times.read_text()) if self.times.exists() else {}
        put(self.times, known | {result: took})
        return path


def put(path: Path, value: object) -> None:
    """Write a result as JSON."""
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def write(path: Path, samples: Iterable[Sample]) -> None:
    """Write samples as JSON lines; the file appears when it is complete."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(native.write(sample)) + "\n" for sample in samples)
    part.replace(path)


def read(path: Path) -> Iterable[Sample]:
    """Read samples that were written above."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Sample.model_validate(json.loads(line))
