"""AdvancedIF's reply: a JSON object with an answer to each rubric and one for the whole.

Source: AdvancedIF's README and judge (arXiv 2511.10507): ``{"rubrics_check": {"question_1":
"<free text>", …}, "SATISFIED_ALL_REQUIREMENTS": "YES"|"NO"}``. Models put it in code fences and
prose, which is read through.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from heedful.schema import Constraint, Judgment, Status
from heedful.wires.base import undecided

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["declared", "parse"]

_OBJECT = re.compile(r'\{\s*"')
_STARTS = 1000
"""Braces from which an object is tried; bounds the time that a hostile reply can take."""
_WORD = re.compile(r"[^\W_]+")  # markdown's underscores are no part of a word
_VERDICTS = {"yes": Status.MET, "no": Status.UNMET}


class _AnsweredTwiceError(Exception):
    """One object answers the same question twice, differently."""


def parse(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a reply; each rubric stands for itself.

    A rubric's verdict is the word YES or NO that its answer begins or ends with. An answer with
    neither, or that begins with one and ends with the other, is ``unparsed``; so is a rubric
    without an answer. Answers that are not numbered within 1 to n leave open which is whose, and
    decide nothing.

    Args:
        text: the judge's reply.
        constraints: the rubrics, in order.

    Returns:
        A judgment for each constraint; the explanation is the answer's text.
    """
    try:
        replies = [reply["rubrics_check"] for reply in _replies(text, strict_keys=True)]
    except _AnsweredTwiceError as error:
        return undecided(constraints, str(error))
    if not replies:
        return undecided(constraints, "no JSON object with rubrics_check in the reply")
    if any(reply != replies[0] for reply in replies):
        return undecided(constraints, f"{len(replies)} different answers in the reply")
    answers = replies[0]
    keys = [f"question_{number}" for number in range(1, len(constraints) + 1)]
    strange = [key for key in answers if key not in keys]
    if strange:
        return undecided(constraints, f"{strange[0]} answers none of {len(keys)} rubrics")
    return [_judgment(answers, key) for key in keys]


def declared(text: str) -> dict[str, Any]:
    """Return what the judge said, as the published metrics take it.

    Returns:
        ``satisfied_all``: ``"YES"``, ``"NO"`` or ``None``; ``answers``: the text of each answer by
        its key, for the micro rate (answers with "yes" in them, of the keys emitted).
    """
    replies = _replies(text, strict_keys=False)
    reply = replies[-1] if replies else {"rubrics_check": {}}
    overall = str(reply.get("SATISFIED_ALL_REQUIREMENTS")).strip().upper()
    return {
        "satisfied_all": overall if overall in ("YES", "NO") else None,
        "answers": {key: _text(value) for key, value in reply["rubrics_check"].items()},
    }


def _replies(text: str, *, strict_keys: bool) -> list[dict[str, Any]]:
    """Find the JSON objects that hold ``rubrics_check``, wherever in the text they are."""
    # Models write line ends inside JSON strings, which only the lenient decoder takes.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once if strict_keys else None)
    replies = []
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
        if isinstance(value, dict) and isinstance(value.get("rubrics_check"), dict):
            replies.append(value)
            at = end
    return replies


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key with two values (JSON's last would win in silence)."""
    built: dict[str, Any] = {}
    for key, value in pairs:
        if key in built and built[key] != value:
            raise _AnsweredTwiceError(f"{key} is answered twice")
        built[key] = value
    return built


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _judgment(answers: dict[str, Any], key: str) -> Judgment:
    if key not in answers:
        return Judgment(status=Status.UNPARSED, explanation=f"the reply has no {key}")
    answer = _text(answers[key])
    words = _WORD.findall(answer)
    ends = {_VERDICTS.get(word.casefold()) for word in (words[:1] + words[-1:])} - {None}
    if len(ends) == 1:
        return Judgment(status=ends.pop() or Status.UNPARSED, explanation=answer)
    reason = "answers both YES and NO" if ends else "neither begins nor ends with YES or NO"
    return Judgment(status=Status.UNPARSED, explanation=f"{key} {reason}: {answer}")
