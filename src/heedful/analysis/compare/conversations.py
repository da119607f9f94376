"""Rates over whole conversations: over leading steps, and by turn.

All are of paired turns; :mod:`heedful.metrics` computes them on one side.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from heedful.analysis.compare.differences import NOTHING, Difference, Total, bounds
from heedful.core.text import amount
from heedful.metrics.contrasts import contrast
from heedful.metrics.gathering import (
    MISSING,
    NO_TURNS,
    TURNS,
    leading,
    turn_number,
    turn_state,
    with_turn,
)
from heedful.metrics.general import ACCURACIES, CHECKED
from heedful.metrics.outcomes import MET, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.analysis.compare.differences import Four, Part, Rate
    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.contrasts import Sums
    from heedful.metrics.family import Steps

    Cell = tuple[str, int]
    """A language and the number of a turn."""

    States = tuple[Sequence[int], Sequence[int]]
    """Of the verdicts of both sides."""

    Flags = tuple[bool | None, bool | None]
    """SysBench's shipped flags of both sides."""

LANGUAGE_AND_TURN = "language and turn"
"""A breakdown of Multi-IF by both, as in a summary."""


class Systems:
    """Compares a rate over leading steps, such as SysBench's SSR, over what is complete.

    A system (an example) counts if all five of its steps are in both runs and decided: taking in
    those that failed before their first gap, too, would leave out only the better ones. Keeps some
    hundred bytes a system.
    """

    def __init__(self, scorings: tuple[Scoring, Scoring], steps: Steps) -> None:
        self._of = steps
        self._faithful = tuple(scoring == "faithful" for scoring in scorings)
        self._turns: dict[str, dict[str, tuple[bytes, bytes]]] = {}
        self._unplaced = 0

    def __bool__(self) -> bool:
        """Check whether any system is complete on both sides."""
        return any(map(_complete, self._units()))

    def add(self, sample: Sample, states: States, flags: Flags) -> None:
        """Add a pair of turns: the first one's sample, the verdicts and flags of both."""
        system = sample.tags.get(self._of.group)
        turn = turn_number(sample.tags.get(self._of.step))
        if system is None or turn is None:
            self._unplaced += 1
            return
        models = self._turns.setdefault(str(system), {})
        model = str(sample.tags.get("model", ""))
        first, second = (
            with_turn(turns, turn, turn_state(verdicts, flag, faithful=faithful))
            for turns, verdicts, flag, faithful in zip(
                models.get(model, (NO_TURNS, NO_TURNS)), states, flags, self._faithful, strict=True
            )
        )
        models[model] = first, second

    def result(self, *, seed: int) -> Difference:
        """Compute the difference of SSR; a system prompt's models go together."""
        clusters: Counter[Sums] = Counter()
        complete = 0
        for models in self._turns.values():
            whole = [pair for pair in models.values() if _complete(pair)]
            complete += len(whole)
            if whole:
                first, second = (
                    sum(leading(pair[side], {MET}) for pair in whole) / TURNS for side in (0, 1)
                )
                clusters[first, len(whole), second, len(whole)] += 1
        contrasted = contrast({"": clusters} if clusters else {}, seed=seed)
        return Difference(
            **contrasted,
            compared=complete,
            coverage=complete / max(1, len(self._units())),
            bounds=self._bounds(),
        )

    def _bounds(self) -> list[float]:
        """Compute the difference with open steps against either side, over all systems."""
        pairs = self._units()
        certain, possible = (
            [sum(leading(pair[side], open_) for pair in pairs) for side in (0, 1)]
            for open_ in ({MET}, {MET, UNDECIDED, MISSING})
        )
        units = TURNS * max(1, len(pairs))
        return [(certain[0] - possible[1]) / units, (possible[0] - certain[1]) / units]

    def notes(self) -> list[str]:
        """Say how many systems are left out, and why."""
        pairs = self._units()
        missing = sum(MISSING in pair[0] for pair in pairs)
        undecided = sum(MISSING not in pair[0] and not _complete(pair) for pair in pairs)
        name, group, step, unit, steps = self._of
        reasons = [
            f"{missing:,} without all {TURNS} {steps}s in both runs" if missing else "",
            f"{undecided:,} with a {steps} that is undecided on a side" if undecided else "",
        ]
        noted = []
        if any(reasons):
            said = ", ".join(filter(None, reasons))
            left = missing + undecided
            noted.append(f"{name} leaves out {left:,} of {amount(len(pairs), unit)}: {said}")
        if self._unplaced:
            rows = amount(self._unplaced, steps)
            noted.append(f"{name} leaves out {rows} without a {group} or {step} from 1 to 5")
        return noted

    def _units(self) -> list[tuple[bytes, bytes]]:
        return [pair for models in self._turns.values() for pair in models.values()]


class Turns:
    """Compares accuracies by turn and language, with conversations as clusters.

    Keeps some hundred bytes a conversation.
    """

    def __init__(self) -> None:
        self.family = ""
        self._conversations: dict[int, dict[Cell, tuple[Four, ...]]] = {}
        self._distinct: dict[tuple[Four, ...], tuple[Four, ...]] = {}
        self._compared: Counter[Cell] = Counter()
        self._totals: defaultdict[tuple[Cell, str], Total] = defaultdict(Total)

    def add(self, cluster: int, sample: Sample, parts: Mapping[Rate, Part]) -> dict[str, str]:
        """Add a pair of turns, and their parts of the accuracies."""
        turn = int(sample.tags.get("turn", 1))
        language = str(sample.tags.get("language", "unknown"))
        cell = (language, turn)
        fours = []
        for name in ACCURACIES:
            part = parts.get((CHECKED, name))
            if part is not None:
                self._totals[cell, name].add(part)
            fours.append(NOTHING if part is None else part.sums)
        if any(map(any, fours)):
            self._compared[cell] += 1
            cells = self._conversations.setdefault(cluster, {})
            before = cells.get(cell, (NOTHING,) * len(fours))
            new = tuple(map(_added, before, fours))
            cells[cell] = self._distinct.setdefault(new, new)
        return {
            "turn": str(turn),
            "language": language,
            LANGUAGE_AND_TURN: f"{language} {turn}",
        }

    def rates(self) -> list[Rate]:
        """Name the means of the four accuracies: of each turn and all turns, over languages too."""
        if not self._compared:
            return []
        names = ["turns", *(f"turn_{turn}" for turn in self._numbers())]
        if len(self._languages()) > 1:
            names += [f"{name}_languages" for name in names]
        return [(self.family, name) for name in names]

    def result(self, name: str, *, seed: int) -> Difference:
        """Compute the difference of one of them."""
        which, languages = name.removesuffix("_languages"), self._languages()
        turns = self._numbers() if which == "turns" else [int(which.removeprefix("turn_"))]
        strata = [languages] if which == name else [[language] for language in languages]
        return self._mean(strata, turns, seed)

    def mean(self, dimension: str, group: str, *, seed: int) -> Difference | None:
        """Compute the difference of a group's mean; ``None`` for other breakdowns."""
        cells = {
            "turn": [cell for cell in self._compared if str(cell[1]) == group],
            "language": [cell for cell in self._compared if cell[0] == group],
            LANGUAGE_AND_TURN: [cell for cell in self._compared if f"{cell[0]} {cell[1]}" == group],
        }.get(dimension)
        if not cells:
            return None
        languages, turns = (sorted(set(names)) for names in zip(*cells, strict=True))
        return self._mean([languages], turns, seed)

    def _languages(self) -> list[str]:
        return sorted({language for language, _ in self._compared})

    def _numbers(self) -> list[int]:
        return sorted({turn for _, turn in self._compared})

    def _mean(self, strata: Sequence[Sequence[str]], turns: Sequence[int], seed: int) -> Difference:
        """Average the accuracies of turns, of languages pooled in each stratum, over the strata."""
        clusters = [self._clusters(pooled, turns) for pooled in strata]
        contrasted = contrast(
            {" ".join(pooled): of for pooled, of in zip(strata, clusters, strict=True) if of},
            seed=seed,
        )
        cells = [(language, turn) for pooled in strata for language in pooled for turn in turns]
        averaged = [
            [self._totals[(language, turn), name] for language in pooled]
            for pooled in strata
            for turn in turns
            for name in ACCURACIES
        ]
        covered = [_covered(totals) for totals in averaged]
        return Difference(
            **contrasted,
            compared=sum(self._compared[cell] for cell in cells),
            coverage=sum(covered) / len(covered),
            bounds=bounds(
                tuple(map(sum, zip(*(total.extremes for total in totals), strict=True)))
                for totals in averaged
            ),
        )

    def _clusters(self, languages: Iterable[str], turns: Sequence[int]) -> Counter[Sums]:
        counts: Counter[Sums] = Counter()
        nothing = (NOTHING,) * len(ACCURACIES)
        for cells in self._conversations.values():
            for language in languages:
                if any((language, turn) in cells for turn in turns):
                    rates = [cells.get((language, turn), nothing) for turn in turns]
                    counts[tuple(n for fours in rates for four in fours for n in four)] += 1
        return counts


def _covered(totals: Sequence[Total]) -> float:
    """Compute the share of an accuracy's units that were decided on both sides."""
    units = sum(total.units for total in totals)
    return sum(total.covered for total in totals) / units if units else 0.0


def _complete(pair: tuple[bytes, bytes]) -> bool:
    return not any({MISSING, UNDECIDED} & set(turns) for turns in pair)


def _added(sums: Four, more: Four) -> Four:
    a, b, c, d = sums
    return a + more[0], b + more[1], c + more[2], d + more[3]
