"""Protocols: how a judge is asked, kept in a file that every command takes.

``{"judge": "checklist", "model": ["critic"], "votes": 3, "criteria": {"Is polite.": "Thanks the
reader."}, "notes": {"tone": "A greeting alone isn't a tone."}}``: the judge, its options, criteria
that are shown in other words, and notes below the criteria of a type.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError
from heedful.core.outputs import write_json

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Critique, Sample
    from heedful.judges.base import Judge

KINDS: Mapping[str, tuple[type, ...]] = {
    "model": (list,),
    "prompt": (str,),
    "explain": (bool,),
    "measure": (bool,),
    "per_call": (int, type(None)),
    "votes": (int,),
    "min_confidence": (int, float),
    "temperature": (int, float),
    "reasks": (int,),
}
"""Options that a protocol may set. Addresses and keys aren't among them: a file may come from
somebody else."""

ALL = "*"
"""In ``notes``, the criteria of every type."""


@dataclass(frozen=True, slots=True)
class AskingProtocol:
    """A judge by name, its options, and what its criteria are shown as."""

    judge: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    criteria: Mapping[str, str] = field(default_factory=dict)
    """By the text of a criterion, the text that the judge is shown."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By the type of a criterion, or :data:`ALL`, what the judge is shown below it."""

    def record(self) -> dict[str, Any]:
        """Write it as a file has it."""
        parts = {"judge": self.judge, "criteria": dict(self.criteria), "notes": dict(self.notes)}
        options = {name: plain(self.options[name]) for name in KINDS if name in self.options}
        if "model" in options and not isinstance(options["model"], list):
            options["model"] = [options["model"]]
        return {name: each for name, each in parts.items() if each} | options

    def save(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write a file, with what is known of the protocol."""
        write_json(path, {**self.record(), "about": dict(about)})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> AskingProtocol:
        """Read a file."""
        try:
            content: Any = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"the protocol cannot be read: {error}", where=str(path)) from error
        if not isinstance(content, dict):
            raise InputError("the protocol isn't a JSON object", where=str(path))
        content.pop("about", None)
        judge = content.pop("judge", None)
        texts = {name: content.pop(name, {}) for name in ("criteria", "notes")}
        if not isinstance(judge, str | None) or not all(map(_is_texts, texts.values())):
            what = "judge isn't text, or criteria and notes don't give a text for each text"
            raise InputError(what, where=str(path))
        for name, value in content.items():
            if name not in KINDS:
                hint = f"there are judge, criteria, notes, {', '.join(KINDS)}"
                raise InputError(f"a protocol has no {name!r}", where=str(path), hint=hint)
            if type(value) not in KINDS[name] or (name == "model" and not _is_names(value)):
                raise InputError(f"{name} is {value!r:.60}", where=str(path))
        return cls(judge, content, **texts)


def plain(value: Any) -> Any:
    """Return an option as JSON has it: models are named."""
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    return value if value is None or isinstance(value, str | int | float) else str(value.name)


def _is_texts(value: object) -> bool:
    pairs = value.items() if isinstance(value, dict) else [(None, None)]
    return all(isinstance(key, str) and isinstance(text, str) for key, text in pairs)


def _is_names(value: Sequence[object]) -> bool:
    return bool(value) and all(isinstance(name, str) for name in value)


class Reworded:
    """Shows a judge criteria as a protocol words them; the verdicts are on the sample's own."""

    def __init__(self, judge: Judge, protocol: AskingProtocol) -> None:
        self.asked = judge
        self._criteria, self._notes = protocol.criteria, protocol.notes

    @property
    def name(self) -> str:
        """The judge's."""
        return self.asked.name

    @property
    def config(self) -> Mapping[str, Any]:
        """The judge's, and the words."""
        return {**self.asked.config, "criteria": self._criteria, "notes": self._notes}

    def shown(self, sample: Sample) -> Sample:
        """Return the sample as the judge is shown it."""
        return sample.model_copy(update={"checklist": tuple(map(self._worded, sample.checklist))})

    def _worded(self, constraint: Constraint) -> Constraint:
        text = self._criteria.get(constraint.text, constraint.text)
        notes = [self._notes[kind] for kind in (constraint.type or "", ALL) if kind in self._notes]
        text = "\n".join([text, *notes])
        return constraint.model_copy(update={"text": text})

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge the sample."""
        return await self.asked.judge(self.shown(sample), requested)
