"""Opening an input file: which format it is in, and its rows."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core import plugins, rubric
from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.noun import meant
from heedful.core.nouns import Message, Sample
from heedful.data.formats import advancedif, mapped, native, table
from heedful.data.formats.base import Format, Row
from heedful.data.formats.fields import made, row_id
from heedful.data.formats.files import UNWANTED, kind, records
from heedful.data.formats.raw import Record, is_compressed
from heedful.data.formats.tools import unwrapped

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.data.formats.responses import Responses

_PLUGINS = "heedful.formats"

BENCHMARKS = (
    *("structflow", "if_rewardbench", "llmbar", "rewardbench2", "healthbench", "researchrubrics"),
    *("profbench", "ruverbench", "complexbench", "infobench", "multichallenge", "followbench"),
    *("paperbench", "wildbench", "exported"),
    *("sysbench", "cfbench", "multiif", "ifeval", "advancedif", "if_critic", "trace"),
)
"""Modules of this folder with a ``FORMAT``, the most specific first: the order of detection."""

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        *(import_module(f"heedful.data.formats.{name}") for name in BENCHMARKS),
        *(table, native),
    )
}
"""All formats by name, in the order in which a file is tried."""

COUNTED_BYTES = 1 << 28
"""Larger files aren't read just to say how far a run is."""

_PEEKED = 20
"""Records that are looked at before a file is said not to be in a format."""


@dataclass
class Source:
    """Input files, each with its format, ready to be read; iterate it again for each pass.

    Rows of another task than the one asked for are left out, and with ``exclude_failures`` those
    that say that no response was generated: the last pass counted them. Of several files, the ids
    and a tag of the rows name the file.
    """

    parts: tuple[tuple[Path, Format], ...]
    responses: Path | None = None
    task: str | None = None
    exclude_failures: bool = False
    excluded: int = field(default=0, init=False)
    wanted: Callable[[int], bool] | None = field(default=None, init=False)  # by place, from 0

    @property
    def path(self) -> Path:
        """The first file."""
        return self.parts[0][0]

    @property
    def format(self) -> Format | None:
        """The files' format; ``None`` where they differ."""
        first = self.parts[0][1]
        return first if all(each.name == first.name for _, each in self.parts) else None

    @property
    def said(self) -> str:
        """What columns were taken for, in one line; of several files, of the first such."""
        return next((reading.said for _, reading in self.parts if reading.said), "")

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the rows are read from."""
        return tuple(file for path, _ in self.parts for file in (path, self.responses) if file)

    def count(self) -> int | None:
        """Count the rows by their lines; ``None`` where that takes long, or lines aren't rows."""
        (path, _), *others = self.parts
        if others or not self._row_by_record:
            return None
        if path.stat().st_size > COUNTED_BYTES or kind(path) != "lines":
            return None
        return None if is_compressed(path) else _lines(path)

    @property
    def _row_by_record(self) -> bool:
        """Whether each record is a row."""
        plain = self.task is None and self.responses is None
        return plain and all(reading.one_by_one for _, reading in self.parts)

    def __iter__(self) -> Iterator[Row]:
        """Give the rows in order; responses that join no row of any file come last, as problems."""
        self.excluded = 0
        several = len(self.parts) > 1
        names = file_names([path for path, _ in self.parts]) if several else [""]
        with ExitStack() as stack:
            joined = None
            if self.responses is not None and self.format is not None:
                from heedful.data.formats.responses import opened

                joined = stack.enter_context(opened(self.responses, self.format))
            for name, (path, reading) in zip(names, self.parts, strict=True):
                if joined is not None:
                    joined.file = name
                rows = self._rows(path, reading, joined)
                yield from _named(name, path, rows) if several else rows
            if joined is not None:
                yield from joined.left_over("any file" if several else self.path)

    def _rows(self, path: Path, reading: Format, joined: Responses | None) -> Iterator[Row]:
        skips = len(self.parts) == 1 and self._row_by_record and not self.exclude_failures
        is_map = reading.name.startswith(mapped.PREFIX)
        for number, record in enumerate(records(path, self.wanted if skips else None), start=1):
            if record is UNWANTED:
                yield Row(0)
                continue
            if self.exclude_failures and _generation_failed(record.data):
                self.excluded += 1
            else:
                own = as_read(record, reading) if is_map else unwrapped(record)
                yield from record_rows(reading, number, own, joined=joined, task=self.task)


def as_read(record: Record, reading: Format | None) -> Record:
    """Return a record as a format reads it: out of a tool's, but for a mapping of its fields."""
    if reading is not None and reading.name.startswith(mapped.PREFIX):
        return record if mapped.names(reading, record.data) else unwrapped(record)
    return unwrapped(record)


def record_rows(
    reading: Format,
    number: int,
    record: Record,
    *,
    joined: Responses | None = None,
    task: str | None = None,
) -> Iterator[Row]:
    """Make the rows of one record, one for each turn that is of the task."""
    if record.problem is not None:
        yield Row(record.line, id=f"row-{number}", problem=record.problem)
        return
    try:
        merged = joined.merge(record.data, reading.keys) if joined else None
        joined = joined if merged is None else None
        turns = made(reading.turns, record.data if merged is None else merged)
    except RowError as error:
        yield Row(record.line, id=f"row-{number}", problem=problem(error))
        return
    before: Sample | None = None
    for turn in turns:
        ident = f"row-{number}"
        # A row that cannot be read may be of any task, unless it names one.
        name = turn.get("benchmark_name")
        wanted = not isinstance(name, str) or _is_task(name.strip(), task)
        try:
            ident = row_id(turn, number, "id", "key", "idx")
            sample = made(reading.sample, turn, number)
            ident = sample.id
            senseless = rubric.problem(sample.checklist)
            if senseless is not None:
                raise RowError(senseless)  # noqa: TRY301 - as the format raises
            wanted = _is_task(sample.tags.get("task"), task)
            if before is not None and reading.follows:
                conversation = with_response(before) + sample.conversation
                sample = sample.model_copy(update={"conversation": conversation})
            before = sample
            if joined is not None:
                before = sample.model_copy(update={"response": None})
                before = sample = joined.join(sample)
        except RowError as error:
            row = Row(record.line, id=ident, problem=problem(error))
        else:
            row = Row(record.line, sample, sample.id)
        if wanted:
            yield row


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(1 << 20), b"")
        count, last = 0, b""
        for block in blocks:
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last not in (b"", b"\n"))


def with_response(sample: Sample) -> tuple[Message, ...]:
    """Return the conversation with the response as its last turn, if there is one."""
    if sample.response is None:
        return sample.conversation
    return (*sample.conversation, Message(role="assistant", content=sample.response))


def open_source(
    *paths: str | Path,
    format: str | None = None,  # noqa: A002 - the option's name everywhere
    responses: str | os.PathLike[str] | None = None,
    task: str | None = None,
    exclude_generation_failures: bool = False,
) -> Source:
    """Open input files; their first rows are looked at, nothing is read further."""
    files = [Path(path) for path in paths]
    wanted = None if format is None else named(format)
    parts = [(path, detect(path) if wanted is None else _check(path, wanted)) for path in files]
    if responses is not None:
        kind(Path(responses))
    joined = None if responses is None else Path(responses)
    if task is not None and task not in {*advancedif.TASKS, *advancedif.TASKS.values()}:
        _check_task(Source(tuple(parts)), task)
    return Source(tuple(parts), joined, task, exclude_generation_failures)


def named(name: str) -> Format:
    """Return a format by its name, heedful's own or a plugin's; ``map:`` begins a mapping."""
    if name.startswith(mapped.PREFIX):
        return mapped.make(name)
    plugin = plugins.load(_PLUGINS, name, FORMATS)
    if plugin is None:
        if name in FORMATS:
            return FORMATS[name]
        raise plugins.unknown("format", name, FORMATS, _PLUGINS)
    if not isinstance(plugin, Format) or plugin.name != name:
        what = f"is {plugin!r:.80}, not {plugins.GROUPS[_PLUGINS]} called {name!r}"
        raise plugins.broken(_PLUGINS, name, what)
    return plugin


def read(path: str | Path, **options: Any) -> Iterator[Row]:
    """Read a file's rows once; options and errors as :func:`open_source`."""
    return iter(open_source(path, **options))


def detect(path: str | Path) -> Format:
    """Detect a file's format by the keys of its first readable records."""
    path = Path(path)
    cells = kind(path) in table.KINDS
    first = _first(path)
    for record in first:
        detected = format_of(record.data, cells=cells)
        if detected is not None:
            break
    found = by_columns([record.data for record in first], detected)
    if found is not None:
        return found if found is not detected else _check(path, found)
    raise InputError(
        f"the rows are not in a known format; they have {', '.join(map(repr, first[0].data))}",
        where=f"{path}:{first[0].line}",
        hint=hint(path, first[0]),
    )


def by_columns(records: Sequence[Mapping[str, Any]], fits: Format | None) -> Format | None:
    """Return the format that rows fit; where that is none or heedful's own, by their columns."""
    if fits is not None and fits.name.startswith(mapped.PREFIX):
        return mapped.refined(fits, records)
    if fits not in (None, native.FORMAT, table.FORMAT):
        return fits
    return mapped.guessed(records, fits) or fits


def response_in(path: Path, column: str, wanted: str | None = None) -> Format:
    """Return the mapping that takes a column for the response, and others as they are called."""
    first = _first(path)
    names = list(dict.fromkeys(name for record in first for name in record.data))
    if column.partition(".")[0] not in names:
        has = ", ".join(map(repr, names))
        raise UsageError(f"the rows have no {column!r}; they have {has}")
    if wanted is not None and wanted.startswith(mapped.PREFIX):
        return mapped.make(f"{wanted},{column}=response")
    fits = format_of(first[0].data, cells=kind(path) in table.KINDS)
    if wanted is not None or fits not in (None, native.FORMAT, table.FORMAT):
        what = f"the rows are in the format {wanted or (fits and fits.name)}"
        raise UsageError(f"{what}, which says where the response is", hint="leave --response out")
    found = mapped.guessed([record.data for record in first], None, column)
    if found is None:
        what = "no column is called as a prompt or a checklist usually is"
        raise UsageError(what, hint="say which they are: --map NAME=prompt,OTHER=checklist")
    return found


def format_of(record: Mapping[str, Any], *, cells: bool) -> Format | None:
    """Detect the format of a record by its keys."""
    other_container = native.FORMAT if cells else table.FORMAT
    for candidate in FORMATS.values():
        if candidate is other_container:
            continue
        if candidate.fits(record):
            return candidate
    for name in plugins.names(_PLUGINS, FORMATS):
        try:
            plugin = named(name)
            if plugin.fits(record):
                return plugin
        except UsageError as error:
            plugins.warn(str(error))
        except Exception as error:  # noqa: BLE001 - the file may be another plugin's
            plugins.warn(str(plugins.broken(_PLUGINS, name, f"cannot detect files: {error!r}")))
    return None


def _first(path: Path, reading: Format | None = None) -> list[Record]:
    """Return the readable ones of a file's first records, as a format reads them."""
    first = [as_read(record, reading) for record in islice(records(path), _PEEKED)]
    readable = [record for record in first if record.problem is None]
    if readable:
        return readable
    if first:
        what = f"no row can be read; the first: {first[0].problem}"
        raise InputError(what, where=f"{path}:{first[0].line}")
    one_line = "its only line is read as the header of CSV" if kind(path) == "csv" else ""
    hint = one_line or "it needs at least one"
    raise InputError("the file holds no rows", where=str(path), hint=hint)


def _check(path: Path, wanted: Format) -> Format:
    """Return the requested format, if one of the first records has what it needs."""
    cells = kind(path) in table.KINDS
    if wanted is native.FORMAT and cells:
        wanted = table.FORMAT
    first = _first(path, wanted)
    if wanted is table.FORMAT and not cells:
        raise InputError("this is JSON, not CSV", where=str(path), hint="use --format native")
    if not all(wanted.missing(record.data) for record in first):
        is_map = wanted.name.startswith(mapped.PREFIX)
        return mapped.refined(wanted, [record.data for record in first]) if is_map else wanted
    fits = format_of(first[0].data, cells=cells)
    hint = f"it looks like --format {fits.name}" if fits else "no other format fits either"
    if fits is wanted:
        hint = "is this the right file? one of responses goes with --responses"
    raise InputError(
        f"not in the format {wanted.name}: the first row has no "
        f"{' and no '.join(wanted.missing(first[0].data))}",
        where=f"{path}:{first[0].line}",
        hint=hint,
    )


def hint(path: Path, record: Record) -> str:
    """Say what would make the file readable, by its first record."""
    data = record.data
    rows = [key for key, value in data.items() if isinstance(value, list) and value]
    if len(data) == 1 and rows and isinstance(data[rows[0]][0], dict):
        return f"the rows lie under {rows[0]!r}: jq '.{rows[0]}' FILE takes them out"
    fields = {name: meant(Sample, name) for name in data}
    spelled = ",".join(
        f"{name}={field}" for name, field in fields.items() if field not in (None, name)
    )
    if spelled:
        return f"say what they are: --map {spelled}"
    if kind(path) in table.KINDS:
        return (
            "it needs a header row; where that doesn't say prompt, checklist and response: "
            "--map COLUMN=prompt,OTHER=checklist,THIRD=response"
        )
    return "give each row prompt, checklist and response"


def problem(error: RowError) -> str:
    """Say what is wrong with a row, and the hint."""
    return error.what + (f" ({error.hint})" if error.hint else "")


def _generation_failed(record: Mapping[str, Any]) -> bool:
    """Tell whether a row says that no response was generated."""
    failed = record.get("completion", ...) is None and bool(record.get("problem"))
    return failed or bool(record.get("_generation_error"))


def _is_task(name: object, task: str | None) -> bool:
    """Tell whether a row's task is the one asked for, by any of its names."""
    names = advancedif.TASKS
    return task is None or names.get(str(name), name) == names.get(task, task)


def _check_task(source: Source, task: str) -> None:
    """Raise if no row has a task that isn't one of AdvancedIF's."""
    samples = (row.sample for row in source if row.sample)
    seen = {str(sample.tags["task"]) for sample in samples if "task" in sample.tags}
    if task not in seen:
        has = f"the file has {', '.join(sorted(seen))}" if seen else "its rows name no task"
        raise InputError(f"no row is of the task {task!r}; {has}", where=str(source.path))


FILE_TAG = "file"
"""The tag that names a row's file, where the row has no such tag of its own."""


def _named(name: str, path: Path, rows: Iterable[Row]) -> Iterator[Row]:
    """Name the rows of a file."""
    for row in rows:
        sample = row.sample and in_file(name, row.sample)
        problem = row.problem and f"{path}: {row.problem}"
        yield Row(row.line, sample, id_in_file(name, row.id), problem, file=name)


def file_names(paths: Sequence[Path]) -> list[str]:
    """Name each of several files: by its stem, or by its path where others have the same stem."""
    stems = [Path(path.name.removesuffix(".gz")).stem for path in paths]
    counts = Counter(stems)
    return [
        stem if counts[stem] == 1 else path.as_posix()
        for path, stem in zip(paths, stems, strict=True)
    ]


def id_in_file(name: str, ident: str | None) -> str | None:
    """Return the id that tells a row from those of other files."""
    return f"{name}:{ident}" if ident else None


def in_file(name: str, sample: Sample) -> Sample:
    """Return a sample as one of a file among several, with the rows that it is preferred to."""
    update: dict[str, Any] = {
        "id": id_in_file(name, sample.id) or sample.id,
        "tags": {FILE_TAG: name, **sample.tags},
    }
    worse = (sample.model_extra or {}).get("preferred_to")
    if isinstance(worse, list):
        update["preferred_to"] = [f"{name}:{other}" for other in worse]
    return sample.model_copy(update=update)
