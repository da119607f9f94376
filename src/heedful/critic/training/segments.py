"""Preferring by the differing judgments alone: which tokens of a pair those are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def collator(pad_token_id: int) -> Any:
    """Make the collator that lets only marked tokens into the loss.

    What two critiques share before their first difference cancels in DPO's loss; what they share
    behind it does not quite, for it follows other words. The mask takes all of it out.
    """
    from trl.trainer.dpo_trainer import DataCollatorForPreference

    class SegmentCollator(DataCollatorForPreference):  # type: ignore[misc]
        """TRL's collator; rows have ``chosen_mask`` and ``rejected_mask`` over all tokens."""

        def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
            """Make a batch: first all that is chosen, then all that is rejected."""
            import torch

            batch: dict[str, Any] = super().torch_call(examples)
            marks = [
                example[f"{side}_mask"] for side in ("chosen", "rejected") for example in examples
            ]
            held = [
                len(example["prompt_ids"]) + len(example[f"{side}_ids"])
                for side in ("chosen", "rejected")
                for example in examples
            ]
            _refuse_misaligned(marks, held)
            width = batch["completion_mask"].shape[1]
            mask = torch.tensor([[*row, *[0] * (width - len(row))] for row in marks])
            batch["completion_mask"] = batch["completion_mask"] * mask
            return batch

    return SegmentCollator(pad_token_id=pad_token_id)


def _refuse_misaligned(marks: Sequence[Sequence[int]], held: Sequence[int]) -> None:
    """Hold that the marks are of the very tokens that TRL made."""
    for row, tokens in zip(marks, held, strict=True):
        if len(row) != tokens:
            message = f"the mask has {len(row)} tokens, the answer {tokens}"
            raise AssertionError(message)
