"""Options of the judge that calls models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.models.options import CallOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from heedful.judges.protocol import AskingProtocol
    from heedful.models.base import AnyModel


CHECKLIST = "checklist"
"""The name of the judge that calls a model."""

WITH_MODEL = f"rules,compiled,{CHECKLIST}"
"""The judges where a model is named: code decides what it can."""


class JudgeOptions(CallOptions, total=False):
    """The model that judges, and how it is called; the judge ``checklist`` takes these.

    Attributes:
        model: Who judges: a name at the base URL, a FOLDER or local:NAME in this process,
            any:PROVIDER/NAME, or PLUGIN:NAME. Several make a panel: its majority decides.
        prompt: plain, short, structured, structured_object, if_critic, advancedif, cfbench or
            criteria; or a text with {{checklist}} and {{response}} in it. Default: the one that
            the model's folder names, or plain.
        prompt_file: A file whose text replaces that of the prompt.
        system_prompt_file: For advancedif, a file with the text for system steerability. Default:
            the prompt file.
        explain: Ask for an explanation before each verdict. Default: on.
        measure: Tell the model what code counts for a constraint, as facts. Default: as the model's
            folder says, else no.
        per_call: Constraints in one call; 1 judges each on its own. Default: as the model's folder
            says, else all.
        votes: Independent samples per question; the majority decides. Default: 1.
        min_confidence: A majority smaller than this share of the votes does not decide.
        reasks: How often a verdict that the reply left out is requested again. Default: 1.
        reject_contradictions: Leave undecided what code, or the verdict's own explanation,
            contradicts. Default: such an explanation is only marked.
        protocol: A file that heedful align wrote: the judge, its options
            and the words of criteria. Flags that are given count before it.
        proposals: Have the model propose a check for each text that doesn't compile but names
            something countable: two requests for each distinct text. Default: off.
        images: The folder of image files that rows name by their paths. Default: no file is read.
    """

    model: AnyModel | Sequence[AnyModel]
    prompt: str | None
    prompt_file: str | os.PathLike[str] | None
    system_prompt_file: str | os.PathLike[str] | None
    explain: bool
    measure: bool | None
    per_call: int | None
    votes: int
    min_confidence: float
    reasks: int
    reject_contradictions: bool
    protocol: str | os.PathLike[str] | AskingProtocol | None
    proposals: bool
    images: str | os.PathLike[str] | None
