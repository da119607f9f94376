"""Reliability over several responses to one instruction: pass^k, pass@k and reliable@k.

A response passes if all of its constraints are met. With n responses of a model to an instruction,
of which c pass, pass^k = C(c, k) / C(n, k) is the chance that k of them, drawn without replacement,
all pass (τ-bench, arXiv 2406.12045), and pass@k = 1 - C(n - c, k) / C(n, k) that one does (Codex,
arXiv 2107.03374). reliable@k is the share of instructions whose k variants all pass (IFEval++). All
are means over instructions.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from heedful.metrics.statistics import ClusterShare, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.statistics import RateEstimate

    Draws = tuple[int, int, int]
    """Responses that pass, fail, and can still do either."""

VARIANT = "variant"
"""Tag of a row that is one wording of an instruction among several."""


class Reliability:
    """Accumulator of responses by instruction: three small numbers for each."""

    def __init__(self, scoring: Scoring) -> None:
        self._faithful = scoring == "faithful"
        self._draws: dict[tuple[str, str], Draws] = {}
        self._variants = False

    def add(self, sample: Sample, row: RowOutcome) -> None:
        """Take in a response; one that isn't known to be one of several of a model is left out."""
        instruction = (sample.model_extra or {}).get("instruction_id")
        verdicts = row.verdicts
        variant = VARIANT in sample.tags
        known = "model" in sample.tags or variant
        if instruction is None or not known or not verdicts.total or row.penalised:
            return
        key = str(sample.tags.get("model", "")), str(instruction)
        passed, failed, left = self._draws.get(key, (0, 0, 0))
        if verdicts.unmet:
            failed += 1
        elif verdicts.undecided:
            left += 1
        else:
            passed += 1
        self._draws[key] = passed, failed, left
        self._variants |= variant

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; nothing where no instruction has two responses.

        Args:
            readable: share of the rows that could be read.
        """
        counts = Counter(self._draws.values())
        most = max(map(sum, counts), default=0)
        if most < 2:  # noqa: PLR2004 - several responses
            return {}
        rates = {}
        if self._variants:
            shares: Counter[ClusterShare] = Counter()
            for draws, count in counts.items():
                shares[_reliable(draws, most, self._faithful)] += count
            return {f"reliable_{most}": measure(shares, readable=readable)}
        passed, failed = (sum(draws[side] * n for draws, n in counts.items()) for side in (0, 1))
        rate = passed / (passed + failed) if passed + failed else 0.0
        for k in _sizes(most):
            for name, chance in CHANCES.items():
                shares = Counter()
                for draws, count in counts.items():
                    if sum(draws) >= k:
                        shares[_share(draws, k, chance, rate)] += count
                rates[f"{name}_{k}"] = measure(shares, readable=readable)
        return rates


def _sizes(most: int) -> list[int]:
    """Choose the numbers of responses: powers of two, and all."""
    powers = [1 << power for power in range(1, most.bit_length()) if 1 << power < most]
    return [*powers, most]


def _all_pass(passed: int, total: int, k: int) -> float:
    return math.comb(passed, k) / math.comb(total, k)


def _any_passes(passed: int, total: int, k: int) -> float:
    return 1 - math.comb(total - passed, k) / math.comb(total, k)


CHANCES: Mapping[str, Callable[[int, int, int], float]] = {
    "pass_all": _all_pass,
    "pass_any": _any_passes,
}


def _share(draws: Draws, k: int, of: Callable[[int, int, int], float], rate: float) -> ClusterShare:
    """Compute an instruction's part; what is undecided passes as often as what is decided."""
    passed, failed, left = draws
    total, decided = sum(draws), passed + failed
    low, high = of(passed, total, k), of(passed + left, total, k)
    value = math.fsum(
        math.comb(left, more) * rate**more * (1 - rate) ** (left - more) * of(met, total, k)
        for more, met in enumerate(range(passed, passed + left + 1))
    )
    return ClusterShare(value * bool(decided), int(decided > 0), low, high, 1, decided / total)


def _reliable(draws: Draws, k: int, faithful: bool) -> ClusterShare:  # noqa: FBT001
    """Count an instruction; one that lacks variants never passes in the published code."""
    passed, failed, _ = draws
    if sum(draws) < k:
        complete = int(faithful or failed > 0)
        return ClusterShare(0, complete, 0, int(not complete), 1, complete)
    known = int(failed > 0 or passed == k)
    if faithful:
        return ClusterShare(int(passed == k), 1, int(passed == k), int(not failed), 1, known)
    low, high = int(passed == k), int(not failed)
    return ClusterShare(low * known, known, low, high, 1, known)
