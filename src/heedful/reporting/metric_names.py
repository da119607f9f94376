"""The names of rates in words, and the order in which they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics import family as families
from heedful.metrics.general import BY_PRIORITY, CONSTRAINTS_MET, FULLY_MET, POOLED, WEIGHTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EXTRA = {"reliability": "Reliability", "labels": "Known labels:"}
"""What summaries and comparisons name beside families; shown last."""

KEYS = {"constraints_met": CONSTRAINTS_MET, "fully_met": FULLY_MET, "weighted": WEIGHTED}
"""Rates that every run or rubric has, by plain names."""

WORDS = {
    CONSTRAINTS_MET: "constraints met",
    FULLY_MET: "responses fully met",
    BY_PRIORITY: "met by priority",
    POOLED: "constraints met, pooled",
    WEIGHTED: "weighted score",
}
"""Rates that every run has, in plain words; others keep their benchmark's names."""

_OF_SEVERAL = {"pass_all": "pass^", "pass_any": "pass@", "reliable": "reliable@"}


def label(family: str, name: str, of: Mapping[str, Any] | None = None) -> str:
    """Name a rate in words; of a summary or comparison of its benchmark's rows, as its paper too.

    >>> label("ifeval", "prompt_strict"), label("cfbench", "csr")
    ('IFEval prompt strict', 'constraints met')
    >>> label("cfbench", "csr", {"benchmarks": ["cfbench"]})
    'constraints met (CFBench CSR)'
    """
    words, named = WORDS.get((family, name)), _published(family, name)
    if words is None or words in named:
        return named
    return f"{words} ({named})" if of and family in of.get("benchmarks", ()) else words


def _published(family: str, name: str) -> str:
    """Name a rate as its paper does."""
    kind, _, number = name.rpartition("_")
    if family in EXTRA and kind in _OF_SEVERAL:
        return f"{title(family)} {_OF_SEVERAL[kind]}{number}"
    of = families.family_of(family)
    named = {} if of is None else of.labels
    return f"{title(family)} {named.get(name, name.replace('_', ' '))}"


def heading(words: str) -> str:
    """Begin words with a capital, as the title of a table does."""
    return words[:1].upper() + words[1:]


def title(family: str) -> str:
    """Name a family in words."""
    of = families.family_of(family)
    return EXTRA.get(family, family) if of is None else of.title


def ranked(names: Iterable[str]) -> list[str]:
    """Put families in the order in which they are shown."""
    there = set(names)
    known = families.ranked(there - set(EXTRA))
    return [*known, *(name for name in EXTRA if name in there)]
