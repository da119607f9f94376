"""InFoBench: instructions with decomposed questions, and the answers to them.

Records: ``id``, ``instruction``, ``input``, ``output`` and ``decomposed_questions`` (texts); judged
also ``eval``: ``true``, ``false`` or ``null`` for each question up to the first that wasn't
answered.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Constraint, Recording, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

_UNCLEAR = {"status": "unparsed", "explanation": "the reply was neither yes nor no"}


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    questions = fields.texts(record, "decomposed_questions")
    parts = [fields.optional_text(record, key) for key in ("instruction", "input")]
    return Sample(
        id=fields.row_id(record, number, "id"),
        conversation=fields.user("\n\n".join(part for part in parts if part) or None),
        checklist=tuple(Constraint(text=question) for question in questions),
        response=fields.response_text(record, "output"),
        tags=fields.tags("infobench", record, "category", "subset", "model"),
        recording=_recording(record.get("eval"), len(questions)),
    )


def _recording(answers: Any, count: int) -> Recording | None:
    if answers is None:
        return None
    if not isinstance(answers, list) or len(answers) > count:
        raise fields.wrong("eval", answers, "a list of at most one answer for each question")
    verdicts = [_UNCLEAR if answer is None else fields.verdict(answer) for answer in answers]
    recording = fields.recorded("infobench", [*verdicts, *[None] * (count - len(answers))])
    # The published rate has only the answers that are stored below the line.
    return recording and recording.model_copy(update={"declared": {"asked": len(answers)}})


FORMAT = Format("infobench", (("decomposed_questions",),), sample, keys=("id",))
