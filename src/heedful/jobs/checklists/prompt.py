"""The prompts that ask for a checklist, and the parsers of the replies.

A reply in our own format is, for each constraint k::

    <ck>
    TYPE: numerical/word
    PRIORITY: primary
    TEXT: the words, copied from the instruction
    </ck>

in Chinese with ``类型：``, ``优先级：`` and ``原文：``. Both languages are always read. A rubric
has a question of the model's own in place of the text, and the words that it comes from::

    QUESTION: Does the response have at most 100 words?
    FROM: the words, copied from the instruction
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.errors import InputError, UsageError
from heedful.core.if_critic_blocks import parse_checklist, write_checklist
from heedful.core.nouns import Constraint, Message
from heedful.jobs.options import GenerationOptions
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.plain import tagged
from heedful.judges.prompts.template import custom, fill, shipped, version

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.judges.prompts.block_layout import Language


class ChecklistOptions(GenerationOptions, total=False):
    """Options of making checklists.

    Attributes:
        prompt: plain (with types and priorities), rubric (questions in the model's words) or
            if_critic (IF-Critic's published format). Default: plain.
        prompt_file: A file whose text replaces that of the prompt, with {{conversation}} in it.
        overwrite: Also replace a checklist that is there.
    """

    prompt: str | ChecklistPrompt
    prompt_file: str | os.PathLike[str] | None
    overwrite: bool


NAMES = ("plain", "rubric", "if_critic")
"""Names that :func:`make` knows."""

_PLACES = ("conversation", "raw_instruction", "format", "mark")
_NEEDED = (("conversation", "raw_instruction"),)
_PARSER = 1
_LANGUAGES: tuple[Language, ...] = ("en", "zh")

_NAME = r"^[ \t*]*(?:(?P<type>type|类型)|(?P<priority>priority|优先级)|{})[ \t*]*[:：][ \t*]*"
_FIELD, _RUBRIC_FIELD = (
    re.compile(_NAME.format(others), re.MULTILINE | re.IGNORECASE)
    for others in ("(?P<text>text|原文)", "(?P<question>question|问题)|(?P<text>from|出处)")
)
_WRITTEN: dict[Language, tuple[str, ...]] = {
    "en": ("TYPE: ", "PRIORITY: ", "TEXT: "),
    "zh": ("类型：", "优先级：", "原文："),
}
_RUBRIC: dict[Language, tuple[str, ...]] = {
    "en": (*_WRITTEN["en"][:2], "QUESTION: ", "FROM: "),
    "zh": (*_WRITTEN["zh"][:2], "问题：", "出处："),
}
_PRIORITIES = {
    "primary": "primary",
    "secondary": "secondary",
    "主需": "primary",
    "次需": "secondary",
}


@dataclass(frozen=True, slots=True)
class ChecklistPrompt:
    """A prompt for making checklists, together with the parser of its reply.

    ``plain`` and ``rubric`` are tagged blocks, in Chinese if the last user message is mostly
    Chinese; ``if_critic`` is IF-Critic's format, in Chinese, with words of the prompt that are
    ours. A file's text may replace a prompt's own.
    """

    name: str
    text: str | None = None

    @property
    def version(self) -> str:
        """Of the prompts in all languages and the parser."""
        published = self.name == "if_critic"
        names = (self.name,) if published else [f"{self.name}.{each}" for each in _LANGUAGES]
        return _version(self.text, *names)

    def render(self, sample: Sample) -> list[Message]:
        """Write the prompt; the same sample always gives the same messages."""
        language = self._language(sample)
        name = self.name if self.name == "if_critic" else f"{self.name}.{language}"
        return [_prompt(self.text, name, sample, language)]

    def again(self, sample: Sample, rejected: Sequence[str]) -> Message:
        """Ask for constraints again whose words are not in the instruction."""
        name = "rubric.again" if self.name == "rubric" else "again"
        return _again(name, self._language(sample), rejected)

    def parse(self, text: str) -> list[Constraint]:
        """Read a reply: the constraints as the model copied them, in its order.

        IF-Critic's blocks are read strictly. Around tagged blocks prose, reasoning and code fences
        are read through; a type that the taxonomy does not know and a priority that is none are
        left out.
        """
        if self.name == "if_critic":
            return [Constraint(text=words) for words in parse_checklist(answer(text))]
        questions = self.name == "rubric"
        blocks = [
            _block(block[: ends[-1]] if ends else block, questions=questions)
            for _, block, ends in tagged(text)
        ]
        constraints = [block for block in blocks if block is not None]
        if not constraints:
            what = "question and its source" if questions else "text"
            raise InputError(f"the reply has no block <c1> … </c1> with a {what}")
        return constraints

    def write(self, sample: Sample) -> str:
        """Write the reply that ``parse`` reads as the sample's checklist."""
        if self.name == "if_critic":
            return write_checklist([constraint.text for constraint in sample.checklist])
        questions = self.name == "rubric"
        names = (_RUBRIC if questions else _WRITTEN)[self._language(sample)]
        blocks = []
        for number, constraint in enumerate(sample.checklist, start=1):
            kind = constraint.subtype or constraint.type
            source = constraint.source_span if questions else None
            values = (kind, constraint.priority, constraint.text.strip(), source)
            lines = [f"{name}{value}" for name, value in zip(names, values, strict=False) if value]
            blocks.append("\n".join((f"<c{number}>", *lines, f"</c{number}>")))
        return "\n\n".join(blocks)

    def _language(self, sample: Sample) -> Language:
        if self.name == "if_critic":
            return "zh"
        return layout.language_of(layout.last_user_turn(sample))


def make(name: str, *, prompt_file: Path | None = None) -> ChecklistPrompt:
    """Make a prompt by its name, one of :data:`NAMES`; a file's text may replace its own."""
    text = None if prompt_file is None else custom(prompt_file, _PLACES, _NEEDED)
    if name not in NAMES:
        raise UsageError(
            f"no such checklist prompt: {name!r}", hint=f"use one of {', '.join(NAMES)}"
        )
    return ChecklistPrompt(name, text)


def _prompt(own: str | None, name: str, sample: Sample, language: Language) -> Message:
    """Fill the user's own prompt, or the one of this name."""
    form = fill(
        shipped(f"{name}.format.txt", __package__),
        {"types": shipped(f"types.{language}.txt", __package__)},
    )
    template = fill(_text(own, name), {"format": form})
    fence = Fence.around(layout.spoken(sample.conversation))
    places = {
        "conversation": layout.conversation(sample.conversation, fence, language),
        "mark": fence.mark,
        "raw_instruction": layout.raw_instruction(template, sample),
    }
    return layout.message(fill(template, places), sample.conversation)


def _again(name: str, language: Language, rejected: Sequence[str]) -> Message:
    fence = Fence.around(rejected)
    places = {
        "rejected": "\n\n".join(fence.wrap("TEXT", words) for words in rejected),
        "mark": fence.mark,
    }
    template = shipped(f"{name}.{language}.txt", __package__)
    return Message(role="user", content=fill(template, places))


def _text(own: str | None, name: str) -> str:
    return own or shipped(f"{name}.txt", __package__)


def _version(own: str | None, *names: str) -> str:
    shared = [f"{name}.format.txt" for name in names]
    shared += [
        f"{text}.{language}.txt"
        for text in ("again", "rubric.again", "types")
        for language in _LANGUAGES
    ]
    texts = [_text(own, name) for name in names]
    return version(_PARSER, *texts, *(shipped(name, __package__) for name in shared))


def _block(block: str, *, questions: bool) -> Constraint | None:
    """Read the part from an opening tag to the last closing tag."""
    fields: dict[str, Any] = {}
    pattern = _RUBRIC_FIELD if questions else _FIELD
    while field := pattern.search(block):
        name = field.lastgroup or ""
        block = block[field.end() :]
        if name == "text":  # the last field: what looks like another is a part of it
            fields["text"] = block.strip()
            break
        line = block.split("\n", 1)[0]
        fields[name] = line.strip(" \t*") if name == "question" else line.strip(" \t*`.。")
    if questions:
        fields["source_span"], fields["text"] = fields.get("text"), fields.pop("question", None)
    if not all(fields.get(name) for name in (("text", "source_span") if questions else ("text",))):
        return None
    kind = taxonomy.names(fields.get("type", ""))
    if kind is not None:
        fields |= {"type": kind.key.split("/")[0], "subtype": kind.key}
        if kind in taxonomy.TYPES:
            del fields["subtype"]
    else:
        fields.pop("type", None)
    fields["priority"] = _PRIORITIES.get(fields.get("priority", "").casefold())
    return Constraint.model_validate(fields)
