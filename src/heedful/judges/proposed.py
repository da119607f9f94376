"""A judge by code whose checks a model proposes, once for each distinct text of a constraint."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, ModelError, UndecidedError, VerifierError
from heedful.core.nouns import Check, Critique, Expense, Judgment, Message, Status
from heedful.engine.call_cache import complete, expense
from heedful.engine.purpose import Purpose
from heedful.engine.runner import together
from heedful.judges.code import decided_by
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.structured import find
from heedful.judges.prompts.template import fill, shipped, version
from heedful.models.base import Sampling
from heedful.verify import Response, check, sentence_rules
from heedful.verify.base import arguments, describe
from heedful.verify.compiler import digest
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Sample
    from heedful.models.base import Completion, Model

_PARSER = 1
_TOKENS = 150
"""Tokens of a proposal with two short texts, roughly."""
_PROPOSALS = 2
"""Independent ones, which must be the same."""

PROPOSABLE = tuple(
    f"heedful:{name}"
    for name in """
    count contains contains_any excludes letters starts_with ends_with does_not_start_with
    does_not_end_with ends_with_emoji question equals headed table wrapped emphasis postscript json
    format language chinese_script case separated each_word at_end
    """.split()  # noqa: SIM905 - a table
)
"""Verifiers that decide only what every reading agrees on."""


class Refused(Exception):  # noqa: N818 - a result rather than a fault
    """No check comes of a text; says why."""


class Proposed:
    """Runs checks that a model proposes for texts that don't compile but name something countable.

    For each distinct text two independent proposals are requested. A check is used only where both
    are the same, each phrase in it is in the text, and it separates the pairs of a met and an unmet
    response that come with the proposals. What has no check is ``unsupported``, with the reason.
    """

    def __init__(self, model: Model, sampling: Sampling | None = None) -> None:
        self.model = model
        self.name = f"{model.name}/proposed"
        self.sampling = (sampling or Sampling()).model_copy(
            # Two answers at temperature 0 would be one.
            update={"temperature": 1.0, "response_format": {"type": "json_object"}}
        )
        self._checks: dict[str, Check | str] = {}

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompt, the sampling, and what code depends on."""
        return {
            "judge": self.name,
            "model": dict(self.model.config),
            "prompt": version(_PARSER, shipped("propose.txt", __package__), _listed()),
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
            "grammar": digest(),
            "sentences": sentence_rules(),
        }

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Request checks for the texts that need one, and run them on the response."""
        positions = range(len(sample.checklist)) if requested is None else requested
        constraints = [sample.checklist[position] for position in positions]
        if sample.response is None:
            reason = "the row has no response"
            return Critique.undecided(constraints, Status.FAILED, reason, self.name)
        response, expenses = Response(sample.response), list[Expense]()
        judgments = await together(self._judgment(each, response, expenses) for each in constraints)
        asked = [each.text for each in constraints if each.check is None]
        known = {text: self._checks.get(text) for text in asked}
        return Critique(
            judgments=tuple(judgments),
            proposals={text: isinstance(each, Check) for text, each in known.items() if each},
            expenses=tuple(expenses),
        )

    async def _judgment(
        self, constraint: Constraint, response: Response, expenses: list[Expense]
    ) -> Judgment:
        if constraint.check is not None:
            return self._undecided("the constraint has a check of its own")
        try:
            proposed = await self._check(constraint.text, expenses)
        except (Refused, ModelError) as error:
            return self._undecided(str(error))
        return decided_by(proposed, response, self.name)

    def _undecided(self, reason: str) -> Judgment:
        return Judgment(status=Status.UNSUPPORTED, explanation=reason, judge=self.name)

    async def _check(self, text: str, expenses: list[Expense]) -> Check:
        """Return the check that both proposals agree on; remember it, or why there is none."""
        if text not in self._checks:
            compiled = compile_constraint(text)
            if compiled.check is not None or not compiled.measures:
                raise Refused("no check is requested: nothing is countable, or it compiles")
            messages = _messages(text)
            calls = (self._call(messages, at, expenses) for at in range(_PROPOSALS))
            completions = []
            for reply in await together(calls):  # all are made, or counted, before one fails
                if isinstance(reply, ModelError):
                    raise reply
                completions.append(reply)
            try:
                self._checks[text] = _agreed(text, completions)
            except Refused as refusal:
                self._checks[text] = str(refusal)
        found = self._checks[text]
        if isinstance(found, str):
            raise Refused(found)
        return found

    async def _call(
        self, messages: Sequence[Message], at: int, expenses: list[Expense]
    ) -> Completion | ModelError:
        purpose = Purpose(self.name, tokens=_TOKENS)
        try:
            completion = await complete(
                self.model, messages, self.sampling, sample=at, purpose=purpose
            )
        except ModelError as error:
            return error
        expenses.append(expense(completion, purpose))
        return completion


def _messages(text: str) -> list[Message]:
    """Write the request, which depends on the text alone."""
    fence = Fence.around([text])
    places = {"checks": _listed(), "mark": fence.mark, "constraint": fence.wrap("CONSTRAINT", text)}
    prompt = fill(shipped("propose.txt", __package__), places)
    return [Message(role="user", content=prompt)]


def _agreed(text: str, completions: Sequence[Completion]) -> Check:
    """Return the check that all replies propose and that separates their pairs."""
    replies = [_read(completion) for completion in completions]
    checks = [_proposed(text, reply["check"]) for reply in replies]
    if any(each != checks[0] for each in checks):
        raise Refused(f"proposals differ: {' Or: '.join(map(describe, checks))}")
    for reply in replies:
        for key, meant in (("met", True), ("unmet", False)):
            example = reply.get(key)
            if not isinstance(example, str) or not example.strip():
                raise Refused(f"the proposal has no text that is {key}")
            try:
                finding = check(checks[0], Response(example))
            except UndecidedError as error:
                raise Refused(f"of its own example, {error.what}") from error
            if finding.met is not meant:
                raise Refused(f"an example meant to be {key} isn't: {finding.found}")
    return checks[0]


def _read(completion: Completion) -> dict[str, Any]:
    """Read the one object with a check in a reply."""
    found = find(answer(completion.text), lambda value: "check" in value)
    if completion.cut_off or not found or any(each != found[0] for each in found):
        raise Refused("the proposal can't be read")
    return found[0]


def _proposed(text: str, value: Any) -> Check:
    """Make the check of a proposal, if it may be proposed, fits, and quotes the text."""
    if value is None:
        raise Refused("the model proposes no check")
    args = value.get("args", {}) if isinstance(value, dict) else None
    # A schema may hold patterns that take forever.
    if not isinstance(args, dict) or value.get("id") not in PROPOSABLE or "schema" in args:
        raise Refused("the proposal isn't a check that may be proposed")
    given = Check(
        id=value["id"], args={key: each for key, each in args.items() if each is not None}
    )
    phrases = given.args.get("phrases", [])
    if not isinstance(phrases, list) or not all(
        str(each).lower() in text.lower() for each in phrases
    ):
        raise Refused("the proposal's phrases aren't the text's")
    try:
        describe(given)
        check(given, Response("."))
    except UndecidedError:
        pass
    except (InputError, VerifierError) as error:
        raise Refused(f"the proposal doesn't fit: {error.what}") from error
    return given


@cache
def _listed() -> str:
    """List the verifiers with their arguments."""
    return "\n".join(
        f"- {id_}({', '.join(f'{name}: {_kind(field)}' for name, field in fields.items())})"
        for id_ in PROPOSABLE
        for fields in [arguments(id_).get("properties", {})]
    )


def _kind(field: dict[str, Any]) -> str:
    """Name the type of an argument."""
    if "enum" in field:
        return "|".join(map(str, field["enum"]))
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"] if each.get("type") != "null")
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    return str(field.get("const", field.get("type", "any")))
