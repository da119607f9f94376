"""Protocols: how a judge is asked, kept in a file that every command takes.

``{"judge": "checklist", "options": {"model": ["critic"], "votes": 3}, "criteria": {"Is polite.":
"Thanks the reader."}, "notes": {"tone": "A greeting alone isn't a tone."}}``
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from heedful.core.errors import InputError
from heedful.core.outputs import write_json

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Critique, Sample
    from heedful.judges.base import Judge


class AskingOptions(BaseModel):
    """Options that a protocol may set.

    Addresses and keys aren't among them: a file may come from somebody else.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    model: list[str] = []
    prompt: str = ""
    explain: bool = True
    measure: bool = False
    per_call: int | None = None
    votes: int = 1
    min_confidence: float = 0.0
    temperature: float = 0.0
    reasks: int = 1


OPTIONS = tuple(AskingOptions.model_fields)

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
        options = {name: plain(each) for name, each in self.options.items() if name in OPTIONS}
        if "model" in options and not isinstance(options["model"], list):
            options["model"] = [options["model"]]
        words = {"criteria": dict(self.criteria), "notes": dict(self.notes)}
        return {"judge": self.judge, "options": options, **words}

    def save(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write a file, with what is known of the protocol."""
        write_json(path, {**self.record(), "about": dict(about)})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> AskingProtocol:
        """Read a file."""
        try:
            given = ProtocolFile.model_validate_json(Path(path).read_text(encoding="utf-8-sig"))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            what = f"the protocol cannot be read: {place or 'the file'}: {first['msg']}"
            raise InputError(what, where=str(path)) from None
        except (OSError, ValueError) as error:
            raise InputError(f"the protocol cannot be read: {error}", where=str(path)) from error
        options = given.options.model_dump(exclude_unset=True)
        return cls(given.judge, options, given.criteria, given.notes)


class ProtocolFile(BaseModel):
    """What a file holds."""

    model_config = ConfigDict(extra="forbid", strict=True)

    judge: str | None = None
    options: AskingOptions = AskingOptions()
    criteria: dict[str, str] = {}
    notes: dict[str, str] = {}
    about: dict[str, Any] = {}


def plain(value: Any) -> Any:
    """Return an option as JSON has it: models are named."""
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    return value if value is None or isinstance(value, str | int | float) else str(value.name)


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
