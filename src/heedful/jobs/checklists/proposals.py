"""The requests that propose and confirm a check, and the parsers of their replies.

Three requests, each a conversation of its own: for a check; whether the check in words and the
constraint imply each other; and for examples, by the constraint alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from heedful.core.errors import InputError
from heedful.core.nouns import Check, Message
from heedful.jobs.checklists.grounding import ALL
from heedful.judges.prompts import objects
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import fill, shipped, version
from heedful.verify.base import arguments

_PARSER = 1
_PROMPTS = ("propose.txt", "imply.txt", "examples.txt")

IDS = tuple(
    f"heedful:{name}"
    for name in """
    count contains contains_any excludes mentions does_not_mention letters starts_with ends_with
    does_not_start_with does_not_end_with ends_with_emoji question equals headed table wrapped
    emphasis postscript json format language chinese_script case
    """.split()  # noqa: SIM905 - a table
)
"""Verifiers that may be proposed: those that decide only what every reading agrees on."""

EXAMPLES = 2
"""Examples of each kind."""

_ABOUT = {
    "heedful:count": "how many of a unit there are",
    "heedful:contains": "each of the phrases occurs, at_least to at_most times",
    "heedful:contains_any": "at least one of the phrases occurs",
    "heedful:excludes": "none of the phrases occurs",
    "heedful:mentions": "a topic is named, in these words or perhaps others",
    "heedful:headed": "each of the phrases is a heading",
    "heedful:letters": "each of the letters occurs at_least to at_most times",
    "heedful:equals": "the text is one of the phrases, and nothing else",
    "heedful:json": "the text is JSON and nothing else",
    "heedful:wrapped": "it begins with the first mark and ends with the second",
}


def prompts_version() -> str:
    """Name the prompts and their parsers."""
    return version(_PARSER, *(shipped(name, __package__) for name in _PROMPTS), _checks())


def proposal_request(text: str) -> list[Message]:
    """Request a check of a constraint."""
    return _request("propose.txt", {"constraint": text}, {"checks": _checks()})


def implication_request(text: str, words: str) -> list[Message]:
    """Request whether a constraint and a check in words imply each other."""
    return _request("imply.txt", {"a": text, "b": words}, {})


def examples_request(text: str) -> list[Message]:
    """Request texts that meet a constraint and texts that violate it."""
    return _request("examples.txt", {"constraint": text}, {})


def read_proposal(reply: str) -> Any:
    """Read the proposed check, which may be anything that JSON can hold."""
    return _single(reply, "check")["check"]


def read_implication(reply: str) -> bool:
    """Read whether both imply each other."""
    answers = _single(reply, "a_implies_b", "b_implies_a")
    values = (answers["a_implies_b"], answers["b_implies_a"])
    if not all(isinstance(value, bool) for value in values):
        raise InputError("a_implies_b and b_implies_a are not true or false")
    return all(values)


def read_examples(reply: str) -> tuple[list[str], list[str]]:
    """Read the texts that meet a constraint, and those that violate it."""
    reply_object = _single(reply, "meet", "violate")
    lists = (reply_object["meet"], reply_object["violate"])
    for texts in lists:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError("meet and violate are not lists of texts")
        if len(set(texts)) < EXAMPLES:
            raise InputError(f"there are not {EXAMPLES} different examples of each kind")
    return lists


def proposed_check(value: Any) -> Check:
    """Make a check of what was proposed, and nothing beside its id and arguments."""
    if not isinstance(value, dict) or not isinstance(value.get("args", {}), dict):
        raise InputError("it is not an object with id and args")
    id_, args = value.get("id"), value.get("args", {})
    if id_ == ALL:
        inner = args.get("checks")
        if not isinstance(inner, list) or len(inner) < 2 or args.keys() != {"checks"}:  # noqa: PLR2004
            raise InputError(f"{ALL} takes a list of at least two checks")
        checks = [proposed_check(each) for each in inner]
        if any(check.id == ALL for check in checks):
            raise InputError(f"{ALL} within {ALL}")
        return Check(id=ALL, args={"checks": [check.model_dump() for check in checks]})
    if id_ not in IDS:
        raise InputError(f"no verifier that may be proposed has the id {id_!r:.60}")
    return Check(id=id_, args={name: given for name, given in args.items() if given is not None})


def _request(name: str, texts: dict[str, str], places: dict[str, str]) -> list[Message]:
    fence = Fence.around(list(texts.values()))
    fenced = {place: fence.wrap(place.upper(), text) for place, text in texts.items()}
    prompt = fill(shipped(name, __package__), {**places, **fenced, "mark": fence.mark})
    return [Message(role="user", content=prompt)]


def _single(reply: str, *keys: str) -> dict[str, Any]:
    """Return the one object with these keys in a reply."""
    wanted = objects.find(answer(reply), lambda value: value.keys() >= set(keys))
    if not wanted:
        raise InputError(f"the reply has no JSON object with {' and '.join(keys)}")
    if any(other != wanted[0] for other in wanted):
        raise InputError("the reply has several different JSON objects")
    return wanted[0]


@cache
def _checks() -> str:
    """List the verifiers with their arguments."""
    return "\n".join(_spelled(id_) for id_ in IDS)


def _spelled(id_: str) -> str:
    fields = arguments(id_).get("properties", {})
    spelled = ", ".join(f"{name}: {_type(field)}" for name, field in fields.items())
    about = f"  ({_ABOUT[id_]})" if id_ in _ABOUT else ""
    return f"- {id_}({spelled}){about}"


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return "|".join(map(str, field["enum"]))
    if "anyOf" in field:
        kinds = (_type(each) for each in field["anyOf"] if each.get("type") != "null")
        return " or ".join(kinds)
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", "any"))
