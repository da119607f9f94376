"""CriticBench's nouns: what generators answered, how certain they were, and the triplets.

The method is of Luo et al. (2023, arXiv 2310.04815). What the paper leaves open is ours, and said
to be so: the formula of certainty, what a reasoning step is, and when two programs are one answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heedful.core.errors import InputError
from heedful.core.problems import Problem  # noqa: TC001 - pydantic reads annotations at run time
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.jobs.saved_run import SavedRun
from heedful.models.base import Sampling

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["Samples", "Triplet", "read_samples"]

Row = TypeVar("Row", bound=BaseModel)

TRIPLETS = "triplets.jsonl"
SAMPLES = "samples.jsonl"
"""Files of a build's directory: the benchmark, and all that it was selected from."""

SAMPLING = Sampling(temperature=0.6)
"""How the paper samples answers and critiques."""

N_SAMPLES = {"open": 64, "choice": 64, "code": 100}
"""How many answers to a question the paper samples, by the kind of problem."""

Certainty = Callable[[Sequence[int]], float]
"""From how often each answer was given, the most frequent first and at least one, to a number that
is larger the more certain the generator was."""


def log_ratio(counts: Sequence[int]) -> float:
    """Log of how much more often the first answer was given than the second.

    The paper does not publish its formula; this one is ours, and fits its thresholds of 1 and 2.
    Where all agree, a second answer is taken to have been given once, so that the number is finite
    and no smaller than with one dissenter.

    >>> round(log_ratio([30, 11, 2]), 2), log_ratio([5, 5]), round(log_ratio([64]), 2)
    (1.0, 0.0, 4.16)
    """
    return math.log(counts[0] / (counts[1] if len(counts) > 1 else 1))


def majority_share(counts: Sequence[int]) -> float:
    """Share of the answers that are the most frequent one.

    >>> majority_share([30, 11, 9])
    0.6
    """
    return counts[0] / sum(counts)


CERTAINTIES: dict[str, Certainty] = {"log_ratio": log_ratio, "majority_share": majority_share}
"""The formulas that can be named."""


class FrozenRecord(BaseModel):
    """Immutable; a field that does not exist is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SampledResponse(FrozenRecord):
    """One sampled response, graded."""

    sample_index: int  # from 1
    text: str
    answer: str | None = None  # in the words of the first response with an equal one
    correct: bool | None = None  # None: undecided
    steps: int = 0
    tests_passed: int | None = None
    reason: str = ""


class Answer(NamedTuple):
    """A final answer, how many responses gave it, and whether it is correct."""

    answer: str
    support: int
    correct: bool | None


class Samples(FrozenRecord):
    """All that one generator answered to one query."""

    query: str
    task: str
    generator: str
    problem: Problem
    file: str
    line: int
    responses: tuple[SampledResponse, ...] = ()
    empty: int = 0
    failed: int = 0
    cut_off: int = 0
    problems: tuple[str, ...] = ()
    certainty: float | None = None  # None: no response has a final answer

    def answers(self, counted: Callable[[SampledResponse], bool] = lambda _: True) -> list[Answer]:
        """Count the final answers, the most frequent first; of equals, the one sampled first."""
        votes = [
            response
            for response in self.responses
            if response.answer is not None and counted(response)
        ]
        correct = {response.answer: response.correct for response in votes}
        counts = Counter(response.answer for response in votes if response.answer is not None)
        return [Answer(answer, count, correct[answer]) for answer, count in counts.most_common()]

    def weighed(self, formula: Certainty) -> Samples:
        """Say how certain the generator was."""
        counts = [answer.support for answer in self.answers()]
        return self.model_copy(update={"certainty": formula(counts) if counts else None})

    @property
    def accuracy(self) -> float | None:
        """Share of the decided responses that are correct."""
        decided = [response.correct for response in self.responses if response.correct is not None]
        return sum(decided) / len(decided) if decided else None


class Provenance(BaseModel):
    """How a triplet came to be in the benchmark."""

    model_config = ConfigDict(frozen=True, extra="allow")

    file: str
    line: int
    sample_index: int
    n_samples: int
    support: int  # samples with the same final answer
    answer: str | None = None
    steps: int = 0
    tests_passed: int | None = None
    accuracy: float | None = None
    certainty: float | None = None
    certainty_by: str = ""


class Triplet(BaseModel):
    """A query, a response to it, and whether the response is correct.

    Only the first four are needed of a file that was made elsewhere.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    question: str
    response: str
    correct: bool = Field(strict=True)
    query: str = ""  # intervals resample queries; by default each triplet is its own
    task: str = ""
    generator: str = ""
    problem: Problem | None = None
    provenance: Provenance | None = None

    @property
    def certainty(self) -> float | None:
        """How certain the generator was of the query."""
        return self.provenance.certainty if self.provenance else None


def read_triplets(path: Path) -> list[Triplet]:
    """Read a benchmark: a file of triplets, or the directory of a build."""
    if (path / "run.sqlite").exists():
        SavedRun.open(path, commands=("bench criticbench build",)).close()
    file = path / TRIPLETS if path.is_dir() else path
    triplets: dict[str, Triplet] = {}
    for line, data in _rows(file):
        triplet = _read(Triplet, data, file, line)
        if triplet.id in triplets:
            raise InputError(f"the id {triplet.id!r} is there twice", where=f"{file}:{line}")
        triplets[triplet.id] = triplet
    if not triplets:
        raise InputError("the file holds no triplets", where=str(file), hint="build some first")
    return list(triplets.values())


def read_samples(path: Path) -> list[Samples]:
    """Read what a benchmark was selected from, from the directory of its build."""
    file = (path if path.is_dir() else path.parent) / SAMPLES
    if not file.is_file():
        raise InputError(
            f"{file.name} is not there, whose answers are to be checked",
            where=str(file.parent),
            hint="give the directory of a build, as heedful bench criticbench build --run names it",
        )
    return [_read(Samples, data, file, line) for line, data in _rows(file)]


def _rows(file: Path) -> list[tuple[int, dict[str, Any]]]:
    rows = []
    for record in records(file):
        if record.problem is not None:
            raise InputError(record.problem, where=f"{file}:{record.line}")
        rows.append((record.line, record.data))
    return rows


def _read(kind: type[Row], data: dict[str, Any], file: Path, line: int) -> Row:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise InputError(
            explain(error),
            where=f"{file}:{line}",
            hint="each row has id, question, response and correct (true or false)"
            if kind is Triplet
            else "build the file again",
        ) from None
