"""The names of rates in words, and the order in which they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FAMILIES", "KEYS", "WORDS", "in_words", "label", "ranked"]

FAMILIES = {
    "multiif": "Multi-IF",
    "ifeval": "IFEval",
    "advancedif": "AdvancedIF",
    "sysbench": "SysBench",
    "structflow": "StructFlowBench",
    "multichallenge": "MultiChallenge",
    "followbench": "FollowBench",
    "complexbench": "ComplexBench",
    "rubric": "Rubric",
    "healthbench": "HealthBench",
    "researchrubrics": "ResearchRubrics",
    "profbench": "ProfBench",
    "ruverbench": "RuVerBench",
    "prbench": "PRBench",
    "cfbench": "CFBench",
    "infobench": "InFoBench",
    "reliability": "Reliability",
    "labels": "Known labels:",
}
"""Shown in this order: a benchmark's own numbers before the general ones."""

NAMES = {
    "csr": "CSR",
    "isr": "ISR",
    "psr": "PSR",
    "ssr": "SSR",
    "hsr": "HSR",
    "csl": "CSL, share of five levels",
    "drfr": "DRFR",
    "wcsr": "WCSR",
    "gates": "must-haves all met",
    "score": "weighted score",
    "overall": "overall pass rate",
    "macro_overall": "overall, mean of tasks",
    "micro": "micro pass rate",
    "row_rate": "row rate",
    "success": "success rate",
    "mean": "mean of four",
    **{
        f"{kind}_{name}": f"{name} test, {kind} selection"
        for kind in ("single", "multiple")
        for name in ("origin", "coherent")
    },
    "single_drop": "drop from origin to coherent, single selection",
    "multiple_drop": "drop from origin to coherent, multiple selection",
    "any_attempt": "any attempt passes, mean of axes",
    **{f"pass_all_{k}": f"pass^{k}" for k in range(2, 65)},
    **{f"pass_any_{k}": f"pass@{k}" for k in range(2, 65)},
    **{f"reliable_{k}": f"reliable@{k}" for k in range(2, 65)},
    "turns": "mean of turns",
    "turns_languages": "mean of turns, languages",
    **{f"turn_{turn}": f"turn {turn}" for turn in (1, 2, 3)},
    **{f"turn_{turn}_languages": f"turn {turn}, mean of languages" for turn in (1, 2, 3)},
}


KEYS = {
    "constraints_met": ("cfbench", "csr"),
    "fully_met": ("cfbench", "isr"),
    "weighted": ("rubric", "score"),
}
"""Rates that every run has, or every rubric, by a name that needs no paper."""

WORDS = {
    ("cfbench", "csr"): "constraints met",
    ("cfbench", "isr"): "responses fully met",
    ("cfbench", "psr"): "met by priority",
    ("infobench", "drfr"): "constraints met, pooled",
    ("rubric", "score"): "weighted score",
}
"""Rates that say the same in all runs, in plain words; others keep their benchmark's names."""


def in_words(family: str, name: str) -> str:
    """Name a rate in words, and as its paper does.

    >>> in_words("cfbench", "isr"), in_words("ifeval", "prompt_strict")
    ('responses fully met (CFBench ISR)', 'IFEval prompt strict')
    """
    words, named = WORDS.get((family, name)), label(family, name)
    return named if words is None or words in named else f"{words} ({named})"


def label(family: str, name: str) -> str:
    """Name a rate in words.

    >>> label("ifeval", "prompt_strict"), label("cfbench", "csr")
    ('IFEval prompt strict', 'CFBench CSR')
    """
    return f"{FAMILIES.get(family, family)} {NAMES.get(name, name.replace('_', ' '))}"


def ranked(families: Iterable[str]) -> list[str]:
    """Put families in the order in which they are shown."""
    there = set(families)
    known = [family for family in FAMILIES if family in there]
    return [*known, *sorted(there - set(known))]
