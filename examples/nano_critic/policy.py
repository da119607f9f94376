"""A tiny policy that learns from the critic: GRPO, and how far the reward is from the truth."""

from __future__ import annotations

import json
import random
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import world
from heedful import Critique, Judgment, Status
from heedful.critic.training import SftSettings, train_sft
from heedful.rewards import Divergence, Reward, for_trl, trl_rewards

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful import Judge, Sample

__all__ = ["AGGREGATES", "POLICIES", "Terms", "grpo", "make_writer"]

PROMPTS, RESPONSES = 8, 8
"""Instructions in a step, and responses to each."""

LONGEST = 12
"""Words of a response at most."""


class Terms(NamedTuple):
    """What a policy is rewarded for.

    Attributes:
        shortest: words that a response must have before it may end. Critics have never seen an
            empty response, and to the truth it meets nothing.
        gates: heedful's gates of the reward, ``all`` or ``none``.
        aggregate: how the critic's verdicts become a reward.
    """

    shortest: int = 0
    gates: str = "all"
    aggregate: str = "fraction"


POLICIES = {
    "policy": Terms(min(world.LENGTHS), "none"),
    "policy-free": Terms(gates="none"),
    "policy-gated": Terms(),
}
"""The policies, by the names of their files."""

AGGREGATES = {
    "policy-gated": Terms(),
    "policy-hybrid": Terms(aggregate="hybrid"),
    "policy-all-or-nothing": Terms(aggregate="all_or_nothing"),
}
"""RIFL's ablation: the same policy with three rewards."""


def make_writer(folder: Path, model: Path, *, rows: int, steps: int) -> None:
    """Train the policy to begin with: it writes words, some of them as asked.

    Args:
        folder: where it goes; its data lies beside.
        model: what it is trained from.
        rows: responses to learn from, each the best of a few random ones.
        steps: batches of 32 of them.
    """
    data = folder.with_suffix(".jsonl")
    with data.open("w", encoding="utf-8") as file:
        for at, prompt in enumerate(_prompts(rows, "writing")):
            rng = random.Random(f"writing {at}")
            said = world.draw_response(rng, prompt["checklist"], rng.choice((1, 2, 4)))
            completion = [{"role": "assistant", "content": said}]
            row = {"id": f"writing-{at}", "completion": completion}
            file.write(json.dumps(row | {"prompt": prompt["prompt"]}) + "\n")
    settings = SftSettings(
        prompt="plain",
        learning_rate=2e-3,
        max_steps=steps,
        batch_size=32,
        gradient_accumulation=1,
    )
    train_sft(data, folder, model=model, settings=settings)


def grpo(
    output: Path,
    writer: Path,
    critic: Judge,
    *,
    steps: int,
    seed: int,
    terms: Terms,
) -> None:
    """Train the policy with the critic's reward, and record the true one beside it.

    The file has, for each step, means over its responses: ``reward``, of the critic's verdicts,
    and by code ``truth``, the share of constraints that are met, and ``all_met``, the share of
    responses that meet all of theirs. ``equal_groups`` is the share of instructions whose
    responses all got the same reward, from which GRPO learns nothing.

    Args:
        output: the file; the policy goes into the folder of the same name.
        writer: the policy to begin with.
        critic: judges the responses.
        steps: of GRPO.
        seed: of the instructions and the responses.
        terms: what it is rewarded for.
    """
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer

    prompts = _prompts(PROMPTS * steps, f"policy {seed}")
    judged = Reward(critic, terms.aggregate, gates=terms.gates, concurrency=PROMPTS * RESPONSES)
    # The truth is only looked at: an alarm doesn't end the training here.
    divergence = Divergence(Reward(_Truth(), terms.aggregate, gates="none"), share=1.0)
    rewarded = for_trl(judged, name="critic", divergence=divergence)
    with judged, divergence.reference, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = GRPOTrainer(
            model=str(writer),
            reward_funcs=[trl_rewards([rewarded, _truth, _all_met], [1.0, 0.0, 0.0])],
            train_dataset=Dataset.from_list(prompts),
            args=GRPOConfig(
                output_dir=str(output.with_suffix("")),
                seed=seed,
                learning_rate=5e-4,
                lr_scheduler_type="constant",
                max_steps=steps,
                per_device_train_batch_size=PROMPTS * RESPONSES,
                num_generations=RESPONSES,
                max_completion_length=LONGEST + 1,
                generation_kwargs={"min_new_tokens": terms.shortest} if terms.shortest else None,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                **_device(),
            ),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        about = judged.summary()
    trainer.save_model(str(output.with_suffix("")))
    log = [
        {
            "step": entry["step"],
            "reward": entry["rewards/critic/mean"],
            "truth": entry["rewards/_truth/mean"],
            "all_met": entry["rewards/_all_met/mean"],
            "equal_groups": entry["frac_reward_zero_std"],
            "words": entry["completions/mean_length"],
        }
        for entry in trainer.state.log_history
        if "rewards/critic/mean" in entry
    ]
    result = {"steps": log, "alarm": divergence.alarm, "rewards": about}
    output.write_text(json.dumps(result, indent=1))


def _truth(completions: list[Any], checklist: list[list[str]], **_: object) -> list[float]:
    """Compute the share of constraints that each response meets."""
    return [sum(met) / len(met) for met in _met(completions, checklist)]


def _all_met(completions: list[Any], checklist: list[list[str]], **_: object) -> list[float]:
    """Tell which responses meet all of their constraints."""
    return [float(all(met)) for met in _met(completions, checklist)]


def _met(completions: list[Any], checklists: list[list[str]]) -> list[list[bool]]:
    return [
        [world.met(text, completion[-1]["content"]) for text in texts]
        for completion, texts in zip(completions, checklists, strict=True)
    ]


class _Truth:
    """A judge that knows this world."""

    name = "truth"
    config: ClassVar[dict[str, str]] = {}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge what is requested by code."""
        positions = range(len(sample.checklist)) if requested is None else requested
        met = (world.met(sample.checklist[at].text, sample.response or "") for at in positions)
        return Critique(
            judgments=tuple(
                Judgment(status=Status.MET if is_met else Status.UNMET) for is_met in met
            )
        )


def _prompts(number: int, name: str) -> list[dict[str, Any]]:
    """Draw instructions, in the layout of TRL, with their checklists' texts."""
    rng = random.Random(name)
    checklists = [world.draw_checklist(rng) for _ in range(number)]
    return [
        {
            "prompt": [one.model_dump() for one in world.instruction(texts)],
            "checklist": texts,
        }
        for texts in checklists
    ]


def _device() -> dict[str, Any]:
    """Say what TRL's defaults for GPUs must be on a machine without one."""
    import torch

    if torch.cuda.is_available():
        return {}
    return {"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
