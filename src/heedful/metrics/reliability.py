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

from heedful.metrics.clusters import cluster_of
from heedful.metrics.expectation import OpenOutcome, Prediction, Units, beta_binomial
from heedful.metrics.outcomes import RATED
from heedful.metrics.proportions import Spread
from heedful.metrics.statistics import ClusterShare, macro_measure, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome, VerdictCounts
    from heedful.metrics.proportions import Pair
    from heedful.metrics.statistics import RateEstimate

    Passes = tuple[int, int, int]
    """Responses that pass, fail, and can still do either."""

VARIANT = "variant"
"""Tag of a row that is one wording of an instruction among several."""


class Reliability:
    """Accumulator of responses by instruction: three small numbers and a digest for each."""

    def __init__(self, scoring: Scoring) -> None:
        self._faithful = scoring == "faithful"
        self._passes: dict[tuple[str, str], Passes] = {}
        self._clusters: dict[tuple[str, str], bytes] = {}
        self._left: Counter[OpenOutcome] = Counter()
        self._variants = False

    def add(self, sample: Sample, row: RowOutcome) -> None:
        """Take in a response; one that isn't known to be one of several of a model is left out."""
        instruction = (sample.model_extra or {}).get("instruction_id")
        verdicts = row.verdicts
        variant = VARIANT in sample.tags
        # MultiChallenge's attempts at a question are one model's, whether or not it is named.
        known = "model" in sample.tags or variant or row.benchmark == "multichallenge"
        known &= row.benchmark not in RATED
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
            self._left[OpenOutcome(verdicts.met, 0, verdicts.undecided)] += 1
        else:
            passed += 1
        self._passes[key] = passed, failed, left
        self._clusters[key] = cluster

    def metrics(self, verdicts: Prediction | None, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; nothing where no instruction has two responses."""
        most = self.most
        if most < 2:  # noqa: PLR2004 - several responses
            return {}
        chances = self._chances(verdicts)
        if self._variants:
            shares = {
                passes: _reliable(passes, most, chances[passes], faithful=self._faithful)
                for passes in chances
            }
            return {f"reliable_{most}": self._measured(shares, readable)}
        return {
            f"{name}_{k}": self._measured(
                {
                    passes: _share(passes, k, chance, chances[passes])
                    for passes in chances
                    if sum(passes) >= k
                },
                readable,
            )
            for k in _sizes(most)
            for name, chance in CHANCES.items()
        }

    def any_of_all(self, verdicts: Prediction | None) -> tuple[Counter[ClusterShare], Spread]:
        """Count the instructions of which any response passes."""
        chances = self._chances(verdicts)
        return self._counted(
            {
                passes: _share(passes, sum(passes), _any_passes, more)
                for passes, more in chances.items()
            }
        )

    def all_of_all(self, verdicts: Prediction | None) -> tuple[Counter[ClusterShare], Spread]:
        """Count the instructions of which all responses pass."""
        chances = self._chances(verdicts)
        return self._counted(
            {
                passes: _share(passes, sum(passes), _all_pass, more)
                for passes, more in chances.items()
            }
        )

    def each(self, verdicts: Prediction | None) -> tuple[Counter[ClusterShare], Spread]:
        """Count the responses that pass, those to one instruction together."""
        shares = {}
        for passes, more in self._chances(verdicts).items():
            passed, failed, left = passes
            total = sum(passes)
            value = passed + math.fsum(n * chance for n, chance in enumerate(more))
            known = total if passed + failed else 0
            value = value if known else 0.0
            shares[passes] = ClusterShare(
                value, known, passed, passed + left, total, passed + failed
            )
        return self._counted(shares)

    @property
    def most(self) -> int:
        """The most responses to an instruction."""
        return max(map(sum, self._passes.values()), default=0)

    def _chances(self, verdicts: Prediction | None) -> dict[Passes, list[float]]:
        """Compute how probably 0, 1, … of the responses pass that can still do either."""
        counts = Counter(self._passes.values())
        passed, failed, left = (sum(d[at] * n for d, n in counts.items()) for at in range(3))
        expected = (
            math.fsum(verdicts.chance(open_) * n for open_, n in self._left.items())
            if verdicts
            else 0.0
        )
        settled = Prediction.of((Units(d[0], d[0] + d[1], 0), n) for d, n in counts.items())
        rate = (passed + expected) / max(1, passed + failed + left)
        among = Prediction(rate, settled.correlation if settled else 0.0)
        return {
            passes: beta_binomial(
                passes[2],
                among.beside(expected / max(1, left), passes[0], passes[1]),
                among.pseudo + passes[0] + passes[1],
            )
            for passes in counts
        }

    def _measured(self, shares: Mapping[Passes, ClusterShare], readable: float) -> RateEstimate:
        """Measure a rate over instructions; models that answered the same one go together."""
        counts, together = self._counted(shares)
        weights = [(share, n) for share, n in counts.items() if share.denominator]
        known = math.fsum(share.covered * n for share, n in weights)
        known /= max(1, sum(n for _, n in weights))
        return measure(counts, readable=readable, together=together, known=known)

    def _counted(
        self, shares: Mapping[Passes, ClusterShare]
    ) -> tuple[Counter[ClusterShare], Spread]:
        """Count instructions by their part in a rate, and say how those of one cluster vary."""
        counts: Counter[ClusterShare] = Counter()
        clusters: dict[bytes, list[Pair]] = {}
        for key, passes in self._passes.items():
            if passes in shares:
                share = shares[passes]
                counts[share] += 1
                if share.denominator:
                    clusters.setdefault(self._clusters[key], []).append(share[:2])
        together = Spread()
        for rows in clusters.values():
            if len(rows) > 1:
                together = together.plus(Spread.together(rows))
        return counts, together


def any_attempt(
    axes: Mapping[str, Reliability], verdicts: Prediction | None, *, readable: float
) -> dict[str, RateEstimate]:
    """Compute MultiChallenge's score of several attempts: a question passes if any attempt does.

    It is the mean over axes, each weighing the same, as its code computes it (arXiv 2501.17399).
    """
    if all(each.most < 2 for each in axes.values()):  # noqa: PLR2004 - several attempts
        return {}
    parts = {axis: each.any_of_all(verdicts) for axis, each in axes.items()}
    counts = {axis: counted for axis, (counted, _) in parts.items()}
    together = {axis: spread for axis, (_, spread) in parts.items()}
    return {"any_attempt": macro_measure(counts, readable=readable, together=together)}


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


def _share(
    passes: Passes, k: int, of: Callable[[int, int, int], float], more: Sequence[float]
) -> ClusterShare:
    """Compute an instruction's part; ``more``: how probably 0, 1, … of what is open passes."""
    passed, failed, left = passes
    total, decided = sum(passes), passed + failed
    low, high = of(passed, total, k), of(passed + left, total, k)
    value = math.fsum(chance * of(passed + n, total, k) for n, chance in enumerate(more))
    if not decided:
        return ClusterShare(0.0, 0, low, high, 1, 0.0)
    return ClusterShare(value, 1, low, high, 1, decided / total)


def _reliable(passes: Passes, k: int, more: Sequence[float], *, faithful: bool) -> ClusterShare:
    """Count an instruction; one that lacks variants never passes in the published code."""
    passed, failed, left = passes
    low, high = int(passed == k), int(not failed)
    known = int(low == high)
    if sum(passes) < k:
        complete = int(faithful or failed > 0)
        return ClusterShare(0, complete, 0, int(not complete), 1, complete)
    if faithful:
        return ClusterShare(low, 1, low, high, 1, known)
    if known or not passed:
        return ClusterShare(low * known, known, low, high, 1, known)
    return ClusterShare(more[left], 1, low, high, 1, known)
