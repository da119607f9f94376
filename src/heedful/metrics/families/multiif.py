"""Multi-IF's accuracies: by turn and language, with whole conversations as clusters.

Source: He et al. 2024 (arXiv 2410.15553) and its public code. For each turn, over all
conversations and for each language: IFEval's four accuracies (prompt and instruction level, strict
and loose) and their mean, which is the number that the paper reports.
"""

from __future__ import annotations

from collections import Counter
from operator import add
from typing import TYPE_CHECKING, Any

from heedful.metrics.families.ifeval import FAMILY as IFEVAL
from heedful.metrics.family import Family, Units
from heedful.metrics.general import ACCURACIES
from heedful.metrics.rates import Share, mean_measure, measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate

    Shares = tuple[Share, ...]
    """A conversation's part of each of some rates."""

NO_UNITS = Share.known(0, 0)
NOTHING = (NO_UNITS,) * len(ACCURACIES)
"""Contribution of a conversation without a turn to that turn's accuracies."""


class Conversations(Units):
    """Gathers turns by conversation (a key, and a model where there are several).

    Keeps some hundred bytes a conversation: its turns are one cluster, of all models.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._turns: dict[tuple[str, str], dict[int, Shares]] = {}
        self._languages: dict[tuple[str, str], str] = {}
        self._distinct: dict[Shares, Shares] = {}

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in one turn."""
        shares = IFEVAL.rates(row, self._scoring)
        if not shares:
            return
        tags = sample.tags
        key = (str(tags.get("model", "")), str(tags.get("conversation_id", sample.id)))
        part = tuple(shares[name] for name in ACCURACIES)
        part = self._distinct.setdefault(part, part)
        self._turns.setdefault(key, {})[int(tags.get("turn", 1))] = part
        self._languages[key] = str(tags.get("language", "unknown"))

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Compute the mean of the four accuracies for each turn, and the mean of the turns.

        ``turn_k`` is over all conversations, as the published code's ``all_languages``, and
        ``turns`` the mean of these. Where there are several languages, ``turn_k_languages`` is
        the mean over languages, each weighing the same, and ``turns_languages`` the mean of these.
        """
        languages = self._languages_named()
        measures: dict[str, RateEstimate] = {}
        if not languages:
            return measures
        for suffix in ("", "_languages") if len(languages) > 1 else ("",):
            for name, turns in self._named_turns():
                cells = {each: self._clusters(turns, each) for each in languages}
                if not suffix:
                    cells = {"": self._clusters(turns, None)}
                measures[name + suffix] = mean_measure(
                    {key: clusters for key, clusters in cells.items() if clusters},
                    readable=readable,
                )
        return measures

    def extend(self, summary: dict[str, Any], *, readable: float) -> None:
        """Add the four accuracies and their mean to the breakdowns of a summary.

        They go by ``turn``, by ``language``, and by ``language and turn`` (``Hindi 1``): the four
        under ``ifeval``, and ``mean`` under ``multiif``. A language's four are over all its turns;
        its mean is that of the turns' means.
        """
        by = summary["by"]
        languages = self._languages_named()
        cells: dict[str, dict[str, tuple[tuple[int, ...], str | None]]] = {
            "turn": {str(turn): ((turn,), None) for turn in self._numbers()},
            "language": {name: (self._numbers(name), name) for name in languages},
            "language and turn": {
                f"{name} {turn}": ((turn,), name)
                for name in languages
                for turn in self._numbers(name)
            },
        }
        for dimension, values in cells.items():
            groups = by.setdefault(dimension, {}) if values else {}
            for value, (turns, language) in values.items():
                clusters = self._clusters(turns, language)
                cell = _cell(clusters, readable=readable)
                groups[value] = groups.get(value, {}) | cell

    def _languages_named(self) -> list[str]:
        return sorted(set(self._languages.values()))

    def _numbers(self, language: str | None = None) -> tuple[int, ...]:
        """List the turns that occur."""
        return tuple(sorted({turn for key in self._in(language) for turn in self._turns[key]}))

    def _named_turns(self) -> list[tuple[str, tuple[int, ...]]]:
        turns = self._numbers()
        return [("turns", turns), *((f"turn_{turn}", (turn,)) for turn in turns)]

    def _in(self, language: str | None) -> Iterable[tuple[str, str]]:
        return (key for key in self._turns if language in {None, self._languages[key]})

    def _clusters(self, turns: Iterable[int], language: str | None) -> Counter[Shares]:
        """Count the conversations by what they contribute: four shares for each turn."""
        turns = tuple(turns)
        by_cluster: dict[str, Shares] = {}
        for key in self._in(language):
            had = self._turns[key]
            if any(turn in had for turn in turns):
                shares = tuple(share for turn in turns for share in had.get(turn, NOTHING))
                before = by_cluster.get(key[1])
                by_cluster[key[1]] = shares if before is None else tuple(map(add, before, shares))
        return Counter(by_cluster.values())


def _cell(clusters: Mapping[Shares, int], *, readable: float) -> dict[str, Any]:
    four = {
        rate: measure(_summed(clusters, place), readable=readable)
        for place, rate in enumerate(ACCURACIES)
    }
    mean = mean_measure({"": clusters}, readable=readable)
    turns = sum(share.units * count for share, count in _summed(clusters, 0).items())
    return {"samples": turns, FAMILY.name: {"mean": mean}, IFEVAL.name: four}


def _summed(clusters: Mapping[Shares, int], place: int) -> Counter[Share]:
    """Add up each conversation's turns for one of the accuracies."""
    counts: Counter[Share] = Counter()
    for shares, count in clusters.items():
        counts[sum(shares[place :: len(ACCURACIES)], NO_UNITS)] += count
    return counts


FAMILY = Family(
    "multiif",
    "Multi-IF",
    lambda _row, _scoring: {},
    labels={
        "mean": "mean of four",
        "turns": "mean of turns",
        "turns_languages": "mean of turns, languages",
        **{f"turn_{turn}_languages": f"turn {turn}, mean of languages" for turn in (1, 2, 3)},
    },
    units=Conversations,
    replaces=frozenset({IFEVAL.name}),
    by_turn=True,
)
