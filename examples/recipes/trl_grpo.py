r"""GRPO with TRL: 32 rollouts a prompt, a critic on a server of its own, asynchronous rewards.

    python examples/recipes/trl_grpo.py --data data/trl.jsonl --model POLICY \
        --critic CRITIC --critic-url http://127.0.0.1:8000/v1 -o policy

The reward is IF-Critic's: the share of the checklist that is met, by code where it can tell and by
the critic where not, together with the criteria against gaming. A second judge (``--reference``, or
else the critic asked about one constraint at a time) watches the gap between reward and truth, and
ends the training when it grows. At the end a table says what the rewards took.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.rewards import Divergence, Reward, for_trl

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Read the command line, and train."""
    from datasets import load_dataset
    from trl import GRPOConfig, GRPOTrainer

    options = _options()
    critic = _critic(options.critic, options.critic_url)
    reward = Reward(critic, guards=True, concurrency=options.in_flight)
    second = _critic(
        options.reference or options.critic,
        options.reference_url or options.critic_url,
        per_call=None if options.reference else 1,
    )
    watch = Divergence(Reward(second), stop=True)
    seconds: list[float] = []
    trainer = GRPOTrainer(
        model=options.model,
        reward_funcs=[_timed(for_trl(reward, name="critic", divergence=watch), seconds)],
        train_dataset=load_dataset("json", data_files=options.data, split="train"),
        args=GRPOConfig(
            output_dir=options.output,
            num_generations=options.rollouts,
            per_device_train_batch_size=options.batch,
            gradient_accumulation_steps=options.prompts * options.rollouts // options.batch,
            max_completion_length=options.tokens,
            max_steps=options.steps,
            learning_rate=1e-6,
            temperature=1.0,
            beta=0.0,
            logging_steps=1,
            log_completions=not options.cpu,
            report_to="none",
            **({"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
               if options.cpu else {"use_vllm": True, "vllm_mode": "colocate"}),
        ),
    )  # fmt: skip
    trainer.train()
    trainer.save_model(options.output)
    _report(reward, seconds, options.critic_parameters)
    reward.close()


def _critic(model: str, url: str, per_call: int | None = None) -> Checklist:
    return Checklist(OpenAIModel(model, base_url=url), prompts.make("plain"), per_call=per_call)


def _timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Note how long each batch of rewards took."""

    async def critic(*args: Any, **columns: Any) -> Any:
        began = time.perf_counter()
        values = await function(*args, **columns)
        seconds.append(time.perf_counter() - began)
        return values

    return critic


def _report(reward: Reward, seconds: list[float], parameters: float) -> None:
    """Print what the rewards took in a step."""
    summary = reward.summary()
    cost = summary.get("cost", {})
    steps = len(seconds)
    tokens = cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)
    print(f"rewards: {summary['responses']} in {steps} steps, mean {summary['mean']}")
    print(f"undecided {summary['undecided_rate']}, gates {summary['gates']}")
    print(f"a step: {cost.get('calls', 0) / steps:.1f} calls, {tokens / steps:,.0f} tokens,")
    print(f"  {2e9 * parameters * tokens / steps / 1e12:,.1f} TFLOPs, {sum(seconds) / steps:.2f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="trl.jsonl, from prepare.py")
    parser.add_argument("--model", required=True, help="the policy")
    parser.add_argument("--critic", required=True, help="the critic's name on its server")
    parser.add_argument("--critic-url", required=True)
    parser.add_argument("--critic-parameters", type=float, default=14, help="in billions")
    parser.add_argument("--reference", help="another model, which watches for gaming")
    parser.add_argument("--reference-url")
    parser.add_argument("-o", "--output", default="policy")
    parser.add_argument("--prompts", type=int, default=64, help="in a step")
    parser.add_argument("--rollouts", type=int, default=32, help="of each prompt")
    parser.add_argument("--batch", type=int, default=16, help="rollouts on a device at a time")
    parser.add_argument("--tokens", type=int, default=1024, help="of a rollout at most")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=256, help="responses judged at a time")
    parser.add_argument("--cpu", action="store_true", help="without vLLM, to try the recipe")
    return parser.parse_args()


if __name__ == "__main__":
    main()
