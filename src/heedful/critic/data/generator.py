"""Data to train a checklist generator on: instructions, and the checklists that were made of them.

The rows come from any file with checklists: those that a critic's data is made from will do, so
that both come of one run.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import InputError
from heedful.core.outputs import atomically
from heedful.critic.data.left_out import LeftOut
from heedful.engine.inputs import items, open_data
from heedful.jobs.checklists import make
from heedful.jobs.rows import check_rows_output

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from heedful.core.nouns import Constraint, Sample
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.jobs.checklists.prompt import ChecklistPrompt


def checklist_data(
    data: Data,
    *,
    output: str | os.PathLike[str] | None = None,
    prompt: str = "plain",
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    task: str | None = None,
) -> dict[str, Any]:
    """Write each instruction once, with its checklist as a model is to write it.

    A row has ``id``, ``task`` and ``prompt_name``, ``prompt`` (that of ``heedful checklist``) and
    ``completion`` (the checklist), both as messages: TRL trains on them as they are. Instructions
    that come again, with another response, are left out. No model is called.
    """
    contract = make(prompt)
    source = open_data(data, format=format, task=task)
    if output is not None:
        check_rows_output(Path(output), source.files if source else ())
    counts: Counter[str] = Counter(written=0, repeated=0, conflicting=0)
    failed = LeftOut()
    seen: dict[bytes, bytes] = {}
    with nullcontext() if output is None else atomically(Path(output)) as file:
        for item in items(source or cast("InMemory", data)):
            sample, problem = item.value, item.problem
            if sample is not None and problem is None:
                problem = _problem(sample, contract)
            if sample is None or problem is not None:
                failed.add(item.line, item.id, problem or "not read")
                continue
            instruction = _digest(*(f"{turn.role}: {turn.content}" for turn in sample.conversation))
            checklist = _digest(*(constraint.text for constraint in sample.checklist))
            if instruction in seen:
                same = seen[instruction] == checklist
                counts["repeated" if same else "conflicting"] += 1
                continue
            seen[instruction] = checklist
            counts["written"] += 1
            if file is not None:
                file.write(json.dumps(_row(sample, contract), ensure_ascii=False) + "\n")
    return {"rows": {**counts, "failed": len(failed)}, "problems": failed.problems}


def _row(sample: Sample, prompt: ChecklistPrompt) -> dict[str, Any]:
    messages = [message.model_dump(exclude_defaults=True) for message in prompt.render(sample)]
    completion = [{"role": "assistant", "content": prompt.write(sample)}]
    key = (sample.model_extra or {}).get("instruction_id", sample.id)
    about = {"id": key, "task": "checklist", "prompt_name": prompt.name}
    return {**about, "prompt": messages, "completion": completion}


def _problem(sample: Sample, prompt: ChecklistPrompt) -> str | None:
    """Return why a row teaches nothing, if so."""
    if not sample.conversation:
        return "the row has no conversation (give it a prompt)"
    if not sample.checklist:
        return "the row has no checklist (make one with heedful checklist)"
    try:
        read = prompt.parse(prompt.write(sample))
    except InputError as error:
        return f"the checklist cannot be written so that it can be read: {error.what}"
    if _texts(read) != _texts(sample.checklist):
        return "the checklist cannot be written so that it can be read"
    return None


def _texts(constraints: Iterable[Constraint]) -> list[str]:
    return [constraint.text.strip() for constraint in constraints]


def _digest(*texts: str) -> bytes:
    digest = blake2b(digest_size=8)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d\0" % len(data) + data)
    return digest.digest()
