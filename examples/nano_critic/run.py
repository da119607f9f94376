"""From nothing to a critic, and to a policy that is rewarded by it, on a world that code knows.

    python examples/nano_critic/run.py --out runs/nano --seeds 3

Each step writes a file or a folder and is skipped where that is there already, so that the same
command goes on where it stopped. The seeds share one base model; with ``--stage base`` first, the
others can be run by several processes, one for each ``--only SEED``.
"""

from __future__ import annotations

import argparse
import time
from collections import ChainMap
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import base
import heedful
import policy
import report
import world
from experts import Expert, Verifier
from heedful.critic.data import STAGES, FilterSettings, filter_critiques, sample_critiques
from heedful.critic.data import Expert as Sampler
from heedful.critic.data.pairs import Pairs
from heedful.critic.data.split import InstructionSplit
from heedful.critic.training import DpoSettings, SftSettings, train_dpo, train_sft
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import LocalModel, Sampling
from steps import Steps, put, read, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful import Sample
    from heedful.critic.data.pairs import Method

PROMPT = Path(__file__).with_name("prompt.txt")
"""The critics' prompt: the response and the checklist, with no words that explain the task."""

PLAIN = prompts.make("plain", prompt_file=PROMPT)

ANSWER = 200
"""Tokens of a critique at most; the longest has about 120."""


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    Attributes:
        model: of which size the models are, see :data:`tiny.SIZES`.
        reading: rows that the base model learns to describe on, in ``reading_steps`` batches of 32;
            half as many to compare, a
            third to conclude in context, and half as many again to do all of it.
        train: responses that the experts judge.
        expert_samples: critiques of each by the expert.
        test: responses that the critics are measured on.
        sft_steps: batches of 32 critiques.
        sampled: responses at most whose critiques the critic itself samples, ``samples`` each.
        dpo_steps: batches of 16 pairs.
        policy_steps: steps of GRPO, with 8 responses to each of 8 instructions.
    """

    model: str
    reading: int
    reading_steps: int
    train: int
    expert_samples: int
    test: int
    sft_steps: int
    sampled: int
    samples: int
    dpo_steps: int
    policy_steps: int


SCALES = {
    "smoke": Scale("smoke", 2000, 80, 120, 5, 20, 60, 30, 6, 2, 2),
    "small": Scale("small", 16_000, 600, 1200, 5, 300, 120, 160, 8, 40, 80),
    "large": Scale("large", 100_000, 4000, 12_000, 5, 2000, 600, 4000, 10, 300, 300),
}


@dataclass(frozen=True)
class Critic:
    """A critic that is trained and measured.

    Attributes:
        name: as the table has it.
        data: which of the experts' critiques it learns, see :data:`DATA`.
        pairs: how its preference pairs are made; ``None`` for fine-tuning only.
    """

    name: str
    data: str
    pairs: Method | None = None

    @property
    def folder(self) -> str:
        """What its folders are called."""
        return f"{self.data}-{self.pairs or 'sft'}"


DATA = {
    "filtered": (),
    "single": (),  # the same, taken apart into checklists of one constraint
    "unfiltered": STAGES,
    **{f"without-{stage}": (stage,) for stage in STAGES},
}
"""The experts' critiques, and the filters that are left out."""

CRITICS = (
    Critic("fine-tuning only", "filtered"),
    Critic("constraint-level pairs (IF-Critic)", "filtered", "constraint-level"),
    Critic("whole-response pairs", "filtered", "whole-response"),
    Critic("the expert's critique as chosen", "filtered", "expert"),
    Critic("no filters: fine-tuning only", "unfiltered"),
    Critic("no filters", "unfiltered", "constraint-level"),
    Critic("one constraint a call: fine-tuning only", "single"),
    Critic("one constraint a call", "single", "constraint-level"),
    *(Critic(f"no filter {stage}: fine-tuning only", f"without-{stage}") for stage in STAGES),
    *(Critic(f"no filter {stage}", f"without-{stage}", "constraint-level") for stage in STAGES),
)
MAIN = CRITICS[1]

STAGES_OF_RUN = ("base", "policy", "aggregates", "critics", "report")


# --- data ---------------------------------------------------------------------------------------


def experts_data(step: Steps, scale: Scale, seed: int) -> None:
    """Have the expert judge responses, and filter its critiques in all the ways to compare."""
    step("test.jsonl", lambda path: write(path, world.samples(scale.test, seed, "test")))
    train = step("train.jsonl", lambda path: write(path, world.samples(scale.train, seed, "train")))
    expert = Expert("expert", seed)
    critiques = step(
        "critiques.jsonl",
        lambda path: sample_critiques(
            train, expert=Sampler(expert, PLAIN), samples=scale.expert_samples, output=path
        ),
    )
    for data, skip in DATA.items():
        filtered(step, data, skip, critiques, expert)


def filtered(
    step: Steps, data: str, skip: tuple[str, ...], critiques: Path, expert: Expert
) -> None:
    """Filter the expert's critiques in one way, measure what is left, and divide it 6 : 4."""

    def make(path: Path) -> None:
        if data == "single":
            write(path, singles(path.with_name("filtered.jsonl")))
            return
        filter_critiques(
            critiques,
            verifiers=[Verifier("verifier-a", expert.seed), Verifier("verifier-b", expert.seed)],
            expert=expert,
            settings=FilterSettings(skip=skip),
            # One run for all ways: what one requested, the next reads from the cache.
            run=step.folder / "filtering",
            output=path,
        )

    made = step(f"filtered/{data}.jsonl", make)
    step(f"quality/{data}.json", lambda path: put(path, heedful.judge_accuracy(made)))
    step(
        f"parts/{data}/summary.json",
        lambda path: InstructionSplit(made, share=0.6, seed=expert.seed).write(path.parent),
    )


def singles(path: Path) -> Iterable[Sample]:
    """Take samples and their critiques apart into checklists of one constraint."""
    for sample in read(path):
        if sample.recording is None:
            continue
        judgments = prompts.read(sample.recording, sample.checklist)
        for at, (one, judgment) in enumerate(zip(sample.checklist, judgments, strict=True)):
            text = PLAIN.write([judgment], [one])
            recording = sample.recording.model_copy(update={"text": text})
            labels = sample.labels and sample.labels[at : at + 1]
            changed = {"id": f"{sample.id}.{at}", "checklist": (one,), "labels": labels}
            yield sample.model_copy(update={**changed, "recording": recording})


# --- critics ------------------------------------------------------------------------------------


def train(step: Steps, scale: Scale, seed: int, one: Critic, base_model: Path) -> Path | None:
    """Train a critic; return its folder, or nothing where there are no pairs to learn from."""
    parts = step.folder / "parts" / one.data
    # As many tokens in a batch of single judgments as in one of whole critiques.
    rows = 96 if one.data == "single" else 32
    common: dict[str, Any] = {
        "seed": seed,
        "prompt_file": PROMPT,
        "gradient_accumulation": 1,
        "warmup": 0.1,
    }
    sft = step(
        f"models/{one.data}-sft",
        lambda path: train_sft(
            parts / "sft.jsonl",
            path,
            model=base_model,
            settings=SftSettings(
                learning_rate=2e-3, max_steps=scale.sft_steps, batch_size=rows, **common
            ),
        ),
    )
    if one.pairs is None:
        return sft
    sampled = step(
        f"sampled/{one.data}.jsonl",
        lambda path: sample_critiques(
            list(read(parts / "preference.jsonl"))[: scale.sampled * rows // 32],
            expert=Sampler(
                LocalModel(str(sft), batch_size=256),
                PLAIN,
                Sampling(temperature=0.8, max_tokens=ANSWER),
            ),
            samples=scale.samples,
            concurrency=256,
            output=path,
        ),
    )
    pairs = step(
        f"pairs/{one.folder}.jsonl",
        lambda path: Pairs(
            sampled,
            method=one.pairs or "constraint-level",
            candidates=4,
            prompt_file=PROMPT,
            seed=seed,
        ).write(path),
    )
    if not pairs.stat().st_size:
        print(f"{pairs}: no pairs; {pairs.with_suffix('.summary.json')} says why")
        return None
    return step(
        f"models/{one.folder}",
        lambda path: train_dpo(
            pairs,
            path,
            model=sft,
            settings=DpoSettings(
                learning_rate=3e-5,
                beta=0.1,
                max_steps=scale.dpo_steps,
                batch_size=rows // 2,
                **common,
            ),
        ),
    )


def judge(folder: Path, *, single: bool = False) -> Checklist:
    """Make a judge of a trained critic."""
    return Checklist(
        LocalModel(str(folder), batch_size=256),
        PLAIN,
        per_call=1 if single else None,
        sampling=Sampling(max_tokens=ANSWER),
        reasks=0,
    )


def measure(step: Steps, one: Critic, critic: Path) -> None:
    """Measure a critic against the truth, with heedful's meta-evaluation."""

    def make(path: Path) -> None:
        report = heedful.judge_accuracy(
            step.folder / "test.jsonl",
            judge=judge(critic, single=one.data == "single"),
            concurrency=256,
            folder=step.folder / "judged" / one.folder,
        )
        put(path, report)

    step(f"measured/{one.folder}.json", make)


def seed_steps(out: Path, scale: Scale, seed: int, stages: set[str], deadline: float) -> None:
    """Go through a seed: its data, the main critic, the policy, and all other critics."""
    step = Steps(out / f"seed-{seed}", deadline)
    experts_data(step, scale, seed)
    main_critic = train(step, scale, seed, MAIN, out / "base")
    if main_critic is not None:
        chosen = {"policy": policy.POLICIES, "aggregates": policy.AGGREGATES}
        policies = ChainMap(*(chosen[stage] for stage in chosen if stage in stages))
        for name, terms in policies.items():
            made = partial(
                policy.grpo,
                writer=out / "writer",
                critic=judge(main_critic),
                steps=scale.policy_steps,
                seed=seed,
                terms=terms,
            )
            step(f"{name}.json", made)
    if "critics" in stages:
        # In a smoke test the first ones do: the rest is the same with other data.
        for one in CRITICS[:8] if scale.model == "smoke" else CRITICS:
            critic = train(step, scale, seed, one, out / "base")
            if critic is not None:
                measure(step, one, critic)


def shared_steps(out: Path, scale: Scale, deadline: float) -> None:
    """Make what all seeds begin with: the base model, and the policy before it is rewarded."""
    step = Steps(out, deadline)
    start = out / "random"
    if not (start / "config.json").exists():
        base.make_random(start, PLAIN, size=scale.model)
    rows, steps = scale.reading, scale.reading_steps
    reading = step(
        "reading",
        lambda path: base.teach(
            path,
            start,
            base.descriptions(rows, PLAIN, concluded=False),
            learning_rate=3e-3,
            steps=steps,
        ),
    )
    comparing = step(
        "comparing",
        lambda path: base.teach(
            path,
            reading,
            base.comparisons(rows, PLAIN, in_context=False),
            learning_rate=2e-3,
            steps=steps // 2,
            batch_size=64,
        ),
    )
    concluding = step(
        "concluding",
        lambda path: base.teach(
            path,
            comparing,
            base.comparisons(rows // 2, PLAIN, in_context=True),
            learning_rate=2e-3,
            steps=steps // 3,
        ),
    )
    step(
        "base",
        lambda path: base.teach(
            path,
            concluding,
            base.descriptions(rows, PLAIN, concluded=True),
            learning_rate=2e-3,
            steps=3 * steps // 2,
        ),
    )
    step(
        "writer",
        lambda path: policy.make_writer(
            path, start, rows=scale.reading // 4, steps=scale.reading_steps // 4
        ),
    )


def main() -> None:
    """Read the command line and do the stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/nano"), help="where all goes")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--only", type=int, help="only this one of them")
    parser.add_argument("--size", choices=("small", "large"), default="small")
    parser.add_argument("--smoke", action="store_true", help="a minute of everything")
    parser.add_argument(
        "--stage",
        action="append",
        choices=STAGES_OF_RUN,
        help="only this; may be given several times",
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no step after them")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds: give 1 or more")
    name = "smoke" if options.smoke else options.size
    out, scale, stages = options.out / name, SCALES[name], set(options.stage or STAGES_OF_RUN)
    seeds = range(options.seeds) if options.only is None else [options.only]
    deadline = time.time() + 60 * options.minutes
    try:
        if stages != {"report"}:
            shared_steps(out, scale, deadline)
        for seed in seeds:
            if stages & {"policy", "aggregates", "critics"}:
                seed_steps(out, scale, seed, stages, deadline)
    except TimeoutError:
        print("the time is over; the same command goes on here")
    if "report" in stages:
        names = {critic.folder: critic.name for critic in CRITICS}
        report.write(out, names, {data: data for data in DATA if data != "single"}, MAIN.name)


if __name__ == "__main__":
    main()
