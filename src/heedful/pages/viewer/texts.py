"""Texts of a sample with marks in them: where a constraint stands, what an explanation quotes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.delimited import delimited
from heedful.reporting.html.environment import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

LONG = 20_000
"""Characters of a text that are shown until somebody asks for all."""

SHORTEST = 4
"""Characters of a quotation: a shorter one is found anywhere."""

QUOTES_LOOKED_AT = 20

_QUOTATION_MARKS = {"“": "”", '"': '"', "「": "」", "『": "』", "`": "`", "‘": "’"}


class Span(NamedTuple):
    """A part of a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        number: of the constraint that it belongs to, from 1.
    """

    start: int
    end: int
    number: int


def quotes(explanation: str) -> list[str]:
    """Return what an explanation has in quotation marks, in any script's, if it is long enough."""
    texts = (each.content for each in delimited(explanation, _QUOTATION_MARKS))
    return list(islice((text for text in texts if len(text) >= SHORTEST), QUOTES_LOOKED_AT))


def spans(text: str, parts: Iterable[tuple[int, str]]) -> list[Span]:
    """Find parts in a text, each where it stands first and no earlier one does."""
    taken: list[Span] = []
    for number, part in parts:
        start = text.find(part) if part else -1
        while start >= 0:
            span = Span(start, start + len(part), number)
            if all(span.end <= other.start or other.end <= span.start for other in taken):
                taken.append(span)
                break
            start = text.find(part, start + 1)
    return sorted(taken)


def marked(text: str, spans: Sequence[Span], limit: int | None = LONG) -> Markup:
    """Make a text safe to show, with its marks.

    See :func:`heedful.reporting.html.environment.said`.
    """
    from markupsafe import Markup

    parts: list[Markup] = []
    end = 0
    for span in spans:
        if limit is not None and span.end > limit:
            break
        parts.append(said(text[end : span.start]))
        part = said(text[span.start : span.end])
        parts.append(Markup('<mark class="of" data-of="{}">{}</mark>').format(span.number, part))
        end = span.end
    parts.append(said(text[end:], None if limit is None else max(0, limit - end)))
    return Markup().join(parts)
