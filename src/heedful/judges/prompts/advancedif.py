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
from heedful.core.nouns import Constraint, Judgment, Message, Sample, Status
from heedful.core.text import amount
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts import objects
from heedful.judges.prompts.base import (
    VERDICT_LIKE,
    Claim,
    answer,
    decided,
    judged,
    positions,
    refuse_undecided,
    undecided,
)
from heedful.judges.prompts.template import shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Sequence

SYSTEM_TASK = "system_steerability"
"""The task whose samples are judged against their system prompt."""

_PARSER = 3
_STATES = re.compile(
    objects.key(r"rubrics_check|question_\d+|SATISFIED_ALL_REQUIREMENTS")
    + r"|\b(?:question|rubric|answer|verdict|satisfied_all)[^\n]{0,30}?[^\w\n]{1,9}(?:yes|no)\b"
    + r"|^[^a-z\n]{0,9}(?:yes|no)[^a-z\n]{0,9}$|\b(?:c|q)\d{1,6}\W{1,9}(?:yes|no)\b|"
    + VERDICT_LIKE,
    re.IGNORECASE | re.MULTILINE,
)
"""A part of a reply, also where it is not JSON."""
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


@dataclass(frozen=True, slots=True)
class AdvancedIF:
    """AdvancedIF's format: a JSON object with an answer to each rubric.

    System-steerability samples (the tag ``task`` says so) are judged against the system prompt,
    with a prompt of their own; all others against the conversation.

    Attributes:
        text: a prompt text of the user's own, for both.
    """

    text: str | None = None

    name = "advancedif"

    @property
    def version(self) -> str:
        """Of both prompts and the parser."""
        return version(_PARSER, self._template(system=False), self._template(system=True))

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
        """Write the prompt; see :class:`heedful.judges.prompts.base.JudgePrompt`.

        Raises:
            RowError: there is no response, or a system-steerability sample has no system prompt.
        """
        system = sample.tags.get("task") == SYSTEM_TASK
        if system and not any(turn.role == "system" for turn in sample.conversation):
            raise RowError(
                f"the task is {SYSTEM_TASK}, and the conversation has no system prompt",
                hint="begin the conversation with a system message, or correct the task",
            )
        checklist = layout.numbered(constraints, measurements, "en")
        return layout.messages(self._template(system=system), sample, checklist, "en")

    def parse(self, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
        """Read a reply; see :func:`parse`."""
        return parse(text, constraints)

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
        name = "advancedif.system.txt" if system else "advancedif.txt"
        return with_format(self.text or shipped(name), "advancedif.format.txt")


def parse(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a reply; each rubric stands for itself.

    A rubric's verdict is the word YES or NO that its answer begins or ends with. An answer with
    neither, or that begins with one and ends with the other, is ``unparsed``; so is a rubric
    without an answer. Answers that are not numbered within 1 to n leave open which is whose, and
    decide nothing; nor do answers that are all YES where the whole is NO.

    Args:
        text: the judge's reply.
        constraints: the rubrics, in order.

    Returns:
        A judgment for each constraint; the explanation is the answer's text.
    """
    try:
        objects_found = objects.find(answer(text, _STATES.search), _is_reply, _STATES)
    except objects.UnclearError as error:
        return undecided(constraints, str(error))
    replies = [reply["rubrics_check"] for reply in objects_found]
    overall = {_overall(reply) for reply in objects_found}
    if not replies:
        return undecided(constraints, "no JSON object with rubrics_check in the reply")
    if any(reply != replies[0] for reply in replies):
        return undecided(constraints, f"{len(replies)} different answers in the reply")
    answers = list(replies[0].items())
    claims = [_claim(key) for key, _ in answers]
    if None in positions(claims, constraints):
        strange = next(
            key
            for (key, _), claim in zip(answers, claims, strict=True)
            if positions([claim], constraints) == [None]
        )
        return undecided(
            constraints, f"{strange} answers none of {amount(len(constraints), 'rubric')}"
        )
    judgments = judged(claims, constraints, lambda place: _judgment(*answers[place]), "question_{}")
    if "NO" in overall and all(judgment.status is Status.MET for judgment in judgments):
        return undecided(constraints, "every answer is YES, and SATISFIED_ALL_REQUIREMENTS is NO")
    return judgments


def readable(text: str, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
    """Return a judge's reply in a form that reads as the verdicts that were taken from it.

    A rubric without a verdict is requested again, and a checklist may go out in parts: then
    there are several replies, each with numbers of its own, and together they have no reading. They
    become one reply in which each rubric has its number in the checklist and its answer, and one
    without a verdict has none. A text that reads as these verdicts stays as it is, and so does one
    without any answer in AdvancedIF's form.

    Args:
        text: the judge's replies, one behind another.
        judgments: what came of them.
        constraints: the rubrics, in order.
    """
    verdicts = [_decided(judgment) for judgment in judgments]
    read = [_decided(judgment) for judgment in parse(text, constraints)]
    return text if read == verdicts or not objects.find(text, _is_reply) else _written(judgments)


def declared(text: str) -> dict[str, Any]:
    """Return what the judge said, as the published metrics take it.

    Returns:
        ``satisfied_all``: ``"YES"``, ``"NO"`` or ``None``; ``answers``: the text of each answer by
        its key, for the micro rate (answers with "yes" in them, of the keys emitted).
    """
    replies = objects.find(text, _is_reply)
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
    answers = {
        f"question_{number}": _answer(judgment)
        for number, judgment in enumerate(judgments, start=1)
        if judgment.status.decided
    }
    reply: dict[str, Any] = {"rubrics_check": answers}
    statuses = {judgment.status for judgment in judgments}
    if statuses == {Status.MET} or Status.UNMET in statuses:
        reply["SATISFIED_ALL_REQUIREMENTS"] = "NO" if Status.UNMET in statuses else "YES"
    return json.dumps(reply, ensure_ascii=False, indent=1)


def _is_reply(value: dict[str, Any]) -> bool:
    return isinstance(value.get("rubrics_check"), dict)


def _claim(key: str) -> Claim:
    """Read a key: the rubric's number, or its text."""
    match = _KEY.fullmatch(key)
    return Claim(int(match[1])) if match else Claim(None, key)


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
    """Return the verdicts that an answer begins and ends with.

    "No" that begins a sentence such as "No doubt" is none, nor is "yes" in "not yes".
    """
    listed = list(_WORD.finditer(words))
    ends = set()
    if listed and not _DETERMINES.match(words, listed[0].start()):
        ends.add(_VERDICTS.get(listed[0][0].casefold()))
    if len(listed) > 1 and not _NEGATED.search(words[: listed[-1].start()][-_NEAR:]):
        ends.add(_VERDICTS.get(listed[-1][0].casefold()))
    return {status for status in ends if status}


def _answer(judgment: Judgment) -> str:
    """Write an answer: the explanation, and the verdict where it does not hold that already."""
    words = judgment.explanation
    if _ends(words) == {judgment.status}:
        return words
    word = "YES" if judgment.status is Status.MET else "NO"
    last = f"{words.rstrip()} {word}".strip()
    return last if _ends(last) == {judgment.status} else f"Reason: {last}"
