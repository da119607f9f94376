"""Exporting critiques and pairs to a folder that training tools read as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError
from heedful.core.files import contents
from heedful.critic.data.card import sections
from heedful.critic.data.examples import Examples
from heedful.critic.data.pairs import summary_path
from heedful.data import training_sets as dataset
from heedful.models.folder import PROMPT_TEXT

if TYPE_CHECKING:
    import os

    from heedful.critic.data.code_verdicts import ExportSettings

__all__ = ["export"]


def export(
    data: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    to: str = "trl",
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    settings: ExportSettings | None = None,
    funnel: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Write a folder with the examples, a dataset card, and the files that the tool needs.

    Args:
        data: pairs as ``heedful critic pairs`` writes them, samples with final critiques, or the
            results of a run that was judged by code.
        output: the folder: new, empty, or with an earlier export, which is replaced.
        to: one of :data:`heedful.data.training_sets.LAYOUTS`.
        name: of the dataset; by default the folder's.
        format: of samples; by default detected from the file.
        settings: the prompt, and which verdicts of code become critiques.
        funnel: the summary of the filters, for the card.

    Returns:
        The result: ``pairs`` (whether), ``file``, ``counts``, rows ``dropped``, ``problems``.

    Raises:
        InputError: a file is missing, empty or in no known format, or no row can be used.
        UsageError: the layout is unknown, or the folder cannot be written.
    """
    examples = Examples(data, format=format, settings=settings)
    summaries = {"pairs": _beside(Path(data)), "funnel": _json(funnel) if funnel else None}
    taken = dataset.take(output, to, [Path(data)], name)
    kind = "Preference pairs of critiques" if examples.pairs else "Critiques"
    file = dataset.write(
        taken,
        examples,
        f"{kind} for training a critic that judges whether a response meets each constraint of "
        "a checklist",
        lambda: sections(examples, summaries),
        pairs=examples.pairs,
    )
    if file is None:
        first = f"; the first: {examples.problems[0]['problem']}" if examples.problems else ""
        balanced = any(key.startswith("left out to balance") for key in examples.counts)
        one = "; of each constraint type only one verdict occurs" if balanced and not first else ""
        hint = "--no-balance takes all verdicts, --cross adds others" if one else ""
        raise InputError(f"no row can be exported{first}{one}", where=str(data), hint=hint)
    if settings is not None and settings.prompt_file is not None:
        # A training reads it there, and the critic is asked with it.
        shutil.copyfile(settings.prompt_file, file.with_name(PROMPT_TEXT))
    return {
        "pairs": examples.pairs,
        "file": str(file),
        "counts": dict(examples.counts),
        "dropped": sum(n for key, n in examples.counts.items() if key.startswith("dropped:")),
        "problems": examples.problems,
    }


def _beside(data: Path) -> dict[str, Any] | None:
    """Read the summary that lies beside pairs, if any."""
    path = summary_path(data)
    return _json(path) if path.is_file() else None


def _json(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        value = json.loads(contents(Path(path)))
    except (OSError, ValueError) as error:
        raise InputError(f"not a summary: {error}", where=str(path)) from error
    if not isinstance(value, dict):
        raise InputError("not a summary: it holds no JSON object", where=str(path))
    return value
