"""Runs below a folder, a line each: what each is, how far, and what came of it."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.core.errors import HeedfulError
from heedful.core.text import dollars, one_line
from heedful.engine.inputs import RUNS
from heedful.engine.lock import is_held
from heedful.engine.reader import SUMMARY
from heedful.jobs.results import judged_by
from heedful.jobs.saved_run import SavedRun
from heedful.reporting.metric_names import WORDS, label, ranked
from heedful.reporting.notation import interval, rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RunLine", "run_lines"]

State = Literal["running", "finished", "interrupted", "broken"]

DEPTH = 4
"""Folders within folders that are looked into."""

FOLDERS = 20_000
"""Folders that are looked into at most: somebody may name the root of a disk."""

REASON_CHARACTERS = 200

FOREIGN = "the summary is of another version of heedful, or damaged"


class Rate(NamedTuple):
    """A rate of a run."""

    value: float | None  # a share from 0 to 1; None where it depends on something undecided
    least: float | None  # what is known of it, its lower end, by which runs are sorted
    shown: str  # in per cent, or a range
    interval: str  # its interval
    most: float | None = None  # the upper end


@dataclass(frozen=True)
class RunLine:
    """A run in a line of a list."""

    directory: Path  # the run's
    what: str = ""  # its judge, or the command that made it
    state: State = "broken"  # of its work; broken where it cannot be read
    samples: int | None = None  # how many it has
    rates: Mapping[str, Rate] = field(default_factory=dict)  # by name, those that say most first
    coverage: float | None = None  # the share of verdicts that are decided
    cost: str = ""  # what it cost
    paid: float | None = None  # the same in dollars, where prices are known
    changed: float = 0.0  # when something was last written, in seconds since 1970
    problem: str = ""  # why it cannot be read, was stopped, or has decided nothing
    judged: bool = False  # whether it judged responses
    judge: str = ""  # its judge in words, or the command

    def rank(self, name: str) -> tuple[bool, float]:
        """Return a key that puts the best run first: the highest rate, or the lowest cost.

        Of a rate that is a range, its lower end counts; runs without the rate come last.
        """
        if name == "cost":
            return self.paid is None, self.paid or 0.0
        rate = self.rates.get(name)
        value = self.coverage if name == "coverage" else rate and rate.least
        return value is None, -(value or 0.0)


def run_lines(root: Path) -> list[RunLine]:
    """List the runs below a folder: those under way first, then the newest."""
    lines = [line_of(folder) for folder, files in folders(root) if "run.sqlite" in files]
    return sorted(lines, key=lambda line: (line.state != "running", -line.changed))


def folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield folders and the names of their files, by name, not too deep and not too many.

    Unnamed runs come first: a large folder beside them doesn't hide them.
    """
    depth = len(root.parts)
    for number, (folder, inside, files) in enumerate(os.walk(root), 1):
        path = Path(folder)
        inner = len(path.parts) - depth < DEPTH
        named = (name for name in inside if not name.startswith(".") and inner)
        inside[:] = sorted(named, key=lambda name: (name != RUNS.name, name))
        yield path, sorted(files)
        if number > FOLDERS:
            return


def line_of(directory: Path) -> RunLine:
    """Sum a run up; one that cannot be read says why."""
    line = RunLine(directory)
    try:
        line = replace(line, changed=changed(directory))
        with SavedRun(directory) as run:
            return _described(line, run)
    except HeedfulError as error:
        return replace(line, problem=error.what)
    except (OSError, sqlite3.Error, ValueError) as error:
        return replace(line, problem=f"it cannot be read: {error}")


def _described(line: RunLine, run: SavedRun) -> RunLine:
    what = str(run.config["judge"]) if run.judged else run.command
    line = replace(line, what=what, judge=what, judged=run.judged, state=state(line.directory))
    (last,) = next(run.query("SELECT max(position) + 1 FROM inputs"))
    line = replace(line, samples=last if isinstance(last, int) else 0)
    if line.state == "interrupted":
        return replace(line, problem=_stopped(run))
    if not run.finished:
        return line
    try:
        return _summed_up(line, run.summary)
    except HeedfulError as error:
        return replace(line, problem=error.what)
    except (KeyError, TypeError, AttributeError, ValueError):
        return replace(line, problem=FOREIGN)


def _stopped(run: SavedRun) -> str:
    """Say why the last session ended early, where it had time to write it down."""
    session = run.sessions[-1] if run.sessions else {}
    said = session.get("stopped") if isinstance(session, dict) else None
    return f"stopped: {one_line(str(said), REASON_CHARACTERS)}" if said else ""


def _summed_up(line: RunLine, summary: Mapping[str, Any]) -> RunLine:
    if "cost" in summary:
        paid = summary["cost"]["dollars"]
        shown = "price unknown" if paid is None else dollars(paid)
        line = replace(line, cost=shown, paid=paid)
    if not line.judged:
        return line
    coverage = summary["coverage"]
    problem = ""
    if not summary["verdicts"]["met"] + summary["verdicts"]["unmet"]:
        reasons = [str(item["reason"]) for item in summary["undecided"]]
        reasons += [str(item["problem"]) for item in summary["problems"]]
        why = f": {one_line(reasons[0], REASON_CHARACTERS)}" if reasons else ""
        problem = f"no verdict was decided{why}"
    return replace(
        line,
        samples=summary["samples"],
        judge=judged_by(summary),
        coverage=float(coverage),
        rates=dict(_rates(summary["metrics"])),
        problem=problem,
    )


def _rates(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Rate]]:
    """Yield the rates by name: those in plain words first."""
    for (family, name), words in WORDS.items():
        if name in metrics.get(family, {}):
            yield words, _rate(metrics[family][name])
    for family in ranked(metrics):
        for name, measure in metrics[family].items():
            if (family, name) not in WORDS:
                yield label(family, name), _rate(measure)


def _rate(measure: Mapping[str, Any]) -> Rate:
    least, most = measure["bounds"] or (None, None)
    return Rate(measure["value"], least, rate(measure), interval(measure["interval"]), most)


def state(directory: Path) -> State:
    """Say how far a run's work is; one that nobody holds is over, however it ended."""
    if is_held(directory):
        return "running"
    written = _written(directory / "run.sqlite-wal")
    finished = _written(directory / SUMMARY)
    if finished is not None and (written is None or finished >= written - 1):
        return "finished"
    return "interrupted"


def _written(path: Path) -> float | None:
    """Return when a file was written; ``None`` where there is none, or an empty one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime if status.st_size else None


def changed(directory: Path) -> float:
    """Return when something was last written into a run, in seconds since 1970.

    The file that readers and writers share does not count: readers change it too.
    """
    names = ("run.sqlite", "run.sqlite-wal", SUMMARY)
    return max(path.stat().st_mtime for name in names if (path := directory / name).exists())
