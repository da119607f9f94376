"""RIFL's two criteria against reward hacking: no self-evaluation, and nothing cut off.

RIFL (arXiv 2511.10507) found that a policy learns to praise itself and to stop early, and adds two
criteria to every checklist. Code sees the plain cases of both; a judge is needed for the rest.
Code fires only where it is sure: what it finds nothing against may still be either.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.judges.prompts import block_layout as layout
from heedful.models.base import is_cut_off
from heedful.rewards.gates import normalised, quoted_match

if TYPE_CHECKING:
    from heedful.core.nouns import Sample

__all__ = ["violations"]

Guards = Literal["off", "code", "judge"]
"""``code``: code alone decides. ``judge``: the judge also decides where code finds nothing."""

CODE = "guards"
"""How judgments name the code that decided here."""

_CRITERIA = {
    "en": (
        (
            "The response only answers: it holds no evaluation of itself, such as a claim or a "
            "list that says that it meets the requirements, and no verdicts."
        ),
        "The response is complete: it is not cut off and does not stop before it is finished.",
    ),
    "zh": (
        "回复只作答：其中没有对自身的评价，例如声称或逐条列出自己满足了要求，也没有判定结论。",
        "回复是完整的：没有被截断，也没有在完成之前停止。",
    ),
}

_OPEN_END = (*",，、;；(（[【{「『“‘—–", " -", " and", " or", " the", " a", " of", " to")
"""Endings of a text that breaks off."""

_BARE_MARK = re.compile(r"(?:[-*•+]|\d{1,3}[.)、])")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)）]*(?:\s+|(?<=[。！？]))")
_WORD_END = re.compile(r"[^\W\d_]$")

_WORDS_OF_A_STUMP = 4
"""A last sentence with fewer words may be a signature or a name."""

_WORDS_OF_A_SENTENCE = 3
"""A text with fewer words before a full stop may be the number of an item, or an initial."""


def criteria(sample: Sample) -> tuple[Constraint, Constraint]:
    """Return the two criteria as constraints, in the language of the checklist."""
    words = "\n".join(constraint.text for constraint in sample.checklist)
    texts = _CRITERIA["zh" if layout.language_of(words) == "zh" else "en"]
    return Constraint(text=texts[0], type="guard"), Constraint(text=texts[1], type="guard")


def violations(sample: Sample) -> tuple[Judgment | None, Judgment | None]:
    """Judge both criteria by code: ``unmet`` where it is sure, else ``None``.

    A sample's field ``completion``, as ``heedful respond`` writes it, says whether the model's
    answer ended at the limit of tokens.
    """
    text = normalised(sample.response or "")
    graded = quoted_match("self_grading", text)
    return (
        _unmet(graded and f"the response grades itself: {graded}"),
        _unmet(_cut_off(sample, text)),
    )


def _unmet(explanation: str | None) -> Judgment | None:
    return (
        None
        if explanation is None
        else Judgment(status=Status.UNMET, explanation=explanation, judge=CODE)
    )


def _cut_off(sample: Sample, text: str) -> str | None:
    completion = (sample.model_extra or {}).get("completion")
    if isinstance(completion, dict) and is_cut_off(completion.get("finish_reason")):
        return "the model reached its limit of tokens"
    body = text.rstrip()
    if not body:
        return "the response is empty"
    last = body.rsplit("\n", 1)[-1].strip()
    if len(_FENCE.findall(body)) % 2 and not _FENCE.match(last):
        return "a block of code is opened and not closed"
    if _BARE_MARK.fullmatch(last) and "\n" in body:
        return f"the response ends on an empty item, {last!r}"
    if body.endswith(_OPEN_END):
        return f"the response ends on {body[-20:]!r}"
    return _stump(last)


def _stump(line: str) -> str | None:
    """Find a last sentence without an end, in a line whose earlier sentences have one."""
    *before, rest = _SENTENCE.split(line)
    if not before or not _WORD_END.search(rest) or rest[0] in "0123456789-–—" or "#" in rest:
        return None
    if _words(before[-1]) < _WORDS_OF_A_SENTENCE or _words(rest) < _WORDS_OF_A_STUMP:
        return None
    return f"the response ends within a sentence: {rest[-40:]!r}"


def _words(text: str) -> int:
    """Count words, roughly: of a text that is not in Latin letters two characters are one."""
    return len(text.split()) if text.isascii() else len(text) // 2
