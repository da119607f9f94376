"""What tests of training share: a few rows to train on, and trainings of a few steps."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from critiques import write
from heedful import Constraint, Judgment, Message, Recording, Sample, Status
from heedful.critic.data.export import export
from heedful.critic.data.options import ExportSettings
from heedful.critic.data.pairs import Pairs
from heedful.judges import prompts

TEXTS = ("Name three fruits.", "Use no commas.")
PROMPT = "{{response}}\n{{checklist}}"
FEW = ["--batch-size", 2, "--gradient-accumulation", 1]
QUICK = [*FEW, "--learning-rate", 1e-3]
VERDICTS = ("+-", "-+", "++", "--")


def critique(verdicts: str, note: str = "", prompt: str = "if_critic") -> str:
    """Write a critique; ``verdicts`` has + for met and - for unmet."""
    judgments = [
        Judgment(
            status=Status.MET if sign == "+" else Status.UNMET,
            explanation=f"Seen {number}{note}: {'yes' if sign == '+' else 'it does not'}.",
        )
        for number, sign in enumerate(verdicts, start=1)
    ]
    return prompts.make(prompt).write(judgments, checklist())


def checklist() -> tuple[Constraint, ...]:
    return tuple(Constraint(text=text, type="content") for text in TEXTS)


def samples(
    verdicts: Sequence[str] = VERDICTS, others: Sequence[str] = (), prompt: str = "if_critic"
) -> list[Sample]:
    """Make samples with an expert's critique each, and sampled ones."""
    return [
        Sample(
            id=f"row-{number}",
            conversation=(Message(role="user", content=f"Task {number}."),),
            checklist=checklist(),
            response=f"Apple and pear {number}.",
            recording=Recording(
                prompt=prompt,
                text=critique(said, prompt=prompt),
                others=tuple(critique(other, " again", prompt) for other in others),
            ),
        )
        for number, said in enumerate(verdicts, start=1)
    ]


def exported(folder: Path, rows: Sequence[Sample], *, pairs: bool = False) -> Path:
    """Export samples, or pairs of them, for TRL, with a short prompt."""
    prompt = folder / "prompt.txt"
    prompt.write_text(PROMPT, encoding="utf-8")
    source = folder / ("pairs.jsonl" if pairs else "critiques.jsonl")
    if pairs:
        Pairs(rows, prompt_file=prompt).write(source)
    else:
        write(source, rows)
    output = folder / ("dpo" if pairs else "sft")
    export(source, output, settings=ExportSettings(prompt_file=prompt))
    return output


def own_text(data: Path) -> list[object]:
    """Name the text of an export's prompt, where it has one of its own."""
    prompt = data.parent / "prompt.txt"
    return ["--prompt-file", prompt] if prompt.exists() else []


def report(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return result


def losses(folder: Path) -> list[float]:
    return [step["loss"] for step in report(folder)["curve"]]
