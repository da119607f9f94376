"""A preference pair: a chosen and a rejected critique on the same prompt, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from heedful.core.nouns import Message, Status
    from heedful.critic.data.segments import Span

__all__ = ["Method"]

Method = Literal["constraint-level", "whole-response", "expert", "per-constraint"]
METHODS: tuple[Method, ...] = ("constraint-level", "whole-response", "expert", "per-constraint")
"""How the chosen critique is made; the last three are the baselines of IF-Critic's ablation."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A judgment on which the two critiques of a pair disagree.

    Attributes:
        number: the constraint's number in the critiques, from 1.
        constraint: its text.
        verdict: the chosen critique's, and the expert's; the rejected one's is the opposite.
        chosen: where explanation and verdict stand in the chosen text.
        rejected: the same in the rejected text.
    """

    number: int
    constraint: str
    verdict: Status
    chosen: Span
    rejected: Span


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """A chosen and a rejected critique on the same prompt.

    Attributes:
        id: the item's, with the number of the sampled critique: ``ID#3``; per constraint also the
            constraint's: ``ID#3.2``.
        sample: the item's id.
        method: how the chosen critique was made.
        prompt_name: the prompt that was rendered, and whose parser reads the critiques.
        prompt_version: of that prompt's text and parser.
        prompt: the messages to the critic.
        chosen: the critique to prefer.
        rejected: the sampled critique.
        segments: on what they disagree.
        strict: whether the prompt's parser reads both critiques as meant. In the published reading
            a critique may state a constraint in other words than the checklist's, which the parser
            refuses.
        measure: whether counts of code stand in the prompt.
    """

    id: str
    sample: str
    method: Method
    prompt_name: str
    prompt_version: str
    prompt: tuple[Message, ...]
    chosen: str
    rejected: str
    segments: tuple[Segment, ...]
    strict: bool
    measure: bool = False

    def record(self) -> dict[str, Any]:
        """Lay it out as a line of the output."""
        return {
            "id": self.id,
            "sample": self.sample,
            "method": self.method,
            "prompt_name": self.prompt_name,
            "prompt_version": self.prompt_version,
            **({"measure": True} if self.measure else {}),
            "prompt": [
                message.model_dump(mode="json", exclude_defaults=True) for message in self.prompt
            ],
            "chosen": self.chosen,
            "rejected": self.rejected,
            "segments": [
                {
                    "number": segment.number,
                    "constraint": segment.constraint,
                    "verdict": segment.verdict.value,
                    "chosen": list(segment.chosen),
                    "rejected": list(segment.rejected),
                }
                for segment in self.segments
            ],
        }
