"""From what a clause bound to its check, verifier by verifier."""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Check
from heedful.verify.compiler.bounds import either, phrase_check, plain


def as_bound(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make a check of what was bound, as it is."""
    for key in ("words", "text", "mark", "sign"):
        if key in bound:
            bound[key] = bool(bound[key]) if key == "words" else _single(bound[key])
    return Check(id=id_, args=bound)


def _single(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else value[0]


_OF_LABELS, _DESCRIBED = 3, 4
_OTHERWISE = {
    1: "heedful:starts_with",
    2: "heedful:contains_any",
    _OF_LABELS: "heedful:contains_any",
    _DESCRIBED: "heedful:mentions",
}
"""By what is bound as ``loose``: what else than to be a phrase may be enough."""


def _equals(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of a whole response; "answer yes or no" may allow an explanation after it."""
    loose = bound.pop("loose", None)
    check = Check(id=id_, args=bound)
    if loose == _OF_LABELS and not all(
        each.isupper() or each.isdigit() for each in bound["phrases"]
    ):
        loose = _DESCRIBED
    other = _OTHERWISE.get(loose)
    return either([check, Check(id=other, args=bound)]) if other else check


def _mentions(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of topics: of a single one, or of each of several."""
    if not bound.pop("every", None):
        return Check(id=id_, args=bound)
    checks = [Check(id=id_, args={"phrases": [name]}) for name in bound["phrases"]]
    return Check(id="heedful:all", args={"checks": [*map(plain, checks)]})


def _starts(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of a beginning, which for list items comes after the mark of the item."""
    marks = bound.get("phrases", ()) if bound.get("part") == "list_item" else ()
    both, closing = bound.pop("both", None), bound.pop("closing", None)
    if bound.pop("near", None):
        return either([Check(id="heedful:contains_any", args=bound), Check(id=id_, args=bound)])
    if both or closing:
        return _of_both_edges(bound, closing)
    if any(not each[:1].isalpha() and each[:1].isascii() for each in marks):
        return None
    return as_bound(id_, bound)


def _ends(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of an end, after which a signature may still have its date."""
    if not bound.pop("near", None):
        return as_bound(id_, bound)
    return either([Check(id="heedful:contains", args=bound), Check(id=id_, args=bound)])


def _at_end(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of what stands at the end; beside one emoji there, others may stand before."""
    return None if bound.get("holds") == 1 else phrase_check(id_, bound)


def _numbering(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of a list numbered as an example shows; "1)" for "1." is left open."""
    mark = bound.pop("mark", None)
    check = Check(id=id_, args=bound)
    if mark is None:
        return check
    marks = [mark, mark.translate({ord("1"): "2", ord("①"): "②"})]
    marked = Check(id="heedful:contains", args={"phrases": marks, "inside": True})
    return either([check, Check(id="heedful:all", args={"checks": [*map(plain, (check, marked))]})])


def _wrapped(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of marks; where two pairs bear one name, either may be meant."""
    marks = bound.pop("marks")
    pairs = (marks[at : at + 2] for at in range(0, len(marks), 2))
    return either([Check(id=id_, args=bound | {"marks": pair}) for pair in pairs])


def _of_both_edges(bound: dict[str, Any], closing: tuple[str, ...] | str | None) -> Check | None:
    """Make the checks of a beginning and an end, by the same phrases or others."""
    start = _starts("heedful:starts_with", dict(bound))
    ending = bound if closing is None else bound | {"phrases": [*_several(closing)]}
    end = as_bound("heedful:ends_with", dict(ending))
    if start is None or end is None:
        return None
    return Check(id="heedful:all", args={"checks": [plain(start), plain(end)]})


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _json(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of JSON: with some keys, with these alone, with so many."""
    if "may_be" in bound:
        return _if_json(bound["keys"])
    if exact := bound.pop("exact", None):
        return _only_keys(id_, bound, open_=exact != 1)
    if bound.pop("only_keys", None):
        schema = {
            "type": "object",
            "properties": {key: {} for key in bound["keys"]},
            "additionalProperties": False,
        }
        if bound.pop("schema", schema)["type"] != "object":
            return None
        return Check(id=id_, args=bound | {"schema": schema})
    return phrase_check(id_, bound) if bound.pop("keyed", None) else Check(id=id_, args=bound)


def _only_keys(id_: str, bound: dict[str, Any], *, open_: bool) -> Check:
    """Make the check of JSON with keys and no others; where that is open, by both readings."""
    keys = bound["keys"]
    only = {
        "type": "object",
        "required": keys,
        "properties": {key: {} for key in keys},
        "additionalProperties": False,
    }
    array = {"type": "array", "minItems": 1, "items": only}
    strict = Check(id=id_, args={"schema": {"anyOf": [only, array]}})
    return either([Check(id=id_, args=bound), strict]) if open_ else strict


def _any_of(id_: str, bound: dict[str, Any]) -> Check:
    """Make the check of phrases of which one is asked for, or so many; of "a or b" one alone?"""
    if bound.pop("or", None):
        return either([Check(id=id_, args=bound), Check(id=id_, args=bound | {"at_most": 1})])
    if bound.get("at_least") == 1:
        del bound["at_least"]
    return Check(id=id_, args=bound)


def _neither(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of phrases that are listed, or of two: "neither “a” nor “b”"."""
    if bound.pop("instead", None):
        instead = Check(id="heedful:mentions", args={"phrases": [*bound["first"]]})
        without = Check(id=id_, args={"phrases": [*bound["second"]]})
        return Check(id="heedful:all", args={"checks": [plain(without), plain(instead)]})
    if "first" in bound:
        return Check(id=id_, args={"phrases": [*bound["first"], *bound["second"]]})
    return phrase_check(id_, bound)


def _each_word(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of each word, with its number of letters as for any count."""
    if "capital" in bound:
        return Check(id=id_, args={"capitals": True})
    return Check(id=id_, args=bound) if "letters" in bound else phrase_check(id_, bound)


MAKERS = {
    **dict.fromkeys(("heedful:contains", "heedful:excludes"), phrase_check),
    "heedful:ends_with": _ends,
    "heedful:format": _numbering,
    "heedful:wrapped": _wrapped,
    **dict.fromkeys(("heedful:table", "heedful:letters"), phrase_check),
    "heedful:at_end": _at_end,
    "heedful:json": _json,
    "heedful:equals": _equals,
    "heedful:mentions": _mentions,
    "heedful:excludes": _neither,
    "heedful:contains_any": _any_of,
    "heedful:starts_with": _starts,
    "heedful:each_word": _each_word,
}


def of_letters(id_: str, bound: dict[str, Any]) -> Check | None:
    """Make the check of a letter in quotes: with which a word may begin, or which is the word."""
    letters = bound["phrases"]
    if id_ not in _LETTER_CHECKS or len(letters) > 1 or bound.keys() - {"phrases", "part", "which"}:
        return None
    other, bounds = _LETTER_CHECKS[id_]
    of_letter = {key: value for key, value in bound.items() if key != "phrases"} | bounds
    return either(
        [Check(id=id_, args=bound), Check(id=other, args={"letters": letters, **of_letter})]
    )


_LETTER_CHECKS: dict[str, tuple[str, dict[str, int]]] = {
    "heedful:excludes": ("heedful:letters", {"at_most": 0}),
}
"""Checks of a letter, where a phrase of one letter stands."""


def _if_json(keys: list[str]) -> Check:
    """Make the check of keys that may be those of JSON, or of a keyboard: only JSON can meet it."""
    readings = (
        Check(id="heedful:json", args={"keys": keys}),
        Check(id="heedful:contains", args={"phrases": keys, "at_least": 0}),
    )
    return either(readings)
