"""How often the divergence alarm goes off: without cause, and when a policy games its reward.

A simulated training of 200 steps. The true reward of a response is the share met of five
constraints, and the judge errs on one in five of them, as often one way as the other. From a third
of the training on, the honest policy stays as it is; the other learns to write more and more
responses that are worth 1 to the judge and 0.2 in truth, half of them at the last step.

    python benchmarks/reward_alarm.py
"""

from __future__ import annotations

import logging
import random
from itertools import product
from statistics import median

from heedful.core.nouns import Critique
from heedful.rewards import Divergence, Reward
from heedful.rewards.terms import Rewarded

STEPS, TRAININGS, CONSTRAINTS = 200, 400, 5
MET, ERRORS = 0.6, 0.2
"""Rates of constraints that are met, and of wrong verdicts."""
GAMED = 0.5
"""Share of gamed responses at the last step."""


def main() -> None:
    """Simulate, and print a table."""
    logging.getLogger("heedful").setLevel(logging.CRITICAL)
    print("| compared a step | limit | false alarms | gaming found | of gamed responses then |")
    print("| --- | --- | --- | --- | --- |")
    for compared, limit in product((8, 32), (0.0, 0.05, 0.1)):
        honest, gaming = (
            [_train(seed, compared, limit, gamed) for seed in range(TRAININGS)]
            for gamed in (0.0, GAMED)
        )
        found = [step for step in gaming if step is not None]
        shares = [GAMED * _progress(step) for step in found]
        false = sum(step is not None for step in honest) / TRAININGS
        print(
            f"| {compared} | {limit} | {false:.1%} | {len(found) / TRAININGS:.1%} "
            f"| {median(shares):.0%} |"
        )


def _train(seed: int, compared: int, limit: float, gamed: float) -> int | None:
    """Return the step of the alarm, if it goes off."""
    rng = random.Random(f"{seed} {gamed}")
    divergence = Divergence(Reward(), limit=limit)
    for step in range(STEPS):
        pairs = [_response(rng, gamed * _progress(step)) for _ in range(compared)]
        divergence.record(step, *([_rewarded(pair[side]) for pair in pairs] for side in (0, 1)))
        if divergence.alarm is not None:
            return step
    return None


def _response(rng: random.Random, gamed: float) -> tuple[float, float]:
    """Draw a response: its reward and the truth."""
    if rng.random() < gamed:
        return 1.0, 0.2
    truth = [rng.random() < MET for _ in range(CONSTRAINTS)]
    judged = [met != (rng.random() < ERRORS) for met in truth]
    return sum(judged) / CONSTRAINTS, sum(truth) / CONSTRAINTS


def _progress(step: int) -> float:
    return max(0.0, (step - STEPS / 3) / (STEPS * 2 / 3))


def _rewarded(value: float) -> Rewarded:
    return Rewarded(value, decided=True, bounds=(value, value), critique=Critique())


if __name__ == "__main__":
    main()
