"""Critiques for tests of critique data, in IF-Critic's format and in ours."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from heedful.core.nouns import Constraint, Judgment, Message, Recording, Sample, Status
from heedful.judges import prompts
from jsonl import write_rows

TEXTS = ("Name three fruits.", "Use no commas.", "End with a question.")


def checklist(count: int = 3) -> tuple[Constraint, ...]:
    return tuple(Constraint(text=text) for text in TEXTS[:count])


def critique(verdicts: str, note: str = "", prompt: str = "if_critic") -> str:
    """Write a critique; ``verdicts`` has + for met and - for unmet, one for each constraint."""
    judgments = [
        Judgment(
            status=Status.MET if sign == "+" else Status.UNMET,
            explanation=f"I looked at constraint {number}{note}.",
        )
        for number, sign in enumerate(verdicts, start=1)
    ]
    return prompts.make(prompt).write(judgments, checklist(len(verdicts)))


def item(
    expert: str | None,
    *others: str,
    id: str = "1",  # noqa: A002 - the field's name
    prompt_name: str = "if_critic",
    prompt: str = "Name three fruits. Use no commas. End with a question.",
) -> Sample:
    return Sample(
        id=id,
        conversation=(Message(role="user", content=prompt),),
        checklist=checklist(),
        response="Apple and pear and plum?",
        recording=Recording(prompt=prompt_name, text=expert, others=others),
    )


def write(path: Path, samples: Iterable[Sample | dict[str, Any]]) -> Path:
    records = [
        each.model_dump(mode="json", exclude_defaults=True) if isinstance(each, Sample) else each
        for each in samples
    ]
    return write_rows(path, records)


def cut(text: str, spans: Sequence[Sequence[int]]) -> str:
    """Take spans out of a text."""
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
