"""Which responses people prefer: the rows' field ``preferred_to``, and what is odd in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from heedful.core.errors import RowError
from heedful.core.text import amount

if TYPE_CHECKING:
    from heedful.analysis.meta.target import Target
    from heedful.core.nouns import Sample


def preferred(sample: Sample) -> tuple[str, ...] | None:
    """Read a row's field ``preferred_to``: the ids of rows that are worse responses."""
    given = (sample.model_extra or {}).get("preferred_to")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, str | int) for each in given):
        raise RowError("preferred_to isn't a list of ids", hint="name the worse responses' rows")
    worse = tuple(dict.fromkeys(map(str, given)))
    if sample.id in worse:
        raise RowError("preferred_to names the row itself", hint="name the worse responses' rows")
    return worse


def checked(targets: dict[str, Target], spare: dict[str, Target]) -> list[str]:
    """Complete the rows by those without labels that others name, and leave out odd pairs."""
    odd: dict[str, list[str]] = {"absent": [], "other": [], "both": []}
    for target in list(targets.values()):
        kept = []
        for name in target.preferred_to or ():
            if name not in targets and name in spare:
                targets[name] = spare[name]
            worse = targets.get(name)
            pair = f"{target.id} > {name}"
            if worse is not None and worse.cluster != target.cluster:
                odd["other"].append(pair)
                continue
            kept.append(name)
            if worse is None:
                odd["absent"].append(pair)
            elif target.id in (worse.preferred_to or ()) and target.id < name:
                odd["both"].append(pair)
        if len(kept) < len(target.preferred_to or ()):
            targets[target.id] = replace(target, preferred_to=tuple(kept))
    words = {
        "absent": "with rows that are not in the file, which stay undecided",
        "other": "of responses to different instructions, which are left out",
        "both": "said both ways, of which one is wrong",
    }
    return [
        f"preferred_to: {amount(len(pairs), 'pair')} {words[kind]}: {pairs[0]}"
        + (", …" if len(pairs) > 1 else "")
        for kind, pairs in odd.items()
        if pairs
    ]
