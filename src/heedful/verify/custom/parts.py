"""Parts of a response, such as the first paragraph, each list item, the title; several checks.

A part is found under every reading of where it lies, so that a check on it decides only what comes
out the same under all of them.
"""

from __future__ import annotations

import functools
import inspect
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.core import scripts
from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check  # noqa: TC001 - pydantic reads annotations at run time
from heedful.verify import base
from heedful.verify.base import Finding, Wording, verifier
from heedful.verify.text.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from heedful.verify.text.prepared import Response

Which = Literal["each", "some"] | int
"""``each``, ``some`` (at least one), or a number from 1; -1 is the last, -2 the one before it."""


class _PartKind(NamedTuple):
    """A kind of part: its name, and how to find it, by each reading."""

    name: str
    find: Callable[[Layout], list[list[str]]]


_VERSES = re.compile(rf"[{scripts.HAN}]+")

PARTS = {
    "response": _PartKind("the response", lambda layout: [[layout.text]]),
    # Something inside of the response that code cannot find, such as "the summary".
    "passage": _PartKind("the response", lambda layout: [[layout.text]]),
    "paragraph": _PartKind("paragraph", lambda layout: layout.paragraph_readings),
    "stanza": _PartKind("stanza", lambda layout: layout.stanza_readings),
    # What any sign ends, below a title: 床前明月光，
    "verse": _PartKind("verse", lambda layout: [_VERSES.findall(layout.body)]),
    "sentence": _PartKind("sentence", lambda layout: layout.sentence_readings),
    "line": _PartKind("line", lambda layout: layout.written_lines),
    "list_item": _PartKind("list item", lambda layout: layout.item_readings),
    "heading": _PartKind("heading", lambda layout: layout.heading_readings),
    "title": _PartKind("the title", lambda layout: [[layout.title] if layout.title else []]),
    # The response without its title.
    "body": _PartKind("the body", lambda layout: layout.body_readings),
    # What stands under a heading.
    "section": _PartKind("section", lambda layout: layout.section_readings),
    # The response, where it is one text of a kind of which it might hold several.
    "copy": _PartKind("the response", lambda layout: [[] if layout.is_divided else [layout.text]]),
}

if TYPE_CHECKING:
    Part = str
else:
    Part = Literal[tuple(PARTS)]

_SINGLE = frozenset({"response", "passage", "title", "body", "copy"})
_ORDINALS = {1: "first", 2: "second", 3: "third", -1: "last", -2: "second to last"}


def named(part: Part, which: Which) -> str:
    """Name a part in English."""
    name = PARTS[part].name
    if part in _SINGLE:
        return name
    if which == "each":
        return f"each {name}"
    if which == "some":
        return f"at least one {name}"
    return f"the {_ORDINALS[which]} {name}" if which in _ORDINALS else f"{name} {which}"


def in_part(part: Part, which: Which) -> str:
    """Word where something is asked for; nothing for the whole response."""
    if part == "passage":
        return " in a passage of the response"
    return "" if part == "response" else f" in {named(part, which)}"


Outcome = bool | None
"""Whether a text meets the requirement; ``None`` where readings disagree."""
Decision = tuple[Outcome, str]
"""An outcome, and what was found."""


def all_outcomes(outcomes: Iterable[Outcome]) -> Outcome:
    """Say whether all requirements are met: surely not where one surely isn't."""
    distinct = set(outcomes)
    return False if False in distinct else None if None in distinct else True


_COUNTING = frozenset(
    {"heedful:count", "heedful:contains", "heedful:contains_any", "heedful:excludes"}
)
"""Checks by numbers, of which a passage has as many as the response, or fewer."""


def of_part(
    id_: str, *, describe: Wording = "", written: bool = False
) -> Callable[[Callable[..., Decision]], Any]:
    """Register a test of a text as a verifier of the response, or of a part of it.

    The verifier takes the test's arguments, ``part`` and ``which``. Its wording has ``{what}`` for
    the part ("the title"), or ``{where}`` (" in the title", nothing for the response). A title is
    tested as it is ``written``, or without its marks.
    """

    def register(test: Callable[..., Decision]) -> Callable[..., Decision]:
        @functools.wraps(test)
        def verify(response: Response, *, part: Part, which: Which, **args: Any) -> Finding:
            bound = functools.partial(test, **args)
            if written and part == "title":
                line = response.layout.title_line
                # Where none is found, what is nowhere isn't around it.
                outcome, reason = bound(Layout(line) if line else response.layout)
                return decide(outcome if line else outcome and None, reason)
            outcome, reason = judged(response.layout, part, which, bound)
            if part == "passage":
                return _of_passage(response.layout, id_, bound, (outcome, reason))
            return decide(outcome, reason)

        def wording(part: Part, which: Which, **args: Any) -> str:
            args |= {"what": named(part, which), "where": in_part(part, which)}
            if callable(describe):
                return describe(**args)
            return base.worded(describe or (test.__doc__ or "").partition("\n")[0], args)

        own = inspect.signature(test)
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )
            for name, default, hint in (("part", "response", Part), ("which", "each", Which))
        ]
        verify.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
        verifier(id_, describe=wording)(verify)
        return test

    return register


_AT_EDGES = frozenset({"heedful:starts_with", "heedful:ends_with"})
_THROUGHOUT = frozenset({"heedful:each_word", "heedful:case"})


def _of_passage(
    layout: Layout, id_: str, test: Callable[[Layout], Decision], decision: Decision
) -> Finding:
    """Decide on a passage that code can't find: what holds wherever it begins and ends."""
    outcome, reason = decision
    if id_ in _AT_EDGES:
        every, some = (judged(layout, "line", which, test)[0] for which in ("each", "some"))
        outcome = True if every else False if some is False else None
    elif id_ not in _COUNTING and not (outcome and id_ in _THROUGHOUT):
        outcome = None
    return decide(outcome, reason if outcome is not None else f"{reason}, perhaps of a part only")


def judged(
    layout: Layout, part: Part, which: Which, test: Callable[[Layout], Decision]
) -> Decision:
    """Test a part, under each reading of where it lies."""
    if part == "response":
        return test(layout)
    texts_by_reading = PARTS[part].find(layout)
    if part == "line" and isinstance(which, int) and layout.has_lines_alone:
        texts_by_reading = texts_by_reading[:1]  # with nothing around them, the first is the first
    outcomes = [_reading(texts, part, which, test) for texts in texts_by_reading]
    first, reason = outcomes[0]
    for outcome, other in outcomes[1:]:
        if outcome is not first:
            if reason == other:
                return None, reason
            return None, f"by one reading {reason}; by another {other}"
    return first, reason


def _reading(
    texts: Sequence[str], part: Part, which: Which, test: Callable[[Layout], Decision]
) -> Decision:
    name = PARTS[part].name
    if not texts and part == "copy":
        return None, "it may be several texts"
    if not texts:
        return None, f"no {name.removeprefix('the ')} is found"
    if part in _SINGLE:
        which = 1
    if isinstance(which, int):
        if not 0 < abs(which) <= len(texts):
            return False, f"there are only {len(texts)} {name}s"
        place = which - 1 if which > 0 else which
        outcome, reason = test(_layout(texts[place], part))
        return outcome, f"{named(part, which)}: {reason}"
    return _all(texts, part, test) if which == "each" else _some(texts, part, test)


def _all(texts: Sequence[str], part: Part, test: Callable[[Layout], Decision]) -> Decision:
    undecided: str | None = None
    for number, text in enumerate(texts, start=1):
        outcome, reason = test(_layout(text, part))
        if outcome is False:
            return False, f"{PARTS[part].name} {number} of {len(texts)}: {reason}"
        if outcome is None and undecided is None:
            undecided = f"{PARTS[part].name} {number} of {len(texts)}: {reason}"
    if undecided is not None:
        return None, undecided
    noun = PARTS[part].name
    return True, f"all {len(texts)} {noun}s, the last: {reason}" if len(texts) > 1 else reason


def _some(texts: Sequence[str], part: Part, test: Callable[[Layout], Decision]) -> Decision:
    outcomes = [test(_layout(text, part)) for text in texts]
    best = max(outcomes, key=lambda each: (each[0] is True, each[0] is None))
    noun = PARTS[part].name
    return best[0], f"{'one' if best[0] else 'surely none'} of {len(texts)} {noun}s: {best[1]}"


@lru_cache(maxsize=1024)
def _layout(text: str, part: Part) -> Layout:
    """Lay out a part; several checks look at the same."""
    # The short first line of a stanza, which ends as no sentence does, is a verse.
    return Layout(text, titled=part != "stanza", whole=part != "passage")


def decide(outcome: Outcome, reason: str) -> Finding:
    """Turn an outcome into a finding."""
    if outcome is None:
        raise UndecidedError(f"cannot be decided by code: {reason}")
    return Finding(met=outcome, found=reason)


# --- several checks as one ----------------------------------------------------------------------


@verifier("heedful:all", describe=lambda checks: " ".join(map(base.describe, checks)))
def all_of(response: Response, *, checks: list[Check]) -> Finding:
    """All of the checks are met."""
    outcomes = [_outcome(response, each) for each in checks]
    unmet = [reason for outcome, reason in outcomes if outcome is False]
    if unmet:
        return Finding(met=False, found="; ".join(unmet))
    undecided = [reason for outcome, reason in outcomes if outcome is None]
    if undecided:
        return decide(None, "; ".join(undecided))
    return Finding(met=True, found="; ".join(reason for _, reason in outcomes))


@verifier(
    "heedful:either_reading", describe=lambda checks: " Or: ".join(map(base.describe, checks))
)
def either_reading(response: Response, *, checks: list[Check]) -> Finding:
    """Of checks that are readings of one constraint, all are met or none is.

    "Contain three links" may mean exactly or at least three: a fourth leaves it undecided.
    """
    outcomes = [_outcome(response, each) for each in checks]
    first, reason = outcomes[0]
    if any(outcome is not first for outcome, _ in outcomes):
        return decide(None, "; ".join(dict.fromkeys(reason for _, reason in outcomes)))
    return decide(first, reason)


def _outcome(response: Response, check: Check) -> Decision:
    try:
        finding = base.check(check, response)
    except UndecidedError as error:
        return None, error.what.removeprefix("cannot be decided by code: ")
    return finding.met, finding.found
