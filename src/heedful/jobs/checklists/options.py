"""Options of making checklists, as Python and the command line take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.jobs.options import GenerationOptions

if TYPE_CHECKING:
    import os

    from heedful.jobs.checklists.prompt import ChecklistPrompt

__all__ = ["ChecklistOptions"]


class ChecklistOptions(GenerationOptions, total=False):
    """Options of making checklists.

    Attributes:
        prompt: plain (with types and priorities), rubric (questions in the model's words) or
            if_critic (IF-Critic's published format). Default: plain.
        prompt_file: A file whose text replaces that of the prompt, with {{conversation}} in it.
        overwrite: Also replace a checklist that is there.
    """

    prompt: str | ChecklistPrompt
    prompt_file: str | os.PathLike[str] | None
    overwrite: bool
