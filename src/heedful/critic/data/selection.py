"""Instruction selection, balanced over categories and complexity.

IF-Critic (arXiv 2511.01014) sorts its instructions into ten kinds of task and scores the complexity
of their constraints. It publishes neither the kinds nor the scale: both are ours.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from heedful.core.errors import RowError, UsageError
from heedful.core.text import amount
from heedful.critic.data import replies
from heedful.engine.options import split_options
from heedful.engine.purpose import Purpose
from heedful.jobs.rows import (
    Addition,
    Recipe,
    RowsJob,
    Task,
    check_rows_output,
    keep,
    read_and_written,
    refuse_uninstructed,
)
from heedful.judges.prompts.base import answer
from heedful.models.base import Sampling
from heedful.reporting.document import Document
from heedful.reporting.notation import NOTHING
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from heedful.core.nouns import Sample
    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions
    from heedful.jobs.rows import Generated, Generation
    from heedful.models.base import Model

K = TypeVar("K")

CATEGORIES = {
    "writing": "texts of one's own: stories, poems, letters, advertisements, speeches",
    "rewriting": "another version of a given text: polishing, shortening, another style",
    "summarisation": "the gist of given texts",
    "translation": "from one language into another",
    "extraction": "finding, labelling, sorting or tabulating what a given text contains",
    "question answering": "facts and explanations, from knowledge or from a given text",
    "reasoning": "mathematics, logic, puzzles, analysis of a case",
    "code": "programs: writing, explaining, correcting",
    "role play": "speaking as somebody, in a scene or under a system prompt's persona",
    "planning": "plans, advice, lists of ideas",
}
"""The kinds of task, with what belongs to each."""

LEVELS = range(1, 6)
"""The scale of complexity."""

TOKENS = 15

_PARSER = 1
_PROMPT = "selection"
_LINE = re.compile(
    r"^(?:[^\S\n]|[*_#-])*+(?:(?P<category>category|类别)|(?P<complexity>complexity|复杂度))"
    r"[\s*_]*[:：][\s*_`]*+(?P<value>\w(?:[\w ]*[^\W_])??)[\s*_`.。]*$",
    re.MULTILINE | re.IGNORECASE,
)


class SelectedInstructions:
    """The instructions that were chosen, read from the run's store.

    Under ``selection`` the ``summary`` has how many were ``chosen``, and for each category and
    complexity how many there were (``of``) and were ``chosen``.
    """

    def __init__(self, generation: Generation, count: int | None, seed: int) -> None:
        """Choose, in one pass over the rows."""
        self._generation = generation
        self.directory = generation.directory
        strata: dict[tuple[str, int], list[tuple[bytes, int]]] = {}
        for number, row in enumerate(generation):
            if row.sample is not None and row.problem is None:
                stratum_rows = strata.setdefault(_stratum(row.sample), [])
                stratum_rows.append((_random_rank(seed, row.id), number))
        quotas = _quotas({stratum: len(rows) for stratum, rows in strata.items()}, count)
        self._chosen = {
            number
            for stratum, rows in strata.items()
            for _, number in sorted(rows)[: quotas[stratum]]
        }
        table: dict[str, dict[str, dict[str, int]]] = {}
        for (category, complexity), rows in sorted(strata.items()):
            counts = {"of": len(rows), "chosen": quotas[category, complexity]}
            table.setdefault(category, {})[str(complexity)] = counts
        selection = {"chosen": len(self._chosen), "seed": seed, "categories": table}
        self.summary: dict[str, Any] = {**generation.summary, "selection": selection}

    def __iter__(self) -> Iterator[Generated]:
        """Yield the rows that were chosen, in input order."""
        return (row for number, row in enumerate(self._generation) if number in self._chosen)

    def write(self, path: Path) -> None:
        """Write them as JSON lines; the file appears when complete."""
        self._generation.write(path, self)


def select(
    data: Data,
    *,
    model: Model | None = None,
    count: int | None = None,
    seed: int = 0,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> SelectedInstructions:
    """Choose instructions, as many of each category and, within it, of each complexity as can be.

    A row's tags ``category`` (any word) and ``complexity`` (1 to 5) say what it is. A model names
    them where they are missing; its categories are :data:`CATEGORIES`.
    """
    if count is not None and count < 1:
        raise UsageError(f"count is {count}", hint="give at least 1")
    reading, running = split_options(options)
    if output is not None:
        check_rows_output(Path(output), read_and_written(data, running))
    job = RowsJob(data, _recipe(model, sampling or Sampling()), **reading)
    selection = SelectedInstructions(job.run(**running), count, seed)
    if output is not None:
        selection.write(Path(output))
    return selection


def _recipe(model: Model | None, sampling: Sampling) -> Recipe:
    def tasks(sample: Sample) -> Iterator[Task]:
        if "category" in sample.tags and _level(sample.tags.get("complexity")) is not None:
            yield Task(sample, keep)
            return

        async def make() -> Addition:
            if model is None:
                raise RowError(
                    "the row has no tags category and complexity",
                    hint="give them, or name a model that says what it is",
                )
            refuse_uninstructed(sample)
            return await _sorted(sample, model, sampling)

        yield Task(sample, make)

    config = {
        "command": "critic select",
        "model": dict(model.config) if model else None,
        "prompt": replies.prompt_version(_PARSER, _PROMPT),
        "sampling": sampling.model_dump(mode="json", exclude_defaults=True),
    }
    about = {"models": [model.name] if model else []}
    assumed = f"{TOKENS} an instruction; reasoning and repeated requests come on top"
    return Recipe(adds="sorted", about=about, config=config, assumptions=assumed, tasks=tasks)


async def _sorted(sample: Sample, model: Model, sampling: Sampling) -> Addition:
    """Ask a model to classify an instruction; existing tags stay."""
    language = replies.language_of(sample)
    listed = "\n".join(f"- {name}: {meaning}" for name, meaning in CATEGORIES.items())
    messages = replies.prompt(_PROMPT, sample, [], language, categories=listed)
    calls = replies.Calls()

    def read(text: str, *_: object) -> dict[int, tuple[str, int]]:
        answered = parse(text)
        return {} if answered is None else {0: answered}

    purpose = Purpose(model.name, tokens=TOKENS)
    answers = await calls.ask(model, sampling, [0], lambda _: messages, read, purpose)
    expenses = tuple(calls.expenses)
    if not answers:
        problem = next(iter(calls.failures), f"{model.name} names no category and complexity")
        return Addition(problem=problem, expenses=expenses)
    category, complexity = answers[0]
    tags = {"category": category, **sample.tags}
    if _level(sample.tags.get("complexity")) is None:
        tags["complexity"] = complexity
    return Addition(fields={"tags": tags, "sorted": {"model": model.name}}, expenses=expenses)


def parse(text: str) -> tuple[str, int] | None:
    r"""Read a reply: the category and the complexity; ``None`` unless it names one of each.

    >>> parse("CATEGORY: Role play\nCOMPLEXITY: 4")
    ('role play', 4)
    """
    reply = answer(text)
    values: dict[str, list[str]] = {"category": [], "complexity": []}
    for line in _LINE.finditer(reply):
        key = "category" if line["category"] else "complexity"
        values[key].append(" ".join(line["value"].split()).casefold())
    if [len(words) for words in values.values()] != [1, 1]:
        return None
    category, level = values["category"][0], _level(values["complexity"][0])
    return (category, level) if category in CATEGORIES and level is not None else None


def balanced(sizes: Mapping[K, int], count: int) -> dict[K, int]:
    """Divide a number among groups as evenly as their sizes allow.

    What a small group cannot give, the others give; what does not divide, the larger ones.

    >>> balanced({"a": 10, "b": 2, "c": 10}, 13)
    {'b': 2, 'a': 5, 'c': 6}
    """
    quotas = {}
    left = count
    for place, (group, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        quotas[group] = min(size, left // (len(sizes) - place))
        left -= quotas[group]
    return quotas


def _quotas(sizes: Mapping[tuple[str, int], int], count: int | None) -> dict[tuple[str, int], int]:
    """Compute how many of each category and complexity are selected."""
    categories: Counter[str] = Counter()
    for (category, _), size in sorted(sizes.items()):
        categories[category] += size
    quotas: dict[tuple[str, int], int] = {}
    total = categories.total() if count is None else count
    for category, quota in balanced(categories, total).items():
        levels = {
            stratum: size for stratum, size in sorted(sizes.items()) if stratum[0] == category
        }
        quotas |= balanced(levels, quota)
    return quotas


def _stratum(sample: Sample) -> tuple[str, int]:
    return str(sample.tags["category"]), _level(sample.tags["complexity"]) or 0


def _level(value: object) -> int | None:
    """Read a complexity; ``None`` for anything else."""
    text = str(value)
    return int(text) if text.isdecimal() and int(text) in LEVELS else None


def _random_rank(seed: int, key: str) -> bytes:
    return blake2b(f"{seed}/{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out how many instructions of each category and complexity were selected."""
    selection, rows = summary["selection"], summary["rows"]
    line = f"{amount(sum(rows.values()), 'row')}: {selection['chosen']:,} chosen"
    for name, meaning in (("failed", "failed"), ("unread", "could not be read")):
        if rows[name]:
            line += f", {rows[name]:,} {meaning}"
    categories: Mapping[str, Mapping[str, Mapping[str, int]]] = selection["categories"]
    if not categories:
        return Document("Selection", [line])
    complexities = sorted({level for levels in categories.values() for level in levels})
    cells = []
    for category, levels in categories.items():
        total: Counter[str] = Counter()
        for counts in levels.values():
            total.update(counts)
        cells.append(
            [category, *(_cell(levels.get(level)) for level in complexities), _cell(total)]
        )
    columns = ("category, by complexity", *complexities, "all")
    return Document("Selection", [line], [Table("", columns, cells)])


def _cell(counts: Mapping[str, int] | None) -> str:
    return f"{counts['chosen']:,} of {counts['of']:,}" if counts else NOTHING
