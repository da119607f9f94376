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
from heedful.metrics.rates import Share, mean_measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate

    Shares = tuple[Share, ...]
    """A conversation's part of the four accuracies."""

NOTHING = (Share.known(0, 0),) * len(ACCURACIES)
"""Contribution of a conversation without a turn to that turn's accuracies."""


class Conversations(Units):
    """Gathers turns by conversation: all of its turns, of all models, are one cluster.

    Keeps some hundred bytes a conversation.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._turns: dict[tuple[str, str], dict[int, Shares]] = {}
        self._distinct: dict[Shares, Shares] = {}

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in one turn."""
        shares = IFEVAL.rates(row, self._scoring)
        if not shares:
            return
        tags = sample.tags
        language = str(tags.get("language", "unknown"))
        conversation = str(tags.get("conversation_id", sample.id))
        turns, turn = self._turns.setdefault((language, conversation), {}), int(tags.get("turn", 1))
        part = tuple(shares[name] for name in ACCURACIES)
        if turn in turns:  # another model's
            part = tuple(map(add, turns[turn], part))
        turns[turn] = self._distinct.setdefault(part, part)

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Compute the mean of the four accuracies for each turn, and the mean of the turns.

        ``turn_k`` is over all conversations, as the published code's ``all_languages``, and
        ``turns`` the mean of these. Where there are several languages, ``turn_k_languages`` is
        the mean over languages, each weighing the same, and ``turns_languages`` the mean of these.
        """
        languages, numbers = self._languages(), self._numbers()
        if not languages:
            return {}
        named = {"turns": numbers, **{f"turn_{turn}": (turn,) for turn in numbers}}
        measures = {name: self._mean([None], turns, readable) for name, turns in named.items()}
        if len(languages) > 1:
            measures |= {
                f"{name}_languages": self._mean(languages, turns, readable)
                for name, turns in named.items()
            }
        return measures

    def extend(self, summary: dict[str, Any], *, readable: float) -> None:
        """Add the mean to a summary's breakdowns by turn and by language, and one by both.

        A language's mean is that of its turns' means.
        """
        by = summary["by"]
        for turn in self._numbers():
            self._cell(by, "turn", str(turn), None, (turn,), readable)
        for language in self._languages():
            turns = self._numbers(language)
            self._cell(by, "language", language, language, turns, readable)
            for turn in turns:
                both = "language and turn", f"{language} {turn}"
                self._cell(by, *both, language, (turn,), readable)

    def _cell(
        self,
        by: dict[str, Any],
        dimension: str,
        value: str,
        language: str | None,
        turns: tuple[int, ...],
        readable: float,
    ) -> None:
        rows = sum(
            had[turn][0].units for had in self._in(language) for turn in turns if turn in had
        )
        cell = by.setdefault(dimension, {}).setdefault(value, {"samples": rows})
        cell[FAMILY.name] = {"mean": self._mean([language], turns, readable)}

    def _languages(self) -> list[str]:
        return sorted({language for language, _ in self._turns})

    def _numbers(self, language: str | None = None) -> tuple[int, ...]:
        return tuple(sorted({turn for turns in self._in(language) for turn in turns}))

    def _in(self, language: str | None) -> Iterable[dict[int, Shares]]:
        return (had for (of, _), had in self._turns.items() if language in {None, of})

    def _mean(
        self, languages: Sequence[str | None], turns: tuple[int, ...], readable: float
    ) -> RateEstimate:
        """Average the accuracies of turns over conversations, and that over languages."""
        strata = {
            str(language): Counter(
                tuple(share for turn in turns for share in had.get(turn, NOTHING))
                for had in self._in(language)
                if any(turn in had for turn in turns)
            )
            for language in languages
        }
        return mean_measure({key: of for key, of in strata.items() if of}, readable=readable)


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
    by_turn=True,
)
