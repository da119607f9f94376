"""Making a checklist for every sample of a source, durably."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from heedful.core.errors import InputError, ModelError
from heedful.core.nouns import Constraint, Message
from heedful.engine.call_cache import attempt, attempts
from heedful.engine.options import refuse_unknown, split_options
from heedful.engine.purpose import CHECKLIST_TOKENS, Purpose
from heedful.jobs.checklists.prompt import ChecklistOptions, make
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, called, keep, refuse_uninstructed
from heedful.judges.prompts.base import CUT_OFF
from heedful.models.base import Sampling
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.compiler.numerals import number_at

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Expense, Sample
    from heedful.engine.inputs import Data
    from heedful.jobs.checklists.prompt import ChecklistPrompt
    from heedful.jobs.rows import Generation
    from heedful.models.base import Model


ASSUMED = f"{CHECKLIST_TOKENS} a checklist; reasoning and repeated requests come on top"


def checklist(
    data: Data,
    *,
    model: str | Model,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[ChecklistOptions],
) -> Generation:
    """Make a checklist for every sample that has none.

    A model lists the constraints of the instruction; each must stand word for word in a turn of
    the user or in the system prompt. One that does not is requested again once, and then left
    out. Labels and recorded verdicts on an earlier checklist are left out too. A row is a sample
    with its ``checklist``; its field ``decomposition`` says who made it and what was rejected.

    Args:
        data: a file in any format that heedful reads, or samples.
        model: lists the constraints: a model, or its name.
        sampling: temperature and so on; by default temperature 0.
        output: where to write the rows, as JSON lines.
        options: ``prompt``, ``prompt_file`` and ``overwrite``, see
            :class:`~heedful.jobs.options.ChecklistOptions`; how the data is read and the
            job is run, see :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`; for a model given by name, how it is
            called, see :class:`~heedful.models.options.CallOptions`: ``base_url``, ….

    Returns:
        The rows in input order, and the summary; it raises what :func:`heedful.evaluate` does.
    """
    refuse_unknown(options, ChecklistOptions)
    prompt, file = options.pop("prompt", "plain"), options.pop("prompt_file", None)
    overwrite = options.pop("overwrite", False)
    if isinstance(prompt, str):
        prompt = make(prompt, prompt_file=None if file is None else Path(file))
    (writer,), sampling, rest = called([model], sampling, options)
    reading, running = split_options(rest)
    recipe = _recipe(Decomposer(writer, prompt, sampling), overwrite=overwrite)
    return RowsJob(data, recipe, output=output, **reading).run(**running)


def _recipe(decomposer: Decomposer, *, overwrite: bool) -> Recipe:
    def tasks(sample: Sample) -> Iterator[Task]:
        if sample.checklist and not overwrite:
            yield Task(sample, keep)
            return
        update = {"checklist": (), "labels": None, "recording": None}
        row = sample.model_copy(update=update)

        async def make() -> Addition:
            return _addition(await decomposer.decompose(row), decomposer)

        yield Task(row, make)

    config = {**decomposer.config, "overwrite": overwrite}
    about = {"models": [decomposer.model.name], "prompt": config["prompt"]}
    return Recipe("decomposition", about, {"command": "checklist", **config}, ASSUMED, tasks)


def _addition(result: Decomposition, decomposer: Decomposer) -> Addition:
    counts = {
        "constraints": len(result.checklist),
        "rejected": len(result.rejected),
        "duplicates": len(result.duplicates),
    }
    expenses = tuple(result.expenses)
    if result.problem is not None:
        return Addition(problem=result.problem, expenses=expenses, counts=counts)
    about: dict[str, Any] = {"model": decomposer.model.name, "prompt": decomposer.prompt.name}
    if result.rejected:
        about["rejected"] = result.rejected
    constraints = [
        constraint.model_dump(mode="json", exclude_defaults=True) for constraint in result.checklist
    ]
    return Addition(
        fields={"checklist": constraints, "decomposition": about},
        expenses=expenses,
        counts=counts,
    )


_SPEECHLESS = ("assistant", "model", "tool", "function")
"""Roles that set no constraints."""


@dataclass(slots=True)
class Decomposition:
    """An instruction taken apart."""

    checklist: list[Constraint] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)  # what stands in no turn, or invents
    duplicates: list[str] = field(default_factory=list)
    problem: str | None = None  # why there is no checklist
    expenses: list[Expense] = field(default_factory=list)


class Decomposer:
    """Takes instructions apart with a model."""

    def __init__(
        self,
        model: Model,
        prompt: ChecklistPrompt | str = "plain",
        sampling: Sampling | None = None,
    ) -> None:
        """Make the decomposer."""
        self.model = model
        self.prompt = make(prompt) if isinstance(prompt, str) else prompt
        self.sampling = sampling or Sampling()

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompt with its version, and the sampling."""
        return {
            "model": dict(self.model.config),
            "prompt": f"{self.prompt.name} {self.prompt.version}",
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def decompose(self, sample: Sample) -> Decomposition:
        """Request a sample's checklist, and once more what is not in the instruction.

        A call that fails for good is the decomposition's problem.
        """
        refuse_uninstructed(sample)
        listed = _Listed(sample)
        result = Decomposition()
        request = self.prompt.render(sample)
        messages: Sequence[Message] = request
        reason = ""
        purpose = Purpose(self.model.name, tokens=CHECKLIST_TOKENS)
        for number in attempts():
            try:
                completion = await attempt(
                    number, self.model, messages, self.sampling, purpose, result.expenses
                )
            except ModelError as error:  # what was paid before it counts all the same
                result.problem = str(error)
                return result
            if completion.cut_off:
                reason = CUT_OFF
                continue
            try:
                proposed = self.prompt.parse(completion.text)
            except InputError as error:
                reason = error.what
                continue
            result.rejected = [
                constraint.text for constraint in proposed if not listed.add(constraint)
            ]
            if not result.rejected:
                break
            reason = "nothing that the reply lists stands in the instruction word for word"
            reply = Message(role="assistant", content=completion.text)
            messages = [*request, reply, self.prompt.again(sample, result.rejected)]
        result.checklist, result.duplicates = listed.checklist()
        if not result.checklist:
            result.problem = f"no checklist: {reason}"
        return result


class _Listed:
    """The constraints that stand in the instruction."""

    def __init__(self, sample: Sample) -> None:
        self._instruction = Instruction(
            ["" if turn.role in _SPEECHLESS else turn.content for turn in sample.conversation]
        )
        self._constraints: list[tuple[Place, Constraint]] = []

    def add(self, constraint: Constraint) -> bool:
        """Add a constraint in the instruction's own words; false if they are not there.

        A question stays in the model's words, if what it comes from is there.
        """
        last = self._constraints[-1][0] if self._constraints else None
        source = constraint.source_span
        place = self._instruction.find(constraint.text if source is None else source, last)
        if place is None or (source and invents(constraint.text, self._instruction.turns)):
            return False
        words = self._instruction.text(place)
        update: dict[str, Any] = {"text": words} if source is None else {"source_span": words}
        text = update.get("text", constraint.text)
        update["check"] = compile_constraint(text).check
        self._constraints.append((place, constraint.model_copy(update=update)))
        return True

    def checklist(self) -> tuple[list[Constraint], list[str]]:
        """Return the constraints in the instruction's order, and what they say twice."""
        distinct: list[tuple[Place, Constraint]] = []
        duplicates = []
        # Of two that begin alike the longer comes first, so that it stays.
        for place, constraint in sorted(
            self._constraints, key=lambda placed: (placed[0].turn, placed[0].start, -placed[0].end)
        ):
            inside = constraint.source_span is None and any(
                _holds(other, place) for other, _ in distinct
            )
            if inside or any(constraint.text == other.text for _, other in distinct):
                duplicates.append(constraint.text)
            else:
                distinct.append((place, constraint))
        return [constraint for _, constraint in distinct], duplicates


def _holds(outer: Place, inner: Place) -> bool:
    return outer.turn == inner.turn and outer.start <= inner.start and inner.end <= outer.end


_QUOTES = str.maketrans("“”„‟«»「」『』‘’‚‛", '""""""""""' + "''''")
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|(?<!\w)[‘'][^’']*[’'](?!\w)")
_AROUND = " \"'*`"
"""Characters that models put around a quotation."""

_SPACED_SCRIPTS_END = 0x590
"""Latin, Greek, Cyrillic and Armenian, which set spaces between words, lie below."""


class Place(NamedTuple):
    """Where a stretch of text stands: the turn, and its first and last character + 1 there."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text with some differences of spelling taken away."""

    text: str
    origin: Sequence[int]

    def find(self, words: str, begin: int = 0) -> tuple[int, int] | None:
        """Return where words stand in the text as it was, at a place or behind it.

        Stretches that begin or end within a word do not count: "use 10" is not in "use 100".
        """
        at = self.text.find(words, bisect_left(self.origin, begin))
        while at >= 0:
            end = at + len(words)
            if not _within_word(self.text, at) and not _within_word(self.text, end):
                return self.origin[at], self.origin[end - 1] + 1
            at = self.text.find(words, at + 1)
        return None


class Instruction:
    """The turns in which constraints may stand."""

    def __init__(self, turns: Sequence[str]) -> None:
        """Prepare to find words."""
        self.turns = turns
        self._readings: dict[tuple[Callable[[str], _Reading], int], _Reading] = {}

    def find(self, words: str, after: Place | None = None) -> Place | None:
        """Find words."""
        if not any(character.isalnum() for character in words):
            return None
        for read in (_as_it_is, _spaces_alike, _spelling_alike):
            wanted = read(words).text.strip(_AROUND if read is _spelling_alike else None)
            if not wanted:
                continue
            if after is not None:
                place = self._search(read, wanted, after.turn, after.end)
                if place:
                    return place
            place = self._search(read, wanted)
            if place:
                return place
        return None

    def text(self, place: Place) -> str:
        """Return the text at a place."""
        return self.turns[place.turn][place.start : place.end]

    def _search(
        self, read: Callable[[str], _Reading], wanted: str, turn: int = 0, begin: int = 0
    ) -> Place | None:
        for number in range(turn, len(self.turns)):
            span = self._reading(read, number).find(wanted, begin if number == turn else 0)
            if span:
                return Place(number, *span)
        return None

    def _reading(self, read: Callable[[str], _Reading], turn: int) -> _Reading:
        """Read a turn once, and only in the ways that are needed."""
        if (read, turn) not in self._readings:
            self._readings[read, turn] = read(self.turns[turn])
        return self._readings[read, turn]


def invents(question: str, turns: Sequence[str]) -> bool:
    """Tell whether a question has a number or quoted words that no turn has.

    Numbers count by value, in digits and in words. One is left out: "a" and "one" change places.
    """
    instruction = "\n".join(turns)
    spelled = _spelling_alike(instruction).text
    quoted = (_spelling_alike(match[0][1:-1]).text.strip() for match in _QUOTED.finditer(question))
    if any(words not in spelled for words in quoted):
        return True
    return not _numbers(_QUOTED.sub(" ", question)) - {1} <= _numbers(instruction)


def _numbers(text: str) -> set[int]:
    form = unicodedata.normalize("NFKC", text).casefold()
    numbers, at = set(), 0
    while at < len(form):
        number = None if at and _within_word(form, at) else number_at(form, at)
        if number is not None:
            numbers.add(number[0])
        at = max(at + 1, number[1] if number else 0)
    return numbers


def _within_word(text: str, at: int) -> bool:
    """Tell whether a place parts a word or a number of a script with spaces between words."""
    if not 0 < at < len(text):
        return False
    beside = text[at - 1 : at + 1]
    return beside.isalnum() and all(ord(character) < _SPACED_SCRIPTS_END for character in beside)


def _as_it_is(text: str) -> _Reading:
    return _Reading(text, range(len(text)))


def _spaces_alike(text: str) -> _Reading:
    return _gathered(text, lambda character: character)


def _spelling_alike(text: str) -> _Reading:
    reading = _gathered(text, _plain)
    # Judged by what is written: a full-width colon is wide, the plain one it is read as is not.
    wide = [unicodedata.east_asian_width(text[place]) in "WF" for place in reading.origin]
    places = [
        place
        for place, character in enumerate(reading.text)
        if character != " " or not any(wide[max(place - 1, 0) : place + 2])
    ]
    return _Reading(
        "".join(reading.text[place] for place in places),
        [reading.origin[place] for place in places],
    )


def _gathered(text: str, spell: Callable[[str], str]) -> _Reading:
    """Respell each character, and make one space of each stretch of white space."""
    characters: list[str] = []
    origin: list[int] = []
    for place, written in enumerate(text):
        for character in " " if written.isspace() else spell(written):
            if character == " " and characters[-1:] == [" "]:
                continue
            characters.append(character)
            origin.append(place)
    return _Reading("".join(characters), origin)


def _plain(character: str) -> str:
    """Spell a character in its plain width and in lower case; what has no width goes."""
    if character.isascii():
        return character.lower()
    if unicodedata.category(character) == "Cf":
        return ""
    return unicodedata.normalize("NFKC", character.translate(_QUOTES)).casefold()
