"""InFoBench: instructions with decomposed questions, and the answers to them.

Records: ``id``, ``instruction``, ``input``, ``output`` and ``decomposed_questions`` (texts); judged
also ``eval``: ``true``, ``false`` or ``null`` for each question up to the first that wasn't
answered.
"""

from __future__ import annotations

from typing import Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Message, Recording, Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id
from heedful.data.formats.files import shown


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    questions = record.get("decomposed_questions")
    if not isinstance(questions, list) or not all(isinstance(each, str) for each in questions):
        raise RowError(f"decomposed_questions is {shown(questions)}, not a list of texts")
    parts = [optional_text(record, key) for key in ("instruction", "input")]
    words = "\n\n".join(part for part in parts if part)
    return Sample(
        id=row_id(record, number, "id"),
        conversation=(Message(role="user", content=words),) if words else (),
        checklist=tuple(Constraint(text=question) for question in questions),
        response=response_text(record, "output") or response_text(record),
        tags=criteria.tags("infobench", record, "category", "subset", "model"),
        recording=_recording(record.get("eval"), len(questions)),
    )


def _recording(answers: Any, count: int) -> Recording | None:
    if answers is None:
        return None
    if not isinstance(answers, list) or len(answers) > count:
        raise RowError(f"eval is {shown(answers)}; give at most one answer for each question")
    unclear = {"status": "unparsed", "explanation": "the reply was neither yes nor no"}
    verdicts = [unclear if answer is None else criteria.verdict(answer) for answer in answers]
    recording = criteria.recorded("infobench", [*verdicts, *[None] * (count - len(answers))])
    # The published rate has only the answers that are stored below the line.
    return recording and recording.model_copy(update={"declared": {"asked": len(answers)}})


FORMAT = Format(
    "infobench",
    (("decomposed_questions",),),
    lambda record: "decomposed_questions" in record,
    sample,
    keys=("id",),
)
