"""ComplexBench: instructions with questions that depend on each other, and verdicts on them.

Records: ``main_id``, ``group``, ``instruction`` (and ``instruction_en``), ``category``,
``scoring_questions`` (``point_id``, ``question``, ``question_en``, ``rule``,
``constraint_dimensions``, ``composition_types``, ``dep``); with ``generated`` or ``output``, and in
final results ``point_judges``, before any dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    listed = fields.objects(record, "scoring_questions")
    numbers = {str(item.get("point_id", at)): at for at, item in enumerate(listed, start=1)}
    verdicts = record.get("point_judges")
    if verdicts is not None and (not isinstance(verdicts, list) or len(verdicts) != len(listed)):
        raise fields.wrong("point_judges", verdicts, "a list of one for each scoring question")
    tags = fields.tags("complexbench", record, "task_types", "model", "group", "idx_in_group")
    nested = fields.only_texts(record.get("composition_types"))
    if nested:
        tags["composition_types"] = "_".join(sorted(nested))
    category = fields.optional_text(record, "category")
    if category:
        tags |= {"category": category, "task": category.partition("_")[0]}
    return Sample(
        id=fields.row_id(record, number, "main_id", "id"),
        conversation=fields.user(_in_either_language(record, "instruction")),
        checklist=tuple(_criterion(item, numbers) for item in listed),
        response=fields.response_text(record, "generated", "output"),
        tags=tags,
        recording=fields.recorded("complexbench", [*map(fields.verdict, verdicts or ())]),
    )


def _in_either_language(record: Mapping[str, Any], key: str) -> str:
    return fields.optional_text(record, key) or fields.text(record, f"{key}_en")


def _criterion(item: Mapping[str, Any], numbers: Mapping[str, int]) -> Constraint:
    parents = item.get("dep") or []
    if not isinstance(parents, list) or not all(str(parent) in numbers for parent in parents):
        raise fields.wrong("dep", parents, "a list of scoring questions")
    dimensions, compositions = item.get("constraint_dimensions"), item.get("composition_types")
    return fields.criterion(
        _in_either_language(item, "question"),
        type=fields.first_text(dimensions),
        subtype=fields.first_text(compositions),
        rule=item.get("rule"),
        tags=_tags(dimensions, compositions) or None,
        depends_on=tuple(numbers[str(parent)] for parent in parents) or None,
    )


def _tags(dimensions: Any, compositions: Any) -> list[str]:
    """Tag a question with each of its dimensions, which breakdowns count it in."""
    named = fields.only_texts(dimensions)
    return [
        *(f"dimension:{name}" for name in named),
        *(f"dimension group:{_GROUP_OF.get(name, 'Others')}" for name in named),
        *(f"composition:{name}" for name in fields.only_texts(compositions)),
    ]


FORMAT = Format(
    "complexbench",
    (("scoring_questions",), ("instruction", "instruction_en")),
    sample,
    keys=("main_id",),
)
