"""Exporting critiques and pairs to a folder that training tools read as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError
from heedful.core.files import PROMPT_TEXT, contents
from heedful.critic.data.examples import Examples
from heedful.critic.data.funnel import stage_tables
from heedful.critic.data.pairs import summary_path
from heedful.critic.data.views import VIEWS
from heedful.data import training_sets as dataset
from heedful.reporting.table import Table, markdown_text

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from heedful.critic.data.options import ExportSettings


def sections(
    examples: Examples, pairs: Mapping[str, Any] | None, funnel: Mapping[str, Any] | None
) -> list[str]:
    """Write the card's sections, in Markdown."""
    parts = [_counts(examples).markdown()]
    if examples.pairs and pairs:
        made = VIEWS["pairs"](pairs)
        lines = [f"- {markdown_text(line.strip())}" for line in made.paragraphs]
        parts += ["## How the pairs were made", "\n".join(lines)]
        parts += [part.markdown() for part in made.parts if isinstance(part, Table)]
    if funnel:
        parts += [table.markdown() for table in stage_tables(funnel)]
    return [part.rstrip() for part in parts]


def _counts(examples: Examples) -> Table:
    counts = examples.counts
    rows = [("pairs" if examples.pairs else "critiques", counts["examples"])]
    for prefix, words in (
        ("judgments:", "judgments: {}"),
        ("segments:", "segments on which the pair disagrees, the chosen one: {}"),
        ("prompt:", "of the prompt {}"),
        ("of type ", "judgments of {}"),
        ("left out to balance:", "judgments left out to balance: {}"),
    ):
        keys = sorted(key for key in counts if key.startswith(prefix))
        rows += [(words.format(key.removeprefix(prefix)), counts[key]) for key in keys]
    left_out = sorted(examples.left_out.reasons.items())
    rows += [(f"rows left out: {reason}", count) for reason, count in left_out]
    return Table("Counts", ("what", "number"), [(name, f"{count:,}") for name, count in rows])


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
    """Write a folder with the examples, a dataset card, and the files that the tool needs."""
    examples = Examples(data, format=format, settings=settings)
    made, filtered = _beside(Path(data)), _funnel(funnel) if funnel else None
    taken = dataset.take(output, to, [Path(data)], name)
    kind = "Preference pairs of critiques" if examples.pairs else "Critiques"
    file = dataset.write(
        taken,
        examples,
        f"{kind} for training a critic that judges whether a response meets each constraint of "
        "a checklist",
        lambda: sections(examples, made, filtered),
        pairs=examples.pairs,
    )
    if file is None:
        first = examples.left_out.first()
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
        "left_out": dict(examples.left_out.reasons),
        "problems": examples.left_out.problems,
    }


def _beside(data: Path) -> dict[str, Any] | None:
    """Read the summary that lies beside pairs, if any."""
    path = summary_path(data)
    return _json(path) if path.is_file() else None


def _funnel(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a funnel, by itself or in the summary of its run."""
    summary = _json(path)
    funnel: dict[str, Any] = summary.get("funnel", summary)
    if "stages" not in funnel:
        raise InputError("not a summary of heedful critic filter", where=str(path))
    return funnel


def _json(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        value = json.loads(contents(Path(path)))
    except (OSError, ValueError) as error:
        raise InputError(f"not a summary: {error}", where=str(path)) from error
    if not isinstance(value, dict):
        raise InputError("not a summary: it holds no JSON object", where=str(path))
    return value
