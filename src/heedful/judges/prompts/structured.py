"""Our prompt in JSON: a list of judgments, each with its explanation before its verdict.

A reply is ``{"judgments": [{"constraint": 1, "explanation": "…", "verdict": "met"}, …]}``, with
``"unmet"`` for what is not met.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from heedful.core.nouns import Constraint, Judgment, Message, Sample, Status
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts import objects
from heedful.judges.prompts.base import (
    VERDICT_LIKE,
    Claim,
    answer,
    decided,
    judged,
    refuse_undecided,
    undecided,
)
from heedful.judges.prompts.template import shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PARSER = 3

_STATES = re.compile(
    rf"{objects.key('judgments?|verdicts?|results?|status|(?:un|not )?met|c[0-9]+')}"
    r"|[\"'“”‘’`](?:unmet|not met|met|不满足|满足)[\"'“”‘’`]"
    rf"|{VERDICT_LIKE}",
    re.IGNORECASE | re.MULTILINE,
)
"""A part of a reply, also where it is not JSON, or plain text."""
_NUMBER = re.compile(r"\s*[cC]?(\d{1,6})\.?\s*")
_WORDS = {
    "met": Status.MET,
    "unmet": Status.UNMET,
    "not met": Status.UNMET,
    "满足": Status.MET,
    "不满足": Status.UNMET,
}


@dataclass(frozen=True, slots=True)
class Structured:
    """A JSON object.

    Attributes:
        explain: ask for an explanation before each verdict; without, for verdicts only.
        schema: hold the model to a JSON schema; without, only to a JSON object, which more
            servers can do.
        text: a prompt text of the user's own.
    """

    explain: bool = True
    schema: bool = True
    text: str | None = None

    name = "structured"
    levels: ClassVar[bool] = False
    shows_parts: ClassVar[bool] = True
    verdict_schema: ClassVar[Mapping[str, Any]] = {"type": "string", "enum": ["met", "unmet"]}

    @property
    def version(self) -> str:
        """Of the prompt, the schema and the parser."""
        return version(_PARSER, self._template(), json.dumps(self.response_format))

    @property
    def response_format(self) -> dict[str, Any]:
        """The JSON schema, as a strict ``json_schema``, or ``json_object``."""
        if not self.schema:
            return {"type": "json_object"}
        fields: dict[str, Any] = {"constraint": {"type": "integer"}}
        if self.explain:
            if self.levels:
                fields["evidence"] = {"type": "string"}
            fields["explanation"] = {"type": "string"}
        fields["verdict"] = dict(self.verdict_schema)
        items = {"type": "array", "items": _object(fields)}
        schema = _object({"judgments": items})
        return {
            "type": "json_schema",
            "json_schema": {"name": "critique", "strict": True, "schema": schema},
        }

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt; see :class:`heedful.judges.prompts.base.JudgePrompt`."""
        checklist = layout.numbered(constraints, measurements, "en")
        return layout.messages(self._template(), sample, checklist, "en")

    def parse(self, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
        """Read a reply; see :func:`parse`."""
        return parse(text, constraints)

    def write(
        self,
        judgments: Sequence[Judgment],
        constraints: Sequence[Constraint],  # noqa: ARG002 - only their number counts here
    ) -> str:
        """Write the reply that reads as these judgments."""
        refuse_undecided(judgments)
        entries = [
            {"constraint": number}
            | ({"explanation": judgment.explanation} if self.explain else {})
            | {"verdict": judgment.status.value}
            for number, judgment in enumerate(judgments, start=1)
        ]
        return json.dumps({"judgments": entries}, ensure_ascii=False, indent=1)

    def _template(self) -> str:
        form = f"structured.{'explain' if self.explain else 'verdicts'}.txt"
        return with_format(self.text or shipped("structured.txt"), form)


def parse(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a reply; each constraint stands for itself.

    The object may stand in code fences, reasoning and prose; a bare list of judgments will do. A
    judgment may name its constraint by the text instead of the number. A constraint with two
    judgments has no verdict; nor has any if the reply holds two different objects.
    """
    entries = find_entries(text)
    if isinstance(entries, str):
        return undecided(constraints, entries)
    claims = [claim(entry.get("constraint")) for entry in entries]
    name = "judgment of constraint {}"
    return judged(claims, constraints, lambda place: _judgment(entries[place]), name)


def find_entries(text: str) -> list[dict[str, Any]] | str:
    """Find the judgments in a reply, as they are; a text is the reason why there are none."""
    reply = answer(text, _STATES.search)
    try:
        replies = objects.find(reply, _is_reply, _STATES)
        entries = replies[0]["judgments"] if replies else objects.find(reply, _is_entry, _STATES)
    except objects.UnclearError as error:
        return str(error)
    if any(other != replies[0] for other in replies):
        return f"{len(replies)} different objects in the reply"
    entries = [entry for entry in entries if isinstance(entry, dict)]
    return entries or "no JSON object with judgments in the reply"


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    """Write the schema of an object with just these fields, as strict mode wants it."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def _is_reply(value: dict[str, Any]) -> bool:
    return isinstance(value.get("judgments"), list)


def _is_entry(value: dict[str, Any]) -> bool:
    return "constraint" in value and "verdict" in value


def claim(constraint: Any) -> Claim:
    """Tell which constraint a judgment says it is on."""
    if isinstance(constraint, int) and not isinstance(constraint, bool):
        return Claim(constraint)
    if not isinstance(constraint, str):
        return Claim(None)
    match = _NUMBER.fullmatch(constraint)
    return Claim(int(match[1]) if match else None, constraint)


def _judgment(entry: dict[str, Any]) -> Judgment:
    verdict = entry.get("verdict")
    word = " ".join(verdict.split()).casefold() if isinstance(verdict, str) else None
    if word not in _WORDS:
        reason = f"the verdict is {str(verdict)[:40]!r}, not met or unmet"
        return Judgment(status=Status.UNPARSED, explanation=reason)
    explanation = entry.get("explanation", "")
    if not isinstance(explanation, str):
        explanation = json.dumps(explanation, ensure_ascii=False)
    return decided(_WORDS[word], explanation)
