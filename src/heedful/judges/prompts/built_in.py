"""What heedful's own prompts share: a text beside the module, or the user's, around a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.template import shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Message, Sample
    from heedful.judges.prompts.block_layout import Language


class BuiltIn:
    """A prompt that fills a text; its options are the fields of the subclass, a dataclass."""

    __slots__ = ()

    name: ClassVar[str]
    explain: bool = True
    text: str | None
    parser: ClassVar[int]  # a reply that is read otherwise needs another number
    languages: ClassVar[tuple[Language, ...]] = ("en",)  # of two, that of the last user message

    @property
    def version(self) -> str:
        """Of the prompt in all languages and the parser."""
        return version(self.parser, *map(self._template, self.languages))

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt."""
        language = self.languages[0]
        if len(self.languages) > 1:
            language = layout.language_of(layout.last_user_turn(sample))
        checklist, counted = self._listed(constraints), ""
        if checklist is None:
            checklist = layout.numbered([*map(self._asked, constraints)], measurements, language)
        else:
            counted = layout.facts(constraints, measurements)
        text = self._template(language)
        return layout.messages(text, sample, checklist, language, counted=counted)

    def _listed(self, constraints: Sequence[Constraint]) -> str | None:  # noqa: ARG002 - a hook
        """Write a checklist of another form, without what code has counted."""
        return None

    def _asked(self, constraint: Constraint) -> Constraint:
        return constraint

    def _template(self, language: Language) -> str:
        stem = f"{self.name}.{language}" if len(self.languages) > 1 else self.name
        form = f"{stem}.{'explain' if self.explain else 'verdicts'}.txt"
        return with_format(self.text or shipped(f"{stem}.txt"), form)
