"""The rates that every run has, by the benchmarks that published them first.

They are the only rates that other code names; :data:`CHECKED` is there where verifiers judged.
"""

from __future__ import annotations

CONSTRAINTS_MET = ("cfbench", "csr")
FULLY_MET = ("cfbench", "isr")
BY_PRIORITY = ("cfbench", "psr")
POOLED = ("infobench", "drfr")
WEIGHTED = ("rubric", "score")

CHECKED = "ifeval"
"""The family of accuracies of responses whose constraints all have a check."""

ACCURACIES = ("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose")

GENERAL = frozenset({CONSTRAINTS_MET[0], POOLED[0]})
"""Families that say the same of every benchmark."""
