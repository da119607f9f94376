"""A prompt: asks for all verdicts in one line, such as ``1 yes, 2 no``, and reads that line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful import Judgment, Status
from heedful.judges.prompts import block_layout
from heedful.judges.prompts.base import refuse_undecided, undecided
from heedful.judges.prompts.template import shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful import Constraint, Message, Sample

__all__ = ["OneLine", "make"]

_PARSER = 1
"""Raise it when ``parse`` changes, so that no reply is read from a cache as another parser did."""

_VERDICT = re.compile(r"(\d{1,6}) (yes|no)")


@dataclass(frozen=True)
class OneLine:
    """Verdicts without explanations.

    Attributes:
        prompt: a text of the user's (``--prompt``) that replaces ours.
    """

    prompt: str | None = None

    name = "one_line"
    response_format = None
    explain = False

    @property
    def _template(self) -> str:
        text = self.prompt or shipped("one_line.txt", __package__)
        return with_format(text, "one_line.format.txt", __package__)

    @property
    def version(self) -> str:
        """Of the text and the parser."""
        return version(_PARSER, self._template)

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt, with everything that is judged behind fences."""
        checklist = block_layout.numbered(constraints, measurements, "en")
        return block_layout.messages(self._template, sample, checklist, "en")

    def parse(self, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
        """Read a reply; one that isn't exactly as asked for decides nothing."""
        parts = [_VERDICT.fullmatch(part.strip()) for part in text.strip().lower().split(",")]
        verdicts = [(int(part[1]), part[2]) for part in parts if part]
        if len(verdicts) < len(parts) or [number for number, _ in verdicts] != list(
            range(1, len(constraints) + 1)
        ):
            return undecided(constraints, "the reply is not one verdict for each number")
        return [
            Judgment(status=Status.MET if word == "yes" else Status.UNMET) for _, word in verdicts
        ]

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:  # noqa: ARG002
        """Write the reply that reads as these judgments."""
        refuse_undecided(judgments)
        words = ["yes" if judgment.status is Status.MET else "no" for judgment in judgments]
        return ", ".join(f"{number} {word}" for number, word in enumerate(words, start=1))


def make(*, explain: bool, text: str | None) -> OneLine:  # noqa: ARG001 - it never explains
    """Make the prompt; the entry point."""
    return OneLine(text)
