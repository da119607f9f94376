"""ComplexBench: instructions with questions that depend on each other, and verdicts on them.

Records: ``main_id``, ``group``, ``instruction`` (and ``instruction_en``), ``category``,
``scoring_questions`` (``point_id``, ``question``, ``question_en``, ``rule``,
``constraint_dimensions``, ``composition_types``, ``dep``); with ``generated`` or ``output``, and in
final results ``point_judges``, before any dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Message, Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint

_GROUPS = {
    "Lexical": ("Word Matching", "Keywords"),
    "Structure": (
        *("JSON Format", "Markdown Format", "Bullets Format", "Length"),
        *("Start with", "End with", "Punctuation", "Template"),
    ),
    "Semantic": ("Language Style", "Personalization", "Topic", "Sentiment"),
    "Utility": ("Helpfulness", "Target Language", "Supportiveness", "Consistency", "Factuality"),
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names}


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    listed = criteria.objects(record, "scoring_questions")
    numbers = {str(item.get("point_id", at)): at for at, item in enumerate(listed, start=1)}
    verdicts = record.get("point_judges")
    if verdicts is not None and (not isinstance(verdicts, list) or len(verdicts) != len(listed)):
        raise RowError(f"point_judges is {shown(verdicts)}; give one for each scoring question")
    category = optional_text(record, "category")
    tags = criteria.tags("complexbench", record, "task_types", "model", "group", "idx_in_group")
    nested = criteria.texts(record.get("composition_types"))
    if nested:
        tags["composition_types"] = "_".join(sorted(nested))
    if category:
        tags |= {"category": category, "task": category.partition("_")[0]}
    instruction = optional_text(record, "instruction") or text(record, "instruction_en")
    return Sample(
        id=row_id(record, number, "main_id", "id"),
        conversation=(Message(role="user", content=instruction),),
        checklist=tuple(_criterion(item, numbers) for item in listed),
        response=_response(record),
        tags=tags,
        recording=criteria.recorded("complexbench", [*map(criteria.verdict, verdicts or ())]),
    )


def _response(record: Mapping[str, Any]) -> str | None:
    keys = (key for key in ("generated", "output", "response") if record.get(key) is not None)
    return response_text(record, next(keys, "response"))


def _criterion(item: Mapping[str, Any], numbers: Mapping[str, int]) -> Constraint:
    parents = item.get("dep") or []
    if not isinstance(parents, list) or not all(str(parent) in numbers for parent in parents):
        raise RowError(f"dep is {shown(parents)}, which names no scoring question")
    dimensions, compositions = item.get("constraint_dimensions"), item.get("composition_types")
    return criteria.criterion(
        optional_text(item, "question") or text(item, "question_en"),
        type=_first(dimensions),
        subtype=_first(compositions),
        rule=item.get("rule"),
        tags=_tags(dimensions, compositions) or None,
        depends_on=tuple(numbers[str(parent)] for parent in parents) or None,
    )


def _tags(dimensions: Any, compositions: Any) -> list[str]:
    """Tag a question with each of its dimensions, which breakdowns count it in."""
    named = criteria.texts(dimensions)
    return [
        *(f"dimension:{name}" for name in named),
        *(f"dimension group:{_GROUP_OF.get(name, 'Others')}" for name in named),
        *(f"composition:{name}" for name in criteria.texts(compositions)),
    ]


def _first(names: Sequence[Any] | Any) -> str | None:
    named = names[0] if isinstance(names, list) and names else names
    return named if isinstance(named, str) else None


FORMAT = Format(
    "complexbench",
    (("scoring_questions",), ("instruction", "instruction_en")),
    lambda record: "scoring_questions" in record,
    sample,
    keys=("main_id",),
)
