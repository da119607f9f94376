"""Named parts of a response: the first paragraph, each list item, the title.

A part is found under every reading of where it lies, so that a check on it decides only what comes
out the same under all of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from heedful.core.errors import UndecidedError
from heedful.verify.custom.verse import verse_readings
from heedful.verify.text.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heedful.verify.base import Finding

Part = Literal[
    "response",
    "passage",
    "paragraph",
    "stanza",
    "sentence",
    "verse",
    "line",
    "list_item",
    "heading",
    "title",
    "body",
    "section",
    "copy",
]
"""``passage``: something inside of the response that code cannot find, such as "the summary";
``verse``: a 句 of a poem; ``body``: the response without its title; ``section``: what stands under
a heading; ``copy``: the response, where it is one text of a kind of which it might hold several."""

Which = Literal["each", "some"] | int
"""``each``, ``some`` (at least one), or a number from 1; -1 is the last, -2 the one before it."""

NAMES: dict[Part, tuple[str, str]] = {
    "response": ("the response", "回复"),
    "passage": ("the response", "回复"),
    "paragraph": ("paragraph", "段"),
    "stanza": ("stanza", "节"),
    "sentence": ("sentence", "句"),
    "verse": ("verse", "句"),
    "line": ("line", "行"),
    "list_item": ("list item", "个列表项"),
    "heading": ("heading", "个标题"),
    "title": ("the title", "题目"),
    "body": ("the body", "正文"),
    "section": ("section", "部分"),
    "copy": ("the response", "回复"),
}

_ORDINALS = {1: "first", 2: "second", 3: "third", -1: "last", -2: "second to last"}


def named(part: Part, which: Which) -> str:
    """Name a part in English.

    >>> named("paragraph", -1), named("line", "each"), named("title", "each")
    ('the last paragraph', 'each line', 'the title')
    """
    name = NAMES[part][0]
    if part in {"response", "passage", "title", "body", "copy"}:
        return name
    if which == "each":
        return f"each {name}"
    if which == "some":
        return f"at least one {name}"
    return f"the {_ORDINALS[which]} {name}" if which in _ORDINALS else f"{name} {which}"


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
_FINDERS: dict[Part, Callable[[Layout], list[list[str]]]] = {
    "response": lambda layout: [[layout.text]],
    "passage": lambda layout: [[layout.text]],
    "paragraph": lambda layout: layout.paragraph_readings,
    "stanza": lambda layout: layout.stanza_readings,
    "sentence": lambda layout: layout.sentence_readings,
    "line": lambda layout: layout.written_lines,
    "verse": verse_readings,
    "list_item": _list_items,
    "heading": lambda layout: layout.heading_readings,
    "title": lambda layout: [[layout.title] if layout.title else []],
    "body": _bodies,
    "section": lambda layout: layout.section_readings,
    "copy": lambda layout: [[] if layout.is_divided else [layout.text]],
}

Outcome = bool | None
"""Whether a text meets the requirement; ``None`` where readings disagree."""


def judged(
    layout: Layout, part: Part, which: Which, test: Callable[[Layout], tuple[Outcome, str]]
) -> tuple[Outcome, str]:
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
    test: Callable[[Layout], tuple[Outcome, str]],
    whole: Layout,
) -> tuple[Outcome, str]:
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


def _all(
    texts: Sequence[str], part: Part, test: Callable[[Layout], tuple[Outcome, str]]
) -> tuple[Outcome, str]:
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


def _some(
    texts: Sequence[str], part: Part, test: Callable[[Layout], tuple[Outcome, str]]
) -> tuple[Outcome, str]:
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
    from heedful.verify.base import Finding

    if outcome is None:
        raise UndecidedError(f"cannot be decided by code: {reason}")
    return Finding(met=outcome, found=reason)
