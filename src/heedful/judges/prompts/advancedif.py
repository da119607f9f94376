"""AdvancedIF's reply: a JSON object with an answer to each rubric and one for the whole.

Source: AdvancedIF's README and judge (arXiv 2511.10507): ``{"rubrics_check": {"question_1":
"<free text>", …}, "SATISFIED_ALL_REQUIREMENTS": "YES"|"NO"}``. Models put it in code fences and
prose, which is read through.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Judgment, Message, Reply, Sample, Status
from heedful.core.text import amount
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts import template
from heedful.judges.prompts.base import (
    ReplyPart,
    answer,
    decided,
    judged,
    positions,
    refuse_undecided,
    undecided,
)
from heedful.judges.prompts.fence import NOTHING, QUOTED, Shown
from heedful.judges.prompts.structured import TwiceError, find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SYSTEM_TASK = "system_steerability"
"""The task whose samples are judged against their system prompt."""

PLACES = {
    "full_conversation": "the turns before the last one, each after its role and number",
    "user_prompt_last_turn": "the user's last turn",
    "response_text": "the response",
    "rubrics_text": "the rubrics, as a JSON list",
    "system_prompt": "the system prompt",
}
"""Places of the published prompts, filled without fences."""

_PARSER = 4
_KEY = re.compile(r"question_(\d{1,6})")
_WORD = re.compile(r"[^\W_]+")  # markdown's underscores don't belong to a word
_LAST_VERDICT = re.compile(r"\b(?:yes|no)[\W_]{0,9}$", re.IGNORECASE)
_DETERMINES = re.compile(
    r"no[ \t]+(?!(?:it|the|this|that|there|they|he|she|its|because|since|as|for|in|but)\b)[^\W_]",
    re.IGNORECASE,
)
"""The word no, of what follows it."""
_NEGATED = re.compile(
    r"(?:\b(?:not|cannot|never|nor|no|hardly|without)|n['’]t)(?:[^\w.,;:!?，。；：]+\w+){0,2}"
    r"[^\w.,;:!?，。；：]+$|\b(?:or|and)[\W_]+$|/[\W_]*$",
    re.IGNORECASE,
)
"""Words before a last yes or no that change its meaning."""
_NEAR = 60
"""Characters before a last word that are read for that."""
_VERDICTS = {"yes": Status.MET, "no": Status.UNMET}


def parse(text: str, constraints: Sequence[Constraint], shown: Shown = NOTHING) -> list[Judgment]:
    """Read a reply; each rubric stands for itself.

    A rubric's verdict is the word YES or NO that its answer begins or ends with. An answer with
    neither, or that begins with one and ends with the other, is ``unparsed``; so is a rubric
    without an answer. Answers that are not numbered within 1 to n leave open which is whose, and
    decide nothing; nor do answers that are all YES where the whole is NO.
    """
    try:
        replies = find(answer(text), _is_reply, once=True)
    except TwiceError as error:
        return undecided(constraints, str(error))
    parts: list[ReplyPart] = []
    whole = None
    for found in replies:
        answers = (_part(*each) for each in found["rubrics_check"].items())
        own = [part for part in answers if not shown.holds(part.words)]
        parts += own
        whole = _overall(found) if own else whole
    if not parts:
        said = any(found["rubrics_check"] for found in replies)
        missing = "no JSON object with rubrics_check in the reply"
        return undecided(constraints, QUOTED if said else missing)
    for part in parts:
        if positions([part], constraints) == [None]:
            rubrics = amount(len(constraints), "rubric")
            strange = part.name or f"question_{part.number}"
            return undecided(constraints, f"{strange} answers none of {rubrics}")
    judgments = judged(parts, constraints, shown, "question_{}")
    if whole == "NO" and all(judgment.status is Status.MET for judgment in judgments):
        return undecided(constraints, "every answer is YES, and SATISFIED_ALL_REQUIREMENTS is NO")
    return judgments


def reply(
    text: str | None, judgments: Sequence[Judgment], constraints: Sequence[Constraint]
) -> Reply:
    """Return a judge's reply in a form that reads as the verdicts that were taken from it.

    Several replies, to a checklist in parts or to repeated requests, number their rubrics each for
    itself; they become one reply. A text that reads as these verdicts stays as it is.
    """
    if text is None:
        return Reply(_answers(judgments))
    verdicts = [_decided(judgment) for judgment in judgments]
    read = [_decided(judgment) for judgment in parse(text, constraints)]
    replies = find(text, _is_reply)
    if read != verdicts and (replies or any(verdicts)):
        return Reply(_answers(judgments), _written(judgments))
    # Replies that read as these verdicts are all the same.
    said = replies[0]["rubrics_check"] if replies else {}
    numbered = bool(said) and all(map(_KEY.fullmatch, said))
    return Reply(
        {key: _text(value) for key, value in said.items()} if numbered else _answers(judgments),
        text,
    )


def declared(text: str, _constraints: Sequence[Constraint] = ()) -> dict[str, Any]:
    """Return what the judge said, as the published metrics take it."""
    replies = find(text, _is_reply)
    reply = replies[-1] if replies else {"rubrics_check": {}}
    overall = _overall(reply)
    return {
        "satisfied_all": overall if overall in ("YES", "NO") else None,
        "answers": {key: _text(value) for key, value in reply["rubrics_check"].items()},
    }


def _overall(reply: dict[str, Any]) -> str:
    """Return the answer for the whole, in capitals."""
    return str(reply.get("SATISFIED_ALL_REQUIREMENTS")).strip().upper()


def _decided(judgment: Judgment) -> Status | None:
    return judgment.status if judgment.status.decided else None


def _written(judgments: Sequence[Judgment]) -> str:
    """Write the reply that has the decided judgments; the whole is open while one may fail it."""
    reply: dict[str, Any] = {"rubrics_check": _answers(judgments)}
    statuses = {judgment.status for judgment in judgments}
    if statuses == {Status.MET} or Status.UNMET in statuses:
        reply["SATISFIED_ALL_REQUIREMENTS"] = "NO" if Status.UNMET in statuses else "YES"
    return json.dumps(reply, ensure_ascii=False, indent=1)


def _answers(judgments: Sequence[Judgment]) -> dict[str, str]:
    return {
        f"question_{number}": _answer(judgment)
        for number, judgment in enumerate(judgments, start=1)
        if judgment.status.decided
    }


def _is_reply(value: dict[str, Any]) -> bool:
    return isinstance(value.get("rubrics_check"), dict)


def _part(key: str, value: Any) -> ReplyPart:
    """Tell which rubric an answer is on: its key is the rubric's number, or its text."""
    match = _KEY.fullmatch(key)
    number, name = (int(match[1]), None) if match else (None, key)
    words = f"{key}: {_text(value)}"
    return ReplyPart(words, lambda _: _judgment(key, value), number, name)


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _judgment(key: str, value: Any) -> Judgment:
    words = _text(value)
    ends = _ends(words)
    if len(ends) == 1:
        return decided(ends.pop(), words, _LAST_VERDICT.sub("", words))
    reason = "answers both YES and NO" if ends else "neither begins nor ends with YES or NO"
    return Judgment(status=Status.UNPARSED, explanation=f"{key} {reason}: {words}")


def _ends(words: str) -> set[Status]:
    """Return the verdicts that an answer begins and ends with."""
    listed = list(_WORD.finditer(words))
    ends = set()
    if listed and not _DETERMINES.match(words, listed[0].start()):
        ends.add(_VERDICTS.get(listed[0][0].casefold()))
    if len(listed) > 1 and not _NEGATED.search(words[: listed[-1].start()][-_NEAR:]):
        ends.add(_VERDICTS.get(listed[-1][0].casefold()))
    return {status for status in ends if status}


def _answer(judgment: Judgment) -> str:
    """Write an answer: the explanation, and the verdict where it does not hold that already."""
    word = "YES" if judgment.status is Status.MET else "NO"
    words = judgment.explanation
    bare = words.rstrip()
    forms = (words, f"{bare} {word}".strip(), f"{bare} (verdict: {word})")
    read = (form for form in forms if _ends(form) == {judgment.status})
    return next(read, f"Reason: {bare} (verdict: {word})")


@dataclass(frozen=True, slots=True)
class AdvancedIF:
    """AdvancedIF's format: a JSON object with an answer to each rubric.

    System-steerability samples (the tag ``task`` says so) are judged against the system prompt,
    with a prompt of their own, which shows no turn but the system prompt and the user's last one.
    All others are judged against the conversation.

    A prompt text of the user's own may have the published prompts' places (:data:`PLACES`), which
    are filled as the published code fills them, without fences. ``text`` is for both tasks where
    ``system_text`` is missing.
    """

    text: str | None = None
    system_text: str | None = None

    name = "advancedif"
    parse = staticmethod(parse)

    @property
    def version(self) -> str:
        """Of both prompts and the parser."""
        return template.version(_PARSER, self._template(system=False), self._template(system=True))

    @property
    def response_format(self) -> dict[str, Any]:
        """A JSON object, as the published judge asks for."""
        return {"type": "json_object"}

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt."""
        system = sample.tags.get("task") == SYSTEM_TASK
        if system and not any(turn.role == "system" for turn in sample.conversation):
            raise RowError(
                f"the task is {SYSTEM_TASK}, and the conversation has no system prompt",
                hint="begin the conversation with a system message, or correct the task",
            )
        if system:
            sample = sample.model_copy(update={"conversation": _steered(sample.conversation)})
        checklist = layout.numbered(constraints, measurements, "en")
        text = self._template(system=system)
        published = _published(sample, constraints)
        return layout.messages(text, sample, checklist, "en", places=published)

    def write(
        self,
        judgments: Sequence[Judgment],
        constraints: Sequence[Constraint],  # noqa: ARG002 - only their number counts here
    ) -> str:
        """Write the reply that reads as these judgments.

        An answer holds its verdict, so an explanation without one comes back with it.
        """
        refuse_undecided(judgments)
        return _written(judgments)

    def _template(self, *, system: bool) -> str:
        own = (self.system_text if system else None) or self.text
        name = "advancedif.system.txt" if system else "advancedif.txt"
        return template.with_format(own or template.shipped(name), "advancedif.format.txt")


def own_texts(*files: Path | None) -> dict[str, str | None]:
    """Read prompt texts of the user's own, which may have the published prompts' places."""
    places = (*template.PLACES, *PLACES)
    needed = (("response", "response_text"), ("checklist", "rubrics_text"))
    texts = [None if file is None else template.custom(file, places, needed) for file in files]
    return dict(zip(("text", "system_text"), texts, strict=True))


def _steered(conversation: Sequence[Message]) -> tuple[Message, ...]:
    """Return what the published judge of system steerability sees of a conversation."""
    system = [turn for turn in conversation if turn.role == "system"][:1]
    last = [turn for turn in conversation if turn.role == "user"][-1:]
    return (*system, *last)


def _published(sample: Sample, constraints: Sequence[Constraint]) -> dict[str, str]:
    """Fill the places of the published prompts, as the published code does."""
    lines = []
    number = 1
    for turn in sample.conversation[:-1]:
        lines.append(f"{turn.role} [{number}]: {turn.content}")
        number += turn.role == "assistant"
    system = next((turn.content for turn in sample.conversation if turn.role == "system"), "")
    values = (
        "\n".join(lines),
        layout.last_user_turn(sample),
        sample.response or "",
        json.dumps([constraint.text for constraint in constraints], indent=4),
        system,
    )
    return dict(zip(PLACES, values, strict=True))
