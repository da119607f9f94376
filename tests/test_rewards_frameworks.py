"""Rewards inside the trainers' own code: verl 0.9, OpenRLHF 0.11 and verifiers 0.4.

None of them installs beside the rest; each test runs where its trainer is. TRL, which does, trains
in ``tests/test_rewards_trl.py``, and ``tests/test_rewards_adapters.py`` calls all adapters as these
trainers call them.
"""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heedful.rewards import Reward, for_verifiers
from tiny_model import save_tiny_model

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # trainers load torch

CHECKLIST: list[dict[str, Any]] = [
    {"text": "No commas.", "check": {"id": "punctuation:no_comma"}},
    {"text": "It says hi.", "check": {"id": "keywords:existence", "args": {"keywords": ["hi"]}}},
]
TRUTH = json.dumps({"prompt": "Greet.", "checklist": CHECKLIST})
UNDECIDED = json.dumps({"prompt": "Greet.", "checklist": ["It is polite."]})

REWARD_FILE = """
from heedful.rewards import Reward, for_openrlhf, for_verl

REWARD = Reward(undecided=0.25)
compute_score = for_verl(REWARD)
reward_func = for_openrlhf(REWARD)
"""


@pytest.fixture
def reward_file(tmp_path: Path) -> Path:
    path = tmp_path / "my_reward.py"
    path.write_text(REWARD_FILE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = save_tiny_model(tmp_path_factory.mktemp("model"))
    return transformers.AutoTokenizer.from_pretrained(folder)


# --- verl: its configuration, its loader of functions, its reward loop ---------------------------


def verl_batch(tokenizer: Any, responses: list[str], truths: list[str]) -> Any:
    """A batch as verl's rollout hands it over: padded left of the prompt, right of the response."""
    import numpy as np
    import torch
    from verl import DataProto

    prompt = tokenizer("<|user|>Greet.<|end|><|assistant|>")["input_ids"]
    replies = [tokenizer(response + "<|end|>")["input_ids"] for response in responses]
    longest = max(map(len, replies))
    rows = [reply + [tokenizer.pad_token_id] * (longest - len(reply)) for reply in replies]
    masks = [[1] * (len(prompt) + len(reply)) + [0] * (longest - len(reply)) for reply in replies]
    return DataProto.from_dict(
        tensors={
            "prompts": torch.tensor([prompt] * len(rows)),
            "responses": torch.tensor(rows),
            "attention_mask": torch.tensor(masks),
        },
        non_tensors={
            "data_source": np.array(["if"] * len(rows), dtype=object),
            "reward_model": np.array([{"ground_truth": truth} for truth in truths], dtype=object),
            "extra_info": np.array([{"index": at} for at in range(len(rows))], dtype=object),
        },
    )


@pytest.mark.parametrize("manager", ["naive", "dapo"])
def test_verl_scores_a_batch(tokenizer: Any, reward_file: Path, manager: str) -> None:
    pytest.importorskip("verl", reason="verl is not installed")
    hydra = pytest.importorskip("hydra", reason="hydra, which verl needs, is not installed")
    from verl.experimental.reward_loop.reward_loop import (
        RewardLoopWorker,
        migrate_legacy_reward_impl,
        resolve_reward_manager_cls,
    )

    overrides = [
        f"reward.custom_reward_function.path={reward_file}",
        f"reward.reward_manager.name={manager}",
        f"actor_rollout_ref.model.path={tokenizer.name_or_path}",
    ]
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        config = migrate_legacy_reward_impl(hydra.compose("ppo_trainer", overrides))
    batch = verl_batch(tokenizer, ["hi you.", "hi, you.", "Hm."], [TRUTH, TRUTH, UNDECIDED])

    async def score() -> list[dict[str, Any]]:
        worker = RewardLoopWorker(config)
        result: list[dict[str, Any]] = await worker.compute_score_batch(batch)
        return result

    result = asyncio.run(score())
    scores = [item["reward_score"] for item in result]
    assert scores == [1, 0.5, 0.25]
    told = [item["reward_extra_info"] for item in result]
    assert [(item["undecided"], item["coverage"]) for item in told] == [(0, 1), (0, 1), (1, 0)]
    rewards = resolve_reward_manager_cls(config).assemble_rm_scores(batch, scores)
    assert rewards.sum(dim=1).tolist() == scores


# --- OpenRLHF: its executor loads the file, generates, and asks for the reward --------------------


def openrlhf_response(
    tokenizer: Any, reward_file: Path, prompt: str, reply: str, *, most: int = 512
) -> dict[str, Any]:
    agent: Any = pytest.importorskip("openrlhf.utils.agent", reason="OpenRLHF is not installed")

    class Engine:
        """Answers with one reply, as vLLM's engine gives it."""

        async def generate(self, *_: Any, **__: Any) -> Any:
            ids = tokenizer(reply + "<|end|>")["input_ids"]
            output = SimpleNamespace(token_ids=ids, finish_reason="stop", logprobs=None)
            return SimpleNamespace(outputs=[output])

    sampling = SimpleNamespace(max_tokens=20, logprobs=None)
    executor = agent.SingleTurnAgentExecutor(str(reward_file))
    result: dict[str, Any] = asyncio.run(
        executor.execute(prompt, TRUTH, sampling, most, tokenizer, Engine())
    )
    return result


PROMPT = "<|system|>Be brief.<|end|><|user|>Greet, and no more.<|end|><|assistant|>"


def test_openrlhf_asks_for_the_reward_of_what_was_generated(
    tokenizer: Any, reward_file: Path
) -> None:
    result = openrlhf_response(tokenizer, reward_file, PROMPT, "hi you.")
    assert result["reward"].tolist() == result["scores"].tolist() == [1]
    logs = {name: value.tolist() for name, value in result["extra_logs"].items()}
    assert (logs["undecided"], logs["gated_echo"], logs["coverage"]) == ([0], [0], [1])
    assert openrlhf_response(tokenizer, reward_file, PROMPT, "Hm.")["reward"].tolist() == [0.5]


def test_openrlhf_cuts_a_long_prompt_and_the_reply_is_still_found(
    tokenizer: Any, reward_file: Path
) -> None:
    tokens = len(tokenizer(PROMPT)["input_ids"])
    result = openrlhf_response(tokenizer, reward_file, PROMPT, "Hm.", most=tokens + 20 - 8)
    assert result["reward"].tolist() == [0.5]


# --- verifiers ----------------------------------------------------------------------------------


def test_verifiers_scores_a_task() -> None:
    vf: Any = pytest.importorskip("verifiers.v1", reason="verifiers is not installed")

    class OwnData(vf.TaskData):  # type: ignore[misc]
        checklist: tuple[Any, ...] = ()

    class OwnTask(vf.Task):  # type: ignore[misc]
        @vf.reward(weight=2.0)  # type: ignore[untyped-decorator]
        async def checklist_met(self, task: Any, trace: Any) -> float:
            return await score(task, trace)

    task = OwnTask(OwnData(prompt="Greet.", system_prompt="Be brief.", checklist=CHECKLIST))
    trace = vf.Trace.model_construct(root_reply="hi, you.", rewards={}, metrics={})
    with Reward(undecided=0.0) as reward:
        score = for_verifiers(reward)
        asyncio.run(task.score(trace))
    assert (trace.rewards["checklist_met"].score, trace.reward) == (0.5, 1.0)
