"""DPO with TRL on the pairs that ``heedful reward pairs --to trl`` writes.

python examples/recipes/trl_dpo.py --data pairs --model POLICY -o policy
"""

from __future__ import annotations

import argparse


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder of heedful reward pairs")
    parser.add_argument("--model", required=True, help="the policy that wrote the responses")
    parser.add_argument("-o", "--output", default="policy")
    parser.add_argument("--batch", type=int, default=2, help="pairs on a device at a time")
    parser.add_argument("--pairs", type=int, default=64, help="in a step")
    parser.add_argument("--steps", type=int, default=-1, help="at most; by default one epoch")
    parser.add_argument("--cpu", action="store_true", help="to try the recipe")
    options = parser.parse_args()

    from datasets import load_dataset
    from trl import DPOConfig, DPOTrainer

    data = load_dataset("json", data_files=f"{options.data}/train.jsonl", split="train")
    trainer = DPOTrainer(
        model=options.model,
        train_dataset=data.select_columns(["prompt", "chosen", "rejected"]),
        args=DPOConfig(
            output_dir=options.output,
            per_device_train_batch_size=options.batch,
            gradient_accumulation_steps=max(1, options.pairs // options.batch),
            num_train_epochs=1,
            max_steps=options.steps,
            learning_rate=5e-7,
            beta=0.1,
            logging_steps=1,
            report_to="none",
            **({"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
               if options.cpu else {}),
        ),
    )  # fmt: skip
    trainer.train()
    trainer.save_model(options.output)


if __name__ == "__main__":
    main()
