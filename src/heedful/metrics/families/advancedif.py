"""AdvancedIF (arXiv 2511.10507 and its code): rubrics, and what the judge declares of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.metrics.family import Family, Mean
from heedful.metrics.outcomes import all_met, csr_share, pooled
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome, VerdictCounts


class AdvancedIFReply(NamedTuple):
    """Verdicts that a judge declared: ``YES`` or ``NO`` for all, and how many answers hold "yes".

    ``passes`` are those of these whose numbers the checklist has.
    """

    satisfied_all: str | None
    yes: int
    answers: int
    passes: int


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a row's part of the rates.

    ``success``: the judge's result was usable. ``overall``: the row passes. ``micro``: rubrics
    met, pooled. ``row_rate``: mean over rows of the share of rubrics met. ``declared_disagreement``
    (only where the judge declared something): its SATISFIED_ALL_REQUIREMENTS contradicts its own
    verdicts.

    Faithful scoring passes a row iff the judge declared YES, counts failed rows as not passed,
    and counts as met each answer that contains "yes", out of the answers that the judge gave.
    """
    verdicts = row.verdicts
    reply = row.said(FAMILY.name)
    usable = int(
        verdicts.decided > 0
        if reply is None
        else reply.satisfied_all is not None or reply.answers > 0
    )
    shares = {"success": Share.known(usable)}
    if scoring == "strict":
        shares["overall"] = all_met(verdicts)
        shares["micro"] = pooled(verdicts)
        shares["row_rate"] = csr_share(verdicts)
    else:
        shares |= _declared_rates(verdicts, reply, usable)
    if reply is not None and reply.satisfied_all is not None:
        shares["declared_disagreement"] = _disagreement(verdicts, reply)
    return shares


def unread(scoring: Scoring) -> dict[str, Share]:
    """Count a row that could not be read: its judge had no usable result, so it isn't passed."""
    shares = {"success": Share.known(0)}
    if scoring == "faithful":
        shares["overall"] = Share.known(0)
    return shares


def declared(said: Mapping[str, Any], sample: Sample, _scoring: Scoring) -> AdvancedIFReply | None:
    """Read a judge's declaration."""
    reply = said.get(FAMILY.name)
    if not isinstance(reply, dict):
        return None
    rubrics = len(sample.checklist)
    answers = reply.get("answers")
    answers = answers if isinstance(answers, dict) else {}
    word = str(reply.get("satisfied_all")).strip().upper()
    yes = [key for key, text in answers.items() if "yes" in str(text).lower()]
    passes = sum(_answers_a_rubric(key, rubrics) for key in yes)
    declared_word = word if word in {"YES", "NO"} else None
    return AdvancedIFReply(declared_word, len(yes), len(answers), min(passes, rubrics))


def _answers_a_rubric(key: str, rubrics: int) -> bool:
    """Tell whether a key has a number (``question_1``) that the published code counts."""
    try:
        return int(key.split("_")[1]) <= rubrics
    except (IndexError, ValueError):
        return False


def _declared_rates(
    verdicts: VerdictCounts, reply: AdvancedIFReply | None, usable: int
) -> dict[str, Share]:
    if not usable:
        return {"overall": Share.known(0)}
    if reply is None:
        passed, yes, answers = int(verdicts.met == verdicts.total), verdicts.met, verdicts.decided
        rate = yes / verdicts.total
    else:
        passed, yes, answers = int(reply.satisfied_all == "YES"), reply.yes, reply.answers
        rate = reply.passes / verdicts.total
    return {
        "overall": Share.known(passed),
        "micro": Share.known(yes, answers),
        "row_rate": Share.known(rate),
    }


def _disagreement(verdicts: VerdictCounts, reply: AdvancedIFReply) -> Share:
    """Compare the declaration with the verdicts, which may not settle the row."""
    passed = all_met(verdicts)
    if reply.satisfied_all == "YES":
        return Share(1 - passed.high, 1 - passed.low, 1)
    return passed


FAMILY = Family(
    "advancedif",
    "AdvancedIF",
    rates,
    labels={
        "overall": "overall pass rate",
        "macro_overall": "overall, mean of tasks",
        "micro": "micro pass rate",
        "row_rate": "row rate",
        "success": "success rate",
    },
    over_rows=frozenset({"overall"}),
    declared=declared,
    means=(Mean("macro_overall", "overall", "task"),),
    unread=unread,
    of_judge=frozenset({"success"}),
)
