"""``heedful critic pairs``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Literal

from cyclopts import Parameter

from heedful.cli.rows import show
from heedful.cli.running import FormatName, Quiet, RequiredOutput  # noqa: TC001 - cyclopts reads annotations at run time


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChoiceFlags:
    """Which critiques become a pair.

    Attributes:
        method: constraint-level: only wrong judgments are replaced. Baselines: whole-response (a
            sample that is right throughout is chosen), expert (the expert's critique is chosen),
            per-constraint (a pair for each wrong judgment, on a checklist of one).
        similarity: How the sampled judgments are compared of which one is chosen.
        candidates: Rejected critiques of each item, drawn where there are more.
        seed: Of the draws.
    """

    method: Literal["constraint-level", "whole-response", "expert", "per-constraint"] = (
        "constraint-level"
    )
    similarity: Literal["ratio", "quick_ratio", "edit"] = "ratio"
    candidates: int = 1
    seed: int = 42


def pairs(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    choice: ChoiceFlags = ChoiceFlags(),
    reading: Literal["published", "strict"] = "published",
    prompt_file: Path | None = None,
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Make preference pairs.

    Args:
        input: The file with expert critiques (recording.text) and sampled ones (recording.others).
        output: Where the pairs go: JSON lines. Their summary goes beside them: .summary.json.
        choice: Which critiques become a pair.
        reading: Of critiques in IF-Critic's format: as its public code reads them, or as strictly
            as when judging.
        prompt_file: A file whose text replaces that of the critiques' prompt.
        format: The format of INPUT; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data.pairs import Pairs

    summary = Pairs(
        input,
        method=choice.method,
        similarity=choice.similarity,
        candidates=choice.candidates,
        seed=choice.seed,
        reading=reading,
        prompt_file=prompt_file,
        format=format,
    ).write(output)
    broken = summary["items"]["broken"]
    return show("pairs", summary, output, broken=broken, quiet=quiet)
