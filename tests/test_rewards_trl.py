"""Rewards in TRL itself: a random model takes a few steps of GRPO."""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from heedful import Sample, Status, UsageError
from heedful.core.errors import ModelError
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import ScriptedModel
from heedful.rewards import (
    Divergence,
    Reward,
    critic_rows,
    for_trl,
    for_trl_critic,
    trl_rewards,
)
from tiny_model import save_tiny_model
from told import Told

pytestmark = [pytest.mark.training, pytest.mark.filterwarnings("ignore")]

CHECKLIST = [
    {"text": "No commas.", "check": {"id": "punctuation:no_comma"}},
    {"text": "At most 4 words.", "check": {"id": "length_constraints:number_words",
                                           "args": {"num_words": 5, "relation": "less than"}}},
    {"text": "It is polite."},
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("trl", reason="TRL is not installed; pip install trl")
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def settings(folder: Path) -> dict[str, Any]:
    return {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "per_device_train_batch_size": 2,
        "max_steps": 4,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
    }


def trained(
    model: Path,
    folder: Path,
    functions: Sequence[Any],
    rows: list[dict[str, Any]],
    trainer: str = "GRPO",
    **options: Any,
) -> Any:
    import trl
    from datasets import Dataset
    from transformers import AutoTokenizer

    made = getattr(trl, f"{trainer}Trainer")(
        model=str(model),
        reward_funcs=list(functions),
        processing_class=AutoTokenizer.from_pretrained(model),
        train_dataset=Dataset.from_list(rows),
        args=getattr(trl, f"{trainer}Config")(
            **{**settings(folder), "per_device_train_batch_size": 4, "max_steps": 2},
            num_generations=4,
            max_completion_length=8,
            **options,
        ),
    )
    made.train()
    return made


def train(model: Path, folder: Path, function: Any, rows: list[dict[str, Any]]) -> Any:
    return trained(model, folder, [function], rows).state.log_history


def rows(prompt: Any) -> list[dict[str, Any]]:
    return [{"prompt": prompt, "checklist": CHECKLIST}] * 4


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("prompt", ["Greet.", [{"role": "user", "content": "Greet."}]])
def test_grpo_trains_on_the_reward_and_logs_what_it_rests_on(
    model: Path, tmp_path: Path, prompt: Any, *, blocking: bool
) -> None:
    critic = ScriptedModel(lambda *_: "<c1>\nIt is.\nVERDICT: MET\n</c1>")
    with Reward(Checklist(critic, Plain()), gates="none") as reward:
        history = train(model, tmp_path, for_trl(reward, blocking=blocking), rows(prompt))
        summary = reward.summary()
    steps = [entry for entry in history if "reward" in entry]
    assert len(steps) == 2
    assert all(1 / 3 <= step["reward"] <= 1 for step in steps)
    assert [step["heedful/undecided"] for step in steps] == [0, 0]
    assert [step["heedful/coverage"] for step in steps] == [1, 1]
    assert summary["responses"] == 8
    assert summary["cost"]["calls"] == len(critic.calls) <= 8


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("failure", [ModelError("the server is down"), ZeroDivisionError()])
def test_a_critic_that_fails_leaves_training_standing(
    model: Path, tmp_path: Path, failure: Exception, *, blocking: bool
) -> None:
    critic = ScriptedModel("", fail=lambda _: failure)
    with Reward(Checklist(critic, Plain()), gates="none") as reward:
        history = train(model, tmp_path, for_trl(reward, blocking=blocking), rows("Greet."))
        summary = reward.summary()
    steps = [entry for entry in history if "heedful/undecided" in entry]
    assert [step["heedful/undecided"] for step in steps] == [1, 1]
    assert summary["undecided_rate"] == 1
    assert summary["mean"] is None


def test_completions_that_reach_the_trainers_limit_are_cut_off(model: Path, tmp_path: Path) -> None:
    critic = ScriptedModel(lambda *_: "<c1>\nIt is.\nVERDICT: MET\n</c1>")
    with Reward(Checklist(critic, Plain()), gates=["cut_off"]) as reward:
        made = trained(model, tmp_path, [for_trl(reward)], rows("Greet."))
        stopped = reward.summary()["gates"]["cut_off"]
    lengths = [entry["completions/clipped_ratio"] for entry in made.state.log_history
               if "completions/clipped_ratio" in entry]  # fmt: skip
    assert stopped == round(sum(lengths) * 4) > 0


def half(completions: list[Any], **_: Any) -> list[float]:
    """A second reward function, which is always decided."""
    return [0.5] * len(completions)


def every_other() -> Told:
    """A judge that decides every other response, so each group has some without a reward."""
    turns = itertools.cycle([Status.MET, Status.FAILED])
    return Told(lambda *_: next(turns))


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("trainer", ["GRPO", "RLOO"])
def test_a_second_reward_function_is_refused_before_anything_is_judged(
    model: Path, tmp_path: Path, trainer: str, *, blocking: bool
) -> None:
    judge = every_other()
    weights = {"reward_weights": [1.0, 0.0]}
    with Reward(judge) as reward:
        functions = [for_trl(reward, blocking=blocking), half]
        with pytest.raises(UsageError, match="trl_rewards"):
            trained(model, tmp_path, functions, rows("Greet."), trainer, **weights)
        summed = trl_rewards([for_trl(reward)])
        with pytest.raises(UsageError, match="2 reward functions"):
            trained(model, tmp_path, [summed, half], rows("Greet."), trainer, **weights)
    assert not judge.asked


@pytest.mark.parametrize("weight", [1.0, 0.0])
@pytest.mark.parametrize("trainer", ["GRPO", "RLOO"])
def test_what_is_undecided_is_left_out_beside_a_second_function(
    model: Path, tmp_path: Path, trainer: str, weight: float
) -> None:
    soft = [{"prompt": "Greet.", "checklist": ["It is polite."]}] * 4
    with Reward(every_other(), gates="none") as reward:
        critic = partial(for_trl(reward, name="critic"))
        function = trl_rewards([critic, half], [1.0, weight])
        made = trained(model, tmp_path, [function], soft, trainer)
    logs = made._logs  # noqa: SLF001 - what the trainer shows beside the completions
    seen = list(zip(logs["rewards"]["total"], logs["advantages"], strict=True))
    left_out = [advantage for reward_, advantage in seen if math.isnan(reward_)]
    assert len(left_out) == len(seen) / 2
    assert set(left_out) == {0}
    assert {value for value, _ in seen if not math.isnan(value)} == {1 + weight / 2}
    steps = [entry for entry in made.state.log_history if "reward" in entry]
    assert [step["reward"] for step in steps] == [1 + weight / 2] * 2
    assert [step["critic/undecided"] for step in steps] == [0.5, 0.5]
    assert [step["rewards/half/mean"] for step in steps] == [0.5, 0.5]
    assert [step["rewards/critic/mean"] for step in steps] == [1, 1]


def judged(folder: Path) -> None:
    """Judge two responses to each of four prompts: one has a comma, one has none."""
    from heedful import Sample, evaluate

    samples = [
        Sample.model_validate(
            {
                "id": f"{at}#{draw}",
                "instruction_id": str(at),
                "conversation": [{"role": "user", "content": f"Greet {at}."}],
                "checklist": CHECKLIST[:1],
                "response": response,
            }
        )
        for at in range(4)
        for draw, response in enumerate(["Hello.", "Hello, you."])
    ]
    evaluate(samples, judge="rules", run=folder)


def test_dpo_trains_on_the_pairs(model: Path, tmp_path: Path) -> None:
    from datasets import load_dataset
    from transformers import AutoTokenizer
    from trl import DPOConfig, DPOTrainer

    from heedful.rewards import Terms
    from heedful.rewards.policy_pairs import make_pairs

    judged(tmp_path / "run")
    output = tmp_path / "pairs"
    assert make_pairs(tmp_path / "run", Terms(), output=output, to="trl")["pairs"] == 4
    file = output / "train.jsonl"
    trainer = DPOTrainer(
        model=str(model),
        processing_class=AutoTokenizer.from_pretrained(model),
        train_dataset=load_dataset(
            "json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache")
        ),
        args=DPOConfig(**settings(tmp_path / "dpo")),
    )
    trainer.train()
    margins = [log["rewards/margins"] for log in trainer.state.log_history if "loss" in log]
    assert margins[-1] > margins[0]


def test_an_alarm_ends_the_training(model: Path, tmp_path: Path) -> None:
    rows = [{"prompt": "Greet.", "checklist": CHECKLIST[:2]}] * 8
    divergence = Divergence(Reward(gates="none"), stop=True)
    with Reward(gates="none") as reward:
        function = for_trl(reward, name="critic", divergence=divergence)
        trainer = trained(model, tmp_path, [function], rows)
        assert trainer.state.global_step == trainer.args.max_steps
        assert len(divergence.gaps) == trainer.args.max_steps
        divergence.alarm = 0
        trainer = trained(model, tmp_path / "again", [function], rows)
    assert trainer.state.global_step == 1 < trainer.args.max_steps
    assert any("critic/gap" in entry for entry in trainer.state.log_history)


def test_a_critic_trains_on_agreement_with_labels(model: Path, tmp_path: Path) -> None:
    row = Sample.model_validate(
        {
            "id": "1",
            "conversation": [{"role": "user", "content": "Greet."}],
            "checklist": [{"text": "It is polite."}, {"text": "It is short."}],
            "response": "Hello.",
            "labels": [True, None],
        }
    )
    history = train(model, tmp_path, for_trl_critic(), list(critic_rows([row] * 4)))
    assert [entry["reward"] for entry in history if "reward" in entry] == [0, 0]  # it can't write
    assert any(entry.get("agreement/parsed") == 0 for entry in history)
