"""Where DPO's gradient and margins are: inside the judgments that differ, or outside of them."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from heedful.critic.data.options import ExportSettings
from heedful.critic.training.rows import Rows, open_chat, tokenised
from heedful.critic.training.settings import DpoSettings
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from pathlib import Path

    from heedful.critic.training.rows import Chat, Encoded
    from heedful.data.training_sets import Example

MEASURED = 24
"""Pairs that are measured, of those that were trained on."""


def mechanism(pairs: Path, reference: Path, trained: Path, prompt_file: Path) -> dict[str, Any]:
    """Measure a training by pairs, on these pairs.

    Args:
        pairs: their file.
        reference: the model before the training.
        trained: the model after it.
        prompt_file: the text of the critics' prompt.

    Returns:
        ``differing``: the share of a pair's tokens that stand in judgments whose verdicts differ.
        ``gradient_outside``: at the reference, the share of a pair's squared gradient of DPO's loss
        that comes from all other tokens, the mean over pairs; ``mean_gradient_outside``: the same
        of the gradient's mean over all pairs. Inside and outside aren't orthogonal, so these are
        shares of the sum of both squared norms. ``margin_inside``, ``margin_outside``: how much
        more likely the trained model makes the chosen tokens than the rejected ones, relative to
        the reference, nats a pair.
    """
    import torch
    from transformers import AutoModelForCausalLM

    rows = Rows(pairs, pairs=True, settings=ExportSettings(prompt="plain", prompt_file=prompt_file))
    settings = DpoSettings(prompt_file=prompt_file)
    chat, context = open_chat(find_folder(str(reference)), settings)
    before, after = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        for folder in (reference, trained)
    )
    weights = list(before.parameters())
    sums = [[torch.zeros_like(weight) for weight in weights] for _ in range(2)]
    shares, margins, differing = [], [], []
    for example, *sides in tokenised(rows, chat, context).rows[:MEASURED]:
        marks = [_marks(chat, example, name) for name in ("chosen", "rejected")]
        both = list(zip(sides, marks, (1, -1), strict=True))
        differing.append(sum(map(sum, marks)) / sum(len(side.answer) for side in sides))
        contrast = sum(sign * _by_place(before, side, mark) for side, mark, sign in both)
        squares = []
        for place in (0, 1):
            parts = torch.autograd.grad(contrast[place], weights, retain_graph=place == 0)
            squares.append(sum(float(part.square().sum()) for part in parts))
            sums[place] = [total + part for total, part in zip(sums[place], parts, strict=True)]
        shares.append(squares[1] / sum(squares))
        with torch.no_grad():
            later = sum(sign * _by_place(after, side, mark) for side, mark, sign in both)
        margins.append((later - contrast.detach()).tolist())
    whole = [sum(float(part.square().sum()) for part in total) for total in sums]
    return {
        "pairs": len(shares),
        "differing": fmean(differing),
        "gradient_outside": fmean(shares),
        "mean_gradient_outside": whole[1] / sum(whole),
        "margin_inside": fmean(inside for inside, _ in margins),
        "margin_outside": fmean(outside for _, outside in margins),
    }


def _marks(chat: Chat, example: Example, side: str) -> list[int]:
    """Mark with 1 the tokens in the judgments that differ."""
    text = getattr(example, side)
    question, said = chat.laid_out(example.prompt, text)
    start = said.index(text, len(question))
    whole = chat.tokenizer(said, add_special_tokens=False, return_offsets_mapping=True)
    spans = [segment[side] for segment in example.beside["segments"]]
    return [
        int(any(low < start + end and start + begin < high for begin, end in spans))
        for low, high in whole["offset_mapping"]
    ]


def _by_place(model: Any, side: Encoded, mark: list[int]) -> Any:
    """Sum the log-probabilities of an answer's tokens inside the marked ones, and outside."""
    import torch

    tokens = torch.tensor([[*side.prompt, *side.answer]])
    logits = model(input_ids=tokens).logits[0, :-1]
    chosen = logits.log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]
    answer = torch.arange(1, tokens.shape[1]) >= len(side.prompt)
    inside = torch.tensor(mark)[1:].bool()
    return torch.stack([chosen[inside & answer].sum(), chosen[~inside & answer].sum()])
