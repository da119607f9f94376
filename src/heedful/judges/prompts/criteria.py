"""Our prompt for rubrics, in JSON: each criterion is answered with one of its own answers.

A criterion with a scale is answered by the label of a level, any other with ``met`` or ``unmet``. A
reply is ``{"judgments": [{"constraint": 1, "evidence": "…", "explanation": "…", "verdict":
"…"}, …]}``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from heedful.core.nouns import Judgment, Status
from heedful.core.rubric import judgment_at
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import decided
from heedful.judges.prompts.quotation import NOTHING, Shown
from heedful.judges.prompts.structured import Structured, parse
from heedful.judges.prompts.template import shipped, with_format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Message, Sample

_WORDS = {"met": Status.MET, "unmet": Status.UNMET}


@dataclass(frozen=True, slots=True)
class Criteria(Structured):
    """A JSON object whose verdicts are the answers that each criterion allows."""

    name = "criteria"
    levels: ClassVar[bool] = True
    """Whether criteria with a scale can be asked."""

    verdict_schema: ClassVar[Mapping[str, Any]] = {"type": "string"}

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt; see :class:`heedful.judges.prompts.base.JudgePrompt`."""
        shown = [
            each.model_copy(update={"text": f"{each.text}\nAnswers: {_answers(each)}"})
            for each in constraints
        ]
        checklist = layout.numbered(shown, measurements, "en")
        return layout.messages(self._template(), sample, checklist, "en")

    def parse(
        self, text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING
    ) -> list[Judgment]:
        """Read a reply as :func:`heedful.judges.prompts.structured.parse` does, with levels."""
        return parse(text, constraints, shown, _judgment)

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
        """Write the reply that reads as these judgments."""
        reply = json.loads(Structured.write(self, judgments, constraints))
        for entry, judgment in zip(reply["judgments"], judgments, strict=True):
            if judgment.level is not None:
                entry["verdict"] = judgment.level
        return json.dumps(reply, ensure_ascii=False, indent=1)

    def _template(self) -> str:
        form = f"criteria.{'explain' if self.explain else 'verdicts'}.txt"
        return with_format(self.text or shipped("criteria.txt"), form)


def _answers(constraint: Constraint) -> str:
    """List a criterion's answers, quoted; each on the same line."""
    labels = list(_WORDS)
    if constraint.scale is not None:
        labels = [level.label for level in constraint.scale.answers]
    return ", ".join(json.dumps(label, ensure_ascii=False) for label in labels)


def _word(said: Any) -> str:
    """Return an answer as a word; models write levels that are numbers as numbers."""
    if isinstance(said, int | float) and not isinstance(said, bool):
        return f"{said:g}"
    words = " ".join(said.split()) if isinstance(said, str) else ""
    return words.strip("*\"'` .") or words


def _judgment(entry: Mapping[str, Any], constraint: Constraint) -> Judgment:
    """Read one judgment; an answer that the criterion does not have decides nothing."""
    said = entry.get("verdict")
    word = _word(said)
    texts = {name: entry.get(name, "") for name in ("explanation", "evidence")}
    explanation, evidence = (each if isinstance(each, str) else "" for each in texts.values())
    if constraint.scale is None:
        status = _WORDS.get(word.casefold())
        judgment = None if status is None else decided(status, explanation)
    else:
        labels = [level.label for level in constraint.scale.answers]
        same = [label for label in labels if label == said] or [
            label for label in labels if _word(label).casefold() == word.casefold()
        ]
        judgment = (
            judgment_at(constraint.scale, same[0], explanation=explanation)
            if len(same) == 1
            else None
        )
    if judgment is None:
        reason = f"the verdict is {str(said)[:40]!r}, not one of {_answers(constraint)}"
        return Judgment(status=Status.UNPARSED, explanation=reason)
    return judgment.model_copy(update={"evidence": evidence}) if evidence.strip() else judgment
