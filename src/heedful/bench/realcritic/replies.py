"""Parse what models reply to RealCritic's prompts.

The sections of a critique are the published ones: Critique, Conclusion, Correction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from heedful.bench.grading.passages import last_boxed
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.quotation import NOTHING, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

_HEADING = re.compile(
    r"""^[ \t]*+(?:\#{1,6}[ \t]*+)?(?:\d+[.)][ \t]*+)?(?:\*\*|__)?[ \t]*+
    (?P<name>critique|conclusion|correct(?:ion|ed\ solution))
    (?:\ of\ [^\n:*]{1,40})?[ \t]*(?:\*\*|__)?[ \t]*(?P<colon>:?)[ \t]*
    (?:\*\*|__)?[ \t]*(?P<rest>[^\n]*)$""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NEGATED = r"(?:not\s+(?:entirely\s+|fully\s+|completely\s+|quite\s+)?correct)"
_VERDICT = rf"(?P<verdict>{_NEGATED}|incorrect|wrong|correct)\b"
_STATED = re.compile(
    rf"\b(?:solution|reasoning|verdict|conclusion)(?:\s+as\s+a\s+whole)?\W{{0,8}}(?:is\b)?\W{{0,8}}{_VERDICT}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"^[^\w\n]*+{_VERDICT}\W*$", re.IGNORECASE | re.MULTILINE)
_STEP = re.compile(
    r"""\b(?:first\s+)?(?:wrong|incorrect|erroneous|error)\s+step(?:\s+(?:number|no\.?|index))?
    (?:\s+is)?[\s:*`=\[(]*(?:step\s*)?(?P<number>[-−–]?\s*\d{1,3}|none|n/a)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RESULT = re.compile(
    r"^[^\w\n]*+(?:(?:result|verdict|final\s+answer)\W+)?(?P<un>un)?qualified\W*$"
    r"|\\boxed\{\s*(?:\\text\{\s*)?(?P<boxed_un>un)?qualified\W",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Review:
    """A critique as it was read."""

    verdict: bool | None
    first_error: int | None  # from 1; -1: none
    correction: str | None  # the text whose final answer is the critic's


def read_review(text: str, shown: Shown = NOTHING) -> Review:
    """Read a critique; what it does not say once and clearly stays ``None``.

    The last conclusion counts, and none that repeats what the critic was shown.
    """
    text = answer(text)
    sections = [part for part in _sections(text) if not _is_quoted(part, shown)]
    names = [section.name for section in sections]
    concluded = names.index("conclusion") if "conclusion" in names else -1
    corrected = next(
        (n for n in range(concluded + 1, len(names)) if names[n] == "correction"), None
    )
    conclusions = [part.body for part in sections[:corrected] if part.name == "conclusion"]
    said = text if corrected is None else text[: sections[corrected].start]
    said = conclusions[-1] if conclusions else said
    verdict = _only(_verdicts(said, shown, alone=bool(conclusions)))
    first_error = _only({_number(match["number"]) for match in _STEP.finditer(said)})
    if verdict is not None and first_error is not None and verdict != (first_error == -1):
        first_error = None
    correction = text[sections[concluded].start :] if conclusions else text
    if corrected is not None:
        correction = text[sections[corrected].start :]
    elif last_boxed(correction) is None:
        return Review(verdict, first_error, None)
    return Review(verdict, first_error, correction)


def read_check(text: str, shown: Shown = NOTHING) -> bool | None:
    """Read whether a critique is qualified, by the last result that isn't a quotation."""
    results = [each for each in _RESULT.finditer(answer(text)) if not shown.holds(each[0])]
    return not (results[-1]["un"] or results[-1]["boxed_un"]) if results else None


class _Section(NamedTuple):
    name: str
    body: str
    start: int


def _sections(text: str) -> Iterator[_Section]:
    headings = [match for match in _HEADING.finditer(text) if _is_heading(match)]
    for place, match in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(text)
        name, start = match["name"].casefold(), match.start("rest")
        yield _Section("correction" if name.startswith("correct") else name, text[start:end], start)


def _is_quoted(part: _Section, shown: Shown) -> bool:
    """Tell whether a conclusion repeats what was shown, up to its verdict."""
    stated = _STATED.search(part.body) or _ALONE.search(part.body)
    if part.name != "conclusion" or stated is None:
        return False
    return shown.holds(f"conclusion {part.body[: stated.end()]}")


def _is_heading(match: re.Match[str]) -> bool:
    """Tell a heading from a sentence that begins with its word."""
    marked = match.group().lstrip().startswith(("#", "**", "__"))
    return bool(match["colon"] or not match["rest"].strip()) or (
        marked and len(match["rest"].split()) <= 4  # noqa: PLR2004 - "Correction (if any) below"
    )


def _verdicts(text: str, shown: Shown, *, alone: bool) -> set[bool]:
    """Find what a text says of the solution; a word alone on its line counts in a conclusion."""
    stated = (match for match in _STATED.finditer(text) if alone or not shown.holds(match[0]))
    words = [match["verdict"] for match in stated]
    if alone and not words:
        words = [match["verdict"] for match in _ALONE.finditer(text)]
    return {word.casefold() == "correct" for word in words}


def _number(text: str) -> int:
    bare = re.sub(r"\s", "", text).replace("−", "-").replace("–", "-")
    return -1 if bare.casefold() in ("none", "n/a") else int(bare)


def _only(values: set[T]) -> T | None:
    """Return the single member of a set."""
    return next(iter(values)) if len(values) == 1 else None
