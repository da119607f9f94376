"""Families: what each benchmark counts, a file each in ``families/``, or a plugin.

A benchmark's files are read by its format (:mod:`heedful.data.formats`), which tags each row with
the benchmark's name. Here are its rates, its units of several rows, and what its published code
does otherwise. Nothing else in heedful branches on a benchmark's name.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core import plugins
from heedful.metrics.rubrics import score_share

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate, Share
    from heedful.metrics.rubrics import RubricScore


GROUP = "heedful.families"

OF_A_JUDGE = "_judge"
"""Ends the tag of rows that are a judge's verdicts on one criterion each, of the benchmark named
before it."""


class Units:
    """Accumulator of a benchmark's rows that make one unit together, such as a conversation."""

    def add(
        self, sample: Sample, critique: Critique, row: RowOutcome, states: Sequence[int]
    ) -> None:
        """Take in a row of the benchmark, and the states of its verdicts on what applies."""
        raise NotImplementedError

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; no rates without units. ``readable``: share of the rows that could be read."""
        raise NotImplementedError

    def extend(self, summary: dict[str, Any], *, readable: float) -> None:
        """Add breakdowns, notes and lists to the summary."""


class Mean(NamedTuple):
    """A mean of one of the family's rates over the values of a tag, each weighing the same."""

    name: str
    rate: str
    tag: str
    faithful_digits: int | None = None
    """Digits to which the published code rounds each value first."""


class Steps(NamedTuple):
    """A rate over leading steps that are all met: the tags of a unit and its steps, and words."""

    name: str
    group: str
    step: str
    unit: str
    steps: str


@dataclass(frozen=True, eq=False)
class Family:
    """What a benchmark counts.

    Attributes:
        name: in ``summary.json``; of a benchmark also the tag ``benchmark`` of its rows.
        title: in words.
        rates: a row's part of each rate; called for rows that have verdicts, and its tag.
        every_row: whether rows of other benchmarks, or of none, have its rates too.
        labels: rates in words, where their names don't say it.
        order: families with a lower number are shown first, benchmarks' own at 0.
        own: whether rows with its tag are left to its rates where general ones would repeat them.
        over_rows: rates over rows that pass or fail as a whole.
        declared: what its code reads from a critique's declaration, for rows of any benchmark or
            only its own, see :attr:`reads_all`; ``None`` where there is nothing to read.
        reads_all: whether ``declared`` is called for rows of other benchmarks too.
        score: the score of a rubric's points, if it has one.
        weighs: whether the weights of its criteria are for its own rates alone.
        enabled: whether a run with these rows has its rates; by default any run.
        units: makes the accumulator of its rows.
        means: of its rates.
        by_turn: whether its units go by the tags ``turn`` and ``language``.
        unread: a row's part that could not be read, if all rows are this family's.
        attempts: whether responses to one instruction are attempts of one model.
        of_judge: rates of the judge's own results, which the other side of a comparison can't
            change.
        unmet_if_undecided: whether faithful breakdowns by constraint count what is undecided as
            unmet.
        asks_all: whether faithful judges ask for a criterion whatever those it depends on are.
        notes: what its rates leave out of these rows, each with its number.
    """

    name: str
    title: str
    rates: Callable[[RowOutcome, Scoring], Mapping[str, Share]]
    labels: Mapping[str, str] = field(default_factory=dict)
    every_row: bool = False
    order: int = 0
    own: bool = True
    over_rows: frozenset[str] = frozenset()
    declared: Callable[[Mapping[str, Any], Sample, Scoring], Hashable] | None = None
    reads_all: bool = False
    score: RubricScore | None = None
    weighs: bool = False
    enabled: Callable[[Iterable[RowOutcome]], bool] | None = None
    units: Callable[[Scoring], Units] | None = None
    means: tuple[Mean, ...] = ()
    by_turn: bool = False
    unread: Callable[[Scoring], Mapping[str, Share]] | None = None
    attempts: bool = False
    of_judge: frozenset[str] = frozenset()
    unmet_if_undecided: bool = False
    asks_all: bool = False
    notes: Callable[[Sequence[tuple[RowOutcome, int]]], Iterator[str]] | None = None


@cache
def _built_in() -> dict[str, Family]:
    """Load heedful's own: as plugins they are found by name, so a new one is a new file."""
    folder = Path(__file__).parent / "families"
    modules = sorted(module.name for module in pkgutil.iter_modules([str(folder)]))
    loaded = [import_module(f"{__package__}.families.{name}").FAMILY for name in modules]
    return {family.name: family for family in sorted(loaded, key=lambda each: each.order)}


@lru_cache(maxsize=256)
def family_of(benchmark: str) -> Family | None:
    """Find the family of rows by their tag ``benchmark``: heedful's own, or a plugin's."""
    built_in = _built_in()
    known = built_in.get(benchmark.removesuffix(OF_A_JUDGE))
    if known is not None:
        return known
    made = plugins.load(GROUP, benchmark, built_in)
    if made is not None and not isinstance(made, Family):
        raise plugins.broken(GROUP, benchmark, f"is a {type(made).__name__}, not a Family")
    return made


def all_families(*names: str) -> dict[str, Family]:
    """Return heedful's families by name, and plugins' of these names."""
    added = [family for name in names if name and (family := family_of(name)) is not None]
    return _built_in() | {family.name: family for family in added}


def ranked(names: Iterable[str]) -> list[str]:
    """Put families in the order in which they are shown: a benchmark's own before general ones."""
    families = all_families(*names)
    last = max(family.order for family in families.values()) + 1
    orders = {name: family.order for name, family in families.items()}
    return sorted(names, key=lambda name: (orders.get(name, last), name))


def scored(
    name: str, score: RubricScore, *, penalties: bool = True
) -> Callable[[RowOutcome, Scoring], dict[str, Share]]:
    """Make the rates of a family with a score; ``penalties``: also of rows with negative points."""

    def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
        if row.of_judge or row.benchmark not in (name, ""):
            return {}
        if row.penalised and not penalties:
            return {}
        share = score_share(score, row.rubric, scoring)
        return {} if share is None else {score.name: share}

    return rates
