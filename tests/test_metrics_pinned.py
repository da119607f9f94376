"""All numbers of made data stay what they are: one that moves is a rate that was published.

``python tests/test_metrics_pinned.py`` writes them anew, for a change that is meant.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from heedful.core.nouns import Check, Constraint, Critique, Judgment, Message, Sample, Status
from heedful.metrics import Summary
from heedful.metrics.agreement import (
    RATES,
    Confusion,
    alpha_estimate,
    coincidences,
    mcnemar,
    rate_estimates,
    ratio_estimate,
    weighted_kappa_estimate,
)
from heedful.metrics.calibration import calibration
from heedful.metrics.contrasts import contrast
from heedful.metrics.prediction_powered import (
    Stratum,
    powered_mean,
    small_sample,
)
from heedful.metrics.proportions import Spread, mean_interval, rate_interval, stratified_interval
from heedful.metrics.ranking import Choice, Edges, best_of, choices, ranking
from test_metrics_ranges import BENCHMARKS

KNOWN = Path(__file__).parent / "pinned" / "metrics.json"

STATUSES = [*[Status.MET] * 9, *[Status.UNMET] * 5, Status.UNPARSED, Status.FAILED]
STATUSES += [Status.UNSUPPORTED, Status.NOT_APPLICABLE]


def population(benchmark: str) -> Iterator[tuple[Sample, Critique]]:
    """Make rows of a benchmark with all that its rates may depend on."""
    chance = random.Random(benchmark)
    own = BENCHMARKS[benchmark]
    for number in range(36):
        size = chance.randint(1, 5)
        checklist = [
            Constraint(
                text=f"c{at}",
                type=chance.choice("xyz"),
                priority=chance.choice(["primary", "secondary"]),
                check=Check(id=f"a:{chance.choice('bc')}") if benchmark == "multiif" else None,
                weight=chance.choice([3.0, 1.0, -2.0]) if number % 2 and at else 2.0,
                tags=["composition:Selection"] if at == 0 else [],
            )
            for at in range(size)
        ]
        tags = {**own, "benchmark": benchmark, "model": "mn"[number % 2]}
        for name in {"group", "conversation_id", "system_id"} & own.keys():
            tags[name] = number // 4
        for name in {"turn", "level", "idx_in_group"} & own.keys():
            tags[name] = number % 4 + 1
        sample = Sample(
            id=f"r{number}@{tags['model']}#{number % 3}",
            instruction_id=f"i{number // 6}",
            conversation=(Message(role="user", content=f"p{number // 6}"),),
            checklist=tuple(checklist),
            response="r",
            labels=tuple(chance.choice([True, True, False]) for _ in checklist),
            tags=tags,
        )
        said = size + {3: -1, 5: 1}.get(number % 7, 0)  # some judges say too little or too much
        yield sample, Critique(judgments=tuple(judgment(chance) for _ in range(said)))


def judgment(chance: random.Random) -> Judgment:
    votes = [{"judge": name, "status": chance.choice(STATUSES[:16]).value} for name in "abc"]
    status = chance.choice(STATUSES)
    return Judgment(
        status=status,
        loose=Status.MET if chance.random() < 0.2 else status,
        judge="j",
        confidence=chance.choice([0.6, 0.8, 0.95, 1.0]),
        votes=tuple(votes),
    )


def summary(benchmark: str, scoring: Any) -> dict[str, float]:
    """Sum up made rows; of each section of the result, return one number made of all of its own."""
    made = Summary(scoring)
    for sample, critique in population(benchmark):
        made.add(sample, critique)
    sums: dict[str, float] = {}
    for path, number in numbers(made.result()).items():
        section = "/".join(path.split("/")[1:3])
        weight = 1 + crc32(path.encode()) % 7
        sums[section] = sums.get(section, 0) + weight * (-1 if number is None else number)
    return sums


def tables() -> Counter[tuple[float, ...]]:
    """Make confusions, a cluster each."""
    chance = random.Random(3)
    return Counter(
        Confusion(chance.randint(2, 9), *(chance.randint(0, 3) for _ in "abc")) for _ in range(14)
    )


def pairs() -> Counter[tuple[float, float]]:
    chance = random.Random(4)
    sizes = [chance.randint(1, 5) for _ in range(15)]
    return Counter((float(chance.randint(0, size)), float(size)) for size in sizes)


def stratum() -> Stratum:
    chance = random.Random(5)
    labels = [float(chance.random() < 0.7) for _ in range(40)]
    verdicts = [label if chance.random() < 0.85 else 1 - label for label in labels]
    return Stratum(labels, verdicts, [float(chance.random() < 0.6) for _ in range(300)])


def sided() -> Counter[tuple[float, ...]]:
    chance = random.Random(7)
    return Counter(
        (float(chance.randint(1, 3)), 3.0, float(chance.randint(0, 3)), 3.0) for _ in range(12)
    )


def confident() -> list[Counter[tuple[float, bool]]]:
    chance = random.Random(8)

    def verdict() -> tuple[float, bool]:
        confidence = chance.choice([0.55, 0.7, 0.9, 1.0])
        return confidence, chance.random() < confidence - 0.1

    return [Counter(verdict() for _ in range(chance.randint(1, 6))) for _ in range(25)]


def annotated() -> Counter[tuple[float, ...]]:
    """Make units that three annotators sorted into two classes."""
    chance = random.Random(9)
    return Counter(coincidences([n := chance.choice([0, 0, 1, 3, 3]), 3 - n]) for _ in range(20))


def scaled() -> Counter[tuple[float, ...]]:
    """Make pairs of values, one a cluster: their number, sums, squares and product."""
    chance = random.Random(10)
    values = [(a := chance.random(), (2 * a + chance.random()) / 3) for _ in range(20)]
    return Counter((1.0, a, b, a * a + b * b, a * b) for a, b in values)


def ranked() -> list[tuple[str | None, Edges]]:
    chance = random.Random(11)
    most = (6, 2, 1, 1)
    return [(chance.choice("ab"), Edges(*(chance.randint(0, n) for n in most))) for _ in range(20)]


def chosen() -> list[Choice]:
    chance = random.Random(12)
    winners = [0, 1, 1, 2, 2, 2, None]
    return [
        Choice(chance.choice([1, 2, 2]), chance.choice(winners), chance.choice(winners))
        for _ in range(30)
    ]


NUMBERS: dict[str, Callable[[], Any]] = {
    "agreement": lambda: rate_estimates(tables(), tuple(RATES)),
    "alpha": lambda: alpha_estimate(annotated()),
    "weighted kappa": lambda: weighted_kappa_estimate(scaled()),
    "ranking": lambda: ranking(ranked()),
    "best of": lambda: best_of([(0.5, 0.5), (0, 1), (1, 1), (0, 0), (1, 1), (0.5, 0.5), (1, 1)]),
    "choices": lambda: [choices(chosen(), "strict"), choices(chosen(), "faithful")],
    "ratio": lambda: ratio_estimate(pairs()),
    "powered": lambda: powered_mean([stratum()]),
    "powered, few": lambda: small_sample([stratum()], powered_mean([stratum()])),
    "contrast": lambda: contrast({"": sided(), "b": sided()}, seed=0),
    "calibration": lambda: calibration(confident()),
    "rate": lambda: rate_interval(Spread.of(pairs().items())),
    "strata": lambda: stratified_interval([Spread.of(pairs().items())] * 2),
    "means": lambda: mean_interval(
        [Counter({((1.0, 2.0), (3.0, 4.0)): 3, ((0.0, 1.0), (1.0, 4.0)): 4})]
    ),
    "mcnemar": lambda: [mcnemar(2, 9), mcnemar(0, 1)],
    **{
        f"{scoring} {benchmark}": partial(summary, benchmark, scoring)
        for benchmark in BENCHMARKS
        for scoring in ("strict", "faithful")
    },
}


def numbers(found: Any, path: str = "") -> dict[str, float | None]:
    """Flatten what is found into its numbers, each with the way to it."""
    if found is None or isinstance(found, int | float):
        return {path: found if found is None else round(float(found), 5)}
    if isinstance(found, str):
        return {}
    parts = found.items() if isinstance(found, dict) else enumerate(found)
    return {way: n for name, part in parts for way, n in numbers(part, f"{path}/{name}").items()}


@pytest.mark.parametrize("name", json.loads(KNOWN.read_text(encoding="utf-8")))
def test_numbers_are_what_they_were(name: str) -> None:
    known = json.loads(KNOWN.read_text(encoding="utf-8"))[name]
    assert numbers(NUMBERS[name]()) == pytest.approx(known, abs=1e-3, nan_ok=True)


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(numbers(of()))}" for name, of in NUMBERS.items())
    KNOWN.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
