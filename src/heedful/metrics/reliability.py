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
from functools import partial
from typing import TYPE_CHECKING

from heedful.metrics.clusters import cluster_of
from heedful.metrics.family import family_of
from heedful.metrics.rates import EndSpreads, Share, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome, VerdictCounts
    from heedful.metrics.rates import RateEstimate

    Passes = tuple[int, int, int]
    """Responses that pass, fail, and can still do either."""

    Counted = tuple[Counter[Share], EndSpreads]
    """Instructions by their part in a rate, and what changes because some go together."""

VARIANT = "variant"
"""Tag of a row that is one wording of an instruction among several."""


class Reliability:
    """Accumulator of responses by instruction: three small numbers and a digest for each."""

    def __init__(self, scoring: Scoring) -> None:
        self._faithful = scoring == "faithful"
        self._passes: dict[tuple[str, str], Passes] = {}
        self._clusters: dict[tuple[str, str], bytes] = {}
        self._variants = False

    def add(self, sample: Sample, row: RowOutcome) -> None:
        """Take in a response; one that isn't known to be one of several of a model is left out."""
        instruction = (sample.model_extra or {}).get("instruction_id")
        verdicts = row.verdicts
        variant = VARIANT in sample.tags
        family = family_of(row.benchmark) if row.benchmark else None
        known = "model" in sample.tags or variant or (family is not None and family.attempts)
        known &= not row.of_judge
        if instruction is None or not known or not verdicts.total or row.penalised:
            return
        key = str(sample.tags.get("model", "")), str(instruction)
        self.count(key, cluster_of(sample), verdicts)
        self._variants |= variant

    def count(self, key: tuple[str, str], cluster: bytes, verdicts: VerdictCounts) -> None:
        """Count a response to an instruction by a model."""
        passed, failed, left = self._passes.get(key, (0, 0, 0))
        if verdicts.unmet:
            failed += 1
        elif verdicts.undecided:
            left += 1
        else:
            passed += 1
        self._passes[key] = passed, failed, left
        self._clusters[key] = cluster

    def merge(self, other: Reliability) -> None:
        """Add another's responses."""
        for key, passes in other._passes.items():
            before = self._passes.get(key, (0, 0, 0))
            self._passes[key] = before[0] + passes[0], before[1] + passes[1], before[2] + passes[2]
        self._clusters |= other._clusters
        self._variants |= other._variants

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; nothing where no instruction has two responses."""
        most = self.most
        if most < 2:  # noqa: PLR2004 - several responses
            return {}
        if self._variants:
            counted = self._counted(lambda passes: _reliable(passes, most, self._faithful))
            return {f"reliable_{most}": _measured(counted, readable)}
        return {
            f"{name}_{k}": _measured(self._counted(partial(_share, k=k, of=chance)), readable)
            for k in _sizes(most)
            for name, chance in CHANCES.items()
        }

    def any_of_all(self) -> Counted:
        """Count the instructions of which any response passes."""
        return self._counted(lambda passes: _share(passes, sum(passes), _any_passes))

    def all_of_all(self) -> Counted:
        """Count the instructions of which all responses pass."""
        return self._counted(lambda passes: _share(passes, sum(passes), _all_pass))

    def each(self) -> Counted:
        """Count the responses that pass, those to one instruction together."""
        return self._counted(lambda passes: Share(passes[0], passes[0] + passes[2], sum(passes)))

    @property
    def passes(self) -> list[Passes]:
        """What became of the responses to each instruction."""
        return list(self._passes.values())

    @property
    def most(self) -> int:
        """The most responses to an instruction."""
        return max(map(sum, self._passes.values()), default=0)

    def _counted(self, of: Callable[[Passes], Share | None]) -> Counted:
        """Count instructions by their part in a rate, and say how those of one cluster vary."""
        counts: Counter[Share] = Counter()
        clusters: dict[bytes, list[Share]] = {}
        for key, passes in self._passes.items():
            share = of(passes)
            if share is not None:
                counts[share] += 1
                clusters.setdefault(self._clusters[key], []).append(share)
        return counts, EndSpreads.of_clusters(clusters.values())


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


def _share(passes: Passes, k: int, of: Callable[[int, int, int], float]) -> Share | None:
    """Compute an instruction's part; it has none with fewer than k responses."""
    passed, _, left = passes
    total = sum(passes)
    if total < k:
        return None
    return Share(of(passed, total, k), of(passed + left, total, k), 1)


def _reliable(passes: Passes, k: int, faithful: bool) -> Share:  # noqa: FBT001
    """Count an instruction; one that lacks variants never passes in the published code."""
    passed, failed, _ = passes
    if faithful:
        return Share.known(int(passed == k))
    return Share(int(passed == k), int(not failed), 1)


def _measured(counted: Counted, readable: float) -> RateEstimate:
    counts, together = counted
    return measure(counts, readable=readable, together=together)
