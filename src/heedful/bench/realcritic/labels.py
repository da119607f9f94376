"""Labels of given solutions that people adjudicated, for items of the published sets.

The published labels were made by code, from an answer that code extracted. Items on which our
grader disagreed, or that it could not decide, were read by hand; ``adjudicated.jsonl`` has the
verdicts, each with its reason. An item is known by a digest of its question and solution.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from heedful.bench.realcritic.critic import RealCriticItem
    from heedful.bench.realcritic.run import RealCriticRow


Labels = Literal["shipped", "corrected"]
"""Whether a given solution is correct by the file's label, or by the adjudicated one if any."""


class Adjudication(NamedTuple):
    """A verdict on a given solution."""

    correct: bool
    shipped: bool
    reason: str


@cache
def adjudications() -> dict[str, Adjudication]:
    """Read all verdicts, by the digest of question and solution."""
    text = resources.files(__package__).joinpath("adjudicated.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {
        row["text"]: Adjudication(row["correct"], row["shipped"], row["reason"]) for row in rows
    }


def digest_of(item: RealCriticItem) -> str:
    """Compute the digest that an item is known by."""
    text = f"{item.problem.question}\n{item.solution.text or ''}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def adjudication_of(item: RealCriticItem) -> Adjudication | None:
    """Find the verdict on an item, if it was adjudicated."""
    return adjudications().get(digest_of(item))


def corrected(rows: Iterable[RealCriticRow]) -> Iterator[RealCriticRow]:
    """Put adjudicated verdicts in the place of the given solutions' labels and grades."""
    for row in rows:
        verdict = adjudication_of(row.item) if row.item else None
        if row.item is None or verdict is None:
            yield row
            continue
        solution = row.item.solution.model_copy(update={"label": verdict.correct})
        outcome = row.outcome
        if outcome is not None:
            graded = {"correct": verdict.correct, "reason": verdict.reason}
            outcome = outcome.model_copy(update={"given": outcome.given.model_copy(update=graded)})
        item = row.item.model_copy(update={"solution": solution})
        yield replace(row, item=item, outcome=outcome)
