"""Our prompts in JSON: a list of judgments, each with its explanation before its verdict.

A reply is ``{"judgments": [{"constraint": 1, "explanation": "…", "verdict": "met"}, …]}``, with
``"unmet"`` for what is not met. The prompt for rubrics also asks for ``evidence``, and a criterion
with a scale is answered by the label of a level.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.rubric import judgment_at
from heedful.judges.prompts.base import (
    BuiltIn,
    ReplyPart,
    answer,
    decided,
    judged,
    refuse_undecided,
    undecided,
)
from heedful.judges.prompts.fence import NOTHING, Shown
from heedful.judges.prompts.template import version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_NUMBER = re.compile(r"\s*[cC]?(\d{1,6})\.?\s*")
_WORDS = {
    "met": Status.MET,
    "unmet": Status.UNMET,
    "not met": Status.UNMET,
    "满足": Status.MET,
    "不满足": Status.UNMET,
}


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a reply; each constraint stands for itself.

    The object may stand in code fences, reasoning and prose; a bare list of judgments will do. A
    judgment may name its constraint by the text instead of the number. See
    :func:`~heedful.judges.prompts.base.judged` for several judgments on one.
    """
    reply = answer(text)
    try:
        replies = find(reply, _is_reply, once=True)
        lists = [found["judgments"] for found in replies]
        lists = lists or [find(reply, _is_entry, once=True)]
    except TwiceError as error:
        return undecided(constraints, str(error))
    entries = [entry for each in lists for entry in each if isinstance(entry, dict)]
    if not entries:
        return undecided(constraints, "no JSON object with judgments in the reply")
    return judged(list(map(_part, entries)), constraints, shown, "judgment of constraint {}")


def _is_reply(value: dict[str, Any]) -> bool:
    return isinstance(value.get("judgments"), list)


def _is_entry(value: dict[str, Any]) -> bool:
    return "constraint" in value and "verdict" in value


def _part(entry: dict[str, Any]) -> ReplyPart:
    """Tell which constraint a judgment says it is on."""
    words = json.dumps(entry, ensure_ascii=False)
    of = entry.get("constraint")
    number, name = None, None
    if isinstance(of, str):
        match = _NUMBER.fullmatch(of)
        number, name = int(match[1]) if match else None, of
    elif isinstance(of, int) and not isinstance(of, bool):
        number = of
    return ReplyPart(words, partial(_judgment, entry), number, name)


def _judgment(entry: Mapping[str, Any], constraint: Constraint) -> Judgment:
    """Read one judgment; an answer that the criterion does not have decides nothing."""
    said = entry.get("verdict")
    word = _word(said)
    explanation, evidence = (_text(entry.get(name)) for name in ("explanation", "evidence"))
    judgment = None
    if constraint.scale is None:
        judgment = decided(_WORDS[word], explanation) if word in _WORDS else None
    else:
        labels = [level.label for level in constraint.scale.answers]
        same = [label for label in labels if label == said]
        same = same or [label for label in labels if _word(label) == word]
        if len(same) == 1:
            judgment = judgment_at(constraint.scale, same[0], explanation=explanation)
    if judgment is None:
        reason = f"the verdict is {str(said)[:40]!r}, not one of {_answers(constraint)}"
        return Judgment(status=Status.UNPARSED, explanation=reason)
    return judgment.model_copy(update={"evidence": evidence}) if evidence.strip() else judgment


def _word(said: Any) -> str:
    """Return an answer as a word; models write levels that are numbers as numbers."""
    if isinstance(said, int | float) and not isinstance(said, bool):
        return f"{said:g}"
    words = " ".join(said.casefold().split()) if isinstance(said, str) else ""
    return words.strip("*\"'` .") or words


def _text(said: Any) -> str:
    if said is None:
        return ""
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def _answers(constraint: Constraint) -> str:
    """List a criterion's answers, quoted, on one line."""
    labels = ["met", "unmet"]
    if constraint.scale is not None:
        labels = [level.label for level in constraint.scale.answers]
    return ", ".join(json.dumps(label, ensure_ascii=False) for label in labels)


_OBJECT = re.compile(r'\{\s*"')
_STARTS = 1000
"""Braces from which an object is tried; bounds the time that a hostile reply can take."""


class TwiceError(Exception):
    """A key of an object has two values; the message names it."""


def find(
    text: str, wanted: Callable[[dict[str, Any]], bool], *, once: bool = False
) -> list[dict[str, Any]]:
    """Find the objects that are wanted, wherever in a text they are; none within another.

    With ``once``, a key with two values is refused: JSON's last would win in silence.
    """
    # Models write line ends inside JSON strings, which only the lenient decoder takes.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once if once else None)
    objects = []
    at = 0
    for _ in range(_STARTS):
        match = _OBJECT.search(text, at)
        if match is None:
            break
        at = match.end()
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and wanted(value):
            objects.append(value)
            at = end
    return objects


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for key, value in pairs:
        if key in built and built[key] != value:
            raise TwiceError(f"{key} is answered twice")
        built[key] = value
    return built


@dataclass(frozen=True, slots=True)
class Structured(BuiltIn):
    """A JSON object; held to a schema, or only to being one, which more servers can do."""

    explain: bool = True
    schema: bool = True
    text: str | None = None

    name = "structured"
    parser = 5
    parse = staticmethod(parse)
    levels: ClassVar[bool] = False
    """Whether criteria with a scale can be asked."""

    shows_parts: ClassVar[bool] = True
    verdict_schema: ClassVar[Mapping[str, Any]] = {"type": "string", "enum": ["met", "unmet"]}

    @property
    def version(self) -> str:
        """Of the prompt, the schema and the parser."""
        return version(self.parser, self._template("en"), json.dumps(self.response_format))

    @property
    def response_format(self) -> dict[str, Any]:
        """The JSON schema, as a strict ``json_schema``, or ``json_object``."""
        if not self.schema:
            return {"type": "json_object"}
        items = {"type": "array", "items": _object(self._fields())}
        return _strict(_object({"judgments": items}))

    @property
    def format_of_one(self) -> dict[str, Any] | None:
        """The schema where one constraint is asked: its judgment, as a list may never end."""
        if not self.schema:
            return None
        return _strict(_object(self._fields() | {"constraint": {"type": "integer", "enum": [1]}}))

    def _fields(self) -> dict[str, Any]:
        """Return the schemas of a judgment's fields, in the order in which they are written."""
        fields: dict[str, Any] = {"constraint": {"type": "integer"}}
        if self.explain:
            if self.levels:
                fields["evidence"] = {"type": "string"}
            fields["explanation"] = {"type": "string"}
        return fields | {"verdict": dict(self.verdict_schema)}

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
            | {"verdict": judgment.level or judgment.status.value}
            for number, judgment in enumerate(judgments, start=1)
        ]
        return json.dumps({"judgments": entries}, ensure_ascii=False, indent=1)


class Criteria(Structured):
    """For rubrics: a criterion with a scale is answered by the label of one of its levels."""

    __slots__ = ()

    name = "criteria"
    levels: ClassVar[bool] = True
    verdict_schema: ClassVar[Mapping[str, Any]] = {"type": "string"}

    def _asked(self, constraint: Constraint) -> Constraint:
        text = f"{constraint.text}\nAnswers: {_answers(constraint)}"
        return constraint.model_copy(update={"text": text})


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    named = {"name": "critique", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    """Write the schema of an object with just these fields, as strict mode wants it."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
