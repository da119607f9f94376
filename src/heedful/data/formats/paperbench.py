"""PaperBench: a paper's tree of requirements, and a judge's grades of its leaves.

Records: a rubric (``id``, ``requirements``, ``weight`` and ``sub_tasks``, which are such nodes; a
leaf has ``task_category`` and maybe ``finegrained_task_category``), or what the grader writes, with
the tree in ``graded_task_tree``, whose leaves also have ``score`` (0 or 1), ``valid_score`` and
``explanation``; that may be the field ``judge_output`` of a record with ``paper_id``.

Each leaf becomes a criterion. Its weight is its share of the paper: at every node on the way up,
its part of the weights there. So the sum of what is earned is the weighted mean up the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heedful.core.nouns import Constraint

_TREE = "graded_task_tree"
_WRAPPERS = ("judge_output", "grader_output")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one rubric, or one graded submission."""
    tree = _tree(record)
    if tree is None:
        raise fields.wrong("sub_tasks", record.get("sub_tasks"), "a tree of requirements")
    leaves = list(_leaves(tree, 1.0))
    paper = fields.row_id(record if "paper_id" in record else tree, number, "paper_id", "id")
    attempt = fields.row_id(record, number, "run_id") if "run_id" in record else f"{paper}#{number}"
    return Sample.model_validate(
        {
            "id": paper if tree is record else attempt,
            "instruction_id": paper,
            "checklist": [_criterion(leaf, share) for leaf, share in leaves],
            "tags": fields.tags("paperbench", record, "model", paper="paper_id"),
            "recording": fields.recorded("paperbench", [_verdict(leaf) for leaf, _ in leaves]),
        }
    )


def _tree(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the root of the tree in a record, which may be the root itself."""
    judged = [record.get(name) for name in _WRAPPERS]
    for holder in (record, *(each for each in judged if isinstance(each, dict))):
        if isinstance(holder.get(_TREE), dict):
            found: Mapping[str, Any] = holder[_TREE]
            return found
    return record if "sub_tasks" in record and "requirements" in record else None


def _leaves(node: Mapping[str, Any], share: float) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield the leaves below a node, in order, each with its share of the paper."""
    if not node.get("sub_tasks"):
        yield node, share
        return
    children = fields.objects(node, "sub_tasks")
    weights = [_weight(child, place) for place, child in enumerate(children)]
    total = sum(weights) or 1.0
    for child, weight in zip(children, weights, strict=True):
        yield from _leaves(child, share * weight / total)


def _weight(node: Mapping[str, Any], place: int) -> float:
    weight = fields.points(node, "weight", place)
    if weight is None or weight < 0:
        raise fields.wrong("weight", weight, "a number from 0")
    return weight


def _criterion(leaf: Mapping[str, Any], share: float) -> Constraint:
    return fields.criterion(
        fields.text(leaf, "requirements"),
        share,
        type=fields.optional_text(leaf, "task_category"),
        subtype=fields.optional_text(leaf, "finegrained_task_category"),
    )


def _verdict(leaf: Mapping[str, Any]) -> dict[str, Any] | None:
    score = leaf.get("score")
    if score is None:
        return None
    if leaf.get("valid_score") is False:  # the judge failed; the file then says 0
        why = fields.optional_text(leaf, "explanation") or "the grade isn't valid"
        return {"status": "failed", "explanation": why}
    if score not in (0, 1):  # a guess at a whole subtree, where the judge stopped above the leaves
        raise fields.wrong("score of a leaf", score, "0 or 1")
    return fields.verdict(score, leaf.get("explanation"))


FORMAT = Format(
    "paperbench",
    ((_TREE, *_WRAPPERS, "sub_tasks"),),
    sample,
    lambda record: _tree(record) is not None,
)
