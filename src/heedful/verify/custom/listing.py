"""Verifiers of how things are listed: between commas, behind one bullet, at the end."""

from __future__ import annotations

import re
from typing import Literal

from heedful.core import scripts
from heedful.verify.base import Finding, verifier
from heedful.verify.custom.counting import CountRange, count_units
from heedful.verify.custom.parts import Outcome, decide
from heedful.verify.custom.structure import amounts, bounds, within
from heedful.verify.custom.units import NOUNS, plural
from heedful.verify.text.layout import Layout
from heedful.verify.text.prepared import Response  # noqa: TC001 - read at run time

# --- between signs --------------------------------------------------------------------------------

Separator = Literal["comma", "semicolon", "bar", "enumeration_comma"]
_SEPARATORS = {"comma": ",，", "semicolon": ";；", "bar": "|｜", "enumeration_comma": "、"}
_LONGEST_PIECE = 5
"""Words, or four times as many Chinese characters, of what is listed rather than told."""
_FEWEST = 3
"""Pieces that make a list where no number is asked for: "Yes, sure" is none."""
_LISTED_OTHERWISE = re.compile(r"[,，;；|｜、/\n\t]|\s(?:and|or)\s|[和及或]")
_TOLD = re.compile(r"[.!?:](?:\s|$)|[。！？：]|\d,\d{3}")
_WORD = re.compile(f"[{scripts.HAN}]{{1,4}}|[^\\s{scripts.HAN}]+")


def _describe_delimited(sign: Separator, at_least: int | None, at_most: int | None) -> str:
    number = (
        "items" if at_least is None and at_most is None else f"{bounds(at_least, at_most)} items"
    )
    return f"List {number} with {_SEPARATORS[sign][0]!r} between them."


@verifier("heedful:delimited", describe=_describe_delimited)
def delimited(
    response: Response, *, sign: Separator, at_least: int | None = None, at_most: int | None = None
) -> Finding:
    """The response is a list, on one line, whose items a sign parts."""
    whole = (response.text if sign == "bar" else response.layout.plain).strip()
    text = whole.rstrip(".。")
    pieces = re.split(f"[{_SEPARATORS[sign]}]", text)
    found = f"{len(pieces) - 1} of {_SEPARATORS[sign][0]!r}"
    least = at_least or 2
    if len(pieces) == 1 and least == 1:
        return decide(None, found)
    if len(pieces) < least:
        # A single thing is listed without a sign; what is told, or parted otherwise, isn't.
        listed = (
            at_least is None and len(_WORD.findall(text)) <= _LONGEST_PIECE and "\n" not in text
        )
        return decide(None if listed else False, found)
    bare = [re.sub(r"^(?:and|or)\s|^[和及或]", "", piece.strip()) for piece in pieces]
    sizes = [len(_WORD.findall(piece)) for piece in bare]
    told = max(sizes) > 1 if whole != text else at_least is None and len(bare) < _FEWEST
    fits = all(0 < size <= _LONGEST_PIECE for size in sizes)
    other = _TOLD.search(text) or any(map(_LISTED_OTHERWISE.search, bare))
    sure = fits and not told and not other
    number = CountRange(len(bare), len(bare))
    return decide(within(number, at_least, at_most) if sure else None, found)


# --- behind a bullet ------------------------------------------------------------------------------

_ALIKE = ("-–—‐−", "*＊∗", "•·●○▪◦‣∙⋅", "+＋")
_MARKED = re.compile(r"\s*([^\w\s])")


@verifier("heedful:bullet_sign", describe="Mark each bullet point with '{sign}'.")
def bullet_sign(response: Response, *, sign: str) -> Finding:
    """There are bullet points, and all have one sign."""
    lines = response.layout.lines
    marked = [line for line in lines if line.kind == "bullet"]
    count = count_units(response.layout, "bullet_points") or CountRange(0, 0)
    signs = [match[1] for line in marked if (match := _MARKED.match(line.text))]
    found = f"bullets: {' '.join(dict.fromkeys(signs))}" if signs else "no bullet points"
    if not marked:
        return decide(None, found)  # perhaps there was nothing to list
    alike = next((group for group in _ALIKE if sign in group), sign)
    depth = min(line.depth for line in marked)
    outer = [each for each, line in zip(signs, marked, strict=True) if line.depth == depth]
    outcome: Outcome = None
    if set(signs) == {sign}:
        outcome = True if len(marked) == count.high else None
    elif any(each not in alike for each in outer):
        outcome = False
    return decide(outcome, found)


# --- at the end -----------------------------------------------------------------------------------

_LAST = {
    "hashtags": re.compile(r"(?:[#＃](?<!\w.)[^\s#＃]++\s*+)++$"),
    "emojis": re.compile(rf"[\s{scripts.PICTOGRAPHS}\u200d\ufe0f\U0001f3fb-\U0001f3ff]+$"),
}


@verifier(
    "heedful:at_end",
    describe=lambda unit, at_least, at_most: (
        f"End with {bounds(at_least, at_most)}"
        f" {NOUNS[unit][0] if at_most == 1 else plural(unit)}, and use none before."
    ),
)
def at_end(
    response: Response,
    *,
    unit: Literal["hashtags", "emojis"],
    at_least: int | None = None,
    at_most: int | None = None,
) -> Finding:
    """So many hashtags or emojis stand at the end of the response."""
    text = response.text.rstrip()
    last = _LAST[unit].search(text[-_LONGEST_END:])
    total = count_units(response.layout, unit) or CountRange(0, 0)
    here = count_units(Layout(last[0], titled=False), unit) if last else CountRange(0, 0)
    found = f"{amounts(here or total, unit)} at the end of {amounts(total, unit)}"
    if total.high < (at_least or 0):
        return Finding(met=False, found=found)
    return decide(within(total, at_least, at_most) if here == total else None, found)


_LONGEST_END = 1000
"""Characters."""
