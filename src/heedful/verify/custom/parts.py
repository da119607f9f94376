"""Parts of a response, such as the first paragraph, each list item, the title; several checks.

A part is found under every reading of where it lies, so that a check on it decides only what comes
out the same under all of them.
"""

from __future__ import annotations

import functools
import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.errors import UndecidedError, VerifierError
from heedful.core.nouns import Check  # noqa: TC001 - pydantic reads annotations at run time
from heedful.verify import base
from heedful.verify.base import Finding, Wording, quoted, verifier
from heedful.verify.text.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from heedful.verify.text.prepared import Response

Which = Literal["each", "some"] | int
"""``each``, ``some`` (at least one), or a number from 1; -1 is the last, -2 the one before it."""

NAMES = {
    "response": ("the response", "回复"),
    "passage": ("the response", "回复"),
    "paragraph": ("paragraph", "段"),
    "stanza": ("stanza", "节"),
    "sentence": ("sentence", "句"),
    "line": ("line", "行"),
    "list_item": ("list item", "个列表项"),
    "heading": ("heading", "个标题"),
    "title": ("the title", "题目"),
    "body": ("the body", "正文"),
    "section": ("section", "部分"),
    "copy": ("the response", "回复"),
}
"""The parts, in English and Chinese. ``passage``: something inside of the response that code cannot
find, such as "the summary"; ``body``: the response without its title;
``section``: what stands under a heading; ``copy``: the response, where it is one text of a kind of
which it might hold several."""

if TYPE_CHECKING:
    Part = str
else:
    Part = Literal[tuple(NAMES)]

_ORDINALS = {1: "first", 2: "second", 3: "third", -1: "last", -2: "second to last"}


def named(part: Part, which: Which) -> str:
    """Name a part in English."""
    name = NAMES[part][0]
    if part in {"response", "passage", "title", "body", "copy"}:
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


def bounds(at_least: int | None, at_most: int | None) -> str:
    """Word a range of numbers."""
    if at_least is None and at_most is None:
        raise VerifierError("no bound is given", hint="give at_least, at_most or both")
    if at_least is None:
        return f"at most {at_most}"
    if at_most is None:
        return f"at least {at_least}"
    if at_least > at_most:
        raise VerifierError(f"at_least is {at_least} and at_most {at_most}", hint="swap them")
    return f"exactly {at_least}" if at_least == at_most else f"{at_least} to {at_most}"


def readings(layout: Layout, part: Part) -> list[list[str]]:
    """Find the parts of a kind: for each reading, their texts in order, maybe none."""
    return _FINDERS[part](layout)


def _list_items(layout: Layout) -> list[list[str]]:
    """Find the items of a list: the marked lines alone, and with the lines that go on with them."""
    items = layout.items("bullet", "number")
    outermost = min((line.depth for line in layout.lines if line.kind in _MARKED), default=0)
    whole: list[list[str]] = []
    ended = True
    for line in layout.lines:
        if line.kind in _MARKED and line.depth == outermost:
            whole.append([line.text])
        elif line.kind == "blank":
            ended = True
            continue
        elif whole and (not ended or line.text[:1].isspace()):
            whole[-1].append(line.text)
        ended = False
    if all(len(lines) == 1 for lines in whole):
        return items
    return [
        *items,
        ["\n".join([first, *more[1:]]) for first, more in zip(items[0], whole, strict=True)],
    ]


def _bodies(layout: Layout) -> list[list[str]]:
    """Find the text without its title; a title that no mark shows may be part of it."""
    title = layout.title_line
    unmarked_title = title is not None and not title.lstrip().startswith("#")
    return [[layout.core], [layout.body], *([[layout.text]] if unmarked_title else [])]


_MARKED = frozenset({"bullet", "number"})
_FINDERS: dict[str, Callable[[Layout], list[list[str]]]] = {
    "response": lambda layout: [[layout.text]],
    "passage": lambda layout: [[layout.text]],
    "paragraph": lambda layout: layout.paragraph_readings,
    "stanza": lambda layout: layout.stanza_readings,
    "sentence": lambda layout: layout.sentence_readings,
    "line": lambda layout: layout.written_lines,
    "list_item": _list_items,
    "heading": lambda layout: layout.heading_readings,
    "title": lambda layout: [[layout.title] if layout.title else []],
    "body": _bodies,
    "section": lambda layout: layout.section_readings,
    "copy": lambda layout: [[] if layout.is_divided else [layout.text]],
}

Outcome = bool | None
"""Whether a text meets the requirement; ``None`` where readings disagree."""
Decision = tuple[Outcome, str]
"""An outcome, and what was found."""


def all_outcomes(outcomes: Iterable[Outcome]) -> Outcome:
    """Say whether all requirements are met: surely not where one surely isn't."""
    distinct = set(outcomes)
    return False if False in distinct else None if None in distinct else True


_OF_EVERY_PASSAGE = {
    "heedful:contains": False,
    "heedful:contains_any": False,
    "heedful:excludes": True,
}
"""What holds of a passage if it holds of the response: what is nowhere isn't in the summary."""


def of_part(id_: str, *, describe: Wording = "") -> Callable[[Callable[..., Decision]], Any]:
    """Register a test of a text as a verifier of the response, or of a part of it.

    The verifier takes the test's arguments, ``part`` and ``which``. Its wording has ``{what}`` for
    the part ("the title"), or ``{where}`` (" in the title", nothing for the response).
    """

    def register(test: Callable[..., Decision]) -> Callable[..., Decision]:
        @functools.wraps(test)
        def verify(response: Response, *, part: Part, which: Which, **args: Any) -> Finding:
            outcome, reason = judged(response.layout, part, which, functools.partial(test, **args))
            if part == "passage" and outcome is not _OF_EVERY_PASSAGE.get(id_):
                return decide(None, f"{reason}, perhaps elsewhere")
            return decide(outcome, reason)

        def worded(part: Part, which: Which, **args: Any) -> str:
            places = {"what": named(part, which), "where": in_part(part, which)}
            if callable(describe):
                return describe(**args, **places)
            wording = describe or (test.__doc__ or "").partition("\n")[0]
            lists = {name: quoted(value) for name, value in args.items() if isinstance(value, list)}
            return wording.format_map(args | lists | places)

        own = inspect.signature(test)
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )
            for name, default, hint in (("part", "response", Part), ("which", "each", Which))
        ]
        verify.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
        verifier(id_, describe=worded)(verify)
        return test

    return register


def judged(
    layout: Layout, part: Part, which: Which, test: Callable[[Layout], Decision]
) -> Decision:
    """Test a part, under each reading of where it lies."""
    texts_by_reading = readings(layout, part)
    if part == "line" and isinstance(which, int) and layout.has_lines_alone:
        texts_by_reading = texts_by_reading[:1]  # with nothing around them, the first is the first
    outcomes = [_reading(texts, part, which, test, layout) for texts in texts_by_reading]
    first, reason = outcomes[0]
    for outcome, other in outcomes[1:]:
        if outcome is not first:
            if reason == other:
                return None, reason
            return None, f"by one reading {reason}; by another {other}"
    return first, reason


def _reading(
    texts: Sequence[str],
    part: Part,
    which: Which,
    test: Callable[[Layout], Decision],
    whole: Layout,
) -> Decision:
    if part in {"response", "passage"}:
        return test(whole)
    if not texts and part == "copy":
        return None, "it may be several texts"
    if not texts:
        return None, f"no {NAMES[part][0].removeprefix('the ')} is found"
    if part in {"title", "body", "copy"}:
        which = 1
    if isinstance(which, int):
        if not 0 < abs(which) <= len(texts):
            return False, f"there are only {len(texts)} {NAMES[part][0]}s"
        place = which - 1 if which > 0 else which
        outcome, reason = test(_layout(texts[place], part))
        return outcome, f"{named(part, which)}: {reason}"
    return _all(texts, part, test) if which == "each" else _some(texts, part, test)


def _all(texts: Sequence[str], part: Part, test: Callable[[Layout], Decision]) -> Decision:
    undecided: str | None = None
    for number, text in enumerate(texts, start=1):
        outcome, reason = test(_layout(text, part))
        if outcome is False:
            return False, f"{NAMES[part][0]} {number} of {len(texts)}: {reason}"
        if outcome is None and undecided is None:
            undecided = f"{NAMES[part][0]} {number} of {len(texts)}: {reason}"
    if undecided is not None:
        return None, undecided
    noun = NAMES[part][0]
    return True, f"all {len(texts)} {noun}s, the last: {reason}" if len(texts) > 1 else reason


def _some(texts: Sequence[str], part: Part, test: Callable[[Layout], Decision]) -> Decision:
    outcomes = [test(_layout(text, part)) for text in texts]
    best = max(outcomes, key=lambda each: (each[0] is True, each[0] is None))
    noun = NAMES[part][0]
    return best[0], f"{'one' if best[0] else 'surely none'} of {len(texts)} {noun}s: {best[1]}"


@lru_cache(maxsize=1024)
def _layout(text: str, part: Part) -> Layout:
    """Lay out a part; several checks look at the same."""
    # The short first line of a stanza, which ends as no sentence does, is a verse.
    return Layout(text, titled=part != "stanza")


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
