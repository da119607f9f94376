"""The nouns: the data types that all parts of the package share.

All are immutable pydantic models. Fields that a noun does not know are kept, not dropped, so that
what a user wrote beside the known fields is still there after a round trip.

Files are read with ``model_validate``, which keeps every such field whatever its name. In Python
code a keyword that looks like a misspelled field is an error instead: nobody would notice that
``Sample(reponse=...)`` has no response.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - pydantic reads annotations at run time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from heedful.core.errors import UsageError
from heedful.core.noun import Noun, refuse_misspelled, trusted
from heedful.core.scale import Scale, labels_by_level
from heedful.core.turns import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Check",
    "Constraint",
    "Critique",
    "Expense",
    "Judgment",
    "Message",
    "Recording",
    "Reply",
    "Sample",
    "Scoring",
    "Status",
]

Scoring = Literal["strict", "faithful"]
"""``strict``: what the number should mean. ``faithful``: what the published code computes."""

Priority = Literal["primary", "secondary"]


class Status(StrEnum):
    """The status of a verdict. Only ``met`` and ``unmet`` are decided."""

    MET = "met"
    UNMET = "unmet"
    UNPARSED = "unparsed"
    """The judge answered, and the answer holds no single verdict for this constraint."""
    FAILED = "failed"
    """No answer: the transport, the provider or the row itself failed."""
    UNSUPPORTED = "unsupported"
    """No verifier knows this constraint."""
    NOT_APPLICABLE = "not_applicable"
    """The judge says that the constraint does not apply here: it is in no rate and no coverage."""

    decided: bool
    """Whether this is a verdict; what is not decided is never met, unmet or 0.5."""

    settled: bool
    """Whether there is nothing left to ask: decided, or not applicable."""

    def __init__(self, value: str) -> None:
        # Not properties: they are read for every verdict, and enums look members up slowly.
        self.decided = value in {"met", "unmet"}
        self.settled = self.decided or value == "not_applicable"


_SPELLINGS = {
    "messages": "conversation",
    "prompt": "conversation",
    "instruction": "conversation",
    "constraints": "checklist",
}
"""Keywords of a sample that stand for a field, as in heedful's own format."""

_SYSTEM = ("system", "system_prompt")
"""Keywords that would leave the system prompt out of the conversation."""


class Check(Noun):
    """A verifier's id and its arguments, e.g. ``length_constraints:number_words``."""

    other_names: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("arguments", "kwargs", "parameters", "params"), "args"
    )

    id: str
    args: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def _spelled(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Refuse arguments beside ``args``: the check would ignore them."""
        refuse_misspelled(cls, fields)
        others = {name: value for name, value in fields.items() if name not in ("id", "args")}
        if others:
            what = f"Check has no field {next(iter(others))!r}"
            raise UsageError(what, hint=f"did you mean args={others!r:.200}?")
        return fields


class Constraint(Noun):
    """One requirement of an instruction, or one criterion of a rubric.

    Attributes:
        text: what is asked for; of a criterion with a negative weight, what must not be there.
        type: a key of :mod:`heedful.core.taxonomy` where it knows it, else the data's word.
        subtype: likewise.
        priority: CFBench's.
        check: how code decides it; in Python code a verifier's id may stand for it.
        weight: points in a weighted score; ``None`` is 1. Negative points are for mistakes: such a
            criterion is *met* where the response makes the mistake.
        gate: must be met (with a negative weight: must not); else the response's score is 0.
        scale: the levels, where it is more than met or unmet.
        depends_on: numbers of other constraints of the checklist, from 1. Unless all of these are
            met, the constraint isn't asked.
        source_span: the words of the instruction that it comes from.
    """

    if TYPE_CHECKING:

        def __init__(  # noqa: PLR0913 - the fields
            self,
            *,
            text: str,
            type: str | None = None,  # noqa: A002 - the field's name
            subtype: str | None = None,
            priority: Priority | None = None,
            check: Check | str | Mapping[str, Any] | None = None,
            weight: float | None = None,
            gate: bool = False,
            scale: Scale | Mapping[str, Any] | None = None,
            depends_on: Sequence[int] = (),
            source_span: str | None = None,
            **extra: Any,
        ) -> None: ...

    text: str
    type: str | None = None
    subtype: str | None = None
    priority: Priority | None = None
    check: Check | None = None
    weight: float | None = Field(default=None, allow_inf_nan=False)
    gate: bool = False
    scale: Scale | None = None
    depends_on: tuple[int, ...] = ()
    source_span: str | None = None

    @property
    def is_penalty(self) -> bool:
        """Whether it describes a mistake: something that must not be there."""
        return self.weight is not None and self.weight < 0

    @classmethod
    def _lenient(cls, fields: dict[str, Any]) -> dict[str, Any]:
        check = fields.get("check")
        return fields | {"check": Check(id=check)} if isinstance(check, str) else fields


class Recording(Noun):
    """Judge's reply that a file already holds.

    Attributes:
        prompt: the name of the prompt whose parser reads it (``cfbench``, ``if_critic``, …).
        text: the judge's reply, word for word.
        others: further replies on the same response (IF-Critic's sampled critiques).
        verdicts: verdicts that the file holds as data rather than as text, in checklist order.
        declared: what the judge or the published code said of the row as a whole.
    """

    prompt: str
    text: str | None = None
    others: tuple[str, ...] = ()
    verdicts: tuple[dict[str, Any], ...] | None = None
    declared: dict[str, Any] = Field(default_factory=dict)


class Sample(Noun):
    """One response to judge: the conversation, its checklist, the response.

    Attributes:
        id: unique in its data; a run names samples without one after their places, ``row-1``.
        conversation: system, user and assistant turns; it ends on the turn to answer.
        checklist: the constraints, in order.
        response: the text to judge; ``None`` where the file has none (yet).
        reasoning: what the model thought before it, which isn't judged.
        tool_calls: the calls of tools that the response makes; others are in the conversation.
        reference: a reference answer, where the benchmark has one.
        tags: what breakdowns go by (benchmark, task, split, model, domain, …).
        labels: known verdicts, in checklist order (``True`` met, ``None`` unknown). In Python code
            and files a label may be a level, or ``not_applicable``, which the extra field
            ``label_levels`` then holds.
        recording: a judge's reply that the file already holds.
        source: fields of a foreign record that have no place above; a format that writes back
            keeps the whole record here.

    In Python code ``prompt`` or ``instruction`` may stand for a conversation of one user turn,
    ``messages`` for ``conversation`` and ``constraints`` for ``checklist``, and a constraint may be
    its text, as in files:

    >>> sample = Sample(prompt="Greet.", checklist=["It is polite."])
    >>> sample.conversation
    (Message(role='user', content='Greet.', tool_calls=(), images=()),)
    >>> sample.checklist[0].text
    'It is polite.'
    """

    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("input", "query", "question"), "prompt"),
        **dict.fromkeys(("criteria", "requirements", "rubric", "rubrics"), "checklist"),
        **dict.fromkeys(("answer", "output", "reply"), "response"),
    }
    accepted_names: ClassVar[Mapping[str, str]] = _SPELLINGS

    if TYPE_CHECKING:

        def __init__(  # noqa: PLR0913 - the fields, and their other spellings
            self,
            *,
            id: str = "",  # noqa: A002 - the field's name
            conversation: Sequence[Message | Mapping[str, Any]] = (),
            checklist: Sequence[Constraint | str | Mapping[str, Any]] = (),
            response: str | None = None,
            reasoning: str | None = None,
            tool_calls: Sequence[ToolCall | Mapping[str, Any]] = (),
            reference: str | None = None,
            tags: Mapping[str, str | int | float | bool] = ...,
            labels: Sequence[bool | str | None] | None = None,
            recording: Recording | None = None,
            source: Mapping[str, Any] = ...,
            prompt: str | Sequence[Message | Mapping[str, Any]] | None = None,
            instruction: str | None = None,
            messages: Sequence[Message | Mapping[str, Any]] | None = None,
            constraints: Sequence[Constraint | str | Mapping[str, Any]] | None = None,
            **extra: Any,
        ) -> None: ...

    id: str = ""
    conversation: tuple[Message, ...] = ()
    checklist: tuple[Constraint, ...] = ()
    response: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    reference: str | None = None
    tags: dict[str, str | int | float | bool] = Field(default_factory=dict)
    labels: tuple[bool | None, ...] | None = None
    recording: Recording | None = None
    source: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def _spelled(cls, fields: dict[str, Any]) -> dict[str, Any]:
        for name in _SYSTEM:
            if isinstance(fields.get(name), str):
                what = f"Sample has no field {name!r}"
                hint = "begin the conversation with Message(role='system', content=…)"
                raise UsageError(what, hint=hint)
        for name, field in _SPELLINGS.items():
            value = fields.pop(name, None)
            if value is None:
                continue
            if field in fields:
                what = f"Sample got {name!r} and another {field}"
                raise UsageError(what, hint="give one of them")
            turn = field == "conversation" and isinstance(value, str)
            fields[field] = (Message(role="user", content=value),) if turn else value
        return fields

    @classmethod
    def _lenient(cls, fields: dict[str, Any]) -> dict[str, Any]:
        checklist = fields.get("checklist")
        if isinstance(checklist, str):
            raise UsageError("checklist is text", hint=f"give a list: [{checklist!r:.200}]")
        if isinstance(checklist, list | tuple):
            checklist = tuple(map(_constraint, checklist))
            fields = fields | {"checklist": checklist}
            given = fields.get("labels")
            if isinstance(given, list | tuple) and len(given) == len(checklist):
                try:
                    fields |= labels_by_level([each.scale for each in checklist], given)
                except ValueError as error:
                    raise UsageError(str(error)) from error
        if isinstance(fields.get("id"), int) and not isinstance(fields["id"], bool):
            fields = fields | {"id": str(fields["id"])}
        return fields


class Judgment(Noun):
    """A verdict on one constraint, and why.

    Attributes:
        explanation: what was found; for a verdict not decided, the reason.
        judge: who decided (``rules``, ``recorded:cfbench``, a model's name).
        confidence: 0 to 1, where the judge has one (the majority's share of a vote).
        loose: the verdict under IFEval's loose reading; only verifiers give one.
        votes: what each member of a panel said: ``judge`` and ``status``.
        level: the level's label, on a criterion with a scale.
        evidence: the words of the response that the verdict rests on.
    """

    status: Status
    explanation: str = ""
    judge: str = ""
    confidence: float | None = None
    loose: Status | None = None
    votes: tuple[dict[str, str], ...] | None = None
    level: str | None = None
    evidence: str | None = None

    other_names: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("rationale", "reason", "reasoning"), "explanation"
    )

    def fields(self) -> dict[str, Any]:
        """Return the fields that have values, the status as text."""
        said = {name: value for name, value in self.__dict__.items() if value is not None}
        said["status"] = self.status._value_  # as a member of an enum it takes ten times as long
        extra = self.__pydantic_extra__
        if extra:
            said |= {name: value for name, value in extra.items() if value is not None}
        return said


class Expense(Noun):
    """Usage of a model, in calls and tokens."""

    judge: str
    model: str = ""
    calls: int = 0
    reused: int = 0  # answers that the store already held
    reasks: int = 0  # repeated calls for what a reply had left out
    prompt_tokens: int = 0  # the cached ones included
    cached_tokens: int = 0
    completion_tokens: int = 0  # reasoning included


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's reply as a format writes it back: answers by its own keys, a text that reads so."""

    answers: Mapping[str, str]
    text: str | None = None
    prompt: str | None = None


class Critique(Noun):
    """The judgments on a whole checklist, in its order.

    Attributes:
        text: the judge's reply, word for word, where there is one.
        declared: what the judge said of the row as a whole, in its benchmark's own terms;
            faithful scoring reads it.
        proposals: by the text of a constraint, whether a check that a model proposed is in use.
        expenses: what the model calls cost.
    """

    judgments: tuple[Judgment, ...] = ()
    text: str | None = None
    declared: dict[str, Any] = Field(default_factory=dict)
    proposals: dict[str, bool] = Field(default_factory=dict)
    expenses: tuple[Expense, ...] = ()

    @classmethod
    def undecided(
        cls, constraints: Sequence[Constraint], status: Status, reason: str, judge: str = ""
    ) -> Critique:
        """Leave every constraint undecided for the same reason."""
        judgment = trusted(Judgment, {"status": status, "explanation": reason, "judge": judge})
        return trusted(cls, {"judgments": (judgment,) * len(constraints)})


def _constraint(item: Any) -> Any:
    """Make a constraint of text, or of fields."""
    if isinstance(item, str):
        return Constraint(text=item)
    return Constraint(**item) if isinstance(item, dict) else item
