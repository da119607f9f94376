"""Expressions that gates look for, read from files beside this one."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=4)
def patterns(kind: str) -> list[tuple[tuple[str, ...], re.Pattern[str]]]:
    """Read the expressions of a gate from its file, each with the substrings before it."""
    from importlib import resources

    text = resources.files(__package__).joinpath(f"{kind}.txt").read_text(encoding="utf-8")
    flags = re.IGNORECASE | re.MULTILINE
    patterns = []
    hints: tuple[str, ...] = ()
    for line in text.splitlines():
        if line.startswith("@"):
            hints = tuple(line[1:].replace("NOUN", " ".join(_NOUNS)).split())
        elif line and not line.startswith("#"):
            patterns.append((hints, re.compile(line.replace("NOUN", NOUN), flags)))
    return patterns


_NOUNS = ("constraint", "requirement", "criteri", "instruction", "rubric", "guideline", "condition")
NOUN = (
    r"(?:constraints?|requirements?|criteri(?:a|on)|instructions?|rubrics?|guidelines|"
    r"conditions?)"
)


def self_grading(text: str) -> str | None:
    """Find where a text, in normal form, grades itself; ``None`` where it doesn't plainly."""
    return matched("self_grading", text)


def matched(kind: str, text: str, instruction: str = "") -> str | None:
    """Quote what an expression of a file matches that the instruction doesn't match.

    An expression is tried only on a text that holds one of the substrings named before it, which
    takes a fraction of the time.
    """
    folded = text.casefold()
    for hints, pattern in patterns(kind):
        if hints and not any(hint in folded for hint in hints):
            continue
        match = pattern.search(text)
        if match is not None and not _asked_for(match, instruction):
            return repr(match[0].strip()[:60])
    return None


def _asked_for(match: re.Match[str], instruction: str) -> bool:
    """Tell whether an instruction matches too, or names the JSON key that a text matches with."""
    if not instruction:
        return False
    key = re.search(r"[\"'](\w+)[\"'] ?:", match[0])
    return match.re.search(instruction) is not None or (
        key is not None and re.search(rf"\b{key[1]}\b", instruction, re.IGNORECASE) is not None
    )
