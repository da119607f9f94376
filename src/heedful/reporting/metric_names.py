"""The names of rates in words, and the order in which they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FAMILIES", "label", "ranked"]

FAMILIES = {
    "multiif": "Multi-IF",
    "ifeval": "IFEval",
    "advancedif": "AdvancedIF",
    "sysbench": "SysBench",
    "structflow": "StructFlowBench",
    "multichallenge": "MultiChallenge",
    "healthbench": "HealthBench",
    "researchrubrics": "ResearchRubrics",
    "profbench": "ProfBench",
    "ruverbench": "RuVerBench",
    "prbench": "PRBench",
    "rubric": "Rubric",
    "cfbench": "CFBench",
    "infobench": "InFoBench",
    "labels": "Known labels:",
}
"""Shown in this order: a benchmark's own numbers before the general ones."""

NAMES = {
    "csr": "CSR",
    "isr": "ISR",
    "psr": "PSR",
    "ssr": "SSR",
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
    "turns": "mean of turns",
    "turns_languages": "mean of turns, languages",
    **{f"turn_{turn}": f"turn {turn}" for turn in (1, 2, 3)},
    **{f"turn_{turn}_languages": f"turn {turn}, mean of languages" for turn in (1, 2, 3)},
}


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
