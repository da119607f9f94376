"""The card of exported critiques: counts, how pairs were made, the filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.critic.data.funnel import LEVELS
from heedful.data.training_sets.folder import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.critic.data.examples import Examples


def sections(examples: Examples, summaries: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    """Write the card's sections, in Markdown."""
    parts = ["## Counts", _counts(examples)]
    pairs, funnel = summaries["pairs"], summaries["funnel"]
    if examples.pairs and pairs:
        parts += ["## How the pairs were made", _pairs(pairs)]
    if funnel:
        parts += ["## Filters", _funnel(funnel)]
    return parts


def _counts(examples: Examples) -> str:
    counts = examples.counts
    rows = [("pairs" if examples.pairs else "critiques", counts["examples"])]
    for prefix, words in (
        ("judgments:", "judgments: {}"),
        ("segments:", "segments on which the pair disagrees, the chosen one: {}"),
        ("prompt:", "of the prompt {}"),
        ("of type ", "judgments of {}"),
        ("left out to balance:", "judgments left out to balance: {}"),
        ("dropped:", "rows left out: {}"),
    ):
        keys = sorted(key for key in counts if key.startswith(prefix))
        rows += [(words.format(key.removeprefix(prefix)), counts[key]) for key in keys]
    return table(("what", "number"), rows)


def _pairs(summary: Mapping[str, Any]) -> str:
    items = summary.get("items", {})
    settings = ("method", "similarity", "candidates", "reading", "seed")
    rows = [(name, summary[name]) for name in settings if name in summary]
    rows += [("items", items.get("all")), ("items with pairs", items.get("with_pairs"))]
    rows += [(f"items without: {why}", n) for why, n in summary.get("without_pairs", {}).items()]
    agreement = summary.get("agreement", {})
    for label in ("positive_f1", "negative_f1"):
        value = agreement.get(label)
        if value is not None:
            over = amount(agreement["verdicts"], "verdict")
            rows.append(
                (f"sampled critiques against the expert's, {label} ({over})", f"{value:.3f}")
            )
    return table(("what", "value"), rows)


def _funnel(summary: Mapping[str, Any]) -> str:
    """Lay out the stages; the funnel may be the whole summary or a part of it."""
    funnel = summary.get("funnel", summary)
    rows = [
        (
            stage.get("stage"),
            *(
                f"{stage['in'].get(level, 0):,} → {stage['out'].get(level, 0):,}"
                for level in LEVELS
            ),
            "; ".join(f"{why} {n:,}" for why, n in stage.get("reasons", {}).items()),
        )
        for stage in funnel.get("stages", ())
    ]
    return table(("stage", *LEVELS, "judgments dropped"), rows)
