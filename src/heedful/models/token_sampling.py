"""From a model's scores to the next token, for each row of a batch on its own."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor
__all__ = ["Draft"]


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """An answer that is still to be written.

    Attributes:
        prompt: the prompt's tokens.
        thinking: the template has opened a block of thinking, which the answer only closes.
        limit: tokens that may be generated.
        temperature: 0 takes the likeliest token.
        top_p: sample from the smallest set of likeliest tokens with this share.
        seed: of this answer's own random numbers.
        stopped: whether the caller was cancelled.
        top: of how many first tokens the log-probabilities are wanted.
    """

    prompt: list[int]
    thinking: bool
    limit: int
    temperature: float
    top_p: float
    seed: bytes
    stopped: Callable[[], bool]
    top: int = 0

    def numbers(self) -> Iterator[float]:
        """Yield random numbers in [0, 1), the same at each call."""
        generator = random.Random(self.seed)
        while True:
            yield generator.random()


class TokenSampler:
    """Samples the next token of each row that is sampled, as a logits processor of transformers.

    A row's random numbers are its own, one for each token, so what it draws does not depend on
    which rows share its batch. The scores themselves are computed in batches of other shapes and
    differ in their last bits: a draw within that distance of the border between two tokens can
    fall to either side.
    """

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._rows = [row for row, draft in enumerate(drafts) if draft.temperature > 0]
        sampled = [drafts[row] for row in self._rows]
        self._numbers = [draft.numbers() for draft in sampled]
        self._temperatures = [[draft.temperature] for draft in sampled]
        self._top_ps = [[draft.top_p] for draft in sampled]
        self._nucleus = any(draft.top_p < 1 for draft in sampled)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG002 - their seam
        """Leave one token to each sampled row; ``scores`` has the shape (rows, vocabulary)."""
        import torch

        if not self._rows:
            return scores
        logits = scores[self._rows].float()
        share = (logits / logits.new_tensor(self._temperatures)).softmax(dim=-1)
        if self._nucleus:
            share = _nucleus(share, share.new_tensor(self._top_ps))
        # In the order of the vocabulary: sorted by share, near ties would change places.
        reach = share.cumsum(dim=-1)
        total = reach[:, -1:]
        point = total * total.new_tensor([[next(numbers)] for numbers in self._numbers])
        point = torch.minimum(point, total.nextafter(torch.zeros_like(total)))
        token = torch.searchsorted(reach, point, right=True)
        chosen = torch.full_like(scores[self._rows], -torch.inf).scatter(-1, token, 0.0)
        scores = scores.clone()
        scores[self._rows] = chosen
        return scores


def _nucleus(share: Tensor, top_p: Tensor) -> Tensor:
    """Set to 0 what is not in the smallest set of likeliest tokens with the share ``top_p``."""
    import torch

    ordered, order = share.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    ordered = ordered.masked_fill((before >= top_p) & (before > 0), 0.0)
    return torch.zeros_like(share).scatter(-1, order, ordered)


class RowLimits:
    """Stopping criterion: ends a row at its own limit, or when its caller was cancelled."""

    def __init__(self, drafts: Sequence[Draft], width: int) -> None:
        self._drafts = drafts
        self._width = width

    def __call__(self, input_ids: Tensor, *_: object, **__: object) -> Tensor:
        """Say which rows are done; ``input_ids`` has the shape (rows, tokens)."""
        import torch

        written = input_ids.shape[1] - self._width
        done = [written >= draft.limit or draft.stopped() for draft in self._drafts]
        return torch.tensor(done, device=input_ids.device)
