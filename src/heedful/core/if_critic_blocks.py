"""IF-Critic's blocks between numbered markers, one for each constraint.

Source: IF-Critic (arXiv 2511.01014) and its released data. A checklist's block is ``[要求k-开始]``,
``要求：…``, ``[要求k-结束]``; a critique's has more lines below the constraint.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core.errors import InputError
from heedful.core.text import unix_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER = re.compile(r"^[ \t]*\[要求(\d+)-(开始|结束)\][ \t]*$", re.MULTILINE)
CONSTRAINT = re.compile(r"\s*要求：")


def write_checklist(texts: Sequence[str]) -> str:
    """Write constraints as a checklist, as :func:`parse_checklist` reads it."""
    return "\n\n".join(
        f"[要求{number}-开始]\n要求：{text.strip()}\n[要求{number}-结束]"
        for number, text in enumerate(texts, start=1)
    )


def parse_checklist(text: str) -> list[str]:
    """Read a checklist: the constraints' texts, without outer white space."""
    constraints = []
    for number, block in enumerate(blocks(unix_lines(text)), start=1):
        start = CONSTRAINT.match(block)
        constraint = block[start.end() :].strip() if start else ""
        if not constraint:
            raise InputError(f"block {number} has no 要求：")
        constraints.append(constraint)
    return constraints


def blocks(text: str) -> list[str]:
    """Return the text between each pair of markers, which must be numbered 1 to n."""
    contents: list[str] = []
    at = 0
    opened = False
    for marker in MARKER.finditer(text):
        number = len(contents) + 1
        expected = (str(number), "结束" if opened else "开始")
        if marker.groups() != expected:
            raise InputError(
                f"block {number}: {marker[0].strip()} where [要求{'-'.join(expected)}] is due"
            )
        between = text[at : marker.start()]
        if opened:
            contents.append(between)
        elif between.strip():
            raise InputError(f"text outside the blocks, before block {number}")
        opened = not opened
        at = marker.end()
    if opened:
        raise InputError(f"block {len(contents) + 1} is not closed")
    if not contents:
        raise InputError("no block [要求1-开始] … [要求1-结束]")
    if text[at:].strip():
        raise InputError(f"text outside the blocks, after block {len(contents)}")
    return contents
