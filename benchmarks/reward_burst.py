"""Rewards for one step of GRPO: 64 prompts x 32 rollouts x 5 constraints, and rules alone.

    python benchmarks/reward_burst.py

A scripted model takes 50 ms to answer; code decides two of the constraints. Compared are a loop
that asks for one response after the other (timed on a part of them), a pool of 32 threads that do
so, and ``Reward``. All three ask about a response in one call, for what code has left open. A fifth
of the rollouts are equal to another one, as they are when a policy has become sure.
"""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor

from heedful import Check, Constraint, Message, Sample
from heedful.judges import Cascade, Rules
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import ScriptedModel
from heedful.rewards import Reward

PROMPTS, ROLLOUTS, LATENCY_S = 64, 32, 0.05
PART = 40
REPEATED = 0.2
WORDS = [f"{start}{end}" for start in ("gar", "win", "sto", "riv", "lam", "mor", "bri") for end in
         ("den", "ter", "ner", "er", "ing", "est", "al", "on", "ish")]  # fmt: skip
"""Words of which no gate takes a text for a loop."""
NO_COMMAS = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
SHORT = Constraint(
    text="At most 40 words.",
    check=Check(
        id="length_constraints:number_words", args={"num_words": 41, "relation": "less than"}
    ),
)
SOFT = tuple(Constraint(text=f"It is {word}.") for word in ("polite", "warm", "clear"))


def samples(*checklist: Constraint) -> list[Sample]:
    """Make the rollouts of one step."""
    draw = random.Random(0)
    rows = []
    for prompt in range(PROMPTS):
        for rollout in range(ROLLOUTS):
            seed = rollout if draw.random() > REPEATED else 0
            words = random.Random(f"{prompt}-{seed}").choices([*WORDS, "rain,"], k=40)
            rows.append(
                Sample(
                    id=f"{prompt}#{rollout}",
                    conversation=(Message(role="user", content=f"Write text {prompt}."),),
                    checklist=checklist,
                    response=" ".join(words),
                )
            )
    return rows


def critic() -> Checklist:
    """Make a judge that finds all met and takes its time."""
    blocks = [f"<c{at}>\nSeen.\nVERDICT: MET\n</c{at}>" for at in range(1, len(SOFT) + 1)]
    return Checklist(ScriptedModel("\n".join(blocks), latency_s=LATENCY_S), Plain())


def show(name: str, responses: int, seconds: float) -> None:
    """Print a line of the table."""
    print(f"{name:34}{responses:10}{seconds:9.2f} s{responses / seconds:12,.0f} a second")


def main() -> None:
    """Time everything and print it."""
    rows = samples(NO_COMMAS, SHORT, *SOFT)
    judge = Cascade(Rules(), critic())
    started = time.perf_counter()
    for row in rows[:PART]:
        asyncio.run(judge.judge(row))
    show("one after the other (a part)", PART, time.perf_counter() - started)
    with ThreadPoolExecutor(32) as pool:
        started = time.perf_counter()
        list(pool.map(lambda row: asyncio.run(judge.judge(row)), rows))
        show("32 threads", len(rows), time.perf_counter() - started)
    for name, aggregate in (("Reward, fraction", "fraction"), ("Reward, gate", "gate")):
        with Reward(critic(), aggregate) as reward:
            started = time.perf_counter()
            rewards = reward.score_sync(rows)
            show(name, len(rows), time.perf_counter() - started)
            cost = reward.summary().get("cost", {"calls": 0})
            print(f"  {cost['calls']} calls; {sum(each.decided for each in rewards)} decided")
    coded = samples(NO_COMMAS, SHORT)
    with Reward() as reward:
        reward.score_sync(coded[:1])
        started = time.perf_counter()
        reward.score_sync(coded)
        show("Reward, rules alone", len(coded), time.perf_counter() - started)


if __name__ == "__main__":
    main()
