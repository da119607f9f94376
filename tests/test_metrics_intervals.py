"""Intervals of rates: whether they cover the truth, and what they take together."""

import importlib.util
import math
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import judge_accuracy
from heedful.core.nouns import Constraint, Critique, Judgment, Message, Recording, Sample, Status
from heedful.metrics import Summary
from heedful.metrics.clusters import cluster_of
from heedful.metrics.proportions import Spread, rate_interval, student, wilson
from heedful.metrics.rates import Share, macro_measure

STATES = {"m": Status.MET, "u": Status.UNMET, "?": Status.UNPARSED}


def sample(key: str, verdicts: str, prompt: str = "", **more: Any) -> Sample:
    turns = (Message(role="user", content=prompt),) if prompt else ()
    return Sample(
        id=key,
        conversation=turns,
        checklist=tuple(Constraint(text=f"c{at}", type="format") for at in range(len(verdicts))),
        response=f"response {key}",
        recording=Recording(
            prompt="native",
            verdicts=tuple(
                {"status": STATES[letter].value, "explanation": ""} for letter in verdicts
            ),
        ),
        **more,
    )


def summed(rows: Iterable[Sample]) -> dict[str, Any]:
    summary = Summary()
    for row in rows:
        verdicts = row.recording.verdicts if row.recording else ()
        judgments = tuple(Judgment(status=Status(item["status"])) for item in verdicts or ())
        summary.add(row, Critique(judgments=judgments))
    return summary.result()


def isr(rows: Iterable[Sample]) -> list[float]:
    result: list[float] = summed(rows)["metrics"]["cfbench"]["isr"]["interval"]
    return result


def draws(passed: int, prompts: int = 20, each: int = 8) -> list[Sample]:
    """Draw from a model that always passes on some prompts and never on the others."""
    return [
        sample(f"{p}@m#{d}", "m" if p < passed else "u", f"prompt {p}")
        for p in range(prompts)
        for d in range(1, each + 1)
    ]


@pytest.mark.slow
@given(st.integers(0, 30), st.integers(2, 30))
def test_a_rate_over_samples_has_wilsons_interval_wider_for_one_to_three(
    passed: int, n: int
) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    passed = min(passed, n)
    result = rate_interval(Spread.of([((1, 1), passed), ((0, 1), n - passed)]))
    expected = stats.binomtest(passed, n).proportion_ci(method="wilson")
    low, high = expected.low, expected.high
    if 0 < passed < n:
        few = {number: stats.chi2.ppf(0.05, 2 * number) / 2 / n for number in (1, 2, 3)}
        low, high = min(low, few.get(passed, 1)), max(high, 1 - few.get(n - passed, 1))
    assert result == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("n", [5, 8, 9, 20, 50, 200])
def test_intervals_of_samples_cover_every_rate(n: int) -> None:
    """The exact probability, by the binomial distribution: nothing is simulated."""
    p = np.linspace(0.5, 0.999, 500)[:, None]
    passed = np.arange(n + 1)
    ways = np.array([float(math.comb(n, k)) for k in passed])
    low, high = np.array([wilson(k, n) for k in range(n + 1)]).T
    covered = (ways * p**passed * (1 - p) ** (n - passed) * ((low <= p) & (p <= high))).sum(axis=1)
    # Wilson's own falls to 83 %.
    assert covered.min() > 0.91
    assert 0.945 < covered.mean() < 0.98


@pytest.mark.slow
def test_draws_of_one_prompt_tell_no_more_than_the_prompt() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    by_prompt = stats.binomtest(13, 20).proportion_ci(method="wilson")
    low, high = isr(draws(13))
    assert low == pytest.approx(by_prompt.low, abs=0.06)
    assert high == pytest.approx(by_prompt.high, abs=0.06)
    rows = draws(13)
    random.Random(1).shuffle(rows)
    assert isr(rows) == [low, high]
    by = summed([*rows, sample("other", "m", "other")])["by"]["type"]["format"]["interval"]
    assert by[1] - by[0] > 0.3


def width(interval: Any) -> float:
    low, high = interval
    return float(high - low)


def test_evaluate_and_meta_take_the_same_samples_together() -> None:
    """Turns of one conversation are one cluster for all of them, although their texts differ."""

    def turns(together: bool) -> list[Sample]:  # noqa: FBT001
        return [
            sample(
                f"{c}-{t}",
                "m" if c % 2 else "u",
                f"prompt {c} {t}",
                labels=(c % 3 > 0,),
                tags={"conversation_id": c if together else f"{c}-{t}"},
            )
            for c in range(24)
            for t in range(6)
        ]

    widths: list[list[float]] = []
    for together in (True, False):
        rows = turns(together)
        measured = judge_accuracy(rows, judge="recorded")
        widths.append(
            [
                width(isr(rows)),
                width(measured["judges"][0]["pooled"]["accuracy"]["interval"]),
            ]
        )
    for joint, alone in zip(*widths, strict=True):
        assert joint > 1.5 * alone


def test_models_of_one_system_prompt_are_one_cluster_of_ssr() -> None:
    def rows(models: int) -> list[Sample]:
        return [
            sample(
                f"{s}-{m}-{t}",
                "m" if s % 2 else "u",
                tags={"benchmark": "sysbench", "model": f"m{m}", "system_id": s, "turn": t},
            )
            for s in range(20)
            for m in range(models)
            for t in range(1, 6)
        ]

    one, four = (summed(rows(n))["metrics"]["sysbench"]["ssr"]["interval"] for n in (1, 4))
    assert width(four) == pytest.approx(width(one), rel=0.25)


def test_what_a_sample_varies_together_with() -> None:
    def told(**more: Any) -> bytes:
        return cluster_of(sample("x@m#2", "m", **more))

    draw = {"instruction_id": "x"}
    assert told(tags={"conversation_id": 1, "system_id": 2}, **draw) == told(
        tags={"conversation_id": "1"}, prompt="other"
    )
    assert told(tags={"system_id": 2}) != told(tags={"conversation_id": 2})
    assert told(prompt="a", **draw) == told(prompt="b", **draw) != told(prompt="b")
    answered = sample("y", "m", "a").model_copy(
        update={
            "conversation": (
                Message(role="user", content="a"),
                Message(role="assistant", content="its own"),
            )
        }
    )
    assert cluster_of(answered) == told(prompt="a")
    assert told(tags={"model": "m"}) == cluster_of(sample("x", "m"))
    assert told() != cluster_of(sample("y", "m"))


def test_a_task_with_one_row_varies_as_a_row_is_expected_to() -> None:
    alone = {task: {Share.known(met): 1} for task, met in (("a", 1), ("b", 0), ("c", 0))}
    assert macro_measure(alone)["interval"] is None  # not [.333, .333]
    # One row of two tasks, and 20 of the third: the two are as uncertain as single rows are.
    mixed = macro_measure({**alone, "c": {Share.known(1): 12, Share.known(0): 8}})
    twenty = macro_measure({task: {Share.known(1): 12, Share.known(0): 8} for task in "abc"})
    assert width(mixed["interval"]) > 2 * width(twenty["interval"])


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.7062), (2, 4.3027), (4, 2.7764), (4.5, 2.6589), (120, 1.9799)]
)
def test_students_quantile_is_the_tables(degrees: float, quantile: float) -> None:
    assert student(degrees) == pytest.approx(quantile, abs=5e-5)


BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def simulations() -> Any:
    """Import the script; a package has its name."""
    sys.path.insert(0, str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("simulations", BENCHMARKS / "coverage.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulations"] = module
    spec.loader.exec_module(module)
    return module


SIMULATED = simulations()
KINDS = {kind.name: kind for kind in SIMULATED.kinds()}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n", [9, 30])
def test_intervals_hold_the_truth(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.metrics.contrasts.swapped_totals", SIMULATED.FEW_SWAPS)
    monkeypatch.setattr("heedful.metrics.calibration.SAMPLES", SIMULATED.SAMPLES)
    kind = KINDS[name]
    random = np.random.default_rng(1)
    shares = []
    for value, correlation in kind.cells:
        outcomes = [kind.simulate(random, n, value, correlation) for _ in range(36 // kind.cost)]
        hits = SIMULATED.held(outcomes)
        if len(hits) > 10:
            shares.append(sum(hits) / len(hits))
    assert min(shares) > 0.75  # of few data sets
    assert sum(shares) / len(shares) > 0.93
    assert n < 30 or "tasks of 2" in name or sum(shares) / len(shares) < 0.996  # not by being wide
