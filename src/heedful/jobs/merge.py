"""Finished runs over parts of a data set as one: what a run over all their files comes to.

Each part may have been judged anywhere, by a process of its own, so no process reads all rows
before the verdicts are there. Nothing is judged again, and no model is called.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import RunError, UsageError
from heedful.core.nouns import Sample
from heedful.core.version import __version__
from heedful.data.formats.source import file_names, id_in_file, in_file
from heedful.engine.integrity import seal
from heedful.engine.lock import only_writer
from heedful.engine.schema import Entry, Input
from heedful.engine.store import Store, differences
from heedful.jobs.results import StoredSample
from heedful.jobs.run_counts import RunCounts
from heedful.jobs.saved_run import SavedRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.models import Price

TOGETHER = 256
"""Rows, and answers, that are copied together."""

OF_ITS_DATA = ("input", "format")
"""Keys in which the configurations of merged runs may differ."""

PARTS_OF_FILES = ("limit", "sample")
"""Keys of runs over some of their file's rows."""


class _PartialRun(NamedTuple):
    """A run, and how its rows are named in the whole."""

    run: SavedRun
    file: str
    name: str | None


def merge(
    *runs: str | os.PathLike[str],
    run: str | os.PathLike[str] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> dict[str, Any]:
    """Add up finished runs over parts of a data set.

    Rates and intervals are computed from all rows. Ids begin with the name of the row's file, as
    where several files are judged together; the whole is the run that
    ``evaluate([file, …], run=run)`` would have made and resumes.

    Args:
        runs: directories of finished runs of one judge, at least two, in the order of their rows.
        run: a new directory for the whole run: its store, ``results.jsonl`` and ``summary.json``.
            By default nothing is written.
        prices: dollars by model; heedful's own table by default.

    Returns:
        The summary, as in ``summary.json``.

    Raises:
        RunError: a run is missing, damaged, unfinished or not one of ``evaluate``; their
            configurations differ; or the new directory isn't empty.
        UsageError: there are fewer than two, one of them or of their files is given twice, or one
            holds some of its file's rows only.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(SavedRun.open(each)) for each in runs]
        parts = _parts(opened)
        config, about = _configuration(opened)
        if run is None:
            with Store(None) as store:
                return _merged(parts, store, config, about, prices)
        whole = Path(run)
        _refuse_taken(whole)
        beside = whole.with_name(f"{whole.name}.part")
        shutil.rmtree(beside, ignore_errors=True)  # of a session that was killed
        with only_writer(beside), Store(beside) as store:
            summary = _merged(parts, store, config, about, prices)
        if whole.exists():
            whole.rmdir()
        beside.rename(whole)
        return summary


def _parts(runs: Sequence[SavedRun]) -> list[_PartialRun]:
    """Name the parts as the files would be that they judged."""
    if len(runs) < 2:  # noqa: PLR2004 - of one run there is nothing to add up
        raise UsageError("merging takes at least two runs", hint="name each part's directory")
    listed: list[list[Path]] = []
    for run in runs:
        paths = [*map(Path, run.about.get("input") or [run.directory.resolve().name])]
        listed.append(paths if _has_file_names(run, paths) else paths[:1])
    names = iter(file_names([path for paths in listed for path in paths]))
    named = [[next(names) for _ in paths] for paths in listed]
    parts = [
        _PartialRun(run, "" if len(paths) > 1 else str(paths[0]), of[0] if len(of) == 1 else None)
        for run, paths, of in zip(runs, listed, named, strict=True)
    ]
    seen: set[str] = set()
    for part, paths in zip(parts, listed, strict=True):
        places = {os.path.realpath(path) for path in (part.run.directory, *paths)}
        if not seen.isdisjoint(places):
            what, hint = "its rows are given twice", "they would count twice; give them once"
            raise UsageError(what, where=str(part.run.directory), hint=hint)
        seen |= places
    return parts


def _has_file_names(run: SavedRun, paths: Sequence[Path]) -> bool:
    """Whether a run judged several files; one may also have read a file of responses."""
    first = next((entry.id for entry in run.entries() if entry.id), "")
    names = file_names(paths) if len(paths) > 1 else []
    return any(first.startswith(f"{name}:") for name in names)


def _configuration(runs: Sequence[SavedRun]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Join what the runs depend on, and how their numbers came about."""
    first = runs[0]
    for run in runs:
        kept = [key for key in PARTS_OF_FILES if run.config.get(key)]
        if kept:
            what, hint = f"this run was made with --{kept[0]}", "judge the whole file"
            raise UsageError(what, where=str(run.directory), hint=hint)
        both = ({**each.config, **dict.fromkeys(OF_ITS_DATA)} for each in (first, run))
        differing = differences(*both)
        if differing:
            raise RunError(
                "the runs were made with other configurations: " + "; ".join(differing),
                where=str(run.directory),
                hint="judge all parts with the same heedful, judge and options",
            )
    formats = {run.config["format"] for run in runs}
    common = {"format": formats.pop() if len(formats) == 1 else None}
    config = {**first.config, **common}
    config["input"] = [each for run in runs for each in run.config["input"] or ()]
    about = {**first.about, **common, "heedful": __version__}
    about.pop("rejudged", None)
    files = [each for run in runs for each in run.about.get("input") or ()]
    about["input"] = files or None
    if any("excluded" in run.summary for run in runs):
        about["excluded"] = sum(run.summary.get("excluded") or 0 for run in runs)
    return config, about


def _refuse_taken(directory: Path) -> None:
    if directory.is_file() or (directory.is_dir() and any(directory.iterdir())):
        hint = "name a new directory for the whole"
        raise RunError("there is something already", where=str(directory), hint=hint)


def _merged(
    parts: Sequence[_PartialRun],
    store: Store,
    config: Mapping[str, Any],
    about: Mapping[str, Any],
    prices: Mapping[str, Price] | None,
) -> dict[str, Any]:
    """Count all rows, and copy them with their answers where the whole is to be a run."""
    for part in parts:
        for usage in part.run.usage_records():
            store.add_usage(usage)
        if store.directory is not None:
            _copy_answers(part.run, store)
    _join_notes(parts, store)
    with RunCounts(store.directory, config["scoring"], prices) as counts:
        entries = _entries(parts)
        while batch := list(islice(entries, TOGETHER)):
            if store.directory is not None:
                _copy(batch, store)
            for entry in batch:
                counts.add(entry)
        store.configure(config)
        store.set_meta("about", {key: about[key] for key in about if key != "excluded"})
        summary = counts.finish(store, config["seed"], about)
    seal(store)
    store.empty_log()
    return summary


def _join_notes(parts: Sequence[_PartialRun], store: Store) -> None:
    """Join what the stores hold beside rows and answers."""
    store.set_meta("sessions", [each for part in parts for each in part.run.sessions])
    adaptations = {each for part in parts for each in part.run.summary.get("adaptations") or ()}
    if adaptations:
        store.set_meta("adaptations", sorted(adaptations))
    query = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'retries'"
    retries = [number for part in parts for (number,) in part.run.query(query)]
    store.set_meta("retries", max(retries, default=0))


def _entries(parts: Sequence[_PartialRun]) -> Iterator[Entry]:
    """Yield the rows of all parts, each with the place and the id that it has in the whole."""
    position = 0
    for part in parts:
        for entry in part.run.entries():
            yield _renamed(entry, part)._replace(position=position)
            position += 1


def _renamed(entry: Entry, part: _PartialRun) -> Entry:
    if part.name is None:
        if entry.input is None:
            return entry
        sample = Sample.model_validate_json(entry.input)
        return entry._replace(input=StoredSample.of(sample))
    problem = entry.problem
    if entry.input is None:
        problem = problem and f"{part.file}: {problem}"
        return entry._replace(id=id_in_file(part.name, entry.id), problem=problem)
    before = Sample.model_validate_json(entry.input)
    sample = in_file(part.name, before)
    if problem is not None:  # an earlier row has its id
        problem = problem.replace(repr(before.id), repr(sample.id), 1)
    ident = entry.id and id_in_file(part.name, entry.id)
    return entry._replace(id=ident, input=StoredSample.of(sample), problem=problem)


def _copy(entries: Sequence[Entry], store: Store) -> None:
    store.add_inputs([Input(*entry[:5]) for entry in entries])
    for entry in entries:
        if entry.output is not None or entry.failure is not None:
            store.add_output(entry.position, entry.output, entry.failure)
    store.flush_if_due()


def _copy_answers(run: SavedRun, store: Store) -> None:
    """Copy a run's answers, each with its checksum; of two to one request the first is kept."""
    rows = run.query("SELECT key, value, checksum FROM calls")
    while batch := list(islice(rows, TOGETHER)):
        store.change("INSERT OR IGNORE INTO calls VALUES (?, ?, ?)", batch)
        store.flush_if_due()
