"""Prompt texts: files beside their modules, or the user's own, with places to fill.

A place is a name in double braces, such as ``{{response}}``.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from heedful.core.errors import HeedfulWarning, UsageError
from heedful.core.files import contents

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

PLACES = {
    "conversation": "the turns up to the one to answer, each fenced",
    "response": "the response to judge, fenced",
    "checklist": "the constraints, fenced, with what code has counted",
    "reference": "the reference answer, fenced; nothing where there is none",
    "format": "how to reply, as the prompt's parser reads it",
    "mark": "the mark that the fences of this prompt carry",
    "raw_instruction": "the one turn to answer, without fences",
    "raw_response": "the response to judge, without fences",
    "raw_checklist": "the constraints, without fences",
}
"""Places that a prompt may have, and what fills them. The raw ones are for published prompts, which
know no fences: they are filled with the data's own characters."""

_NEEDED = (("response", "raw_response"), ("checklist", "raw_checklist"))
_RAW = "raw_"
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@cache
def shipped(name: str, package: str = "heedful.judges.prompts") -> str:
    """Read a prompt text that heedful ships, from this package or another."""
    from importlib import resources

    return resources.files(package).joinpath(name).read_text(encoding="utf-8").strip()


def custom(
    path: Path,
    places: Collection[str] = tuple(PLACES),
    needed: Sequence[Sequence[str]] = _NEEDED,
) -> str:
    """Read a user's prompt text, to the byte: published prompts end in white space, too."""
    try:
        text = contents(path).decode("utf-8-sig")
    except OSError as error:
        what = f"the prompt cannot be read: {error.strerror or error}"
        raise UsageError(what, where=str(path), hint="give the path of a text file") from error
    except UnicodeDecodeError as error:
        what = f"the prompt is not UTF-8 (byte {error.start})"
        raise UsageError(what, where=str(path), hint="save it as UTF-8") from error
    return checked(text, str(path), places, needed)


def checked(
    text: str,
    where: str = "prompt",
    places: Collection[str] = tuple(PLACES),
    needed: Sequence[Sequence[str]] = _NEEDED,
) -> str:
    """Return a user's prompt text if it has the places that it needs, and no others."""
    used = _PLACE.findall(text)
    known = ", ".join(f"{{{{{name}}}}}" for name in places)
    for name in used:
        if name not in places:
            what = f"the prompt has {{{{{name}}}}}, which nothing fills"
            raise UsageError(what, where=where, hint=f"use one of {known}")
    for group in needed:
        if not any(name in used for name in group):
            name = group[0]
            what = f"the prompt has no {{{{{name}}}}}, so the model would not see it"
            raise UsageError(what, where=where, hint=f"add {{{{{name}}}}} where it belongs")
    raw = sorted({name for name in used if name.startswith(_RAW)})
    if not raw:
        return text
    named = " and ".join(f"{{{{{name}}}}}" for name in raw)
    warnings.warn(
        f"{where}: what {named} stands for has no fences: if it poses as instructions or verdicts, "
        "it may be believed",
        HeedfulWarning,
        stacklevel=3,
    )
    return text


@lru_cache(maxsize=64)
def with_format(template: str, form: str, package: str = "heedful.judges.prompts") -> str:
    """Put the way to reply, a text that a package ships, into a prompt."""
    return fill(template, {"format": shipped(form, package)})


def fill(template: str, places: Mapping[str, str]) -> str:
    """Fill places in one pass: what is filled in is never searched, and other places stay."""
    return "".join(places.get(name, text) for name, text in _pieces(template))


def asks_for(template: str, *places: str) -> bool:
    """Tell whether a prompt text has a place of one of these names."""
    return any(name in places for name, _ in _pieces(template))


@lru_cache(maxsize=64)
def _pieces(template: str) -> tuple[tuple[str, str], ...]:
    """Divide a template into places, by name, and what stands between them, without a name."""
    pieces = []
    at = 0
    for place in _PLACE.finditer(template):
        pieces += [("", template[at : place.start()]), (place[1], place[0])]
        at = place.end()
    return (*pieces, ("", template[at:]))


def version(parser: int, *texts: str) -> str:
    """Name a prompt and its parser: other words or another parser give another version."""
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
    return f"{parser}-{digest.hexdigest()[:12]}"
