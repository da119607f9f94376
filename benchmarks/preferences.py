"""Constraint-level preferences, whole-response ones and fine-tuning, as equal as they can be made.

    export OMP_NUM_THREADS=1 PYTHONPATH=examples/nano_critic
    python benchmarks/preferences.py --folder DIR [--pairs 56] [--seeds 10] [--minutes M]

Does IF-Critic's constraint-level DPO (arXiv 2511.01014) make a better critic than the alternatives?
A language model of 0.4 million parameters learns to describe, then is fine-tuned on the critiques
of a noisy teacher, each of eight constraints. From this one critic all seeds and methods start.
Pairs are made by a better teacher's verdicts. Each kind of pairs comes from the same samples of the
same items, one of an item. Each method's learning rate and beta are those with the best F1 on
validation, at a seed that isn't tested. Prints tables and writes them, and the charts, to
DIR/report. What is finished in DIR isn't run again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import preference_report as report
import preference_world as world
from preference_mechanism import mechanism

import heedful
from heedful.critic.data import Expert, sample_critiques
from heedful.critic.data.pairs import Pairs
from heedful.critic.training import DpoSettings, SftSettings, train_dpo, train_sft
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import LocalModel, Sampling
from steps import Steps, put, read, write
from tiny import save_random_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.critic.data.pairs import Method as Kind
    from heedful.judges.prompts import JudgePrompt

    Settings = tuple[float, float | None]
    """Learning rate, and beta if there is one."""

DESCRIBED, DESCRIBING_STEPS = 20_000, 1400
TAUGHT, TAUGHT_STEPS = 2000, 250
PREFERRED, SAMPLES, PAIR_STEPS = 80, 8, 15
VALIDATION, TEST = 80, 80
SFT_ROWS, PAIR_ROWS = 16, 8
"""Rows, and pairs, of a batch."""

ANSWER = 170
"""Tokens of a critique at most; the longest has about 130."""

TUNED_ON = 100
"""The seed whose validation samples choose the settings; it isn't tested."""

# In forward passes over a critique: of a pair, two times 3 to train and two of the reference.
COMPUTE = PAIR_STEPS * PAIR_ROWS * (2 * 3 + 2) + PREFERRED * SAMPLES
EQUAL_STEPS = round(COMPUTE / (3 * SFT_ROWS))
"""Steps of fine-tuning that take as much compute as the pairs' samples and the training on them."""


@dataclass(frozen=True)
class Method:
    """A way to go on from the fine-tuned critic.

    Attributes:
        title: as the table has it.
        data: its file: pairs, or critiques to be fine-tuned on.
        rates: learning rates to choose from.
        betas: of DPO; none for fine-tuning.
    """

    title: str
    data: str
    rates: tuple[float, ...]
    betas: tuple[float, ...] = ()


DPO: dict[str, Any] = {"rates": (3e-5, 1e-4), "betas": (0.1, 0.5)}
METHODS = {
    "more": Method("more of the noisy teacher, equal compute", "more", (3e-4, 1e-3)),
    "better": Method("the better teacher's critiques, equal compute", "better", (3e-4, 1e-3)),
    "whole": Method("whole-response pairs", "whole-response", **DPO),
    "constraint": Method("constraint-level pairs (IF-Critic)", "constraint-level", **DPO),
}
PAIRED: tuple[Kind, ...] = ("whole-response", "constraint-level")


class Run:
    """A seed of the experiment, in a folder of its own."""

    def __init__(self, out: Path, seed: int, pairs: int, deadline: float) -> None:
        """Name it; what is in its folder is used again."""
        self.seed = seed
        self.pairs = pairs
        self.sft = out / "sft"
        self.prompt_file = out / "prompt.txt"
        self.step = Steps(out / f"seed-{seed}", deadline)
        self.shared: dict[str, Any] = {
            "prompt_file": self.prompt_file,
            "seed": seed,
            "gradient_accumulation": 1,
            "warmup": 0.1,
            "save_every": 10_000,
        }

    @property
    def prompt(self) -> JudgePrompt:
        """The critics' prompt."""
        return prompts.make("plain", prompt_file=self.prompt_file)

    def data(self) -> None:
        """Sample from the fine-tuned critic, and make both kinds of pairs of the same items."""
        more = EQUAL_STEPS * SFT_ROWS
        self.step("more.jsonl", lambda path: self._draw(path, "more", more, world.NOISY))
        self.step("preferred.jsonl", lambda p: self._draw(p, "preferred", PREFERRED, world.EXPERT))
        sampled = self.step("sampled.jsonl", self._sample)
        for method in PAIRED:
            pairs = Pairs(sampled, method=method, prompt_file=self.prompt_file, seed=self.seed)
            self.step(f"all-{method}.jsonl", pairs.write)
        self.step("constraint-level.jsonl", self._match)

    def _draw(self, path: Path, name: str, number: int, teacher: world.Teacher | None) -> None:
        write(path, world.samples(name, number, teacher, self.seed))

    def _sample(self, path: Path) -> None:
        sampling = Sampling(temperature=1.0, max_tokens=ANSWER)
        sample_critiques(
            self.step.folder / "preferred.jsonl",
            expert=Expert(LocalModel(str(self.sft), batch_size=256), self.prompt, sampling),
            samples=SAMPLES,
            concurrency=256,
            output=path,
        )

    def _match(self, path: Path) -> None:
        """Keep the pairs of items of which there is each kind, as many of each."""
        folder = path.parent
        made = {
            method: {
                pair["sample"]: pair
                for pair in map(json.loads, (folder / f"all-{method}.jsonl").open(encoding="utf-8"))
            }
            for method in PAIRED
        }
        shared = [item for item in made["whole-response"] if all(item in made[m] for m in PAIRED)]
        kept = shared[: self.pairs]
        for method in reversed(PAIRED):
            lines = "".join(f"{json.dumps(made[method][item])}\n" for item in kept)
            (folder / f"{method}.jsonl").write_text(lines, encoding="utf-8")
        every = "".join(f"{json.dumps(pair)}\n" for pair in made["constraint-level"].values())
        (folder / "constraint-level-all.jsonl").write_text(every, encoding="utf-8")
        better = (each for each in read(folder / "preferred.jsonl") if each.id in set(kept))
        write(folder / "better.jsonl", better)
        items = {method: len(pairs) for method, pairs in made.items()}
        put(folder / "matched.json", {"items": items, "shared": len(shared), "kept": len(kept)})

    def trained(self, name: str, rate: float, beta: float | None) -> Path:
        """Go on from the fine-tuned critic by one of the methods."""
        rows = self.step.folder / f"{METHODS[name].data}.jsonl"
        folder = f"{name}-{rate:g}-{beta:g}" if beta else f"{name}-{rate:g}"

        def make(path: Path) -> None:
            rated = {**self.shared, "learning_rate": rate}
            if beta is None:
                sft = SftSettings(max_steps=EQUAL_STEPS, batch_size=SFT_ROWS, **rated)
                train_sft(rows, path, model=self.sft, settings=sft)
            else:
                dpo = DpoSettings(beta=beta, max_steps=PAIR_STEPS, batch_size=PAIR_ROWS, **rated)
                train_dpo(rows, path, model=self.sft, settings=dpo)

        trained: Path = self.step(f"models/{folder}", make)
        return trained

    def measured(self, critic: Path, number: int, name: str) -> dict[str, Any]:
        """Measure a critic on samples that nothing else uses, against the truth."""
        data = self.step(f"{name}.jsonl", lambda path: self._draw(path, name, number, None))

        def make(path: Path) -> None:
            judge = Checklist(
                LocalModel(str(critic), batch_size=256),
                self.prompt,
                sampling=Sampling(max_tokens=ANSWER),
                reasks=0,
            )
            run = self.step.folder / f"judged/{name}-{critic.name}"
            put(path, heedful.judge_accuracy(data, judge=judge, concurrency=256, folder=run))

        made = self.step(f"measured/{name}-{critic.name}.json", make)
        measured: dict[str, Any] = json.loads(made.read_text())
        return measured


def shared(out: Path, deadline: float) -> None:
    """Make the prompt, the base model and the fine-tuned critic, with which all seeds begin."""
    out.mkdir(parents=True, exist_ok=True)
    prompt_file = out / "prompt.txt"
    prompt_file.write_text(world.TEXT, encoding="utf-8")
    start = out / "random"
    if not (start / "config.json").exists():
        save_random_model(start, world.texts(1500, prompt_file), size="small", seed=0)

    def learn(path: Path, data: Path, start: Path, rate: float, steps: int) -> None:
        settings = SftSettings(
            learning_rate=rate,
            max_steps=steps,
            batch_size=SFT_ROWS,
            gradient_accumulation=1,
            prompt="plain",  # not named by rows that decide nothing
            prompt_file=prompt_file,
            save_every=10_000,
        )
        train_sft(data, path, model=start, settings=settings)

    step = Steps(out, deadline)
    described = out / "described.jsonl"
    rows = world.descriptions(DESCRIBED, prompt_file)
    described.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    base = step("base", lambda path: learn(path, described, start, 3e-3, DESCRIBING_STEPS))
    taught = out / "taught.jsonl"
    write(taught, world.samples("taught", TAUGHT, world.NOISY, 0))
    step("sft", lambda path: learn(path, taught, base, 1e-3, TAUGHT_STEPS))


def tuned(out: Path, run: Run) -> dict[str, Settings]:
    """Choose each method's settings: those with the best mean F1 on validation."""
    run.data()
    chosen, grid = {}, {}
    for name, method in METHODS.items():
        scores = {}
        for each in product(method.rates, method.betas or (None,)):
            measured = run.measured(run.trained(name, *each), VALIDATION, "validation")
            scores[each] = report.score(measured)
        chosen[name] = max(scores, key=lambda each: scores[each])
        grid[name] = [[*each, score] for each, score in scores.items()]
    put(out / "tuned.json", {"chosen": chosen, "grid": grid})
    return chosen


def test(run: Run, chosen: Mapping[str, Settings]) -> None:
    """Train by every method with its settings, and measure all on the test samples."""
    run.data()
    critics = {"sft": run.sft, **{name: run.trained(name, *chosen[name]) for name in METHODS}}
    for name, critic in critics.items():
        put(run.step.folder / f"test-{name}.json", run.measured(critic, TEST, "test"))
    for name in ("whole", "constraint"):
        data = run.step.folder / f"{METHODS[name].data}.jsonl"
        measure = partial(mechanism, data, run.sft, critics[name], run.prompt_file)
        run.step(f"mechanism-{name}.json", partial(_put_made, measure))


def _put_made(make: Callable[[], object], path: Path) -> None:
    put(path, make())


def main() -> None:
    """Run all that isn't done, and report what is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=56, help="of each seed and kind, at most")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no step after them")
    options = parser.parse_args()
    deadline = time.time() + 60 * options.minutes
    try:
        shared(options.folder, deadline)
        runs = [
            Run(options.folder, seed, options.pairs, deadline)
            for seed in (TUNED_ON, *range(options.seeds))
        ]
        chosen = tuned(options.folder, runs[0])
        for run in runs[1:]:
            test(run, chosen)
    except TimeoutError:
        print("the time is over; the same command goes on here")
    titles = {"sft": "fine-tuned only", **{name: each.title for name, each in METHODS.items()}}
    report.write(options.folder, titles)


if __name__ == "__main__":
    main()
